"""How much of the texts of a run its language model does not know."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from tagkit.features.batching.unit_dropout import ResegmentedText
from tagkit.features.batching.unit_stream import UnitStream, places_of
from tagkit.features.vocabulary import UNKNOWN_ID
from tagkit.text.records import Sentence
from tagkit.text.tokenizer import lacks_blanks
from tagkit.text.units import END
from tagkit.training.setup.setup import Prepared

_LONGEST = 6  # letters of a word of a script without blanks
_MANY = 0.3  # of the words, above which they are none
_LINES = 300  # that are looked at


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
    """The unknown units of "train", "dev" and "test", where there is one, in constant memory.

    Train is there as ids already; the others are read once more.
    """
    encoded = prepared.encoded
    stream = encoded.stream if isinstance(encoded, ResegmentedText) else encoded
    assert isinstance(stream, UnitStream)  # of a language model
    corpus = prepared.corpus
    others = {"dev": corpus.dev, "test": corpus.test}
    # A word that is written like the end of a line is an unknown one.
    known = frozenset(prepared.vocabulary.words) - {END}
    in_train = sum(map(len, places_of(stream.ids, UNKNOWN_ID)))
    return {"train": UnknownUnits(corpus.train.tokens, in_train)} | {
        name: UnknownUnits(split.tokens, _unknown_words(split.sentences, known))
        for name, split in others.items()
        if split is not None
    }


def words_without_blanks(prepared: Prepared) -> float:
    """Share of train's words that are long stretches of scripts without blanks, if large, or 0.

    Such a word is a clause or a line, and a model of them can repeat those of train alone.
    """
    if prepared.config.data.unit != "word":
        return 0
    lines = islice(prepared.corpus.train.sentences, _LINES)
    words = [word for line in lines for word in line.words]
    # Words of these scripts that are segmented have one or two letters, and seldom over four.
    share = sum(len(word) > _LONGEST and lacks_blanks(word) for word in words) / len(words)
    return share if share > _MANY else 0


def _unknown_words(sentences: Iterable[Sentence], known: frozenset[str]) -> int:
    return sum(word not in known for sentence in sentences for word in sentence.words)
