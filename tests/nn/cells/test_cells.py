"""The laws of the table of cells, for every row: sizes, bounds, initial weights, saving."""

import pytest
import torch
from torch import Tensor, nn

from tagkit.config import EmbeddingsConfig, EncoderConfig, allowed
from tagkit.nn.cells import CELLS
from tagkit.nn.cells.cell import Cell
from tagkit.nn.encoder import Encoder

INPUTS, HIDDEN = 3, 4
LENGTHS = (5, 1, 3)
MASK = torch.arange(5) < torch.tensor(LENGTHS).unsqueeze(1)

each_cell = pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def encoder(name: str, seed: int) -> Encoder:
    torch.manual_seed(seed)
    return Encoder(
        cell=name, inputs=INPUTS, hidden=HIDDEN, layers=2, bidirectional=True, merge="concat",
        segment=0, dropout=0, locked_dropout=0, word_dropout=0,
    )  # fmt: skip


def test_the_configuration_allows_the_cells_of_the_table() -> None:
    assert allowed(EncoderConfig, "cell") == tuple(CELLS)
    assert set(allowed(EmbeddingsConfig, "char_cell")) == {*CELLS, "none"}


def test_the_names_that_users_read_are_these() -> None:
    names = {"lstm": "LSTM", "gru": "GRU", "elman": "Elman RNN"}
    assert {key: CELLS[key].name for key in names} == names


@each_cell
def test_a_cell_has_as_many_gates_as_its_weights(cell: Cell) -> None:
    network = cell.build(INPUTS, HIDDEN)
    assert network.get_parameter("weight_ih_l0").shape == (cell.gates * HIDDEN, INPUTS)
    assert network.get_parameter("weight_hh_l0").shape == (cell.gates * HIDDEN, HIDDEN)
    assert network.get_parameter("bias_ih_l0").shape == (cell.gates * HIDDEN,)


@each_cell
def test_recurrent_gates_begin_orthogonal_forget_gates_open_and_all_other_biases_at_zero(
    cell: Cell,
) -> None:
    torch.manual_seed(1)
    network = cell.build(INPUTS, HIDDEN)
    for gate in network.get_parameter("weight_hh_l0").chunk(cell.gates):
        torch.testing.assert_close(gate @ gate.t(), torch.eye(HIDDEN))
    largest = (6 / (INPUTS + HIDDEN)) ** 0.5  # of each gate by itself
    found = float(network.get_parameter("weight_ih_l0").detach().abs().max())
    assert 0.9 * largest < found <= largest
    expected = torch.zeros(cell.gates, HIDDEN)
    if cell.forget_gate is not None:
        expected[cell.forget_gate] = 1
    assert torch.equal(network.get_parameter("bias_ih_l0"), expected.flatten())
    assert not network.get_parameter("bias_hh_l0").any()


@each_cell
@torch.no_grad()
def test_a_cell_that_is_called_bounded_keeps_its_states_within_minus_one_and_one(
    cell: Cell,
) -> None:
    torch.manual_seed(2)
    network = cell.build(INPUTS, HIDDEN)
    for parameter in network.parameters():
        parameter.normal_(std=5)
    states, _ = network(50 * drawn(8, 30, INPUTS))
    assert bool((states.abs() <= 1).all()) == cell.bounded


@pytest.mark.parametrize("name", CELLS)
@torch.no_grad()
def test_saved_and_loaded_weights_give_the_same_states(name: str) -> None:
    saved, loaded = encoder(name, 1), encoder(name, 2)
    inputs = drawn(3, 5, INPUTS)
    assert not torch.equal(saved(inputs, MASK), loaded(inputs, MASK))
    loaded.load_state_dict(saved.state_dict())
    assert torch.equal(saved(inputs, MASK), loaded(inputs, MASK))


@pytest.mark.parametrize("name", CELLS)
def test_every_parameter_gets_a_gradient(name: str) -> None:
    network = encoder(name, 3)
    network(drawn(3, 5, INPUTS), MASK).square().sum().backward()
    for parameter_name, parameter in network.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert bool(parameter.grad.abs().sum() > 0), parameter_name


def test_names_of_saved_parameters_are_those_of_earlier_versions() -> None:
    sides = [f"layers.{layer}.{side}" for layer in (0, 1) for side in ("forwards", "backwards")]
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    expected = [f"{side}.{name}" for side in sides for name in names]
    for name in CELLS:
        assert list(encoder(name, 1).state_dict()) == expected
    types = {"lstm": nn.LSTM, "gru": nn.GRU, "elman": nn.RNN}
    assert {key: type(CELLS[key].build(1, 1)) for key in types} == types
