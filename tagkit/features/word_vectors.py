"""Files of pretrained word vectors -> words and a matrix.

GloVe and fastText text, word2vec text and binary, each with or without gzip, and `.npy` with a
list of words in a file next to it.
"""

import codecs
import gzip
import os
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

import numpy as np
import numpy.typing as npt

from tagkit.errors import VectorsError
from tagkit.storage import PACKED
from tagkit.wording import quoted, reason

Matrix = npt.NDArray[np.float32]

# Limits of what is read, so that a file of another kind cannot fill the memory.
MAX_DIM = 100_000  # numbers in a vector; published vectors have at most a few thousand
MAX_LINE_BYTES = 8 * 2**20  # more than a word and MAX_DIM numbers need
MAX_WORD_BYTES = 2**16  # in the binary format, which has no lines
_MIN_GROWTH = 1024  # rows by which the matrix of a file of unknown length grows, at least
_DEFLATE_RATIO = 1032  # deflate compresses at most 1032 : 1 (zlib's technical details)
_HEADER = re.compile(rb"\s*(\d+)\s+(\d+)\s*")  # number of vectors, dimension
_BEGINNING = 20  # lines that show how many numbers a vector has
_BLOCK = 2**16  # bytes of the binary format that are read at once
_MAPPED_ROWS = 4096  # of a .npy matrix at a time
_WORD_LISTS = (".txt", ".vocab", ".words")  # endings of the list of words next to an .npy file


@dataclass(frozen=True, slots=True)
class Vectors:
    """Words and their vectors.

    Attributes:
        words: distinct, in the file's order.
        table: (words + 1, dim) float32, row 0 all zeros: it is that of no word. A model takes the
            table as it is, so that its vectors are in memory once.
        missing: number of vectors that the header of a text promises and that are not there.
    """

    words: tuple[str, ...]
    table: Matrix
    missing: int = 0

    @property
    def matrix(self) -> Matrix:
        """(words, dim) float32; it shares the table's memory."""
        return self.table[1:]

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return int(self.table.shape[1])


def load_vectors(path: Path, limit: int = 0) -> Vectors:
    """The vectors in a file, whose format is recognised by its name and its first line.

    Args:
        path: `.npy` (words in a file of the same name that ends in .txt, .vocab or .words), `.bin`
            (word2vec binary), anything else is text; text and binary may also end in `.gz`.
        limit: maximum number of words, read from the start, where the most frequent ones are; 0
            for all.

    Raises:
        VectorsError: the file is missing, cut short, or in another format.
    """
    try:
        # Not Path.is_file, which raises for some names; a pipe would block, and is refused too.
        if not os.path.isfile(path):
            raise VectorsError(f"{path}: {_why_no_file(path)}")
        if path.suffix == ".npy":
            pairs = _read_npy(path)
        elif path.name.removesuffix(PACKED).endswith(".bin"):
            pairs = _read_binary(path, limit)
        else:
            pairs = _read_text(path)
        # The readers are generators: their errors appear in `_collect`, inside this `try`.
        with np.errstate(over="ignore"):  # a number too large becomes inf, which is refused
            return _collect(path, pairs, limit)
    except (gzip.BadGzipFile, zlib.error):
        raise VectorsError(f"{path}: cannot be read: not a whole gzip file") from None
    except EOFError:
        raise VectorsError(f"{path}: cannot be read: the gzip file is cut short") from None
    except OSError as error:
        raise VectorsError(f"{path}: cannot be read: {reason(error)}") from None
    except MemoryError:
        raise VectorsError(
            f"{path}: not enough memory for these vectors; shorten the file to its first lines, "
            "which mostly are of the most frequent words"
        ) from None


