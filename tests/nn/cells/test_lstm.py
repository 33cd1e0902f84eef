"""The LSTM's gates, its steps in NumPy of one sequence, and mixed precision."""

import numpy as np
import pytest
import torch
from cell_options import CELL_OPTIONS
from torch import Tensor, nn

from tagkit.nn.cells import lstm
from tagkit.nn.cells.lstm import LSTM, packed_states, read_packed
from tagkit.nn.padding import Packing


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


LENGTHS = [[1], [3, 1, 4, 1], [2, 2, 2], [5, 1]]


def networks(directions: int) -> list[nn.LSTM]:
    torch.manual_seed(1)
    return [nn.LSTM(3, 2).double() for _ in range(directions)]


def reference(inputs: Tensor, lengths: list[int], layers: list[nn.LSTM]) -> Tensor:
    """Each sequence by itself, sequence after sequence, in each direction's reading order."""
    directions = []
    for number, layer in enumerate(layers):
        parts = [part.flip(0) if number else part for part in inputs.split(lengths)]
        directions.append(torch.cat([layer(part)[0] for part in parts]))
    return torch.stack(directions)


@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_states_and_gradients_are_those_of_torchs_lstm_sequence_by_sequence(
    lengths: list[int], directions: int
) -> None:
    layers, packing = networks(directions), Packing.of(np.array(lengths))
    weights = [weight for layer in layers for weight in layer.parameters()]
    inputs = torch.randn(sum(lengths), 3, dtype=torch.float64, requires_grad=True)
    states = packed_states(inputs, packing.tokens, packing, layers)
    expected = reference(inputs, lengths, layers)[:, packing.tokens]
    torch.testing.assert_close(states, expected)
    above = torch.randn_like(states)
    found = torch.autograd.grad((states * above).sum(), [inputs, *weights])
    wanted = torch.autograd.grad((expected * above).sum(), [inputs, *weights])
    torch.testing.assert_close(found, wanted)


def test_gradients_are_those_of_finite_differences() -> None:
    layers, packing = networks(2), Packing.of(np.array([2, 4, 1]))
    inputs = torch.randn(7, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda given: packed_states(given, packing.tokens, packing, layers), inputs
    )


def test_a_row_that_several_tokens_read_has_the_sum_of_their_gradients() -> None:
    layers, packing = networks(2), Packing.of(np.array([2, 4, 1]))
    rows = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)
    chosen = torch.tensor([2, 0, 0, 2, 0, 2, 2])  # row 1 is read by none
    each = rows[chosen].detach().requires_grad_()
    states = packed_states(rows, chosen, packing, layers)
    torch.testing.assert_close(states, packed_states(each, torch.arange(7), packing, layers))
    above = torch.randn_like(states)
    weights = [weight for layer in layers for weight in layer.parameters()]
    found = torch.autograd.grad((states * above).sum(), [rows, *weights])
    states = packed_states(each, torch.arange(7), packing, layers)
    by_token, *wanted = torch.autograd.grad((states * above).sum(), [each, *weights])
    by_row = torch.zeros_like(rows).index_add(0, chosen, by_token)
    torch.testing.assert_close(found, (by_row, *wanted))
    assert not found[0][1].any()


def test_states_stay_finite_and_saturated_where_sums_are_large() -> None:
    layers, packing = networks(1), Packing.of(np.array([3]))
    with torch.no_grad():
        for weight in layers[0].parameters():
            weight.mul_(1e4)
    inputs = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)
    states = packed_states(inputs, packing.tokens, packing, layers)
    states.sum().backward()
    assert states.abs().max() <= 1
    assert inputs.grad is not None
    assert inputs.grad.isfinite().all()


def test_gradients_of_several_batches_add_up() -> None:
    # torch adds to what it was given in place: no two parameters may have been given the same.
    layers, packing = networks(2), Packing.of(np.array([3, 1]))
    rows = torch.ones(4, 3, dtype=torch.float64)
    for _ in range(2):
        packed_states(rows, packing.tokens, packing, layers).sum().backward()
    twice = [weight.grad for layer in layers for weight in layer.parameters()]
    packed = packed_states(rows, packing.tokens, packing, layers).sum()
    once = torch.autograd.grad(packed, [w for layer in layers for w in layer.parameters()])
    torch.testing.assert_close(twice, [2 * gradient for gradient in once])
