"""What the console prints where there is no terminal."""

import io
import math
import sys
from dataclasses import replace

import pytest

from tagkit.cli.program import console
from tagkit.cli.program.console import (
    PredictionProgress,
    Remaining,
    RemainingTime,
    note,
    prediction_line,
    step_line,
    styled,
)
from tagkit.training.events.callbacks import Step


def test_a_note_is_one_whole_line_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = (
        "warning: " + "one of many words " * 9 + "in a-folder/" + "long-name/" * 9 + "train.conll"
    )
    note(text)
    assert capsys.readouterr().err == f"{text}\n"


class Terminal(io.StringIO):
    """A terminal of 40 cells that calls itself dumb."""

    def isatty(self) -> bool:
        return True


def test_a_note_is_wrapped_at_the_width_of_a_dumb_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = Terminal()
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(console, "_ERRORS", console._Errors())
    note("train.conll: " + "one of many words " * 9)
    assert max(map(len, screen.getvalue().split("\n"))) <= 40


def test_a_bar_that_a_signal_interrupts_as_it_appears_shows_the_cursor_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bar = console.ProgressBar("trials", 4)
    started = bar._bar.start
    stopped: list[bool] = []

    def interrupted() -> None:
        started()
        raise KeyboardInterrupt

    monkeypatch.setattr(bar._bar, "start", interrupted)
    monkeypatch.setattr(bar._bar, "stop", lambda: stopped.append(True))
    with pytest.raises(KeyboardInterrupt), bar:
        raise AssertionError("it has been interrupted")
    assert stopped == [True]


def test_a_note_is_safe_to_display(capsys: pytest.CaptureFixture[str]) -> None:
    note("warning: \x1b[1m bold")
    assert capsys.readouterr().err == "warning: \\x1b[1m bold\n"


def test_the_progress_of_a_prediction_has_its_share_and_the_time_left_where_known() -> None:
    line = prediction_line("a.conll", 1200, 30.0, 80, 0.25)
    assert line == "a.conll  25 %  1,200 tokens  40 tokens/s  0:30  1:30 left"
    line = prediction_line("a.conll", 1200, 30.0, 80)  # a pipe
    assert line == "a.conll  1,200 tokens  40 tokens/s  0:30"
    assert prediction_line("a.conll", 1200, 30.0, 80, 1.0).endswith("0:30  0:00 left")
    assert len(prediction_line("a" * 90, 1200, 30.0, 60, 0.5)) == 60


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (50, "25 %  1,200 tokens  40 tokens/s  0:30  1:30 left"),
        (40, "25 %  1,200 tokens  0:30  1:30 left"),
        (30, "25 %  1,200 tokens  1:30 left"),
        (25, "25 %  1,200 tokens"),
        (10, "25 %"),
        (3, ""),
    ],
)  # fmt: skip
def test_what_does_not_fit_of_the_progress_of_a_prediction_is_left_out_as_a_whole(
    width: int, expected: str
) -> None:
    assert prediction_line("a.conll", 1200, 30.0, width, 0.25) == expected


@pytest.mark.parametrize(("total", "shares"), [(400, [0.0, 0.1, 0.25, 1.0]), (None, [None] * 4)])
def test_the_share_is_that_of_all_inputs(
    monkeypatch: pytest.MonkeyPatch, total: int | None, shares: list[float | None]
) -> None:
    seen: list[float | None] = []
    monkeypatch.setattr(console, "prediction_line", lambda *given: str(seen.append(given[4])))
    progress = PredictionProgress(total)
    seen.clear()
    progress.start_file("a", 100)
    progress.add(5, 40)
    progress.start_file("b", 300)  # whose predecessor is done
    progress.add(5, 300)
    assert seen == shares


def test_styles_are_sequences_of_a_terminal() -> None:
    text = styled([("a[b]", ""), ("c :pear:", "black on cyan")])  # neither markup nor emoji
    assert text == "a[b]\x1b[30;46mc :pear:\x1b[0m"


EPOCHS, TOTAL = 4, 100
FIRST = Step(
    epoch=1, epochs=EPOCHS, done=1, total=TOTAL, run_done=1, run_total=EPOCHS * TOTAL,
    loss=1.25, tokens_per_s=9876.5, closing_s=8.0, limit_s=math.inf,
)  # fmt: skip


class Run:
    """A run of 0.5 s for each step and 10 s for scoring dev."""

    def __init__(self) -> None:
        self.now = 100.0
        self.remaining = RemainingTime(lambda: self.now)

    def step(self, number: int, **facts: float) -> Step:
        """Take the step of this number in the run, from 1."""
        epoch, done = divmod(number - 1, TOTAL)
        self.now += 0.5 + (10.0 if epoch and not done else 0.0)
        step = replace(FIRST, epoch=epoch + 1, done=done + 1, run_done=number, **facts)
        self.remaining.add(step)
        return step

    def left(self) -> tuple[float, float]:
        left = self.remaining.left()
        assert left is not None
        return left.epoch, left.run


def test_there_is_no_estimate_before_the_first_step() -> None:
    assert Run().remaining.left() is None


