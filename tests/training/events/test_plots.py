"""What is left of a run to look at: curves, bars, TensorBoard's events."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
import tiny
from says import refuses

from tagkit.cli.shown.train_progress import curves, size_text, sparkline, table_head, table_row
from tagkit.errors import ConfigError
from tagkit.evaluation.reports.criterion import AUTO, Criterion, find_criterion
from tagkit.evaluation.scores.metrics import Kind
from tagkit.training.events.callbacks import Epoch
from tagkit.training.events.plots import drawn_curves
from tagkit.training.trainer import train
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


SVG = "{http://www.w3.org/2000/svg}"


def drawn(epochs: Sequence[Epoch], criterion: Criterion = F1) -> ElementTree.Element:
    return ElementTree.fromstring(drawn_curves(epochs, criterion))


def places(curve: ElementTree.Element) -> list[tuple[float, float]]:
    pairs = (point.split(",") for point in curve.attrib["points"].split())
    return [(float(x), float(y)) for x, y in pairs]


def test_a_picture_has_the_loss_and_the_score_of_each_epoch(tmp_path: Path) -> None:
    root = drawn(EPOCHS)
    # The space around the points is a twentieth of the area, 320 by 215, at each side. SVG counts y
    # from the top. Losses are 8, 4 and 1; scores 50, 75 and 60.
    left, middle, right, top, height = 81.0, 225.0, 369.0, 45.75, 193.5
    loss, score = map(places, root.iter(f"{SVG}polyline"))
    assert [x for x, _ in loss] == [x for x, _ in score] == [left, middle, right]
    assert [y for _, y in loss] == pytest.approx(
        [top, top + 4 / 7 * height, top + height], abs=0.06
    )
    assert [y for _, y in score] == pytest.approx([top + height, top, top + 0.6 * height], abs=0.06)
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert titles == [
        "epoch 1, train: 8", "epoch 2, train: 4", "epoch 3, train: 1", "best epoch: 2",
        "epoch 1, dev: 50", "epoch 2, dev: 75", "epoch 3, dev: 60",
    ]  # fmt: skip


def test_a_picture_has_axes_with_round_numbers(tmp_path: Path) -> None:
    texts = [text.text for text in drawn(EPOCHS).iter(f"{SVG}text")]
    losses = ["2", "4", "6", "8"]
    scores = ["50", "55", "60", "65", "70", "75"]
    assert texts == [
        "loss", "1", "2", "3", *losses, "epoch", "loss (nats)",
        "dev F1", "1", "2", "3", *scores, "epoch", "dev score",
    ]  # fmt: skip


def test_the_loss_on_dev_is_a_second_curve_with_a_legend(tmp_path: Path) -> None:
    epochs = [replace(each, dev_loss=0.5 * each.loss) for each in EPOCHS]
    root = drawn(epochs)
    assert len(list(root.iter(f"{SVG}polyline"))) == 3
    assert [text.text for text in root.iter(f"{SVG}text")][10:13] == ["train", "dev", "dev F1"]
    # An epoch without one leaves it out, as a curve with a gap would be read as a line.
    root = drawn([*epochs[:2], EPOCHS[2]])
    assert len(list(root.iter(f"{SVG}polyline"))) == 2


def test_one_epoch_and_equal_values_are_drawn_in_the_middle(tmp_path: Path) -> None:
    curves = [places(curve) for curve in drawn(EPOCHS[:1]).iter(f"{SVG}polyline")]
    assert curves == [[(225.0, 142.5)], [(225.0, 142.5)]]


def test_a_label_with_a_character_of_markup_is_shown_as_it_is(tmp_path: Path) -> None:
    root = drawn(EPOCHS, replace(F1, name="F1 of <R&D>"))
    assert "dev F1 of <R&D>" in [text.text for text in root.iter(f"{SVG}text")]


@pytest.mark.slow
def test_tensorboard_is_told_of_each_epoch(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    trained = train(tiny.config(tmp_path, "train.tracker=tensorboard"))
    events = EventAccumulator(str(tmp_path / "model" / "tensorboard"))
    events.Reload()
    assert sorted(events.Tags()["scalars"]) == ["dev", "dev loss", "loss", "lr", "tokens/s"]
    told = [(event.step, event.value) for event in events.Scalars("dev")]
    assert told == [(e.step, pytest.approx(e.score)) for e in trained.epochs]


def test_a_tracker_that_is_not_installed_is_an_error_that_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagkit.training.processes.distributed.has_tensorboard", lambda: False)
    with refuses(ConfigError, "'tagkit[tensorboard]'"):
        train(tiny.config(tmp_path, "train.tracker=tensorboard"))


def test_a_small_model_has_a_size_too() -> None:
    assert [size_text(size) for size in (2_390_000, 100_000, 40_700)] == [
        "2.4 MB",
        "0.1 MB",
        "41 kB",
    ]
