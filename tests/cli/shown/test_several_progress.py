"""The lines and the bar of an audit; no terminal needed."""

import pytest

from tagkit.cli.shown.several_progress import AuditProgress, fold_line
from tagkit.training.several.folds import Fold


def fold(number: int, *, learnt: int = 800, left_out: int = 0) -> Fold:
    return Fold(number, 4, 0, tuple(range(200)), tuple(range(learnt)), left_out)


def test_a_line_says_what_is_learnt_judged_and_left_out_and_the_time_left() -> None:
    assert fold_line(fold(1), None) == "fold 1 of 4: 800 sentences to learn from, 200 to judge"
    assert fold_line(fold(2, learnt=1, left_out=1200), 190.0) == (
        "fold 2 of 4: 1 sentence to learn from, 200 to judge, 1,200 with the same entities left "
        "out, about 3:10 left"
    )


def test_the_time_left_is_that_of_the_folds_that_are_done(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = 100.0
    shown = AuditProgress(4, clock=lambda: now)
    now = 150.0  # reading the corpus
    shown.on_fold(fold(1))
    now = 170.0
    shown.on_fold_end(fold(1))
    shown.on_fold(fold(2))
    now = 200.0
    shown.on_fold_end(fold(2))
    shown.on_fold(fold(3))
    ends = [line.rpartition(", ")[2] for line in capsys.readouterr().err.splitlines()]
    assert ends == ["200 to judge", "about 1:00 left", "about 0:50 left"]
