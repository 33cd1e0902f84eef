"""Depth of a stack beside its layers: connections past them, and layers before and after them.

    y = F(x)                                  none: each layer computes all of its output anew
    y = x + F(x)                              residual (He et al. 2016)
    y = t * F(x) + (1 - t) * x                highway (Srivastava et al. 2015),
        t = sigmoid(W x + b)                  with a gate for each value

x and y have one width. In a stack that is so for every layer but the first, which reads word
vectors: it has no connection past it, as a projection of x to the width of y would be one more
layer with weights, and not the path without weights that a connection is for.

F reads x after dropout, the connection x itself: nothing is dropped twice or more on its way up.

An output layer is o = relu(V h + c) at each token by itself: the deep output of Pascanu et al. 2014
(Goodfellow, Bengio and Courville, section 10.5 and figure 10.13b). An input layer is the same of a
token's vector, below the lowest layer.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

# Srivastava et al. 2015, section 2.2, begin between -1 and -3. With sigmoid(-2) = 0.12 seven
# eighths of x pass a layer, so that a deep stack begins as a shallow one: past seven layers 0.41 of
# a gradient are left, with -1 no more than 0.11.
CARRY_BIAS = -2.0


class Residual(nn.Module):
    """The sum of a layer's input and output; it has no weights."""

    def forward(self, below: Tensor, above: Tensor) -> Tensor:
        """The layer's input and output, each (..., features) -> the same shape."""
        return below + above


class Highway(nn.Module):
    """A mean of a layer's input and output, weighed by a gate that reads the input."""

    def __init__(self, features: int) -> None:
        """A gate for each of `features`."""
        super().__init__()
        self.gate = nn.Linear(features, features)
        nn.init.xavier_uniform_(self.gate.weight)  # Glorot and Bengio 2010, eq. 16
        nn.init.constant_(self.gate.bias, CARRY_BIAS)

    def forward(self, below: Tensor, above: Tensor) -> Tensor:
        """The layer's input and output, each (..., features) -> the same shape."""
        # x + t (F(x) - x), which is t F(x) + (1 - t) x with one product instead of two
        found: Tensor = below + torch.sigmoid(self.gate(below)) * (above - below)
        return found


# The keys are the values that the configuration allows for `connection`, beside "none". Each gives
# the connection past a layer of so many features.
CONNECTIONS: dict[str, Callable[[int], nn.Module]] = {
    "residual": lambda _: Residual(),
    "highway": Highway,
}


def token_layer(inputs: int, units: int) -> nn.Linear:
    """V and c of an input or output layer, with fresh weights."""
    layer = nn.Linear(inputs, units)
    nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")  # He et al. 2015, eq. 10
    nn.init.zeros_(layer.bias)
    return layer
