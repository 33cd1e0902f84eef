"""The page that draws records: one after the other, whatever they hold."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from hostile import LABEL, WORDS, sentences
from html_pages import Element, parsed
from hypothesis import given
from hypothesis import strategies as st
from says import refuses

import tagkit
from tagkit.corpus.formats.lines.html import write_html
from tagkit.corpus.formats.table import FORMATS, by_ending, by_name, targets
from tagkit.corpus.source.pieces import Writing
from tagkit.text.records import (
    Document,
    LabelScore,
    Sentence,
    TagColumn,
    TaggedText,
    TaggedToken,
    TextSpan,
)

Item = Sentence | Document | TaggedText


def page(items: Iterable[Item], plain: bool = False) -> Element:
    writing = Writing(plain, single=True, note=lambda _: None)
    text = "".join(piece.text for piece in write_html(items, writing))
    return parsed(text.removeprefix("<!DOCTYPE html>\n"))


def texts(root: Element) -> list[str]:
    return [each.text for each in root.all("p", "drawn")]


def test_spans_of_tags_are_drawn_in_the_words_or_in_their_text() -> None:
    tags = ("O", "B-LOC", "I-LOC")
    words = ("in", "New", "York")
    text = Sentence(words, tags, text="in New  York!", places=((0, 2), (3, 6), (8, 12)))
    root = page([Sentence(words, tags), text])
    assert texts(root) == ["in New YorkLOC", "in New  YorkLOC!"]
    assert [each.text for each in root.all("mark")] == ["New YorkLOC", "New  YorkLOC"]


def test_plain_labels_stand_below_their_words() -> None:
    several = Sentence(
        ("Go", "!"), columns=(TagColumn("UPOS", ("V", "P")), TagColumn("FEATS", ("_", "_")))
    )
    root = page([Sentence(("Go", "!"), ("VERB", "PUNCT")), several], plain=True)
    found = [[part.text for part in each.all()] for each in root.all("span", "token")]
    assert found == [["Go", "VERB"], ["!", "PUNCT"], ["Go", "V", "_"], ["!", "P", "_"]]


def test_a_text_of_a_model_has_its_classes_spans_and_probabilities() -> None:
    text = TaggedText(
        "Hi Ada", ((TaggedToken("Hi", 0, 2, "O"), TaggedToken("Ada", 3, 6, "B-PER")),),
        (TextSpan("Ada", 3, 6, "PER", 0.914),), ("greet",), (LabelScore("greet", 0.75),),
    )  # fmt: skip
    root = page([text, Document("no label")])
    assert texts(root) == ["Hi AdaPER 0.91", "no label"]
    (classes,) = root.all("p", "classes")
    assert classes.text.strip() == "greet 0.75"
    (legend,) = root.all("ul", "legend")
    assert [each.text for each in legend.all("li")] == ["greet 1", "PER 1"]


def test_plain_labels_of_a_model_have_their_probabilities_also_of_several_columns() -> None:
    one = TaggedToken("Go", 0, 2, "VERB", 0.5)
    two = TaggedToken("!", 2, 3, "P", tags={"UPOS": "P", "X": "y"}, probabilities={"UPOS": 0.25})
    root = page([TaggedText("Go!", ((one, two),), ())], plain=True)
    found = [[part.text for part in each.all()] for each in root.all("span", "token")]
    assert found == [["Go", "VERB 0.50"], ["!", "P 0.25", "y"]]


def test_nested_and_crossing_spans_of_a_document_are_drawn() -> None:
    spans = (TextSpan("a b", 0, 3, "X"), TextSpan("b c", 2, 5, "Y"), TextSpan("b", 2, 3, "Z"))
    root = page([Document("a b c", spans)])
    (drawn,) = root.all("p", "drawn")
    assert drawn.text_without("name") == "a b c"
    assert {each.text for each in drawn.all("bdi")} == {"X", "Y", "Y…", "Z"}


@given(st.lists(st.text(min_size=1), min_size=1, max_size=6))
def test_any_text_gives_a_page_with_as_many_texts(found: list[str]) -> None:
    root = page([Document(text, labels=(text,)) for text in found])
    assert len(list(root.all("p", "drawn"))) == len(found)
    assert {each.name for each in root.all()} <= {
        "html", "head", "meta", "title", "style", "body", "header", "h1", "main", "div", "p", "bdi",
        "footer", "ul", "li",
    }  # fmt: skip


def test_hostile_words_and_labels_stay_text() -> None:
    root = page(sentences(predicted=False))
    assert not [name for name in ("script", "img", "b") if list(root.all(name))]
    assert f"From {WORDS[0]} Oslo{LABEL} to RomeGPE" in texts(root)
    assert r"From a\x00\x1b[31mb\u202ec Oslo" in " ".join(texts(root))


def test_each_record_is_written_before_the_next_one_is_asked_for() -> None:
    asked = 0

    def items() -> Iterator[Item]:
        nonlocal asked
        for _ in range(3):
            asked += 1
            yield Document("a text")

    pieces = write_html(items(), Writing(False, single=True, note=lambda _: None))
    seen = [(asked, len(piece.text) > 2000) for piece in pieces]
    assert seen == [(0, True), (1, False), (2, False), (3, False), (3, False)]


def test_it_can_be_written_and_never_read() -> None:
    assert targets().keys() - FORMATS.keys() == {"html"}
    assert by_ending("a.html") == by_name("html") == []
    assert [each.name for each in by_ending("a.html.gz", written=True)] == ["html"]
    with refuses(tagkit.ConfigError, "data.format", '"html"'):
        tagkit.load_config(flags={"data.format": "html"})


def test_records_of_a_program_are_written_by_the_name_of_the_file(tmp_path: Path) -> None:
    assert tagkit.write([Document("a", labels=("x",))], tmp_path / "a.html") == 1
    root = parsed((tmp_path / "a.html").read_text("utf-8").removeprefix("<!DOCTYPE html>\n"))
    assert texts(root) == ["a"]
