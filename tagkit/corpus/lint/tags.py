"""Checks of tags: their scheme and how sure it is, steps that it forbids, mixtures, odd tags."""

from collections.abc import Iterator, Set

from tagkit.corpus.lint.file_contents import ReadFile, line_of
from tagkit.corpus.lint.findings import Finding, Search
from tagkit.corpus.lint.spelling import corrections
from tagkit.text.records import Sentence
from tagkit.text.scheme_detection import Judgement, Step, steps_of
from tagkit.text.schemes import DISPLAY, SPAN_SCHEMES, has_spans
from tagkit.wording import plural, quoted, shown_name

_MOST_KINDS = 8  # of forbidden steps that are listed one by one


def scheme_text(read: ReadFile) -> str:
    """The scheme of a file's tags and how sure it is, for people."""
    judged = read.judged
    if judged is None:
        return "classes" if read.scheme == "classes" else "no labels"
    if not has_spans(judged.scheme):
        return "plain labels"
    if read.only_outside():
        return "every tag is O"
    found = judged.detection
    steps = plural(found.transitions, "transition")
    mine = f"{found.illegal:,} of {steps} illegal" if found.illegal else f"all {steps} legal"
    odd = f"; {plural(len(judged.odd), 'tag')} of no scheme" if judged.odd else ""
    if judged.is_named:
        return f"{DISPLAY[found.scheme]}, as data.scheme says ({mine}{odd})"
    return f"{DISPLAY[found.scheme]} ({mine}; {_rival(read, judged)}{odd})"


def _rival(read: ReadFile, judged: Judgement) -> str:
    """The scheme that fits next best, or all that fit as well."""
    # All are compared, as a corpus without spans of two words fits nearly every scheme. IOBES and
    # BMES are one, but for the letter inside of spans of three words: no file is in doubt of it.
    others = {
        scheme: judged.fits(read.steps, scheme)
        for scheme in SPAN_SCHEMES
        if scheme != judged.scheme and {scheme, judged.scheme} != {"iobes", "bmes"}
    }
    least = min(others.values())
    names = [DISPLAY[scheme] for scheme, count in others.items() if count == least]
    if least == judged.detection.illegal:
        return f"not sure: {' and '.join(names)} fit{'s' if len(names) == 1 else ''} as well"
    return f"next best is {names[0]} with {least:,} illegal"


def check_tags(read: ReadFile) -> Iterator[Search]:
    """Tags of no scheme, and steps that the file's scheme forbids."""
    judged = read.judged
    if judged is None or not has_spans(judged.scheme):
        return
    if judged.odd:
        yield _odd_tags(read, judged)
    if judged.detection.illegal:
        # Asked once for each kind of step, not for each of millions of tokens.
        forbidden = {step for step in read.steps if judged.forbids(step)}
        yield _illegal_steps(read, judged, forbidden)
        yield _mixed_schemes(read, judged, forbidden)


def _odd_tags(read: ReadFile, judged: Judgement) -> Search:
    lines: dict[str, list[int]] = {}

    def see(sentence: Sentence) -> None:
        for place, tag in enumerate(sentence.tags or ()):
            if tag in judged.odd:
                lines.setdefault(tag, []).append(line_of(sentence, place))

    def findings() -> Iterator[Finding]:
        known = corrections(judged.odd, read.column.tags, 1)
        expected = "a span scheme, as most here are (B-LABEL, I-LABEL, O)"
        if judged.is_named:
            expected = f"{DISPLAY[judged.scheme]}, which data.scheme names"
        # The most frequent first: a wrong separator (B_PER) makes many of one kind.
        for tag, found in sorted(lines.items(), key=lambda pair: -len(pair[1])):
            guess = f"; is {shown_name(known[tag])} meant?" if tag in known else ""
            yield Finding(
                "error",
                "tag-of-no-scheme",
                read.path,
                f"tag {quoted(tag)} is none of {expected}: {plural(len(found), 'time')}{guess}",
                len(found),
                tuple(found),
            )

    return Search(findings, see)


def _illegal_steps(read: ReadFile, judged: Judgement, forbidden: Set[Step]) -> Search:
    lines: dict[Step, list[int]] = {}

    def see(sentence: Sentence) -> None:
        for place, step in enumerate(steps_of(sentence.tags or ())):
            if step in forbidden:
                # The step to the end of a sentence is reported on the line of its last word.
                last = min(place, len(sentence) - 1)
                lines.setdefault(step, []).append(line_of(sentence, last))

    def findings() -> Iterator[Finding]:
        scheme = DISPLAY[judged.scheme]
        ordered = sorted(lines.items(), key=lambda pair: -len(pair[1]))
        for (before, after), found in ordered[:_MOST_KINDS]:
            yield Finding(
                "error",
                "illegal-transition",
                read.path,
                f"{shown_name(before)} -> {shown_name(after)} is illegal in {scheme}: "
                f"{plural(len(found), 'time')}",
                len(found),
                tuple(found),
            )
        if rest := ordered[_MOST_KINDS:]:
            numbers = sorted(line for _, found in rest for line in found)
            yield Finding(
                "error",
                "illegal-transition",
                read.path,
                f"{plural(len(rest), 'more kind')} of transitions are illegal in {scheme}: "
                f"{plural(len(numbers), 'time')}",
                len(numbers),
                tuple(numbers),
            )

    return Search(findings, see)


def _mixed_schemes(read: ReadFile, judged: Judgement, forbidden: Set[Step]) -> Search:
    """Sentences that another scheme allows, where it allows most that this one does not."""
    lines: dict[str, list[int]] = {}
    bad = 0

    def see(sentence: Sentence) -> None:
        nonlocal bad
        steps = set(steps_of(sentence.tags or ()))
        if steps.isdisjoint(forbidden):
            return
        bad += 1
        for other in SPAN_SCHEMES:
            if other != judged.scheme and not any(judged.forbids(step, other) for step in steps):
                lines.setdefault(other, []).append(line_of(sentence, 0))

    def findings() -> Iterator[Finding]:
        if not lines:
            return
        other, found = max(lines.items(), key=lambda pair: len(pair[1]))
        # Half of the broken sentences or more: then it is no matter of single mistakes, but two
        # corpora in different schemes were put together.
        if len(found) > 1 and 2 * len(found) > bad:
            yield Finding(
                "error",
                "mixed-schemes",
                read.path,
                f"{plural(len(found), 'sentence')} in {DISPLAY[other]}, not in "
                f"{DISPLAY[judged.scheme]} as the others",
                len(found),
                tuple(found),
            )

    return Search(findings, see)
