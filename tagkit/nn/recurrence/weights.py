"""How weights begin: those of linear layers, of recurrent products, and the biases of gates.

Linear layers begin as Glorot and Bengio 2010, eq. 16, with biases of 0. The networks of cells that
are torch's fused ones get such weights too.

Over T steps a gradient is multiplied T times by recurrent weights. What their eigenvalues are at
the beginning decides whether it arrives (Pascanu et al. 2013; Goodfellow, Bengio and Courville,
section 10.7), and so does how far open a gate is that keeps the past (section 10.10.2).
"""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor, nn

from tagkit.nn.recurrence.cell import CellOptions, Network
from tagkit.nn.recurrence.recurrence import Weights

_CONNECTIONS = 15  # of a unit that begins with few
_Network = TypeVar("_Network", bound=Network)


def with_fresh_weights(
    network: _Network, gates: int, options: CellOptions, forget_gate: int | None = None
) -> _Network:
    """The network with weights drawn anew.

    The order of the random draws is that of torch's parameters, gate by gate: a seed gives the
    same weights in every version.

    Args:
        network: one of torch's, of one layer and one direction.
        gates: how many products of size `hidden` a step computes from its input.
        options: how recurrent weights begin.
        forget_gate: which gate's bias begins at 1; None for a cell without one.
    """
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            # (gates x hidden, inputs), (gates x hidden, hidden) or (gates x hidden,): each
            # gate is a matrix by itself, whose size decides its distribution.
            of_gates = parameter.chunk(gates)
            if name.startswith("bias"):
                parameter.zero_()  # (gates x hidden,)
                if name.startswith("bias_ih") and forget_gate is not None:
                    # A forget gate that starts open lets gradients through (Gers et al. 2000;
                    # Jozefowicz et al. 2015; Goodfellow et al. 2016, section 10.10.2).
                    of_gates[forget_gate].fill_(1)
            elif name.startswith("weight_hh"):
                for gate in of_gates:
                    fill_recurrent(gate, options, gain=1)  # (hidden, hidden)
            else:
                for gate in of_gates:
                    nn.init.xavier_uniform_(gate)  # Glorot and Bengio 2010, eq. 16
    return network


def projection(network: Network) -> Callable[[Tensor], Tensor]:
    """W x + b of one of torch's networks, with both biases where these can be added beforehand."""
    weights, (bias, _) = network.get_parameter("weight_ih_l0"), summed_biases(network)
    return partial(nn.functional.linear, weight=weights, bias=bias)


def recurrent_weight(network: Network) -> Tensor:
    """U of one of torch's networks, (gates x hidden, hidden), also where it is no parameter."""
    found: Tensor = network.weight_hh_l0  # type: ignore[assignment]
    return found


def summed_biases(network: Network) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Both biases added to the input product, and no constants.

    Cells that add the two products can add the two biases beforehand. torch has two of them only
    because cuDNN does.
    """
    return network.get_parameter("bias_ih_l0") + network.get_parameter("bias_hh_l0"), ()


def fused_weights(
    network: Network,
    arrange: Callable[[Tensor], Tensor] = lambda rows: rows,
    biases: Callable[[Network], tuple[Tensor, tuple[Tensor, ...]]] = summed_biases,
) -> Weights:
    """The weights of one of torch's networks for cached inference.

    Args:
        network: of one layer and one direction.
        arrange: puts rows of weights or biases, gate after gate in torch's order, into the order of
            the recurrence.
        biases: of a network, in torch's order, and its constants.
    """
    bias, constants = biases(network)
    return Weights(
        arrange(network.get_parameter("weight_ih_l0")),
        arrange(bias),
        (arrange(network.get_parameter("weight_hh_l0")),),
        constants,
    )


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
        case "sparse":
            # So many inputs of each unit, whatever their number (Martens 2010; Sutskever et al.
            # 2013, section 3): units differ in what they read, and none saturates for their number.
            kept = torch.rand_like(weights).argsort(1).argsort(1) < _CONNECTIONS
            nn.init.normal_(weights)
            weights.mul_(kept)
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
