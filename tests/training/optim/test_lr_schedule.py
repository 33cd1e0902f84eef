"""Learning rates beside those of torch's own schedulers, where these can do the same."""

import json
from collections.abc import Callable

import pytest
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, LRScheduler, ReduceLROnPlateau

from tagkit.config import TrainConfig, allowed
from tagkit.training.optim.lr_schedule import PLATEAU_FACTOR, PLATEAU_PATIENCE, Schedule

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


def test_a_plateau_cuts_the_rate_when_torchs_does() -> None:
    schedule, sgd = Schedule(TrainConfig(lr=0.3, schedule="plateau")), optimizer()
    theirs = ReduceLROnPlateau(
        sgd, mode="max", factor=PLATEAU_FACTOR, patience=PLATEAU_PATIENCE, threshold=0.0, eps=0.0
    )
    scores = torch.rand(60, generator=torch.Generator().manual_seed(1)).tolist()
    for epoch, score in enumerate([*scores, *[0.5] * 20]):
        schedule.after_epoch(score)
        theirs.step(score)
        assert schedule.next_step() == pytest.approx(sgd.param_groups[0]["lr"]), epoch
    assert schedule.factor < 0.01


_TOO_LONG = (
    "train.warmup_steps = 100,000 is more than the run's 94 steps, so that the learning rate never "
    "reaches train.lr; lower it (a tenth of the steps is usual), or raise train.max_epochs"
)


@pytest.mark.parametrize(
    ("warmup", "total", "minutes", "expected"),
    [
        (100_000, 94, 0, _TOO_LONG),
        (94, 94, 0, ""),  # the last step has all of it
        (100_000, 94, 1, _TOO_LONG),  # a time limit leaves no more of them
    ],
)
def test_a_warm_up_that_no_run_reaches_the_end_of_is_noted(
    warmup: int, total: int, minutes: float, expected: str
) -> None:
    schedule = Schedule(TrainConfig(lr=0.3, warmup_steps=warmup, max_minutes=minutes))
    schedule.total_steps = total
    assert schedule.note() == expected
    if warmup == total:
        assert [schedule.next_step() for _ in range(total)][-1] == 0.3


SCORES = [0.5, 0.6, 0.6, 0.6, 0.55, 0.7, 0.65, 0.6, 0.69, 0.7]


@pytest.mark.parametrize("cut", range(len(SCORES)))
@pytest.mark.parametrize("kind", allowed(TrainConfig, "schedule"))
def test_a_schedule_that_is_restored_goes_on_as_it_would_have(kind: str, cut: int) -> None:
    settings = TrainConfig(lr=1.0, schedule=kind, warmup_steps=3)  # type: ignore[arg-type]

    def rates(restored_at: int) -> list[float]:
        found, schedule = [], Schedule(settings)
        schedule.total_steps = len(SCORES)
        for number, score in enumerate(SCORES):
            if number == restored_at:
                state = json.loads(json.dumps(schedule.state()))
                schedule = Schedule(settings)
                schedule.total_steps = len(SCORES)
                schedule.restore(state)
                assert schedule.state() == state
            found.append(schedule.next_step())
            schedule.after_epoch(score)
        return found

    assert rates(cut) == rates(-1)


def test_rates_rise_before_they_fall_in_every_schedule_and_a_factor_scales_both() -> None:
    for kind in allowed(TrainConfig, "schedule"):
        schedule = Schedule(TrainConfig(lr=2.0, schedule=kind, warmup_steps=4))  # type: ignore[arg-type]
        schedule.total_steps = 12
        rates = [schedule.next_step() for _ in range(12)]
        assert rates[:5] == [0.5, 1.0, 1.5, 2.0, 2.0], kind
        assert all(rate > 0 for rate in rates)
        if kind == "linear":
            assert rates[4:] == pytest.approx([2 - step / 4 for step in range(8)])
        half = Schedule(TrainConfig(lr=2.0, schedule=kind, warmup_steps=4))  # type: ignore[arg-type]
        half.total_steps, half.factor = 12, 0.5
        assert [half.next_step() for _ in range(12)] == [rate / 2 for rate in rates]


@pytest.mark.parametrize("kind", ["linear", "cosine"])
def test_a_rate_that_falls_is_zero_after_the_steps_that_fit(kind: str) -> None:
    planned, schedule = (
        Schedule(TrainConfig(lr=0.4, schedule=kind, warmup_steps=3))  # type: ignore[arg-type]
        for _ in range(2)
    )
    planned.total_steps = schedule.total_steps = 1000
    schedule.fitting_steps, schedule.factor, planned.factor = 40.0, 0.5, 0.5
    rates = [schedule.next_step() for _ in range(42)]
    # As planned, but for the last quarter.
    assert rates[:31] == [planned.next_step() for _ in range(31)]
    assert rates[31:] == pytest.approx([0.2 * left / 10 for left in [*range(9, -1, -1), 0]])
    # There is time for more steps than there are: the plan counts.
    schedule.total_steps, schedule.fitting_steps = 45, 46.0
    planned.total_steps, planned._step = 45, 42
    assert schedule.next_step() == planned.next_step()


@pytest.mark.parametrize("kind", ["constant", "plateau"])
def test_a_rate_that_does_not_fall_is_not_changed_by_a_limit(kind: str) -> None:
    schedule = Schedule(TrainConfig(lr=0.4, schedule=kind))  # type: ignore[arg-type]
    schedule.total_steps, schedule.fitting_steps = 1000, 20.0
    assert [schedule.next_step() for _ in range(25)] == [0.4] * 25


@pytest.mark.parametrize(
    ("warmup", "steps", "expected"),
    [
        (1_000, 1, "the time limit ended the run after 1 step, within the warm-up of "
         "train.warmup_steps = 1,000, so that the learning rate never reached train.lr; lower it "
         "(a tenth of the steps is usual), or raise train.max_minutes"),
        (3, 3, ""),
        (0, 0, ""),
    ],
)  # fmt: skip
def test_a_time_limit_within_the_warm_up_is_noted(warmup: int, steps: int, expected: str) -> None:
    schedule = Schedule(TrainConfig(lr=0.3, warmup_steps=warmup, max_minutes=1))
    schedule.total_steps = 1_000
    for _ in range(steps):
        schedule.next_step()
    assert schedule.end_note() == expected
    schedule.total_steps = 999
    assert schedule.end_note() == ("" if schedule.note() else expected)  # said once
    assert (schedule.lr == 0.3) == (not expected)
