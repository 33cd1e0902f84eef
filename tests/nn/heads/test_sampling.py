"""Schedules of scheduled sampling, against the formulas of Bengio et al. 2015."""

import math

import pytest
from says import refuses

from tagkit.nn.heads.sampling import Sampling


def probabilities(kind: str, rate: float, steps: int, at: list[int]) -> list[float]:
    return [Sampling(kind, rate, steps).probability(step) for step in at]


def test_teacher_forcing_never_reads_a_prediction() -> None:
    assert probabilities("none", 0.9, 10, [0, 5, 10**9]) == [0, 0, 0]


def test_a_constant_rate_holds_from_the_first_step_on() -> None:
    assert probabilities("constant", 0.3, 10, [0, 5, 10**9]) == [0.3, 0.3, 0.3]


def test_linear_reaches_the_rate_at_the_last_of_its_steps_and_keeps_it() -> None:
    assert probabilities("linear", 0.4, 8, [0, 2, 4, 8, 9, 10**9]) == pytest.approx(
        [0, 0.1, 0.2, 0.4, 0.4, 0.4]
    )


@pytest.mark.parametrize("k", [2.0, 5.0, 100.0, 1e5])
def test_inverse_sigmoid_is_the_papers_with_k_found_from_the_step_of_one_half(k: float) -> None:
    steps = round(k * math.log(k))
    for step in (0, steps // 2, steps, 2 * steps):
        expected = 0.8 * (1 - k / (k + math.exp(step / k)))
        (found,) = probabilities("inverse-sigmoid", 0.8, steps, [step])
        assert found == pytest.approx(expected, rel=0.2, abs=0.01)  # `steps` is rounded
    assert probabilities("inverse-sigmoid", 0.8, steps, [steps]) == pytest.approx([0.4])


@pytest.mark.parametrize("steps", [1, 2, 1000, 10**12])
def test_inverse_sigmoid_of_any_length_rises_to_the_rate(steps: int) -> None:
    at = [0, steps, 3 * steps, 10 * steps, 10**18]
    found = probabilities("inverse-sigmoid", 1.0, steps, at)
    assert found == sorted(found)
    assert found[0] < 0.5
    assert found[1] == pytest.approx(0.5)
    assert found[-1] == pytest.approx(1)


def test_another_kind_is_refused_with_those_that_there_are() -> None:
    with refuses(ValueError, "'cubic'", "none, constant, linear, inverse-sigmoid"):
        Sampling("cubic", 0.5, 10).probability(1)
