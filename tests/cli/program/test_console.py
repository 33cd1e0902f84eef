"""What the console prints where there is no terminal."""

import io
import sys

import pytest

from tagkit.cli.program import console
from tagkit.cli.program.console import PredictionProgress, note, prediction_line, styled


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
