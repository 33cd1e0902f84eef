"""Systems side by side."""

from random import Random

import pytest

import tagkit
from tagkit import DataError, Document, Sentence
from tagkit.evaluation.systems import compare_systems


def corpus(right: float, seed: int = 1, sentences: int = 150) -> list[Sentence]:
    rng = Random(seed)
    tags = [
        ("B-X", "O", "B-Y") if rng.random() < right else ("O", "B-X", "B-Y")
        for _ in range(sentences)
    ]
    return [Sentence(("a", "b", "c"), each) for each in tags]


GOLD = corpus(1)


def test_each_system_is_compared_with_the_first_one() -> None:
    reports = [(name, tagkit.evaluate(GOLD, corpus(right, seed)))
               for name, right, seed in (("a", 0.5, 1), ("b", 0.9, 2), ("c", 0.5, 1))]  # fmt: skip
    first, better, same = compare_systems(reports).parts[""]
    assert first.difference is None
    assert (first.name, first.report) == reports[0]
    assert first.interval.low < first.report.headline < first.interval.high
    assert better.difference is not None
    assert better.difference.difference == pytest.approx(
        better.report.headline - first.report.headline
    )
    assert better.difference.p < 0.001
    assert same.difference is not None
    assert (same.difference.difference, same.difference.p) == (0, 1)


def test_the_json_of_systems_holds_their_reports() -> None:
    report = tagkit.evaluate(GOLD, corpus(0.5))
    found = compare_systems([("a", report), ("b", report)]).to_dict()
    assert (found["kind"], found["measure"]) == ("systems", "F1")
    assert [each["name"] for each in found["systems"]] == ["a", "b"]
    assert found["systems"][0]["report"] == report.to_dict()
    assert (found["systems"][0]["difference"], found["systems"][1]["difference"]["p"]) == (None, 1)


def test_systems_with_other_labels_or_other_sentences_are_refused() -> None:
    text = Document("To Rome.", labels=("travel",))
    classes = tagkit.evaluate([text], [text])
    tags = tagkit.evaluate(GOLD, GOLD)
    with pytest.raises(DataError, match=r"^b: expected spans as in a, found class$"):
        compare_systems([("a", tags), ("b", classes)])
    with pytest.raises(DataError, match=r"^b: expected the sentences of a, found others: spans of"):
        compare_systems([("a", tags), ("b", tagkit.evaluate(GOLD[1:], GOLD[1:]))])


def test_tags_and_classes_are_compared_apart() -> None:
    gold = [Sentence(("Rome",), ("B-X",), labels=("a",))]
    found = [Sentence(("Rome",), ("B-X",), labels=("b",))]
    both = [(name, tagkit.evaluate(gold, each)) for name, each in (("a", gold), ("b", found))]
    parts = compare_systems(both).parts
    headlines = {name: [each.report.headline for each in part] for name, part in parts.items()}
    assert headlines == {"tags": [1, 1], "classes": [1, 0]}
