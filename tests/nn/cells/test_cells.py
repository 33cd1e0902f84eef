"""The laws of the table of cells, for every row and option: equations, steps, gradients."""

from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from cell_options import CACHED, CASES, CELL_OPTIONS, network_of, state_tensors
from equations import EQUATIONS
from torch import Tensor, nn

from tagkit.config import EmbeddingsConfig, EncoderConfig, allowed, carried_by_models, options_of
from tagkit.config.values import NOT_RECURRENT
from tagkit.nn.cells import CELLS
from tagkit.nn.layers.encoder import LAYERS, Encoder
from tagkit.nn.layers.layer import LayerOptions
from tagkit.nn.recurrence.cell import CellOptions, Network
from tagkit.nn.trees import TREES

INPUTS, HIDDEN = 3, 6
LENGTHS = (7, 1, 3)
MASK = torch.arange(7) < torch.tensor(LENGTHS).unsqueeze(1)
# Cells whose networks are torch's, with the number of their gates and the one that begins open.
FUSED = {"lstm": (nn.LSTM, 4, 1), "gru": (nn.GRU, 3, None), "elman": (nn.RNN, 1, None)}

each_case = pytest.mark.parametrize("case", CASES)


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def random_network(case: str) -> Network:
    """A network of float64 whose biases and peepholes are not zero."""
    torch.manual_seed(2)
    network = network_of(case, INPUTS, HIDDEN).double()
    with torch.no_grad():
        for parameter in network.parameters():
            nn.init.normal_(parameter)
    return network


def encoder(case: str, seed: int) -> Encoder:
    torch.manual_seed(seed)
    cell, options = CASES[case]
    return Encoder(
        cell=cell, options=options, inputs=INPUTS, hidden=HIDDEN, layers=2, connection="none",
        bidirectional=True, merge="concat", output_layers=(), segment=0, dropout=0,
        locked_dropout=0, word_dropout=0,
    )  # fmt: skip


def test_the_configuration_allows_the_cells_of_the_table() -> None:
    assert allowed(EncoderConfig, "cell") == (*LAYERS, *TREES)
    assert LAYERS.keys() - {*NOT_RECURRENT} == CELLS.keys()
    assert [name for name, kind in LAYERS.items() if not kind.recurrent] == [*NOT_RECURRENT]
    assert set(EQUATIONS) == set(CELLS)
    assert allowed(EmbeddingsConfig, "char_cell") == (*CELLS, "cnn", "none")


@each_case
@torch.no_grad()
def test_states_are_those_of_the_equations(case: str) -> None:
    network, (cell, options) = random_network(case), CASES[case]
    inputs = drawn(2, 9, INPUTS).double()  # the slowest group of a clockwork is updated twice
    weights = {name: values.numpy() for name, values in network.named_parameters()}
    states, _ = network(inputs)
    for found, sequence in zip(states, inputs, strict=True):
        expected = EQUATIONS[cell](weights, options, sequence.numpy())
        np.testing.assert_allclose(found.numpy(), np.stack(expected), rtol=1e-12, atol=1e-12)


@each_case
@torch.no_grad()
def test_step_by_step_gives_the_states_of_the_whole_sequence(case: str) -> None:
    network, inputs = random_network(case), drawn(2, 9, INPUTS).double()
    expected, last = network(inputs)
    state = None
    for t in range(9):
        output, state = network(inputs[:, t : t + 1], state)
        torch.testing.assert_close(output, expected[:, t : t + 1])
    assert state is not None
    for found, wanted in zip(state_tensors(state), state_tensors(last), strict=True):
        assert found.shape[:2] == (1, 2)  # the batch is axis 1, as a beam reorders it
        torch.testing.assert_close(found, wanted)


@each_case
def test_gradients_are_those_of_differences(case: str) -> None:
    network = random_network(case)
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    inputs = drawn(1, 3, INPUTS).double().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda given, *_: network(given)[0], (inputs, *trained), fast_mode=True
    )


@pytest.mark.parametrize("case", CACHED)
@torch.no_grad()
def test_a_cell_that_is_called_bounded_keeps_its_states_within_minus_one_and_one(case: str) -> None:
    torch.manual_seed(2)
    network = network_of(case, INPUTS, HIDDEN)
    for parameter in network.parameters():
        parameter.normal_(std=5)
    states, _ = network(50 * drawn(8, 30, INPUTS))
    recurrence = network.recurrence()
    assert recurrence is not None
    assert bool((states.abs() <= 1).all()) == recurrence.bounded


@each_case
@torch.no_grad()
def test_saved_and_loaded_weights_give_the_same_states(case: str) -> None:
    saved, loaded = encoder(case, 1), encoder(case, 2)
    inputs = drawn(3, 7, INPUTS)
    assert not torch.equal(saved(inputs, MASK), loaded(inputs, MASK))
    loaded.load_state_dict(saved.state_dict())
    assert torch.equal(saved(inputs, MASK), loaded(inputs, MASK))


