"""Tags: their scheme and how sure it is, steps that it forbids, mixtures, tags of no scheme."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from tagkit.errors import SchemeError
from tagkit.lint.reading import ReadFile, line_of
from tagkit.lint.report import Finding, plural
from tagkit.schemes import (
    DISPLAY,
    OUTSIDE,
    SPAN_SCHEMES,
    Detection,
    Step,
    illegal_in,
    is_span_tag,
    may_follow,
)

_MOST_KINDS = 8  # of forbidden steps that are told one by one


def scheme_told(read: ReadFile) -> str:
    """The scheme of a file's tags and how sure it is, for people."""
    found = read.detection
    if found is None:
        return "classes" if read.scheme == "classes" else "no labels"
    if isinstance(found, SchemeError):
        return "unsure: most tags are those of a span scheme, some are not"
    if found.scheme == "labels":
        return "plain labels"
    if read.only_outside():
        return "every tag is O"
    others = {
        scheme: illegal_in(read.steps, scheme) for scheme in SPAN_SCHEMES if scheme != found.scheme
    }
    next_best = min(others, key=others.__getitem__)
    steps = plural(found.transitions, "transition")
    mine = f"{found.illegal:,} of {steps} illegal" if found.illegal else f"all {steps} legal"
    name, other = DISPLAY[found.scheme], DISPLAY[next_best]
    if others[next_best] == found.illegal:
        return f"{name} ({mine}; not sure: {other} fits as well)"
    return f"{name} ({mine}; next best is {other} with {others[next_best]:,} illegal)"


def check_tags(read: ReadFile) -> Iterator[Finding]:
    """Tags of no scheme, and steps that the file's scheme forbids."""
    if isinstance(read.detection, SchemeError):
        yield from _odd_tags(read)
    elif read.has_spans and isinstance(read.detection, Detection) and read.detection.illegal:
        yield from _illegal_steps(read, read.detection.scheme)
        yield from _mixed_schemes(read, read.detection.scheme)


def _odd_tags(read: ReadFile) -> Iterator[Finding]:
    lines: dict[str, list[int]] = {}
    for sentence in read.sentences:
        for place, tag in enumerate(sentence.tags or ()):
            if not is_span_tag(tag):
                lines.setdefault(tag, []).append(line_of(sentence, place))
    for tag, found in sorted(lines.items(), key=lambda pair: -len(pair[1])):
        yield Finding(
            "error",
            "tag-of-no-scheme",
            read.path,
            f"tag {tag!r} is none of a span scheme, as most here are (B-LABEL, I-LABEL, O): "
            f"{plural(len(found), 'time')}",
            len(found),
            tuple(found),
        )


def _illegal_steps(read: ReadFile, scheme: str) -> Iterator[Finding]:
    forbidden = {step for step in read.steps if not may_follow(*step, scheme)}
    lines: dict[Step, list[int]] = {}
    for sentence in read.sentences:
        steps = pairwise((OUTSIDE, *(sentence.tags or ()), OUTSIDE))
        for place, step in enumerate(steps):
            if step in forbidden:
                # The end of a sentence is told on its last line.
                last = min(place, len(sentence) - 1)
                lines.setdefault(step, []).append(line_of(sentence, last))
    ordered = sorted(lines.items(), key=lambda pair: -len(pair[1]))
    for (before, after), found in ordered[:_MOST_KINDS]:
        yield Finding(
            "error",
            "illegal-transition",
            read.path,
            f"{before} -> {after} is illegal in {DISPLAY[scheme]}: {plural(len(found), 'time')}",
            len(found),
            tuple(found),
        )
    if rest := ordered[_MOST_KINDS:]:
        numbers = sorted(line for _, found in rest for line in found)
        yield Finding(
            "error",
            "illegal-transition",
            read.path,
            f"{plural(len(rest), 'more kind')} of transitions are illegal in {DISPLAY[scheme]}: "
            f"{plural(len(numbers), 'time')}",
            len(numbers),
            tuple(numbers),
        )


def _mixed_schemes(read: ReadFile, scheme: str) -> Iterator[Finding]:
    """Sentences that another scheme allows, where it allows most that this one does not."""
    others: Counter[str] = Counter()
    lines: dict[str, list[int]] = {}
    bad = 0
    for sentence in read.sentences:
        steps = set(pairwise((OUTSIDE, *(sentence.tags or ()), OUTSIDE)))
        if all(may_follow(*step, scheme) for step in steps):
            continue
        bad += 1
        for other in SPAN_SCHEMES:
            if other != scheme and all(may_follow(*step, other) for step in steps):
                others[other] += 1
                lines.setdefault(other, []).append(line_of(sentence, 0))
    if not others:
        return
    other, count = others.most_common(1)[0]
    if count > 1 and 2 * count > bad:
        yield Finding(
            "error",
            "mixed-schemes",
            read.path,
            f"{plural(count, 'sentence')} in {DISPLAY[other]}, not in {DISPLAY[scheme]} as the "
            f"others",
            count,
            tuple(lines[other]),
        )
