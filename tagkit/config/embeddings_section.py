"""[embeddings] of tagkit.toml: how words become vectors."""

from typing import Annotated, Literal

from pydantic import Field

from tagkit.config.option import (
    BY_GRADIENT,
    LABELS,
    STRINGS,
    TAGS,
    TEXT,
    Former,
    Needs,
    Option,
    Section,
)
from tagkit.config.values import (
    Auto,
    CharCell,
    Probability,
    Size,
)

_WITH_CHARACTERS = Needs("embeddings.char_cell", but=("none",))
_WITH_VECTORS = Needs("embeddings.vectors", but=("",))
# Of byte pairs none is rare and none is unknown. Taggers read them beside their words.
_OF_RARE_WORDS = Needs("data.unit", but=("bpe",), exempt=TAGS)


class EmbeddingsConfig(Section):
    """[embeddings]: how a word is represented for the encoder."""

    # A file of vectors fixes the dimension: they are added to the trained embedding, or stand for
    # it.
    word_dim: Annotated[
        int,
        Field(ge=0, le=100_000),
        Option(
            "Dimension of word embeddings; with vectors, theirs; 0 to read data.vector_columns in "
            "place of the words.",
            inherit=True,
        ),
    ] = 100
    # Capitals are what names are recognised by; the character network keeps them.
    lowercase: Annotated[
        bool,
        Option(
            "Lowercase words; their characters keep their case.",
            inherit=True,
            otherwise=False,
            tasks=LABELS,
        ),
    ] = True
    normalize_digits: Annotated[bool, Former(inherit=True, otherwise=False, tasks=LABELS)] = True
    # Press and Wolf 2017; Inan et al. 2017.
    tied: Annotated[
        bool,
        Option(
            "Use the matrix of the units' embeddings in the softmax too.",
            inherit=True,
            tasks=(*TEXT, *STRINGS),
        ),
    ] = True
    # Not inherited: it decides which words are added, not what the words that are there mean.
    min_count: Annotated[
        int,
        Field(ge=1),
        Option("Minimum frequency of a word; rarer ones are unknown.", needs=_OF_RARE_WORDS),
    ] = 1
    # Gal and Ghahramani 2016. Characters and affixes of the word are kept.
    dropout: Annotated[
        Probability,
        Option(
            "Dropout of the embeddings of whole words, wherever they occur in a batch.",
            needs=BY_GRADIENT,
        ),
    ] = 0.0
    vectors: Annotated[
        str,
        Option(
            "File of pretrained word vectors.", "none", inherit=True, otherwise="", tasks=LABELS
        ),
    ] = ""
    # With it, words of the vectors that training never saw share a space with those that it saw.
    freeze_vectors: Annotated[
        bool,
        Option(
            "Use the vectors without a trained embedding added to each.",
            inherit=True,
            needs=_WITH_VECTORS,
        ),
    ] = False
    # The final states of both directions are the word's spelling (Ling et al. 2015; Lample et al.
    # 2016), or the largest values of a convolution (Ma and Hovy 2016); "none" leaves a word that is
    # unknown without any features.
    char_cell: Annotated[
        CharCell,
        Option(
            "Cell over the characters of a word: a recurrent one, cnn (the maximum of a "
            "convolution), or none.",
            inherit=True,
            otherwise="none",
            tasks=LABELS,
        ),
    ] = "lstm"
    char_dim: Annotated[
        Size,
        Option(
            "Dimension of character embeddings.", inherit=True, tasks=LABELS, needs=_WITH_CHARACTERS
        ),
    ] = 30
    char_hidden: Annotated[
        Size,
        Option(
            "Hidden units over characters, for each direction; of cnn half of its values.",
            inherit=True,
            tasks=LABELS,
            needs=_WITH_CHARACTERS,
        ),
    ] = 50
    char_layers: Annotated[
        int,
        Field(ge=1, le=100),
        Option(
            "Number of recurrent layers over characters.",
            inherit=True,
            tasks=LABELS,
            needs=Needs("embeddings.char_cell", but=("none", "cnn")),
        ),
    ] = 1
    # The network over the characters learns them only from thousands of sentences. Beside
    # pretrained vectors they lower the scores of all but the smallest corpora:
    # `training/setup/defaults.py`.
    affix_dim: Annotated[
        Auto | Annotated[int, Field(ge=0, le=100_000)],
        Option(
            "Dimension of the embedding of a word's prefixes, suffixes and shape; 0 for none; "
            "auto: 50, or 0 with vectors and over 200 sentences.",
            inherit=True,
            otherwise=0,
            tasks=LABELS,
        ),
    ] = "auto"
    # Akbik, Blythe and Vollgraf 2018; Peters et al. 2017.
    contextual: Annotated[
        tuple[str, ...],
        Option(
            "Folders of trained language models, whose states at each word are inputs too.",
            "none",
            tune=False,
            tasks=LABELS,
        ),
    ] = ()
    # Peters et al. 2018, eq. 1.
    contextual_layers: Annotated[
        Literal["top", "mix"],
        Option(
            "States of embeddings.contextual: of the topmost layer (top), or a trained mix of all "
            "layers (mix).",
            inherit=True,
            tasks=LABELS,
            needs=Needs("embeddings.contextual", but=((),)),
        ),
    ] = "top"
    contextual_dim: Annotated[int, Field(ge=0, le=100_000), Former()] = 0
    # Columns such as part-of-speech tags have tens of values, not tens of thousands.
    feature_dim: Annotated[
        Size, Former(inherit=True, needs=Needs("data.feature_columns", but=((),)))
    ] = 20
