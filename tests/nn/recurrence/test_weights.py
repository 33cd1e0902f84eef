"""Recurrent weights and gates at the beginning: their values, radii, time scales and draws."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from cell_options import CELL_OPTIONS
from torch import Tensor, nn

from tagkit.config import EncoderConfig, options_of
from tagkit.nn.cells import CELLS
from tagkit.nn.recurrence.cell import Network
from tagkit.nn.recurrence.weights import count_parameters, fresh_linear, spectral_radius

HIDDEN = 12
# The recurrent weights of a cell, and the gates of each.
RECURRENT = {
    "lstm": {"weight_hh_l0": 4}, "gru": {"weight_hh_l0": 3}, "elman": {"weight_hh_l0": 1},
    "lstm-peephole": {"weight_hh": 4}, "gru-reset-before": {"weight_hh": 3},
    "leaky": {"weight_hh": 1}, "skip": {"weight_hh": 1, "weight_skip": 1},
    "skip-lstm": {"weight_hh": 4, "weight_skip": 4},
    "clockwork": {"weight_hh": 1}, "output-feedback": {"weight_hh": 1, "weight_out": 1},
    "deep-transition": {"weight_hh": 2, "weight_skip": 1}, "recurrent-highway": {"weight_hh": 4},
    "ntm": {"weight_hh": 4},
}  # fmt: skip
# Of two products that are added each has half of the variance.
GAINS = {
    "skip": (0.5**0.5,) * 2, "skip-lstm": (0.5**0.5,) * 8,
    "deep-transition": (1, 0.5**0.5, 0.5**0.5),
}  # fmt: skip


def built(cell: str, seed: int = 1, hidden: int = HIDDEN, **changes: Any) -> Network:
    torch.manual_seed(seed)
    return CELLS[cell].build(3, hidden, replace(CELL_OPTIONS, **changes))


def gates(network: Network, cell: str) -> list[Tensor]:
    """Each gate's weights, divided by the gain that the cell gives them."""
    found = [
        gate
        for name, count in RECURRENT[cell].items()
        for gate in network.get_parameter(name).detach().chunk(count)
    ]
    gains = GAINS.get(cell, (1,) * len(found))
    return [gate / gain for gate, gain in zip(found, gains, strict=True)]


@pytest.mark.parametrize("cell", RECURRENT)
def test_each_gate_begins_as_the_option_says(cell: str) -> None:
    for gate in gates(built(cell, init="identity"), cell):
        torch.testing.assert_close(gate, torch.eye(HIDDEN))
    for gate in gates(built(cell, init="identity", spectral_radius=0.3), cell):
        torch.testing.assert_close(gate, 0.3 * torch.eye(HIDDEN))
    for gate in gates(built(cell, spectral_radius=1.5), cell):
        torch.testing.assert_close(gate @ gate.t(), 1.5**2 * torch.eye(HIDDEN))
    for init, radius, expected in (
        ("normal", None, 1), ("normal", 1.2, 1.2), ("xavier", 0.7, 0.7), ("sparse", 1.2, 1.2),
    ):  # fmt: skip
        for gate in gates(built(cell, init=init, spectral_radius=radius), cell):
            found = float(spectral_radius(gate))
            assert found == pytest.approx(expected, rel=1e-4)
            assert not torch.allclose(gate @ gate.t(), torch.diag((gate @ gate.t()).diag()))
    for gate in gates(built(cell, init="sparse", hidden=40), cell):
        assert (gate != 0).sum(1).tolist() == [15] * 40
        assert float(spectral_radius(gate)) == pytest.approx(1, rel=1e-4)
    for gate in gates(built(cell, init="xavier"), cell):
        largest = float(gate.abs().max())
        assert 0.9 * 0.5 < largest <= 0.5 + 1e-6  # sqrt(6 / (12 + 12))


def test_the_table_above_has_the_cells_that_the_option_is_for() -> None:
    needs = options_of(EncoderConfig)["init"].needs
    assert needs is not None
    assert set(RECURRENT) == {cell for cell in CELLS if needs.are_met_by(cell)}


