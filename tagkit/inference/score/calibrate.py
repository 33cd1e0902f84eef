"""`tagkit calibrate`: temperatures are fitted to a labelled file, and stored with the model.

    T = the temperature at which the log loss of the predictions' probabilities is smallest

A prediction is what people see a probability of: a span, the label of a token, the class of a text.
On CoNLL-2003, fitted to one half of the development corpus, this left a third of the calibration
error of spans that the likelihood of whole sequences left (docs/calibration.md). No temperature
changes what is predicted, so each is a pass over the file in which only probabilities differ, and
all heads are fitted in the same passes.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tagkit.corpus.files import data_options, path_text
from tagkit.corpus.records.dataset import Split
from tagkit.corpus.source.options import log_note
from tagkit.corpus.source.source import source_name
from tagkit.errors import DataError
from tagkit.evaluation.scores.calibration import Calibration, calibration, log_loss
from tagkit.evaluation.scores.conformal import SetCalibration
from tagkit.evaluation.scores.outcomes import Outcomes
from tagkit.inference.predict.predictor import Predictor, load
from tagkit.inference.score.evaluate_sets import fit_sets
from tagkit.inference.score.score import gold_split
from tagkit.limits import BATCH_SIZE
from tagkit.models.answers.kind import CLASSES
from tagkit.models.base.calibration import ModelCalibration, set_temperatures
from tagkit.models.folder.parts import find_bundle, store_calibration
from tagkit.nn.heads.temperature import UNCALIBRATED
from tagkit.storage import MANIFEST, METADATA
from tagkit.storage.lock import locked
from tagkit.storage.places import require_place
from tagkit.text.json_text import Record

# Between these a temperature is searched. Networks that are trained to the end need 1 to 3.
LOWEST, HIGHEST = 0.1, 10.0
_TOLERANCE = 0.01  # of its logarithm: 1 % of the temperature

_Numbers = npt.NDArray[np.float64]  # one for each head


@dataclass(frozen=True, slots=True)
class HeadCalibration(Record):
    """What a temperature does to the probabilities of one head.

    Attributes:
        head: "tags", "classes", or the name of a tag column.
        temperature: that was fitted; where nothing could be, that of before, or 1.
        before: of the probabilities that the network gives.
        after: of those that are stored with the model.
        is_fitted: whether the temperature was fitted.
    """

    head: str
    temperature: float
    before: Calibration
    after: Calibration
    is_fitted: bool


@dataclass(frozen=True, slots=True)
class Calibrated(Record):
    """A model that was calibrated.

    Attributes:
        model: its folder.
        file: that it was calibrated on.
        sentences: how many that has.
        heads: of the model.
        sets: what sets of answers need to know of the file, by the name of the head; empty of a
            model without sets.
    """

    model: Path
    file: str
    sentences: int
    heads: tuple[HeadCalibration, ...]
    sets: Mapping[str, SetCalibration]


def calibrate(
    model: str | Path,
    dev: str | Path,
    *,
    batch_size: int = BATCH_SIZE,
    device: str = "auto",
    note: Callable[[str], None] = log_note,
    **options: Any,
) -> Calibrated:
    """Fit a temperature to each head of a model, and store it with the model.

    From then on, every probability that tagkit gives for the model comes from scores divided by it.
    Predictions stay as they are. An earlier calibration is replaced; of a head that cannot be
    fitted it stays.

    Args:
        model: folder of the model, or of the training run that wrote it.
        dev: file with gold tags, classes, or both, that the model was not trained on.
        batch_size: as for `predict`.
        device: as for `load`.
        note: called with a sentence on the file, or on a head that cannot be fitted.
        options: those of [data] in the configuration, such as format or tag_column.

    Returns:
        The temperatures, and what they do to the probabilities of the file's predictions.

    Raises:
        BundleError: there is no model, or it cannot be written.
        CheckpointError: a run is writing into its folder.
        DataError: the file cannot be read, holds labels of another kind than the model's, not one
            prediction for it is right, or all are, and the model has an earlier calibration.
        ConfigError: an option is unknown or has a wrong value.
        DeviceError: the device cannot be used.
    """
    data, path = data_options(options), path_text(dev, "dev")
    folder = find_bundle(Path(model))
    require_place(folder / METADATA, replace=True)  # not after minutes of work
    with locked(_lock_of(folder), note, is_output=False):
        predictor = load(folder, device)
        predictor.task.require_labels(predictor.config)
        split = gold_split(predictor, path, data)
        for text in split.notes:
            note(text)
        heads = fit_temperatures(predictor, split, batch_size=batch_size, note=note)
        # After the temperatures, by which the probabilities are what they will be in prediction.
        sets = fit_sets(predictor, split, batch_size=batch_size)
        stored = ModelCalibration(
            {each.head: each.temperature for each in heads}, _facts(split, path), sets
        )
        store_calibration(folder, stored)
    return Calibrated(folder, path, len(split.sentences), heads, sets)


def remove_calibration(model: str | Path, note: Callable[[str], None] = log_note) -> Path:
    """Remove the calibration of a model, whose probabilities are then those of the network.

    Args:
        model: folder of the model, or of the training run that wrote it.
        note: called where the file system has no locks.

    Returns:
        The folder of the model itself.

    Raises:
        BundleError: there is no model, or it cannot be written.
        CheckpointError: a run is writing into its folder.
        DataError: the model was not calibrated.
    """
    folder = find_bundle(Path(model))
    require_place(folder / METADATA, replace=True)
    with locked(_lock_of(folder), note, is_output=False):
        if load(folder, "cpu").calibration is None:
            raise DataError(f"{folder}: expected a calibrated model, found one that is not")
        store_calibration(folder, None)
    return folder


def fit_temperatures(
    predictor: Predictor, split: Split, *, batch_size: int, note: Callable[[str], None]
) -> tuple[HeadCalibration, ...]:
    """The temperature of each head at which the log loss of its probabilities is smallest.

    The heads have these temperatures afterwards.

    Args:
        predictor: the model.
        split: with gold labels.
        batch_size: maximum number of sentences in a batch.
        note: called with a sentence on a head that cannot be fitted.

    Raises:
        DataError: the model predicts something, and all of it is wrong; or nothing can be fitted,
            and it has an earlier calibration.
    """
    names = [*predictor.model.heads_by_name()]

    def judged(temperatures: _Numbers) -> dict[str, Outcomes]:
        given = dict(zip(names, temperatures.tolist(), strict=True))
        set_temperatures(predictor.model, given)
        found = predictor.annotate(split.sentences, batch_size=batch_size, confidence=True)
        return {**predictor.judged(split, found)}

    earlier = predictor.calibration
    kept = np.array([(earlier.temperatures if earlier else {}).get(n, UNCALIBRATED) for n in names])
    before = judged(np.full(len(names), UNCALIBRATED))
    _refuse_all_wrong(split.path, before.values())
    # Of several classes each one is judged, also those that are not predicted.
    several = {CLASSES} if predictor.config.head.several_classes else set()
    can_be_fitted = np.array([_has_a_best(before[name], several=name in several) for name in names])
    for name, is_mixed in zip(names, can_be_fitted, strict=True):
        if not is_mixed:
            note(_not_fitted(split.path, name, before[name], several=name in several))
    # The same file again loses nothing.
    is_again = earlier is not None and earlier.fitted_on.get("sha256") == split.digest
    if earlier and not is_again and not can_be_fitted.any():
        was = earlier.fitted_on.get("file", "another file")
        raise DataError(f"{split.path}: the model keeps its calibration on {was}, as none can be "
                        "fitted to this file")  # fmt: skip
    fitted = kept
    if can_be_fitted.any():

        def losses(points: _Numbers) -> _Numbers:
            found = judged(np.where(can_be_fitted, np.exp(points), kept))
            return np.array([log_loss(found[name]) for name in names])

        # Three decimals are what people see, and more than the data decide.
        found = np.exp(_minima(losses, len(names))).round(3)
        fitted = np.where(can_be_fitted, found, kept)
    after = judged(fitted)
    return tuple(
        HeadCalibration(name, value, calibration(before[name]), calibration(after[name]), is_fitted)
        for name, value, is_fitted in zip(
            names, fitted.tolist(), can_be_fitted.tolist(), strict=True
        )
    )


def _refuse_all_wrong(path: str, judged: Collection[Outcomes]) -> None:
    # Labels of another corpus, most often: an earlier calibration is worth more than this one.
    if not any(each.correct.any() for each in judged):
        some = any(map(len, judged))
        problem = "not one of its predictions is right" if some else "it predicts none in this file"
        raise DataError(
            f"{path}: expected the labels that the model predicts; {problem}, so that "
            "probabilities cannot be fitted"
        )


def _has_a_best(judged: Outcomes, *, several: bool) -> bool:
    """Whether some decisions are right and others wrong; else no temperature is the best."""
    right = _right(judged, several=several)
    return bool(right.any() and not right.all())


def _right(judged: Outcomes, *, several: bool) -> npt.NDArray[np.bool_]:
    """Which decisions are right: (predictions,)."""
    # A temperature divides what a probability of 0.5 leaves at 0, whatever the threshold.
    return (judged.probabilities > 0.5) == judged.correct if several else judged.correct


def _not_fitted(path: str, head: str, judged: Outcomes, *, several: bool) -> str:
    kind = "right" if _right(judged, several=several).all() else "wrong"
    found = f"all {len(judged):,} {judged.name} are {kind}" if len(judged) else "found none"
    return (
        f"{path}: the probabilities of {head} stay as they are: expected predictions that are "
        f"right and others that are wrong, {found}"
    )


def _minima(function: Callable[[_Numbers], _Numbers], count: int) -> _Numbers:
    """Where functions of a temperature's logarithm are smallest: golden-section search.

    (Kiefer 1953.) An interval with the minimum in it is made shorter from the side of the higher of
    two values inside, of which the other one is used again.

    Args:
        function: (count,) places -> (count,) values, each of the function of the same number.
        count: number of functions.
    """
    ratio = (math.sqrt(5) - 1) / 2
    low, high = np.full(count, math.log(LOWEST)), np.full(count, math.log(HIGHEST))
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    while (high - low).max() > _TOLERANCE:
        is_left = at_left < at_right
        low, high = np.where(is_left, low, left), np.where(is_left, right, high)
        place = np.where(is_left, high - ratio * (high - low), low + ratio * (high - low))
        value = function(place)
        left, right = np.where(is_left, place, right), np.where(is_left, left, place)
        at_left, at_right = (
            np.where(is_left, value, at_right),
            np.where(is_left, at_left, value),
        )
    middle: _Numbers = (low + high) / 2
    return middle


def _lock_of(folder: Path) -> Path:
    """The folder that is locked: that of the run that wrote the model, else the model's own."""
    return folder.parent if (folder.parent / MANIFEST).is_file() else folder


def _facts(split: Split, path: str) -> dict[str, Any]:
    """What the metadata say of the file, as of the corpora of training."""
    return {
        "file": source_name(path),
        "sentences": len(split.sentences),
        "tokens": split.tokens,
        "sha256": split.digest,
    }