@each_case
def test_a_network_to_be_loaded_has_the_tensors_of_one_that_was_trained(case: str) -> None:
    with torch.device("meta"):
        found = network_of(case, INPUTS, HIDDEN)
    trained = network_of(case, INPUTS, HIDDEN)
    for (name, wanted), (other, tensor) in zip(
        trained.state_dict().items(), found.state_dict().items(), strict=True
    ):
        assert (name, wanted.shape, wanted.dtype) == (other, tensor.shape, tensor.dtype)
    # Whatever is not saved has no memory when the weights are there: all is.
    assert not [name for name, _ in trained.named_buffers()]


@each_case
def test_every_trained_parameter_gets_a_gradient(case: str) -> None:
    network = encoder(case, 3)
    network(drawn(3, 7, INPUTS).requires_grad_(), MASK).square().sum().backward()
    trained = {name: one for name, one in network.named_parameters() if one.requires_grad}
    for name, parameter in trained.items():
        assert parameter.grad is not None, name
        assert bool(parameter.grad.abs().sum() > 0), name
    fixed = {name.rpartition(".")[2] for name, one in network.named_parameters()} - {
        name.rpartition(".")[2] for name in trained
    }
    reservoir = {"weight_ih", "weight_hh", "bias"}
    assert fixed == (reservoir if CASES[case][0] == "echo-state" else set())


# Another value of each option than the default.
OTHERS: dict[str, Any] = {
    "activation": "relu", "init": "identity", "spectral_radius": 0.3, "chrono": 9,
    "initial_state": "learned", "leak": 0.3,
    "skip": (2,), "periods": (1, 3), "heads": 1,
    "feed_forward": 1, "norm": "after", "positions": "sinusoidal", "max_positions": 2,
    "transition_layers": 3, "transition_skip": False, "widths": (5,), "dilation": 2,
    "memory": (9, 2),
}  # fmt: skip


@cache
def states_with(cell: str, **changes: Any) -> Tensor:
    """States of a fresh layer; all layers draw from one seed."""
    torch.manual_seed(4)
    options = replace(CELL_OPTIONS, **changes)
    layer = LAYERS[cell].build(
        LayerOptions(
            cell=cell, options=options, inputs=INPUTS, hidden=8, bidirectional=False,
            merge="concat", segment=0, dropout=0,
            number=int(cell == "cnn"), topmost=False,  # dilation is of layers above the lowest,
        )
    )  # fmt: skip
    found: Tensor = layer(drawn(3, 7, INPUTS), MASK)
    return found


def is_for(name: str, cell: str) -> bool:
    """Whether the configuration takes the option with this cell."""
    options = {**options_of(EncoderConfig), **carried_by_models(EncoderConfig)}
    conditions = options["positions" if name == "max_positions" else name].needed
    return all(needs.are_met_by(cell) for needs in conditions)


def test_every_option_of_cells_has_a_value_here() -> None:
    assert OTHERS.keys() == {field.name for field in fields(CellOptions)}


@pytest.mark.parametrize("name", OTHERS)
@torch.no_grad()
def test_an_option_changes_the_states_of_the_cells_that_it_is_for_and_of_no_others(
    name: str,
) -> None:
    for cell in LAYERS:
        # What else it takes, with the cells that have it.
        beside: dict[str, Any] = {"positions": "learned"} if name == "max_positions" else {}
        if name == "chrono" and cell == "leaky":
            beside = {"leak": "learned"}
        # It begins as a leaky layer whose weights are drawn again, from the numbers that follow.
        if name == "init" and cell == "echo-state":
            continue
        default = states_with(cell, **beside)
        same = torch.equal(default, states_with(cell, **{**beside, name: OTHERS[name]}))
        assert same != is_for(name, cell), cell


@pytest.mark.parametrize("name", FUSED)
def test_recurrent_gates_begin_orthogonal_forget_gates_open_and_all_other_biases_at_zero(
    name: str,
) -> None:
    torch.manual_seed(1)
    _, gates, forget_gate = FUSED[name]
    network = network_of(name, INPUTS, HIDDEN)
    for gate in network.get_parameter("weight_hh_l0").chunk(gates):
        torch.testing.assert_close(gate @ gate.t(), torch.eye(HIDDEN))
    largest = (6 / (INPUTS + HIDDEN)) ** 0.5  # of each gate by itself
    found = float(network.get_parameter("weight_ih_l0").detach().abs().max())
    assert 0.9 * largest < found <= largest
    expected = torch.zeros(gates, HIDDEN)
    if forget_gate is not None:
        expected[forget_gate] = 1
    assert torch.equal(network.get_parameter("bias_ih_l0"), expected.flatten())
    assert not network.get_parameter("bias_hh_l0").any()


def test_names_of_saved_parameters_are_those_of_earlier_versions() -> None:
    sides = [f"layers.{layer}.{side}" for layer in (0, 1) for side in ("forwards", "backwards")]
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    expected = [f"{side}.{name}" for side in sides for name in names]
    for name, (kind, _, _) in FUSED.items():
        assert list(encoder(name, 1).state_dict()) == expected
        assert isinstance(CELLS[name].build(1, 1, CELL_OPTIONS), kind)
