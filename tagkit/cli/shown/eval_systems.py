"""What `tagkit eval` does with several systems: each predicts or is read, and all are compared."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tagkit.text.json_text import to_json

if TYPE_CHECKING:
    from tagkit.cli.shown.report_page import ReportPage
    from tagkit.inference.score.scoring import Scoring


def runs_of(text: str) -> list[str]:
    """The files of a system's runs, which commas separate; a file of the whole name wins."""
    # Unlike Path.exists, it has an answer for a list that is too long for a name.
    if "," not in text or os.path.exists(text):
        return [text]
    return [part.strip() for part in text.split(",") if part.strip()]


def show_systems(
    scoring: "Scoring",
    gold: str,
    models: Sequence[Path],
    preds: Sequence[str],
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
        preds: files of predictions, where there are no models; of several runs with commas between
            them.
        device: of the models.
        page: to be written too.
        as_json: print one JSON object.
    """
    from tagkit.cli.program.messages import show_lines
    from tagkit.cli.program.terminal import short_paths, width_of
    from tagkit.evaluation.compare.systems_text import systems_lines
    from tagkit.inference.score.systems import compare_files_of_runs, compare_models

    if models:
        runs: list[tuple[str, Sequence[str | Path]]] = [(str(each), [each]) for each in models]
        systems = compare_models(scoring, gold, runs, device)
    else:
        runs = [(each, runs_of(each)) for each in preds]
        systems = compare_files_of_runs(scoring, gold, runs)
    if page is not None:
        page.write_systems(systems)
    if as_json:
        typer.echo(to_json(systems.to_dict()))
        return
    short = short_paths([str(first) for _, (first, *_) in runs])
    names = [
        short[str(first)] + (f" +{len(others)}" if others else "") for _, (first, *others) in runs
    ]
    show_lines(systems_lines(systems, names, width_of(sys.stdout)))
