"""Files of pretrained word vectors -> words and a matrix.

GloVe and fastText text, word2vec text and binary, each with or without gzip, and `.npy` with a
list of words beside it.
"""

import gzip
import os
import re
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import numpy.typing as npt

from tagkit.errors import VectorsError, shorten
from tagkit.wording import reason

Matrix = npt.NDArray[np.float32]

MAX_DIM = 100_000  # numbers of a vector: no network takes more
MAX_LINE_BYTES = 8 * 2**20  # a word and MAX_DIM numbers are less
MAX_WORD_BYTES = 2**16  # in the binary form, which has no lines
_DEFLATE_RATIO = 1032  # a gzip file unpacks to at most so many times its size
_HEADER = re.compile(rb"\s*(\d+)\s+(\d+)\s*")
_WORD_LISTS = (".txt", ".vocab", ".words")


@dataclass(frozen=True, slots=True)
class Vectors:
    """Words and their vectors.

    Attributes:
        words: distinct, in the file's order.
        matrix: (words, dim) float32.
    """

    words: tuple[str, ...]
    matrix: Matrix

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return int(self.matrix.shape[1])


def load_vectors(path: Path, limit: int = 0) -> Vectors:
    """Vectors of a file, the kind told by its name and its first line.

    Args:
        path: `.npy` (words in a file of the same name that ends in .txt, .vocab or .words), `.bin`
            (word2vec binary), anything else text; text and binary also with `.gz` behind.
        limit: only the first so many words, which are the most frequent; 0 for all.

    Raises:
        VectorsError: the file is missing, cut short, or of another kind.
    """
    try:
        if not os.path.isfile(path):
            raise VectorsError(f"{path}: {_absence(path)}")
        if path.suffix == ".npy":
            pairs = _read_npy(path)
        elif path.name.removesuffix(".gz").endswith(".bin"):
            pairs = _read_binary(path, limit)
        else:
            pairs = _read_text(path)
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
            f"{path}: there is not the memory for these vectors; embeddings.max_vectors takes the "
            "first ones only"
        ) from None


