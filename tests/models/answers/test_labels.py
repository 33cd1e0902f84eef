"""What a model says of a text -> records for the writers of the formats."""

from collections.abc import Sequence
from dataclasses import replace

import kinds
import pytest
from says import Says, refuses

from tagkit.corpus.formats.table import FORMATS
from tagkit.corpus.source.options import Item, silent
from tagkit.corpus.source.pieces import Writing
from tagkit.errors import FormatError
from tagkit.models.answers.kind import Origin, Style
from tagkit.models.answers.labels import sentences_of
from tagkit.text.records import Document, LabelScore, Sentence, TaggedText, TaggedToken, TextSpan

TEXT = "Åse  saw.  Oslo "
ORIGIN = Origin("in.txt", 7, name="a", extra=(("id", 5), ("p(x)", "old")))


def style(format: str, **changes: object) -> Style:
    asked = {name: changes.pop(name) for name in ("confidence", "top", "threshold")
             if name in changes}  # fmt: skip
    answers = kinds.answers_of(**{"gives": kinds.TAGS, "spans": True, **changes})  # type: ignore[arg-type]
    return Style(format, answers, **asked)  # type: ignore[arg-type]


CLASSES = {"gives": kinds.CLASSES, "classes": ("x", "y", "z"), "spans": False}


def tagged(*labels: str) -> TaggedText:
    return TaggedText(
        text=TEXT,
        sentences=(
            (TaggedToken("Åse", 0, 3, "B-PER"), TaggedToken("saw", 5, 8, "O")),
            (TaggedToken("Oslo", 11, 15, "B-LOC"),),
        ),
        spans=(TextSpan("Åse", 0, 3, "PER"), TextSpan("Oslo", 11, 15, "LOC")),
        labels=labels,
    )


def classified(*labels: str, text: str = "a b") -> TaggedText:
    scores = (LabelScore("x", 0.7), LabelScore("y", 0.2), LabelScore("z", 0.1))
    tokens = (TaggedToken("a", 0, 1, None), TaggedToken("b", 2, 3, None))
    return TaggedText(text, (tokens,), (), labels, scores)


def items(answer: TaggedText, given: Style, origin: Origin = ORIGIN) -> list[Item]:
    return list(given.answers.records(answer, FORMATS[given.format], given, origin))


def written(answer: TaggedText, given: Style, origin: Origin = ORIGIN) -> Sequence[str]:
    writing = Writing(plain=False, single=True, note=silent, blank_labels=True)
    pieces = FORMATS[given.format].write(items(answer, given, origin), writing)
    return "".join(piece.text for piece in pieces).splitlines()


def test_sentences_have_the_parts_of_the_text_that_lead_to_the_next_one() -> None:
    first, second = sentences_of(tagged(), ORIGIN, tagged=True)
    assert first == Sentence(
        ("Åse", "saw"), ("B-PER", "O"), text="Åse  saw.  ", places=((0, 3), (5, 8))
    )
    assert second == Sentence(("Oslo",), ("B-LOC",), text="Oslo ", places=((0, 4),))
    assert (first.lines, first.extra) == ((7, 7), ORIGIN.extra)
    (bare, _) = sentences_of(tagged(), ORIGIN, tagged=False, labels=("go",))
    assert (bare.tags, bare.labels) == (None, ("go",))


def test_a_document_has_spans_tokens_classes_and_where_it_comes_from() -> None:
    (found,) = items(tagged("go"), style("jsonl-spans", gives=kinds.BOTH))
    spans = (TextSpan("Åse", 0, 3, "PER"), TextSpan("Oslo", 11, 15, "LOC"))
    assert found == Document(TEXT, spans, ("go",), ((0, 3), (5, 8), (11, 15)))
    assert isinstance(found, Document)
    assert (found.name, found.source, found.line, found.extra) == ("a", "in.txt", 7, ORIGIN.extra)


def test_words_that_share_a_place_are_no_tokens_of_a_document() -> None:
    tokens = (TaggedToken("de", 0, 2, "O"), TaggedToken("le", 0, 2, "O"))
    (found,) = items(TaggedText("du", (tokens,), ()), style("jsonl-spans"))
    assert found == Document("du", ())


def test_a_format_without_classes_gets_none() -> None:
    (first, _) = items(tagged("go"), style("jsonl-tokens", gives=kinds.BOTH))
    assert first.labels == ("go",)
    (found,) = items(tagged("go"), style("brat"))
    assert found.labels == ()


@pytest.mark.parametrize(
    ("changes", "header", "row"),
    [
        ({}, "label\ttext", "x\ta b"),
        (
            {"confidence": True},
            "label\tp(x)\tp(y)\tp(z)\ttext",
            "x\t0.7000\t0.2000\t0.1000\ta b",
        ),
        ({"top": 1}, "label\tprobability\ttext", "x\t0.7000\ta b"),
        (
            {"top": 2, "threshold": 0.5},
            "label\tprobability\tlabel2\tprobability2\ttext",
            "x\t0.7000\t\t\ta b",
        ),
    ],
)
def test_rows_of_tables_have_the_cells_that_the_header_names(
    changes: dict[str, object], header: str, row: str
) -> None:
    origin = Origin("in.txt", 7)
    assert written(classified("x"), style("tsv", **CLASSES, **changes), origin) == [header, row]
    csv = written(classified("x"), style("csv", **CLASSES, **changes), origin)
    assert csv == [header.replace("\t", ","), row.replace("\t", ",")]


def test_a_table_keeps_the_columns_of_the_input_after_its_own() -> None:
    found = written(classified("x"), style("tsv", **CLASSES, confidence=True))
    assert found == ["label\tp(x)\tp(y)\tp(z)\tid\ttext", "x\t0.7000\t0.2000\t0.1000\t5\ta b"]


def test_several_classes_or_none_are_one_cell_of_a_table() -> None:
    assert written(classified("x", "z"), style("csv", **CLASSES), Origin("in", 1)) == [
        "label,text", '"x,z",a b',
    ]  # fmt: skip
    assert written(classified(), style("tsv", **CLASSES), Origin("in", 1))[1] == "\ta b"
    assert written(classified("x", "z"), style("fasttext", **CLASSES)) == [
        "__label__x __label__z a b"
    ]


def test_a_class_with_a_comma_cannot_stand_beside_others() -> None:
    scores = (LabelScore("x", 0.7), LabelScore("q, long", 0.6))
    both = TaggedText("a b", (), (), ("x", "q, long"), scores)
    with refuses(FormatError, "'q, long'", "separate"):
        written(both, style("csv", **CLASSES, several=True), Origin("in", 1))
    alone = written(replace(both, labels=("q, long",)), style("csv", **CLASSES), Origin("in", 1))
    assert alone[1] == '"q, long",a b'


@pytest.mark.parametrize(
    ("text", "label", "problem"),
    [
        ("a\tb", "x", Says("in.txt:7", "'a\\tb'")),
        ("a\nb", "x", Says("in.txt:7", "'a\\nb'")),
        ("a b", "x\ty", Says("in.txt:7", "'x\\ty'", "'a b'")),
    ],
)  # fmt: skip
def test_what_a_row_cannot_hold_is_refused(text: str, label: str, problem: str) -> None:
    answer = TaggedText(text, (), (), (label,), (LabelScore(label, 1.0),))
    with pytest.raises(FormatError) as caught:
        written(answer, style("tsv", **CLASSES))
    assert str(caught.value) == problem
