"""Plain text by lines: the lines themselves, from any file, in constant memory."""

import gzip
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from says import Says, refuses

from tagkit.corpus.source.text_lines import TextLines
from tagkit.errors import DataError, FileError, FormatError
from tagkit.storage import digest_of, digest_of_bytes

TEXT = "\ufeff\n one\r\ntwo \u2028é\n \t\n\n漢字\x85\x0c\nfour"
LINES = [" one", "two \u2028é", "漢字\x85\x0c", "four"]


def written(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)


def as_it_is(path: Path, text: str) -> TextLines:
    return TextLines(written(path, text.encode()))


def packed(path: Path, text: str) -> TextLines:
    return TextLines(written(path, gzip.compress(text.encode())))


def in_two_bytes(path: Path, text: str) -> TextLines:
    return TextLines(written(path, text.removeprefix("\ufeff").encode("utf-16")), "utf-16")


@pytest.mark.parametrize("read", [as_it_is, packed, in_two_bytes])
def test_lines_are_those_that_are_not_blank_without_their_ends(
    read: Callable[[Path, str], TextLines], tmp_path: Path
) -> None:
    lines = read(tmp_path / "text", TEXT)
    assert list(lines) == LINES
    assert len(lines) == 4
    assert [lines[number] for number in (3, 0, 2, -3)] == ["four", " one", LINES[2], LINES[1]]
    assert list(lines.lines(1, 3)) == LINES[1:3]
    assert list(lines.lines(2, 2)) == []
    assert list(lines.documents) == [0, 2]
    assert lines.digest == digest_of(tmp_path / "text")


