"""The simple recurrent unit: its highway connection, its gradient by hand, and cached reading."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from cell_options import CELL_OPTIONS
from equations import sru
from torch import Tensor, nn

from tagkit.nn.cells.sru import SRUNetwork, build
from tagkit.nn.layers.inference import layer_reader, read_layer_cached
from tagkit.nn.layers.recurrent_layer import RecurrentLayer
from tagkit.nn.recurrence.time_loop import TORCH

HIDDEN = 4


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def random_network(inputs: int) -> SRUNetwork:
    torch.manual_seed(2)
    network = build(inputs, HIDDEN, CELL_OPTIONS).double()
    for parameter in network.parameters():
        nn.init.normal_(parameter)
    return network


def test_inputs_of_the_size_of_a_state_pass_the_highway_without_a_matrix() -> None:
    assert {name: tuple(p.shape) for name, p in random_network(HIDDEN).named_parameters()} == {
        "weight_ih": (3 * HIDDEN, HIDDEN), "bias": (2 * HIDDEN,), "peepholes": (2, HIDDEN),
    }  # fmt: skip
    assert random_network(3).weight_ih.shape == (4 * HIDDEN, 3)


@torch.no_grad()
def test_states_without_that_matrix_are_those_of_the_equations() -> None:
    network, inputs = random_network(HIDDEN), drawn(2, 6, HIDDEN).double()
    weights = {name: values.numpy() for name, values in network.named_parameters()}
    states, _ = network(inputs)
    for found, sequence in zip(states, inputs, strict=True):
        expected = np.stack(sru(weights, CELL_OPTIONS, sequence.numpy()))
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("inputs", [3, HIDDEN])
def test_the_gradient_is_that_of_torch_through_the_steps_one_by_one(inputs: int) -> None:
    network = random_network(inputs)
    projected_width = network.recurrence().weights.of_input.shape[0]
    given, before = drawn(2, 5, inputs).double(), drawn(1, 2, HIDDEN, seed=3).double()
    weighing, of_last = drawn(2, 5, HIDDEN, seed=4).double(), drawn(1, 2, HIDDEN, seed=5).double()
    results = []
    for by_hand in (True, False):
        x, c = given.clone().requires_grad_(), before.clone().requires_grad_()
        network.zero_grad()
        if by_hand:
            states, (last,) = network(x, (c,))
        else:
            weights = network.recurrence().weights
            assert len(weights.of_input) == projected_width == 4 * HIDDEN
            state, outputs = (c,), []
            for projected in (x @ weights.of_input.t() + weights.bias).unbind(1):
                output, state = network.advance(
                    projected.unsqueeze(0), state, (), weights.constants, TORCH
                )
                outputs.append(output[0])
            states, (last,) = torch.stack(outputs, 1), state
        # The last memory too, as a segment's gradient could come from the next one.
        ((states * weighing).sum() + (last * of_last).sum()).backward()
        grads = [p.grad.clone() for p in network.parameters() if p.grad is not None]
        assert len(grads) == 3
        results.append([states, last, x.grad, c.grad, *grads])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("sequences", [2, 900])
@torch.no_grad()
def test_cached_reading_adds_the_inputs_where_there_is_no_matrix(sequences: int) -> None:
    torch.manual_seed(2)
    layer = RecurrentLayer(
        cell="sru", options=CELL_OPTIONS, inputs=HIDDEN, hidden=HIDDEN, bidirectional=True,
        merge="concat", segment=0,
    )  # fmt: skip
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    mask = torch.ones(sequences, 5, dtype=torch.bool)
    mask[1, 3:] = False
    words = drawn(7, HIDDEN)
    rows = torch.randint(7, mask.shape, generator=torch.Generator().manual_seed(4))
    reader = layer_reader(layer, "fp32")
    assert reader is not None
    assert reader.packs(sequences) == (sequences == 2)
    found = read_layer_cached(layer, reader, [reader.project(words, 0)], [rows], mask)
    for ours, theirs in zip(found, layer.read(words[rows], mask), strict=True):
        torch.testing.assert_close(ours, theirs)


@torch.no_grad()
def test_without_peepholes_the_variance_of_inputs_is_kept() -> None:
    torch.manual_seed(3)
    network = build(200, 200, CELL_OPTIONS)
    states, _ = network(drawn(20, 30, 200))
    assert 0.7 < float(states.var()) < 1.3


@pytest.mark.slow
def test_training_does_not_import_torch_dynamo() -> None:
    code = (
        "import sys, torch\n"
        "from tagkit.config import EncoderConfig\n"
        "from tagkit.models.base.building import cell_options\n"
        "from tagkit.nn.layers.encoder import Encoder\n"
        "for cell in ('sru', 'transformer'):\n"
        "    encoder = Encoder(cell=cell, options=cell_options(EncoderConfig()), inputs=3,\n"
        "        hidden=8, layers=2, bidirectional=True, merge='concat', segment=0, dropout=0.1,\n"
        "        locked_dropout=0, word_dropout=0, connection='none', output_layers=())\n"
        "    given = torch.randn(2, 5, 3)\n"
        "    encoder(given, torch.ones(2, 5, dtype=torch.bool)).sum().backward()\n"
        "assert 'torch._dynamo' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
