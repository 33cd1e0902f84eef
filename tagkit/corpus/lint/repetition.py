"""Checks of repetition: sentences in a file and between files; one surface with many labels."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tagkit.corpus.lint.file_contents import ReadFile, line_of
from tagkit.corpus.lint.findings import Finding
from tagkit.corpus.repetition import LONG, is_long, shared_sentences
from tagkit.wording import first_of, plural, quoted, shown_name

_SHARED = 0.01  # share of long sentences that are in train too, likewise
_MANY = 0.02  # share of long sentences that are repeated, from which it is worth a warning
_MOST_SHOWN = 10
_LENGTHS = {True: f"of {LONG} tokens or more", False: f"under {LONG} tokens"}  # by `is_long`


class _Places(NamedTuple):
    """Where a sentence occurs, and hashes of all the ways in which it is labelled there."""

    lines: list[int]
    labels: set[int]


def check_duplicates(read: ReadFile) -> Iterator[Finding]:
    """Sentences that occur again in a file, alike or with other labels."""
    places = _places(read)
    again = {words: found for words, found in places.items() if len(found.lines) > 1}
    for long, what in _LENGTHS.items():
        lines = sorted(
            line
            for words, found in again.items()
            if is_long(words) == long
            for line in found.lines[1:]
        )
        if lines:
            # Short ones ("Thank you.") repeat in every corpus.
            many = long and len(lines) > _MANY * len(read.sentences)
            yield Finding(
                "warning" if many else "note",
                "duplicate",
                read.path,
                f"{plural(len(lines), read.unit)} {what} {_repeat(len(lines))} an earlier one",
                len(lines),
                tuple(lines),
            )
    other = [found.lines for found in again.values() if len(found.labels) > 1]
    if other:
        lines = sorted(line for found in other for line in found)
        yield Finding(
            "warning",
            "contradiction",
            read.path,
            f"{plural(len(other), read.unit)} {'occur' if len(other) > 1 else 'occurs'} with "
            f"different labels",
            len(other),
            tuple(lines),
        )


def _repeat(count: int) -> str:
    return "repeat" if count > 1 else "repeats"


def _places(read: ReadFile) -> dict[tuple[str, ...], _Places]:
    places: dict[tuple[str, ...], _Places] = {}
    for sentence in read.sentences:
        found = places.setdefault(sentence.words, _Places([], set()))
        found.lines.append(line_of(sentence, 0))
        # A hash, as only the number of different ones is wanted, and tags of all sentences are big.
        found.labels.add(hash((sentence.tags, sentence.labels)))
    return places


def check_overlap(one: ReadFile, other: ReadFile, *, is_train: bool) -> Iterator[Finding]:
    """Sentences of a file that occur in another one, which may be the training file, too."""
    shared = shared_sentences(other.sentences, {sentence.words for sentence in one.sentences})
    for long, what in _LENGTHS.items():
        found = [sentence for sentence in shared if is_long(sentence.words) == long]
        if not found:
            continue
        share = len(found) / sum(is_long(s.words) == long for s in other.sentences)
        many = is_train and long and share > _SHARED
        yield Finding(
            "warning" if many else "note",
            "overlap",
            other.path,
            f"{plural(len(found), other.unit)} {what} ({100 * share:.1f} %) "
            f"{'occur' if len(found) > 1 else 'occurs'} in {one.path} too"
            f"{': scores may be too good' if many else ''}",
            len(found),
            tuple(line_of(sentence, 0) for sentence in found),
        )


def check_entities(train: ReadFile, other: ReadFile) -> Iterator[Finding]:
    """How many entities of a file are in the training file."""
    # Distinct ones: a name that comes a hundred times would hide how many are new.
    entities = _entities(other)
    if entities:
        seen = len(entities & _entities(train))
        yield Finding(
            "note",
            "entity-overlap",
            other.path,
            f"{100 * seen / len(entities):.0f} % of its {len(entities):,} distinct entities occur "
            f"in {train.path}",
            seen,
        )


def _entities(read: ReadFile) -> set[tuple[str, tuple[str, ...]]]:
    return {
        (span.label, sentence.words[span.start : span.end])
        for sentence, spans in read.spans
        for span in spans
    }


def check_surfaces(read: ReadFile) -> Iterator[Finding]:
    """Words that have different labels in different places."""
    labels: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for words, label in _surfaces(read):
        labels[words][label] += 1
    several = {words: counts for words, counts in labels.items() if len(counts) > 1}
    if not several:
        return
    message = f"{len(several):,} of {len(labels):,} distinct "
    message += f"{'entities' if read.has_spans else 'words'} occur with several labels"
    if read.has_spans:  # among parts of speech that is nothing odd
        message += f": {_worst(several)}"
    yield Finding("note", "ambiguous-surface", read.path, message, len(several))


def _worst(several: dict[tuple[str, ...], Counter[str]]) -> str:
    """The words of which the rarer labels are many."""
    # By the number of examples beside the commonest label: those are either mistakes or hard.
    ordered = sorted(several.items(), key=lambda pair: max(pair[1].values()) - pair[1].total())
    shown = [_shown(words, counts) for words, counts in ordered[:_MOST_SHOWN]]
    return first_of(shown, len(several))


def _shown(words: tuple[str, ...], counts: Counter[str]) -> str:
    labels = ", ".join(f"{shown_name(label)} {count:,}" for label, count in counts.most_common(4))
    return f"{quoted(' '.join(words), 40)} ({labels})"


def _surfaces(read: ReadFile) -> Iterator[tuple[tuple[str, ...], str]]:
    if read.has_spans:
        for sentence, spans in read.spans:
            for span in spans:
                yield sentence.words[span.start : span.end], span.label
    elif read.has_tags:
        for sentence in read.sentences:
            for word, tag in zip(sentence.words, sentence.tags or (), strict=False):
                yield (word,), tag
