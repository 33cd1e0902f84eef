"""Convolution over time against loops, and under the laws of a layer."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from cell_options import CELL_OPTIONS
from torch import Tensor

from tagkit.nn.layers.convolution import ConvolutionLayer
from tagkit.nn.layers.encoder import LAYERS, Encoder
from tagkit.nn.layers.layer import LayerOptions

LENGTHS = (6, 1, 4)
MASK = torch.arange(6) < torch.tensor(LENGTHS).unsqueeze(1)
INPUTS, HIDDEN = 3, 5
# (cell, widths, whether a state depends on the tokens after it, number of the layer)
CASES = [
    *product(("cnn",), ((1,), (3,), (5, 1, 3), (2, 3, 4)), (True, False), (0, 2)),
    *product(("window",), ((3,), (5,)), (True, False), (0,)),
]  # fmt: skip
each_case = pytest.mark.parametrize("case", CASES, ids=str)
Case = tuple[str, tuple[int, ...], bool, int]


def layer(case: Case) -> ConvolutionLayer:
    cell, widths, both, number = case
    options = replace(CELL_OPTIONS, widths=widths, dilation=2)
    torch.manual_seed(1)
    built = LAYERS[cell].build(
        LayerOptions(
            cell=cell, options=options, inputs=INPUTS, hidden=HIDDEN, bidirectional=both,
            merge="concat", segment=0, dropout=0, number=number, topmost=False,
        )
    ).double()  # fmt: skip
    for parameter in built.parameters():
        torch.nn.init.normal_(parameter)
    assert isinstance(built, ConvolutionLayer)
    return built


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3)).double()


@each_case
@torch.no_grad()
def test_states_are_those_of_loops_over_the_equation(case: Case) -> None:
    cell, widths, both, number = case
    built, inputs = layer(case), drawn(3, 6, INPUTS)
    found = built(inputs, MASK).numpy()
    dilation = 2**number
    for row, length in enumerate(LENGTHS):
        for t in range(length):
            values = []
            for part in built.parts:
                assert isinstance(part, torch.nn.Conv1d)
                weight, bias = part.weight.numpy(), part.bias.numpy()  # type: ignore[union-attr]
                width = weight.shape[2]
                total = bias.copy()
                for o in range(width):
                    # Of an even number one more before than after.
                    place = t + dilation * (o - width // 2 if both else o - width + 1)
                    if 0 <= place < length:
                        total += weight[:, :, o] @ inputs[row, place].numpy()
                values.append(total)
            expected = np.concatenate(values)
            expected = np.tanh(expected) if cell == "window" else np.maximum(expected, 0)
            np.testing.assert_allclose(found[row, t], expected, atol=1e-10)
        assert not found[row, length:].any()
    assert len(built.parts) == len(widths)


@each_case
@torch.no_grad()
def test_a_sentence_gets_the_same_states_alone_and_in_a_batch(case: Case) -> None:
    built, inputs = layer(case), drawn(3, 6, INPUTS)
    states, final = built.read(inputs, MASK)
    for row, length in enumerate(LENGTHS):
        one = inputs[row : row + 1, :length]
        alone, last = built.read(one, torch.ones(1, length).bool())
        torch.testing.assert_close(alone[0], states[row, :length])
        torch.testing.assert_close(last[0], final[row])
        torch.testing.assert_close(final[row], states[row, length - 1])


@each_case
def test_padding_even_nan_never_leaks_and_every_parameter_learns(case: Case) -> None:
    built = layer(case)
    inputs = drawn(3, 6, INPUTS).masked_fill(~MASK.unsqueeze(2), torch.nan).requires_grad_()
    states = built(inputs, MASK)
    assert states.isfinite().all()
    (states**2).sum().backward()
    assert inputs.grad is not None
    assert inputs.grad[MASK].isfinite().all()
    assert not inputs.grad[~MASK].any()
    for name, parameter in built.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


@each_case
def test_gradients_are_those_of_differences(case: Case) -> None:
    built = layer(case)
    inputs = drawn(3, 6, INPUTS).requires_grad_()
    assert torch.autograd.gradcheck(lambda given: built(given, MASK), (inputs,))


@pytest.mark.parametrize("case", [case for case in CASES if not case[2]], ids=str)
@torch.no_grad()
def test_segments_have_the_states_of_reading_in_one_go(case: Case) -> None:
    built, inputs = layer(case), drawn(2, 11, INPUTS)
    whole = built(inputs, torch.ones(2, 11).bool())
    padded = torch.nn.functional.pad(inputs, (0, 0, built.before, 0))  # zeros before the text
    for cuts in ((3, 4, 4), (1, 1, 9), (11,)):
        state, found = None, []
        for segment in torch.split(inputs, list(cuts), dim=1):
            states, state = built.carry(segment, state)
            found.append(states)
        torch.testing.assert_close(torch.cat(found, 1), whole)
        assert isinstance(state, Tensor)
        torch.testing.assert_close(state, padded[:, 11:].transpose(0, 1))


def test_the_reach_of_a_stack_grows_with_a_power_of_its_depth() -> None:
    torch.manual_seed(1)
    options = replace(CELL_OPTIONS, widths=(3,), dilation=2)
    built = Encoder(
        cell="cnn", options=options, inputs=INPUTS, hidden=HIDDEN, layers=4, connection="none",
        output_layers=(), bidirectional=True, merge="concat", segment=0, dropout=0,
        locked_dropout=0, word_dropout=0,
    ).eval()  # fmt: skip
    inputs = torch.randn(1, 41, INPUTS, requires_grad=True)
    built(inputs, torch.ones(1, 41).bool())[0, 20].sum().backward()
    assert inputs.grad is not None
    read = inputs.grad[0].any(1).nonzero().squeeze(1)
    # 1 + 2 + 4 on either side, and the topmost layer reads its neighbours.
    assert read.min() >= 20 - 8
    assert read.max() <= 20 + 8
    assert read.max() - read.min() > 8
