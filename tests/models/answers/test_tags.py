"""What a model says of a text -> lines of columns, CoNLL-U, TSV or JSON."""

import json
from collections.abc import Sequence

import kinds
import pytest
from hypothesis import given
from hypothesis import strategies as st
from says import Says

from tagkit.config import Column, DataConfig
from tagkit.corpus.formats.columns.reader import ColumnReader
from tagkit.corpus.source.layout import column_options
from tagkit.errors import FormatError
from tagkit.models.answers.kind import Origin, Style, answer_lines
from tagkit.models.answers.tags import column_values, conllu_columns, conllu_lines
from tagkit.text.records import (
    LabelScore,
    Prediction,
    TagColumn,
    TaggedText,
    TaggedToken,
    TextSpan,
)

TEXT = "Åse saw\tOslo"
ORIGIN = Origin("in.txt", 7)


def style(format: str = "columns", **changes: object) -> Style:
    asked = {name: changes.pop(name) for name in ("confidence", "top", "threshold")
             if name in changes}  # fmt: skip
    answers = kinds.answers_of(**{"gives": kinds.TAGS, **changes})  # type: ignore[arg-type]
    return Style(format, answers, **asked)  # type: ignore[arg-type]


def to_json(answer: TaggedText, given: Style, origin: Origin) -> str:
    (line,) = answer_lines(answer, given, origin)
    return line


def tagged(probability: float | None = None) -> TaggedText:
    return TaggedText(
        text=TEXT,
        sentences=(
            (TaggedToken("Åse", 0, 3, "B-PER", probability),),
            (TaggedToken("saw", 4, 7, "O", probability), TaggedToken("Oslo", 8, 12, "B-LOC")),
        ),
        spans=(TextSpan("Åse", 0, 3, "PER", probability), TextSpan("Oslo", 8, 12, "LOC")),
    )


def classified(*labels: str, text: str = "a b") -> TaggedText:
    scores = (LabelScore("x", 0.7), LabelScore("y", 0.2), LabelScore("z", 0.1))
    tokens = (TaggedToken("a", 0, 1, None), TaggedToken("b", 2, 3, None))
    return TaggedText(text, (tokens,), (), labels, scores)


def lines(answer: TaggedText, given: Style) -> list[str]:
    return list(answer_lines(answer, given, ORIGIN))


def test_a_line_of_json_holds_the_place_the_text_its_tokens_and_its_spans() -> None:
    assert to_json(tagged(), style("jsonl"), ORIGIN) == (
        '{"document": "in.txt", "line": 7, "text": "Åse saw\\tOslo", "tokens": ['
        '{"text": "Åse", "start": 0, "end": 3, "tag": "B-PER"}, '
        '{"text": "saw", "start": 4, "end": 7, "tag": "O"}, '
        '{"text": "Oslo", "start": 8, "end": 12, "tag": "B-LOC"}], "spans": ['
        '{"text": "Åse", "start": 0, "end": 3, "label": "PER"}, '
        '{"text": "Oslo", "start": 8, "end": 12, "label": "LOC"}]}'
    )
    assert '"line": 1, "offset": 0, "text"' in to_json(
        tagged(), style("jsonl"), Origin("in.txt", 1, 0)
    )


def test_a_probability_is_written_where_there_is_one_to_six_places() -> None:
    record = json.loads(to_json(tagged(0.123456789), style("jsonl"), ORIGIN))
    assert record["tokens"][0] == {
        "text": "Åse", "start": 0, "end": 3, "tag": "B-PER", "probability": 0.123457,
    }  # fmt: skip
    assert "probability" not in record["tokens"][2]
    assert record["spans"][0]["probability"] == 0.123457
    assert "probability" not in record["spans"][1]
    nothing = json.loads(to_json(tagged(0.0), style("jsonl"), ORIGIN))
    assert nothing["spans"][0]["probability"] == 0.0


def test_a_text_without_words_has_empty_lists() -> None:
    assert to_json(TaggedText("", (), ()), style("jsonl"), Origin("-", 1)) == (
        '{"document": "-", "line": 1, "text": "", "tokens": [], "spans": []}'
    )


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_stays_on_one_line_of_json_and_is_read_back(text: str, label: str) -> None:
    token, span = TaggedToken(text, 0, len(text), label), TextSpan(text, 0, len(text), label)
    answer = TaggedText(text, ((token,),), (span,), (label,))
    line = to_json(answer, style("jsonl", gives=kinds.BOTH, classes=("x",)), Origin(text, 1))
    assert "\n" not in line
    assert "\r" not in line
    record = json.loads(line)
    assert record["text"] == record["document"] == text
    assert record["label"] == label
    assert record["tokens"] == [{"text": text, "start": 0, "end": len(text), "tag": label}]
    assert record["spans"] == [{"text": text, "start": 0, "end": len(text), "label": label}]


