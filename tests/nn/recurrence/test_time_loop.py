"""Cells of the loop over time are torch's networks, without what sets them apart."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from cell_options import CELL_OPTIONS, network_of
from torch import Tensor, nn

from tagkit.nn.cells import CELLS
from tagkit.nn.recurrence.cell import Network

INPUTS, HIDDEN = 3, 6


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def like_torch(network: Network, kind: Callable[..., nn.RNNBase]) -> nn.RNNBase:
    """torch's network with the weights that both have."""
    theirs = kind(INPUTS, HIDDEN, batch_first=True)
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(network.get_parameter("weight_ih"))
        theirs.weight_hh_l0.copy_(network.get_parameter("weight_hh"))
        theirs.bias_ih_l0.copy_(network.get_parameter("bias"))
        theirs.bias_hh_l0.zero_()
    return theirs


@pytest.mark.parametrize(
    ("cell", "changes", "weights", "kind"),
    [
        ("lstm-peephole", {}, {"peepholes": torch.zeros(3, HIDDEN)}, nn.LSTM),
        ("leaky", {"leak": 1.0}, {}, nn.RNN),
        ("skip", {}, {"weight_skip": torch.zeros(HIDDEN, HIDDEN)}, nn.RNN),
        ("clockwork", {"periods": (1,)}, {}, nn.RNN),
        ("echo-state", {"leak": 1.0}, {}, nn.RNN),
        ("output-feedback", {}, {"weight_out": torch.eye(HIDDEN)}, nn.RNN),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@torch.no_grad()
def test_without_what_sets_it_apart_a_cell_is_one_of_torchs(
    cell: str,
    changes: dict[str, object],
    weights: dict[str, Tensor],
    kind: Callable[..., nn.RNNBase],
) -> None:
    torch.manual_seed(2)
    network = CELLS[cell].build(INPUTS, HIDDEN, replace(CELL_OPTIONS, **changes))  # type: ignore[arg-type]
    nn.init.normal_(network.get_parameter("bias"))
    for name, values in weights.items():
        network.get_parameter(name).copy_(values)
    inputs = drawn(4, 9, INPUTS)
    torch.testing.assert_close(network(inputs)[0], like_torch(network, kind)(inputs)[0])


def test_a_peephole_lstm_begins_as_an_lstm_with_open_forget_gates() -> None:
    network = network_of("lstm-peephole", INPUTS, 2)
    assert not network.get_parameter("peepholes").any()
    assert network.get_parameter("bias").tolist() == [0, 0, 1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("cell", "gates", "gain"),
    [("lstm-peephole", 4, 1), ("gru-reset-before", 3, 1), ("leaky", 1, 1), ("clockwork", 1, 1),
     ("output-feedback", 1, 1), ("skip", 1, 0.5)],
)  # fmt: skip
def test_recurrent_gates_begin_orthogonal(cell: str, gates: int, gain: float) -> None:
    network = network_of(cell, INPUTS, HIDDEN)
    for gate in network.get_parameter("weight_hh").chunk(gates):
        torch.testing.assert_close(gate @ gate.t(), gain * torch.eye(HIDDEN))


@torch.no_grad()
def test_a_clock_counts_beyond_what_bfloat16_can() -> None:
    network = CELLS["clockwork"].build(
        INPUTS, 2, replace(CELL_OPTIONS, periods=(1, 300))
    )  # fmt: skip
    with torch.autocast("cpu", dtype=torch.bfloat16):
        states, _ = network(drawn(1, 302, INPUTS))
    slow = states[0, :, 1]
    assert (slow[1:] != slow[:-1]).nonzero().flatten().tolist() == [299]


@torch.no_grad()
def test_a_clock_counts_beyond_what_32_bits_can() -> None:
    network = CELLS["clockwork"].build(INPUTS, 2, replace(CELL_OPTIONS, periods=(1, 4)))
    state = None
    counts = []
    for _ in range(3):
        _, state = network(drawn(1, 5, INPUTS), state)
        counts.append(float(state[1]))
    assert counts == [1, 2, 3]  # of 5, 10 and 15 steps, modulo 4
