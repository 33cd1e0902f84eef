"""Checkpoints in the folder of a run: their order, and which are the run's own."""

import json
from dataclasses import replace
from pathlib import Path

import torch

from tagkit.training.folder.checkpoint import (
    Checkpoint,
    checkpoint_name,
    newest_checkpoint,
    remove_after,
    save_checkpoint,
)


def checkpoint(step: int) -> Checkpoint:
    return Checkpoint(step, {"a": torch.zeros(1)}, {}, sound=False)


def test_checkpoints_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    def newest() -> int:
        found = newest_checkpoint(tmp_path, print, lambda checkpoint: None)
        assert found
        return found.step

    steps = (99_999_999, 100_000_000, 100_000_001)
    for step in steps:
        save_checkpoint(tmp_path, checkpoint(step), 2, lambda name: True)
        assert newest() == step
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "step-100000000", "step-100000001"
    ]  # fmt: skip
    remove_after(tmp_path, 100_000_000, lambda name: True)
    assert newest() == 100_000_000
    assert checkpoint_name(7) == "step-00000007"


def test_other_folders_among_the_checkpoints_are_no_checkpoints(tmp_path: Path) -> None:
    for name in ("step-mine", "step-00000009.bak", "step-٣", "step-00000008"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "notes.txt").write_text("mine")
    save_checkpoint(tmp_path, checkpoint(1), 1, lambda name: True)
    (tmp_path / "step-00000001" / "notes.txt").write_text("mine")
    save_checkpoint(tmp_path, checkpoint(2), 1, lambda name: True)
    notes: list[str] = []
    found = newest_checkpoint(tmp_path, notes.append, lambda checkpoint: None)
    assert found
    assert (found.step, notes) == (2, [])
    assert len(list(tmp_path.rglob("notes.txt"))) == 5
    assert not (tmp_path / "step-00000001" / "state.json").exists()


def test_checkpoints_that_are_not_the_runs_own_are_not_removed(tmp_path: Path) -> None:
    for step in (1, 2, 3, 4):
        save_checkpoint(tmp_path, checkpoint(step), 1, lambda name: name != checkpoint_name(2))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        checkpoint_name(2),
        checkpoint_name(4),
    ]


def weights(step: int, *, best: float) -> Checkpoint:
    """A checkpoint with 4 MB of weights, equal running means, and the best epoch's weights."""
    table = torch.full((1000, 1000), float(step))
    tensors = {
        "weights.table": table,
        "mean.table": table.clone(),
        "rows.first": torch.zeros(1000, 1000),
        "rows.second": torch.zeros(1000, 1000),
        "best.table": torch.full((1000, 1000), best),
        "steps": torch.tensor(step),
    }
    return Checkpoint(step, tensors, {}, sound=True)


def disk_use(folder: Path) -> int:
    """Bytes of all files, each once, by however many names it is reached."""
    found = {path.stat().st_ino: path.stat().st_size for path in folder.rglob("*.safetensors")}
    return sum(found.values())


def test_each_tensor_is_stored_once_and_all_are_read_back(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, weights(1, best=0.5), 2, lambda name: True)
    # The weights, one tensor of zeros, and the best weights: of five tensors of 4 MB three.
    assert 12_000_000 <= disk_use(tmp_path) < 12_010_000
    second = weights(2, best=0.5)
    kept = {name: each for name, each in second.tensors.items() if name != "best.table"}
    second = replace(second, tensors=kept, best=tmp_path / checkpoint_name(1))
    save_checkpoint(tmp_path, second, 2, lambda name: True)
    assert 20_000_000 <= disk_use(tmp_path) < 20_010_000  # the best weights are those of before
    save_checkpoint(tmp_path, weights(3, best=3.0), 2, lambda name: True)
    # Of the newest the best weights alone, which its weights and means are equal to, and zeros.
    assert 20_000_000 <= disk_use(tmp_path) < 20_010_000
    for step, best in ((3, 3.0), (2, 0.5)):
        found = newest_checkpoint(tmp_path, print, lambda checkpoint: None)
        assert found
        assert found.step == step
        expected = weights(step, best=best).tensors
        assert found.tensors.keys() == expected.keys()
        for name, tensor in expected.items():
            assert torch.equal(found.tensors[name], tensor), name
        remove_after(tmp_path, step - 1, lambda name: True)


def test_best_weights_that_are_lost_make_the_checkpoint_before_the_newest(tmp_path: Path) -> None:
    for step, best in ((1, 1.0), (2, 2.0)):
        save_checkpoint(tmp_path, weights(step, best=best), 2, lambda name: True)
    newest = tmp_path / checkpoint_name(2)
    for damage, problem in (
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "was cut short or altered"),
        (lambda path: path.unlink(), "No such file or directory"),
    ):
        damage(newest / "best.safetensors")
        notes: list[str] = []
        found = newest_checkpoint(tmp_path, notes.append, lambda checkpoint: None)
        assert found
        assert found.step == 1
        assert problem in notes[0]
        assert "best.safetensors" in notes[0]


def test_tensors_that_differ_in_the_sign_of_zero_alone_are_both_stored(tmp_path: Path) -> None:
    tensors = {"a": torch.zeros(2000), "b": -torch.zeros(2000), "c": torch.zeros(2000)}
    save_checkpoint(tmp_path, Checkpoint(1, tensors, {}, sound=True), 2, lambda name: True)
    record = json.loads((tmp_path / checkpoint_name(1) / "state.json").read_text())
    assert record["body"]["same"] == {"c": "a"}
    found = newest_checkpoint(tmp_path, print, lambda checkpoint: None)
    assert found
    assert bool(found.tensors["b"].signbit().all())
