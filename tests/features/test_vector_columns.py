"""Columns of numbers: what standardises them, and which sentences have them."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from says import refuses

from tagkit.errors import DataError, FormatError
from tagkit.features.vector_columns import (
    VectorColumn,
    check_vectors,
    learn_vectors,
    read_vectors,
    standardised,
)
from tagkit.text.records import Sentence

NUMBERS = st.floats(-1e6, 1e6)
ROWS = st.lists(st.tuples(st.tuples(NUMBERS, NUMBERS), st.tuples(NUMBERS)), min_size=1, max_size=9)


def sentence(rows: list[tuple[tuple[float, ...], ...]], **more: Any) -> Sentence:
    return Sentence(("w",) * len(rows), vectors=tuple(zip(*rows, strict=True)), **more)


@given(st.lists(ROWS, min_size=1, max_size=4), ROWS)
def test_numbers_are_standardised_as_numpy_does_with_those_of_training(
    train: list[list[Any]], other: list[Any]
) -> None:
    learnt = learn_vectors([sentence(rows) for rows in train])
    whole = np.array([[*pair, *one] for rows in train for pair, one in rows])
    deviation = np.where(np.ptp(whole, axis=0) > 0, np.std(whole, axis=0), 1)
    rest = np.array([[*pair, *one] for pair, one in other])
    found = standardised([sentence(other)], learnt)
    assert found is not None
    expected = (rest - np.mean(whole, axis=0)) / deviation
    np.testing.assert_allclose(found, expected.astype(np.float32), rtol=1e-6)


def test_a_number_that_is_always_the_same_is_only_centred() -> None:
    # Its rounded mean is another number, so that the deviation is not quite 0.
    learnt = learn_vectors([sentence([((0.1, 1.0),), ((0.1, 3.0),), ((0.1, 5.0),)])])
    assert learnt[0].deviation[0] == 1
    assert learnt[0].mean == pytest.approx((0.1, 3.0))


def test_what_was_written_is_read_again() -> None:
    columns = (VectorColumn((0.1, 1 / 3), (1.0, 2e-9)), VectorColumn((5.0,), (1.5,)))
    assert read_vectors(json.loads(json.dumps([each.to_dict() for each in columns]))) == columns


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({}, TypeError),
        ([{"mean": [1.0]}], KeyError),
        ([{"mean": [1.0], "deviation": ["1"]}], TypeError),
        ([{"mean": [1.0], "deviation": [True]}], TypeError),
        ([{"mean": [1.0], "deviation": [0.0]}], ValueError),
        ([{"mean": [1.0, 2.0], "deviation": [1.0]}], ValueError),
        ([{"mean": [], "deviation": []}], ValueError),
        ([{"mean": [float("inf")], "deviation": [1.0]}], ValueError),
    ],
)
def test_a_damaged_vocabulary_is_refused(values: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        read_vectors(values)


PLACED: dict[str, Any] = {"lines": (4, 5)}


@pytest.mark.parametrize(
    ("vectors", "says"),
    [
        ((), ("2 columns", "data.vector_columns", "0")),
        (([(1.0, 2.0)] * 2,), ("2 columns", "1")),
        (
            ([(1.0, 2.0), (1.0,)], [(1.0,)] * 2),
            ("column 1", "2 finite numbers", "(1.0,)", "word 2"),
        ),
        (([(1.0, 2.0)] * 2, [(1.0,), (float("nan"),)]), ("column y", "1 finite", "nan")),
        (([(1.0, 2.0)] * 2, [(1.0,), ("x",)]), ("column y", "'x'")),
        (([(1.0, 2.0)] * 2, [(1.0,)]), ("column y", "1 value", "2 words")),
        (([(1.0, 2.0)] * 2, [1.0, 2.0]), ("column y", "1.0", "word 1")),
    ],
)
def test_a_sentence_without_the_numbers_is_refused(vectors: Any, says: tuple[str, ...]) -> None:
    odd = Sentence(("a", "b"), vectors=vectors, **PLACED)
    with refuses(DataError, *says):
        check_vectors(odd, [2, 1], [1, "y"])
    line = 5 if "word 2" in says or "nan" in says or "'x'" in says else 4
    with refuses(FormatError, f"in.conll:{line}:", *says):
        check_vectors(odd, [2, 1], [1, "y"], "in.conll")


def test_arrays_of_numpy_are_numbers_too() -> None:
    check_vectors(Sentence(("a", "b"), vectors=(np.ones((2, 3)),)), [3], ["x"])  # type: ignore[arg-type]
