"""`tagkit.compare`: several systems on one corpus, each given by its predictions or its models."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagkit.config import Column
from tagkit.corpus.files import data_options, path_text
from tagkit.corpus.source.options import log_note
from tagkit.corpus.source.source import STDIN, source_name
from tagkit.errors import DataError, SchemeError
from tagkit.evaluation.compare.systems import Systems, compare_systems
from tagkit.evaluation.reports.report import Report
from tagkit.inference.score.scoring import Records, Scoring
from tagkit.limits import BATCH_SIZE
from tagkit.text.records import Document, Prediction, Sentence, TaggedText
from tagkit.text.schemes import DISPLAY, has_spans
from tagkit.wording import once

if TYPE_CHECKING:  # its module imports torch
    from tagkit.inference.predict.predictor import Predictor

NamedRuns = tuple[str, Sequence[Any]]  # a system, and its files, lists of records, or models


def compare(
    gold: str | Path | Records,
    preds: Mapping[str, Any] | None = None,
    *,
    models: Mapping[str, Any] | None = None,
    pred_column: Column | None = None,
    strict: bool = False,
    batch_size: int = BATCH_SIZE,
    device: str = "auto",
    note: Callable[[str], None] = log_note,
    **options: Any,
) -> Systems:
    """Compare systems on one corpus, as `tagkit eval` does with several.

    Each has a score with its interval, and its difference from the first system, over all labels
    and for each, with an interval and a p-value. A system with several runs, which differ in their
    seeds, has the mean of their scores; intervals and p-values then allow for other seeds too.

    Args:
        gold: file or records with gold labels.
        preds: predictions of each system by its name: a file, or records; or a list of these, one
            for each run.
        models: instead of `preds`, the model of each system by its name, or a list of models, one
            for each run. The folder that several seeds were trained into has all their models. One
            model is loaded at a time.
        pred_column: of the predicted tags, as for `evaluate`.
        strict: count well-formed spans only.
        batch_size: of models, as for `predict`.
        device: of models that are given by their folders, as for `load`.
        note: called with a sentence on the format that was recognised, and on odd corpora.
        options: those of [data] in the configuration, for all of these files.

    Returns:
        A record with a row for each system; `to_dict` has plain values.

    Raises:
        DataError: gold and predicted words differ, the systems have labels of different kinds, or
            there is none.
        ConfigError: an option is unknown or has a wrong value.
        BundleError: there is no such model, or it cannot be used.
        DeviceError: the device cannot be used.
    """
    scoring = Scoring(data_options(options), pred_column, strict, batch_size, note)
    if (preds is None) == (models is None):
        found = "neither" if preds is None else "both"
        raise DataError(f"expected either preds or models, found {found}")
    given, name = (preds, "preds") if models is None else (models, "models")
    if not given:
        raise DataError(f"{name}: expected the systems by their names, found none")
    if not isinstance(gold, str | Path) and isinstance(gold, Iterable):
        gold = list(gold)  # each run is compared with all of them
    systems = [(name, _runs(runs)) for name, runs in given.items()]
    if models is None:
        return compare_files_of_runs(scoring, gold, systems)
    return compare_models(scoring, gold, systems, device)


def compare_files_of_runs(
    scoring: Scoring, gold: str | Path | Records, systems: Sequence[NamedRuns]
) -> Systems:
    """The comparison of systems by their predictions.

    Args:
        scoring: how each is scored.
        gold: file or records with gold labels.
        systems: each with its name.

    Raises:
        DataError: as of `compare`.
    """
    _refuse_standard_input(gold)
    scoring = _noting_once(scoring)

    def reports(system: str, runs: Sequence[Any]) -> Iterator[tuple[str, Report]]:
        for number, run in enumerate(runs, 1):
            name = system if len(runs) == 1 else f"{system}, run {number}"
            if isinstance(run, str | Path):
                name = source_name(path_text(run, "preds"))
            yield name, scoring.report(gold, run, keep=True)

    return compare_systems((name, reports(name, runs)) for name, runs in systems)


def compare_models(
    scoring: Scoring,
    gold: str | Path | Records,
    systems: Sequence[NamedRuns],
    device: str,
) -> Systems:
    """The comparison of systems by models, of which one is in memory at a time.

    Args:
        scoring: how each is scored.
        gold: file or records with gold labels.
        systems: each with its name. A model is given by its folder, by the folder of a run with
            several seeds, which has as many, or loaded.
        device: of those that are loaded here.

    Raises:
        DataError: as of `compare`.
    """
    from tagkit.inference.predict.predictor import Predictor, load
    from tagkit.models.folder.parts import find_bundle
    from tagkit.models.folder.seed_folders import seed_models

    _refuse_standard_input(gold)
    scoring = _noting_once(scoring)

    def folders(run: Any) -> list[Path]:
        return seed_models(Path(path_text(run, "models")))

    for _, runs in systems:
        for run in runs:
            # What is no model, such as a second corpus, is found before anything is predicted.
            for folder in [] if isinstance(run, Predictor) else folders(run):
                find_bundle(folder)

    def reports(system: str, runs: Sequence[Any]) -> Iterator[tuple[str, Report]]:
        for run in runs:
            if isinstance(run, Predictor):
                yield system, scoring.report(gold, None, _labelling(run, system), keep=True)
                continue
            for folder in folders(run):
                try:
                    # No variable holds the model: it would be there while the next one is loaded.
                    found = scoring.report(gold, None, _labelling(load(folder, device), folder),
                                           keep=True)  # fmt: skip
                except SchemeError as error:
                    raise DataError(_of_other_tags(str(folder), error)) from None
                except DataError as error:
                    if not str(error).startswith(f"{folder} "):
                        error.add_line(f"That is of the model {folder}.")
                    raise
                yield str(folder), found

    return compare_systems((name, reports(name, runs)) for name, runs in systems)


def _labelling(model: "Predictor", name: str | Path) -> "Predictor":
    """The model.

    Raises:
        DataError: it predicts no labels.
    """
    problem = (
        f"{name} is a language model, which has no answers to compare: score each such model by "
        "itself (tagkit eval MODEL FILE), and compare the bits per character"
    )
    model.task.require_answers(model.config, DataError(problem))
    return model


def _of_other_tags(model: str, error: SchemeError) -> str:
    """What a model predicts and a corpus has, where one of them is spans and the other is not."""
    predicts, has = (
        f"spans ({DISPLAY[scheme]})"
        if has_spans(scheme)
        else "plain labels (such as parts of speech)"
        for scheme in (error.wanted, error.found)
    )
    return f"{model} predicts {predicts}; {error.path} has {has}{error.remedy}"


def _runs(given: Any) -> Sequence[Any]:
    """The runs of a system, which is one, or a list of them and not of records."""
    if isinstance(given, list | tuple) and given:
        if not isinstance(given[0], Sentence | Document | Prediction | TaggedText):
            return given
    return [given]


def _refuse_standard_input(gold: Any) -> None:
    """Refuse what can be read but once.

    Raises:
        DataError: `gold` is it.
    """
    if str(gold) == STDIN and isinstance(gold, str | Path):
        raise DataError("several systems need a file with gold labels: standard input is read once")


def _noting_once(scoring: Scoring) -> Scoring:
    """The same, which says once what is so of each run: the gold file is read for each."""
    return replace(scoring, note=once(scoring.note))