def _why_no_file(path: Path) -> str:
    """Why there is no file of this name, for a message."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return "no such file of word vectors"
    except (OSError, ValueError) as error:
        return f"cannot be opened: {reason(error)}"
    return "expected a file of word vectors, found a folder or a device"


def _collect(path: Path, pairs: Iterator[tuple[str, Matrix]], limit: int) -> Vectors:
    words: dict[str, None] = {}  # distinct, in order
    table: Matrix = np.empty((0, 0), np.float32)
    number = 0
    for word, row in pairs:
        number += 1
        if word in words:  # the first vector of a word counts, as in gensim
            continue
        if len(words) + 1 >= len(table):  # of an empty table not even row 0 is there
            # Grown in place, where the system can move pages (mremap(2)): a list of rows that is
            # stacked at the end would be in memory twice.
            more = max(_MIN_GROWTH, len(table) // 8)
            table.resize((len(table) + more, len(row)), refcheck=False)  # with zeros
        words[word] = None
        table[len(words)] = row
        if limit and len(words) == limit:
            break
    if not words:
        raise VectorsError(f"{path}: holds no word vectors")
    table.resize((len(words) + 1, table.shape[1]), refcheck=False)
    # Both are NaN if any number is. Unlike isfinite() of the matrix this needs no memory.
    if not np.isfinite((table.min(), table.max())).all():
        # The first row with a number that is not finite.
        word = list(words)[int(np.flatnonzero(~np.isfinite(table).all(1))[0]) - 1]
        raise VectorsError(f"{path}: the vector of {quoted(word)} is not finite")
    missing = 0 if len(words) == limit else max(0, _promised(path) - number)
    return Vectors(tuple(words), table, missing)


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path) if path.suffix == PACKED else path.open("rb"))


def _lines(path: Path, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Numbered lines of at most `MAX_LINE_BYTES`."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise VectorsError(
                f"{path}:{number}: expected a word and its numbers, found a line of over "
                f"{MAX_LINE_BYTES:,} bytes"
            )
        yield number, line


def _parse_header(path: Path, header: re.Match[bytes]) -> tuple[int, int]:
    """Number of vectors and their dimension, as the header says.

    Raises:
        VectorsError: the numbers are out of range.
    """
    # Python refuses to convert more than 4300 digits, and takes long for many: 15 are enough.
    count, dim = (int(digits) if len(digits) <= 15 else None for digits in header.groups())
    if count is None or not dim or dim > MAX_DIM:
        shown = quoted(header[0].strip().decode())
        raise VectorsError(
            f"{path}: expected a header 'number dim' with a dim of 1 to {MAX_DIM:,}, found {shown}"
        )
    return count, dim


def _promised(path: Path) -> int:
    """The number of vectors in the header of a text; 0 where it has none."""
    if path.suffix == ".npy":  # whose shape is compared with the words
        return 0
    with _open(path) as file:
        header = _HEADER.fullmatch(file.readline(100).removeprefix(codecs.BOM_UTF8))
        return _parse_header(path, header)[0] if header else 0


def _read_text(path: Path) -> Iterator[tuple[str, Matrix]]:
    """GloVe, fastText: lines `word v1 v2 ...`; an optional first line `number dim`."""
    with _open(path) as file:
        dim, lines = 0, _lines(path, file)
        for number, first in islice(lines, 1):
            first = first.removeprefix(codecs.BOM_UTF8)
            if header := _HEADER.fullmatch(first):
                # The number is no limit: `head -n 100000` of a file keeps the header of the whole.
                _, dim = _parse_header(path, header)
            else:
                lines = chain([(number, first)], lines)
        if not dim:
            beginning = list(islice(lines, _BEGINNING))
            lines = chain(beginning, lines)
            dim = _dim_of(path, beginning)
        for number, line in lines:
            if line := _plain(line):
                yield _parse_line(f"{path}:{number}", line, dim)


def _plain(line: bytes) -> bytes:
    return line.rstrip(b" \t\r\n").replace(b"\t", b" ")


def _count(line: bytes) -> int:
    """How many numbers a line ends with, one part being the word; of none, how many other parts."""
    _, *parts = _plain(line).split(b" ")
    found = 0
    for part in reversed(parts):
        try:
            float(part)
        except ValueError:
            break
        found += 1
    return found or len(parts)


def _dim_of(path: Path, beginning: Sequence[tuple[int, bytes]]) -> int:
    """How many numbers most of the first lines have; 0 where there is none.

    Raises:
        VectorsError: these are too many.
    """
    # A word may have blanks in it, and a line may be damaged, the first one too: with the number of
    # its values all other lines would be words with a number at their end.
    counts = [(_count(line), number) for number, line in beginning if _plain(line)]
    if not counts:
        return 0
    dim, _ = Counter(count for count, _ in counts).most_common(1)[0]
    if dim > MAX_DIM:
        number = next(number for count, number in counts if count == dim)
        raise VectorsError(
            f"{path}:{number}: expected a word and at most {MAX_DIM:,} numbers, found {dim:,}"
        )
    return dim


def _parse_line(place: str, line: bytes, dim: int) -> tuple[str, Matrix]:
    # From the right: words of some published vectors contain spaces (". . ." in GloVe 840B).
    word, *values = line.rsplit(b" ", dim)
    try:
        if len(values) == dim and dim:
            return word.decode(errors="replace"), np.array(values, dtype=np.float32)
    except ValueError:
        pass
    shown = quoted(line.decode(errors="replace"))
    numbers = f"{dim} numbers" if dim > 1 else "its numbers"  # 1 of another file, as of tags
    raise VectorsError(f"{place}: expected a word and {numbers}, found {shown}")


def _read_binary(path: Path, limit: int) -> Iterator[tuple[str, Matrix]]:
    """word2vec binary: a line `number dim`, then for each word its name, a space, `dim` floats."""
    with _open(path) as file:
        header = _HEADER.fullmatch(file.readline(100))
        if not header:
            raise VectorsError(f"{path}: expected word2vec's header 'number dim' on the first line")
        count, dim = _parse_header(path, header)
        # Compared with the file's size before anything is read: a false header must not cost time
        # or memory. float32 is 4 bytes; a word may be empty, but its space is there.
        wanted = min(count, limit) if limit else count
        min_size = len(header[0]) + wanted * (4 * dim + 1)
        size = path.stat().st_size * (_DEFLATE_RATIO if path.suffix == PACKED else 1)
        if min_size > size:
            raise VectorsError(
                f"{path}: cut short, or not word2vec's binary form: the header promises {count:,} "
                f"vectors of {dim:,} numbers, which need {min_size:,} bytes or more; there are "
                f"{'at most ' if path.suffix == PACKED else ''}{size:,}"
            )
        blocks = ByteBlocks(file)
        for index in range(count):
            word = blocks.up_to(b" ", MAX_WORD_BYTES)
            if word is None:
                raise VectorsError(
                    f"{path}: not word2vec's binary form: word {index + 1:,} has over "
                    f"{MAX_WORD_BYTES:,} bytes"
                )
            values = blocks.take(4 * dim)
            if len(values) < 4 * dim:
                raise VectorsError(f"{path}: cut short: {index:,} of {count:,} vectors are there")
            # word2vec.c ends each vector with a line feed, other writers do not.
            yield word.lstrip(b"\n").decode(errors="replace"), np.frombuffer(values, "<f4")


class ByteBlocks:
    """A file whose parts have any length, read in blocks.

    A call of the file for each byte would take minutes for the words of millions of vectors.
    """

    def __init__(self, file: BinaryIO) -> None:
        """`file`: open, and read by nobody else from now on."""
        self._file = file
        self._block, self._at = b"", 0

    def up_to(self, end: bytes, most: int) -> bytes | None:
        """Bytes up to `end`, which is passed over, or to the file's end; None of over `most`."""
        while (found := self._block.find(end, self._at)) < 0:
            if len(self._block) - self._at > most:
                return None
            if not self._read():
                return self.take(len(self._block) - self._at)
        begin, self._at = self._at, found + len(end)
        return self._block[begin:found] if found - begin <= most else None

    def take(self, size: int) -> bytes:
        """So many bytes, or those to the file's end."""
        while len(self._block) - self._at < size and self._read():
            pass
        begin = self._at
        self._at = min(begin + size, len(self._block))
        return self._block[begin : self._at]

    def _read(self) -> bool:
        """Add a block to what is left; False at the file's end."""
        more = self._file.read(_BLOCK)
        self._block, self._at = self._block[self._at :] + more, 0
        return bool(more)


