"""What released versions saved loads in this one, and answers the same."""

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import tagkit

FIXTURES = Path(__file__).parents[1] / "fixtures"
sys.path.insert(0, str(FIXTURES))

from write_fixtures import answers, stopped_config  # noqa: E402 - beside its fixtures

VERSIONS = sorted(folder.name for folder in FIXTURES.iterdir() if (folder / "stopped").is_dir())
CASES = sorted(
    (version, case.parent.name)
    for version in VERSIONS
    for case in (FIXTURES / version).glob("*/answers.jsonl")
)
# Another processor rounds otherwise.
ROUNDING = 1e-4


def same(found: Any, expected: Any, where: str) -> None:
    """All that an older version answered; a later one may add to it."""
    if isinstance(expected, Mapping):
        for key, value in expected.items():
            same(found[key], value, f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for number, value in enumerate(expected):
            same(found[number], value, f"{where}[{number}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, abs=ROUNDING), where
    else:
        assert found == expected, where


@pytest.mark.parametrize(("version", "case"), CASES)
def test_a_model_of_a_released_version_answers_as_it_did(version: str, case: str) -> None:
    folder = FIXTURES / version / case
    lines = (folder / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    expected = [json.loads(line) for line in lines]
    found = json.loads(json.dumps(answers(tagkit.load(folder))))
    assert len(expected) == 5
    same(found, expected, case)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_run_that_a_released_version_was_stopped_in_is_resumed_to_the_same_end(
    version: str, tmp_path: Path
) -> None:
    place = tmp_path / "stopped"
    shutil.copytree(FIXTURES / version / "stopped", place)
    before = json.loads((place / "run/history.jsonl").read_text("utf-8").splitlines()[0])
    trained = tagkit.train(stopped_config(place, place / "run"), resume=True)
    # A first epoch that was trained again would have taken another time.
    assert trained.epochs[0].seconds == before["seconds"]
    weights = load_file(place / "run/best/model.safetensors")
    expected = load_file(place / "finished.safetensors")
    assert weights.keys() == expected.keys()
    for name, tensor in expected.items():
        torch.testing.assert_close(weights[name], tensor, rtol=ROUNDING, atol=ROUNDING, msg=name)


def test_every_released_version_has_its_fixtures() -> None:
    assert "0.1.0" in VERSIONS
    cases = {case for version, case in CASES if version == "0.1.0"}
    assert cases == {
        "both", "classify-attention", "classify-mean-max", "tag-crf", "tag-softmax-gru",
        "tag-viterbi-elman",
    }  # fmt: skip
