"""Checkpoints in the folder of a run: their order, and which are the run's own."""

from pathlib import Path

import torch

from tagkit.training.checkpoint import (
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
