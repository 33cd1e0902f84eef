"""The regulariser of gradients through time: value and gradient by brute force, and laws."""

from collections.abc import Iterable
from typing import NamedTuple

import pytest
import torch
from cell_options import CASES, MOSTLY_SLOW, cell_of, network_of
from says import refuses
from torch import Tensor, nn

from tagkit.config import TrainConfig, options_of
from tagkit.nn.cells import CELLS
from tagkit.nn.layers.information_flow import flow_penalties, watch, watched_flow
from tagkit.nn.layers.recurrent_layer import RecurrentLayer
from tagkit.nn.recurrence.cell import Network
from tagkit.nn.threads import second_thread

INPUTS, HIDDEN, TIME = 3, 4, 7
LENGTHS = (7, 1, 4)
MASK = torch.arange(TIME) < torch.tensor(LENGTHS)[:, None]
SEGMENTS = (0, 3)


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


WITH_STEPS = [  # some have none
    case for case in MOSTLY_SLOW if not str(case.values[0]).startswith(("sru", "ntm"))
]


def random_network(case: str) -> Network:
    torch.manual_seed(2)
    network = network_of(case, INPUTS, HIDDEN).double()
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.7)
    return network


class Link(NamedTuple):
    """One step of a sequence: its input, the state before it, and g[t] by the state after it."""

    inputs: Tensor
    before: Tensor
    gradient: Tensor


