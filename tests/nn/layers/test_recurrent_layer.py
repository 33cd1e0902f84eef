"""Weight drop, initial states and clipped gradients of every cell."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from cell_options import CASES, CELL_OPTIONS, MOSTLY_SLOW, cell_of, network_of
from equations import EQUATIONS
from torch import Tensor, nn

from tagkit.nn.cells import CELLS
from tagkit.nn.layers.information_flow import watched_flow
from tagkit.nn.layers.recurrent_layer import (
    ClippedNetwork,
    RecurrentLayer,
    with_dropped_weights,
    with_weights,
)
from tagkit.nn.recurrence.cell import Network
from tagkit.nn.threads import second_thread

INPUTS, HIDDEN = 3, 6
MASK = torch.arange(9) < torch.tensor((9, 1, 4)).unsqueeze(1)
each_case = pytest.mark.parametrize("case", CASES)
mostly_each_case = pytest.mark.parametrize("case", MOSTLY_SLOW)


def random_network(case: str) -> Network:
    torch.manual_seed(2)
    network = network_of(case, INPUTS, HIDDEN).double()
    with torch.no_grad():
        for parameter in network.parameters():
            nn.init.normal_(parameter)
    return network


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1)).double()


def recurrent_layer(case: str, segment: int = 0) -> RecurrentLayer:
    torch.manual_seed(3)
    layer = RecurrentLayer(
        **cell_of(case), inputs=INPUTS, hidden=HIDDEN, bidirectional=True, merge="concat",
        segment=segment,
    ).double()  # fmt: skip
    layer.weight_drop = 0.5
    return layer


def test_every_cell_with_recurrent_products_names_their_weights() -> None:
    found = {name: network_of(name, INPUTS, HIDDEN) for name in CELLS}
    for name, network in found.items():
        recurrence = network.recurrence()
        assert (recurrence is None) == (name == "ntm")
        if recurrence is not None:
            of_names = sum(network.get_parameter(one).numel() for one in network.state_weights)
            assert of_names == sum(one.numel() for one in recurrence.weights.recurrent), name
    assert [name for name, network in found.items() if not network.state_weights] == ["sru"]


@each_case
@torch.no_grad()
def test_states_are_those_of_the_equations_with_the_dropped_weights(case: str) -> None:
    network, (cell, options) = random_network(case), CASES[case]
    inputs = drawn(2, 9, INPUTS)
    names, before = network.state_weights, {k: v.clone() for k, v in network.state_dict().items()}
    torch.manual_seed(4)
    dropped = with_dropped_weights(network, 0.5)
    torch.manual_seed(4)
    masks = {name: nn.functional.dropout(torch.ones_like(before[name]), 0.5) for name in names}
    weights = {
        name: (values * masks[name] if name in masks else values).numpy()
        for name, values in before.items()
    }
    for _ in range(2):  # the second time as the first
        states, _ = dropped(inputs)
        for found, sequence in zip(states, inputs, strict=True):
            expected = EQUATIONS[cell](weights, options, sequence.numpy())
            np.testing.assert_allclose(found.numpy(), np.stack(expected), rtol=1e-12, atol=1e-12)
    # The network itself is as it was, in names, values and states.
    assert {**network.state_dict()}.keys() == before.keys()
    for name, values in network.state_dict().items():
        assert torch.equal(values, before[name])
    whole, _ = network(inputs)
    for found, sequence in zip(whole, inputs, strict=True):
        plain = {name: values.numpy() for name, values in before.items()}
        expected = EQUATIONS[cell](plain, options, sequence.numpy())
        np.testing.assert_allclose(found.numpy(), np.stack(expected), rtol=1e-12, atol=1e-12)


def test_weights_are_dropped_as_often_as_the_probability_says_and_others_scaled() -> None:
    torch.manual_seed(1)
    network = CELLS["lstm"].build(10, 100, CELL_OPTIONS)
    ratio = with_dropped_weights(network, 0.25).weight_hh_l0 / network.weight_hh_l0
    assert abs((ratio == 0).float().mean().item() - 0.25) < 0.01
    kept = ratio[ratio != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / 0.75))


@mostly_each_case
def test_gradients_of_the_trained_weights_are_those_of_differences(case: str) -> None:
    network = random_network(case)
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]

    def states(given: Tensor, *_: Tensor) -> Tensor:
        torch.manual_seed(4)
        found: Tensor = with_dropped_weights(network, 0.5)(given)[0]
        return found

    inputs = drawn(1, 3, INPUTS).requires_grad_()
    assert torch.autograd.gradcheck(states, (inputs, *trained), fast_mode=True)


def backward(states: Tensor) -> None:
    """Gradients of the parameters; the cell echo-state has none that is trained."""
    if states.requires_grad:
        states.sum().backward()


@mostly_each_case
def test_one_mask_serves_all_segments_of_a_batch_and_both_threads(case: str) -> None:
    inputs, found = drawn(3, 9, INPUTS), []
    for segment, threads in ((0, 1), (2, 1), (0, 2)):
        layer = recurrent_layer(case, segment)
        torch.manual_seed(5)
        if threads == 2:
            with second_thread():
                states = layer(inputs, MASK)
                backward(states)
        else:
            states = layer(inputs, MASK)
            backward(states)
        found.append((states, [one.grad for one in layer.parameters()]))
    torch.testing.assert_close(found[1][0], found[0][0])
    assert torch.equal(found[2][0], found[0][0])
    for one, wanted in zip(found[2][1], found[0][1], strict=True):
        assert (one is None) == (wanted is None)
        assert one is None or torch.equal(one, wanted)


@mostly_each_case
def test_nothing_is_dropped_outside_training_nor_drawn_without_a_probability(case: str) -> None:
    layer, inputs = recurrent_layer(case), drawn(3, 9, INPUTS)
    plain = recurrent_layer(case)
    plain.weight_drop = 0.0
    before = torch.get_rng_state()
    with torch.no_grad():
        expected = plain(inputs, MASK)
        assert torch.equal(layer.eval()(inputs, MASK), expected)
        assert torch.equal(torch.get_rng_state(), before)
        # SRU has no recurrent matrices.
        assert torch.equal(layer.train()(inputs, MASK), expected) == (case == "sru")
    assert list(layer.state_dict()) == list(plain.state_dict())


@pytest.mark.parametrize("case", ["lstm", "gru", "elman", "leaky"])
def test_the_flow_of_information_is_regularised_with_the_weights_that_were_read(case: str) -> None:
    layer, inputs = recurrent_layer(case), drawn(3, 9, INPUTS)
    reference = recurrent_layer(case)
    reference.weight_drop = 0.0
    torch.manual_seed(5)
    masks = [
        nn.functional.dropout(torch.ones_like(network.get_parameter(name)), 0.5)
        for network in (reference.forwards, reference.backwards)
        for name in network.state_weights
    ]
    with torch.no_grad():
        for network, mask in zip((reference.forwards, reference.backwards), masks, strict=True):
            network.get_parameter(network.state_weights[0]).mul_(mask)
    for one in (layer, reference):
        torch.manual_seed(5)
        with watched_flow() as penalties:
            states = one(inputs, MASK)
        (states.sum() + torch.stack(penalties).sum()).backward()
    for number, network in enumerate((layer.forwards, layer.backwards)):
        wanted = (reference.forwards, reference.backwards)[number]
        for name, parameter in network.named_parameters():
            expected = wanted.get_parameter(name).grad
            assert expected is not None
            if name in network.state_weights:
                expected = expected * masks[number]
            torch.testing.assert_close(parameter.grad, expected)


def test_a_replaced_weight_is_what_torchs_kernel_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    # As versions of torch that do not look whether the attributes have changed.
    monkeypatch.setattr(nn.RNNBase, "_update_flat_weights", lambda _: None, raising=False)
    network, inputs = random_network("lstm"), drawn(2, 5, INPUTS)
    zeros = torch.zeros_like(network.get_parameter("weight_hh_l0"))
    with torch.no_grad():
        replaced, _ = with_weights(network, {"weight_hh_l0": zeros})(inputs)
        network.get_parameter("weight_hh_l0").zero_()
        assert torch.equal(replaced, network(inputs)[0])


@pytest.mark.cuda
@pytest.mark.parametrize("case", ["lstm", "gru", "elman"])
def test_a_gpu_reads_the_dropped_weights_without_a_warning(case: str) -> None:
    layer, inputs = recurrent_layer(case), drawn(3, 9, INPUTS)
    zeros = {
        name: torch.zeros_like(layer.forwards.get_parameter(name))
        for name in layer.forwards.state_weights
    }
    expected, _ = with_weights(layer.forwards, zeros)(inputs)
    network = layer.forwards.cuda()
    on_gpu = {name: one.cuda() for name, one in zeros.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, _ = with_weights(network, on_gpu)(inputs.cuda())
    torch.testing.assert_close(found.cpu(), expected)


def with_learned_start(case: str) -> RecurrentLayer:
    torch.manual_seed(3)
    cell, options = CASES[case]
    layer = RecurrentLayer(
        cell=cell, options=replace(options, initial_state="learned"), inputs=INPUTS, hidden=HIDDEN,
        bidirectional=True, merge="concat", segment=0,
    ).double()  # fmt: skip
    with torch.no_grad():
        for parameter in layer.initial:
            nn.init.normal_(parameter)
    return layer


@mostly_each_case
def test_learned_initial_states_come_before_the_first_token_of_each_direction(case: str) -> None:
    layer, inputs = with_learned_start(case), drawn(3, 9, INPUTS)
    states = layer(inputs, MASK)
    if CASES[case][0] in ("clockwork", "echo-state", "ntm"):
        assert not layer.initial
        return
    for direction, network in enumerate((layer.forwards, layer.backwards)):
        assert network is not None
        first = layer._begin(direction, 1)
        for row, length in enumerate((9, 1, 4)):
            own = inputs[row : row + 1, :length]
            expected, _ = network(own.flip(1) if direction else own, first)
            part = states[row, :length, direction * HIDDEN : (direction + 1) * HIDDEN]
            torch.testing.assert_close(part.flip(0) if direction else part, expected[0])
    states.square().sum().backward()
    for parameter in layer.initial:
        assert parameter.grad is not None
        assert parameter.grad.any()
    wanted = [
        parameter.grad.clone() for parameter in layer.parameters() if parameter.grad is not None
    ]
    layer.zero_grad()
    with second_thread():
        layer(inputs, MASK).square().sum().backward()
    found = [parameter.grad for parameter in layer.parameters() if parameter.grad is not None]
    torch.testing.assert_close(found, wanted)
    assert not layer.recurrences()  # cached inference begins with zeros


@torch.no_grad()
def test_an_elman_network_with_an_initial_state_equals_a_loop_over_its_equation() -> None:
    layer, inputs = with_learned_start("elman"), drawn(1, 4, INPUTS)
    p = {name: values.numpy() for name, values in layer.named_parameters()}
    h, found = p["initial.0"], layer(inputs, MASK[2:, :4])[0, :, :HIDDEN]
    for t in range(4):
        sums = p["forwards.weight_ih_l0"] @ inputs[0, t].numpy() + p["forwards.bias_ih_l0"]
        h = np.tanh(sums + p["forwards.weight_hh_l0"] @ h + p["forwards.bias_hh_l0"])
        np.testing.assert_allclose(found[t].numpy(), h, rtol=1e-12)


WITH_STEPS = [case for case in CASES if network_of(case, 1, 6).steps() is not None]


@pytest.mark.parametrize("case", WITH_STEPS)
def test_a_limit_that_no_gradient_reaches_changes_none(case: str) -> None:
    layer, inputs = recurrent_layer(case), drawn(3, 9, INPUTS).requires_grad_()
    layer.weight_drop = 0.0
    found = []
    for limit in (0.0, 1e9):
        layer.max_state_grad = limit
        states = layer(inputs, MASK)
        trained = [inputs, *(p for p in layer.parameters() if p.requires_grad)]
        found.append((states, torch.autograd.grad(states.square().sum(), trained)))
    torch.testing.assert_close(*found)


def test_the_gradient_that_enters_a_state_is_clipped_before_it_goes_on() -> None:
    limit = 0.1
    network = ClippedNetwork(random_network("elman"), limit)
    inputs, above = drawn(1, 5, INPUTS), drawn(1, 5, HIDDEN)
    inputs.requires_grad_()
    states, _ = network(inputs)
    p = {n.removeprefix("network."): v.detach().numpy() for n, v in network.named_parameters()}
    (states * above).sum().backward()
    h, later = states[0].detach().numpy(), np.zeros(HIDDEN)
    for t in reversed(range(5)):
        entering = np.clip(above[0, t].numpy() + later, -limit, limit)
        of_sums = entering * (1 - h[t] ** 2)
        later = p["weight_hh_l0"].T @ of_sums
        assert inputs.grad is not None
        expected = p["weight_ih_l0"].T @ of_sums
        np.testing.assert_allclose(inputs.grad[0, t].numpy(), expected, rtol=1e-10, atol=1e-12)
