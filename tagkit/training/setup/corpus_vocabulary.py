"""The vocabulary of a training corpus: words, units, characters, affixes, labels, features."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from tagkit.config import Config, fixed
from tagkit.features.affixes import frequent_affixes
from tagkit.features.batching.unit_dropout import ResegmentedText
from tagkit.features.batching.unit_stream import UnitStream, places_of
from tagkit.features.unit_reading import UnitReading, learn_units
from tagkit.features.vocabulary import (
    UNKNOWN_ID,
    Vocabulary,
    count_chars,
    count_surfaces,
    count_words,
    first_known,
    most_frequent,
)
from tagkit.models.base.task_records import Labels
from tagkit.text.records import Sentence
from tagkit.text.tokenizer import lacks_blanks
from tagkit.text.units import END
from tagkit.training.setup.setup import Prepared


def learn_vocabulary(
    config: Config,
    sentences: Sequence[Sentence],
    labels: Labels,
    vector_words: tuple[str, ...],
    base: Vocabulary | None,
) -> tuple[Vocabulary, Counter[str]]:
    """All strings of the training corpus that have ids, and how often each word occurs.

    Args:
        config: resolved.
        sentences: of the training corpus, as the model learns them.
        labels: of the task.
        vector_words: words with a pretrained vector.
        base: of the model that training starts from, whose units are kept; None without one.
    """
    options = config.embeddings
    surfaces = count_surfaces(sentences)
    units = base.units if base else _units(config, surfaces)
    counts, chars = _counted(config, surfaces, units)
    affixes = frequent_affixes(surfaces) if fixed(options.affix_dim) else ()
    by_frequency = most_frequent(counts)
    keys = [word for word in by_frequency if counts[word] >= options.min_count]
    if units and units.instead_of == "words" and units.known:
        keys = [*by_frequency]  # data.bpe_size decides how many there are
    if options.freeze_vectors:  # a word with a pretrained vector gets no trained one
        rows = dict.fromkeys(vector_words, 1)
        keys = [key for key in keys if first_known(key, rows.get) is None]
    found = Vocabulary(
        words=tuple(keys),
        vector_words=vector_words,
        only_vectors=options.freeze_vectors,
        chars=chars,
        affixes=affixes,
        tags=labels.tags,
        classes=labels.classes,
        features=tuple(
            most_frequent(value for s in sentences for value in s.features[column])
            for column in range(len(config.data.feature_columns))
        ),
        lowercase=options.lowercase,
        normalize_digits=options.normalize_digits,
        columns=labels.columns,
        # In the order of the corpus, which is the same in every process.
        forms=tuple(dict.fromkeys(w for s in sentences for w in s.words)) if labels.columns else (),
        units=units,
    )
    return found, counts


def _units(config: Config, surfaces: Counter[str]) -> UnitReading | None:
    """The units that data.unit names, learnt from the training corpus."""
    options = config.embeddings
    # In the form in which they will be cut; a tagger's characters keep their case.
    forms = (
        count_words(surfaces, options.lowercase, options.normalize_digits)
        if config.reads_units
        else surfaces
    )
    instead_of: Literal["words", "characters"] = "words" if config.reads_units else "characters"
    return learn_units(config.data.unit, instead_of, forms.elements(), config.data.bpe_size)


def _counted(
    config: Config, surfaces: Counter[str], units: UnitReading | None
) -> tuple[Counter[str], tuple[str, ...]]:
    """How often each word occurs, or each unit in place of words; and the characters."""
    counts = count_words(surfaces, config.embeddings.lowercase, config.embeddings.normalize_digits)
    if units is None:
        # Characters are those of the words as written: lowercasing does not apply to them.
        return counts, most_frequent(count_chars(surfaces))
    if units.instead_of == "characters":
        return counts, units.known or ()
    found: Counter[str] = Counter()
    for word, count in counts.items():
        for unit in units.cut(word):
            found[unit] += count
    if units.known:
        # All of them, as new text has others. None is rare: as no unit of new text is unknown, none
        # is read as the unknown one in training.
        found = Counter({unit: max(2, found[unit]) for unit in units.known})
    return found, most_frequent(count_chars(found))


# How much of the texts of a run its language model does not know.


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
