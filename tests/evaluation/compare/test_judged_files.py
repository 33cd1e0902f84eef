"""Probabilities of JSON Lines beside gold labels of any format."""

import json
from pathlib import Path
from typing import Any

import pytest

import tagkit
from tagkit.errors import DataError
from tagkit.evaluation.scores.calibration import Calibration

GOLD = "Ada\tB-PER\nsaw\tO\nNew\tB-LOC\nYork\tI-LOC\n\nBob\tB-PER\n\n"


def lines(path: Path, *records: Any) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), "utf-8")
    return path


def found(gold: Path, predicted: Path) -> Calibration:
    analysis = tagkit.analyse(gold, predicted, analyses=["calibration"])
    assert analysis.calibration is not None
    return analysis.calibration[""]


def spans(*found: tuple[int, int, str, float]) -> list[dict[str, Any]]:
    return [{"start": start, "end": end, "label": label, "probability": p}
            for start, end, label, p in found]  # fmt: skip


def test_spans_of_characters_are_judged_against_tags(tmp_path: Path) -> None:
    gold = tmp_path / "gold.conll"
    gold.write_text(GOLD, "utf-8")
    predicted = lines(
        tmp_path / "found.jsonl",
        # Not in the text's order, which the probabilities follow all the same.
        {"text": "Ada saw New York", "spans": spans((8, 11, "LOC", 0.6), (0, 3, "PER", 0.9))},
        {"text": "Bob", "spans": spans((0, 3, "PER", 0.8))},
    )
    calibration = found(gold, predicted)
    # "New" alone is wrong; the other two are right, of three gold spans.
    assert (calibration.name, calibration.count) == ("spans", 3)
    assert calibration.brier == pytest.approx((0.1**2 + 0.6**2 + 0.2**2) / 3)
    rows = {row.threshold: row for row in calibration.thresholds}
    assert (rows[0.7].count, rows[0.7].precision) == (2, 1)
    assert rows[0.7].recall == pytest.approx(2 / 3)


def test_plain_labels_of_tokens_are_judged_one_by_one(tmp_path: Path) -> None:
    gold = tmp_path / "gold.conll"
    gold.write_text("a\tDT\ncat\tNN\n\n", "utf-8")
    tokens = [{"text": "a", "start": 0, "end": 1, "tag": "DT", "probability": 0.9},
              {"text": "cat", "start": 2, "end": 5, "tag": "VB", "probability": 0.7}]  # fmt: skip
    predicted = lines(tmp_path / "found.jsonl", {"text": "a cat", "tokens": tokens, "spans": []})
    calibration = found(gold, predicted)
    assert (calibration.name, calibration.count) == ("tokens", 2)
    assert calibration.brier == pytest.approx((0.1**2 + 0.7**2) / 2)


def test_classes_of_texts_are_judged_by_their_probabilities(tmp_path: Path) -> None:
    gold = lines(tmp_path / "gold.jsonl", {"text": "hi", "label": "greet"},
                 {"text": "bye", "label": "leave"})  # fmt: skip
    predicted = lines(
        tmp_path / "found.jsonl",
        {"text": "hi", "label": "greet", "probabilities": {"leave": 0.3, "greet": 0.7}},
        {"text": "bye", "label": "greet", "probabilities": {"greet": 0.6, "leave": 0.4}},
    )
    calibration = found(gold, predicted)
    assert (calibration.name, calibration.count) == ("texts", 2)
    assert calibration.brier == pytest.approx((0.3**2 + 0.6**2) / 2)


def test_predictions_without_probabilities_are_refused(tmp_path: Path) -> None:
    gold = tmp_path / "gold.conll"
    gold.write_text(GOLD, "utf-8")
    bare = [{"start": 0, "end": 3, "label": "PER"}]
    some = lines(tmp_path / "found.jsonl", {"text": "Ada saw New York", "spans": bare},
                 {"text": "Bob", "spans": spans((0, 3, "PER", 0.8))})  # fmt: skip
    for predicted in (gold, some):
        with pytest.raises(DataError) as refused:
            found(gold, predicted)
        assert str(refused.value) == (
            "there are no probabilities to look at: calibration needs a model, or a file of "
            "predictions in JSON Lines (jsonl) with their probabilities (confidence)"
        )
