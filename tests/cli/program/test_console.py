"""What the console prints where there is no terminal."""

import io
import math
import re
import sys
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest
from pty_terminal import COLOURS
from rich.console import Console

from tagkit.cli.program import console
from tagkit.cli.program.console import (
    PredictionProgress,
    StepColumn,
    note,
    styled,
)
from tagkit.cli.program.messages import shown_time
from tagkit.training.events.callbacks import Step
from tagkit.wording import cells


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


@pytest.mark.parametrize(("total", "share"), [(400, "75%"), (None, "")])
def test_the_share_is_that_of_all_inputs(
    monkeypatch: pytest.MonkeyPatch, total: int | None, share: str
) -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, width=80)
    monkeypatch.setattr(console, "_ERRORS", terminal)
    with PredictionProgress(total) as progress:
        progress.start_file("a", 100)
        progress.add(5, 40)
        progress.start_file("b", 300)  # whose predecessor is done
        progress.add(7, 200)
    last = COLOURS.sub("", cast(io.StringIO, terminal.file).getvalue()).rpartition("b  ")[2]
    assert re.match(rf"12 tokens  [\d,]+ tokens/s +{share}", last)


def test_styles_are_sequences_of_a_terminal() -> None:
    text = styled([("a[b]", ""), ("c :pear:", "black on cyan")])  # neither markup nor emoji
    assert text == "a[b]\x1b[30;46mc :pear:\x1b[0m"


STEP = Step(
    epoch=3, epochs=50, done=120, total=400, run_done=920, run_total=20_000,
    loss=0.1234, tokens_per_s=12345.6, closing_s=8.0, limit_s=math.inf,
)  # fmt: skip


class Run:
    """Steps of a run, each of which takes so many seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.column = 100.0, StepColumn()
        monkeypatch.setattr(time, "monotonic", lambda: self.now)

    def step(self, seconds: float, **facts: float) -> None:
        self.now += seconds
        self.last = replace(STEP, **facts)
        self.column.add(self.last)

    def shown(self, width: int = 120) -> str:
        terminal = Console(file=io.StringIO(), force_terminal=True, width=width, markup=False)
        with terminal.capture() as captured:
            terminal.print(self.column.render(SimpleNamespace(description="reading")))
        return COLOURS.sub("", captured.get()).rstrip("\n")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(monkeypatch)


def test_a_run_says_what_it_does_before_its_first_step(run: Run) -> None:
    assert run.shown().strip() == "reading"
    run.step(30.0)
    assert "left" not in run.shown()  # of one step, in which warming up is, no pace is known


def test_the_time_left_is_that_of_all_steps_at_their_pace_so_far(run: Run) -> None:
    run.step(30.0, run_done=900)  # also of a run that is resumed
    run.step(10.0, run_done=920)
    left = 19_080 * 0.5 + 8  # and scoring at the end
    assert f"run about {shown_time(left)} left" in run.shown()
    run.now += 3  # dev is scored
    assert f"run about {shown_time(left - 3)} left" in run.shown()
    run.step(0.0, run_done=920, limit_s=100.0)
    assert "run about 1:40 left" in run.shown()
    run.column.restart("seed")
    run.step(1.0, run_done=1)
    run.step(1.0, run_done=2, run_total=62)
    assert "seed about 1:08 left" in run.shown()


@pytest.mark.parametrize("width", [120, 80, 60, 40, 20, 5])
def test_the_line_fits_the_width_and_leaves_out_its_end(run: Run, width: int) -> None:
    run.step(30.0, run_done=900)
    run.step(10.0, run_done=920)
    whole = "epoch 3/50  120/400  run about 2:39:08 left  loss 0.1234  12,346 tokens/s"
    line = run.shown(width)
    assert cells(line) <= width
    text = line.rstrip("━╸╺ ")
    assert text == whole or (text.endswith("…") and whole.startswith(text[:-1]))
    assert ("━" in line) == (width >= 80)