CLASSES = {"gives": kinds.CLASSES, "classes": ("x", "y", "z")}


@pytest.mark.parametrize(
    ("labels", "changes", "expected"),
    [
        (["x"], {}, "x"),
        (["x"], {"confidence": True}, "x\t0.7000"),
        (["x"], {"top": 2}, "x\t0.7000\ty\t0.2000"),
        (["x"], {"top": 9}, "x\t0.7000\ty\t0.2000\tz\t0.1000"),
        (["x"], {"top": 3, "threshold": 0.15}, "x\t0.7000\ty\t0.2000"),
        ([], {}, ""),
        ([], {"confidence": True}, ""),
        (["x", "z"], {"several": True}, "x,z"),
        (["x", "z"], {"several": True, "confidence": True}, "x,z\t0.7000,0.1000"),
    ],
)
def test_a_text_that_is_classified_is_a_line_of_its_classes(
    labels: list[str], changes: dict[str, object], expected: str
) -> None:
    assert lines(classified(*labels), style(**CLASSES, **changes)) == [expected]


@pytest.mark.parametrize(
    ("labels", "changes", "expected"),
    [
        (["x"], {}, {"label": "x"}),
        ([], {}, {"label": None}),
        (["x", "y"], {"several": True}, {"labels": ["x", "y"]}),
        ([], {"several": True}, {"labels": []}),
        (["x"], {"confidence": True},
         {"label": "x", "probabilities": {"x": 0.7, "y": 0.2, "z": 0.1}}),
        (["x"], {"top": 2}, {"label": "x", "probabilities": {"x": 0.7, "y": 0.2}}),
    ],
)  # fmt: skip
def test_json_has_the_classes_that_its_reader_knows(
    labels: list[str], changes: dict[str, object], expected: dict[str, object]
) -> None:
    (line,) = lines(classified(*labels), style("jsonl", **CLASSES, **changes))
    assert json.loads(line) == {"document": "in.txt", "line": 7, "text": "a b", **expected}


def test_attention_is_written_with_the_tokens() -> None:
    token = TaggedToken("a", 0, 1, None, attention=0.25)
    record = json.loads(
        to_json(TaggedText("a", ((token,),), (), ("x",)), style("jsonl", **CLASSES), ORIGIN)
    )
    assert record["tokens"] == [{"text": "a", "start": 0, "end": 1, "attention": 0.25}]
    assert "spans" not in record


def test_tags_and_classes_together_are_columns_with_the_class_behind_each_token() -> None:
    token = TaggedToken("a", 0, 1, "B-X", 0.5)
    both = TaggedText("a", ((token,),), (), ("x",), (LabelScore("x", 0.75),))
    assert lines(both, style(gives=kinds.BOTH, classes=("x",))) == ["a\tB-X\tx", ""]
    assert lines(both, style(gives=kinds.BOTH, classes=("x",), confidence=True)) == [
        "a\tB-X\t0.5000\tx\t0.7500",
        "",
    ]
    assert lines(both, style(confidence=True)) == ["a\tB-X\t0.5000", ""]


def test_each_column_has_its_cell_and_its_probability() -> None:
    token = TaggedToken(
        "a", 0, 1, "X", 0.25, tags={"UPOS": "X", "LEMMA": "b"},
        probabilities={"UPOS": 0.25, "LEMMA": 0.5},
    )  # fmt: skip
    answer = TaggedText("a", ((token,),), ())
    assert lines(answer, style()) == ["a\tX\tb", ""]
    assert lines(answer, style(confidence=True)) == ["a\tX\t0.2500\tb\t0.5000", ""]


def test_the_cells_of_a_columns_file_are_appended_side_by_side() -> None:
    columns = (TagColumn("UPOS", ("X", "Y"), (0.25, 1.0)), TagColumn("LEMMA", ("b", "c")))
    reader = ColumnReader("in", column_options(DataConfig(), with_tags=False))
    (block, *_) = [*reader.feed(["a", "b"]), *reader.close()]
    found = Prediction(("a", "b"), ("X", "Y"), columns=columns)
    given = style()
    assert reader.layout is not None
    filled = given.answers.fill(block, reader.layout, found, given, "in")
    assert [line.split() for line in filled] == [
        ["a", "X", "0.2500", "b"], ["b", "Y", "1.0000", "c"]
    ]  # fmt: skip


WITH_ID = Origin("in.txt", 7, extra=(("id", 3),))


def filled_lines(
    answer: TaggedText, column: str = "UPOS", *classes: str, confidence: bool = False
) -> list[str]:
    return [*conllu_lines(answer, classes, [column], WITH_ID, confidence=confidence)]


