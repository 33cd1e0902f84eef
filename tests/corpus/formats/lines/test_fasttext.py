"""fastText: labels with a prefix, then the text."""

from pathlib import Path

import pytest
from formats_help import read, refusal, texts, words, write
from hypothesis import given
from hypothesis import strategies as st
from says import Says

from tagkit.corpus.formats.lines.fasttext import read_fasttext, write_fasttext
from tagkit.errors import FormatError, TagkitError
from tagkit.text.records import Document, TextSpan


def test_labels_stand_before_the_text_and_it_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.ft"
    path.write_bytes(
        b"__label__a __label__b  two  blanks \r\n\n__label__c\tx __label__d\n__label__a\xc2\x85b y"
    )
    found = read(path, read_fasttext)
    assert found == [
        Document(" two  blanks ", labels=("a", "b")),
        Document("x __label__d", labels=("c",)),
        Document("y", labels=("a\x85b",)),
    ]
    assert [item.line for item in found] == [1, 3, 4]  # type: ignore[union-attr]
    assert {item.source for item in found} == {str(path)}  # type: ignore[union-attr]


def test_a_label_that_stands_twice_is_one(tmp_path: Path) -> None:
    path = tmp_path / "a.ft"
    path.write_text("__label__b __label__a __label__b x\n", encoding="utf-8")
    assert read(path, read_fasttext) == [Document("x", labels=("b", "a"))]


@pytest.mark.parametrize(
    "line",
    [
        "Who?",
        " __label__a b",
        "__label__ b",
        "__label__a",
        "__label__a \x85",
        "__label__a __label__ b",
    ],
)
def test_a_line_without_label_or_text_is_named(tmp_path: Path, line: str) -> None:
    message = refusal(tmp_path / "a", f"__label__x y\n{line}\n", read_fasttext)
    assert message == Says("a:2", f"{line!r}")


def test_a_bad_line_is_passed_over_where_somebody_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("Who?\n__label__a b\n", encoding="utf-8")
    told: list[FormatError] = []
    assert read(path, read_fasttext, on_error=told.append) == [Document("b", labels=("a",))]
    assert [error.line for error in told] == [1]


def test_labels_are_not_needed_where_they_are_not_wanted(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("Who?\n__label__a b\n", encoding="utf-8")
    assert read(path, read_fasttext, with_tags=False) == [
        Document("Who?"),
        Document("b", labels=("a",)),
    ]


labels = st.lists(words(), min_size=1, max_size=3, unique=True).map(tuple)


@given(
    items=st.lists(
        st.builds(lambda text, names: Document(text, labels=names), texts("\n\r"), labels),
        max_size=3,
    )
)
def test_reading_what_was_written_gives_it_back(
    tmp_path_factory: pytest.TempPathFactory, items: list[Document]
) -> None:
    path = write(tmp_path_factory.mktemp("fasttext"), "a", write_fasttext, items)
    assert (read(path, read_fasttext) if items else []) == items


def test_spans_are_left_out_which_is_said_once(tmp_path: Path) -> None:
    notes: list[str] = []
    item = Document("Oslo", (TextSpan("Oslo", 0, 4, "LOC"),), ("a",))
    path = write(tmp_path, "a", write_fasttext, [item, item], notes=notes)
    assert notes == [Says("fasttext")]
    assert read(path, read_fasttext) == [Document("Oslo", labels=("a",))] * 2


@pytest.mark.parametrize(
    ("item", "what"),
    [
        (Document("x"), "a text without a label: 'x'"),
        (Document("x", labels=("a b",)), "white space in a label, or none ('a b'): 'x'"),
        (Document("x", labels=("a", "")), "white space in a label, or none (''): 'x'"),
        (Document("x\ny", labels=("a",)), "a line end in the text: 'x\\ny'"),
        (Document(" ", labels=("a",)), "a blank text: ' '"),
        (
            Document("__label__b c", labels=("a",)),
            "a text that begins with __label__: '__label__b c'",
        ),
    ],
)
def test_what_it_cannot_hold_is_refused(tmp_path: Path, item: Document, what: str) -> None:
    with pytest.raises(FormatError) as caught:
        write(tmp_path, "a", write_fasttext, [item])
    assert str(caught.value) == Says("input:1", what)


alphabet = st.sampled_from(["__label__", " ", "\t", "\n", "\r", "a", "\x85"])


@given(
    content=st.lists(alphabet, max_size=20).map("".join).map(str.encode) | st.binary(max_size=60)
)
def test_any_bytes_are_texts_or_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed-fasttext"
    path.write_bytes(content)
    told = ""
    try:
        assert all(item.labels for item in read(path, read_fasttext))
    except TagkitError as error:
        told = str(error)
    assert not told or str(path) in told
