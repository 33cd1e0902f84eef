"""A text with its spans: nothing of the text is lost, and each span has its label."""

import pytest
from html_pages import parsed
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from tagkit.html.colours import Palette
from tagkit.html.drawing import DrawnToken, Mark, draw_classes, draw_legend, draw_text, draw_tokens
from tagkit.html.elements import escaped

TEXT = "From New York to Rome"


@st.composite
def marked(draw: st.DrawFn) -> tuple[str, list[Mark]]:
    text = draw(st.text(st.sampled_from("ab <&\né\u0301\u202e"), max_size=12))
    places = st.integers(0, len(text))
    pairs = draw(st.lists(st.tuples(places, places), max_size=5))
    return text, [Mark(min(p), max(p), label) for p, label in zip(pairs, "ABCDE", strict=False)]


@given(marked())
def test_without_the_labels_the_drawing_is_the_text(given: tuple[str, list[Mark]]) -> None:
    text, marks = given
    root = parsed(draw_text(text, marks, Palette()))
    assert root.text_without("name") == Markup(escaped(text)).unescape()


@given(marked())
def test_the_pieces_of_each_span_are_its_text(given: tuple[str, list[Mark]]) -> None:
    text, marks = given
    root = parsed(draw_text(text, marks, Palette()))
    pieces: dict[str, str] = {}
    for found in root.all("mark"):
        name = [each.text for each in found.children if getattr(each, "classes", []) == ["name"]]
        (label,) = name
        pieces[label[0]] = pieces.get(label[0], "") + found.text_without("name")
    assert pieces == {
        mark.label: Markup(escaped(text[mark.start : mark.end])).unescape() for mark in marks
    }


def names(drawn: str) -> list[str]:
    return [each.text for each in parsed(drawn).all("bdi")]


def test_a_span_has_its_label_and_its_probability_behind_it() -> None:
    drawn = draw_text(TEXT, [Mark(5, 13, "LOC", 0.876), Mark(17, 21, "")], Palette())
    assert drawn == (
        '<p class="drawn" dir="auto" lang="">From <mark class="label-0">New York'
        '<bdi class="name">LOC 0.88</bdi></mark> to <mark class="label-1">Rome'
        '<bdi class="name">_</bdi></mark></p>'
    )


def test_nested_spans_are_nested_elements() -> None:
    drawn = draw_text(TEXT, [Mark(9, 13, "ORG"), Mark(5, 13, "LOC")], Palette())
    outer, inner = parsed(drawn).all("mark")
    assert (outer.text, inner.text) == ("New YorkORGLOC", "YorkORG")


def test_a_span_that_crosses_another_one_is_cut_and_says_so() -> None:
    drawn = draw_text(TEXT, [Mark(0, 8, "A"), Mark(5, 13, "B")], Palette())
    assert names(drawn) == ["B…", "A", "B"]
    assert [each.text_without("name") for each in parsed(drawn).all("mark")] == [
        "From New", "New", " York",
    ]  # fmt: skip


def test_deeply_nested_spans_are_no_error() -> None:
    text = "x" * 5000
    drawn = draw_text(text, [Mark(n, 5000 - n, "A") for n in range(2000)], Palette())
    assert drawn.count("<mark") == drawn.count("</mark>") == 2000


def test_tokens_stand_above_their_tags() -> None:
    tokens = [DrawnToken("Go", (("VERB", 0.5), ("", None))), DrawnToken("<", (("X", None),))]
    root = parsed(draw_tokens(tokens, Palette()))
    found = [[child.text for child in each.all()] for each in root.all("span", "token")]
    assert found == [["Go", "VERB 0.50", "_"], ["<", "X"]]


@pytest.mark.parametrize(("probability", "shown"), [(None, "a"), (0.999, "a 1.00")])
def test_classes_have_their_probability_where_it_is_known(
    probability: float | None, shown: str
) -> None:
    assert names(draw_classes([("a", probability)], Palette())) == [shown]


def test_a_legend_has_each_label_in_its_colour() -> None:
    palette = Palette()
    palette.class_of("other")
    (item,) = parsed(draw_legend([("LOC", 1200)], palette)).all("bdi")
    assert (item.text, item.classes) == ("LOC 1,200", ["tag", "label-1"])
