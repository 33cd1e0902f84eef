"""Systems side by side as lines of plain text: what `tagkit eval` prints of several."""

from collections.abc import Iterator, Sequence

from tagkit.evaluation.compare.systems import System, Systems
from tagkit.evaluation.reports.report_text import label_cell, without_spans
from tagkit.evaluation.reports.tag_report import TagReport
from tagkit.evaluation.reports.text_table import WIDTH, interval_cell, p_cell, shares, table
from tagkit.evaluation.scores.significance import Difference
from tagkit.wording import plural

_FEW = 5  # runs: of fewer, the standard deviation is hardly known


def systems_lines(
    systems: Systems, names: Sequence[str], width: int | None = None
) -> Iterator[str]:
    """Tables of the systems' scores, of their runs, and of their scores by type.

    Args:
        systems: side by side.
        names: what to call them, in their order.
        width: cells of a terminal; None for a file.
    """
    room = width or WIDTH
    for number, (part, each) in enumerate(systems.parts.items()):
        if part:
            yield from (["", part, ""] if number else [part, ""])
        yield from _score_lines(each, names, room)
        if any(len(system.runs) > 1 for system in each):
            yield ""
            yield from _run_lines(each, names, room)
        if each[0].types:
            yield ""
            yield from _type_lines(each, names, room)


def _score_lines(systems: Sequence[System], names: Sequence[str], room: int) -> Iterator[str]:
    comparisons = len(systems) - 1
    adjusted = comparisons > 1
    measure, level = systems[0].runs[0].report.measure, 100 * systems[0].interval.level
    if any(len(system.runs) > 1 for system in systems):
        measure = f"mean {measure}"
    interval = f"{level:g} % interval"
    heads = [measure, interval]
    rows = [
        [name, *shares(system.score), interval_cell(system.interval.low, system.interval.high)]
        for name, system in zip(names, systems, strict=True)
    ]
    if comparisons:
        heads += _heads(interval, adjusted=adjusted)
        for row, system in zip(rows, systems, strict=True):
            row += _cells(system.difference, adjusted=adjusted)
    yield from table("system", heads, rows, room)
    if comparisons:
        yield "change: from the first system; p: of a paired randomisation test"
    if remark := without_gold_spans(systems):
        yield remark
    if adjusted:
        yield _holm_line(comparisons)


def without_gold_spans(systems: Sequence[System]) -> str:
    """What scores and differences of 0 mean, if there is no gold span; else an empty text."""
    reports = [run.report for system in systems for run in system.runs]
    if all(isinstance(report, TagReport) and without_spans(report) for report in reports):
        return "there is no gold span: all scores are 0, and a difference of 0 says nothing"
    return ""


def _run_lines(systems: Sequence[System], names: Sequence[str], room: int) -> Iterator[str]:
    rows = []
    for name, system in zip(names, systems, strict=True):
        scores = [run.report.headline for run in system.runs]
        seeds = "-" if system.spread.seeds is None else f"{system.spread.seeds:.4f}"
        rows.append(
            [name, str(len(scores)), *shares(min(scores), max(scores)), seeds,
             *shares(system.spread.sentences)]
        )  # fmt: skip
    heads = ("runs", "lowest", "highest", "sd by seed", "sd by sentence")
    yield from table("system", heads, rows, room)
    yield "sd by seed: of a run's score; sd by sentence: of the mean on other such corpora"
    yield "intervals and p allow for other seeds and other sentences"
    for name, system in zip(names, systems, strict=True):
        count = len(system.runs)
        if count == 1:
            yield f"{name}: one run says nothing about other seeds; only sentences are allowed for"
        elif count < _FEW:
            wider = ", which widens its intervals" if system.spread.seeds else ""
            yield f"{name}: {count} runs say little about other seeds{wider}"


def _type_lines(systems: Sequence[System], names: Sequence[str], room: int) -> Iterator[str]:
    """F1 by type, and its change: in one table of two systems, else in a table for each."""
    labels = list(systems[0].types)
    numbers = [f"({number})" for number in range(1, len(systems) + 1)]
    interval = f"{100 * systems[0].interval.level:g} % interval"
    rows = [
        [label_cell(label), *shares(*(system.types[label].f1 for system in systems))]
        for label in labels
    ]
    heads, others = list(numbers), systems[1:]
    if len(systems) == 2:
        heads += _heads(interval, adjusted=True)
        for label, row in zip(labels, rows, strict=True):
            row += _cells(systems[1].types[label].difference, adjusted=True)
    yield from table("F1 by type", heads, rows, room)
    for number, name in zip(numbers, names, strict=True):
        yield f"{number} {name}"
    for number, system in zip(numbers[1:], others if len(others) > 1 else (), strict=False):
        yield ""
        changes = [
            [label_cell(label), *_cells(each.difference, adjusted=True)]
            for label, each in system.types.items()
        ]
        title = f"{number} from {numbers[0]}"
        yield from table(title, _heads(interval, adjusted=True), changes, room)
    if others:
        yield _holm_line(len(labels) * len(others))


def _heads(interval: str, *, adjusted: bool) -> list[str]:
    return ["change", interval, "p", *(["Holm p"] if adjusted else [])]


def _cells(difference: Difference | None, *, adjusted: bool) -> list[str]:
    """The cells of a difference; empty of the first system."""
    if difference is None:
        return [""] * len(_heads("", adjusted=adjusted))
    ends = difference.interval.low, difference.interval.high
    cells = [
        f"{difference.difference:+.4f}", interval_cell(*ends, "+"),
        p_cell(difference.p), p_cell(difference.p_holm),
    ]  # fmt: skip
    return cells if adjusted else cells[:-1]


def _holm_line(comparisons: int) -> str:
    return f"Holm p: adjusted for {plural(comparisons, 'comparison')}"
