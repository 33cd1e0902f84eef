"""Numbers of tokens in cells and in JSON."""

from typing import Any

import pytest
from says import refuses

from tagkit.corpus.source.numbers import numbers_of, numbers_under


@pytest.mark.parametrize(
    ("cell", "numbers"),
    [("1", (1.0,)), ("-2.5e-3,.5, +7", (-0.0025, 0.5, 7.0)), ("3.4e38", (3.4e38,))],
)
def test_a_cell_holds_numbers_with_commas_between_them(
    cell: str, numbers: tuple[float, ...]
) -> None:
    assert numbers_of(cell) == numbers


@pytest.mark.parametrize("cell", ["", "a", "1,", ",1", "1 2", "nan", "inf", "1,-inf", "1e39", "1_0",
                                  "٣", "0x1"])  # fmt: skip
def test_what_is_no_finite_number_of_32_bits_is_refused(cell: str) -> None:
    with refuses(ValueError, repr(cell) if cell else "''", "commas", "data.vector_columns"):
        numbers_of(cell)


def test_a_key_holds_a_number_or_a_list_of_them_for_each_token() -> None:
    assert numbers_under([1, 2.5], "x", 2) == ((1.0,), (2.5,))
    assert numbers_under([[1, 2], [3, 4]], "x", 2) == ((1.0, 2.0), (3.0, 4.0))


@pytest.mark.parametrize(
    "values",
    [[1], 3, "12", [1, "2"], [1, None], [1, True], [1, []], [1, [[2]]], [1, float("nan")],
     [1, 10**400], {"a": 1, "b": 2}],
)  # fmt: skip
def test_what_is_no_number_for_each_token_is_refused(values: Any) -> None:
    with refuses(ValueError, "x:", "2 tokens", "data.vector_columns"):
        numbers_under(values, "x", 2)
