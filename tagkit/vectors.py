"""Files of pretrained word vectors -> words and a matrix.

GloVe and fastText text, word2vec text and binary, each with or without gzip, and `.npy` with a
list of words beside it.
"""

import gzip
import os
import re
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
    if not os.path.isfile(path):
        raise VectorsError(f"{path}: {_absence(path)}")
    try:
        if path.suffix == ".npy":
            pairs = _read_npy(path)
        elif path.name.removesuffix(".gz").endswith(".bin"):
            pairs = _read_binary(path)
        else:
            pairs = _read_text(path)
        with np.errstate(over="ignore"):  # a number too large becomes inf, which is refused
            return _collect(path, pairs, limit)
    except (OSError, EOFError, zlib.error) as error:
        said = reason(error) if isinstance(error, OSError) else str(error)
        raise VectorsError(f"{path}: cannot be read: {said}") from None


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


def _read_text(path: Path) -> Iterator[tuple[str, Matrix]]:
    """`word v1 v2 ...` a line, an optional first line `number dim`."""
    with _open(path) as file:
        dim = 0
        for number, line in enumerate(file, 1):
            if number == 1 and _HEADER.fullmatch(line):
                dim = int(_HEADER.fullmatch(line)[2])  # type: ignore[index]
                continue
            line = line.rstrip(b" \t\r\n")
            if not line:
                continue
            dim = dim or len(line.replace(b"\t", b" ").split(b" ")) - 1
            yield _text_row(f"{path}:{number}", line.replace(b"\t", b" "), dim)


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


def _read_binary(path: Path) -> Iterator[tuple[str, Matrix]]:
    """word2vec's binary: a line `number dim`, then of each word its name, a blank, floats."""
    with _open(path) as file:
        header = _HEADER.fullmatch(file.readline(100))
        if not header:
            raise VectorsError(f"{path}: expected word2vec's header 'number dim' on the first line")
        count, dim = int(header[1]), int(header[2])
        for index in range(count):
            word = bytearray()
            while (char := file.read(1)) not in (b" ", b""):
                word += char
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
        # Not np.load, which also opens archives and, if let, pickles.
        matrix = np.lib.format.open_memmap(path, mode="r")
    except ValueError as error:
        raise VectorsError(f"{path}: not a whole .npy matrix: {error}") from None
    if matrix.dtype.kind not in "fiu":
        raise VectorsError(f"{path}: expected a matrix of numbers, found {matrix.dtype}")
    words = found.read_text(encoding="utf-8", errors="replace").removesuffix("\n").split("\n")
    if matrix.ndim != 2 or len(words) != len(matrix):
        raise VectorsError(
            f"{path}: expected a matrix with one row for each of the {len(words):,} words of "
            f"{found.name}, found shape {matrix.shape}"
        )
    for word, row in zip(words, matrix, strict=True):
        yield word, np.asarray(row, dtype=np.float32)