def _absence(path: Path) -> str:
    """Why there is no file of that name."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return "no such file of word vectors"
    except (OSError, ValueError) as error:
        return f"cannot be opened: {reason(error)}"
    return "expected a file of word vectors, found a folder or a device"


def _collect(path: Path, pairs: Iterator[tuple[str, Matrix]], limit: int) -> Vectors:
    rows: dict[str, Matrix] = {}
    for word, row in pairs:
        rows.setdefault(word, row)  # of a word given twice the first counts, as everywhere
        if limit and len(rows) == limit:
            break
    if not rows:
        raise VectorsError(f"{path}: holds no word vectors")
    matrix = np.stack(list(rows.values())).astype(np.float32, copy=False)
    if not np.isfinite(matrix).all():
        word = list(rows)[int(np.flatnonzero(~np.isfinite(matrix).all(1))[0])]
        raise VectorsError(f"{path}: the vector of {shorten(word)} is not finite")
    return Vectors(tuple(rows), matrix)


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path) if path.suffix == ".gz" else path.open("rb"))


def _lines(path: Path, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Numbered lines, none of them long enough to fill the memory."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise VectorsError(
                f"{path}:{number}: expected a word and its numbers, found a line of over "
                f"{MAX_LINE_BYTES:,} bytes"
            )
        yield number, line


def _promised(path: Path, header: re.Match[bytes]) -> tuple[int, int]:
    """Number of vectors and their dimension, as a header has them.

    Raises:
        VectorsError: no vectors are like that.
    """
    count, dim = (int(digits) if len(digits) <= 15 else None for digits in header.groups())
    if count is None or not dim or dim > MAX_DIM:
        shown = shorten(header[0].strip().decode())
        raise VectorsError(
            f"{path}: expected a header 'number dim' with a dim of 1 to {MAX_DIM:,}, found {shown}"
        )
    return count, dim


def _read_text(path: Path) -> Iterator[tuple[str, Matrix]]:
    """`word v1 v2 ...` a line, an optional first line `number dim`."""
    with _open(path) as file:
        dim = 0
        for number, line in _lines(path, file):
            if number == 1 and (header := _HEADER.fullmatch(line)):
                # Not compared with the file's size: `head -n 100000` of a file keeps its header.
                _, dim = _promised(path, header)
                continue
            line = line.rstrip(b" \t\r\n").replace(b"\t", b" ")
            if not line:
                continue
            dim = dim or line.count(b" ")
            if dim > MAX_DIM:
                raise VectorsError(
                    f"{path}:{number}: expected a word and at most {MAX_DIM:,} numbers, found "
                    f"{dim:,}"
                )
            yield _text_row(f"{path}:{number}", line, dim)


def _text_row(place: str, line: bytes, dim: int) -> tuple[str, Matrix]:
    # From the right: some published vectors have words with blanks in them.
    word, *values = line.rsplit(b" ", dim)
    try:
        if len(values) == dim and dim:
            return word.decode(errors="replace"), np.array(values, dtype=np.float32)
    except ValueError:
        pass
    shown = shorten(line.decode(errors="replace"))
    raise VectorsError(f"{place}: expected a word and {max(dim, 1)} numbers, found {shown}")


def _read_binary(path: Path, limit: int) -> Iterator[tuple[str, Matrix]]:
    """word2vec's binary: a line `number dim`, then of each word its name, a blank, floats."""
    with _open(path) as file:
        header = _HEADER.fullmatch(file.readline(100))
        if not header:
            raise VectorsError(f"{path}: expected word2vec's header 'number dim' on the first line")
        count, dim = _promised(path, header)
        wanted = min(count, limit) if limit else count
        least = len(header[0]) + wanted * (4 * dim + 1)  # a word may be empty, its blank is there
        size = path.stat().st_size * (_DEFLATE_RATIO if path.suffix == ".gz" else 1)
        if least > size:
            raise VectorsError(
                f"{path}: cut short, or not word2vec's binary form: the header promises {count:,} "
                f"vectors of {dim:,} numbers, which need {least:,} bytes or more; there are "
                f"{'at most ' if path.suffix == '.gz' else ''}{size:,}"
            )
        for index in range(count):
            word = bytearray()
            while (char := file.read(1)) not in (b" ", b""):
                word += char
                if len(word) > MAX_WORD_BYTES:
                    raise VectorsError(
                        f"{path}: not word2vec's binary form: word {index + 1:,} has over "
                        f"{MAX_WORD_BYTES:,} bytes"
                    )
            values = file.read(4 * dim)
            if len(values) < 4 * dim:
                raise VectorsError(f"{path}: cut short: {index:,} of {count:,} vectors are there")
            yield word.lstrip(b"\n").decode(errors="replace"), np.frombuffer(values, "<f4")


def _read_npy(path: Path) -> Iterator[tuple[str, Matrix]]:
    """A matrix, and its words one a line in a file beside it."""
    beside = [path.with_suffix(ending) for ending in _WORD_LISTS]
    found = next((file for file in beside if file.is_file()), None)
    if found is None:
        names = ", ".join(file.name for file in beside)
        raise VectorsError(f"{path}: expected the words, one a line, beside it in one of {names}")
    try:
        # Not np.load, which also opens archives and, if let, pickles. A damaged header is text that
        # numpy takes for Python's, so that it may raise nearly anything.
        with warnings.catch_warnings():  # numpy's on a header that Python 2 wrote
            warnings.simplefilter("ignore")
            matrix = np.lib.format.open_memmap(path, mode="r")
    except OSError:
        raise
    except Exception:
        raise VectorsError(
            f"{path}: not a whole .npy matrix: damaged, cut short, or made of Python objects, "
            "which are never read; write it again with numpy.save"
        ) from None
    if matrix.dtype.kind not in "fiu":
        raise VectorsError(
            f"{path}: expected a matrix of numbers, found {shorten(matrix.dtype.str)}"
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
        for row in matrix:
            word = words.readline(MAX_LINE_BYTES).removesuffix("\n")
            yield word, np.asarray(row, dtype=np.float32)


def _count_lines(path: Path) -> int:
    """Lines of a list of words; an empty file has one, which is empty."""
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
