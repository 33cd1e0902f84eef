"""What `tagkit eval` does with one system: it predicts or is read, is scored, and is shown."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tagkit.text.json_text import to_json

if TYPE_CHECKING:
    from tagkit.cli.shown.report_page import ReportPage
    from tagkit.corpus.records.dataset import Split
    from tagkit.evaluation.analysis.analysis import Analysis
    from tagkit.evaluation.reports.report import Report
    from tagkit.evaluation.reports.verify import Verification
    from tagkit.evaluation.scores.conformal import SetReport
    from tagkit.inference.predict.predictor import Predictor
    from tagkit.inference.score.scoring import Scoring


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is made of one system beside its report.

    Attributes:
        analyses: their names.
        train: training corpus, for the analyses; None for none.
        coverage: of sets of answers; None for no sets.
        verify: whether to score again with seqeval.
        page: to be written too.
    """

    analyses: Sequence[str]
    train: str | None
    coverage: float | None
    verify: bool
    page: "ReportPage | None"


def show_system(
    scoring: "Scoring",
    gold: str,
    pred: str | None,
    predictor: "Predictor | None",
    wanted: Wanted,
    *,
    as_json: bool,
) -> None:
    """Print the report on a model, or on a file of predictions.

    Args:
        scoring: how it is scored.
        gold: file with gold labels.
        pred: file of predictions; None where a model predicts, or `gold` holds both.
        predictor: the model.
        wanted: what is made beside the report.
        as_json: print one JSON object.

    Raises:
        typer.Exit: seqeval finds other scores.
    """
    from tagkit.cli.program.console import show_line

    page = wanted.page
    report = scoring.report(
        gold,
        pred,
        predictor,
        keep=wanted.verify or bool(wanted.analyses or page),
        confidence="calibration" in wanted.analyses or page is not None,
    )
    sets = _sets(scoring, gold, predictor, wanted.coverage)
    seen = None if wanted.train is None else scoring.training(wanted.train, predictor)
    analysis = _analysis(report, wanted.analyses, seen)
    # Before anything is printed: what cannot be verified is an error without output.
    verified = _verified(report, gold) if wanted.verify else None
    show_report(report, analysis, sets, as_json=as_json)
    if page is not None:
        page.write_report(report, seen, sets)
    if verified:  # to standard error: standard output may be JSON
        for line in verified.lines():
            show_line(line)
        if verified.disagreements:  # after the report, so that the user sees what differs
            raise typer.Exit(1)


def _sets(
    scoring: "Scoring", gold: str, predictor: "Predictor | None", coverage: float | None
) -> "Mapping[str, SetReport]":
    """How often the model's sets of a coverage hold the gold answer; none without a coverage."""
    if predictor is None or coverage is None:
        return {}
    from tagkit.inference.score.evaluate_sets import evaluate_sets

    return evaluate_sets(
        gold, coverage, model=predictor, batch_size=scoring.batch_size,
        **scoring.data.model_dump(exclude_defaults=True),
    )  # fmt: skip


def _analysis(report: "Report", names: Sequence[str], seen: "Split | None") -> "Analysis | None":
    if not names:
        return None
    from tagkit.evaluation.analysis.analysis import analyse
    from tagkit.models.base.memory import without_collection

    with without_collection():
        return analyse(report, names, seen)


def _verified(report: "Report", gold: str) -> "Verification":
    # seqeval brings scikit-learn, most of a second.
    from tagkit.corpus.source.source import source_name
    from tagkit.evaluation.reports.verify import verify_report

    return verify_report(report, source_name(gold))


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
    from tagkit.cli.program.messages import DEFAULT_WIDTH, show_lines, width_of
    from tagkit.evaluation.analysis.analysis_text import analysis_lines
    from tagkit.evaluation.reports.report_text import confusion_lines, report_lines, set_lines

    width = width_of(sys.stdout)
    lines = [*report_lines(report, width), *confusion_lines(report, width or DEFAULT_WIDTH)]
    if analysis is not None:
        lines += analysis_lines(analysis, width)
    if sets:
        lines += set_lines(sets)
    show_lines(lines)


# What `tagkit eval` does with several systems: each predicts or is read, and all are compared.


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
    from tagkit.cli.program.messages import short_paths, show_lines, width_of
    from tagkit.evaluation.compare.systems import systems_lines
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