def answer(*tags: str) -> TaggedText:
    first, second, third = tags
    return TaggedText(
        "Oslo!  Yes ",
        (
            (TaggedToken("Oslo", 0, 4, first, 0.5), TaggedToken("!", 4, 5, second, 0.25)),
            (TaggedToken("Yes", 7, 10, third, 1.0),),
        ),
        (),
        ("go",),
        (LabelScore("go", 0.75), LabelScore("no", 0.25)),
    )


def test_a_text_becomes_sentences_with_their_texts_ids_and_the_predicted_column() -> None:
    assert filled_lines(answer("A", "B", "C"), "FEATS.X") == [
        "# sent_id = 3",
        "# text = Oslo!",
        "1\tOslo\t_\t_\t_\tX=A\t_\t_\t_\tSpaceAfter=No",
        "2\t!\t_\t_\t_\tX=B\t_\t_\t_\tSpacesAfter=\\s\\s",
        "",
        "# sent_id = 3-2",
        "# text = Yes",
        "1\tYes\t_\t_\t_\tX=C\t_\t_\t_\tSpacesAfter=\\s",
        "",
    ]


def test_probabilities_and_classes_are_keys_of_misc() -> None:
    found = filled_lines(answer("B-X", "O", "O"), "MISC.NER", "go", "0.7500", confidence=True)
    assert [line.split("\t")[9] for line in found if "\t" in line] == [
        "SpaceAfter=No|NER=B-X|NERProb=0.5000|Class=go|ClassProb=0.7500",
        "SpacesAfter=\\s\\s|NERProb=0.2500",
        "SpacesAfter=\\s|NERProb=1.0000|Class=go|ClassProb=0.7500",
    ]


@pytest.mark.parametrize(
    ("column", "key"), [("UPOS", "UPOSProb"), ("FEATS.Case", "CaseProb"), ("MISC", "MISCProb")]
)
def test_a_probability_has_the_name_of_its_column(column: str, key: str) -> None:
    assert column_values([TagColumn("", ("A", "B"), (0.5, 0.25))], [], [column]) == {
        column: ("A", "B"), f"MISC.{key}": ["0.5000", "0.2500"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["x"], {"Class": "x"}),
        (["", ""], {"Class": "O", "ClassProb": "O"}),
        (["x", "0.9", "y", "0.1"],
         {"Class": "x", "ClassProb": "0.9", "Class2": "y", "Class2Prob": "0.1"}),
    ],
)  # fmt: skip
def test_a_class_stands_at_the_first_word(cells: Sequence[str], expected: dict[str, str]) -> None:
    found = column_values([TagColumn("", ("A", "B"))], cells, ["UPOS"])
    assert found == {"UPOS": ("A", "B")} | {
        f"MISC.{key}": [value, "O"] for key, value in expected.items()
    }


@pytest.mark.parametrize(
    ("tag", "problem"),
    [("a\tb", Says("UPOS", "'a\\tb'")), ("", Says("UPOS", "column"))],
)
def test_what_cannot_be_held_is_refused_with_the_line_of_the_input(tag: str, problem: str) -> None:
    with pytest.raises(FormatError) as caught:
        filled_lines(answer("A", tag or "\t", "C"))
    assert Says("in.txt:7", "UPOS") == str(caught.value)
    if tag:
        assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("named", "format", "spans", "expected"),
    [
        (None, "auto", False, "UPOS"),
        (None, "auto", True, "MISC.NER"),
        ("xpos", "auto", False, "XPOS"),
        ("FEATS.Case", "auto", False, "FEATS.Case"),
        ("misc.Entity", "auto", True, "MISC.Entity"),
        ("XPOS", "auto", True, "XPOS"),
        (5, "conllu", False, "FEATS"),
        (-1, "conllu", False, "MISC"),
        (3, "columns", False, "UPOS"),
        (-1, "columns", True, "MISC.NER"),
        ("FORM", "conllu", False, "UPOS"),
    ],
)
def test_the_predicted_column_is_that_of_training_or_of_convert(
    named: Column | None, format: str, spans: bool, expected: str
) -> None:
    data = DataConfig(tag_column=named, format=format)  # type: ignore[arg-type]
    assert conllu_columns(data, spans=spans) == (expected,)


def test_each_of_several_columns_is_filled_under_a_name_of_its_own() -> None:
    named = DataConfig(tag_column=("UPOS", "FEATS", "misc.Entity"))
    assert conllu_columns(named, spans=False) == ("UPOS", "FEATS", "MISC.Entity")
    numbered = DataConfig(tag_column=(1, 2, 3), format="columns")
    assert conllu_columns(numbered, spans=True) == ("MISC.NER", "MISC.Tag2", "MISC.Tag3")
