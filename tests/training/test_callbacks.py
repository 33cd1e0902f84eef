"""What a listener gets after each step, and what the log says of the corpora."""

import math
from pathlib import Path

import tiny

from tagkit.training.callbacks import Epoch, Listener, Step
from tagkit.training.trainer import train


class Recorder(Listener):
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.epochs: list[Epoch] = []

    def on_step(self, step: Step) -> None:
        self.steps.append(step)

    def on_epoch(self, epoch: Epoch) -> None:
        self.epochs.append(epoch)


def test_a_step_says_how_far_the_run_is(tmp_path: Path) -> None:
    seen = Recorder()
    train(tiny.config(tmp_path, "train.max_epochs=2", "train.max_minutes=7"), seen)
    count = seen.epochs[0].step
    assert [step.run_done for step in seen.steps] == list(range(1, 2 * count + 1))
    assert [step.done for step in seen.steps] == [*range(1, count + 1)] * 2
    assert {(step.epochs, step.total, step.run_total) for step in seen.steps} == {
        (2, count, 2 * count)
    }
    for epoch, last in zip(seen.epochs, (seen.steps[count - 1], seen.steps[-1]), strict=True):
        assert last.epoch == epoch.number
        assert (last.loss, last.tokens_per_s) == (epoch.loss, epoch.tokens_per_s)
    limits = [step.limit_s for step in seen.steps]
    assert limits == sorted(limits, reverse=True)
    assert 0 < limits[-1] < limits[0] < 7 * 60
    assert all(step.closing_s > 0 for step in seen.steps)


def test_without_a_time_limit_it_is_infinite_and_the_log_has_every_path(tmp_path: Path) -> None:
    seen = Recorder()
    train(tiny.config(tmp_path, "train.max_epochs=1"), seen)
    assert {step.limit_s for step in seen.steps} == {math.inf}
    log = (tmp_path / "model" / "train.log").read_text("utf-8")
    for name in ("train", "dev", "test"):
        assert f"{tmp_path / name}.conll: " in log
    assert f"  dev: {tmp_path}/dev.conll: 20 sentences, " in log
