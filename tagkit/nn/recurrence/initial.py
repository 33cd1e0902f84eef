"""How weights begin: those of linear layers, of recurrent products, and the biases of gates.

Linear layers begin as Glorot and Bengio 2010, eq. 16, with biases of 0.

Over T steps a gradient is multiplied T times by recurrent weights. What their eigenvalues are at
the beginning decides whether it arrives (Pascanu et al. 2013; Goodfellow, Bengio and Courville,
section 10.7), and so does how far open a gate is that keeps the past (section 10.10.2).
"""

import torch
from torch import Tensor, nn

from tagkit.nn.recurrence.cell import CellOptions


@torch.no_grad()
def fill_recurrent(weights: Tensor, options: CellOptions, gain: float) -> None:
    """Draw the recurrent weights of one gate anew, as `options.init` says.

    Args:
        weights: (hidden, hidden).
        options: with a spectral radius, these weights are scaled to it; else they are as drawn.
        gain: factor of all weights, after that.
    """
    factor: Tensor | float
    match options.init:
        case "orthogonal":
            # All singular values are 1: a product over many steps neither vanishes nor explodes by
            # itself (Saxe et al. 2014). As an argument the gain gives earlier versions' last bits.
            nn.init.orthogonal_(weights, gain=gain)
            factor = 1.0
        case "identity":
            # Each unit keeps its state until an input changes it (Le, Jaitly and Hinton 2015).
            nn.init.eye_(weights)
            factor = gain
        case "normal":
            # The radius of such a matrix comes near 1 with its size, and is 1 after scaling.
            nn.init.normal_(weights, std=len(weights) ** -0.5)
            factor = gain if weights.is_meta else gain / spectral_radius(weights)
        case "xavier":
            # Glorot and Bengio 2010, eq. 16: variances of states, not eigenvalues, are kept.
            nn.init.xavier_uniform_(weights)
            factor = gain
            if options.spectral_radius is not None and not weights.is_meta:
                factor = gain / spectral_radius(weights)
    if options.spectral_radius is not None:
        factor = factor * options.spectral_radius
    if factor != 1:
        weights.mul_(factor)


def spectral_radius(weights: Tensor) -> Tensor:
    """The largest absolute value of the eigenvalues."""
    largest: Tensor = torch.linalg.eigvals(weights).abs().max()
    return largest


@torch.no_grad()
def fill_chrono(longest: int, keep: Tensor, take: Tensor | None = None) -> None:
    """Begin with gates that keep the past for up to `longest` steps; 0 to leave the biases.

    A gate of value f keeps a past for about 1 / (1 - f) steps. With the bias log(u) that is 1 + u,
    uniform between 2 and `longest` (Tallec and Ollivier 2018).

    Args:
        longest: steps, at least 3, or 0.
        keep: (hidden,) bias of the gate that multiplies the past.
        take: (hidden,) bias of the gate that multiplies what is new, which begins as 1 minus the
            other; None where it is that by definition.
    """
    if not longest:
        return
    keep.uniform_(1, longest - 1).log_()
    if take is not None:
        torch.neg(keep, out=take)  # 1 - sigmoid(a) = sigmoid(-a)


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
