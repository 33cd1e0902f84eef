"""Systems side by side: intervals in a chart, differences with their p, F1 by label."""

from collections.abc import Sequence

from markupsafe import Markup

from tagkit.evaluation.compare.systems import System, Systems
from tagkit.evaluation.compare.systems_text import without_gold_spans
from tagkit.evaluation.html_report.tables import MAX_ROWS, left_out, note, remark_note
from tagkit.evaluation.reports.report_text import label_cell
from tagkit.evaluation.scores.significance import Difference, Interval
from tagkit.html.chart import PAGE_TICKS, round_ticks
from tagkit.html.colours import Palette
from tagkit.html.elements import Child, element, joined, percent, table

_ROW = 34  # height of a system in the chart, in units of the drawing
_LEFT, _RIGHT, _WIDTH = 46, 20, 480


def draw_systems(systems: Systems, palette: Palette) -> Markup:
    """Each part of the systems' labels in turn: tags, classes, or the only one."""
    return joined(
        part
        for name, each in systems.parts.items()
        for part in (element("h3", name.capitalize()) if name else None, _table(each))
    )


def _table(systems: Sequence[System]) -> Markup:
    measure = systems[0].runs[0].report.measure
    level = f"{100 * systems[0].interval.level:g} % interval"
    heads = ["system", f"{measure}, %", level, "change", level, "p", "Holm p"]
    rows = [
        [f"({number}) {label_cell(system.name)}", percent(system.score), _interval(system.interval),
         *_difference(system.difference)]
        for number, system in enumerate(systems, 1)
    ]  # fmt: skip
    parts = [
        remark_note(without_gold_spans(systems)),
        element(
            "figure", element("figcaption", f"{measure} with its {level}"), _chart(systems, measure)
        ),
        table("Systems", heads, rows),
        note("change: from the first system, in points. p: how often random exchanges of two "
             "systems' predictions give at least this difference; a p of 1 says that they cannot "
             "be told apart. Holm p: adjusted for all comparisons of the table."),
        _runs(systems) if any(len(system.runs) > 1 for system in systems) else None,
        _types(systems) if systems[0].types else None,
    ]  # fmt: skip
    return joined(parts)


def _runs(systems: Sequence[System]) -> Markup:
    """Scores of single runs, and both sources of variance."""
    rows: list[list[Child]] = []
    for number, system in enumerate(systems, 1):
        scores = [run.report.headline for run in system.runs]
        seeds = system.spread.seeds
        rows.append(
            [f"({number})", len(scores), percent(min(scores)), percent(max(scores)),
             "–" if seeds is None else percent(seeds), percent(system.spread.sentences)]
        )  # fmt: skip
    heads = ("system", "runs", "lowest", "highest", "sd by seed", "sd by sentence")
    return joined([
        table("Runs with several seeds", heads, rows),
        note("sd: standard deviation in points; by seed of a run's score, by sentence of the mean "
             "on other such corpora. Intervals and p allow for both."),
    ])  # fmt: skip


def _types(systems: Sequence[System]) -> Markup:
    """F1 by label, and how it changes from the first system."""
    labels = list(systems[0].types)
    heads = ["label", "gold", "(1)"]
    for number in range(2, len(systems) + 1):
        heads += [f"({number})", "change", "Holm p"]
    rows: list[list[Child]] = []
    for label in labels[:MAX_ROWS]:
        row: list[Child] = [label_cell(label), systems[0].types[label].support]
        for system in systems:
            score = system.types[label]
            row.append(percent(score.f1))
            if score.difference is not None:
                change = f"{100 * score.difference.difference:+.2f}"
                row += [change, _p(score.difference.p_holm)]
        rows.append(row)
    return joined([table("F1 by label, %", heads, rows), left_out(len(labels))])


def _difference(found: Difference | None) -> list[str]:
    if found is None:
        return ["–"] * 4
    change = f"{100 * found.difference:+.2f}"
    return [change, _interval(found.interval, "+"), _p(found.p), _p(found.p_holm)]


def _chart(systems: Sequence[System], measure: str) -> Markup:
    """A row for each system: its interval as a line, its score as a point."""
    ends = [end for each in systems for end in (each.interval.low, each.interval.high)]
    ends += [each.score for each in systems]
    spread = max(max(ends) - min(ends), 0.01)
    low, high = max(0.0, min(ends) - spread / 8), min(1.0, max(ends) + spread / 8)
    height = _ROW * len(systems) + 34

    def across(value: float) -> float:
        return round(_LEFT + (value - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT), 1)

    parts = []
    for tick in round_ticks(100 * low, 100 * high, PAGE_TICKS):
        x = across(tick / 100)
        parts.append(element("line", x1=x, x2=x, y1=4, y2=height - 28, class_="grid"))
        parts.append(element("text", f"{tick:g}", x=x, y=height - 10, text_anchor="middle"))
    for number, system in enumerate(systems):
        y = 4 + _ROW * (number + 0.5)
        left, right = across(system.interval.low), across(system.interval.high)
        parts += [
            element("text", f"({number + 1})", x=6, y=y + 4),
            element("path", d=f"M{left} {y - 6}v12M{left} {y}H{right}M{right} {y - 6}v12",
                    class_="whisker"),
            element("circle", cx=across(system.score), cy=y, r=5.5, class_="dot"),
        ]  # fmt: skip
    name = f"{measure} of {len(systems)} systems with their intervals"
    return element("svg", *parts, viewBox=f"0 0 {_WIDTH} {height}", role="img", aria_label=name)


def _interval(interval: Interval, sign: str = "") -> str:
    return f"{100 * interval.low:{sign}.2f} to {100 * interval.high:{sign}.2f}"


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
