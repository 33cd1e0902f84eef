"""Facts on a module's parameters."""

from torch import nn


def count_parameters(module: nn.Module) -> int:
    """Number of weights, trained or not; one that two parts share counts once."""
    return sum(parameter.numel() for parameter in module.parameters())
