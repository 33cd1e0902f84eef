r"""Bytes -> lines: \n alone ends a line, in whatever pieces the bytes arrive."""

import codecs
import gzip
import io
import sys
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from says import Says, refuses

from tagkit.corpus.source.decoding import read_lines
from tagkit.corpus.source.source import Source, open_bytes, source_name
from tagkit.errors import DataError, FileError, FormatError


class Pieces(io.RawIOBase):
    """A pipe: each read brings what was written at once."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = [piece for piece in pieces if piece]

    def read(self, size: int = -1) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


def lines_of(data: bytes, encoding: str = "utf-8", places: tuple[int, ...] = ()) -> list[str]:
    pieces = Pieces(cut(data, list(places)))
    return [line for lines in read_lines(pieces, "file", encoding) for line in lines]


def lines_before(data: bytes, encoding: str = "utf-8", **options: int) -> tuple[list[str], str]:
    """The lines that are given before an error, and its message."""
    found: list[str] = []
    with pytest.raises(DataError) as caught:
        take_all(read_lines(io.BytesIO(data), "file", encoding, **options), found)
    return found, str(caught.value)


def take_all(pieces: Iterable[list[str]], found: list[str]) -> None:
    for lines in pieces:
        found += lines


def expected_lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else lines


texts = st.text(
    alphabet=st.sampled_from("a\n\r\t \x85\x0b\x0c\x1c\u2028\xa0é日😀")
    | st.characters(codec="utf-8")
)


@given(texts, st.lists(st.integers(0, 1000), max_size=8))
def test_lines_are_those_between_line_feeds_however_the_bytes_arrive(
    text: str, places: list[int]
) -> None:
    text = text.removeprefix("\ufeff")
    assert lines_of(text.encode(), places=tuple(places)) == expected_lines(text)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "latin-1", "gb18030"])
@given(text=texts, places=st.lists(st.integers(0, 1000), max_size=5))
def test_lines_of_other_encodings_are_the_same(encoding: str, text: str, places: list[int]) -> None:
    text = text.encode(encoding, "ignore").decode(encoding)
    text = text.removeprefix("\ufeff")
    assert lines_of(text.encode(encoding), encoding, tuple(places)) == expected_lines(text)


@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "utf_8", "utf-8-sig"])
def test_a_byte_order_mark_is_passed_over(encoding: str) -> None:
    data = codecs.BOM_UTF8 + b"EU O\n"
    for place in range(5):
        assert lines_of(data, encoding, (place,)) == ["EU O"]


def test_only_a_line_feed_ends_a_line() -> None:
    text = "a\x85b\x0bc\x0cd\x1ce\x1df\x1eg\u2028h\u2029i\rj\r\nk"
    assert lines_of(text.encode()) == text.split("\n")
    assert lines_of(text.encode())[0].endswith("\r")


def test_the_last_line_needs_no_line_feed() -> None:
    assert lines_of(b"a\nb") == ["a", "b"]
    assert lines_of(b"a\nb\n") == ["a", "b"]
    assert lines_of(b"a\n\n") == ["a", ""]
    assert lines_of(b"") == []
    assert lines_of(b"\n") == [""]


def test_a_line_is_handed_on_before_the_next_bytes_are_read() -> None:
    pipe = Pieces([b"a\nb", b"c\n", b"d"])
    lines = read_lines(pipe, "file", "utf-8")
    assert next(lines) == ["a"]
    assert pipe.pieces == [b"c\n", b"d"]
    assert next(lines) == ["bc"]
    assert pipe.pieces == [b"d"]
    assert list(lines) == [["d"]]


def test_a_file_that_can_bring_what_is_there_is_not_made_to_wait_for_more() -> None:
    class Pipe(io.BytesIO):
        def read(self, *_: object) -> bytes:
            raise AssertionError("read() waits until it has all that was asked for")

    assert list(read_lines(Pipe(b"a\nb\n"), "file", "utf-8")) == [["a", "b"]]


def test_long_files_come_in_several_pieces_and_whole() -> None:
    text = "".join(f"Wört{number} O\n" for number in range(60_000))
    pieces = list(read_lines(io.BytesIO(text.encode()), "file", "utf-8"))
    assert len(pieces) > 1
    assert [line for lines in pieces for line in lines] == text.split("\n")[:-1]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text",
    ["EU B-ORG\nrejects O\n", "Łódź leży w Polsce.\n", "Рейс из Осло в Рим.\n",
     "رحلة من أوسلو إلى روما\n", "เที่ยวบินจากออสโลไปโรม\n", "Πτήση από το Όσλο\n"],
)  # fmt: skip
def test_utf_16_without_a_mark_is_told_by_its_control_characters(encoding: str, text: str) -> None:
    with refuses(FormatError, "file:1", "UTF", "16", "data.encoding=utf", "1"):
        lines_of(text.encode(encoding))
    assert lines_of(text.encode(encoding), encoding) == expected_lines(text)


@pytest.mark.parametrize(
    "data",
    [
        b"a\0b\0c d\n", b"abcdef\n\0", b"one\0two\0", b"ab \0" * 40, b"\t1\t2\t\0\t3\n" * 9,
        "Рейс\nиз\0 Осло\0\n".encode(), "我要\0去\n".encode() * 9, b"label\ttext\n\t\0\n",
    ],
)  # fmt: skip
def test_a_few_control_characters_are_characters(data: bytes) -> None:
    assert lines_of(data) == expected_lines(data.decode())


@given(
    st.lists(
        st.sampled_from([b"a\n", b"\xc3\xa9", b"\xff", b"\xc3", b"\n"]) | st.binary(max_size=3)
    ),
    st.lists(st.integers(0, 100), max_size=4),
)
def test_bytes_of_another_encoding_are_found_where_they_are(
    parts: list[bytes], places: list[int]
) -> None:
    # Zero bytes may be those of UTF-16: see the tests before.
    data = b"".join(parts).removeprefix(codecs.BOM_UTF8).replace(b"\0", b"\1")
    wrong = None
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        wrong = error.start
    if wrong is None:
        assert lines_of(data, places=tuple(places)) == expected_lines(data.decode("utf-8"))
        return
    line = data[:wrong].count(b"\n") + 1
    found: list[str] = []
    with pytest.raises(FormatError) as caught:
        take_all(read_lines(Pieces(cut(data, places)), "file", "utf-8"), found)
    assert found == data[:wrong].decode("utf-8").split("\n")[:-1]
    assert caught.value.line == line
    assert str(caught.value).startswith(
        f"file:{line}: byte 0x{data[wrong]:02x} at {wrong:,} is not utf-8 ("
    )


def test_the_message_of_a_wrong_encoding_says_what_to_do() -> None:
    with pytest.raises(FormatError) as caught:
        lines_of(b"EU O\nM\xfcnchen O\n")
    assert str(caught.value) == (Says("file:2", "6", "8", "data.encoding", "shift_jis"))
    with pytest.raises(FormatError) as caught:
        lines_of(codecs.BOM_UTF8 + b"EU O\nM\xfcnchen O\n")
    assert str(caught.value).startswith("file:2: byte 0xfc at 9 is not utf-8")
    with pytest.raises(FormatError) as caught:
        take_all(read_lines(io.BytesIO(b"EU O\n\x81 O\n"), "file", "cp1252"), [])
    assert str(caught.value).startswith("file:2: byte 0x81 at 5 is not cp1252 (character maps to")


@pytest.mark.parametrize(
    ("encoding", "bad"),
    [
        ("utf-8", b"\xff"), ("utf-16", b"\x00\xdc\x0a\x00"), ("utf-32", b"\xff\xff\xff\xff"),
        ("gb18030", b"\xff"), ("iso2022_jp", b"\xff"), ("cp1252", b"\x81"), ("utf-7", b"\xff"),
        ("ascii", b"\xff"), ("unicode_escape", b"\\x"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_all_lines_before_a_bad_byte_are_given(encoding: str, bad: bytes, mark: str) -> None:
    if mark and encoding != "utf-8":
        return
    lines = [f"a line, {number}" for number in range(5000)]  # several reads
    if encoding in ("gb18030", "iso2022_jp"):
        lines = [f"{line} 日本" for line in lines]  # in the latter after escapes that hold on
    text = "\n".join([*lines, "bad "])
    found, message = lines_before((mark + text).encode(encoding) + bad + b"x\nafter\n", encoding)
    assert found == lines
    at = len((mark + text).encode(encoding))
    assert message.startswith(f"file:5001: byte 0x{bad[0]:02x} at {at:,} is not ")


def test_all_lines_before_one_that_is_too_long_or_has_half_a_character_are_given() -> None:
    found, message = lines_before(b"a\nb\nabcde\nc\n", max_line_chars=4)
    assert (found, message) == (["a", "b"], Says("file:3: ", "4 characters"))
    found, message = lines_before(b"a\nb\n+2D0-\nc\n", "utf-7")
    assert (found, message) == (["a", "b"], Says("file:3: ", "U+D83D"))


def test_the_beginning_holds_what_could_be_read_and_the_error_follows_it(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for content in (b"a\nb\nM\xfcller\nc\n", gzip.compress(b"a\nb\nc" + b" " * 9999)[:-9]):
        path.write_bytes(content)
        source = Source(str(path), "utf-8")
        assert source.beginning() == source.beginning(waiting=False) == ["a", "b"]
        found: list[str] = []
        with pytest.raises(DataError):
            take_all(source.pieces(), found)
        assert found == ["a", "b"]
        with pytest.raises(DataError):
            Source(str(path), "utf-8").beginning(enough=3)


def test_a_line_that_is_too_long_is_an_error_of_the_whole_file() -> None:
    # What follows it is not read: to leave out records would not help.
    with refuses(FileError, "file:1", "4", "characters"):
        take_all(read_lines(io.BytesIO(b"abcde\nc\n"), "file", "utf-8", max_line_chars=4), [])


def test_a_character_cut_by_the_end_of_the_file_is_no_character() -> None:
    with refuses(FormatError, "file:2", "2", "8", "unexpected"):
        lines_of(b"a\n\xc3")


def test_an_escape_that_is_none_is_refused_without_a_warning() -> None:
    with refuses(FormatError, "file:1", "unicode_escape"):
        list(read_lines(io.BytesIO(b"a\nb\\s\n"), "file", "unicode_escape"))


def test_a_missing_file_a_folder_and_a_failing_disk_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught, open_bytes(str(tmp_path / "no.conll")):
        pass
    assert str(caught.value) == f"{tmp_path / 'no.conll'}: no such file"
    with pytest.raises(DataError) as caught, open_bytes(str(tmp_path)):
        pass
    assert str(caught.value) == Says(tmp_path, "directory")

    class Broken(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(DataError) as caught:
        list(read_lines(Broken(), "file", "utf-8"))
    assert str(caught.value) == Says("file", "output")


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\nb")))
    with open_bytes("-") as file:
        assert list(read_lines(file, source_name("-"), "utf-8")) == [["a"], ["b"]]
    assert not sys.stdin.closed
    assert source_name("-") == "standard input"
    assert source_name("a.conll") == "a.conll"


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_source_knows_how_many_bytes_of_the_file_it_has_read(
    tmp_path: Path, is_packed: bool
) -> None:
    content = "".join(f"{number * 7919} a line\n" for number in range(60_000)).encode()
    path = tmp_path / "x"
    path.write_bytes(gzip.compress(content) if is_packed else content)
    source, size = Source(str(path), "utf-8"), path.stat().st_size
    assert source.bytes_read == 0
    places = [source.bytes_read for _ in source.pieces()]
    assert places == sorted(places)
    assert 0 < places[0] < size
    assert source.bytes_read == size


def test_of_what_is_no_file_no_bytes_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\nb\n")))
    source = Source("-", "utf-8")
    assert [line for lines in source.pieces() for line in lines] == ["a", "b"]
    assert source.bytes_read == 0


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_is_unpacked_like_a_file(
    monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    content = gzip.compress(b"a\nb\n") if packed else b"a\nb\n"
    pipe = io.BufferedReader(io.BytesIO(content))  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(pipe))
    assert [line for lines in Source("-", "utf-8").pieces() for line in lines] == ["a", "b"]


def test_an_input_that_has_ended_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.RawIOBase):
        """One that says once that it has ended, and would wait if it were asked again."""

        asked = 0

        def readable(self) -> bool:
            return True

        def isatty(self) -> bool:
            return True

        def readinto(self, _: object) -> int:
            self.asked += 1
            assert self.asked == 1
            return 0

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Terminal())))
    assert list(Source("-", "utf-8").pieces()) == []
