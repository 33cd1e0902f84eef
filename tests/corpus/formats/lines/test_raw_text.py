"""Raw text: a text a line."""

from pathlib import Path

import pytest
from formats_help import read, texts, write
from hypothesis import given
from hypothesis import strategies as st
from says import Says

from tagkit.corpus.formats.lines.raw_text import read_text_lines, write_text_lines
from tagkit.errors import FormatError, TagkitError
from tagkit.text.records import Document, Sentence, TextSpan


def test_each_line_that_is_not_blank_is_a_text_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(" Oslo\tis far. \r\n\n \t\nb\x85\u2028c\x0b".encode())
    found = read(path, read_text_lines)
    assert found == [Document(" Oslo\tis far. "), Document("b\x85\u2028c\x0b")]
    assert [(item.source, item.line) for item in found] == [(str(path), 1), (str(path), 4)]  # type: ignore[union-attr]


@given(items=st.lists(st.builds(Document, texts("\n\r")), max_size=4))
def test_reading_what_was_written_gives_it_back(
    tmp_path_factory: pytest.TempPathFactory, items: list[Document]
) -> None:
    path = write(tmp_path_factory.mktemp("text"), "a", write_text_lines, items)
    assert (read(path, read_text_lines) if items else []) == items


def test_a_byte_order_mark_of_the_first_text_is_kept(tmp_path: Path) -> None:
    items = [Document("\ufeffa"), Document("\ufeffb")]
    path = Path(write(tmp_path, "a", write_text_lines, items))
    assert path.read_text("utf-8") == "\ufeff\ufeffa\n\ufeffb\n"
    assert read(path, read_text_lines) == items


def test_sentences_give_their_text_or_their_words(tmp_path: Path) -> None:
    items = [Sentence(("It", "'s")), Sentence(("It", "'s"), text="It's", places=((0, 2), (2, 4)))]
    path = write(tmp_path, "a", write_text_lines, items)
    assert read(path, read_text_lines) == [Document("It 's"), Document("It's")]


def test_what_is_left_out_is_said_once(tmp_path: Path) -> None:
    notes: list[str] = []
    tagged = Sentence(("a",), ("O",), (("x",),), ("news",))
    spanned = Document("Oslo", (TextSpan("Oslo", 0, 4, "LOC"),), ("news",))
    items = [Sentence(("a",)), Document("b", ()), tagged, spanned, tagged, spanned]
    write(tmp_path, "a", write_text_lines, items, notes=notes)
    assert notes == [
        Says("text", f" {what}: ") for what in ("tags", "feature columns", "labels", "spans")
    ]


@pytest.mark.parametrize(
    ("item", "what"),
    [
        (Document("a\nb"), "a line end in the text: 'a\\nb'"),
        (Document("a\r"), "a line end in the text: 'a\\r'"),
        (Sentence(("a\nb",)), "a line end in the text: 'a\\nb'"),
        (Document(" \x85"), "a blank text: ' \\x85'"),
    ],
)
def test_what_it_cannot_hold_is_refused(
    tmp_path: Path, item: Document | Sentence, what: str
) -> None:
    with pytest.raises(FormatError) as caught:
        write(tmp_path, "a", write_text_lines, [item])
    assert str(caught.value) == Says("input:1", what)


@given(content=st.binary(max_size=60))
def test_any_bytes_are_texts_or_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed-text"
    path.write_bytes(content)
    told = ""
    try:
        assert all(item.text.strip() for item in read(path, read_text_lines))  # type: ignore[union-attr]
    except TagkitError as error:
        told = str(error)
    assert not told or str(path) in told
