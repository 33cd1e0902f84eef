"""Products of states with recurrent weights in cached inference: 32, 16 or 8 bits a number.

Only this product has a choice of precision. It is what is left to do at every token once the input
products are cached, and its weights are what the processor fetches from memory at every step.
"""

import torch
from torch import Tensor

_LARGEST = 127  # of a signed integer of eight bits; -128 is left out, so that 0 is the middle
_TINY = 1e-12  # instead of a division by zero, where all of a row is 0


class Product:
    """Products of states with recurrent weights, of all directions at once."""

    def __init__(self, weights: Tensor, *, bounded: bool) -> None:
        """`weights`: (directions, hidden, gates x hidden); `bounded` states are from -1 to 1."""
        self.weights = weights
        self.bounded = bounded

    def of(self, states: Tensor) -> Tensor:
        """(directions, batch, hidden) -> (directions, batch, gates x hidden)."""
        # One matrix for each direction: sum over `hidden`.
        return torch.bmm(states, self.weights)

    def add_to(self, gates: Tensor, states: Tensor) -> None:
        """Add the product to `gates`, in place."""
        # Product and sum in one call, which writes to no memory of its own.
        gates.baddbmm_(states, self.weights)


class Bf16Product(Product):
    """Weights and states as bfloat16: eight bits of each number are left."""

    def __init__(self, weights: Tensor, *, bounded: bool) -> None:
        """As in `Product`; bfloat16 has the range of float32, so that no state is out of it."""
        super().__init__(weights.bfloat16(), bounded=bounded)

    def of(self, states: Tensor) -> Tensor:
        """As in `Product`."""
        return torch.bmm(states.bfloat16(), self.weights).float()

    def add_to(self, gates: Tensor, states: Tensor) -> None:
        """As in `Product`."""
        # The sum of the products is rounded to bfloat16, the sum with `gates` is not.
        gates.add_(torch.bmm(states.bfloat16(), self.weights))


class Int8Product(Product):
    """Weights and states as integers of eight bits, symmetric about 0.

    x is stored as round(127 x / s). Each output's weights have a scale s of their own, the largest
    of them. States within -1 and 1 share the scale 1; others are scaled by the largest of each
    sentence at each step, so that a sentence's states do not depend on its neighbours in the batch.
    """

    def __init__(self, weights: Tensor, *, bounded: bool) -> None:
        """As in `Product`."""
        # (directions, hidden, outputs) -> (directions, 1, outputs)
        largest = weights.abs().amax(1, keepdim=True).clamp(min=_TINY)
        rounded = (weights * (_LARGEST / largest)).round_().to(torch.int8)
        super().__init__(rounded, bounded=bounded)
        # One factor 127 is that of the weights, the other that of the states.
        self.scale = largest / (_LARGEST * _LARGEST)

    def of(self, states: Tensor) -> Tensor:
        """As in `Product`."""
        if self.bounded:
            return self._product(states)
        # (directions, batch, hidden) -> (directions, batch, 1). Without it a state beyond 1 would
        # wrap around to a negative integer.
        largest = states.abs().amax(2, keepdim=True).clamp(min=_TINY)
        return self._product(states / largest).mul_(largest)

    def _product(self, states: Tensor) -> Tensor:
        """As `of`, for states from -1 to 1."""
        rounded = (states * _LARGEST).round_().to(torch.int8)
        # The only product of integers that torch has; torchao builds on it too. It takes matrices,
        # so the directions follow one another: (batch, hidden) @ (hidden, outputs), in int32.
        products = [
            torch._int_mm(ours, weights)
            for ours, weights in zip(rounded, self.weights, strict=True)
        ]
        return torch.stack(products).float().mul_(self.scale)

    def add_to(self, gates: Tensor, states: Tensor) -> None:
        """As in `Product`."""
        gates.add_(self.of(states))


PRODUCTS: dict[str, type[Product]] = {
    "fp32": Product,
    "bf16": Bf16Product,
    "int8": Int8Product,
}
