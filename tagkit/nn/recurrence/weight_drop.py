"""Weight drop: dropout of recurrent weights, the same ones at all steps of a batch.

DropConnect (Wan et al. 2013) on the weights between states (Merity et al. 2018, section 2). It
regularises what a network carries from step to step without disturbing the states themselves, and
leaves the loop over time, or the kernel that computes it, as it is.

The dropped weights are computed from the trained ones, so that gradients go on to these, and are
put into a copy of the network that shares all others. The network itself never changes: its tensors
keep their names and values, and whatever else reads them knows nothing of it.
"""

import weakref
from typing import TypeVar

import torch
from torch import Tensor, nn

from tagkit.nn.recurrence.cell import Network

_Network = TypeVar("_Network", bound=Network)


def with_dropped_weights(network: _Network, probability: float) -> _Network:
    """The network with some of its recurrent weights at 0, and the others scaled up.

    Args:
        network: of any cell.
        probability: of each weight to be dropped, drawn by torch's generator; with 0 nothing is
            drawn, and the network is returned as it is.
    """
    if not probability or not network.state_weights:
        return network
    return with_weights(
        network,
        {
            name: nn.functional.dropout(network.get_parameter(name), probability)
            for name in network.state_weights
        },
    )


def with_weights(network: _Network, weights: dict[str, Tensor]) -> _Network:
    """A copy of the network, which shares all its tensors but those that are given by name."""
    copied = object.__new__(type(network))
    parameters = {**network._parameters, **weights}
    copied.__dict__ = {**network.__dict__, "_parameters": parameters}
    if isinstance(copied, nn.RNNBase):
        _give_to_kernel(copied)
    return copied


def _give_to_kernel(network: nn.RNNBase) -> None:
    """Make torch's kernel read the weights that the network has.

    It reads a list of its own, and not the attributes: a weight that is replaced by a tensor is
    ignored in silence by versions of torch that do not compare the two.
    """
    names = network._flat_weights_names
    weights: list[Tensor] = [getattr(network, name) for name in names]
    if weights[0].is_cuda:
        # cuDNN wants them in one piece of memory, and would copy them with a warning.
        whole = torch.cat([one.flatten() for one in weights])
        parts = whole.split_with_sizes([one.numel() for one in weights])
        weights = [part.view_as(one) for part, one in zip(parts, weights, strict=True)]
        network._parameters = dict(zip(names, weights, strict=True))  # type: ignore[arg-type]
    network._flat_weights = weights  # type: ignore[assignment]
    # With them torch knows that the list is up to date, and leaves it as it is.
    network._flat_weight_refs = [weakref.ref(one) for one in weights]  # type: ignore[arg-type]
