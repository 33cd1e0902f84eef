"""brat standoff: texts untouched, offsets in code points, whatever the file's line ends."""

import gzip
from pathlib import Path

import pytest
from formats_help import documents, read, texts, words, write
from hypothesis import given
from hypothesis import strategies as st
from says import Says, refuses

from tagkit.corpus.formats.folders.brat import counting, mark_of, read_brat, write_brat
from tagkit.errors import DataError, FormatError
from tagkit.text.records import Document, TextSpan


def pair(folder: Path, text: str | bytes, ann: str, name: str = "a") -> Path:
    content = text if isinstance(text, bytes) else text.encode()
    (folder / f"{name}.txt").write_bytes(content)
    (folder / f"{name}.ann").write_text(ann, encoding="utf-8", newline="")
    return folder / f"{name}.ann"


def spans(path: Path, **options: object) -> list[tuple[int, int, str]]:
    (document,) = read(path, read_brat, **options)
    assert isinstance(document, Document)
    for span in document.spans or ():
        assert document.text[span.start : span.end] == span.text
    return [(span.start, span.end, span.label) for span in document.spans or ()]


def refused(folder: Path, text: str, ann: str, **options: object) -> str:
    with pytest.raises(FormatError) as caught:
        read(pair(folder, text, ann), read_brat, **options)
    return str(caught.value).removeprefix(f"{folder}/")


def test_spans_are_read_in_the_order_of_the_text_with_their_lines(tmp_path: Path) -> None:
    ann = "T2\tLOC 9 13\tRome\nT1\tLOC 0 4\tOslo\n"
    (document,) = read(pair(tmp_path, "Oslo and Rome\n", ann), read_brat)
    assert document == Document(
        "Oslo and Rome\n", (TextSpan("Oslo", 0, 4, "LOC"), TextSpan("Rome", 9, 13, "LOC"))
    )
    assert isinstance(document, Document)
    assert document.span_lines == (2, 1)
    assert (document.name, document.source) == ("a", str(tmp_path / "a.ann"))


def test_the_text_names_the_pair_too_and_a_folder_all_of_its_pairs(tmp_path: Path) -> None:
    pair(tmp_path, "x", "", "b")
    pair(tmp_path, "y", "", "a")
    assert [d.text for d in read(tmp_path, read_brat)] == ["y", "x"]  # type: ignore[union-attr]
    assert read(tmp_path / "a.txt", read_brat) == [Document("y", ())]


def test_crlf_counts_two_characters_and_stays(tmp_path: Path) -> None:
    path = pair(tmp_path, "A\r\nOslo\r\n", "T1\tLOC 3 7\tOslo\r\n")
    assert spans(path) == [(3, 7, "LOC")]
    assert read(path, read_brat)[0] == Document("A\r\nOslo\r\n", (TextSpan("Oslo", 3, 7, "LOC"),))


def test_a_file_that_counts_crlf_as_one_is_recognised_by_its_texts(tmp_path: Path) -> None:
    path = pair(tmp_path, "A\r\nB\r\nOslo\r\n", "T1\tLOC 4 8\tOslo\n")
    assert spans(path) == [(6, 10, "LOC")]


def test_a_byte_order_mark_is_no_character_unless_the_file_counts_it(tmp_path: Path) -> None:
    assert spans(pair(tmp_path, b"\xef\xbb\xbfOslo", "T1\tLOC 0 4\tOslo\n")) == [(0, 4, "LOC")]
    assert spans(pair(tmp_path, b"\xef\xbb\xbfOslo", "T1\tLOC 1 5\tOslo\n")) == [(0, 4, "LOC")]
    both = pair(tmp_path, b"\xef\xbb\xbfA\r\nOslo", "T1\tLOC 3 7\tOslo\n")
    assert spans(both) == [(3, 7, "LOC")]


@pytest.mark.parametrize(
    "text", ["cafe\u0301 Oslo", "👩\u200d💻 Oslo", "\u200bO\u200b Oslo", "🧑🏽 Oslo"]
)
def test_offsets_count_code_points(tmp_path: Path, text: str) -> None:
    start = text.index("Oslo")
    assert spans(pair(tmp_path, text, f"T1\tLOC {start} {start + 4}\tOslo\n")) == [
        (start, start + 4, "LOC")
    ]


def test_a_span_over_a_line_end_repeats_its_text_with_a_blank(tmp_path: Path) -> None:
    path = pair(tmp_path, "New\nYork", "T1\tLOC 0 8\tNew York\n")
    assert spans(path) == [(0, 8, "LOC")]


