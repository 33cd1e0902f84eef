"""What released versions saved loads in this one, and answers the same."""

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import tagkit

FIXTURES = Path(__file__).parents[1] / "fixtures"
sys.path.insert(0, str(FIXTURES))

from write_fixtures import CASES, STOPPED, answers, stopped_config  # noqa: E402 - of its fixtures

FOLDERS = sorted(path for path in FIXTURES.glob("*/*") if path.is_dir())
ANSWERED = [path for path in FOLDERS if (path / "answers.jsonl").is_file()]
RUNS = [path for path in FOLDERS if (path / "run").is_dir()]
# Another processor rounds otherwise.
ROUNDING = 1e-4
# Of an epoch, and of the processor that it was trained on.
SPEED = ("seconds", "tokens_per_s")


def version_and_case(folder: Path) -> str:
    return f"{folder.parent.name}-{folder.name}"


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


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
        assert found == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING), where
    else:
        assert found == expected, where


def same_weights(found: Path, expected: Path) -> None:
    weights, wanted = load_file(found), load_file(expected)
    assert weights.keys() == wanted.keys()
    for name, tensor in wanted.items():
        torch.testing.assert_close(weights[name], tensor, rtol=ROUNDING, atol=ROUNDING, msg=name)


@pytest.mark.parametrize("folder", ANSWERED, ids=version_and_case)
def test_a_model_of_a_released_version_answers_as_it_did(folder: Path) -> None:
    expected = rows(folder / "answers.jsonl")
    found = json.loads(json.dumps(answers(folder)))
    assert expected
    same(found, expected, folder.name)


@pytest.mark.usefixtures("full_fits")
@pytest.mark.parametrize("folder", RUNS, ids=version_and_case)
def test_a_run_that_a_released_version_was_stopped_in_is_resumed_to_the_same_end(
    folder: Path, tmp_path: Path
) -> None:
    place = tmp_path / folder.name
    shutil.copytree(folder, place)
    before = rows(place / "run/history.jsonl")[0]
    trained = tagkit.train(stopped_config(place, place / "run", folder.name), resume=True)
    # A first epoch that was trained again would have taken another time.
    assert trained.epochs[0].seconds == before["seconds"]
    same_weights(place / "run/best/model.safetensors", place / "finished.safetensors")
    if folder.parent.name == "0.1.0":  # which kept no more of how the run ended
        return
    same_weights(place / "run/last/model.safetensors", place / "finished-last.safetensors")
    expected = [
        {name: value for name, value in epoch.items() if name not in SPEED}
        for epoch in rows(place / "finished.jsonl")
    ]
    same([asdict(epoch) for epoch in trained.epochs], expected, folder.name)


def test_every_released_version_has_its_fixtures() -> None:
    found = {path.relative_to(FIXTURES).as_posix() for path in (*ANSWERED, *RUNS)}
    assert {path for path in found if path.startswith("0.1.0")} == {
        f"0.1.0/{name}"
        for name in (
            "both", "classify-attention", "classify-mean-max", "stopped", "tag-crf",
            "tag-softmax-gru", "tag-viterbi-elman",
        )
    }  # fmt: skip
    names = {*CASES, *STOPPED} - {"stopped"}
    assert {path for path in found if path.startswith("0.2.0")} == {f"0.2.0/{n}" for n in names}
