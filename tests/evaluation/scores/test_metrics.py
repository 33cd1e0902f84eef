"""One table of metrics: a row more is seen wherever metrics are."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
from says import refuses

from tagkit.cli.shown.train_progress import Progress
from tagkit.config import load_config
from tagkit.errors import DataError
from tagkit.evaluation.html_report.page import report_page, report_parts
from tagkit.evaluation.reports.class_report import JointReport, make_class_report
from tagkit.evaluation.reports.column_report import make_tag_column_report
from tagkit.evaluation.reports.report_text import report_lines
from tagkit.evaluation.reports.tag_report import make_tag_report
from tagkit.evaluation.scores.metrics import (
    HEADLINES,
    METRICS,
    Comparison,
    Kind,
    Metric,
    added_metrics,
    headline_column,
    history_key,
    metrics_of,
)
from tagkit.inference.score.evaluate import evaluate
from tagkit.models.columns.columns import ColumnsTask
from tagkit.text.records import Sentence
from tagkit.training.trainer import train


def sentence_accuracy(comparison: Comparison) -> float:
    pairs = list(zip(comparison.gold, comparison.predicted, strict=True))
    return sum(tuple(a) == tuple(b) for a, b in pairs) / len(pairs)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Metric:
    """Share of sentences, or texts, that are right throughout: a function and a row."""
    row = Metric(
        key="whole",
        name="whole sentences right",
        column="sent",
        kinds=frozenset({Kind.SPANS, Kind.CLASSES}),
        value=sentence_accuracy,
        has_place=False,
    )
    monkeypatch.setitem(METRICS, row.key, row)
    return row


GOLD = [("B-X", "O"), ("B-Y", "I-Y"), ("O",)]
FOUND = [("B-X", "O"), ("B-Y", "O"), ("O",)]


def test_a_new_metric_stands_in_the_lines_and_the_json_of_reports_that_it_is_for(
    toy: Metric,
) -> None:
    spans = make_tag_report(GOLD, FOUND, "iob2")
    lines = list(report_lines(spans))
    assert lines[-2:] == [
        "IOB2 spans, conlleval-compatible; token accuracy 0.8000 of 5 tokens",
        "whole sentences right 0.6667",
    ]
    assert spans.to_dict()["whole"] == spans.parts()["whole"] == 2 / 3
    classes = make_class_report([("a", "b"), ("a",)], [("a",), ("a",)], several=True)
    assert classes.parts()["class_whole"] == classes.to_dict()["whole"] == 0.5
    both = JointReport(spans, classes, 0.5)
    assert [line for line in report_lines(both) if line.startswith("whole sentences")] == [
        "whole sentences right 0.6667", "whole sentences right 0.5000",
    ]  # fmt: skip
    plain = make_tag_report(GOLD, FOUND, "labels")
    assert "whole" not in plain.to_dict()
    assert not any("whole" in line for line in report_lines(plain))


def test_a_new_metric_is_the_same_of_files_as_of_tags(toy: Metric, tmp_path: Path) -> None:
    rows = [
        "".join(f"w\t{tag}\n" for tag in tags) + "\n" for side in (GOLD, FOUND) for tags in side
    ]
    gold, predicted, both = (tmp_path / f"{name}.conll" for name in ("gold", "pred", "both"))
    gold.write_text("".join(rows[:3]))
    predicted.write_text("".join(rows[3:]))
    both.write_text("".join(
        "".join(f"w\t{a}\t{b}\n" for a, b in zip(*tags, strict=True)) + "\n"
        for tags in zip(GOLD, FOUND, strict=True)
    ))  # fmt: skip
    assert evaluate(gold, predicted).to_dict()["whole"] == 2 / 3
    assert evaluate(both).to_dict()["whole"] == 2 / 3
    assert evaluate(gold, gold).to_dict()["whole"] == 1


def test_a_new_metric_of_tags_is_one_of_each_column_of_tags(
    toy: Metric, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load_config(overrides=['data.tag_column=["UPOS","LEMMA"]', "train.metric=UPOS_whole"])
    words = [("a", "b"), ("c",)]
    tags, found = [("X", "Y"), ("X",)], [("X", "Z"), ("X",)]
    for kinds, values in (({Kind.SPANS, Kind.TOKENS}, [0.5]), ({Kind.SPANS}, [])):
        monkeypatch.setitem(METRICS, toy.key, replace(toy, kinds=frozenset(kinds)))
        column = make_tag_column_report(
            "UPOS", "labels", words, tags, found, frozenset(), {"X", "Y"}, strict=False
        )
        assert [each for name, each in column.parts().items() if name == "UPOS_whole"] == values
        if values:
            assert ColumnsTask().criterion(config).name == "UPOS whole sentences right"
        else:  # of labels it is not defined, and a column may have them
            with refuses(DataError, "UPOS_whole", "metric"):
                ColumnsTask().criterion(config)


def test_a_new_metric_stands_on_the_page_of_a_report(toy: Metric) -> None:
    records = [[Sentence(("w",) * len(tags), tags) for tags in side] for side in (GOLD, FOUND)]
    report = evaluate(*records)
    page = report_page("t", "a", report_parts(report, None))
    text = re.sub(r"<[^>]*>", " ", page)
    assert re.search(r"whole sentences right\s+0\.6667", text)


def test_an_epoch_has_one_column_of_the_metric_that_selects_it(
    toy: Metric, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress() as shown:
        train(tiny.config(tmp_path, "train.max_epochs=1", "train.metric=whole"), shown)
    head = "epoch      loss  dev loss  dev whole sentences right  dev F1          lr  tokens/s"
    assert head in capsys.readouterr().err.splitlines()


def test_a_new_metric_stands_in_history_and_in_the_table_of_epochs(
    toy: Metric, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress() as shown:
        trained = train(tiny.config(tmp_path, "train.max_epochs=2"), shown)
        shown.on_end(trained)
    lines = capsys.readouterr().err.splitlines()
    head = lines.index("epoch      loss  dev loss  dev F1    dev sent        lr  tokens/s")
    history = (trained.folder / "history.jsonl").read_text("utf-8").splitlines()
    assert len(history) == 2
    for row, line in zip(lines[head + 1 :], history, strict=False):
        scores = json.loads(line)["dev_scores"]
        assert list(scores) == ["accuracy", "precision", "recall", "f1", "macro_f1", "whole"]
        cells = row.split()
        assert cells[2] == f"{json.loads(line)['dev_loss']:.4f}"
        assert cells[3:5] == [f"{100 * scores['f1']:.2f}", f"{100 * scores['whole']:.2f}"]
    assert re.search(r"^whole sentences right [01]\.\d{4}$", "\n".join(lines), re.MULTILINE)


def test_each_kind_has_a_headline_that_is_defined_for_it() -> None:
    assert HEADLINES.keys() == set(Kind)
    for kind, key in HEADLINES.items():
        assert kind in METRICS[key].kinds
    assert all(key == metric.key for key, metric in METRICS.items())


CLASS_KEYS = ["class_accuracy", "class_precision", "class_recall", "class_f1", "class_macro_f1"]


def test_the_metrics_of_this_version_all_have_a_place_in_the_report() -> None:
    for kind in Kind:
        assert added_metrics(kind) == []
    names = {kind: [history_key(metric, kind) for metric in metrics_of(kind)] for kind in Kind}
    assert names == {
        Kind.SPANS: ["accuracy", "precision", "recall", "f1", "macro_f1"],
        Kind.TOKENS: ["accuracy", "macro_f1"],
        Kind.CLASS: CLASS_KEYS,
        Kind.CLASSES: CLASS_KEYS,
    }


@pytest.mark.parametrize(
    ("kinds", "head"),
    [
        ([Kind.SPANS], "F1"),
        ([Kind.TOKENS], "acc."),
        ([Kind.CLASS], "acc."),
        ([Kind.CLASSES], "F1"),
        ([Kind.SPANS, Kind.CLASS], "mean"),
    ],
)
def test_the_column_of_the_headline_is_called(kinds: list[Kind], head: str) -> None:
    assert headline_column(kinds) == head
