"""Systems side by side: intervals in a chart, differences with their p, F1 by label."""

from collections.abc import Sequence

from markupsafe import Markup

from tagkit.evaluation.html_report.tables import MAX_ROWS, left_out, note
from tagkit.evaluation.report_text import label_cell
from tagkit.evaluation.significance import Interval
from tagkit.evaluation.systems import System, Systems
from tagkit.html.chart import even_ticks
from tagkit.html.colours import Palette
from tagkit.html.elements import element, joined, percent, table

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
    first = systems[0]
    level = f"{100 * first.interval.level:g} % interval"
    rows = []
    for number, system in enumerate(systems, 1):
        row = [f"({number}) {label_cell(system.name)}", percent(system.report.headline),
               _interval(system.interval)]  # fmt: skip
        if system.difference is None:
            row += ["–", "–", "–"]
        else:
            found = system.difference
            row += [f"{100 * found.difference:+.2f}", _interval(found.interval, "+"), _p(found.p)]
        rows.append(row)
    heads = ("system", f"{first.report.measure}, %", level, "change", level, "p")
    labels = sorted({label for system in systems for label in system.report.types})
    by_label = []
    for label in labels[:MAX_ROWS]:
        scores = [system.report.types.get(label) for system in systems]
        by_label.append(
            [label_cell(label), *(percent(each.f1) if each else "–" for each in scores)]
        )
    numbers = [f"({number})" for number in range(1, len(systems) + 1)]
    return joined([
        element("figure", element("figcaption", f"{first.report.measure} with its {level}"),
                _chart(systems)),
        table("Systems", heads, rows),
        note("change: from the first system, in points. p: how often random exchanges of two "
             "systems' predictions give at least this difference; a p of 1 says that they cannot "
             "be told apart."),
        table("F1 by label, %", ("label", *numbers), by_label),
        left_out(len(labels), MAX_ROWS),
    ])  # fmt: skip


def _chart(systems: Sequence[System]) -> Markup:
    """A row for each system: its interval as a line, its score as a point."""
    ends = [end for each in systems for end in (each.interval.low, each.interval.high)]
    ends += [each.report.headline for each in systems]
    spread = max(max(ends) - min(ends), 0.01)
    low, high = max(0.0, min(ends) - spread / 8), min(1.0, max(ends) + spread / 8)
    height = _ROW * len(systems) + 34

    def across(value: float) -> float:
        return round(_LEFT + (value - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT), 1)

    parts = []
    for tick in even_ticks(100 * low, 100 * high):
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
            element("circle", cx=across(system.report.headline), cy=y, r=5.5, class_="dot"),
        ]  # fmt: skip
    name = f"{systems[0].report.measure} of {len(systems)} systems with their intervals"
    return element("svg", *parts, viewBox=f"0 0 {_WIDTH} {height}", role="img", aria_label=name)


def _interval(interval: Interval, sign: str = "") -> str:
    return f"{100 * interval.low:{sign}.2f} to {100 * interval.high:{sign}.2f}"


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
