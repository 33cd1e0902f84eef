"""What texts a language model is asked for: refused values, and options without an effect."""

from typing import Any

import pytest
from says import Says

from tagkit.errors import DataError
from tagkit.inference.generate.generation_options import (
    GenerationOptions,
    options_of,
    without_effect,
)
from tagkit.wording import clipped

SEED = "expected a whole number, at least 0 and below 2**63"


def test_what_is_given_stands_and_all_else_has_its_default() -> None:
    assert options_of({}) == GenerationOptions()
    given = {"samples": 2, "temperature": 0.5, "end": "length", "greedy": False, "beam": 0}
    assert options_of(given) == GenerationOptions(samples=2, temperature=0.5, end="length")
    assert options_of({"seed": 2**63 - 1}).seed == 2**63 - 1
    assert options_of({"beam": 4, "length_penalty": 2}).length_penalty == 2
    # torch divides by no whole number of more than 64 bits.
    large = options_of({"temperature": 10**30, "repetition_penalty": 10**30})
    assert (repr(large.temperature), repr(large.repetition_penalty)) == ("1e+30", "1e+30")


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"temperature": -1}, Says("temperature", "0", "-1")),
        (
            {"temperature": 10**400},
            Says("temperature", "0", clipped(str(10**400))),
        ),
        ({"top_p": 0}, Says("top_p", "0", "1", "number")),
        ({"seed": -1}, Says("seed", SEED, "-1")),
        ({"seed": 2**63}, Says("seed", SEED, 2**63)),
        ({"top_k": -1}, Says("top_k", "0", "-1", "number")),
        ({"end": "stop"}, Says("end", "'stop'")),
    ],
)
def test_values_out_of_range_are_refused_by_name(given: dict[str, Any], error: str) -> None:
    with pytest.raises(DataError) as caught:
        options_of(given)
    assert str(caught.value) == error


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"beam": 3, "samples": 2, "length_penalty": 0, "end": "length"}, None),
        ({"greedy": True, "repetition_penalty": 2, "max_units": 5}, None),
        ({"greedy": False, "seed": 2}, None),
        ({"temperature": 0, "repetition_penalty": 2}, None),
        ({"beam": 3, "greedy": True}, Says("greedy")),
        ({"length_penalty": 1}, Says("length_penalty")),
        ({"greedy": True, "length_penalty": 1}, Says("length_penalty")),
        ({"greedy": True, "temperature": 0},
         Says("greedy=True", "temperature")),
        ({"temperature": 0, "seed": 1},
         Says("temperature=0")),
    ],
)  # fmt: skip
def test_an_option_without_an_effect_beside_the_others_is_named(
    given: dict[str, Any], problem: str | None
) -> None:
    assert without_effect(given) == problem
