"""What a training shows: its table of epochs, curves and bars."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tagkit.cli.shown.train_progress import (
    curves,
    label_lines,
    seed_lines,
    size_text,
    sparkline,
    table_head,
    table_row,
)
from tagkit.config import load_config
from tagkit.evaluation.reports.criterion import AUTO, find_criterion
from tagkit.evaluation.scores.metrics import Kind
from tagkit.evaluation.scores.scores import Score
from tagkit.models.task_table import task_of
from tagkit.training.events.callbacks import Epoch
from tagkit.training.several.seeds import (
    SeedScores,
)
from tagkit.wording import cells


def epoch(number: int, loss: float, score: float, *, best: bool = False) -> Epoch:
    return Epoch(number, 10 * number, loss, score, {}, 0.003, 9000.0, 2.0, best, True)


F1 = find_criterion(AUTO, [Kind.SPANS], "F1")
EPOCHS = [epoch(1, 8.0, 0.5, best=True), epoch(2, 4.0, 0.75, best=True), epoch(3, 1.0, 0.6)]


@pytest.mark.parametrize(
    ("values", "bars"),
    [([0, 7], "▁█"), ([8, 4, 1], "█▄▁"), ([3, 3, 3], "▁▁▁"), ([5], "▁"),
     (list(range(8)), "▁▂▃▄▅▆▇█"),
     ([0] * 100 + [1] * 99 + [2], 25 * "▁" + 24 * "▅" + "█"),  # at most fifty: one of each four
     ([0] * 59 + [1], 49 * "▁" + "█")],
)  # fmt: skip
def test_bars_are_as_high_as_their_values(values: list[float], bars: str) -> None:
    assert sparkline(values) == bars


def test_curves_in_the_terminal_go_from_the_first_epoch_to_the_last() -> None:
    assert list(curves(EPOCHS, "dev F1", AUTO)) == [
        "",
        "loss      █▄▁  8.0000 to 1.0000",
        "dev F1    ▁█▄  50.00 to 60.00",
    ]
    assert list(curves(EPOCHS[:1], "dev F1", AUTO)) == []


def test_a_loss_that_rounds_to_nothing_has_no_sign() -> None:
    # The sum over all paths less the score of the right one may end below 0 by rounding.
    nothing = replace(EPOCHS[0], loss=-1e-9, dev_loss=-1e-9)
    assert table_row(nothing, "F1", AUTO, {}) == (
        "    1    0.0000    0.0000     50.00  0.003000     9,000  *"
    )
    assert "0.0000 to 0.0000" in [*curves([nothing] * 2, "dev F1", AUTO)][1]
    assert "-0.0000" not in "".join(curves([nothing] * 2, "dev F1", AUTO))


@pytest.mark.parametrize("measure", ["F1", "accuracy", "F1 of destination", "F1 of 目的地"])
def test_an_epoch_stands_below_the_head_of_its_table(measure: str) -> None:
    columns = {"span_f1": "F1", "class_accuracy": "class acc."}
    row = table_row(EPOCHS[0], measure, AUTO, columns).removesuffix("  *")
    assert cells(row) == cells(table_head(measure, columns))


def test_a_small_model_has_a_size_too() -> None:
    assert [size_text(size) for size in (2_390_000, 100_000, 40_700)] == [
        "2.4 MB",
        "0.1 MB",
        "41 kB",
    ]


def scores(seed: int, **f1: float) -> SeedScores:
    """Scores of a seed: precision above F1 and recall below it."""
    table = {label: Score(x + 0.1, x - 0.1, x, 7) for label, x in f1.items()}
    return SeedScores(seed, 1, 0.5, None, {"classes": table})


@pytest.mark.parametrize("metric", ["F1", "F1 of destination", "F1 of 目的地"])
def test_scores_of_seeds_stand_below_their_names(metric: str) -> None:
    predictor: Any = SimpleNamespace(config=load_config(None), task=task_of(load_config(None)))
    best = SimpleNamespace(predictor=predictor, criterion=SimpleNamespace(key="auto"))
    found = [SeedScores(seed, 4, 0.5, 0.25, {}) for seed in (1, 2)]
    _, *lines = seed_lines(SimpleNamespace(scores=found, best=best), metric)  # type: ignore[arg-type]
    assert {cells(line.removesuffix("  *")) for line in lines} == {cells(lines[0])}
    for line in lines[1:3]:  # each number ends where its name does
        column = cells(line[: line.index("50.00")]) + len("50.00")
        assert column == cells(lines[0][: lines[0].index(metric)] + metric)


@pytest.mark.parametrize(
    ("column", "named"), [("UPOS", "UPOS label"), ("-1", "label of column -1")]
)
def test_the_table_of_labels_names_their_column(column: str, named: str) -> None:
    tables = {column: scores(1, a=0.5).by_label["classes"]}
    found = [SeedScores(seed, 1, 0.5, None, tables) for seed in (1, 2)]
    trained = SimpleNamespace(scores=found, best=SimpleNamespace(test=None))
    assert [*label_lines(trained, 80)][1] == (  # type: ignore[arg-type]
        f"each {named} on dev, mean ± standard deviation of 2 seeds:"
    )


def test_the_table_of_labels_has_percentages_and_fits_its_width() -> None:
    long = "l" * 50
    found = (scores(1, **{"a": 0.5, long: 0.25}), scores(2, **{"a": 0.7, long: 0.25}))
    trained = SimpleNamespace(scores=found, best=SimpleNamespace(test=None))
    assert list(label_lines(trained, 80)) == [  # type: ignore[arg-type]
        "",
        "each class on dev, mean ± standard deviation of 2 seeds:",
        "",
        "                                precision         recall             f1  support",
        "a                           70.00 ± 14.14  50.00 ± 14.14  60.00 ± 14.14        7",
        "llllllllllllllll...lllllll  35.00 ±  0.00  15.00 ±  0.00  25.00 ±  0.00        7",
    ]
