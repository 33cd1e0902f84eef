"""The LSTM's gates, its steps in NumPy of one sequence, and mixed precision."""

import numpy as np
import pytest
import torch
from cell_options import CELL_OPTIONS

from tagkit.nn.cells import lstm
from tagkit.nn.cells.lstm import LSTM, read_packed


def test_the_forget_gate_alone_begins_open() -> None:
    network = LSTM.build(3, 2, CELL_OPTIONS)
    # torch's order: input, forget, cell, output
    assert network.get_parameter("bias_ih_l0").tolist() == [0, 0, 1, 1, 0, 0, 0, 0]
    assert not network.get_parameter("bias_hh_l0").any()


@pytest.mark.parametrize("scale", [0.3, 30.0])
def test_one_sequence_by_itself_has_the_states_that_it_has_beside_another(scale: float) -> None:
    dice = np.random.default_rng(1)
    inputs, recurrent = (
        (scale * dice.standard_normal(shape)).astype(np.float32)
        for shape in ((7, 2, 12), (2, 3, 12))
    )
    both = np.empty((7, 2, 3), np.float32)
    read_packed(inputs, [1] * 7, [recurrent], [], both)
    for direction in range(2):
        part = slice(direction, direction + 1)
        alone = np.empty((7, 1, 3), np.float32)
        read_packed(inputs[:, part].copy(), [1] * 7, [recurrent[part]], [], alone)
        np.testing.assert_allclose(alone, both[:, part], rtol=1e-6, atol=1e-6)


def test_a_processor_without_a_layer_in_bf16_computes_it_in_32_bits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lstm, "_reads_in_bf16", lambda: False)
    network = LSTM.build(3, 2, CELL_OPTIONS)
    inputs = torch.randn(2, 4, 3).bfloat16()
    states, state = network(inputs.float())
    later, _ = network(inputs.float(), state)
    with torch.autocast("cpu", torch.bfloat16):
        found, after = network(inputs)
        torch.testing.assert_close(found, states, rtol=0, atol=0)
        torch.testing.assert_close(network(inputs, after)[0], later, rtol=0, atol=0)
    found.sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())


def test_an_lstm_can_be_computed_in_mixed_precision_here() -> None:
    network = LSTM.build(3, 2, CELL_OPTIONS)
    inputs = torch.randn(2, 4, 3)
    with torch.autocast("cpu", torch.bfloat16):
        states, _ = network(inputs)
    torch.testing.assert_close(states.float(), network(inputs)[0], rtol=0.05, atol=0.02)
