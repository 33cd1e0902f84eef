"""What a run carries from step to step, and what a checkpoint of it restores."""

from pathlib import Path

import pytest
import tiny
import torch
from runs import Faulty, settings
from small_runs import QUIET
from steps import loop_steps

from tagkit.training.loop.state import RunState
from tagkit.training.processes.distributed import processes_of
from tagkit.training.setup.setup import prepare

CPU = torch.device("cpu")
ALONE = processes_of(CPU)


def test_random_generators_are_restored_as_they_were(tmp_path: Path) -> None:
    run = prepare(tiny.config(tmp_path), CPU)
    state = RunState(run, ALONE, print)
    kept = state.checkpoint({"run": {}}, sound=True)

    def drawn() -> list[float]:
        return [
            float(torch.rand(1)),
            float(torch.rand(1, generator=state.micro_batches.generator)),
            float(torch.rand(1, generator=state.optimizer.generator)),
            float(state.shuffler.random()),
        ]

    state.plan_epoch()
    expected = drawn()
    drawn()
    state.restore(kept)
    state.plan_epoch()
    assert drawn() == expected


def test_a_warm_up_longer_than_the_run_is_noted_once_before_its_first_step(tmp_path: Path) -> None:
    config = tiny.config(tmp_path, "train.warmup_steps=999", "train.max_epochs=2")
    notes: list[str] = []
    state = RunState(prepare(config, CPU), ALONE, notes.append)
    steps = 2 * len(state.plan_epoch().steps)
    assert [note.partition(",")[0] for note in notes] == [
        f"train.warmup_steps = 999 is more than the run's {steps} steps"
    ]
    state.step = steps // 2
    state.plan_epoch()
    assert len(notes) == 1


def test_the_loss_of_an_epoch_leaves_out_steps_that_were_not_finite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settings(tmp_path, *QUIET, "train.lr=1e-30", "train.max_epochs=1")
    run = prepare(config, CPU)
    state = RunState(run, ALONE, print)
    Faulty(monkeypatch, float("nan"), range(3, 5))
    plan = state.plan_epoch().steps
    losses = loop_steps(state, len(plan))
    assert [number for number, loss in enumerate(losses) if loss != loss] == [2, 3]
    lengths = run.encoded.lengths
    kept = [step for number, step in enumerate(plan) if number not in (2, 3)]
    assert state.position.targets == sum(lengths[batch].sum() for step in kept for batch in step)
    assert state.position.loss == pytest.approx(sum(loss for loss in losses if loss == loss))
    assert state.position.tokens == lengths.sum()
    assert (state.step, state.skipped, state.consecutive_nonfinite) == (len(plan), 2, 0)
