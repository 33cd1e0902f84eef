"""The vocabulary of a training corpus: words, units, characters, affixes, labels, features."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from tagkit.config import Config, fixed
from tagkit.features.affixes import frequent_affixes
from tagkit.features.unit_reading import UnitReading, learn_units
from tagkit.features.vocabulary import (
    Vocabulary,
    count_chars,
    count_surfaces,
    count_words,
    first_known,
    most_frequent,
)
from tagkit.models.base.task_records import Labels
from tagkit.text.records import Sentence


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
