"""The time limit of a run: its clock, the steps that fit, and the learning rate that follows."""

import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tiny
from runs import Faulty, StopAt, settings
from says import refuses

from tagkit.corpus.records.dataset import Split
from tagkit.errors import DataError, Interrupted
from tagkit.evaluation.reports.report import Report
from tagkit.inference.predict.predictor import Predictor
from tagkit.training.folder.checkpoint import newest_checkpoint
from tagkit.training.loop.dev_loss import DevLoss
from tagkit.training.loop.run import Run
from tagkit.training.loop.time_budget import COLD_STEPS, TimeBudget
from tagkit.training.optim.lr_schedule import Schedule
from tagkit.training.trainer import train

TRAVEL = Path(__file__).parents[3] / "data" / "travel"


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock(1000.0)
    monkeypatch.setattr("tagkit.training.loop.time_budget.time.monotonic", found)
    return found


@pytest.fixture
def rates(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The learning rates of all steps of a test's runs."""
    found: list[float] = []
    next_step = Schedule.next_step

    def recorded(schedule: Schedule) -> float:
        found.append(next_step(schedule))
        return found[-1]

    monkeypatch.setattr(Schedule, "next_step", recorded)
    return found


def test_the_minutes_count_from_the_moment_that_is_named(clock: Clock) -> None:
    budget = TimeBudget(2, "10m", started_s=990.0)
    assert (budget.left_s(0), budget.left_s(30), budget.left_minutes()) == (110, 80, 110 / 60)
    assert TimeBudget(2, "10m").left_s(0) == 120
    clock.now = 1109.0
    assert (budget.left_s(0), budget.is_over(0.5), budget.is_over(1.5)) == (1, False, True)
    clock.now = 2000.0
    assert budget.left_minutes() == 0.1 / 60  # 0 would mean no limit


def test_without_a_limit_the_time_is_never_over(clock: Clock) -> None:
    budget = TimeBudget(0, "10m")
    clock.now = 1e9
    assert not budget.is_limited
    assert not budget.is_over(1e9)
    assert budget.left_minutes() == 0


def test_the_first_steps_of_a_process_do_not_count_once_there_are_others(clock: Clock) -> None:
    budget = TimeBudget(1, "10m")
    assert budget.step_s == 0
    for seconds in [9.0, 3.0, 3.0]:
        budget.count_step(seconds)
    assert budget.step_s == 5
    for seconds in [1.0, 2.0]:
        budget.count_step(seconds)
    assert budget.step_s == 1.5
    for _ in range(300):  # the machine has become slower
        budget.count_step(4.0)
    assert budget.step_s == 4


def test_a_run_ends_at_the_step_that_is_nearest_to_its_limit(clock: Clock) -> None:
    budget = TimeBudget(1, "10m")
    for _ in range(COLD_STEPS + 1):
        budget.count_step(4.0)
    clock.now = 1047.5  # 10 s to close, 2.5 left: another step ends 1.5 s late
    assert not budget.is_over(10)
    clock.now = 1048.5
    assert budget.is_over(10)


@pytest.mark.parametrize(
    ("left_s", "steps"),
    [(0, 0), (-5, 0), (1, 2), (3, 6), (4, 6), (5, 6), (6, 8), (10, 16), (12, 16), (13, 18),
     (5 + 700 + 1, 6 + 1000 + 2)],
)  # fmt: skip
def test_steps_fit_into_the_time_that_endings_of_epochs_leave(
    clock: Clock, left_s: float, steps: float
) -> None:
    # Half a second a step, 10 steps an epoch, of which 6 are left, and 2 s at its end.
    budget = TimeBudget(15, "10m", started_s=clock.now - 15 * 60 + left_s + 7)
    fitting = budget.steps_that_fit(6, 10, step_s=0.5, ending_s=2.0, closing_s=7.0)
    assert fitting == pytest.approx(steps)


def test_more_time_never_means_fewer_steps(clock: Clock) -> None:
    budget = TimeBudget(1, "10m")
    found = []
    for tenths in range(600):
        clock.now = 1060.0 - tenths / 10
        found.append(budget.steps_that_fit(5, 8, step_s=0.4, ending_s=1.7, closing_s=0.0))
    assert found == sorted(found)
    assert max(after - before for before, after in pairwise(found)) < 0.3


@pytest.mark.slow
def test_a_run_uses_its_time_and_its_learning_rate_falls_to_the_end(
    tmp_path: Path, rates: list[float]
) -> None:
    files = {
        f"data.{name}_file": str(TRAVEL / f"{name}.conll") for name in ("train", "dev", "test")
    }
    endless = ["train.max_epochs=100000", "train.patience=0", "train.max_minutes=0.15"]
    missed = []
    # A run that other processes hold up for a second ends with a rate above zero. Exact values
    # are those by the steady clock below; here one run of three has to show the real one's.
    for attempt in range(3):
        rates.clear()
        began_s = time.monotonic()
        trained = train(tiny.small(tmp_path, *endless, **files), force=True)
        took_s = time.monotonic() - began_s
        assert trained.ended == "time"
        assert len(rates) > 20
        assert rates[-1] == trained.epochs[-1].lr
        if 9 - 3 < took_s < 9 + 3 and rates[-1] < 0.05 * max(rates):
            return
        missed.append((attempt, took_s, rates[-1] / max(rates)))
    raise AssertionError(missed)


@pytest.fixture
def steady(clock: Clock, rates: list[float], monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock by which a step takes a second, scoring dev two, and the rest nothing."""
    next_step, evaluate, count_step = Schedule.next_step, Run.evaluate, TimeBudget.count_step

    def stepped(self: Schedule) -> float:
        clock.now += 1
        return next_step(self)

    def scored(self: Run, *, whole: bool) -> object:
        clock.now += 2
        return evaluate(self, whole=whole)

    monkeypatch.setattr(Schedule, "next_step", stepped)
    monkeypatch.setattr(Run, "evaluate", scored)
    monkeypatch.setattr(Run, "_closing_s", lambda self: 2.0)
    monkeypatch.setattr(Run, "_epoch_ending_s", lambda self: 2.0)
    monkeypatch.setattr(Run, "_estimate_dev", lambda self: None)
    monkeypatch.setattr(TimeBudget, "count_step", lambda self, _: count_step(self, 1.0))
    return clock


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_by_a_steady_clock_a_rate_falls_from_step_to_step_and_to_zero(
    tmp_path: Path, rates: list[float], steady: Clock, schedule: str
) -> None:
    began = steady.now
    trained = train(
        settings(tmp_path, "train.max_epochs=50", f"train.schedule={schedule}",
                 "train.max_minutes=1.1", "train.warmup_steps=4")
    )  # fmt: skip
    # 66 s are five epochs of 10 steps and 2 s, 4 steps more, and dev.
    assert [(epoch.step, epoch.whole) for epoch in trained.epochs] == [
        (10, True), (20, True), (30, True), (40, True), (50, True), (54, False),
    ]  # fmt: skip
    assert steady.now - began == 66
    assert trained.ended == "time"
    assert rates[:4] == pytest.approx([0.005, 0.01, 0.015, 0.02])
    falling = rates[4:]
    assert falling == sorted(falling, reverse=True)
    # As planned for 500 steps, but for the last quarter.
    ending = [0.02 * (54 - step) / (54 / 4) for step in range(42, 54)]
    assert rates[42:] == pytest.approx(ending)
    if schedule == "linear":
        assert rates[4:41] == pytest.approx([0.02 * (1 - n / 496) for n in range(37)])
    assert falling[-1] < 0.08 * 0.02


@pytest.mark.slow
def test_a_run_that_goes_back_has_the_steps_and_rates_of_the_time_that_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rates: list[float], steady: Clock
) -> None:
    Faulty(monkeypatch, float("nan"), range(16, 21))
    listener, began = StopAt(), steady.now
    trained = train(settings(tmp_path, "train.max_epochs=50", "train.max_minutes=1.1"), listener)
    assert "step 20: not finite 5 times in a row; back to step 12, " in listener.notes[1]
    # 22 s until then, 10 s and 12 s twice for three epochs, 8 steps more, and dev.
    assert [epoch.step for epoch in trained.epochs] == [10, 20, 30, 40, 48]
    assert steady.now - began == 66
    assert trained.ended == "time"
    # Half of the rate, from the step that it went back to; to 0 within the last quarter.
    after = rates[20:]
    assert after[0] == pytest.approx(0.01 * (1 - 12 / 500))
    assert after[-11:] == pytest.approx([0.01 * (48 - step) / 12 for step in range(37, 48)])


@pytest.mark.slow
def test_a_limit_that_is_never_reached_changes_no_rate(tmp_path: Path, rates: list[float]) -> None:
    train(settings(tmp_path))
    unlimited = list(rates)
    rates.clear()
    train(settings(tmp_path, "train.max_minutes=600"), force=True)
    assert rates == unlimited
    assert rates == pytest.approx([0.02 * (1 - step / 30) for step in range(30)])


@pytest.mark.slow
def test_a_resumed_run_has_the_rates_of_its_new_limit(tmp_path: Path, rates: list[float]) -> None:
    train(settings(tmp_path, "train.max_minutes=0.00001"))
    assert len(rates) == COLD_STEPS
    rates.clear()
    # No time is left: from its first step on the rate is at the end of the schedule.
    again = train(settings(tmp_path, "train.max_minutes=0.00001"), resume=True)
    assert [epoch.step for epoch in again.epochs] == [2 * COLD_STEPS]
    assert rates == [0.0] * COLD_STEPS
    rates.clear()
    done = train(settings(tmp_path), resume=True)
    assert done.ended == "epochs"
    assert rates == pytest.approx([0.02 * (1 - step / 30) for step in range(6, 30)])


def test_a_stop_under_a_limit_leaves_a_checkpoint_for_any_version(tmp_path: Path) -> None:
    listener = StopAt(6)
    with pytest.raises(Interrupted):
        train(settings(tmp_path, "train.max_minutes=600"), listener, stop=listener.stop)
    newest = newest_checkpoint(tmp_path / "model" / "checkpoints", print, lambda _: None)
    assert newest is not None
    assert sorted(newest.state["schedule"]) == ["best", "factor", "lr", "step", "waited"]


@pytest.mark.slow
def test_how_long_dev_takes_follows_from_its_tokens_and_its_distinct_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    config = settings(tmp_path, "train.max_minutes=100")
    # 120 times the same words: a sample has all of them, but not all tokens.
    sentences = [line for _ in range(120) for line in tiny.lines(10, seed=2)]
    tiny.write(Path(config.data.dev_file), sentences)
    monkeypatch.setattr("tagkit.training.loop.run.time.perf_counter", clock)
    scored, estimates = [], []
    score = Predictor.score

    def timed(self: Predictor, split: Split, **more: Any) -> Report:
        words = {word for sentence in split.sentences for word in sentence.words}
        clock.now += 0.25 * split.tokens + 0.5 * len(words)
        scored.append(split.tokens)
        return score(self, split, **more)

    estimate = Run._estimate_dev

    def recorded(self: Run) -> None:
        estimate(self)
        estimates.append(self._dev_cost.seconds)
        assert self.prepared.model.training

    monkeypatch.setattr(Predictor, "score", timed)
    monkeypatch.setattr(Run, "_estimate_dev", recorded)
    train(config, force=True)
    tokens = sum(map(len, sentences))
    words = len({line.split("\t")[0] for sentence in sentences for line in sentence})
    assert estimates[0] == pytest.approx(0.25 * tokens + 0.5 * words)
    assert scored[0] < tokens / 4
    # Plenty of time is left: the first estimate holds until dev is scored.
    assert len(set(estimates)) == 1
    assert scored[4] == tokens
    assert tokens not in scored[:4]


def test_the_loss_on_dev_is_counted_for_epochs_and_not_for_the_reports_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr("tagkit.training.loop.run.time.perf_counter", clock)
    score, compute, evaluate, runs = Predictor.score, DevLoss.compute, Run.evaluate, []

    def scored(self: Predictor, split: Split, **more: Any) -> Report:
        clock.now += 2
        return score(self, split, **more)

    def computed(self: DevLoss) -> float | None:
        clock.now += 3
        return compute(self)

    def evaluated(self: Run, *, whole: bool) -> object:
        runs.append(self)
        return evaluate(self, whole=whole)

    monkeypatch.setattr(Predictor, "score", scored)
    monkeypatch.setattr(DevLoss, "compute", computed)
    monkeypatch.setattr(Run, "evaluate", evaluated)
    train(settings(tmp_path, "train.max_epochs=1"))
    run, corpus = runs[0], runs[0].prepared.corpus
    assert corpus.test is not None
    assert run._epoch_ending_s() == 5
    assert run._closing_s() == pytest.approx(
        # Dev with each share of the CRF of word features.
        5 + 2 * (4 + corpus.test.tokens / corpus.dev.tokens) + 1
    )


@pytest.mark.parametrize("moment", ["now", True, float("nan"), 2000.0])
def test_a_start_that_is_no_moment_or_one_to_come_is_refused(clock: Clock, moment: Any) -> None:
    with refuses(DataError, "started_s", "time.monotonic"):
        TimeBudget(1.0, 10, moment)
    assert TimeBudget(1.0, 10, 990).left_s(0) == 50
