"""What `tagkit eval` does with several systems: each predicts or is read, and all are compared."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tagkit.text.json_text import to_json

if TYPE_CHECKING:
    from tagkit.cli.report_page import ReportPage
    from tagkit.evaluation.report import Report
    from tagkit.inference.scoring import Scoring


def show_systems(
    scoring: "Scoring",
    gold: str,
    models: Sequence[Path],
    files: Sequence[str],
    device: str,
    page: "ReportPage | None",
    *,
    as_json: bool,
) -> None:
    """Print the comparison of several models, or of several files of predictions.

    Args:
        scoring: how each is scored.
        gold: file with gold labels.
        models: folders of models, which predict one after the other.
        files: files of predictions, where there are no models.
        device: of the models.
        page: to be written too.
        as_json: print one JSON object.
    """
    from tagkit.cli.messages import show_lines
    from tagkit.cli.terminal import short_paths, width_of
    from tagkit.corpus.formats.source import source_name
    from tagkit.evaluation.analysis_text import systems_lines
    from tagkit.evaluation.systems import compare_systems

    said: set[str] = set()

    def note_once(text: str) -> None:  # the gold file is read for each system
        if text not in said:
            said.add(text)
            scoring.note(text)

    once = replace(scoring, note=note_once)
    if models:
        names = [str(model) for model in models]
        reports = _reports_of_models(once, gold, models, device)
    else:
        names = [source_name(file) for file in files]
        reports = (once.report(gold, file, keep=True) for file in files)
    systems = compare_systems(list(zip(names, reports, strict=True)))
    if page is not None:
        page.write_systems(systems)
    if as_json:
        typer.echo(to_json(systems.to_dict()))
        return
    short = short_paths(names)
    show_lines(systems_lines(systems, [short[name] for name in names], width_of(sys.stdout)))


def _reports_of_models(
    scoring: "Scoring", gold: str, models: Sequence[Path], device: str
) -> Iterator["Report"]:
    """The report on each model; one model is in memory at a time."""
    from tagkit.inference.predictor import load

    for model in models:
        yield scoring.report(gold, None, load(model, device))
