"""What occurs more than once: sentences in a file, in two files; one surface with many labels."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tagkit.errors import shorten
from tagkit.lint.reading import ReadFile, line_of
from tagkit.lint.report import Finding, plural
from tagkit.sentence import Sentence

_LONG = 5  # tokens from which a sentence is seldom said twice by chance
_MANY = 0.02  # share of long sentences that are repeated, from which it is worth a warning
_MOST_SHOWN = 10


class _Places(NamedTuple):
    """Where a sentence stands, and all ways in which it is labelled there."""

    lines: list[int]
    labels: set[int]


def check_duplicates(read: ReadFile) -> Iterator[Finding]:
    """Sentences that occur again in a file, alike or with other labels."""
    places = _places(read)
    again = {words: found for words, found in places.items() if len(found.lines) > 1}
    for is_long, what in ((True, f"of {_LONG} tokens or more"), (False, f"under {_LONG} tokens")):
        lines = sorted(
            line
            for words, found in again.items()
            if (len(words) >= _LONG) == is_long
            for line in found.lines[1:]
        )
        if lines:
            many = is_long and len(lines) > _MANY * len(read.sentences)
            yield Finding(
                "warning" if many else "note",
                "duplicate",
                read.path,
                f"{plural(len(lines), 'sentence')} {what} {_repeat(len(lines))} an earlier one",
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
            f"{plural(len(other), 'sentence')} {'occur' if len(other) > 1 else 'occurs'} with "
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
        found.labels.add(hash((sentence.tags, sentence.labels)))
    return places


def check_overlap(one: ReadFile, other: ReadFile) -> Iterator[Finding]:
    """Sentences of a file that occur in another one too, and entities."""
    known = {sentence.words for sentence in one.sentences}
    long = [s for s in other.sentences if len(s) >= _LONG]
    found = [sentence for sentence in long if sentence.words in known]
    if found:
        lines = [line_of(sentence, 0) for sentence in found]
        share = 100 * len(found) / len(long)
        yield Finding(
            "warning",
            "overlap",
            other.path,
            f"{plural(len(found), 'sentence')} of {_LONG} tokens or more ({share:.1f} %) "
            f"{'occur' if len(found) > 1 else 'occurs'} in {one.path} too: scores will be too "
            f"good",
            len(found),
            tuple(lines),
        )
    entities = _entities(other)
    if entities:
        seen = len(entities & _entities(one))
        yield Finding(
            "note",
            "entity-overlap",
            other.path,
            f"{100 * seen / len(entities):.0f} % of its {len(entities):,} distinct entities occur "
            f"in {one.path}",
            seen,
        )


def _entities(read: ReadFile) -> set[tuple[str, tuple[str, ...]]]:
    return {
        (span.label, sentence.words[span.start : span.end])
        for sentence, spans in read.spans
        for span in spans
    }


def check_surfaces(read: ReadFile) -> Iterator[Finding]:
    """Words that are labelled now so, now so."""
    labels: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    lines: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for words, label, line in _surfaces(read):
        labels[words][label] += 1
        lines[words].append(line)
    several = {words: counts for words, counts in labels.items() if len(counts) > 1}
    if not several:
        return
    # The ones where the rarer labels are many matter most.
    by_weight = sorted(
        several, key=lambda words: several[words].total() - max(several[words].values())
    )[::-1]
    shown = [_shown(words, several[words]) for words in by_weight[:_MOST_SHOWN]]
    what = "entities occur" if read.has_spans else "words occur"
    more = len(several) - len(shown)
    yield Finding(
        "note",
        "ambiguous-surface",
        read.path,
        f"{len(several):,} of {len(labels):,} distinct {what} with several labels: "
        f"{', '.join(shown)}{f' and {more:,} more' if more else ''}",
        len(several),
    )


def _shown(words: tuple[str, ...], counts: Counter[str]) -> str:
    labels = ", ".join(f"{label} {count:,}" for label, count in counts.most_common(4))
    return f"{shorten(' '.join(words), 40)} ({labels})"


def _surfaces(read: ReadFile) -> Iterator[tuple[tuple[str, ...], str, int]]:
    if read.has_spans:
        for sentence, spans in read.spans:
            for span in spans:
                words = sentence.words[span.start : span.end]
                yield words, span.label, line_of(sentence, span.start)
    elif read.has_tags:
        for sentence in read.sentences:
            yield from _tokens(sentence)


def _tokens(sentence: Sentence) -> Iterator[tuple[tuple[str, ...], str, int]]:
    for place, (word, tag) in enumerate(zip(sentence.words, sentence.tags or (), strict=False)):
        yield (word,), tag, line_of(sentence, place)