@pytest.mark.parametrize("cell", RECURRENT)
def test_input_weights_and_biases_are_those_of_the_default(cell: str) -> None:
    default, other = built(cell), built(cell, init="identity")
    for name, parameter in default.named_parameters():
        # What is drawn after recurrent weights is drawn from other numbers: nothing, here.
        if name not in RECURRENT[cell]:
            assert torch.equal(parameter, other.get_parameter(name)), name


def times(bias: Tensor) -> Tensor:
    """Steps that a gate of this bias keeps the past, 1 / (1 - f)."""
    return 1 / (1 - torch.sigmoid(bias.detach().double()))


@pytest.mark.parametrize(
    ("cell", "keep", "take"),
    [("lstm", 1, 0), ("lstm-peephole", 1, 0), ("gru", 1, None), ("gru-reset-before", 1, None)],
)
def test_gates_keep_the_past_for_times_between_two_and_the_longest(
    cell: str, keep: int, take: int | None
) -> None:
    hidden, longest = 1000, 50
    name = "bias" if "-" in cell else "bias_ih_l0"
    default, network = (
        built(cell, hidden=hidden, init="identity", chrono=chrono) for chrono in (0, longest)
    )
    biases = network.get_parameter(name).view(-1, hidden)
    found = times(biases[keep])
    assert 2 <= float(found.min()) < 2.5
    assert 49.5 < float(found.max()) <= longest
    # Uniform: a quarter of the units in each quarter of the times.
    counts = torch.histc(found.float(), 4, 2, longest) / hidden
    torch.testing.assert_close(counts, torch.full((4,), 0.25), atol=0.05, rtol=0)
    others = set(range(len(biases))) - {keep, take}
    assert not biases[sorted(others)].any()
    if take is not None:
        assert torch.equal(biases[take], -biases[keep])
    for other, parameter in default.named_parameters():
        if other != name:  # the same draws: those of the biases follow them
            assert torch.equal(parameter, network.get_parameter(other))


@pytest.mark.parametrize("cell", ["lstm", "lstm-peephole", "gru", "gru-reset-before", "leaky"])
@torch.no_grad()
def test_a_unit_without_input_loses_the_share_of_its_state_that_its_time_says(cell: str) -> None:
    """That the sign is right: what keeps the past is multiplied by 1 - 1 / time."""
    options = {"leak": "learned"} if cell == "leaky" else {}
    network = built(cell, chrono=1000, **options).double()
    steps = network.steps()
    assert steps is not None
    for name, parameter in network.named_parameters():
        if name.startswith("weight"):
            parameter.zero_()
    state = tuple(torch.ones(values, dtype=torch.float64) for values in steps.memories)
    _, after = steps.advance(steps.project(torch.zeros(3, dtype=torch.float64)), state)
    kept = after[-1]  # c of an LSTM, h of the others; what is new is tanh(0)
    found = 1 / (1 - kept)
    assert 2 <= float(found.min())
    assert 500 < float(found.max()) <= 1000


def test_the_option_is_for_the_cells_whose_biases_it_changes() -> None:
    needs = options_of(EncoderConfig)["chrono"].needs
    assert needs is not None
    for cell in CELLS:
        options = {"leak": "learned"} if cell == "leaky" else {}
        pair = [built(cell, chrono=chrono, **options).state_dict() for chrono in (0, 9)]
        same = all(torch.equal(pair[0][name], pair[1][name]) for name in pair[0])
        assert same != needs.are_met_by(cell), cell


@pytest.mark.parametrize("parts", [1, 3])
def test_weights_are_uniform_within_the_bound_of_each_part_and_biases_are_zero(parts: int) -> None:
    torch.manual_seed(1)
    layer = fresh_linear(40, 20, parts)
    assert not layer.bias.any()
    bound = math.sqrt(6 / (40 + 20))  # eq. 16, of a part and not of all rows together
    for part in layer.weight.chunk(parts):
        assert part.shape == (20, 40)
        assert 0.99 * bound < part.abs().max() <= bound
        assert part.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)
    assert len({part.sum().item() for part in layer.weight.chunk(parts)}) == parts


def test_shared_and_frozen_weights_count_once_each() -> None:
    first = nn.Linear(3, 2)
    second = nn.Linear(3, 2)
    second.weight = first.weight
    second.bias.requires_grad_(False)
    assert count_parameters(nn.ModuleList([first, second])) == 3 * 2 + 2 + 2
