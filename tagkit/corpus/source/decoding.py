r"""Bytes -> lines of text, in pieces as they arrive; and what only the bytes show.

Lines end with \n alone: a \r before it stays with its line (and is written back), and \x85, \x0b,
U+2028 and the like are characters as any other. str.splitlines and text mode would cut there.
"""

import codecs
import gzip
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from tagkit.errors import DataError, FileError
from tagkit.limits import MAX_LINE_CHARS
from tagkit.storage import BYTE_ORDER_MARK
from tagkit.wording import LONE_SURROGATE, quoted, reason

_PIECE = 1 << 17  # bytes read at once, at most
_UTF_8 = ("utf-8", "utf-8-sig", "ascii")
_ENCODING = "data.encoding"
# How files of other kinds begin, which no encoding makes a corpus.
_SIGNATURES = (
    (b"PK\x03\x04", "a zip archive, or a document of Word or Excel"),
    (b"\xd0\xcf\x11\xe0", "a document of Word or Excel of old"),
    (b"%PDF", "a PDF document"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"\xff\xff\xff\xff", "an Arrow stream"),
    (b"BZh", "compressed with bzip2"),
    (b"x\x9c", "compressed with zlib, as .spacy of spaCy is"),
    (b"\xfd7zXZ", "compressed with xz"),
    (b"\x80\x04\x95", "a pickle of Python"),
    (b"\x80\x05\x95", "a pickle of Python"),
)
# Of Western Europe that of Windows: its curly quotes and euro sign would be control characters in
# latin-1, which knows all bytes. A wrong one of these is often read without an error.
_EXAMPLES = (
    ": cp1252 in Western Europe, cp1251 for Cyrillic, gb18030 for Chinese, shift_jis for Japanese"
)
_LATIN_1 = ", latin-1 for one"
_NAME_IT = "Name the file's encoding with"
# Byte order marks that are not UTF-8, as programs on Windows write them. The first begins with the
# second.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BEGINNINGS = tuple(mark for mark, _ in _MARKS)
_CONTROLS = bytes(range(0x20))  # tab and line ends as well
# Blanks, and marks of the writing direction and of joins, which count as not printable.
_INVISIBLE = dict.fromkeys(map(ord, "\t\n\r\xa0\xad\u200b\u200c\u200d\u200e\u200f\u2028\u3000"))
_ENOUGH = 20  # bytes: in fewer of them zeros are at the places of UTF-16's by chance
LINE_REMEDY = "Divide it into shorter ones, or raise data.max_line_chars"
# Python warns of an unknown escape such as \s, and says that a later version will raise.
_WARNING = ("unicode-escape",)  # codecs that warn of bytes that they cannot decode


def _strict(decoder: codecs.IncrementalDecoder, name: str) -> Callable[[bytes, bool], str]:
    """What a decoder does, or refuses to where Python alone warns."""
    if codecs.lookup(name).name not in _WARNING:
        return decoder.decode

    def decode(piece: bytes, final: bool) -> str:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return decoder.decode(piece, final)
        except Warning as error:  # an escape that is none, such as \s
            raise UnicodeError(str(error)) from None

    return decode


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
        self._decode = _strict(self._decoder, name)
        self._may_be_half = not name.startswith("utf-8")  # UTF-7, unicode_escape let halves through
        self._offset = 0  # of the next piece in the file

    def feed(self, piece: bytes, line: int) -> tuple[str, FileError | None]:
        """The text of the next bytes, or of those before a bad one, and what is wrong with that.

        Args:
            piece: the bytes; empty at the end of the file.
            line: number of the line in which they begin.

        Raises:
            FileError: the text as a whole is of another encoding.
        """
        if not self._offset and not self._may_be_half and (wide := _without_mark(piece)):
            raise FileError(
                self._source,
                1,
                (
                    f"holds zero bytes where {wide.upper()} has them. Name it with "
                    f"data.encoding={wide}"
                ),
            )
        failure: FileError | None = None
        state = self._decoder.getstate()
        try:
            text = self._decode(piece, not piece)
        except UnicodeDecodeError as error:
            # error.object begins with bytes that the piece before it left undecided.
            good = len(piece) - len(error.object) + error.start
            self._decoder.setstate(state)
            text = _decoded_before(self._decode, piece[: max(0, good)])
            at = self._offset + good
            failure = _bad_byte(self._source, line + text.count("\n"), at, self._encoding, error)
        except UnicodeError:  # of the text as a whole, as where UTF-16 lacks its mark
            raise FileError(self._source, line, _not_in(self._encoding)) from None
        self._offset += len(piece)
        if odd := self._may_be_half and LONE_SURROGATE.search(text):
            text, failure = text[: odd.start()], self._half(odd[0], line, text[: odd.start()])
        return text, failure

    def _half(self, half: str, line: int, before: str) -> FileError:
        """That half of a surrogate pair, which is no character, comes after a text."""
        problem = f"expected characters, found half of a surrogate pair, U+{ord(half):04X}"
        wrong = f"data.encoding={quoted(self._encoding)[1:-1]}"
        at_line = line + before.count("\n")
        return FileError(self._source, at_line, f"{problem}. Look at {wrong}")


