"""Checks of repetition: sentences in a file and between files; one surface with many labels."""

from collections import Counter
from collections.abc import Collection, Iterator, Set
from dataclasses import dataclass, field

from tagkit.corpus.lint.file_contents import ReadFile, Surfaces, Words, line_of
from tagkit.corpus.lint.findings import CorpusFinding, Search
from tagkit.corpus.lint.sentence_counts import digest
from tagkit.corpus.splits.counts import LONG, is_long
from tagkit.text.records import Sentence
from tagkit.wording import first_of, plural, quoted, shown_name

_SHARED = 0.01  # share of long sentences that are in train too, likewise
_MANY = 0.02  # share of long sentences that are repeated, from which it is worth a warning
_MOST_SHOWN = 10
_LENGTHS = {True: f"of {LONG} tokens or more", False: f"under {LONG} tokens"}  # by `is_long`


@dataclass(slots=True)
class _Places:
    """Where a sentence occurs, and hashes of all the ways in which it is labelled there."""

    is_long: bool
    lines: list[int] = field(default_factory=list)
    labels: set[int] = field(default_factory=set)


def check_duplicates(read: ReadFile) -> Search:
    """Sentences that occur again in a file, alike or with other labels."""
    repeated = read.counts.repeated
    again: dict[int, _Places] = {}

    def see(sentence: Sentence) -> None:
        key = digest(sentence)
        if key in repeated:
            if key not in again:
                again[key] = _Places(is_long(sentence.words))
            found = again[key]
            found.lines.append(line_of(sentence, 0))
            # A hash, as only the number of different ones is wanted, and tags are big.
            found.labels.add(hash((sentence.tags, sentence.labels)))

    return Search(lambda: _duplicates(read, again.values()), see if repeated else None)


def _duplicates(read: ReadFile, again: Collection[_Places]) -> Iterator[CorpusFinding]:
    for long, what in _LENGTHS.items():
        lines = sorted(line for found in again if found.is_long == long for line in found.lines[1:])
        if lines:
            # Short ones ("Thank you.") repeat in every corpus.
            many = long and len(lines) > _MANY * read.counts.number
            yield CorpusFinding(
                "warning" if many else "note",
                "duplicate",
                read.path,
                f"{plural(len(lines), read.unit)} {what} {_repeat(len(lines))} an earlier one",
                len(lines),
                tuple(lines),
            )
    other = [found.lines for found in again if len(found.labels) > 1]
    if other:
        lines = sorted(line for found in other for line in found)
        yield CorpusFinding(
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


def check_overlap(one: ReadFile, other: ReadFile, *, is_train: bool) -> Search:
    """Sentences of a file that occur in another one, which may be the training file, too."""
    shared = one.counts.digests & other.counts.digests
    lines: dict[bool, list[int]] = {long: [] for long in _LENGTHS}

    def see(sentence: Sentence) -> None:
        # By words alone: a test sentence that train has with other tags has leaked all the same.
        if digest(sentence) in shared:
            lines[is_long(sentence.words)].append(line_of(sentence, 0))

    def findings() -> Iterator[CorpusFinding]:
        for long, what in _LENGTHS.items():
            found = lines[long]
            if not found:
                continue
            of_length = (n for size, n in other.counts.lengths.items() if (size >= LONG) == long)
            share = len(found) / sum(of_length)
            many = is_train and long and share > _SHARED
            yield CorpusFinding(
                "warning" if many else "note",
                "overlap",
                other.path,
                f"{plural(len(found), other.unit)} {what} ({100 * share:.1f} %) "
                f"{'occur' if len(found) > 1 else 'occurs'} in {one.path} too"
                f"{': scores may be too good' if many else ''}",
                len(found),
                tuple(found),
            )

    return Search(findings, see if shared else None)


def check_entities(train: ReadFile, other: ReadFile) -> Search:
    """How many entities of a file are in the training file; `check_surfaces` has found both."""

    def findings() -> Iterator[CorpusFinding]:
        # Distinct ones: a name that comes a hundred times would hide how many are new.
        entities = other.surfaces.keys() if other.has_spans else ()
        if entities:
            seen = sum(each in train.surfaces for each in entities) if train.has_spans else 0
            yield CorpusFinding(
                "note",
                "entity-overlap",
                other.path,
                f"{100 * seen / len(entities):.0f} % of its {len(entities):,} distinct entities "
                f"occur in {train.path}",
                seen,
            )

    return Search(findings)


def check_surfaces(read: ReadFile) -> Search:
    """Words that have different labels in different places."""
    surfaces = read.surfaces

    def see_spans(sentence: Sentence) -> None:
        for start, end, label in read.spans_of(sentence):
            surfaces[sentence.words[start:end], label] += 1

    def see_tags(sentence: Sentence) -> None:
        surfaces.update(zip(sentence.words, sentence.tags or (), strict=False))

    def findings() -> Iterator[CorpusFinding]:
        labels = Counter([words for words, _ in surfaces])
        several = {words for words, number in labels.items() if number > 1}
        if not several:
            return
        message = f"{len(several):,} of {len(labels):,} distinct "
        message += f"{'entities' if read.has_spans else 'words'} occur with several labels"
        if read.has_spans:  # among parts of speech that is nothing odd
            message += f": {_worst(surfaces, several)}"
        yield CorpusFinding("note", "ambiguous-surface", read.path, message, len(several))

    if not read.has_tags:
        return Search(findings)
    return Search(findings, see_spans if read.has_spans else see_tags)


def _worst(surfaces: Surfaces, several: Set[Words]) -> str:
    """The words of which the rarer labels are many."""
    labels: dict[Words, Counter[str]] = {}
    for (words, label), times in surfaces.items():
        if words in several:
            labels.setdefault(words, Counter())[label] = times
    # By the number of examples beside the commonest label: those are either mistakes or hard.
    ordered = sorted(labels.items(), key=lambda pair: max(pair[1].values()) - pair[1].total())
    shown = [_shown(words, counts) for words, counts in ordered[:_MOST_SHOWN]]
    return first_of(shown, len(labels))


def _shown(words: Words, counts: Counter[str]) -> str:
    labels = ", ".join(f"{shown_name(label)} {count:,}" for label, count in counts.most_common(4))
    return f"{quoted(' '.join(words), 40)} ({labels})"
