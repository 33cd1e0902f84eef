"""Several systems side by side: their differences, and what a terminal shows of them."""

import json
from random import Random
from statistics import mean, stdev

import pytest
from says import refuses

import tagkit
from tagkit import DataError, Document, Sentence
from tagkit.evaluation.analysis.by_sentence import decisions_of, type_counts
from tagkit.evaluation.compare.systems import SystemRun, Systems, compare_systems, systems_lines
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.reports.tag_report import TagReport
from tagkit.evaluation.scores.significance import compare as compare_counts
from tagkit.text.json_text import to_json


def corpus(right: float, seed: int = 1, sentences: int = 150) -> list[Sentence]:
    rng = Random(seed)
    tags = [
        ("B-X", "O", "B-Y") if rng.random() < right else ("O", "B-X", "B-Y")
        for _ in range(sentences)
    ]
    return [Sentence(("a", "b", "c"), each) for each in tags]


GOLD = corpus(1)


def compare(*reports: tuple[str, Report]) -> Systems:
    """Systems of one run each."""
    return compare_systems((name, [(name, report)]) for name, report in reports)


def test_each_system_is_compared_with_the_first_one() -> None:
    reports = [(name, tagkit.evaluate(GOLD, corpus(right, seed)))
               for name, right, seed in (("a", 0.5, 1), ("b", 0.9, 2), ("c", 0.5, 1))]  # fmt: skip
    first, better, same = compare(*reports).parts[""]
    assert first.difference is None
    assert (first.name, first.runs) == ("a", [SystemRun(*reports[0])])
    assert first.score == reports[0][1].headline
    assert first.interval.low < first.score < first.interval.high
    assert better.difference is not None
    assert better.difference.difference == pytest.approx(better.score - first.score)
    assert better.difference.p < 0.001
    assert same.difference is not None
    assert (same.difference.difference, same.difference.p) == (0, 1)


def test_each_type_has_its_own_difference_and_all_are_adjusted_together() -> None:
    reports = [(name, tagkit.evaluate(GOLD, corpus(right, seed)))
               for name, right, seed in (("a", 0.5, 1), ("b", 0.9, 2), ("c", 0.6, 3))]  # fmt: skip
    systems = compare(*reports).parts[""]
    for system, (_, report) in zip(systems, reports, strict=True):
        assert isinstance(report, TagReport)
        found = {label: (each.f1, each.support) for label, each in system.types.items()}
        assert found == {label: (each.f1, each.support) for label, each in report.types.items()}
    assert all(each.difference is None for each in systems[0].types.values())
    # Y is right in all of them, so only X differs.
    differences = [(label, each.difference) for system in systems[1:]
                   for label, each in system.types.items()]  # fmt: skip
    p = [(label, found.p, found.p_holm) for label, found in differences if found]
    assert [(label, adjusted) for label, one, adjusted in p if label == "Y"] == [("Y", 1)] * 2
    assert [adjusted / one for label, one, adjusted in p if label == "X"] == [4, 3]
    # The same exchanges as if there were no other label.
    alone = compare_counts([type_counts(*decisions_of(reports[0][1])).of("X")],
                           [type_counts(*decisions_of(reports[1][1])).of("X")])  # fmt: skip
    of_x = systems[1].types["X"].difference
    assert of_x is not None
    assert (of_x.difference, of_x.interval, of_x.p) == (alone.difference, alone.interval, alone.p)
    of_all = [system.difference for system in systems[1:]]
    assert [each.p_holm / each.p for each in of_all if each] == [2, 1]


def test_scores_of_several_runs_are_means() -> None:
    reports = [tagkit.evaluate(GOLD, corpus(right, seed))
               for right, seed in ((0.5, 1), (0.6, 2), (0.8, 3))]  # fmt: skip
    names = [("1", reports[0]), ("2", reports[1])]
    several, one = compare_systems([("a", names), ("b", [("3", reports[2])])]).parts[""]
    scores = [each.headline for each in reports]
    assert several.score == pytest.approx(mean(scores[:2]))
    assert several.spread.seeds == pytest.approx(stdev(scores[:2]))
    assert one.spread.seeds is None
    assert one.difference is not None
    assert one.difference.difference == pytest.approx(scores[2] - mean(scores[:2]))
    types = [report.types["X"].f1 for report in reports if isinstance(report, TagReport)]
    assert several.types["X"].f1 == pytest.approx(mean(types[:2]))
    of_x = one.types["X"].difference
    assert of_x is not None
    assert of_x.difference == pytest.approx(types[2] - mean(types[:2]))


def test_the_json_of_systems_holds_their_reports() -> None:
    report = tagkit.evaluate(GOLD, corpus(0.5))
    found = compare(("a", report), ("b", report)).to_dict()
    assert (found["kind"], found["measure"]) == ("systems", "F1")
    first, second = found["systems"]
    assert (first["name"], second["name"]) == ("a", "b")
    assert first["runs"] == [{"name": "a", "report": report.to_dict()}]
    assert (first["difference"], second["difference"]["p"]) == (None, 1)
    assert second["types"]["X"]["difference"]["p_holm"] == 1
    assert json.loads(to_json(found)) == found


