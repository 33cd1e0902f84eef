"""TREC questions: COARSE:fine, a blank, the text."""

from pathlib import Path

import pytest
from formats_help import read, refusal, texts, words, write
from hypothesis import given
from hypothesis import strategies as st
from says import Says, refuses

from tagkit.corpus.formats.lines.trec import read_trec, write_trec
from tagkit.errors import FormatError, TagkitError
from tagkit.text.records import Document, TextSpan


def labels_of(path: Path, **options: object) -> set[str]:
    return {label for item in read(path, read_trec, **options) for label in item.labels}


def test_the_label_is_coarse_or_fine_and_the_text_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes("NUM:dist How  far ?\r\n\nA:b:c  x:y\x85\n".encode())
    found = read(path, read_trec)
    assert found == [Document("How  far ?", labels=("NUM",)), Document(" x:y\x85", labels=("A",))]
    assert [(item.source, item.line) for item in found] == [(str(path), 1), (str(path), 3)]  # type: ignore[union-attr]
    assert labels_of(path, label_level="fine") == {"NUM:dist", "A:b:c"}


@pytest.mark.parametrize(
    "line",
    ["How far ?", "NUM How far ?", "NUM: x", ":dist x", "NUM:dist", "NUM:dist \x85", "A:b\tx"],
)
def test_a_line_without_label_or_text_is_named(tmp_path: Path, line: str) -> None:
    message = refusal(tmp_path / "a", f"A:b x\n{line}\n", read_trec)
    assert message == Says("a:2", "COARSE", f"{line!r}")


def test_a_bad_line_is_passed_over_where_somebody_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("Who?\nHUM:ind Who?\n", encoding="utf-8")
    told: list[FormatError] = []
    assert read(path, read_trec, on_error=told.append) == [Document("Who?", labels=("HUM",))]
    assert [error.line for error in told] == [1]


coarse = words(":")


@given(
    items=st.lists(
        st.builds(
            lambda text, a, b: Document(text, labels=(f"{a}:{b}",)), texts("\n\r"), coarse, words()
        ),
        max_size=3,
    )
)
def test_reading_what_was_written_gives_it_back(
    tmp_path_factory: pytest.TempPathFactory, items: list[Document]
) -> None:
    path = write(tmp_path_factory.mktemp("trec"), "a", write_trec, items)
    assert (read(path, read_trec, label_level="fine") if items else []) == items


def test_spans_are_left_out_which_is_said_once(tmp_path: Path) -> None:
    notes: list[str] = []
    item = Document("Oslo", (TextSpan("Oslo", 0, 4, "LOC"),), ("A:b",))
    write(tmp_path, "a", write_trec, [item, item], notes=notes)
    assert notes == [Says("place")]


@pytest.mark.parametrize(
    ("item", "what"),
    [
        (Document("x"), "a text without a label: 'x'"),
        (Document("x", labels=("A:b", "C:d")), "several labels of one text ('A:b, C:d'): 'x'"),
        (Document("x", labels=(" ",)), "a blank label (' '): 'x'"),
        (
            Document("x", labels=("NUM",)),
            "a label without its fine class ('NUM'; see data.label_level): 'x'",
        ),
        (Document("x", labels=("A:b c",)), "a label that is not COARSE:fine ('A:b c'): 'x'"),
        (Document("x", labels=("A:",)), "a label that is not COARSE:fine ('A:'): 'x'"),
        (Document("x", labels=("A:b\nc",)), "a label that is not COARSE:fine ('A:b\\nc'): 'x'"),
        (Document("x\ny", labels=("A:b",)), "a line end in the text: 'x\\ny'"),
        (Document("\t", labels=("A:b",)), "a blank text: '\\t'"),
    ],
)
def test_what_it_cannot_hold_is_refused(tmp_path: Path, item: Document, what: str) -> None:
    with pytest.raises(FormatError) as caught:
        write(tmp_path, "a", write_trec, [item])
    assert str(caught.value) == Says("input:1", what)


@pytest.mark.parametrize(("name", "count"), [("train", 5452), ("test", 500)])
def test_the_questions_of_trec_are_all_read_and_written(
    corpora: Path, tmp_path: Path, name: str, count: int
) -> None:
    path = corpora / "trec" / f"{name}.txt"
    fine = read(path, read_trec, encoding="latin-1", label_level="fine")
    assert len(fine) == count
    again = write(tmp_path, "a", write_trec, fine)
    assert read(again, read_trec, label_level="fine") == fine


def test_trec_has_six_coarse_and_fifty_fine_classes(corpora: Path) -> None:
    path = corpora / "trec" / "train.txt"
    assert len(labels_of(path, encoding="latin-1", label_level="fine")) == 50
    assert labels_of(path, encoding="latin-1") == {"ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"}
    with refuses(FormatError, "8", "data.encoding"):
        read(path, read_trec)


alphabet = st.sampled_from(["NUM:dist", ":", " ", "\t", "\n", "\r", "a", "\x85"])


@given(
    content=st.lists(alphabet, max_size=20).map("".join).map(str.encode) | st.binary(max_size=60)
)
def test_any_bytes_are_texts_or_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzzed-trec"
    path.write_bytes(content)
    told = ""
    try:
        assert all(item.labels for item in read(path, read_trec))
    except TagkitError as error:
        told = str(error)
    assert not told or str(path) in told
