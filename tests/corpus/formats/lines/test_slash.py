"""Slash tags: word/TAG, a sentence a line."""

from pathlib import Path

import pytest
from formats_help import read, refusal, sentences, words, write
from hypothesis import given
from hypothesis import strategies as st
from says import Says

from tagkit.corpus.formats.lines.slash import read_slash, write_slash
from tagkit.errors import FormatError
from tagkit.text.records import Sentence


def test_a_sentence_is_read_from_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("The/DT  1\\/2/CD and/or/CC\r\n\n./.\n", encoding="utf-8")
    first, second = read(path, read_slash)
    assert first == Sentence(("The", "1/2", "and/or"), ("DT", "CD", "CC"))
    assert second == Sentence((".",), (".",))
    assert (list(first.lines), list(second.lines)) == ([1, 1, 1], [3])


def test_tags_are_not_needed_where_they_are_not_wanted(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("The dog/NN\n", encoding="utf-8")
    assert read(path, read_slash, with_tags=False) == [Sentence(("The", "dog"))]


def test_a_slash_alone_is_a_word_where_tags_are_not_wanted(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("\ufeff/ and/CC // /DT\n", encoding="utf-8")
    (found,) = read(path, read_slash, with_tags=False)
    assert found == Sentence(("/", "and", "/", "DT"))


@pytest.mark.parametrize("cell", ["The", "/DT", "The/"])
def test_a_word_without_its_tag_is_named(tmp_path: Path, cell: str) -> None:
    message = refusal(tmp_path / "a.txt", f"A/DT\nB/DT {cell}\n", read_slash)
    assert message == Says("a.txt:2", "TAG", cell)


@given(items=st.lists(sentences(words(), words("/")), min_size=1, max_size=3))
def test_reading_what_was_written_gives_it_back(
    tmp_path_factory: pytest.TempPathFactory, items: list[Sentence]
) -> None:
    path = write(tmp_path_factory.mktemp("slash"), "a", write_slash, items)
    assert read(path, read_slash) == items


@pytest.mark.parametrize(
    ("item", "what"),
    [
        (Sentence(("New York",), ("O",)), "white space inside a word or tag ('New York')"),
        (Sentence(("a",), ("N/A",)), "a tag with a slash"),
        (Sentence(("a",)), "words without tags"),
    ],
)
def test_what_it_cannot_hold_is_refused(tmp_path: Path, item: Sentence, what: str) -> None:
    with pytest.raises(FormatError) as caught:
        write(tmp_path, "a", write_slash, [item])
    assert f"slash cannot hold {what}" in str(caught.value)