def test_systems_with_other_labels_or_other_sentences_are_refused() -> None:
    text = Document("To Rome.", labels=("travel",))
    classes = tagkit.evaluate([text], [text])
    tags = tagkit.evaluate(GOLD, GOLD)
    with refuses(DataError, "b", "spans"):
        compare(("a", tags), ("b", classes))
    # As many spans, with other labels: counts alone would not tell.
    other = [*GOLD[:2], Sentence(("a", "b", "c"), ("B-X", "O", "B-Z")), *GOLD[3:]]
    for labels in (other, GOLD[1:]):
        with refuses(DataError, "b", "labels"):
            compare(("a", tags), ("b", tagkit.evaluate(labels, labels)))
    for systems, message in (
        ([], "one system"),
        ([("a", [])], "a: "),
    ):
        with refuses(DataError, message):
            compare_systems(systems)


def test_tags_and_classes_are_compared_apart() -> None:
    gold = [Sentence(("Rome",), ("B-X",), labels=("a",))]
    found = [Sentence(("Rome",), ("B-X",), labels=("b",))]
    both = [(name, tagkit.evaluate(gold, each)) for name, each in (("a", gold), ("b", found))]
    parts = compare(*both).parts
    headlines = {name: [each.score for each in part] for name, part in parts.items()}
    assert headlines == {"tags": [1, 1], "classes": [1, 0]}
    assert {name: list(part[1].types) for name, part in parts.items()} == {
        "tags": ["X"], "classes": ["a", "b"],
    }  # fmt: skip


def test_plain_labels_and_classes_have_differences_of_their_labels() -> None:
    gold = [Sentence(("a", "b"), ("DT", "NN"))] * 60
    worse = [Sentence(("a", "b"), ("DT", "VB"))] * 20 + gold[20:]
    _, found = compare(
        ("a", tagkit.evaluate(gold, worse)), ("b", tagkit.evaluate(gold, gold))
    ).parts[""]
    assert {label: each.difference.difference for label, each in found.types.items()
            if each.difference} == {"DT": 0, "NN": pytest.approx(0.2), "VB": 0}  # fmt: skip
    texts = [Document("To Rome.", labels=("go",)), Document("Stay.", labels=("stay", "rest"))]
    none = [Document("To Rome.", labels=("go",)), Document("Stay.", labels=("rest",))]
    _, found = compare(
        ("a", tagkit.evaluate(texts, none)), ("b", tagkit.evaluate(texts, texts))
    ).parts[""]
    assert found.difference is not None
    assert found.difference.difference == pytest.approx(1 - 0.8)
    assert {label: each.f1 for label, each in found.types.items()} == {
        "go": 1,
        "rest": 1,
        "stay": 1,
    }


WORDS = ("in", "New", "York")
NAMES = Sentence(WORDS, ("O", "B-LOC", "I-LOC"))
FOUND = Sentence(WORDS, ("O", "B-LOC", "O"))


def lines(gold: list[Sentence], **preds: object) -> list[str]:
    return list(systems_lines(tagkit.compare(gold, preds), [*preds]))


def test_two_systems_have_their_types_in_one_table() -> None:
    assert lines([NAMES], a=[FOUND], b=[NAMES]) == [
        "system      F1     95 % interval   change       95 % interval      p",
        "a       0.0000  0.0000 to 0.0000",
        "b       1.0000  1.0000 to 1.0000  +1.0000  +1.0000 to +1.0000  1.000",
        "change: from the first system; p: of a paired randomisation test",
        "",
        "F1 by type     (1)     (2)   change       95 % interval      p  Holm p",
        "LOC         0.0000  1.0000  +1.0000  +1.0000 to +1.0000  1.000   1.000",
        "(1) a",
        "(2) b",
        "Holm p: adjusted for 1 comparison",
    ]


def test_without_a_gold_span_the_scores_of_0_are_explained() -> None:
    nothing = Sentence(WORDS, ("O", "O", "O"))
    remark = "there is no gold span: all scores are 0, and a difference of 0 says nothing"
    systems = tagkit.compare([nothing], {"a": [nothing], "b": [NAMES]}, scheme="iob2")
    assert [*systems_lines(systems, ["a", "b"])][4] == remark
    assert remark not in lines([NAMES], a=[nothing], b=[nothing])


def test_more_systems_have_a_table_of_changes_each() -> None:
    shown = lines([NAMES], a=[FOUND], b=[NAMES], c=[FOUND])
    assert "Holm p: adjusted for 2 comparisons" in shown
    head = "  change       95 % interval      p  Holm p"
    assert f"(2) from (1) {head}" in shown
    assert f"(3) from (1) {head}" in shown


def test_tags_and_classes_have_tables_of_both() -> None:
    gold = [Sentence(WORDS, ("O", "B-LOC", "I-LOC"), labels=("go",))]
    shown = lines(gold, a=gold, b=gold)
    assert shown[:2] == ["tags", ""]
    assert shown[shown.index("classes") - 1 : shown.index("classes") + 2] == ["", "classes", ""]