def test_the_first_epoch_counts_evaluations_by_the_estimate_of_the_run() -> None:
    run = Run()
    for number in range(1, 41):
        run.step(number)
    # 60 steps and dev; then 3 epochs of 100 steps and dev; at the end dev and test.
    assert run.left() == pytest.approx((60 * 0.5 + 8, 60 * 0.5 + 8 + 3 * (50 + 8) + 8))


def test_later_epochs_count_evaluations_as_they_took() -> None:
    run = Run()
    for number in range(1, TOTAL + 1):
        run.step(number)
    assert run.left() == pytest.approx((8, 8 + 3 * 58 + 8))  # dev is being scored
    run.step(TOTAL + 1)
    assert run.left() == pytest.approx((99 * 0.5 + 10, 99 * 0.5 + 10 + 2 * 60 + 8))
    for number in range(TOTAL + 2, 3 * TOTAL + 51):
        run.step(number)
    assert run.left() == pytest.approx((50 * 0.5 + 10, 50 * 0.5 + 10 + 8))


def test_time_passes_between_steps_and_never_below_nothing() -> None:
    run = Run()
    for number in range(1, 91):
        run.step(number)
    before = run.left()
    run.now += 3
    assert run.left() == pytest.approx((before[0] - 3, before[1] - 3))
    run.now += 1000
    assert run.left()[0] == 0.0


def test_the_first_step_is_slow_and_does_not_count_once_there_are_others() -> None:
    run = Run()
    run.now += 30  # warming up
    run.step(1)
    assert run.left()[0] == pytest.approx(99 * 30.5 + 8)
    run.step(2)
    assert run.left()[0] == pytest.approx(98 * 0.5 + 8)


def test_a_machine_that_becomes_slower_is_noticed_within_some_hundred_steps() -> None:
    run = Run()
    for number in range(1, 51):
        run.step(number)
    for number in range(51, TOTAL + 1):
        run.now += 1.5  # 2 s for each step
        run.step(number)
    for number in range(TOTAL + 1, 3 * TOTAL + 1):
        run.now += 1.5
        run.step(number)
    step_s = (run.left()[1] - 2 * 11.5 + 11.5 - 8) / TOTAL
    assert step_s == pytest.approx(2.0, rel=0.08)


def test_a_time_limit_ends_the_run_earlier() -> None:
    run = Run()
    for number in range(1, 41):
        run.step(number, limit_s=100.0)
    assert run.left() == pytest.approx((38, 100))
    run.now += 2
    assert run.left() == pytest.approx((36, 98))
    run.step(41, limit_s=5.0)
    assert run.left() == pytest.approx((5, 5))


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (120, "epoch 3/50  step 120/400  loss 0.1234  12,345 tokens/s  0:12 left  "
              "run at most 1:02:03  " + "━" * 32),
        (100, "epoch 3/50  step 120/400  loss 0.1234  12,345 tokens/s  0:12 left  "
              "run at most 1:02:03  " + "━" * 12),
        (81, "epoch 3/50  120/400  loss 0.1234  12,345 tokens/s  0:12 left  "
             "run at most 1:02:03"),
        (80, "epoch 3/50  120/400  loss 0.1234  12,345 tok/s  0:12 left  "
             "run at most 1:02:03"),
        (75, "epoch 3/50 120/400 loss 0.1234 12,345 tok/s 0:12 left run at most 1:02:03"),
        (60, "epoch 3/50  120/400  0:12 left  run at most 1:02:03"),
        (40, "epoch 3/50  120/400  0:12 left  " + "━" * 8),
        (20, "epoch 3/50  120/400"),
        (18, "epoch 3/50"),
        (8, ""),
    ],
)  # fmt: skip
def test_the_line_fits_the_width(width: int, expected: str) -> None:
    step = replace(FIRST, epoch=3, epochs=50, done=120, total=400, loss=0.1234, tokens_per_s=12345)
    line, to_come = step_line(step, Remaining(12.0, 3723.0), width)
    assert line == expected
    bar = line.count("━")
    assert to_come == (bar - round(bar * 0.3) if bar else 0)


def test_a_part_is_whole_or_left_out_at_any_width() -> None:
    step = replace(FIRST, epoch=2, epochs=2, done=25, total=25)
    parts = ["epoch 2/2", "step 25/25", "25/25", "loss 1.2500", "9,876 tokens/s", "9,876 tok/s",
             "0:00 left", "run at most 0:01"]  # fmt: skip
    for width in range(100):
        line, _ = step_line(step, Remaining(0.0, 1.0), width)
        assert len(line) <= width
        left = line.rstrip("━")
        for part in parts:
            left = left.replace(part, "", 1)
        assert not left.strip(), (width, line)


def test_large_numbers_fit_80_columns_with_the_rate() -> None:
    step = replace(FIRST, epoch=42, epochs=100, done=1203, total=4321, tokens_per_s=98765)
    assert step_line(step, Remaining(754.0, 36_000.0), 80)[0] == (
        "epoch 42/100 1203/4321 loss 1.2500 98,765 tok/s 12:34 left run at most 10:00:00"
    )


def test_of_several_seeds_the_end_is_that_of_the_seed() -> None:
    line, _ = step_line(FIRST, Remaining(12.0, 62.0), 200, what="seed")
    assert "0:12 left  seed at most 1:02" in line
