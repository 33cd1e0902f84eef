"""What a model's calibration is, and where it is kept: in `metadata.json`, beside the scores.

    "calibration": {"temperatures": {"tags": 1.97}, "fitted_on": {"file": ..., "sha256": ...}}

A temperature belongs to a head (`nn/heads/temperature.py`), which has a name here: `TAGS`,
`CLASSES`, or, of a model of several tag columns, that of its column. Digests in the metadata are of
the model's other three files, which a calibration leaves as they are.

The probabilities that tagkit shows come from scores that are divided by the temperature. Whatever
is decided (paths, their order, classes over the model's own thresholds) is decided by the scores
as they are, so that a calibrated model predicts what it predicted before.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagkit.errors import BundleError
from tagkit.evaluation.scores.conformal import SetCalibration, set_calibration
from tagkit.text.json_text import to_json
from tagkit.wording import listed, quoted

if TYPE_CHECKING:
    from tagkit.models.base.model import Model

KEY = "calibration"  # in `metadata.json`
# Outside of these a head gives every answer the same probability, or one answer all of it.
LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE = 0.01, 100.0


@dataclass(frozen=True, slots=True)
class ModelCalibration:
    """What was fitted to a labelled file, so that a model's probabilities can be trusted.

    Attributes:
        temperatures: of the heads, by name; a head that is not named has 1.
        fitted_on: the file: "file", "sentences", "tokens" and "sha256".
        sets: what conformal sets need to know of it, by the name of the head.
    """

    temperatures: Mapping[str, float] = field(default_factory=dict)
    fitted_on: Mapping[str, Any] = field(default_factory=dict)
    sets: Mapping[str, SetCalibration] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for `metadata.json`."""
        found: dict[str, Any] = {
            "temperatures": {**self.temperatures}, "fitted_on": {**self.fitted_on}
        }  # fmt: skip
        if self.sets:
            found["sets"] = {name: each.to_dict() for name, each in self.sets.items()}
        return found


def read_calibration(
    metadata: Mapping[str, Any], model: "Model", path: Path
) -> ModelCalibration | None:
    """The calibration that a model's metadata have; None where it was not calibrated.

    Anyone may have edited the metadata, which have no digest.

    Args:
        metadata: contents of `metadata.json`.
        model: whose heads are calibrated.
        path: of the file, for messages.

    Raises:
        BundleError: it is not as `ModelCalibration.to_dict` gives it, or of another model's heads.
    """
    found = metadata.get(KEY)
    if found is None:
        return None
    temperatures, fitted_on = (
        found.get(name) if isinstance(found, dict) else None
        for name in ("temperatures", "fitted_on")
    )
    if not isinstance(temperatures, dict) or not isinstance(fitted_on, dict):
        raise BundleError(
            f"{path}: damaged: expected temperatures and fitted_on in {KEY}, found "
            f"{quoted(to_json(found))[1:-1]}"
        )
    heads = model.heads_by_name()
    for name, value in temperatures.items():
        if name not in heads:
            raise BundleError(
                f"{path}: damaged: {KEY} has a temperature of {quoted(name)}; the model has "
                f"{listed([*heads]) or 'no heads that can be calibrated'}"
            )
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not LOWEST_TEMPERATURE <= value <= HIGHEST_TEMPERATURE:
            raise BundleError(
                f"{path}: damaged: expected a temperature from {LOWEST_TEMPERATURE:g} to "
                f"{HIGHEST_TEMPERATURE:g} of {quoted(name)}, found "
                f"{quoted(to_json(value))[1:-1]}"
            )
    known = {name: float(each) for name, each in temperatures.items()}
    return ModelCalibration(known, fitted_on, _read_sets(found.get("sets", {}), path))


def _read_sets(found: Any, path: Path) -> dict[str, SetCalibration]:
    """The calibrations of conformal sets, by the name of the head.

    Raises:
        BundleError: they are not as `ModelCalibration.to_dict` gives them.
    """
    if not isinstance(found, dict):
        raise BundleError(f"{path}: damaged: expected an object as sets in {KEY}")
    try:
        return {name: set_calibration(each) for name, each in found.items()}
    except ValueError as error:
        raise BundleError(f"{path}: damaged: sets in {KEY}: {error}") from None


def set_temperatures(model: "Model", temperatures: Mapping[str, float]) -> None:
    """Give the model's heads these temperatures, from now on; one that is not named keeps its own.

    This is the one place that sets them: heads divide their scores by `head.temperature`.
    """
    heads = model.heads_by_name()
    for name, temperature in temperatures.items():
        heads[name].temperature = temperature
