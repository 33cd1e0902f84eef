r"""Bytes -> lines of text, in pieces as they arrive; and what only the bytes show.

Lines end with \n alone: a \r before it stays with its line (and is written back), and \x85, \x0b,
U+2028 and the like are characters as any other. str.splitlines and text mode would cut there.
"""

import codecs
import gzip
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from tagkit.errors import DataError, FileError
from tagkit.limits import MAX_LINE_CHARS
from tagkit.storage import BYTE_ORDER_MARK
from tagkit.wording import LONE_SURROGATE, reason

_PIECE = 1 << 17  # bytes read at once, at most
_UTF_8 = ("utf-8", "utf-8-sig", "ascii")
# Of Western Europe that of Windows: its curly quotes and euro sign would be control characters in
# latin-1, which knows all bytes. A wrong one of these is often read without an error.
_EXAMPLES = (
    ": cp1252 in Western Europe, cp1251 for Cyrillic, gb18030 for Chinese, shift_jis for Japanese"
)
# Byte order marks that are not UTF-8, as programs on Windows write them. The first begins with the
# second.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Bytes that show UTF-16: a few control characters may be in any text.
_ENOUGH, _LOOKED_AT = 20, 1000
_CONTROLS = bytes({*range(0x20)} - {*b"\t\n\r"})
LINE_REMEDY = "Divide it into shorter ones"


class ByteFacts:
    """What the bytes of a text show, and its lines no longer do.

    Attributes:
        has_mark: whether it begins with the byte order mark of UTF-8.
        ends_last_line: whether its last line has a line end; True of an empty text.
    """

    def __init__(self, encoding: str) -> None:
        """Nothing has been seen yet; `encoding` is that in which the text is read."""
        self.has_mark = False
        self.ends_last_line = True
        self._start = b""
        self._is_ascii = True
        # Decoding once more is for the few corpora that are not read as UTF-8.
        decoder = None if is_utf_8(encoding) else codecs.getincrementaldecoder("utf-8")()
        self._decode = decoder.decode if decoder else None

    @property
    def is_other_utf_8(self) -> bool:
        """Whether it is UTF-8 though it is read in another encoding, beyond ASCII."""
        return self._decode is not None and not self._is_ascii

    def see(self, piece: bytes) -> None:
        """Take note of the next bytes; empty ones at the end."""
        mark = BYTE_ORDER_MARK.encode()
        if len(self._start) < len(mark):  # a pipe may bring the mark byte by byte
            self._start += piece[: len(mark)]
            self.has_mark = self._start.startswith(mark)
        if self._decode is not None:
            self._is_ascii = self._is_ascii and piece.isascii()
            try:
                self._decode(piece, not piece)
            except UnicodeDecodeError:
                self._decode = None


def is_utf_8(encoding: str) -> bool:
    """Whether text in an encoding is UTF-8 as well."""
    return codecs.lookup(encoding).name in _UTF_8


@contextmanager
def readable(source: str) -> Iterator[None]:
    """What reading bytes fails with, in words.

    Raises:
        DataError: the file `source` cannot be read, or gzip's data are damaged.
    """
    try:
        yield
    except EOFError:
        raise DataError(f"{source}: the gzip file is cut short") from None
    except (gzip.BadGzipFile, zlib.error):
        raise DataError(f"{source}: the gzip file is damaged") from None
    except OSError as error:
        raise DataError(f"{source}: cannot be read: {reason(error)}") from None


def read_lines(
    file: BinaryIO,
    source: str,
    encoding: str,
    *,
    keep_ends: bool = False,
    max_line_chars: int = MAX_LINE_CHARS,
    facts: ByteFacts | None = None,
) -> Iterator[list[str]]:
    """Lines without their line feeds, as many at a time as one read brings.

    A reader that passes on each list before it asks for the next one never holds back a line that
    has arrived: what a pipe brings is at hand at once. The lines before one that cannot be read are
    given before the error is raised.

    Args:
        file: read with `read1` where it has that, so that a pipe is not waited for.
        source: name of the file in messages.
        encoding: of the text; a byte order mark before UTF-8 is skipped.
        keep_ends: whether lines keep their line feeds.
        max_line_chars: a line that is longer is refused as soon as so much of it has been read: a
            few packed bytes may unpack to gigabytes.
        facts: where what the bytes show is kept; complete after the last line.

    Raises:
        FormatError: bytes that are not of this encoding, or a line that is too long.
    """
    decoder = _Decoder(source, encoding)
    begun: list[str] = []  # pieces of a line whose end has not come; one join, however many
    length = 0  # of that line, in characters
    number = 1
    for piece in _pieces(file, source, facts):
        text, failure = decoder.feed(piece, number)
        # Not splitlines(), which also cuts at \x85, \x0b, \x1c and U+2028.
        first, *others = text.split("\n")
        begun.append(first)
        length += len(first)
        if length > max_line_chars:  # before the line's end is read: there may be none
            raise _too_long(source, number, max_line_chars)
        if others:
            lines = ["".join(begun), *others]
            # A low limit, which lines of this piece may exceed.
            over = (at for at, line in enumerate(lines) if len(line) > max_line_chars)
            if len(text) > max_line_chars and (at := next(over, None)) is not None:
                failure = _too_long(source, number + at, max_line_chars)
                lines = [*lines[:at], ""]  # the last one is not given
            begun = [lines.pop()]
            length = len(begun[0])
            number += len(lines)
            yield [f"{line}\n" for line in lines] if keep_ends else lines
        if failure is not None:
            raise failure
        if not piece:
            if rest := "".join(begun):  # the last line of a file often lacks its end
                if facts is not None:
                    facts.ends_last_line = False
                yield [rest]


