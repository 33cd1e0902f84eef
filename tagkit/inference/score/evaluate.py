"""`tagkit.evaluate` and `tagkit.analyse`: a model, or predictions, in files or in records."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagkit.config import Column
from tagkit.corpus.files import data_options
from tagkit.corpus.source.options import log_note
from tagkit.errors import DataError
from tagkit.evaluation.analysis.analysis import ANALYSES, Analysis, possible
from tagkit.evaluation.analysis.analysis import analyse as analyse_report
from tagkit.evaluation.reports.report import Report
from tagkit.inference.score.scoring import Records, Scoring
from tagkit.limits import BATCH_SIZE
from tagkit.models.base.memory import without_collection
from tagkit.wording import clipped

if TYPE_CHECKING:  # it imports torch, which takes seconds and is not needed to compare files
    from tagkit.inference.predict.predictor import Predictor
    from tagkit.nn.softmax.neural_cache import CacheOptions


def evaluate(
    gold: str | Path | Records,
    pred: str | Path | Records | None = None,
    *,
    model: "Predictor | str | Path | None" = None,
    pred_column: Column | None = None,
    strict: bool = False,
    batch_size: int = BATCH_SIZE,
    device: str = "auto",
    note: Callable[[str], None] = log_note,
    cache: "CacheOptions | None" = None,
    **options: Any,
) -> Report:
    """Score predictions against gold labels, or a model on a corpus, as `tagkit eval` does.

    Args:
        gold: file or records with gold tags, classes, or both; records as `train` takes them.
        pred: the same file or records with predicted ones, such as the answers of a model; None
            where a model predicts, or for a column file that holds both gold and predicted tags.
        model: a model, or its folder, which predicts for `gold`.
        pred_column: of the predicted tags in a column file; None for the last one, and of CoNLL-U
            for that of the gold tags.
        strict: count well-formed spans only.
        batch_size: of the model, as for `predict`.
        device: of a model that is given by its folder, as for `load`.
        note: called with a sentence on the format that was recognised, and on odd corpora.
        cache: of a language model, mixed into its probabilities: `nn.neural_cache.CacheOptions`.
        options: those of [data] in the configuration, such as format, scheme or tag_column.

    Returns:
        A report; `headline` is its most important number, and `to_dict` has all of them.

    Raises:
        DataError: gold and predicted words differ, or the labels are not of the same kind.
        ConfigError: an option is unknown or has a wrong value.
        BundleError: there is no such model, or it cannot be used.
        DeviceError: the device cannot be used.
    """
    if cache is not None and model is None:
        raise DataError("cache=...: is for a model, found predictions")
    scoring = Scoring(data_options(options), pred_column, strict, batch_size, note, cache)
    return scoring.report(gold, pred, _predictor(gold, pred, model, device, pred_column))


def analyse(
    gold: str | Path | Records,
    pred: str | Path | Records | None = None,
    *,
    analyses: Iterable[str] | None = None,
    train: str | Path | None = None,
    model: "Predictor | str | Path | None" = None,
    pred_column: Column | None = None,
    strict: bool = False,
    batch_size: int = BATCH_SIZE,
    device: str = "auto",
    note: Callable[[str], None] = log_note,
    **options: Any,
) -> Analysis:
    """What lies behind a score: measures, kinds of error, slices and an interval.

    Args:
        gold: as for `evaluate`, and all other arguments that are not described here.
        pred: likewise.
        analyses: which ones: "measures", "errors", "slices", "interval" and "calibration"; None
            for all that have a meaning for the labels.
        train: file of the training corpus, for "slices".
        model: a model, or its folder, which predicts for `gold`.
        pred_column: of the predicted tags in a column file.
        strict: count well-formed spans only.
        batch_size: of the model.
        device: of a model that is given by its folder.
        note: called with a sentence on the format that was recognised, and on odd corpora.
        options: those of [data] in the configuration, for all of these files.

    Returns:
        A record with a field for each analysis; `to_dict` has plain values.

    Raises:
        DataError: gold and predicted words differ, or an analysis has no meaning for the labels.
        ConfigError: an option is unknown or has a wrong value.
        BundleError: there is no such model, or it cannot be used.
        DeviceError: the device cannot be used.
    """
    scoring = Scoring(data_options(options), pred_column, strict, batch_size, note)
    # Of a generator nothing would be left after the check.
    analyses = None if analyses is None else tuple(analyses)
    if analyses is not None and not {*analyses} <= {*ANALYSES}:
        raise DataError(
            f"analyses: expected some of {', '.join(ANALYSES)}, found {clipped(repr(analyses))}"
        )
    predictor = _predictor(gold, pred, model, device, pred_column)
    confidence = analyses is None or "calibration" in analyses
    report = scoring.report(gold, pred, predictor, keep=True, confidence=confidence)
    seen = None if train is None else scoring.training(train, predictor)
    wanted = possible(report, seen) if analyses is None else analyses
    with without_collection():
        return analyse_report(report, wanted, seen)


def _predictor(
    gold: Any,
    pred: Any,
    model: "Predictor | str | Path | None",
    device: str,
    pred_column: Column | None,
) -> "Predictor | None":
    """The model, loaded where it is given by its folder.

    Raises:
        DataError: there are predictions beside it.
    """
    if model is None:
        return None
    if pred is not None:
        raise DataError("expected either model or pred, found both: a model predicts itself")
    if pred_column is not None:
        raise DataError("expected either model or pred_column, found both: a model predicts itself")
    from tagkit.inference.predict.predictor import Predictor, load

    return model if isinstance(model, Predictor) else load(model, device)