def _read_npy(path: Path) -> Iterator[tuple[str, Matrix]]:
    """A matrix, and its words, one a line, in a file next to it."""
    candidates = [path.with_suffix(ending) for ending in _WORD_LISTS]
    found = next((file for file in candidates if file.is_file()), None)
    if found is None:
        names = ", ".join(file.name for file in candidates)
        raise VectorsError(f"{path}: expected the words, one a line, beside it in one of {names}")
    try:
        # Not np.load, which also opens archives and, if allowed, pickles. numpy evaluates the
        # header as a Python literal, so a damaged one may raise nearly any exception.
        with warnings.catch_warnings():  # numpy warns about a header written by Python 2
            warnings.simplefilter("ignore")
            matrix = np.lib.format.open_memmap(path, mode="r")
    except OSError:  # `load_vectors` gives the system's reason
        raise
    except Exception:
        raise VectorsError(
            f"{path}: not a whole .npy matrix: damaged, cut short, or made of Python objects, "
            "which are never read; write it again with numpy.save"
        ) from None
    if matrix.dtype.kind not in "fiu":  # floats, and signed and unsigned integers
        raise VectorsError(
            f"{path}: expected a matrix of numbers, found {quoted(matrix.dtype.str)}"
        )
    number = _count_lines(found)
    if matrix.ndim != 2 or number != len(matrix):
        raise VectorsError(
            f"{path}: expected a matrix with one row for each of the {number:,} words of "
            f"{found.name}, found shape {matrix.shape}"
        )
    if not 0 < matrix.shape[1] <= MAX_DIM:
        raise VectorsError(
            f"{path}: expected vectors of 1 to {MAX_DIM:,} numbers, found shape {matrix.shape}"
        )
    with found.open(encoding="utf-8", errors="replace") as words:
        for row in _mapped_rows(path, matrix):
            word = words.readline(MAX_LINE_BYTES).removesuffix("\n")
            yield word, np.asarray(row, dtype=np.float32)


def _mapped_rows(path: Path, matrix: "np.memmap[Any, Any]") -> Iterator[npt.NDArray[Any]]:
    """The rows of a mapped matrix; with a limit only the first ones come into memory."""
    order: Literal["C", "F"] = "C" if matrix.flags.c_contiguous else "F"
    for begin in range(0, len(matrix), _MAPPED_ROWS):
        # Mapped anew: pages that were read stay in memory as long as their mapping does.
        block = np.memmap(path, matrix.dtype, "r", matrix.offset, matrix.shape, order)
        yield from block[begin : begin + _MAPPED_ROWS]


def _count_lines(path: Path) -> int:
    """Number of lines of a list of words; an empty file has one empty line."""
    number = 0
    with path.open(encoding="utf-8", errors="replace") as words:
        while line := words.readline(MAX_LINE_BYTES):
            number += 1
            if len(line) == MAX_LINE_BYTES:
                raise VectorsError(
                    f"{path}:{number}: expected a word, found a line of over {MAX_LINE_BYTES:,} "
                    "characters"
                )
    return max(number, 1)
