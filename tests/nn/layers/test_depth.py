"""Connections past layers and output layers: equations, laws of padding, dropout and gradients."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from cell_options import CELL_OPTIONS, cell_of
from equations import EQUATIONS, Array, sigmoid
from marks import mostly_slow
from torch import Tensor, nn

from tagkit.config import EncoderConfig, allowed
from tagkit.nn.layers.depth import CONNECTIONS, Highway, token_layer
from tagkit.nn.layers.encoder import Encoder
from tagkit.nn.layers.recurrent_layer import MERGES

LENGTHS = (5, 1, 3)
MASK = torch.arange(5) < torch.tensor(LENGTHS).unsqueeze(1)
NAMES = ("none", *CONNECTIONS)
# Every connection and every merge, without and with output layers.
SHAPES = [
    (connection, merge, output_layers)
    for output_layers in ((7, 5), ())
    for connection in reversed(NAMES)
    for merge in MERGES
]
each_shape = pytest.mark.parametrize(
    ("connection", "merge", "output_layers"), mostly_slow(SHAPES, always=5)
)


def encoder(cell: str = "elman", **changes: object) -> Encoder:
    torch.manual_seed(2)
    options = {
        **cell_of(cell), "inputs": 3, "hidden": 4, "layers": 3, "connection": "residual",
        "bidirectional": True, "merge": "concat", "output_layers": (7, 5), "segment": 0,
        "dropout": 0.0, "locked_dropout": 0.0, "word_dropout": 0.0,
    }  # fmt: skip
    return Encoder(**{**options, **changes})  # type: ignore[arg-type]


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def merged(ahead: Array, back: Array, merge: str) -> Array:
    if merge == "concat":
        return np.concatenate((ahead, back))
    total: Array = ahead * back if merge == "product" else ahead + back
    return total / 2 if merge == "mean" else total


def plain_stack(p: dict[str, Array], inputs: Array, connection: str, merge: str) -> list[Array]:
    """What the equations give for one sentence: its tokens' values, and after them the final ones.

    A network of three layers of `elman` with the output layers of `p`.
    """

    def passed(below: Array, above: Array, number: int) -> Array:
        if connection == "none":
            return above
        if connection == "residual":
            return below + above
        w, b = (p[f"connections.{number - 1}.gate.{name}"] for name in ("weight", "bias"))
        t = sigmoid(w @ below + b)
        return t * above + (1 - t) * below

    steps: list[Array] = []
    tokens = list(inputs)
    for number in range(3):
        ways = []
        for way in ("forwards", "backwards"):
            prefix = f"layers.{number}.{way}."
            own = {name.removeprefix(prefix): p[name] for name in p if name.startswith(prefix)}
            order = tokens if way == "forwards" else tokens[::-1]
            ways.append(EQUATIONS["elman"](own, CELL_OPTIONS, np.stack(order)))
        ahead, back = ways[0], ways[1][::-1]
        found = [merged(f, b, merge) for f, b in zip(ahead, back, strict=True)]
        found.append(merged(ahead[-1], back[0], merge))  # the final states
        if number:
            found = [passed(x, y, number) for x, y in zip(steps, found, strict=True)]
        steps, tokens = found, found[:-1]
    for number in range(2):
        if f"output_layers.{number}.weight" in p:
            v, c = (p[f"output_layers.{number}.{name}"] for name in ("weight", "bias"))
            steps = [np.maximum(v @ step + c, 0) for step in steps]
    return steps


def test_the_configuration_allows_the_connections_of_the_table() -> None:
    assert allowed(EncoderConfig, "connection") == NAMES


@each_shape
@torch.no_grad()
def test_a_stack_is_that_of_the_equations(
    connection: str, merge: str, output_layers: tuple[int, ...]
) -> None:
    network = encoder(connection=connection, merge=merge, output_layers=output_layers).double()
    for parameter in network.parameters():  # biases that are not zero
        nn.init.normal_(parameter)
    p = {name: values.numpy() for name, values in network.named_parameters()}
    inputs = drawn(3, 5, 3).double()
    states, final = network.read(inputs, MASK)
    assert states.shape[2] == network.outputs
    torch.testing.assert_close(states, network(inputs, MASK))
    for row, length in enumerate(LENGTHS):
        *tokens, last = plain_stack(p, inputs[row, :length].numpy(), connection, merge)
        np.testing.assert_allclose(states[row, :length].numpy(), np.stack(tokens), rtol=1e-10)
        np.testing.assert_allclose(final[row].numpy(), last, rtol=1e-10)
        assert not states[row, length:].any()


@torch.no_grad()
def test_a_stack_reads_what_its_input_layers_make_of_a_token() -> None:
    network, plain = encoder(input_layers=(6, 3)).double(), encoder().double()
    for parameter in network.parameters():  # biases that are not zero
        nn.init.normal_(parameter)
    own = network.state_dict()
    plain.load_state_dict({n: own[n] for n in plain.state_dict()})
    inputs, expected = drawn(3, 5, 3).double(), []
    for row, length in enumerate(LENGTHS):
        for x in inputs[row, :length].numpy():
            for number in range(2):
                w, b = (own[f"input_layers.{number}.{name}"] for name in ("weight", "bias"))
                x = np.maximum(w.numpy() @ x + b.numpy(), 0)
            expected.append(x)
    made = torch.zeros(3, 5, 3, dtype=torch.float64)
    made[MASK] = torch.from_numpy(np.stack(expected))
    for found, wanted in zip(network.read(inputs, MASK), plain.read(made, MASK), strict=True):
        torch.testing.assert_close(found, wanted)
    for found, wanted in zip(
        network.read_sides(inputs, MASK)[:2], plain.read_sides(made, MASK)[:2], strict=True
    ):
        torch.testing.assert_close(found, wanted)


@torch.no_grad()
def test_a_stack_with_input_layers_carries_states_on() -> None:
    network = encoder(input_layers=(6,), bidirectional=False, output_layers=())
    inputs, mask = drawn(2, 6, 3), torch.ones(2, 6, dtype=torch.bool)
    expected, state, parts = network(inputs, mask), None, []
    for part in inputs.split(2, 1):
        states, state = network.carry(part, state)
        parts.append(states)
    torch.testing.assert_close(torch.cat(parts, 1), expected)


def test_padding_reaches_no_input_layer() -> None:
    network, inputs = encoder(input_layers=(6, 3)), drawn(3, 5, 3)
    gradients = []
    for value in (0.0, float("nan")):
        states = network(inputs.masked_fill(~MASK.unsqueeze(2), value), MASK)
        gradients.append(torch.autograd.grad(states.sum(), [*network.parameters()]))
    torch.testing.assert_close(*gradients)
    assert all(bool(gradient.any()) for gradient in gradients[0])


@pytest.mark.parametrize("connection", NAMES)
@torch.no_grad()
def test_a_sentence_gets_the_same_states_alone_and_in_a_batch(connection: str) -> None:
    network, inputs = encoder("lstm", connection=connection), drawn(3, 5, 3)
    states, final = network.read(inputs, MASK)
    for row, length in enumerate(LENGTHS):
        alone, last = network.read(inputs[row : row + 1, :length], MASK[row : row + 1, :length])
        torch.testing.assert_close(alone[0], states[row, :length])
        torch.testing.assert_close(last[0], final[row])


@pytest.mark.parametrize("connection", CONNECTIONS)
def test_padding_even_nan_never_leaks_into_states_or_gradients(connection: str) -> None:
    inputs = drawn(3, 5, 3)
    results = []
    for given in (inputs, inputs.masked_fill(~MASK.unsqueeze(2), torch.nan)):
        network = encoder(connection=connection)
        given = given.clone().requires_grad_()
        states, final = network.read(given, MASK)
        (states.square().sum() + final.sum()).backward()
        results.append([states, final, given.grad, *(one.grad for one in network.parameters())])
    for clean, noisy in zip(*results, strict=True):
        torch.testing.assert_close(clean, noisy)


@pytest.mark.parametrize("connection", CONNECTIONS)
@pytest.mark.parametrize("both", [True, False])
def test_one_direction_sees_the_past_alone_and_two_see_everything(
    connection: str, both: bool
) -> None:
    network = encoder(connection=connection, bidirectional=both, output_layers=(50,))
    inputs = drawn(3, 5, 3)
    for row, length in enumerate(LENGTHS):
        for t in range(length):
            given = inputs.clone().requires_grad_()
            (gradient,) = torch.autograd.grad(network(given, MASK)[row, t].sum(), given)
            expected = torch.zeros_like(MASK)
            expected[row, : length if both else t + 1] = True
            assert torch.equal(gradient.abs().sum(2) > 0, expected)


@pytest.mark.parametrize("connection", CONNECTIONS)
def test_gradients_are_those_of_differences_and_reach_every_parameter(connection: str) -> None:
    network = encoder(connection=connection, output_layers=(6,)).double()
    inputs, mask = drawn(2, 3, 3).double().requires_grad_(), MASK[[0, 2], :3]

    def read(given: Tensor, *_: Tensor) -> tuple[Tensor, Tensor]:
        found: tuple[Tensor, Tensor] = network.read(given, mask)
        return found

    assert torch.autograd.gradcheck(read, (inputs, *network.parameters()), fast_mode=True)
    sum(part.square().sum() for part in read(inputs)).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert bool(parameter.grad.abs().sum() > 0), name


def test_segments_give_the_states_of_reading_whole() -> None:
    inputs = drawn(3, 5, 3)
    whole, parts = (encoder(connection="highway", segment=segment) for segment in (0, 2))
    for mine, theirs in zip(parts.read(inputs, MASK), whole.read(inputs, MASK), strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("kind", ["dropout", "locked_dropout"])
def test_what_goes_past_layers_is_dropped_once(kind: str) -> None:
    network = encoder(hidden=100, layers=4, output_layers=(), **{kind: 0.5})
    with torch.no_grad():
        for one in network.layers[1:]:
            for parameter in one.parameters():
                parameter.zero_()  # F(x) = 0, so that y = x
    seen: list[Tensor] = []
    for one in network.layers:
        one.forwards.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    full = torch.ones(3, 5, dtype=torch.bool)
    seen.append(network(drawn(3, 5, 3), full))
    assert len(seen) == 5
    for lower, higher in pairwise(seen[1:]):  # each x, dropped anew
        dropped = higher == 0
        assert 0.4 < float(dropped.float().mean()) < 0.6
        assert torch.equal(dropped, dropped[:, :1].expand_as(dropped)) == (kind != "dropout")
        both = (lower != 0) & (higher != 0)
        torch.testing.assert_close(lower[both], higher[both])


@pytest.mark.parametrize("kind", ["dropout", "locked_dropout"])
def test_dropout_stands_before_between_and_after_output_layers(kind: str) -> None:
    network = encoder(layers=1, output_layers=(100, 100), **{kind: 0.5})
    with torch.no_grad():
        for one in network.output_layers:  # no rectified value is 0
            one.weight.div_(1000)
            one.bias.fill_(1)
    seen: list[Tensor] = []
    for one in network.output_layers:
        one.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    states, final = network.read(drawn(3, 5, 3), torch.ones(3, 5, dtype=torch.bool))
    seen.append(torch.cat((states, final.unsqueeze(1)), dim=1))  # the final one as one more token
    for values in seen:
        dropped = values == 0
        assert 0.2 < float(dropped.float().mean()) < 0.8
        assert torch.equal(dropped, dropped[:, :1].expand_as(dropped)) == (kind != "dropout")


@torch.no_grad()
def test_a_highway_begins_with_seven_eighths_of_its_input() -> None:
    torch.manual_seed(1)
    below = torch.tanh(drawn(50, 200))
    passed = Highway(200)(below, torch.zeros(50, 200)) / below  # 1 - t
    assert 0.85 < float(passed.mean()) < 0.9


@torch.no_grad()
def test_an_output_layer_keeps_the_mean_square_of_rectified_values() -> None:
    torch.manual_seed(1)
    values = drawn(100, 300)
    for _ in range(5):
        values = torch.relu(token_layer(300, 300)(values))
    assert 0.5 < float(values.square().mean()) < 2


@pytest.mark.parametrize(("cell", "least"), [("lstm", 100), ("gru", 20), ("elman", 2)])
def test_a_connection_brings_the_gradient_to_the_lowest_of_eight_layers(
    cell: str, least: int
) -> None:
    norms = {}
    for connection in NAMES:
        network = encoder(
            cell, hidden=20, layers=8, connection=connection, output_layers=(), merge="mean"
        )
        states = network(drawn(3, 5, 3), MASK)
        # The gradient of the loss by each state at the top is the same, whatever lies below.
        (states * torch.ones_like(states).div(states.numel() ** 0.5)).sum().backward()
        lowest = [one.grad.square().sum() for one in network.layers[0].parameters()]
        norms[connection] = float(torch.stack(lowest).sum().sqrt())
    assert norms["residual"] > 2 * least * norms["none"]
    assert norms["highway"] > least * norms["none"]