@given(st.lists(st.text(st.sampled_from("aé漢 \r\x0b\u2028"), max_size=4)), st.booleans())
def test_any_lines_are_found_again_by_number(found: list[str], end: bool) -> None:
    wanted = [line.removesuffix("\r") for line in found if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.txt"
        text = "\n".join(found) + "\n" * end
        if not wanted:
            with refuses(DataError, "lines"):
                as_it_is(path, text)
            return
        lines = as_it_is(path, text)
        assert list(lines) == [lines[number] for number in range(len(lines))] == wanted
        for start in range(len(wanted)):
            assert list(lines.lines(start, len(wanted))) == wanted[start:]


def test_several_files_follow_each_other_and_each_begins_a_document(tmp_path: Path) -> None:
    one = written(tmp_path / "1", b"a\nb")
    two = written(tmp_path / "2", gzip.compress(b"\n\nc\n\nd\n"))
    lines = TextLines([one, two, one])
    assert list(lines) == ["a", "b", "c", "d", "a", "b"]
    assert list(lines.lines(1, 5)) == ["b", "c", "d", "a"]
    assert lines[4] == "a"
    assert list(lines.documents) == [0, 2, 3, 4]
    digests = [str(digest_of(Path(path))) for path in (one, two, one)]
    assert lines.digest == digest_of_bytes("".join(f"{each}\n" for each in digests).encode())
    assert lines.digest != TextLines([two, one, one]).digest
    assert lines.files(0, 6) == [(0, 2), (2, 4), (4, 6)]
    assert lines.files(1, 4) == [(1, 2), (2, 4)]
    assert lines.files(2, 3) == [(2, 3)]
    assert lines.files(3, 3) == []


def test_a_file_without_lines_is_no_text_among_others(tmp_path: Path) -> None:
    empty, blank = written(tmp_path / "0", b""), written(tmp_path / "2", b"\n \n")
    packed = written(tmp_path / "4.gz", gzip.compress(b"\n"))
    first, last = written(tmp_path / "1", b"a\n\nb\n"), written(tmp_path / "3", b"c\n")
    lines = TextLines([empty, first, blank, last, packed])
    assert [*lines] == [lines[number] for number in range(3)] == ["a", "b", "c"]
    assert [*lines.documents] == [0, 1, 2]
    assert lines.files(0, 3) == [(0, 2), (2, 3)]
    with pytest.raises(DataError) as caught:
        TextLines([empty, blank])
    assert str(caught.value) == Says(empty, blank)


def test_any_number_of_packed_files_is_one_open_file(tmp_path: Path) -> None:
    paths = [
        written(tmp_path / f"{number}.gz", gzip.compress(f"{number} é\n\nb\n".encode()))
        for number in range(9)
    ]
    lines = TextLines(paths)
    assert len({file.path for file in lines._files}) == 1
    assert list(lines) == [line for number in range(9) for line in (f"{number} é", "b")]
    assert [lines[number] for number in (16, 2, 17)] == ["8 é", "1 é", "b"]


def test_a_number_beyond_the_lines_is_an_index_error(tmp_path: Path) -> None:
    lines = as_it_is(tmp_path / "a", "x\ny\n")
    for number in (2, -3):
        with refuses(IndexError, number, "2"):
            lines[number]


def test_what_cannot_be_read_is_named_with_file_and_line(tmp_path: Path) -> None:
    path = written(tmp_path / "a.txt", b"one\n\ntw\xff\n")
    with pytest.raises(FormatError) as caught:
        TextLines(path)
    assert str(caught.value).startswith(
        f"{path}:3: byte 0xff at 7 is not utf-8 (invalid start byte). "
    )
    with refuses(DataError, "missing.txt"):
        TextLines(str(tmp_path / "missing.txt"))
    with refuses(FormatError, "a.txt:1", "2", "characters"):
        TextLines(written(tmp_path / "a.txt", b"one\n"), max_line_chars=2)
    cut = written(tmp_path / "b.gz", gzip.compress(b"one\n" * 99)[:-9])
    with refuses(DataError, "b.gz", "short"):
        TextLines(cut)


def test_a_file_that_was_altered_since_is_not_read_on(tmp_path: Path) -> None:
    lines = as_it_is(tmp_path / "a.txt", "one\ntwo\n")
    (tmp_path / "a.txt").write_text("one\nthree\n", "utf-8")
    with pytest.raises(DataError) as caught:
        lines[1]
    assert str(caught.value) == (
        f"{tmp_path / 'a.txt'}: was altered while it was in use; do not write into a corpus that "
        "is being read"
    )
    (tmp_path / "a.txt").unlink()
    with refuses(DataError, "a.txt", "directory"):
        list(lines)


def test_a_copy_is_removed_with_the_lines(tmp_path: Path) -> None:
    lines = packed(tmp_path / "a.gz", "one\n")
    copy = Path(lines._files[0].path)
    assert copy.exists()
    assert copy != tmp_path / "a.gz"
    del lines
    assert not copy.exists()


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
def test_memory_is_for_the_places_of_lines_and_not_for_the_text(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = written(tmp_path / "a", pack((b"x" * 999 + b"\n") * 3000))  # 3 MB
    tracemalloc.start()
    try:
        lines = TextLines(path)
        assert sum(map(len, lines)) == 999 * 3000
        assert len(lines[2999]) == 999
        assert tracemalloc.get_traced_memory()[1] < 1.5 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
def test_a_file_that_begins_with_the_mark_of_another_encoding_is_told_so(
    tmp_path: Path, encoding: str
) -> None:
    path = tmp_path / "text"
    path.write_bytes("\ufeffa O\n".encode(encoding))
    with pytest.raises(FileError) as caught:
        TextLines(str(path))
    kind = encoding[: len("utf-16")]
    found = f"begins with the byte order mark of {kind.upper()}. Name it with data.encoding={kind}"
    assert str(caught.value) == f"{path}:1: {found}"


def test_a_file_that_becomes_shorter_while_it_is_read_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    # More than a buffer holds, as what was read before is not missing.
    lines = iter(as_it_is(path, "".join(f"line {number}\n" for number in range(20_000))))
    assert next(lines) == "line 0"
    path.write_text("line 0\n", "utf-8")
    with refuses(DataError, "a.txt", "altered"):
        list(lines)