def test_relations_and_the_like_are_passed_over_aloud(tmp_path: Path) -> None:
    notes: list[str] = []
    ann = "T1\tLOC 0 4\tOslo\nR1\tIn Arg1:T1 Arg2:T1\n#1\tNote T1\tx\nA1\tNeg T1\nR2\tIn x y\n"
    read(pair(tmp_path, "Oslo", ann), read_brat, note=notes.append)
    assert notes == [Says(tmp_path, "a.ann", "2", "1")]  # fmt: skip


@pytest.mark.parametrize(
    ("ann", "message"),
    [
        ("T1 LOC 0 4", Says("TAB", "LABEL", "START", "END", "TEXT", "'T1 LOC 0 4'")),
        ("T1\tLOC 4 0\tx", Says("TAB", "LABEL", "START", "END", "TEXT", "'T1\\tLOC 4 0\\tx'")),
        ("hello", Says("TAB", "LABEL", "START", "END", "TEXT", "'hello'")),
        (
            "T1\tBig City 0 4\tOslo",
            Says("TAB", "LABEL", "START", "END", "TEXT", "'T1\\tBig City 0 4\\tOslo'"),
        ),
        (
            "T1\tLOC 0 -1 4\tOslo",
            Says("TAB", "LABEL", "START", "END", "TEXT", "'T1\\tLOC 0 -1 4\\tOslo'"),
        ),
        (
            "T1\tLOC 0 4 9\tOslo",
            Says("TAB", "LABEL", "START", "END", "TEXT", "'T1\\tLOC 0 4 9\\tOslo'"),
        ),
        ("T1\tLOC 0 9\tOslo", Says("4", "LOC", "0", "9", "characters")),
        ("T1\tLOC 0 4\tRome", Says("LOC", "0", "4", "'Rome'", "'Oslo'")),
        (
            "T1\tLOC 0 1;2 4\tO lo",
            Says("LOC", "0", "4", "2", "data.on_misaligned"),
        ),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, ann: str, message: str) -> None:
    assert refused(tmp_path, "Oslo", f"{ann}\n") == message


def test_names_and_labels_are_quoted_safely_and_in_bounded_length(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Oslo", encoding="utf-8")
    (tmp_path / "a.ann").write_text(f"T\x7f\tL\x0b{'x' * 5000} 0 99\tOslo\n", encoding="utf-8")
    with pytest.raises(FormatError) as caught:
        read(tmp_path / "a.ann", read_brat)
    assert r"found T\x7f (L\x0bxxx" in str(caught.value)
    assert len(caught.value.problem) < 200


@pytest.mark.parametrize("text", ["", " ", "\u2028\n"])
def test_a_blank_text_is_refused(tmp_path: Path, text: str) -> None:
    with refuses(FormatError, "blank"):
        write(tmp_path, "a", write_brat, [Document(text, ())])


@pytest.mark.parametrize(("bad", "line"), [("b.txt", 1), ("b.ann", 2)])
def test_a_file_of_another_encoding_costs_its_own_pair_alone(
    bad: str, line: int, tmp_path: Path
) -> None:
    for name in "abc":
        pair(tmp_path, "Ada left", "T1\tPER 0 3\tAda\n", name)
    (tmp_path / bad).write_bytes(b"T1\tPER 0 3\tAda\n#1\t\xff\n" if line == 2 else b"\xff")
    told: list[FormatError] = []
    found = read(tmp_path, read_brat, on_error=told.append)
    assert [item.name for item in found] == ["a", "c"]  # type: ignore[union-attr]
    assert [(error.source, error.line) for error in told] == [(str(tmp_path / bad), line)]
    with refuses(FormatError, bad, line, "8"):
        read(tmp_path, read_brat)


def test_a_span_in_pieces_is_made_one_or_dropped_as_the_option_says(tmp_path: Path) -> None:
    path = pair(tmp_path, "Oslo", "T1\tLOC 0 1;2 4\tO lo\n")
    notes: list[str] = []
    assert spans(path, on_misaligned="expand", note=notes.append) == [(0, 4, "LOC")]
    assert spans(path, on_misaligned="drop", note=notes.append) == []
    assert [note.rpartition(": ")[2] for note in notes] == ["made one stretch", "left out"]


def test_a_pair_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.ann").write_text("", encoding="utf-8")
    with refuses(DataError, "a.ann:1", "a.txt"):
        read(tmp_path / "a.ann", read_brat)
    with refuses(DataError, "NAME", "beside"):
        read(tmp_path / "b.txt", read_brat)


@pytest.mark.parametrize("with_tags", [True, False])
def test_blank_texts_are_left_out_aloud(tmp_path: Path, with_tags: bool) -> None:
    pair(tmp_path, "Oslo", "T1\tLOC 0 4\tOslo\n")
    pair(tmp_path, "", "", "b")
    pair(tmp_path, " \n", "", "c")
    notes: list[str] = []
    found = read(tmp_path, read_brat, with_tags=with_tags, note=notes.append)
    assert [item.name for item in found] == ["a"]  # type: ignore[union-attr]
    assert notes == [f"{tmp_path}: 2 blank texts are left out: b.txt, c.txt"]


def test_spans_of_a_blank_text_are_refused(tmp_path: Path) -> None:
    said = refused(tmp_path, " \n", "T1\tLOC 0 1\t \n")
    assert said == Says("a.txt:1", tmp_path, "a.ann")


def test_an_id_that_comes_twice_is_noted(tmp_path: Path) -> None:
    notes: list[str] = []
    path = pair(tmp_path, "Oslo and Rome", "T1\tLOC 0 4\tOslo\nT1\tLOC 9 13\tRome\n")
    assert spans(path, note=notes.append) == [(0, 4, "LOC"), (9, 13, "LOC")]
    assert notes == [f"{path}: ids that come twice, of which both spans are kept: T1"]


def test_an_annotation_that_is_both_plain_and_packed_is_refused(tmp_path: Path) -> None:
    pair(tmp_path, "Oslo", "T1\tLOC 0 4\tOslo\n")
    pair(tmp_path, "Rome", "", "a-b")
    (tmp_path / "a.ann.gz").write_bytes(gzip.compress(b""))
    for with_tags in (True, False):
        with pytest.raises(DataError) as caught:
            read(tmp_path, read_brat, with_tags=with_tags)
        assert str(caught.value) == (Says(tmp_path, "a.ann", "a.ann.gz"))
    # Named by itself, one of them is a choice.
    assert spans(tmp_path / "a.ann") == [(0, 4, "LOC")]


def test_where_labels_are_not_wanted_no_annotation_is_read(tmp_path: Path) -> None:
    pair(tmp_path, "Oslo", "T1\tLOC 0 1;2 4\tO lo\nR1\tIn x y\n", "pieces")
    pair(tmp_path, "Rome", "T1\tLOC 0 9\tOslo\nhello\n", "broken")
    pair(tmp_path, b"\xef\xbb\xbfBonn\r\n", "", "bytes")
    (tmp_path / "bytes.ann").write_bytes(b"\xff\x00")
    notes: list[str] = []
    found = read(tmp_path, read_brat, with_tags=False, note=notes.append)
    assert found == [Document("Rome"), Document("Bonn\r\n"), Document("Oslo")]
    assert [item.name for item in found] == ["broken", "bytes", "pieces"]  # type: ignore[union-attr]
    assert notes == []
    (tmp_path / "broken.txt").unlink()
    with refuses(DataError, "broken.ann:1", "broken.txt"):
        read(tmp_path, read_brat, with_tags=False)


def test_a_text_without_annotation_is_read_where_labels_are_not_wanted(tmp_path: Path) -> None:
    pair(tmp_path, "Oslo", "", "one")
    # In the order of the names that an .ann has or would have, as before there was one.
    for name in ("two.txt", "one-b.txt", "two.txt.gz", ".hidden.txt", "notes.md"):
        (tmp_path / name).write_text(f"in {name}", encoding="utf-8")
    (tmp_path / "folder.txt").mkdir()
    found = read(tmp_path, read_brat, with_tags=False)
    assert found == [Document("in one-b.txt"), Document("Oslo"), Document("in two.txt")]
    assert [(item.name, Path(item.source).name) for item in found] == [  # type: ignore[union-attr]
        ("one-b", "one-b.txt"), ("one", "one.ann"), ("two", "two.txt"),
    ]  # fmt: skip
    assert read(tmp_path / "two.txt", read_brat, with_tags=False) == [Document("in two.txt")]
    (tmp_path / "one.ann").unlink()
    assert len(read(tmp_path, read_brat, with_tags=False)) == 3
    for missing in (tmp_path / "folder.txt", tmp_path / "three.txt", tmp_path / "two.ann"):
        with pytest.raises(DataError) as caught:
            read(missing, read_brat, with_tags=False)
        assert str(caught.value) == Says(missing, "NAME")


def test_texts_without_annotation_are_named_where_labels_are_wanted(tmp_path: Path) -> None:
    pair(tmp_path, "Oslo", "", "one")
    notes: list[str] = []
    (tmp_path / "two.txt").write_text("x", encoding="utf-8")
    assert read(tmp_path, read_brat, note=notes.append) == [Document("Oslo", ())]
    for number in range(12):
        (tmp_path / f"{'x' * 200}{number:02}.txt").write_text("x", encoding="utf-8")
    read(tmp_path, read_brat, note=notes.append)
    read(tmp_path / "one.txt", read_brat, note=notes.append)
    assert notes[0] == f"{tmp_path}: 1 text without .ann is left out: two.txt"
    assert notes[1].startswith(f"{tmp_path}: 13 texts without .ann are left out: two.txt, xxx")
    assert notes[1].endswith("xx08.txt and 3 more")
    assert len(notes[1]) < len(str(tmp_path)) + 800
    assert len(notes) == 2


labels = words(max_size=3).filter(lambda label: not any(char.isspace() for char in label))


@given(items=st.lists(documents(texts(), labels), min_size=1, max_size=3))
def test_reading_what_was_written_gives_it_back(
    tmp_path_factory: pytest.TempPathFactory, items: list[Document]
) -> None:
    folder = tmp_path_factory.mktemp("brat")
    # A text that begins with U+FEFF is a text with a byte order mark.
    items = [item for item in items if not item.text.startswith("\ufeff")] or [Document("a", ())]
    path = write(folder, "out", write_brat, items)
    assert read(path, read_brat) == items


@given(items=st.lists(documents(texts(), labels), min_size=1, max_size=3))
def test_documents_in_one_pair_are_lines_of_its_text(
    tmp_path_factory: pytest.TempPathFactory, items: list[Document]
) -> None:
    folder = tmp_path_factory.mktemp("brat")
    items = [item for item in items if not item.text.startswith("\ufeff")] or [Document("a", ())]
    write(folder, "", write_brat, items, single=True)
    (folder / ".txt").rename(folder / "a.txt")
    (folder / ".ann").rename(folder / "a.ann")
    (document,) = read(folder / "a.ann", read_brat)
    assert isinstance(document, Document)
    tail = "\n" if len(items) > 1 else ""
    assert document.text == "\n".join(item.text for item in items) + tail
    assert [(s.text, s.label) for s in document.spans or ()] == [
        (s.text, s.label) for item in items for s in item.spans or ()
    ]


def test_files_are_named_as_their_documents_where_that_is_safe(tmp_path: Path) -> None:
    names = ["a", "a", "../x", "", ".h"]
    write(tmp_path, "out", write_brat, [Document("x", (), name=name) for name in names])
    assert sorted(path.name for path in (tmp_path / "out").glob("*.txt")) == [
        "00002.txt", "00003.txt", "00004.txt", "00005.txt", "a.txt",
    ]  # fmt: skip
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]


def test_an_id_that_no_file_system_takes_is_replaced_by_a_number(tmp_path: Path) -> None:
    long, longest = "文" * 90, "文" * 66  # 270 and 198 bytes
    items = [Document("x", name=long), Document("y", name=longest)]
    folder = Path(write(tmp_path, "a", write_brat, items))
    assert sorted(each.name for each in folder.iterdir() if each.suffix == ".txt") == [
        "00001.txt",
        f"{longest}.txt",
    ]


def test_the_file_that_is_named_is_the_one_that_is_read(tmp_path: Path) -> None:
    pair(tmp_path, "Oslo", "T1\tLOC 0 4\tOslo\n")
    (tmp_path / "a.ann.gz").write_bytes(gzip.compress(b"T1\tCITY 0 4\tOslo\n"))
    assert spans(tmp_path / "a.ann") == [(0, 4, "LOC")]
    assert spans(tmp_path / "a.ann.gz") == [(0, 4, "CITY")]


BEFORE = st.text(st.sampled_from("a \u00e9\u20ac😀🧑\r\n"), max_size=12)


@given(BEFORE, st.booleans())
def test_units_of_utf_16_are_recognised_by_the_copies_of_the_texts(
    before: str, has_mark: bool
) -> None:
    text = f"{before}😀 Oslo and Rome"
    marks = []
    for name in ("Oslo", "Rome"):
        start = len(text[: text.index(name)].encode("utf-16-le")) // 2 + has_mark
        marks.append(mark_of(f"T1\tLOC {start} {start + 4}\t{name}", 1))
    place = counting(text, has_mark, marks)
    for mark in marks:
        begin, end = map(place, mark.pieces[0])
        assert text[begin:end] == mark.repeated


def test_one_mark_that_fits_another_way_of_counting_is_no_evidence() -> None:
    marks = [mark_of("T1\tLOC 3 7\tOslo", 1), mark_of("T2\tLOC 8 9\tx", 2)]
    place = counting("😀 Oslo", has_mark=False, marks=marks)
    assert [place(at) for at in (0, 1, 6, 7)] == [0, 1, 6, None]  # as they are


def test_within_a_character_of_two_units_there_is_no_place() -> None:
    place = counting("😀 Oslo", has_mark=False, marks=[mark_of("T1\tLOC 3 7\tOslo", 1)])
    assert [place(at) for at in (-1, 0, 1, 2, 3, 7, 8)] == [None, 0, None, 1, 2, 6, None]


@pytest.mark.parametrize("line", ["T1\tLOC 4 4\t", "T1\tLOC 4 +5\t", "T1\tLOC", "X1\tLOC 1 2\ta"])
def test_what_is_no_mark_is_refused(line: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the caller says what was expected
        mark_of(line, 1)
