"""The report of `tagkit eval` on one system, as it is printed."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

from tagkit.text.json_text import to_json

if TYPE_CHECKING:
    from tagkit.evaluation.analysis import Analysis
    from tagkit.evaluation.conformal import SetReport
    from tagkit.evaluation.report import Report


def show_report(
    report: "Report",
    analysis: "Analysis | None",
    sets: Mapping[str, "SetReport"],
    *,
    as_json: bool,
) -> None:
    """Print a report with its analyses and its sets, for people or as one JSON object."""
    if as_json:
        found = analysis.to_dict() if analysis else {}
        if sets:
            found |= {"sets": {kind: each.to_dict() for kind, each in sets.items()}}
        typer.echo(to_json(report.to_dict() | found))
        return
    from tagkit.cli.messages import show_lines
    from tagkit.cli.reports import confusion_lines
    from tagkit.cli.terminal import DEFAULT_WIDTH, width_of
    from tagkit.evaluation.analysis_text import analysis_lines
    from tagkit.evaluation.conformal_text import set_lines
    from tagkit.evaluation.report_text import report_lines

    width = width_of(sys.stdout)
    lines = [*report_lines(report, width), *confusion_lines(report, width or DEFAULT_WIDTH)]
    if analysis is not None:
        lines += analysis_lines(analysis, width)
    if sets:
        lines += set_lines(sets)
    show_lines(lines)
