"""Linear layers as all networks here begin: Glorot and Bengio 2010, eq. 16, and biases of 0.

And the number of weights of any module.
"""

from torch import nn


def fresh_linear(inputs: int, outputs: int, parts: int = 1) -> nn.Linear:
    """(..., inputs) -> (..., parts x outputs): one product for several, each drawn by itself."""
    layer = nn.Linear(inputs, parts * outputs)
    for part in layer.weight.chunk(parts):
        nn.init.xavier_uniform_(part)
    nn.init.zeros_(layer.bias)
    return layer


def count_parameters(module: nn.Module) -> int:
    """Number of weights, trained or not; one that two parts share counts once."""
    return sum(parameter.numel() for parameter in module.parameters())