def _pieces(file: BinaryIO, source: str, facts: ByteFacts | None) -> Iterator[bytes]:
    """What each read brings, an empty piece at the end."""
    read = getattr(file, "read1", file.read)
    piece = b"begun"
    while piece:
        with readable(source):
            piece = read(_PIECE)
        if facts is not None:
            facts.see(piece)
        yield piece


class _Decoder:
    """The text of a file's bytes, piece by piece, up to the first that is not of its encoding."""

    def __init__(self, source: str, encoding: str) -> None:
        self._source, self._encoding = source, encoding
        # utf-8-sig drops a byte order mark, which would become part of the first word.
        name = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
        # Incremental, as a read may end inside a character.
        self._decoder = codecs.getincrementaldecoder(name)()
        self._is_utf_8 = name == "utf-8-sig"
        self._offset = 0  # of the next piece in the file

    def feed(self, piece: bytes, line: int) -> tuple[str, FileError | None]:
        """The text of the next bytes, or of those before a bad one, and what is wrong with that.

        Args:
            piece: the bytes; empty at the end of the file.
            line: number of the line in which they begin.

        Raises:
            FileError: the text as a whole is of another encoding.
        """
        if self._is_utf_8 and not self._offset:
            self._refuse_utf_16(piece)
        failure: FileError | None = None
        state = self._decoder.getstate()
        try:
            text = self._decode(piece, not piece)
        except UnicodeDecodeError as error:
            # error.object begins with bytes that the piece before it left undecided.
            good = len(piece) - len(error.object) + error.start
            self._decoder.setstate(state)
            try:
                text = self._decode(piece[: max(0, good)], False)
            except UnicodeError:  # the bytes before cannot be told from it
                text = ""
            byte, at = error.object[error.start], self._offset + good
            problem = f"byte 0x{byte:02x} at {at:,} is not {self._encoding} ({error.reason})"
            failure = self._failure(line + text.count("\n"), problem)
        except (UnicodeError, Warning):  # of the text as a whole, as where UTF-16 lacks its mark
            problem = f"is not {self._encoding}, or lacks its byte order mark"
            raise self._failure(line, problem) from None
        self._offset += len(piece)
        # UTF-7 and others let halves of a surrogate pair through, which are no characters.
        if not self._is_utf_8 and (odd := LONE_SURROGATE.search(text)):
            text = text[: odd.start()]
            problem = f"expected characters, found half of a surrogate pair, U+{ord(odd[0]):04X}"
            failure = self._failure(line + text.count("\n"), problem)
        return text, failure

    def _decode(self, piece: bytes, final: bool) -> str:
        if self._is_utf_8:
            return self._decoder.decode(piece, final)
        # Of an escape that is none, such as \s, unicode_escape warns: a later Python will raise.
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return self._decoder.decode(piece, final)

    def _refuse_utf_16(self, piece: bytes) -> None:
        """Refuse UTF-16 and UTF-32, by the mark or the bytes that they begin with.

        Raises:
            FileError: it is one of them.
        """
        for mark, marked in _MARKS:
            if piece.startswith(mark):
                problem = f"begins with the byte order mark of {marked.upper()}. Name it with"
                raise FileError(self._source, 1, f"{problem} data.encoding={marked}")
        # Beside each letter of most scripts stands a byte that is a control character in UTF-8.
        begins = piece[:_LOOKED_AT]
        controls = len(begins) - len(begins.translate(None, _CONTROLS))
        if len(begins) >= _ENOUGH and 4 * controls > len(begins):
            problem = "holds control characters rather than text, as UTF-16 does. Name its encoding"
            named = "data.encoding=utf-16-le or utf-16-be"
            raise FileError(self._source, 1, f"{problem} with {named}")

    def _failure(self, line: int, problem: str) -> FileError:
        """That the text is not in its encoding, and how another one is named."""
        remedy = f"Name the file's encoding with data.encoding{_EXAMPLES}"
        return FileError(self._source, line, f"{problem}. {remedy}")


def _too_long(source: str, number: int, limit: int) -> FileError:
    return FileError(
        source,
        number,
        f"expected a line of at most {limit:,} characters, found a longer one. {LINE_REMEDY}",
    )
