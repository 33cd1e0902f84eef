"""Learning rates beside those of torch's own schedulers, where these can do the same."""

from collections.abc import Callable

import pytest
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, LRScheduler, ReduceLROnPlateau

from tagkit.config import TrainConfig
from tagkit.training.lr_schedule import Schedule

STEPS = 12


def optimizer() -> torch.optim.Optimizer:
    return torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.3)


@pytest.mark.parametrize(
    ("kind", "scheduler"),
    [("linear", lambda sgd: LinearLR(sgd, 1.0, 0.0, STEPS)),
     ("cosine", lambda sgd: CosineAnnealingLR(sgd, STEPS))],
)  # fmt: skip
def test_rates_without_warm_up_are_those_of_torch(
    kind: str, scheduler: Callable[[torch.optim.Optimizer], LRScheduler]
) -> None:
    schedule = Schedule(TrainConfig(lr=0.3, schedule=kind))  # type: ignore[arg-type]
    schedule.total_steps = STEPS
    sgd = optimizer()
    theirs = scheduler(sgd)
    for step in range(STEPS):
        assert schedule.next_step() == pytest.approx(sgd.param_groups[0]["lr"], abs=1e-9), step
        sgd.step()
        theirs.step()


@pytest.mark.parametrize("patience", [0, 1, 3])
def test_a_plateau_cuts_the_rate_when_torchs_does(patience: int) -> None:
    settings = TrainConfig(lr=0.3, schedule="plateau", anneal_patience=patience, anneal_factor=0.4)
    schedule, sgd = Schedule(settings), optimizer()
    theirs = ReduceLROnPlateau(
        sgd, mode="max", factor=0.4, patience=patience, threshold=0.0, eps=0.0
    )
    scores = torch.rand(60, generator=torch.Generator().manual_seed(1)).tolist()
    for epoch, score in enumerate([*scores, *[0.5] * 20]):
        schedule.after_epoch(score)
        theirs.step(score)
        assert schedule.next_step() == pytest.approx(sgd.param_groups[0]["lr"]), epoch
    assert schedule.factor < 0.01
