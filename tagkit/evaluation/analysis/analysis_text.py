"""Analyses as lines of plain text: what `tagkit eval` prints of them."""

from collections.abc import Iterator, Mapping, Sequence

from tagkit.evaluation.analysis.analysis import Analysis, Measures
from tagkit.evaluation.analysis.error_kinds import NOTHING, ErrorReport, Example
from tagkit.evaluation.analysis.slices import Slices, WordAccuracy
from tagkit.evaluation.reports.report_text import (
    WIDTH,
    calibration_lines,
    counts,
    interval_cell,
    label_cell,
    pair_table,
    shares,
    table,
)
from tagkit.text.schemes import SpanTuple
from tagkit.wording import cells, plural, shortened, shown_name, visible

NAME = len("predicted") + 2  # cells for the name of a side
_ROWS = 10  # of a table that could have one for each type
_CONTEXT = 4  # words on either side of an example
_SCORE_HEADS = ("precision", "recall", "f1")


def analysis_lines(analysis: Analysis, width: int | None = None) -> Iterator[str]:
    """The analyses that were asked for, each after a blank line.

    Args:
        analysis: of a report.
        width: cells of a terminal; None for a file.
    """
    room = width or WIDTH
    if analysis.interval is not None:
        yield ""
        for part, each in analysis.interval.items():
            shown = interval_cell(each.low, each.high)
            name = f"{part} {each.measure}".lstrip()
            yield f"{name} {each.score:.4f}, {100 * each.level:g} % interval {shown}"
    if analysis.measures is not None:
        yield ""
        yield from _measure_lines(analysis.measures, room)
    if analysis.errors is not None:
        yield ""
        yield from _error_lines(analysis.errors, analysis.name, room)
    if isinstance(analysis.slices, Slices):
        yield from _slice_lines(analysis.slices, room)
    elif isinstance(analysis.slices, WordAccuracy):
        yield ""
        yield from _word_lines(analysis.slices, room)
    if analysis.calibration is not None:
        yield from calibration_lines(analysis.calibration)


def _measure_lines(measures: Measures, room: int) -> Iterator[str]:
    heads = (*_SCORE_HEADS, "correct", "wrong", "partial", "missed", "spurious")
    rows = [
        (
            name,
            *shares(each.precision, each.recall, each.f1),
            *counts(each.correct, each.incorrect, each.partial, each.missed, each.spurious),
        )
        for name, each in measures.spans.micro.items()
    ]
    surface = measures.surface
    # Of distinct forms none is partial, and a wrong one is spurious.
    found = shares(surface.precision, surface.recall, surface.f1)
    yield from table("measure", heads, [*rows, ("surface", *found, *[""] * 5)], room)
    types = "its type" if surface.support == 1 else "their types"
    yield f"surface: {plural(surface.support, 'distinct gold form')} with {types}"


def _error_lines(errors: ErrorReport, name: str, room: int) -> Iterator[str]:
    rows = [
        (kind, f"{each.count:,}", f"{100 * each.gain:+.2f}") for kind, each in errors.kinds.items()
    ]
    yield from table("kind of error", ("errors", "F1 if mended"), rows, room)
    yield f"{plural(errors.errors, 'error')}; F1 points that mending all of a kind would gain"
    if not errors.errors:
        return
    yield ""
    types = list(errors.types.items())[:_ROWS]
    worst = [(label_cell(label), f"{count:,}") for label, count in types]
    yield from table("worst types", ("errors",), worst, room)
    yield from _left_out(len(errors.types))
    if errors.confusion:
        yield ""
        pairs = [
            (_type_cell(gold), _type_cell(other), count)
            for gold, other, count in errors.confusion[:_ROWS]
        ]
        yield from pair_table(("gold", "predicted", "errors"), pairs, room)
        yield from _left_out(len(errors.confusion))
    for kind, each in errors.kinds.items():
        if each.examples:
            yield ""
            yield kind
            for example in each.examples:
                yield from _example_lines(example, name, room)


def _type_cell(label: str) -> str:
    return "(no span)" if label == NOTHING else label_cell(label)


def _left_out(count: int) -> Iterator[str]:
    if count > _ROWS:
        yield f"and {count - _ROWS:,} more"


def _example_lines(example: Example, name: str, room: int) -> Iterator[str]:
    """Where an error is, and the gold and the predicted spans among the words around them."""
    place = f":{example.line}" if example.line else f", sentence {example.sentence + 1:,}"
    yield f"  {shown_name(name)}{place}"
    sides = {"gold": example.gold, "predicted": example.predicted}
    yield from side_lines(example.words, sides, room, " " * 4, _CONTEXT)


def side_lines(
    words: Sequence[str],
    sides: Mapping[str, Sequence[SpanTuple]],
    room: int,
    indent: str,
    context: int,
) -> Iterator[str]:
    """A line for each side, with as much of the sentence around its spans as all have room for.

    Args:
        words: of the sentence.
        sides: spans by the name of the side.
        room: cells of a line.
        indent: what each begins with.
        context: words on either side, at most.
    """
    both = [span for spans in sides.values() for span in spans]
    start, end = min(span[0] for span in both), max(span[1] for span in both)
    left = room - len(indent) - NAME
    for around in range(context, -1, -1):
        window = max(0, start - around), min(len(words), end + around)
        shown = {side: marked(words, spans, window) for side, spans in sides.items()}
        if max(map(cells, shown.values())) <= left:
            break
    for side, text in shown.items():
        yield f"{indent}{side:<{NAME}}{shortened(text, max(20, left))}"


def marked(words: Sequence[str], spans: Sequence[SpanTuple], window: tuple[int, int]) -> str:
    """The words of a window, the spans in brackets behind their label."""
    starts = {start: label for start, _, label in spans}
    ends = {end - 1 for _, end, _ in spans}
    shown = []
    for index in range(*window):
        before = f"[{label_cell(starts[index])} " if index in starts else ""
        shown.append(before + visible(words[index]) + ("]" if index in ends else ""))
    return " ".join(shown)


def _slice_lines(slices: Slices, room: int) -> Iterator[str]:
    for title, scores in slices.divisions().items():
        yield ""
        rows = [
            (name, *shares(each.precision, each.recall, each.f1), *counts(each.support))
            for name, each in scores.items()
        ]
        yield from table(title.removeprefix("the "), (*_SCORE_HEADS, "support"), rows, room)


def _word_lines(words: WordAccuracy, room: int) -> Iterator[str]:
    rows = [
        (name, f"{accuracy:.4f}" if tokens else "-", f"{tokens:,}")
        for name, accuracy, tokens in words.rows()
    ]
    yield from table("words in training", ("accuracy", "tokens"), rows, room)
