"""A calibration in the metadata of a model: read back, and refused where it is damaged."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from says import Says

from tagkit.errors import BundleError
from tagkit.models.base.calibration import (
    KEY,
    ModelCalibration,
    read_calibration,
    set_temperatures,
)
from tagkit.models.base.model import Model


def heads(*names: str) -> Model:
    found = {name: SimpleNamespace(temperature=1.0) for name in names}
    return cast(Model, SimpleNamespace(heads_by_name=lambda: found))


def read(calibration: Any) -> ModelCalibration | None:
    return read_calibration({KEY: calibration}, heads("tags"), Path("m/metadata.json"))


def test_what_was_stored_is_read_back() -> None:
    stored = ModelCalibration({"tags": 2.0}, {"file": "dev.conll", "sentences": 3})
    assert read(stored.to_dict()) == stored


def test_a_model_of_an_earlier_version_has_none() -> None:
    assert read_calibration({}, heads("tags"), Path("m/metadata.json")) is None


def test_temperatures_are_set_by_the_names_of_heads() -> None:
    model = heads("tags", "classes")
    set_temperatures(model, {"classes": 1.5})
    found = {name: head.temperature for name, head in model.heads_by_name().items()}
    assert found == {"tags": 1.0, "classes": 1.5}


@pytest.mark.parametrize(
    ("calibration", "problem"),
    [
        ([], Says("fitted_on", "temperatures")),
        ({"temperatures": {}}, Says('"temperatures"')),
        ({"temperatures": {"tags": 0}, "fitted_on": {}},
         Says("0.01", "100", "'tags'", "0")),
        ({"temperatures": {"tags": True}, "fitted_on": {}}, Says("'tags'")),
        ({"temperatures": {"tags": "2"}, "fitted_on": {}}, Says("'tags'", '"2"')),
        ({"temperatures": {"classes": 2}, "fitted_on": {}},
         Says("'classes'", "calibration")),
    ],
)  # fmt: skip
def test_damaged_metadata_are_refused(calibration: Any, problem: str) -> None:
    with pytest.raises(BundleError) as refused:
        read(calibration)
    assert str(refused.value).startswith("m/metadata.json: damaged: ")
    assert problem.within(str(refused.value))
