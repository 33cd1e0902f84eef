"""How much of the texts of a run its language model does not know."""

from collections.abc import Iterable
from dataclasses import dataclass

from tagkit.features.unit_dropout import RecutText
from tagkit.features.unit_stream import UnitStream, places_of
from tagkit.features.vocabulary import UNKNOWN_ID
from tagkit.text.records import Sentence
from tagkit.text.units import END
from tagkit.training.setup import Prepared


@dataclass(frozen=True, slots=True)
class UnknownUnits:
    """Of one text.

    Attributes:
        units: number of all, the ends of lines not counted.
        unknown: of these, how many the model does not know.
    """

    units: int
    unknown: int

    @property
    def share(self) -> float:
        """0 to 1."""
        return self.unknown / max(1, self.units)


def unknown_units(prepared: Prepared) -> dict[str, UnknownUnits]:
    """The unknown units of "train" and "dev", in constant memory.

    Train is there as ids already; dev is read once more. Test is not: its report has the number.
    """
    encoded = prepared.encoded
    stream = encoded.stream if isinstance(encoded, RecutText) else encoded
    assert isinstance(stream, UnitStream)  # of a language model
    train, dev = prepared.corpus.train, prepared.corpus.dev
    # A word that is written like the end of a line is an unknown one.
    known = frozenset(prepared.vocabulary.words) - {END}
    in_train = sum(map(len, places_of(stream.ids, UNKNOWN_ID)))
    return {
        "train": UnknownUnits(train.tokens, in_train),
        "dev": UnknownUnits(dev.tokens, _unknown_words(dev.sentences, known)),
    }


def _unknown_words(sentences: Iterable[Sentence], known: frozenset[str]) -> int:
    return sum(word not in known for sentence in sentences for word in sentence.words)
