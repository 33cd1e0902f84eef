"""The recurrent products of cached inference, U h[t-1], with numbers of 32, 16 or 8 bits.

Only this product has a choice of precision. It is what remains for each token once the input
products are cached, and the processor fetches its weights from memory at every step.
"""

import torch
from torch import Tensor

_LARGEST = 127  # of an int8; -128 is left out, so that the range is symmetric about 0
_TINY = 1e-12  # smallest scale, where a whole row is 0: it prevents a division by 0


class Product:
    """Products of states with recurrent weights, of all directions at once."""

    def __init__(self, weights: Tensor, *, bounded: bool) -> None:
        """`weights`: (directions, hidden, gates x hidden); `bounded` states are from -1 to 1."""
        self.weights = weights  # U, transposed: the product is states @ weights
        self.bounded = bounded

    def of(self, states: Tensor) -> Tensor:
        """(directions, batch, hidden) -> (directions, batch, gates x hidden)."""
        # One matrix product for each direction:
        # (d, batch, hidden) @ (d, hidden, gates x hidden) -> (d, batch, gates x hidden)
        return torch.bmm(states, self.weights)

    def add_to(self, gates: Tensor, states: Tensor) -> None:
        """Add the product to `gates`, in place."""
        # Product and sum in one call, without memory for the product.
        gates.baddbmm_(states, self.weights)


class Bf16Product(Product):
    """Weights and states as bfloat16, which keeps 8 significant bits of a float32's 24."""

    def __init__(self, weights: Tensor, *, bounded: bool) -> None:
        """As in `Product`; any state fits, as bfloat16 has the range of float32."""
        super().__init__(weights.bfloat16(), bounded=bounded)

    def of(self, states: Tensor) -> Tensor:
        """As in `Product`."""
        # The product is rounded to bfloat16; what the caller adds to it is float32.
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
        # Undoes both roundings: one factor of 127 is that of the weights, one that of the states.
        # (directions, 1, outputs), which broadcasts over sentences
        self.scale = largest / (_LARGEST * _LARGEST)

    def of(self, states: Tensor) -> Tensor:
        """As in `Product`."""
        if self.bounded:
            return self._product(states)
        # (directions, batch, hidden) -> (directions, batch, 1), a scale for each sentence. Without
        # it a state beyond 1 would wrap around to a negative integer.
        largest = states.abs().amax(2, keepdim=True).clamp(min=_TINY)
        return self._product(states / largest).mul_(largest)

    def _product(self, states: Tensor) -> Tensor:
        """As `of`, for states from -1 to 1."""
        rounded = (states * _LARGEST).round_().to(torch.int8)
        # The only product of integers that torch has; torchao builds on it too. It takes matrices,
        # so the directions follow one another: (batch, hidden) @ (hidden, outputs), in int32, where
        # 127 x 127 x hidden cannot overflow.
        products = [
            torch._int_mm(ours, weights)
            for ours, weights in zip(rounded, self.weights, strict=True)
        ]
        # two or one of (batch, outputs) -> (directions, batch, outputs)
        return torch.stack(products).float().mul_(self.scale)

    def add_to(self, gates: Tensor, states: Tensor) -> None:
        """As in `Product`."""
        gates.add_(self.of(states))


# The keys are the values of `precision` in prediction.
PRODUCTS: dict[str, type[Product]] = {
    "fp32": Product,
    "bf16": Bf16Product,
    "int8": Int8Product,
}
