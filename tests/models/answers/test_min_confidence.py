"""What is less probable than a minimum is left out, whatever it is, and counted."""

from collections.abc import Mapping

import pytest

from tagkit.features.column_labels import ColumnLabels
from tagkit.models.answers.kind import Removed
from tagkit.models.answers.min_confidence import without_probabilities, without_unlikely
from tagkit.text.records import LabelScore, Prediction, Span, TagColumn

WORDS = ("Ada", "saw", "New", "York")
SPANS = Prediction(
    WORDS,
    ("B-PER", "O", "B-LOC", "I-LOC"),
    (Span(0, 1, "PER", 0.9), Span(2, 4, "LOC", 0.6)),
    (0.9, 0.99, 0.7, 0.8),
)


def kept(
    prediction: Prediction, minimum: float, scheme: str, *columns: ColumnLabels
) -> tuple[Prediction, Mapping[str, tuple[int, int]]]:
    found: list[Removed] = []
    (likely,) = without_unlikely([prediction], minimum, scheme, columns, found.append)
    return likely, found[0].counts


def test_the_tags_of_an_improbable_span_become_o() -> None:
    likely, counts = kept(SPANS, 0.8, "iob2")
    assert likely.tags == ("B-PER", "O", "O", "O")
    assert [span.label for span in likely.spans] == ["PER"]
    assert counts == {"span": (1, 2)}


def test_a_span_of_just_the_minimum_is_kept_and_tags_stay_to_the_letter() -> None:
    likely, counts = kept(SPANS, 0.6, "iob2")
    assert likely == SPANS
    assert counts == {"span": (0, 2)}


def test_where_spans_touch_the_scheme_of_what_is_left_is_right() -> None:
    # In IOB1 a B- only divides two spans of one type: without the first the second begins with I-.
    touching = Prediction(
        ("a", "b"), ("I-X", "B-X"), (Span(0, 1, "X", 0.2), Span(1, 2, "X", 0.9)), (0.2, 0.9)
    )
    assert kept(touching, 0.5, "iob1")[0].tags == ("O", "I-X")


def test_an_improbable_plain_label_becomes_the_blank_of_column_formats() -> None:
    plain = Prediction(("a", "cat"), ("DT", "NN"), (), (0.9, 0.4))
    likely, counts = kept(plain, 0.5, "labels")
    assert likely.tags == ("DT", "_")
    assert counts == {"label": (1, 2)}


def test_an_improbable_class_is_no_label_of_the_text_and_keeps_its_score() -> None:
    scores = (LabelScore("greet", 0.7), LabelScore("leave", 0.6), LabelScore("order", 0.1))
    text = Prediction(("hi",), (), labels=("greet", "leave"), scores=scores)
    likely, counts = kept(text, 0.65, "iob2")
    assert likely.labels == ("greet",)
    assert likely.scores == scores
    assert counts == {"class": (1, 2)}


def test_each_of_several_columns_loses_its_own() -> None:
    def column(name: str, scheme: str) -> ColumnLabels:
        return ColumnLabels(name, "tags", scheme, scheme, {"": ("O",)})

    tags = SPANS.tags
    several = Prediction(
        WORDS, ("N", "V", "N", "N"), SPANS.spans, (0.9, 0.5, 0.9, 0.9),
        columns=(TagColumn("UPOS", ("N", "V", "N", "N"), (0.9, 0.5, 0.9, 0.9)),
                 TagColumn("MISC.NER", tags, SPANS.probabilities),
                 TagColumn("MISC.Other", tags, (0.95, 0.99, 0.9, 0.85))),
    )  # fmt: skip
    columns = (
        column("UPOS", "labels"),
        column("MISC.NER", "iob2"),
        column("MISC.Other", "iob2"),
    )
    likely, counts = kept(several, 0.8, "labels", *columns)
    assert likely.tags == ("N", "_", "N", "N")
    values = [each.values for each in likely.columns]
    # The spans of a third column have the probability of their least probable tag: 0.85.
    assert values == [("N", "_", "N", "N"), ("B-PER", "O", "O", "O"), tags]
    assert counts == {"label": (1, 4), "span": (1, 4)}


def test_probabilities_that_nobody_asked_for_are_taken_out_again() -> None:
    bare = without_probabilities(SPANS)
    assert bare.probabilities is None
    assert {span.probability for span in bare.spans} == {None}


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ({"span": (3, 20), "class": (1, 8)}, "removed 3 of 20 spans and 1 of 8 classes below 0.8"),
        ({"label": (1, 1)}, "removed 1 of 1 label below 0.8"),
        ({}, "removed nothing below 0.8"),
    ],
)
def test_what_was_removed_is_said_in_words(counts: dict[str, tuple[int, int]], text: str) -> None:
    removed = Removed()
    removed.merge(counts)
    assert removed.text(0.8) == text
