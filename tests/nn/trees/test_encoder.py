"""Recursive networks: their equations node by node in NumPy, and the laws of every cell."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor, nn

from tagkit.config import EncoderConfig
from tagkit.models.base.building import cell_options
from tagkit.nn.trees import TREES
from tagkit.nn.trees.encoder import TreeEncoder, node_mask

Array = npt.NDArray[np.float64]
Node = tuple[Array, Array]  # h, and c of a Tree-LSTM
HIDDEN, INPUTS = 3, 4
# Children of inner nodes 1, 2, ...: a word from 0 on, or an inner node below 0.
SHAPES: dict[str, list[tuple[int, int]]] = {
    "one word": [],
    "two words": [(0, 1)],
    "left": [(0, 1), (-1, 2), (-2, 3)],
    "right": [(3, 4), (2, -1), (1, -2), (0, -3)],
    "balanced": [(0, 1), (2, 3), (-1, -2), (4, 5), (-3, -4)],
    "parse": [(1, 2), (0, -1), (4, 5), (3, -3), (-2, -4), (-5, 6)],
}
CELLS = sorted(TREES)


def sigmoid(x: Array) -> Array:
    found: Array = 1 / (1 + np.exp(-x))
    return found


def simple_leaf(p: dict[str, Array], x: Array) -> Node:
    return np.tanh(p["words.weight"] @ x + p["words.bias"]), np.zeros(HIDDEN)


def tree_rnn(p: dict[str, Array], left: Node, right: Node) -> Node:
    both = np.concatenate((left[0], right[0]))
    return np.tanh(p["pair.weight"] @ both + p["pair.bias"]), np.zeros(HIDDEN)


def rntn(p: dict[str, Array], left: Node, right: Node) -> Node:
    c = np.concatenate((left[0], right[0]))
    products = np.array([c @ matrix @ c for matrix in p["tensor"]])
    return np.tanh(products + p["pair.weight"] @ c + p["pair.bias"]), np.zeros(HIDDEN)


def lstm_leaf(p: dict[str, Array], x: Array) -> Node:
    i, o, u = np.split(p["words.weight"] @ x + p["words.bias"], 3)
    c = sigmoid(i) * np.tanh(u)
    return sigmoid(o) * np.tanh(c), c


def tree_lstm(p: dict[str, Array], left: Node, right: Node) -> Node:
    both = np.concatenate((left[0], right[0]))
    of_i, of_o, of_u, of_left, of_right = np.split(p["pair"], 5)
    b_i, b_o, b_u = np.split(p["words.bias"], 3)
    i, o = sigmoid(of_i @ both + b_i), sigmoid(of_o @ both + b_o)
    u = np.tanh(of_u @ both + b_u)
    kept = sigmoid(of_left @ both + p["forget_bias"]) * left[1]
    kept = kept + sigmoid(of_right @ both + p["forget_bias"]) * right[1]
    c = i * u + kept
    return o * np.tanh(c), c


EQUATIONS: dict[str, tuple[Callable[..., Node], Callable[..., Node]]] = {
    "tree-rnn": (simple_leaf, tree_rnn),
    "rntn": (simple_leaf, rntn),
    "tree-lstm": (lstm_leaf, tree_lstm),
}


def encoder_of(cell: str) -> TreeEncoder:
    torch.manual_seed(3)
    built = TreeEncoder(
        cell=cell, options=cell_options(EncoderConfig()), inputs=INPUTS, hidden=HIDDEN,
        dropout=0.0, locked_dropout=0.0, word_dropout=0.0,
    ).double()  # fmt: skip
    with torch.no_grad():
        for parameter in built.parameters():  # none of them a zero, as biases begin
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    return built


def batch_of(names: list[str]) -> tuple[Tensor, Tensor, Tensor]:
    """Vectors, mask and children of trees of these shapes; NaN and nonsense on padding."""
    lengths = [len(SHAPES[name]) + 1 for name in names]
    time = max(lengths)
    inputs = torch.full((len(names), time, INPUTS), torch.nan, dtype=torch.float64)
    children = torch.zeros(len(names), time, 2, dtype=torch.int64)
    for row, (name, length) in enumerate(zip(names, lengths, strict=True)):
        own = torch.Generator().manual_seed(sum(map(ord, name)))
        inputs[row, :length] = torch.randn(length, INPUTS, dtype=torch.float64, generator=own)
        if length > 1:
            children[row, 1:length] = torch.tensor(SHAPES[name])
    mask = torch.arange(time) < torch.tensor(lengths).unsqueeze(1)
    return inputs, mask, children


def test_the_cells_are_those_of_the_equations() -> None:
    assert TREES.keys() == EQUATIONS.keys()


@pytest.mark.parametrize("cell", CELLS)
def test_states_are_those_of_a_recursion_over_the_equations(cell: str) -> None:
    encoder, names = encoder_of(cell), [*SHAPES]
    inputs, mask, children = batch_of(names)
    found, roots = encoder.read_trees(inputs, mask, children)
    assert found.shape == (len(names), 2 * mask.shape[1] - 1, HIDDEN)
    p = {name: each.detach().numpy() for name, each in encoder.cell.named_parameters()}
    leaf, join = EQUATIONS[cell]
    for row, name in enumerate(names):
        pairs = SHAPES[name]

        def state(node: int, row: int = row, pairs: list[tuple[int, int]] = pairs) -> Node:
            if node >= 0:
                return leaf(p, inputs[row, node].numpy())
            left, right = pairs[-node - 1]
            return join(p, state(left), state(right))

        time = mask.shape[1]
        for node in [*range(len(pairs) + 1), *(-k for k in range(1, len(pairs) + 1))]:
            column = node if node >= 0 else time - 1 - node
            expected = state(node)[0]
            np.testing.assert_allclose(found[row, column].detach(), expected, atol=1e-10, rtol=0)
        root = state(-len(pairs) if pairs else 0)[0]
        np.testing.assert_allclose(roots[row].detach(), root, atol=1e-10, rtol=0)


@pytest.mark.parametrize("cell", CELLS)
def test_gradients_are_those_of_differences_and_every_weight_has_one(cell: str) -> None:
    encoder = encoder_of(cell)
    inputs, mask, children = batch_of(["parse", "two words", "left"])
    inputs = inputs.nan_to_num().requires_grad_()
    weights = [*encoder.parameters()]

    def states(*given: Tensor) -> tuple[Tensor, Tensor]:
        return encoder.read_trees(given[0], mask, children)

    assert torch.autograd.gradcheck(states, (inputs, *weights))
    states(inputs)[1].sum().backward()
    assert all(weight.grad is not None and weight.grad.abs().max() > 0 for weight in weights)
    assert inputs.grad is not None
    assert (inputs.grad.abs().sum(2) > 0).equal(mask)  # each word counts, and no padding


@pytest.mark.parametrize("cell", CELLS)
def test_a_tree_alone_has_the_states_that_it_has_in_a_batch(cell: str) -> None:
    encoder, names = encoder_of(cell), [*SHAPES]
    together, roots = encoder.read_trees(*batch_of(names))
    time = (together.shape[1] + 1) // 2
    for row, name in enumerate(names):
        alone, root = encoder.read_trees(*batch_of([name]))
        words = len(SHAPES[name]) + 1
        torch.testing.assert_close(together[row, :words], alone[0, :words])
        torch.testing.assert_close(together[row, time : time + words - 1], alone[0, words:])
        torch.testing.assert_close(roots[row], root[0])


@pytest.mark.parametrize("cell", CELLS)
def test_padding_is_zero_and_never_leaks(cell: str) -> None:
    encoder = encoder_of(cell)
    inputs, mask, children = batch_of([*SHAPES])
    found, roots = encoder.read_trees(inputs, mask, children)  # NaN on padding
    assert roots.isfinite().all()
    assert (found[~node_mask(mask)] == 0).all()
    children[~mask] = torch.tensor([0, 1])
    again, _ = encoder.read_trees(inputs.nan_to_num(7.0), mask, children)
    assert torch.equal(found, again)
    found.sum().backward()
    assert all(each.grad is not None and each.grad.isfinite().all() for each in weights(encoder))


def weights(module: nn.Module) -> list[nn.Parameter]:
    return [*module.parameters()]


def test_an_rntn_begins_nearly_as_a_tree_rnn_and_that_near_the_mean_of_the_children() -> None:
    torch.manual_seed(1)
    hidden = 40
    cell = TREES["rntn"](INPUTS, hidden)
    plain = TREES["tree-rnn"](INPUTS, hidden)
    plain.load_state_dict({k: v for k, v in cell.state_dict().items() if k != "tensor"})
    children = 0.1 * torch.randn(50, 2, hidden)
    joined, simple = cell.join(children), plain.join(children)
    assert (joined - simple).abs().mean() < 0.05 * simple.abs().mean()
    halves = cell.state_dict()["pair.weight"].chunk(2, dim=1)
    assert all(abs(float(half.diagonal().mean()) - 0.5) < 0.1 for half in halves)
