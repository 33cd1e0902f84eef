"""Recurrent layers: parity with torch, and the laws of padding and of direction."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
import torch
from cell_options import CELL_OPTIONS, MOSTLY_SLOW, MOSTLY_SLOW_SMOOTH, cell_of
from says import refuses
from torch import Tensor, nn

from tagkit.nn.layers.encoder import Encoder
from tagkit.nn.layers.recurrent_layer import MERGES, RecurrentLayer, merge_directions

LENGTHS = [5, 1, 3, 4]
MASK = torch.arange(5) < torch.tensor(LENGTHS)[:, None]


@pytest.fixture
def inputs() -> Tensor:
    return torch.randn(4, 5, 3, generator=torch.Generator().manual_seed(1))


def layer(
    cell: str, *, bidirectional: bool = True, merge: str = "concat", segment: int = 0
) -> RecurrentLayer:
    torch.manual_seed(2)
    return RecurrentLayer(
        **cell_of(cell),
        inputs=3,
        hidden=4,
        bidirectional=bidirectional,
        merge=merge,
        segment=segment,
    )


def encoder(case: str = "lstm", /, **changes: object) -> Encoder:
    torch.manual_seed(2)
    options = {
        **cell_of(case), "inputs": 3, "hidden": 4, "layers": 2, "connection": "none",
        "bidirectional": True, "merge": "concat", "output_layers": (), "segment": 0,
        "dropout": 0.0, "locked_dropout": 0.0, "word_dropout": 0.0,
    }  # fmt: skip
    return Encoder(**{**options, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cell", "kind"),
    [("lstm", nn.LSTM), ("gru", nn.GRU), ("elman", nn.RNN),
     ("elman, relu", partial(nn.RNN, nonlinearity="relu"))],
)  # fmt: skip
def test_two_directions_equal_torch_on_packed_sequences(
    cell: str, kind: Callable[..., nn.RNNBase], inputs: Tensor
) -> None:
    ours = layer(cell)
    theirs = kind(3, 4, batch_first=True, bidirectional=True)
    assert ours.backwards is not None
    with torch.no_grad():
        for name, parameter in ours.forwards.named_parameters():
            getattr(theirs, name).copy_(parameter)
        for name, parameter in ours.backwards.named_parameters():
            getattr(theirs, f"{name}_reverse").copy_(parameter)
    packed = nn.utils.rnn.pack_padded_sequence(
        inputs, torch.tensor(LENGTHS), batch_first=True, enforce_sorted=False
    )
    expected, final = theirs(packed)
    states, _ = nn.utils.rnn.pad_packed_sequence(expected, batch_first=True)
    torch.testing.assert_close(ours(inputs, MASK), states)
    last = final[0] if isinstance(final, tuple) else final
    torch.testing.assert_close(ours.final_states(inputs, MASK), torch.cat((last[0], last[1]), 1))


@pytest.mark.parametrize("cell", MOSTLY_SLOW)
@pytest.mark.parametrize("merge", MERGES)
def test_a_sentence_gets_the_same_states_alone_and_in_a_batch(
    cell: str, merge: str, inputs: Tensor
) -> None:
    ours = layer(cell, merge=merge)
    together, final = ours(inputs, MASK), ours.final_states(inputs, MASK)
    for row, length in enumerate(LENGTHS):
        alone = inputs[row : row + 1, :length]
        mask = torch.ones(1, length, dtype=torch.bool)
        torch.testing.assert_close(ours(alone, mask)[0], together[row, :length])
        torch.testing.assert_close(ours.final_states(alone, mask)[0], final[row])
        assert not together[row, length:].any()


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("segment", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("cell", MOSTLY_SLOW)
def test_reading_in_segments_gives_the_states_of_reading_whole(
    cell: str, segment: int, both: bool, inputs: Tensor
) -> None:
    whole = layer(cell, bidirectional=both).read(inputs, MASK)
    parts = layer(cell, bidirectional=both, segment=segment)
    for ours, theirs in zip(parts.read(inputs, MASK), whole, strict=True):
        torch.testing.assert_close(ours, theirs)
    with torch.no_grad():
        for ours, theirs in zip(parts.read(inputs, MASK), whole, strict=True):
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("segment", [1, 2, 3, 5])
@pytest.mark.parametrize("cell", MOSTLY_SLOW_SMOOTH)
def test_no_gradient_goes_back_beyond_its_segment(cell: str, segment: int, inputs: Tensor) -> None:
    ours = layer(cell, bidirectional=False, segment=segment)
    length = inputs.shape[1]
    mask = torch.ones(4, length, dtype=torch.bool)
    for t in range(length):
        given = inputs.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(ours(given, mask)[:, t].sum(), given)
        reached = (gradient.abs().sum(2) > 0)[0].tolist()
        first = t - t % segment
        assert reached == [first <= step <= t for step in range(length)]


@pytest.mark.parametrize("segment", [2, 3])
@pytest.mark.parametrize("cell", MOSTLY_SLOW)
def test_gradients_of_segments_are_those_of_reading_each_from_a_given_state(
    cell: str, segment: int, inputs: Tensor
) -> None:
    ours = layer(cell, bidirectional=False, segment=segment)
    mask = torch.ones(4, inputs.shape[1], dtype=torch.bool)
    # A reservoir has no trained weights: its inputs alone get a gradient.
    given, expected = inputs.clone().requires_grad_(), inputs.clone().requires_grad_()
    ours(given, mask).square().sum().backward()
    plain = layer(cell, bidirectional=False).forwards
    state = None
    for part in expected.split(segment, dim=1):
        states, state = plain(part, state)
        states.square().sum().backward()
        state = tuple(s.detach() for s in state) if isinstance(state, tuple) else state.detach()
    for (name, theirs), mine in zip(
        plain.named_parameters(), ours.forwards.parameters(), strict=True
    ):
        assert (mine.grad is not None) == mine.requires_grad
        torch.testing.assert_close(mine.grad, theirs.grad, msg=name)
    torch.testing.assert_close(given.grad, expected.grad)


@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize("cell", MOSTLY_SLOW)
def test_one_pass_gives_the_states_and_the_final_ones(
    cell: str, merge: str, inputs: Tensor
) -> None:
    ours = layer(cell, merge=merge)
    states, final = ours.read(inputs, MASK)
    assert torch.equal(states, ours(inputs, MASK))
    assert torch.equal(final, ours.final_states(inputs, MASK))


def test_an_encoder_drops_the_same_features_of_states_and_final_states(inputs: Tensor) -> None:
    network = encoder(locked_dropout=0.5, layers=2).eval()
    states, final = network.read(inputs, MASK)
    assert torch.equal(states, network(inputs, MASK))
    assert torch.equal(final, network.layers[1].final_states(network.layers[0](inputs, MASK), MASK))
    network.train()
    states, final = network.read(inputs, MASK)
    assert torch.equal((states == 0).all(1), final == 0)
    assert bool((final == 0).any())


@pytest.mark.parametrize("cell", MOSTLY_SLOW)
def test_padding_even_nan_never_leaks_into_states_or_gradients(cell: str, inputs: Tensor) -> None:
    spoilt = inputs.masked_fill(~MASK.unsqueeze(2), torch.nan)
    results = []
    for given in (inputs, spoilt):
        network = encoder(cell)
        given = given.clone().requires_grad_()
        states = network(given, MASK)
        final = network.layers[0].final_states(given, MASK)
        (states.square().sum() + final.sum()).backward()
        grads = [each.grad for each in network.parameters() if each.requires_grad]
        assert given.grad is not None
        results.append([states, final, given.grad, *grads])
    for clean, noisy in zip(*results, strict=True):
        assert clean is not None
        assert noisy is not None
        torch.testing.assert_close(clean, noisy)


@pytest.mark.parametrize("cell", MOSTLY_SLOW)
def test_two_directions_see_everything_and_one_sees_the_past_alone(
    cell: str, inputs: Tensor
) -> None:
    for both in (True, False):
        ours = layer(cell, bidirectional=both)
        with torch.no_grad():  # all positive: no unit of a rectified cell is silent
            for parameter in ours.parameters():
                parameter.abs_()
        for row, length in enumerate(LENGTHS):
            for t in range(length):
                given = inputs.abs().requires_grad_()
                (gradient,) = torch.autograd.grad(ours(given, MASK)[row, t].sum(), given)
                reached = gradient.abs().sum(2) > 0
                expected = torch.zeros_like(MASK)
                expected[row, : length if both else t + 1] = True
                assert torch.equal(reached, expected)


@pytest.mark.parametrize("merge", [*MERGES, "one way"])
def test_all_layers_of_an_encoder_keep_to_their_directions(merge: str, inputs: Tensor) -> None:
    both = merge != "one way"
    network = encoder(layers=3, bidirectional=both, merge=merge if both else "concat")
    for row, length in enumerate(LENGTHS):
        for t in range(length):
            given = inputs.clone().requires_grad_()
            states = network(given, MASK)
            (gradient,) = torch.autograd.grad(states[row, t].sum(), given)
            expected = torch.zeros_like(MASK)
            expected[row, : length if both else t + 1] = True
            assert torch.equal(gradient.abs().sum(2) > 0, expected)
    assert not states[~MASK].any()


@pytest.mark.parametrize("cell", MOSTLY_SLOW)
def test_final_states_are_the_last_forwards_and_the_first_backwards(
    cell: str, inputs: Tensor
) -> None:
    ours = layer(cell)
    states, final = ours(inputs, MASK), ours.final_states(inputs, MASK)
    for row, length in enumerate(LENGTHS):
        torch.testing.assert_close(final[row, :4], states[row, length - 1, :4])
        torch.testing.assert_close(final[row, 4:], states[row, 0, 4:])


def test_directions_are_merged_value_by_value() -> None:
    a, b = torch.tensor([1.0, 2.0]), torch.tensor([5.0, -4.0])
    merged = {name: merge_directions(a, b, name).tolist() for name in MERGES}
    assert merged == {"concat": [1, 2, 5, -4], "sum": [6, -2], "mean": [3, -1], "product": [5, -8]}
    with refuses(ValueError, "'max'", "product"):
        merge_directions(a, b, "max")


@pytest.mark.parametrize("merge", MERGES)
def test_a_deep_encoder_is_its_layers_in_turn_and_all_of_it_learns(
    merge: str, inputs: Tensor
) -> None:
    network = encoder(layers=3, merge=merge)
    states = inputs
    for one in network.layers:
        states = one(states, MASK)
    found = network(inputs, MASK)
    torch.testing.assert_close(found, states)
    assert found.shape[2] == network.outputs
    found.square().sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("kind", ["dropout", "locked_dropout"])
def test_dropout_stands_before_between_and_after_the_layers(kind: str) -> None:
    network = encoder(layers=3, hidden=20, **{kind: 0.5})
    seen: list[Tensor] = []
    for one in network.layers:
        one.forwards.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    seen.append(network(torch.rand(4, 5, 3) + 1, torch.ones(4, 5, dtype=torch.bool)))
    assert len(seen) == 4
    for states in seen:
        dropped = states == 0
        assert 0.2 < float(dropped.float().mean()) < 0.8
        same_over_time = torch.equal(dropped, dropped[:, :1].expand_as(dropped))
        assert same_over_time == (kind == "locked_dropout")


def test_dropout_works_in_training_alone(inputs: Tensor) -> None:
    for kind in ("dropout", "locked_dropout", "word_dropout"):
        network = encoder(**{kind: 0.5})
        expected = encoder()(inputs, MASK)
        assert not torch.equal(network(inputs, MASK), expected)
        assert torch.equal(network.eval()(inputs, MASK), expected)


@pytest.mark.parametrize("cell", MOSTLY_SLOW_SMOOTH)
def test_states_of_one_side_know_nothing_of_the_other(cell: str, inputs: Tensor) -> None:
    ours = encoder(cell, merge="product", segment=2).eval()
    states, final, (ahead, back) = ours.read_sides(inputs, MASK)
    expected, expected_final = ours.read(inputs, MASK)
    assert torch.equal(states, expected)
    assert torch.equal(final, expected_final)
    assert back is not None
    for token in range(4):
        changed = inputs.clone()
        changed[0, token] += 1
        _, _, (after, before) = ours.read_sides(changed, MASK)
        assert before is not None
        assert torch.equal(after[0, :token], ahead[0, :token])
        assert torch.equal(before[0, token + 1 :], back[0, token + 1 :])
        assert not torch.equal(after[0, token], ahead[0, token])
        assert not torch.equal(before[0, token], back[0, token])


@pytest.mark.parametrize("cell", ["lstm", "transformer"])
def test_one_direction_gives_the_states_of_its_topmost_layer(cell: str, inputs: Tensor) -> None:
    ours = encoder(
        cell=cell, bidirectional=False, options=replace(CELL_OPTIONS, heads=2),
        output_layers=(7,),
    ).eval()  # fmt: skip
    states, _, (ahead, back) = ours.read_sides(inputs, MASK)
    assert back is None
    assert ahead.shape[-1] == states.shape[-1] == 4
    lowest, topmost = ours.stack()  # with no dropout between them
    torch.testing.assert_close(ahead, topmost(lowest(inputs, MASK), MASK))
    changed = inputs.clone()
    changed[:, 3:] += 1
    assert torch.equal(ours.read_sides(changed, MASK)[2][0][:, :3], ahead[:, :3])
