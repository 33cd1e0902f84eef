"""Training and prediction on a GPU, beside the CPU. Without a GPU these tests are skipped."""

from pathlib import Path

import pytest
import tiny
from runs import StopAt, settings
from small_runs import TASKS, of_task

from tagkit.errors import Interrupted
from tagkit.inference.predictor import load
from tagkit.training.trainer import train

pytestmark = pytest.mark.cuda
ON_GPU = "train.device=cuda"


@pytest.mark.parametrize("task", list(TASKS))
def test_a_gpu_learns_what_a_cpu_learns(tmp_path: Path, task: str) -> None:
    # Without dropout the order of the corpus is all that is random, and it is drawn on the CPU.
    losses = [
        [
            epoch.loss
            for epoch in train(of_task(tmp_path / device, task, f"train.device={device}")).epochs
        ]
        for device in ("cpu", "cuda")
    ]
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
@pytest.mark.parametrize("task", list(TASKS))
def test_mixed_precision_trains_on_a_gpu(tmp_path: Path, task: str, precision: str) -> None:
    full, mixed = (
        train(of_task(tmp_path / name, task, ON_GPU, f"train.precision={name}")).epochs
        for name in ("fp32", precision)
    )
    assert [epoch.loss for epoch in mixed] == pytest.approx(
        [epoch.loss for epoch in full], rel=0.05
    )
    assert mixed[-1].loss < mixed[0].loss


def test_a_run_on_a_gpu_that_is_stopped_ends_as_one_that_was_not(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train(settings(whole, ON_GPU))
    listener = StopAt(7)
    with pytest.raises(Interrupted):
        train(settings(parts, ON_GPU), listener, stop=listener.stop)
    train(settings(parts, ON_GPU), resume=True)
    # Not weights: cuDNN's sums have no fixed order, so their last bits may differ.
    words = [[line.split("\t")[0] for line in sentence] for sentence in tiny.lines(30, 5)]
    expected, found = (
        [
            [token.tag for token in tagged.tokens]
            for tagged in load(home / "model/best").predict(words)
        ]
        for home in (whole, parts)
    )
    assert found == expected