def advanced(network: Network, inputs: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
    """Output and state after a step, each as one vector."""
    steps = network.steps()
    assert steps is not None
    output, state = steps.advance(steps.project(inputs), before.split(steps.memories))
    return output, torch.cat(state)


def jacobian(network: Network, inputs: Tensor, before: Tensor, part: int) -> Tensor:
    """Of the output (0) or the state (1) by the state before, (values, state)."""
    found: Tensor = torch.autograd.functional.jacobian(
        lambda state: advanced(network, inputs, state)[part], before
    )
    return found


def links(network: Network, inputs: Tensor, gradients: Tensor, segment: int) -> list[Link]:
    """All steps of one sequence over which a gradient goes back, by matrices."""
    steps = network.steps()
    assert steps is not None
    time, size = len(inputs), sum(steps.memories)
    states = [inputs.new_zeros(size)]
    for t in range(time):
        states.append(advanced(network, inputs[t], states[-1])[1].detach())
    found = []
    after = inputs.new_zeros(size)  # what goes through later steps
    for t in reversed(range(time)):
        # The output is the first values of the state, in all of these cells.
        direct = torch.cat((gradients[t], inputs.new_zeros(size - HIDDEN)))
        gradient = direct + after
        border = t == 0 or (segment and t % segment == 0)
        if border:
            after = torch.zeros_like(after)
        else:
            found.append(Link(inputs[t], states[t], gradient))
            after = gradient @ jacobian(network, inputs[t], states[t], 1)
    return found


def omega(network: Network, chain: Iterable[Link]) -> float:
    total = 0.0
    for inputs, before, gradient in chain:
        passed = gradient @ jacobian(network, inputs, before, 1)
        total += float((passed.norm() / gradient.norm() - 1) ** 2)
    return total


@pytest.mark.parametrize("case", WITH_STEPS)
@pytest.mark.parametrize("segment", SEGMENTS)
def test_the_penalty_is_that_of_the_jacobians(case: str, segment: int) -> None:
    network = random_network(case)
    inputs, gradients = drawn(2, TIME, INPUTS), drawn(2, TIME, HIDDEN, seed=3)
    penalties = flow_penalties(network, inputs, gradients, segment)
    found = sum(float(penalty.detach()) for penalty in penalties)
    expected = sum(
        omega(network, links(network, *pair, segment))
        for pair in zip(inputs, gradients, strict=True)
    )
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("case", WITH_STEPS)
@torch.no_grad()
def test_steps_give_the_states_of_the_whole_sequence(case: str) -> None:
    network, inputs = random_network(case), drawn(2, TIME, INPUTS)
    steps = network.steps()
    assert steps is not None
    state = tuple(inputs.new_zeros(2, values) for values in steps.memories)
    for t, expected in enumerate(network(inputs)[0].unbind(1)):
        output, state = steps.advance(steps.project(inputs[:, t]), state)
        torch.testing.assert_close(output, expected)


@pytest.mark.parametrize("case", WITH_STEPS)
def test_what_is_added_to_the_gradient_is_that_of_differences_of_the_penalty(case: str) -> None:
    """States and g are constants in it, as in the paper."""
    network, factor, step = random_network(case), 0.3, 1e-6
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    if not trained:
        return
    inputs, gradients = drawn(1, 4, INPUTS), drawn(1, 4, HIDDEN, seed=3)
    states = network(inputs)[0]
    plain = torch.autograd.grad(states, trained, gradients, retain_graph=True, allow_unused=True)
    with watched_flow() as penalties:
        watched = watch(network, inputs, states, segment=0)
    assert torch.equal(watched, states)
    loss = (watched * gradients).sum()
    assert float((loss + penalties[0]).detach()) == float(loss.detach())
    regularised = torch.autograd.grad(
        (loss + 5 * penalties[0]) * factor, trained, allow_unused=True
    )
    chain = links(network, inputs[0], gradients[0], 0)
    for parameter, before, after in zip(trained, plain, regularised, strict=True):
        assert before is not None
        assert after is not None
        values = parameter.data.view(-1)
        for place in range(0, len(values), 5):
            kept = float(values[place])
            values[place] = kept + step
            higher = omega(network, chain)
            values[place] = kept - step
            lower = omega(network, chain)
            values[place] = kept
            # What multiplies the loss multiplies the penalty, whose value depends on no factor.
            added = after.view(-1)[place] / factor - before.view(-1)[place]
            expected = 5 * (higher - lower) / (2 * step)
            assert float(added) == pytest.approx(expected, rel=1e-5, abs=1e-7)


def layer(case: str, segment: int = 0) -> RecurrentLayer:
    torch.manual_seed(4)
    return RecurrentLayer(
        **cell_of(case), inputs=INPUTS, hidden=HIDDEN, bidirectional=True, merge="concat",
        segment=segment,
    )  # fmt: skip


def gradients_of(
    network: RecurrentLayer, inputs: Tensor, mask: Tensor, strength: float
) -> list[Tensor]:
    """Of some loss, with the penalties of both directions; of the inputs last."""
    inputs = inputs.clone().requires_grad_()
    with watched_flow() as penalties:
        states = network(inputs, mask)
    weights = drawn(1, TIME, 2 * HIDDEN, seed=5)[:, : inputs.shape[1]].to(inputs.dtype)
    total = (states * weights).sum() + strength * sum(penalties)
    return list(torch.autograd.grad(total, [*network.parameters(), inputs]))


@pytest.mark.parametrize("segment", SEGMENTS)
def test_sentences_of_a_batch_add_up_and_padding_adds_nothing(segment: int) -> None:
    network, inputs = layer("gru", segment).double(), drawn(3, TIME, INPUTS)
    inputs[~MASK] = 1e3
    *together, _ = gradients_of(network, inputs, MASK, 2.0)
    alone = [
        gradients_of(network, inputs[[row], :length], MASK[[row], :length], 2.0)[:-1]
        for row, length in enumerate(LENGTHS)
    ]
    for found, *parts in zip(together, *alone, strict=True):
        torch.testing.assert_close(found, sum(parts))


def test_both_directions_get_the_penalty_and_the_inputs_do_not() -> None:
    network, inputs = layer("elman"), drawn(3, TIME, INPUTS).float()
    plain = gradients_of(network, inputs, MASK, 0.0)
    found = gradients_of(network, inputs, MASK, 1.0)
    names = [name for name, _ in network.named_parameters()]
    for name, before, after in zip(names, plain, found, strict=False):
        assert not torch.allclose(before, after), name
    assert torch.equal(plain[-1], found[-1])


def test_two_threads_give_the_same_bits_as_one() -> None:
    network, inputs = layer("lstm"), drawn(3, TIME, INPUTS).float()
    expected = gradients_of(network, inputs, MASK, 1.0)
    with second_thread():
        found = gradients_of(network, inputs, MASK, 1.0)
    assert all(torch.equal(*pair) for pair in zip(found, expected, strict=True))


def test_outside_of_the_context_nothing_is_watched() -> None:
    network, inputs = layer("elman"), drawn(3, TIME, INPUTS).float()
    states = network(inputs, MASK)  # with which the nodes of its graph live
    nodes, names = [states.grad_fn], set()
    while nodes:
        node = nodes.pop()
        if node is not None:
            names.add(node.name())
            nodes += [before for before, _ in node.next_functions]
    assert len(names) > 3
    assert "_WatchedBackward" not in names
    with watched_flow() as penalties, torch.no_grad():
        network(inputs, MASK)
    assert penalties == []


def test_a_gradient_that_has_nearly_vanished_counts_as_much_as_a_large_one() -> None:
    network = network_of("elman", INPUTS, HIDDEN)
    inputs, gradients = drawn(1, TIME, INPUTS).float(), drawn(1, TIME, HIDDEN, seed=3).float()
    found = [
        float(next(flow_penalties(network, inputs, gradients * scale, 0)).detach())
        for scale in (1, 1e-30)  # whose square is 0 in float32
    ]
    assert found[0] > 0.1
    assert found[1] == pytest.approx(found[0], rel=1e-4)


def test_where_no_gradient_arrives_or_none_passes_the_penalty_has_a_finite_gradient() -> None:
    network = network_of("elman, relu", INPUTS, HIDDEN)
    nn.init.constant_(network.get_parameter("bias_ih_l0"), -100)  # no unit ever answers
    inputs, gradients = drawn(1, 3, INPUTS).float(), torch.ones(1, 3, HIDDEN)
    for scale, expected in ((1.0, 2.0), (0.0, 0.0)):  # (0 - 1)^2 at the second and third step
        penalty = next(flow_penalties(network, inputs, gradients * scale, 0))
        assert float(penalty.detach()) == expected
        weights = network.get_parameter("weight_hh_l0")
        (found,) = torch.autograd.grad(penalty, [weights])
        assert not found.any()  # and is no NaN


def test_descent_on_the_penalty_makes_gradients_keep_their_norm() -> None:
    network = network_of("elman", INPUTS, HIDDEN)
    with torch.no_grad():
        network.get_parameter("weight_hh_l0").mul_(0.3)
    inputs, gradients = 0.3 * drawn(4, TIME, INPUTS).float(), torch.zeros(4, TIME, HIDDEN)
    gradients[:, -1] = drawn(4, HIDDEN, seed=3)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.02)
    seen = []
    for _ in range(40):
        penalty = next(flow_penalties(network, inputs, gradients, 0))
        seen.append(float(penalty.detach()) / (4 * (TIME - 1)))
        optimizer.zero_grad()
        penalty.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert seen[0] > 0.4  # about (0.3 - 1)^2
    assert seen[-1] < 0.05


def test_the_option_is_for_the_cells_whose_steps_have_trained_weights() -> None:
    needs = options_of(TrainConfig)["flow_strength"].needs
    assert needs is not None
    for cell in CELLS:
        network = network_of(cell, INPUTS, HIDDEN)
        trained = any(parameter.requires_grad for parameter in network.parameters())
        assert (network.steps() is not None and trained) == needs.are_met_by(cell), cell
    assert set(CASES) >= set(CELLS)


def test_a_network_without_steps_is_refused() -> None:
    network = Network()
    with watched_flow(), refuses(ValueError, "differentiated"):
        watch(network, drawn(1, 2, 3), drawn(1, 2, 4), segment=0)
