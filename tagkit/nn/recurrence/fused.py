"""What the cells share whose networks are torch's fused ones."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor, nn

from tagkit.nn.recurrence.cell import CellOptions, Network
from tagkit.nn.recurrence.initial import fill_recurrent
from tagkit.nn.recurrence.recurrence import Weights

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
