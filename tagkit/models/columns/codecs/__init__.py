"""Codecs of tag columns that are learnt together, by name.

A codec is one module here and one row below. Its name is in the vocabulary of every saved model.
"""

from tagkit.config import Column
from tagkit.models.columns.codecs.codec import Codec
from tagkit.models.columns.codecs.features import FeatureCodec
from tagkit.models.columns.codecs.lemmas import LemmaCodec
from tagkit.models.columns.codecs.tags import TagCodec

CODECS: dict[str, Codec] = {
    "tags": TagCodec(),
    "features": FeatureCodec(),
    "lemmas": LemmaCodec(),
}


def codec_of(column: Column) -> str:
    """The name of the codec of a column, which follows from the column's name in CoNLL-U."""
    found = (name for name, codec in CODECS.items() if column in codec.columns)
    return next(found, "tags")
