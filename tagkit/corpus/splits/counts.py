"""What a corpus has how often: classes of texts, labels of columns, counted words, repetitions.

The classes that a corpus must have to be learnt from are checked here too.
"""

import re
from collections.abc import Iterable, Sequence, Set
from itertools import islice

from tagkit.config import Config
from tagkit.corpus.records.dataset import Split
from tagkit.corpus.source.layout import NO_TAGS
from tagkit.errors import DataError, FormatError
from tagkit.text.records import Sentence, TagColumn
from tagkit.text.scheme_detection import count_steps, judge
from tagkit.text.schemes import DISPLAY, OUTSIDE, has_spans
from tagkit.wording import listed, plural, quoted


def several_classes(config: Config, train: Split) -> bool:
    """Whether a text may have several classes: as configured, or as some training text has."""
    # By train alone: dev and test must not decide what a model is able to say.
    if config.head.multi_label == "auto":
        return any(len(sentence.labels) > 1 for sentence in train.sentences)
    return config.head.several_classes


def check_classes(split: Split, *, several: bool) -> None:
    """Raise where a text has not as many classes as it may have.

    Raises:
        DataError: no text has a class.
        FormatError: a text without a class, or with several.
    """
    if several:
        return
    if split.sentences and not any(sentence.labels for sentence in split.sentences):
        read_as = f", which is read as {split.format}" if split.format else ""
        raise DataError(
            f"{split.path}: expected a class for each text, found none in this file{read_as}"
        )
    for sentence in split.sentences:
        if len(sentence.labels) != 1:
            found = listed([quoted(label) for label in sentence.labels]) or "none"
            raise FormatError(
                split.path, sentence.lines[0] if sentence.lines else 1,
                f"expected one class, found {found} (head.multi_label says how many a text has)",
            )  # fmt: skip


def check_variety(train: Split, dev: Split, *, is_split: bool) -> None:
    """Raise where there is only one class, or dev has classes of another kind.

    Args:
        train: what a model learns.
        dev: what it is scored on.
        is_split: whether dev was split off train.

    Raises:
        DataError: that is so.
    """
    known = train.classes()
    # With several classes a text, one that all texts have is no reason to refuse the others.
    always = [label for label, count in known.items() if count == len(train.sentences)]
    if always and len(known) == 1:
        problem = f"is of the class {quoted(always[0])}: expected two classes or more"
        if is_split and dev.classes().keys() - known.keys():
            raise DataError(
                f"{train.path}: every text that is left when dev is split off {problem}. Name a "
                "dev corpus (data.dev_file)"
            )
        raise DataError(f"{train.path}: every text {problem}")
    if not known:
        raise DataError(f"{train.path}: no text has a class, so there is nothing to learn")
    found = dev.classes()
    if found and not found.keys() & known.keys():
        if is_split:
            raise DataError(
                f"{train.path}: no class of the texts that are split off for dev is among those "
                "that are left, as each class has too few texts. Name a dev corpus "
                "(data.dev_file), or label more texts of each class"
            )
        ours, theirs = (listed(sorted(labels)[:5]) for labels in (known, found))
        raise DataError(
            f"{dev.path}: expected classes of {train.path}, such as {ours}; found none of them, "
            f"but {theirs}"
        )


def column_counts(split: Split) -> str:
    """'UPOS 14 labels, FEATS 30 values, MISC.NER 4 types (IOB2)'; empty without several columns."""
    columns: dict[str, list[TagColumn]] = {}
    for sentence in split.sentences:
        for column in sentence.columns:
            columns.setdefault(column.name, []).append(column)
    parts = []
    for name, values in columns.items():
        seen = {value for column in values for value in column.values}
        if name in NO_TAGS:  # a lemma may look like a tag of a span
            parts.append(f"{name} {plural(len(seen), 'value')}")
            continue
        scheme = judge(count_steps(column.values for column in values)).scheme
        if has_spans(scheme):
            types = {value.partition("-")[2] for value in seen - {OUTSIDE}}
            parts.append(f"{name} {plural(len(types), 'type')} ({DISPLAY[scheme]})")
        else:
            parts.append(f"{name} {plural(len(seen), 'label')}")
    return ", ".join(parts)


# Column files whose first column counts the words of a sentence, and so is none of words.
#
# GermEval 2014 and Universal NER begin a line with 1, 2, 3; WebAnno and INCEpTION with 1-1, 1-2.
# Read as words, the numbers of a corpus can be learnt, and scored, and mean nothing.

LOOKED_AT = 200  # sentences
_FEWEST, _SHARE = 3, 0.9  # of those with two words or more
_NUMBER = re.compile(r"(?:[0-9]{1,6}-)?([0-9]{1,6})")


def are_counted(sentences: Iterable[Sentence]) -> bool:
    """Whether the words of nearly all sentences are numbers that count up by one, from 0 or 1."""
    several = [each.words for each in islice(sentences, LOOKED_AT) if len(each.words) > 1]
    counted = sum(map(_count_up, several))
    return counted >= _FEWEST and counted >= _SHARE * len(several)


def _count_up(words: tuple[str, ...]) -> bool:
    found = [_NUMBER.fullmatch(word) for word in words]
    if not all(found):
        return False
    numbers = [int(each[1]) for each in found if each]
    return numbers[0] in (0, 1) and numbers == [*range(numbers[0], numbers[0] + len(numbers))]


LONG = 5  # tokens from which a sentence seldom occurs twice by chance


def is_long(words: Sequence[str]) -> bool:
    """Whether words are so many that two sentences of them are hardly equal by chance."""
    return len(words) >= LONG


def shared_sentences(sentences: Iterable[Sentence], known: Set[tuple[str, ...]]) -> list[Sentence]:
    """The sentences whose words are among those of known ones, in order."""
    # By words alone: a test sentence that train has with other tags has leaked all the same.
    return [sentence for sentence in sentences if sentence.words in known]
