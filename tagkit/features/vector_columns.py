"""Columns of numbers as inputs: standardised by what the training corpus has of them."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from tagkit.config import Column
from tagkit.errors import DataError, FileError
from tagkit.text.json_text import kind_of
from tagkit.text.records import Sentence
from tagkit.wording import clipped, plural

Numbers = npt.NDArray[np.float32]


@dataclass(frozen=True)
class VectorColumn:
    """What the training corpus has of one column of numbers.

    Attributes:
        mean: of each number of a token.
        deviation: standard deviation of each; 1 of one that is the same at all tokens.
    """

    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def read_vectors(values: Any) -> tuple[VectorColumn, ...]:
    """The columns of a vocabulary, each as `to_dict` gave it.

    Raises:
        KeyError: a value is missing.
        TypeError: a value has the wrong type.
        ValueError: a column has not as many deviations above 0 as means.
    """
    if not isinstance(values, list):
        raise TypeError(f"vectors: expected a list, found {kind_of(values)}")
    found = []
    for each in values:
        parts = [each[field.name] for field in fields(VectorColumn)]
        if any(type(number) not in (int, float) for part in parts for number in part):
            raise TypeError("vectors: expected lists of numbers")
        mean, deviation = (tuple(map(float, part)) for part in parts)
        are_finite = all(map(math.isfinite, mean + deviation))
        if not are_finite or not 0 < len(mean) == len(deviation) or min(deviation) <= 0:
            raise ValueError("vectors: expected as many deviations above 0 as means")
        found.append(VectorColumn(mean, deviation))
    return tuple(found)


def learn_vectors(sentences: Sequence[Sentence]) -> tuple[VectorColumn, ...]:
    """Mean and deviation of each column, over all tokens; each token has as many numbers."""
    found = []
    for values in map(np.array, _columns(sentences)):  # (tokens, numbers)
        # Not by the deviation: rounded sums would give equal numbers one that is nearly 0.
        differs = values.min(0) < values.max(0)
        deviation = np.where(differs, values.std(0), 1)
        found.append(VectorColumn(tuple(values.mean(0).tolist()), tuple(deviation.tolist())))
    return tuple(found)


def standardised(sentences: Sequence[Sentence], columns: Sequence[VectorColumn]) -> Numbers:
    """(tokens, numbers of all columns) of mean 0 and deviation 1 in training, of some columns.

    The standard score, z = (x - mean) / deviation.
    """
    parts = zip(_columns(sentences), columns, strict=True)
    found = [(np.array(values) - column.mean) / column.deviation for values, column in parts]
    return np.concatenate(found, 1).astype(np.float32)


def _columns(sentences: Sequence[Sentence]) -> list[list[Sequence[float]]]:
    """Of each column the numbers of all tokens."""
    count = len(sentences[0].vectors)
    return [[each for s in sentences for each in s.vectors[place]] for place in range(count)]


def check_vectors(
    sentence: Sentence, sizes: Sequence[int], names: Sequence[Column], file: str = ""
) -> None:
    """Refuse a sentence without the columns of numbers that a model reads.

    Args:
        sentence: with numbers of any kind.
        sizes: how many numbers each column has at a token.
        names: of the columns, as `data.vector_columns` has them.
        file: that the sentence is of; empty where that is not known.

    Raises:
        DataError: a column is missing, or has another number of them at a word, or one that is not
            finite; a `FileError` where file and line are known.
    """
    problem, at = "", 0
    if len(sentence.vectors) != len(sizes):
        named = f" ({', '.join(map(str, names))})" * bool(names)
        problem = (
            f"expected {plural(len(sizes), 'column')} of numbers beside the words, as "
            f"data.vector_columns has{named}, found {len(sentence.vectors)}; columns of a file "
            "with a token a line have them, and keys of JSON Lines"
        )
    for name, size, column in zip(names, sizes, sentence.vectors, strict=not problem):
        if problem or _fits(column, len(sentence), size):
            continue
        # A column that is too short or too long, else the first odd value.
        found = plural(len(column), "value")
        if len(column) == len(sentence):
            at = next(n for n, each in enumerate(column) if not _fits([each], 1, size))
            found = f"{clipped(repr(column[at]))} at word {at + 1}"
        problem = (
            f"vector column {name}: expected {plural(size, 'finite number')} for each of "
            f"{plural(len(sentence), 'word')}, as the first one of training has, found {found}"
        )
    if problem and file and len(sentence.lines) > at:
        raise FileError(file, sentence.lines[at], problem)
    if problem:
        raise DataError(f"{file}: {problem}" if file else problem)


def _fits(column: Sequence[Any], words: int, size: int) -> bool:
    """Whether a column has so many finite numbers for each of so many words."""
    try:
        values = np.array(column, np.float64)
    except (TypeError, ValueError):  # lists of different lengths, or no numbers
        return False
    return values.shape == (words, size) and bool(np.isfinite(values).all())
