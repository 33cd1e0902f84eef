"""Reports on several tag columns, by counting."""

import pytest
from says import refuses

from tagkit.errors import DataError
from tagkit.evaluation.reports.class_report import scores_by_label
from tagkit.evaluation.reports.column_report import (
    Accuracy,
    ColumnsReport,
    make_features_report,
    make_lemma_report,
    make_tag_column_report,
)
from tagkit.evaluation.reports.report import stored_headlines
from tagkit.evaluation.reports.report_text import report_lines
from tagkit.evaluation.reports.tag_report import make_tag_report
from tagkit.evaluation.reports.verify import verify_report
from tagkit.evaluation.scores.scores import Score

WORDS = [("He", "saw", "dogs"), ("Oslo",)]
FORMS = frozenset({"He", "Oslo", "saws"})
LEMMAS = [("he", "see", "dog"), ("Oslo",)]
FEATS = [("Case=Nom|Number=Sing", "Tense=Past", "Number=Plur"), ("_",)]
FOUND = [("Case=Nom|Number=Plur", "Tense=Past", "Number=Plur|Person=3"), ("_",)]


def report() -> ColumnsReport:
    tags = [("PRON", "VERB", "NOUN"), ("PROPN",)]
    found = [("PRON", "VERB", "VERB"), ("PROPN",)]
    known = {"PRON", "VERB", "NOUN", "PROPN"}
    return ColumnsReport(
        (
            make_tag_column_report(
                "UPOS", "labels", WORDS, tags, found, FORMS, known, strict=False
            ),
            make_features_report("FEATS", WORDS, FEATS, FOUND, FORMS),
            make_lemma_report("LEMMA", WORDS, LEMMAS, [("he", "saw", "dog"), ("oslo",)], FORMS),
        )
    )


def test_known_words_are_those_of_training_as_they_are_written() -> None:
    lemmas = report().columns[2]
    # "He" and "Oslo" are known, "saw" and "dogs" are not; "oslo" is not the lemma "Oslo".
    assert (lemmas.known, lemmas.unknown) == (Accuracy(0.5, 2), Accuracy(0.5, 2))
    assert (lemmas.accuracy, lemmas.tokens) == (0.5, 4)
    assert lemmas.parts() == {
        "LEMMA_accuracy": 0.5, "LEMMA_known_accuracy": 0.5, "LEMMA_unknown_accuracy": 0.5
    }  # fmt: skip


def test_without_unknown_words_their_accuracy_is_0_of_0() -> None:
    found = make_lemma_report(
        "LEMMA", WORDS, LEMMAS, LEMMAS, frozenset({"He", "saw", "dogs", "Oslo"})
    )
    assert (found.known, found.unknown) == (Accuracy(1.0, 4), Accuracy(0.0, 0))


def test_an_attribute_is_scored_where_a_token_has_it() -> None:
    feats = report().columns[1]
    assert feats.accuracy == 0.5  # whole values: "Tense=Past" and "_"
    assert feats.attributes == {
        "Case": Score(1.0, 1.0, 1.0, 1),
        "Number": Score(0.5, 0.5, 0.5, 2),
        "Person": Score(0.0, 0.0, 0.0, 0),
        "Tense": Score(1.0, 1.0, 1.0, 1),
    }
    # Of 5 predicted attributes 3 are right, of 4 gold ones too.
    assert feats.micro == Score(3 / 5, 3 / 4, 2 * 3 / 9, 4)


def test_the_report_of_tags_is_that_of_a_single_column() -> None:
    upos = report().columns[0]
    alone = make_tag_report(
        [("PRON", "VERB", "NOUN"), ("PROPN",)], [("PRON", "VERB", "VERB"), ("PROPN",)], "labels",
        known={"PRON", "VERB", "NOUN", "PROPN"},
    )  # fmt: skip
    assert upos.tags == alone
    assert upos.headline == alone.accuracy == upos.accuracy == 0.75
    assert upos.parts()["UPOS_f1"] == upos.parts()["UPOS_accuracy"] == 0.75
    assert upos.parts()["UPOS_macro_f1"] != 0.75


def test_the_headline_is_the_mean_of_the_columns() -> None:
    found = report()
    assert found.headline == pytest.approx((0.75 + 0.5 + 0.5) / 3)
    assert found.measure == "mean"
    assert [*found.parts()] == [
        "UPOS_accuracy", "UPOS_f1", "UPOS_macro_f1", "UPOS_known_accuracy",
        "UPOS_unknown_accuracy", "FEATS_accuracy", "FEATS_f1", "FEATS_known_accuracy",
        "FEATS_unknown_accuracy", "LEMMA_accuracy", "LEMMA_known_accuracy",
        "LEMMA_unknown_accuracy",
    ]  # fmt: skip


def test_the_headline_of_spans_is_their_f1() -> None:
    gold, found = [("B-PER", "O", "O"), ("B-LOC",)], [("B-PER", "O", "O"), ("O",)]
    spans = make_tag_column_report(
        "MISC.NER", "iob2", WORDS, gold, found, FORMS, {"PER", "LOC"}, strict=False
    )
    assert (spans.kind, spans.measure) == ("spans", "F1")
    assert spans.headline == pytest.approx(2 / 3)
    assert spans.accuracy == 0.75
    whole = ColumnsReport((report().columns[0], spans))
    # seqeval verifies the column of spans; without one there is nothing that it could verify.
    assert verify_report(whole, "dev").disagreements == ()
    with refuses(DataError, "dev", "plain labels"):
        verify_report(report(), "dev")


def test_every_column_has_its_headline_in_the_metadata_of_a_model() -> None:
    stored = [
        (each.measure, each.value, each.mode) for each in stored_headlines(report().to_dict())
    ]
    assert stored == [
        ("mean", pytest.approx(1.75 / 3), "columns"),
        ("UPOS accuracy", 0.75, "tokens"),
        ("FEATS accuracy", 0.5, "features"),
        ("LEMMA accuracy", 0.5, "lemmas"),
    ]


def test_labels_and_attributes_are_scored_by_the_columns_name() -> None:
    assert {name: [*table] for name, table in scores_by_label(report()).items()} == {
        "UPOS": ["NOUN", "PRON", "PROPN", "VERB"],
        "FEATS": ["Case", "Number", "Person", "Tense"],
    }


def test_people_read_a_table_of_each_column_and_a_line_for_all() -> None:
    lines = [*report_lines(report())]
    assert lines[0] == "UPOS"
    start = lines.index("FEATS")
    assert lines[start : start + 11] == [
        "FEATS",
        "",
        "           precision  recall      f1  support",
        "Case          1.0000  1.0000  1.0000        1",
        "Number        0.5000  0.5000  0.5000        2",
        "Person        0.0000  0.0000  0.0000        0",
        "Tense         1.0000  1.0000  1.0000        1",
        "",
        "micro avg     0.6000  0.7500  0.6667        4",
        "",
        "attributes of tokens that have them",
    ]
    assert lines[-5:] == [
        "       accuracy  known words  unknown words  tokens",
        "UPOS     0.7500       1.0000         0.5000       4",
        "FEATS    0.5000       0.5000         0.5000       4",
        "LEMMA    0.5000       0.5000         0.5000       4",
        "accuracy of whole values; 2 tokens of words that train lacks",
    ]
