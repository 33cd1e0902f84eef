"""Elements: whatever a text holds, it stays text."""

import pytest
from html_pages import parsed
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from tagkit.html.elements import element, escaped, joined, percent, share, table


@given(st.text())
def test_a_text_comes_back_from_the_page_as_it_was_shown(text: str) -> None:
    drawn = element("p", text, title=text)
    (found,) = parsed(drawn).all("p")
    shown = Markup(escaped(text)).unescape()
    assert found.text == shown
    assert found.attributes["title"] == shown
    assert len(list(parsed(drawn).all())) == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>", "&lt;script&gt;"),
        ("\"a\" & 'b'", "&#34;a&#34; &amp; &#39;b&#39;"),
        ("a\r\nb\tc\n", "a\nb\tc\n"),
        ("\x00\x1b[1m\x7f\x85", "\\x00\\x1b[1m\\x7f\\x85"),
        ("\u202eabc\u2066", "\\u202eabc\\u2066"),
        ("\ud800", "\\ud800"),
        ("e\u0301\u200d", "e\u0301\u200d"),
    ],
)
def test_control_characters_are_shown_and_markup_is_escaped(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_markup_is_not_escaped_again() -> None:
    inner = element("b", "1 < 2")
    assert element("p", inner, " & more", None) == "<p><b>1 &lt; 2</b> &amp; more</p>"
    assert joined([inner, None, 1234]) == "<b>1 &lt; 2</b>1,234"


def test_attributes_have_their_names_and_those_that_are_none_are_left_out() -> None:
    drawn = element("rect", class_="a b", aria_label="x", width=2.50, rx=None)
    assert drawn == '<rect class="a b" aria-label="x" width="2.5"></rect>'


def test_a_table_has_a_caption_and_a_head_for_each_row_and_column() -> None:
    root = parsed(
        table("Scores", ("label", "F1", "", "gold"), [("PER", "0.9", Markup("<i></i>"), 1200)])
    )
    (caption,) = root.all("caption")
    assert caption.text == "Scores"
    heads = [(each.text, each.attributes["scope"]) for each in root.all("th")]
    assert heads == [("label", "col"), ("F1", "col"), ("gold", "col"), ("PER", "row")]
    assert [each.text for each in root.all("td", "number")] == ["0.9", "1,200"]
    # A keyboard can scroll what is wider than the page.
    (region,) = root.all("div", "scroll")
    assert (region.attributes["tabindex"], region.attributes["aria-label"]) == ("0", "Scores")


def test_numbers_have_the_digits_of_reports() -> None:
    assert (share(0.93418), percent(0.93418)) == ("0.9342", "93.42")
