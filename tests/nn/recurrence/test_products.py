"""Products of states with recurrent weights, in every precision."""

import pytest
import torch
from torch import Tensor

from tagkit.nn.layers.inference import PRECISIONS
from tagkit.nn.recurrence.products import PRODUCTS, Int8Product


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_the_precisions_are_the_keys_of_the_table_full_precision_first() -> None:
    assert PRECISIONS == tuple(PRODUCTS) == ("fp32", "bf16", "int8")


@pytest.mark.parametrize("bounded", [True, False])
@pytest.mark.parametrize(("precision", "error"), [("fp32", 1e-6), ("bf16", 2e-2), ("int8", 2e-2)])
def test_a_product_is_near_torchs_own_and_can_be_added(
    precision: str, error: float, bounded: bool
) -> None:
    weights, states = drawn(2, 5, 12), drawn(2, 3, 5, seed=2)
    states = states.tanh() if bounded else 40 * states
    product = PRODUCTS[precision](weights, bounded=bounded)
    expected = torch.bmm(states, weights)
    found = product.of(states)
    assert float((found - expected).abs().max() / expected.abs().max()) < error
    gates = torch.ones(2, 3, 12)
    product.add_to(gates, states)
    torch.testing.assert_close(gates, found + 1, rtol=error, atol=1e-5)


def test_a_product_of_integers_is_that_of_the_rounded_numbers() -> None:
    weights, states = drawn(2, 5, 12), drawn(2, 3, 5, seed=2).tanh()
    product = Int8Product(weights, bounded=True)
    largest = weights.abs().amax(1, keepdim=True)
    rounded = (weights / largest * 127).round() * largest / 127
    expected = torch.bmm((states * 127).round() / 127, rounded)
    torch.testing.assert_close(product.of(states), expected)
    gates = torch.ones(2, 3, 12)
    product.add_to(gates, states)
    torch.testing.assert_close(gates, expected + 1)
    nothing = Int8Product(torch.zeros(1, 5, 4), bounded=True)
    assert nothing.of(states[:1]).abs().max() == 0


def test_states_without_bounds_are_scaled_by_the_largest_of_each_sentence() -> None:
    weights = drawn(1, 5, 4)
    states = torch.tensor([[1.0, 0, 0, 0, 0.5], [1000.0, 0, 0, -3, 0], [0, 0, 0, 0, 0]])
    product = Int8Product(weights, bounded=False)
    largest = torch.tensor([[1.0], [1000], [1]])
    within = Int8Product(weights, bounded=True).of((states / largest).unsqueeze(0))
    torch.testing.assert_close(product.of(states.unsqueeze(0)), within * largest)
