"""The search for the least value of a function, and what is left of it if its time is over."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tagkit.nn import optimizers
from tagkit.nn.optimizers import minimize

SCALES = torch.tensor([1.0, 10.0, 100.0], dtype=torch.float64)
LEAST = torch.tensor([3.0, -2.0, 0.5], dtype=torch.float64)


def search(
    max_seconds: float, tick: Callable[[], None] = lambda: None
) -> tuple[Tensor, list[float]]:
    """What is found of a quadratic function, and its values on the way."""
    weights, values = torch.zeros(3, dtype=torch.float64, requires_grad=True), []

    def loss() -> Tensor:
        tick()
        value = (SCALES * (weights - LEAST) ** 2).sum()
        values.append(float(value.detach()))
        return value

    found = minimize([weights], loss, 50, max_seconds)
    assert found.evaluations == len(values)
    assert found.is_cut == (max_seconds < 60)  # of the tests below
    return weights.detach(), values


def value_of(weights: Tensor) -> float:
    return float((SCALES * (weights - LEAST) ** 2).sum())


@pytest.mark.parametrize("max_seconds", [60.0, math.inf])
def test_the_least_value_is_found(max_seconds: float) -> None:
    torch.testing.assert_close(search(max_seconds)[0], LEAST, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("numbers", "remembered"), [(10**9, 100), (48, 8), (6, 5), (1, 5)])
def test_many_weights_remember_fewer_steps(
    monkeypatch: pytest.MonkeyPatch, numbers: int, remembered: int
) -> None:
    given: list[int] = []

    class Recorded(optimizers._LBFGS):  # type: ignore[name-defined,misc]
        def __init__(self, *arguments: Any, history_size: int, **more: Any) -> None:
            given.append(history_size)
            super().__init__(*arguments, history_size=history_size, **more)

    monkeypatch.setattr(optimizers, "_HISTORY", numbers)
    monkeypatch.setattr(optimizers, "_LBFGS", Recorded)
    torch.testing.assert_close(search(math.inf)[0], LEAST, rtol=0, atol=1e-5)
    assert given == [remembered]


@pytest.mark.parametrize("calls", [1, 2, 3, 5])
def test_if_the_time_is_over_the_best_weights_until_then_are_kept(
    monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    now = [0.0]
    monkeypatch.setattr(optimizers.time, "monotonic", lambda: now[0])

    def tick() -> None:
        now[0] += 1

    found, values = search(calls - 0.5, tick)
    assert len(values) == calls
    assert value_of(found) == pytest.approx(min(values))


def test_without_any_time_the_weights_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def later() -> float:
        now[0] += 1
        return now[0]

    monkeypatch.setattr(optimizers.time, "monotonic", later)
    found, values = search(0.0)
    assert not found.any()
    assert not values
