"""Which formats hold what a model predicts, and which column of CoNLL-U it fills."""

from typing import Any

import pytest
from kinds import BOTH, CLASSES, TAGS, answers_of
from says import Says

from tagkit.corpus.records.dataset import LabelKinds
from tagkit.errors import DataError
from tagkit.features.column_labels import ColumnLabels
from tagkit.models.answers.kind import Style, origin_of
from tagkit.text.records import Document, Sentence

COLUMNS = tuple(ColumnLabels(n, "tags", "labels", "labels", {}) for n in ("A", "B"))
OF_BOTH = {"columns", "conllu", "html", "jsonl", "jsonl-tokens", "parallel", "sentence-rows"}
OF_TAGS = OF_BOTH | {"slash", "token-rows"}
OF_CLASSES = {
    "columns", "jsonl", "jsonl-tokens", "jsonl-texts", "parallel", "trees", "fasttext", "trec",
    "csv", "tsv", "folder", "html",
}  # fmt: skip


@pytest.mark.parametrize(
    ("gives", "spans", "probabilities", "expected"),
    [
        (TAGS, False, False, OF_TAGS),
        (TAGS, True, False, OF_TAGS | {"jsonl-spans", "brat"}),
        (TAGS, True, True, {"columns", "conllu", "html", "jsonl"}),
        (CLASSES, False, False, OF_CLASSES),
        (CLASSES, False, True, {"columns", "html", "jsonl", "csv", "tsv"}),
        (BOTH, True, False, OF_BOTH | {"jsonl-spans"}),
        (BOTH, False, False, OF_BOTH),
    ],
)
def test_a_format_holds_all_that_is_predicted_or_is_not_offered(
    gives: LabelKinds, spans: bool, probabilities: bool, expected: set[str]
) -> None:
    answers = answers_of(gives, spans=spans)
    assert {*answers.formats(probabilities=probabilities)} == expected
    for name in ("auto", "show", *expected):
        answers.require_format(Style(name, answers, confidence=probabilities))


def test_a_format_of_some_classes_alone_is_offered_where_the_model_has_no_other() -> None:
    for name, own, other in (("trec", "NUM:dist", "NUM"), ("trees", "4", "positive")):
        for classes, is_offered in (([own], True), ([own, other], False)):
            found = answers_of(CLASSES, classes=(*classes,)).formats(probabilities=False)
            assert (name in found) == is_offered
            assert "fasttext" in found


@pytest.mark.parametrize(
    ("name", "gives", "options", "problem"),
    [
        ("csv", TAGS, {"spans": True}, Says("output_format=columns")),
        ("text", TAGS, {}, Says("model")),
        ("brat", TAGS, {}, Says("predicts")),
        ("brat", BOTH, {"spans": True}, Says("classifies")),
        ("slash", CLASSES, {}, Says("classifies")),
        ("trec", CLASSES, {"classes": ("NUM:dist", "HUM")},
         Says("'HUM'", "output_format=columns")),
        ("trees", CLASSES, {"classes": ("0", "4", "5")}, Says("'5'", "trees")),
        ("trec", CLASSES, {"top": 1}, Says("probabilities")),
        ("brat", TAGS, {"spans": True, "confidence": True},
         Says("confidence=True", "output_format=columns")),
        ("slash", TAGS, {"columns": COLUMNS},
         Says("output_format=columns", "predicts")),
    ],
)  # fmt: skip
def test_a_format_that_cannot_hold_the_answer_is_refused_with_those_that_can(
    name: str, gives: LabelKinds, options: dict[str, Any], problem: str
) -> None:
    asked = {option: options.pop(option) for option in ("confidence", "top") if option in options}
    answers = answers_of(gives, **options)
    with pytest.raises(DataError) as caught:
        answers.require_format(Style(name, answers, **asked))
    assert problem == str(caught.value)
    assert str(caught.value).endswith(f", found {name}")


def test_what_another_model_has_said_of_a_record_is_not_kept_with_it() -> None:
    said = (
        ("probabilities", {"a": 1.0}),
        ("coverage", 0.9),
        ("sets", [{"size": 1, "taggings": []}]),
        ("class_set", [{"label": "a", "probability": 1.0}]),
    )
    kept = (("id", 5), ("document", "a"), ("line", 3))
    extra = (*kept[:1], *said, *kept[1:], ("offset", 90))
    found = origin_of(Document("x", name="d", source="d.txt", line=4, extra=extra), "folder")
    assert (found.file, found.line, found.name, found.extra) == ("d.txt", 4, "d", kept)
    found = origin_of(Sentence(("x",), lines=(7,), extra=extra), "in.jsonl")
    assert (found.file, found.line, found.extra) == ("in.jsonl", 7, kept)


def test_a_users_own_values_of_such_names_are_kept() -> None:
    own = (("coverage", "full"), ("sets", "3"), ("probabilities", "high"), ("class_set", ""))
    others = (("coverage", 0.9), ("offset", 7)), (("line", 1), ("offset", 7)), (("sets", ["a"]),)
    for extra in (own, *others):
        assert origin_of(Document("x", extra=extra), "in.csv").extra == extra
