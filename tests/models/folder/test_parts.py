"""What a model's folder holds beside the weights. Damaged parts: `bundle/test_bundle.py`."""

import shutil
from pathlib import Path

import pytest

from tagkit.errors import BundleError
from tagkit.models.base.calibration import ModelCalibration
from tagkit.models.folder.parts import (
    FORMAT_VERSION,
    copy_bundle,
    read_metadata,
    read_parts,
    read_whole,
    store_calibration,
)
from tagkit.storage import WEIGHTS

FIXTURES = Path(__file__).parents[2] / "fixtures" / "0.2.0"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    shutil.copytree(FIXTURES / "tag-crf" / "best", tmp_path / "model")
    return tmp_path / "model"


def test_the_parts_are_read_without_the_weights(model: Path) -> None:
    parts = read_parts(model)
    assert parts.config.task == "tag"
    assert parts.metadata["format_version"] == FORMAT_VERSION
    assert "O" in parts.vocabulary.tags
    (model / WEIGHTS).write_bytes(b"none")
    assert read_parts(model) == parts


def test_a_copy_is_the_same_model_and_takes_a_calibration_of_its_own(
    model: Path, tmp_path: Path
) -> None:
    copy_bundle(model, tmp_path / "copy")
    store_calibration(tmp_path / "copy", ModelCalibration({"tags": 2.0}, {"file": "dev"}))
    found = read_parts(tmp_path / "copy").metadata.pop("calibration")
    assert found == {"temperatures": {"tags": 2.0}, "fitted_on": {"file": "dev"}}
    store_calibration(tmp_path / "copy", None)
    assert read_metadata(tmp_path / "copy") == read_metadata(model)


@pytest.mark.parametrize("replaced", [0, 1, 2])
def test_what_was_replaced_while_it_was_read_is_read_again(model: Path, replaced: int) -> None:
    readings = []

    def read(path: Path) -> str:
        readings.append(path)
        if len(readings) <= replaced:
            store_calibration(path, ModelCalibration())
        raise BundleError("damaged")

    with pytest.raises(BundleError):
        read_whole(model, read)
    assert len(readings) == replaced + 1