def _bad_byte(
    source: str, number: int, at: int, encoding: str, error: UnicodeDecodeError
) -> FileError:
    """That a byte is not of an encoding.

    Args:
        source: name of the file.
        number: of its line.
        at: number of the byte in the file.
        encoding: of the text.
        error: of the decoder.
    """
    begins = error.object[:4] if at == 0 else b""
    for mark, marked in _MARKS:
        if begins.startswith(mark):
            problem = f"begins with the byte order mark of {marked.upper()}. Name it with "
            return FileError(source, number, f"{problem}data.encoding={marked}")
    beginning = error.object if error.start == at else b""  # of the file
    for signature, kind in _SIGNATURES:
        if beginning.startswith(signature):
            problem = f"is {kind}, and no text: save its content as text, CSV or JSON Lines"
            return FileError(source, number, problem)
    byte = error.object[error.start : error.start + 1].hex()
    problem = f"byte 0x{byte} at {at:,} is not {encoding} ({error.reason}). {_NAME_IT} "
    examples = _LATIN_1 if codecs.lookup(encoding).name == "cp1252" else _EXAMPLES
    return FileError(source, number, f"{problem}{_ENCODING}{examples}")


def _decoded_before(decode: Callable[[bytes, bool], str], piece: bytes) -> str:
    """The text of a piece's bytes before a bad one; empty where they cannot be told from it."""
    try:
        return decode(piece, False)
    except UnicodeError:
        return ""


def _without_mark(piece: bytes) -> str | None:
    """Which UTF-16 the first bytes of a file look like; much of it is valid UTF-8 as well."""
    first, second = piece[:64:2], piece[1:64:2]
    for zeros, others, encoding in ((second, first, "utf-16-le"), (first, second, "utf-16-be")):
        if len(piece) > 7 and all(others) and not any(zeros):  # ASCII, and Latin-1
            return encoding
    if len(piece) < _ENOUGH or b"\0" not in piece or piece.startswith(_BEGINNINGS):
        return None
    # Beside each character of most scripts stands a byte that is a control character in UTF-8, of
    # which text has few. Of other scripts, such as Han, there are bytes that are no UTF-8.
    controls = len(piece) - len(piece.translate(None, _CONTROLS))
    if 2 * controls < len(piece) - 1 and _decoded(piece, "utf-8") is not None:
        return None
    blanks = sum(map(piece.count, (b" ", b"\n", b"\r")))
    found: dict[str, int] = {}
    for encoding in ("utf-16-le", "utf-16-be"):
        text = _decoded(piece, encoding)
        # In the wrong byte order, and in other files with zero bytes, a blank is no character.
        ends = sum(map(text.count, " \n\r")) if text else 0
        if text and text.translate(_INVISIBLE).isprintable() and 2 * ends >= blanks:
            found[encoding] = sum(map(str.isascii, text))
    best = max(found, key=found.__getitem__, default=None)
    return best if best and found[best] else None


def _decoded(piece: bytes, encoding: str) -> str | None:
    """The text of bytes, which may end inside a character; None where they are of another one."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(piece)
    except UnicodeDecodeError:
        return None


def _not_in(encoding: str) -> str:
    """Why a text as a whole is not in an encoding."""
    kind = codecs.lookup(encoding).name
    if kind in ("utf-16", "utf-32"):
        problem = f"expected a byte order mark, with which {encoding} begins, found none"
        return f"{problem}. {_NAME_IT} {_ENCODING}: {kind}-le and {kind}-be have no mark"
    return f"is not {encoding}. {_NAME_IT} {_ENCODING}"


def _too_long(source: str, number: int, limit: int) -> FileError:
    return FileError(
        source,
        number,
        f"expected a line of at most {limit:,} characters, found a longer one. {LINE_REMEDY}",
    )
