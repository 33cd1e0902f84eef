"""Predictions as CoNLL-U: of texts that are not, and the values of columns."""

from collections.abc import Sequence

import pytest
from says import Says

from tagkit.config import Column, DataConfig
from tagkit.errors import FormatError
from tagkit.models.answers.conllu import column_values, conllu_columns, conllu_lines
from tagkit.models.answers.kind import Origin
from tagkit.text.records import LabelScore, TagColumn, TaggedText, TaggedToken

ORIGIN = Origin("in.txt", 7, extra=(("id", 3),))


def lines(
    answer: TaggedText, column: str = "UPOS", *classes: str, confidence: bool = False
) -> list[str]:
    return [*conllu_lines(answer, classes, [column], ORIGIN, confidence=confidence)]


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
    assert lines(answer("A", "B", "C"), "FEATS.X") == [
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
    found = lines(answer("B-X", "O", "O"), "MISC.NER", "go", "0.7500", confidence=True)
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
        lines(answer("A", tag or "\t", "C"))
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
