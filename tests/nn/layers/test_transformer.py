"""The transformer: parity with torch, its equations, positions, and the laws of a layer."""

from dataclasses import replace
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
import torch
from cell_options import CELL_OPTIONS
from says import refuses
from torch import Tensor, nn

from tagkit.nn.layers import transformer as text_memory
from tagkit.nn.layers.encoder import Encoder
from tagkit.nn.layers.inference import layer_readers, precisions_of
from tagkit.nn.layers.layer import LayerOptions
from tagkit.nn.layers.transformer import (
    Positions,
    TextMemory,
    TransformerLayer,
    attend_in_window,
    build,
    rotated,
    sinusoids,
)

LENGTHS = (5, 1, 3, 4)
MASK = torch.arange(5) < torch.tensor(LENGTHS).unsqueeze(1)
INPUTS, HIDDEN, HEADS = 3, 8, 2
# (norm, positions, whether a state depends on the tokens after it)
CASES = list(product(("before", "after"), ("rotary", "sinusoidal", "learned"), (True, False)))
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: ", ".join(map(str, case)))
each_causal_case = pytest.mark.parametrize(
    "case", [case for case in CASES if not case[2]], ids=lambda case: ", ".join(map(str, case))
)
Case = tuple[str, str, bool]
Array = npt.NDArray[np.float64]


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def layer_options(case: Case, **changes: object) -> LayerOptions:
    norm, positions, both = case
    options = replace(
        CELL_OPTIONS, heads=HEADS, feed_forward=2, norm=norm, positions=positions, max_positions=4
    )  # type: ignore[arg-type]
    made = LayerOptions(
        cell="transformer", options=options, inputs=INPUTS, hidden=HIDDEN, bidirectional=both,
        merge="concat", segment=0, dropout=0, number=0, topmost=True,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def random_layer(case: Case, **changes: object) -> TransformerLayer:
    """A layer whose biases are not 0 and whose norms are not the identity."""
    torch.manual_seed(2)
    layer = build(layer_options(case, **changes))
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_(std=0.5)
    return layer


def encoder(case: Case, *, dropout: float = 0, seed: int = 2) -> Encoder:
    torch.manual_seed(seed)
    layer = layer_options(case)
    return Encoder(
        cell="transformer", options=layer.options, inputs=INPUTS, hidden=HIDDEN, layers=2,
        bidirectional=layer.bidirectional, merge="concat", segment=2, dropout=dropout,
        locked_dropout=0, word_dropout=0, connection="none", output_layers=(),
    )  # fmt: skip


# Parity and equations


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("norm", ["before", "after"])
def test_a_layer_equals_that_of_torch(norm: str, causal: bool) -> None:
    ours = random_layer((norm, "sinusoidal", not causal), inputs=HIDDEN, number=1, topmost=False)
    theirs = nn.TransformerEncoderLayer(
        HIDDEN, HEADS, 2 * HIDDEN, dropout=0, batch_first=True, norm_first=norm == "before"
    )
    with torch.no_grad():
        for name, mine in (
            ("self_attn.in_proj_", ours.attention_in), ("self_attn.out_proj.", ours.attention_out),
            ("linear1.", ours.widened), ("linear2.", ours.narrowed),
            ("norm1.", ours.attention_norm), ("norm2.", ours.feed_forward_norm),
        ):  # fmt: skip
            for kind in ("weight", "bias"):
                theirs.get_parameter(name + kind).copy_(mine.get_parameter(kind))
    inputs = drawn(4, 5, HIDDEN).requires_grad_()
    later = nn.Transformer.generate_square_subsequent_mask(5) > -1  # True where it may attend
    expected = theirs(
        inputs, src_mask=~later if causal else None, src_key_padding_mask=~MASK, is_causal=False
    )
    torch.testing.assert_close(ours(inputs, MASK)[MASK], expected[MASK])
    assert not ours(inputs, MASK)[~MASK].any()


def norm_of(p: dict[str, Array], name: str, states: Array) -> Array:
    mean, variance = states.mean(1, keepdims=True), states.var(1, keepdims=True)
    scaled = (states - mean) / np.sqrt(variance + 1e-5)
    return scaled * p[f"{name}.weight"] + p[f"{name}.bias"]


def linear_of(p: dict[str, Array], name: str, states: Array) -> Array:
    return states @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def turned(vector: Array, position: int) -> Array:
    """A query or a key rotated pair by pair, as complex numbers multiplied by e^(i t theta)."""
    size = len(vector)
    theta = 10_000.0 ** (-2 * np.arange(size // 2) / size)
    pairs = (vector[: size // 2] + 1j * vector[size // 2 :]) * np.exp(1j * position * theta)
    return np.concatenate((pairs.real, pairs.imag))


def by_equations(p: dict[str, Array], case: Case, inputs: Array) -> Array:
    """One layer in NumPy: each head, each query and each key in a loop of its own."""
    norm, positions, both = case
    states = linear_of(p, "input", inputs)
    if positions == "learned":
        states = states + p["positions.table"][[0, 1, 2, 3, 3]][: len(states)]
    if positions == "sinusoidal":
        for t, i in product(range(len(states)), range(HIDDEN)):
            angle = t / 10_000 ** ((i - i % 2) / HIDDEN)
            states[t, i] += np.cos(angle) if i % 2 else np.sin(angle)

    def attention(given: Array) -> Array:
        size, found = HIDDEN // HEADS, np.zeros_like(given)
        q, k, v = np.split(linear_of(p, "attention_in", given), 3, axis=1)
        for head, t in product(range(HEADS), range(len(given))):
            own = slice(head * size, (head + 1) * size)
            seen = range(len(given) if both else t + 1)
            turn = turned if positions == "rotary" else lambda vector, _: vector
            scores = np.array([turn(q[t, own], t) @ turn(k[s, own], s) for s in seen])
            weights = np.exp(scores / np.sqrt(size))
            found[t, own] = weights / weights.sum() @ v[seen, own]
        return linear_of(p, "attention_out", found)

    def feed_forward(given: Array) -> Array:
        return linear_of(p, "narrowed", np.maximum(linear_of(p, "widened", given), 0))

    if norm == "after":
        states = norm_of(p, "attention_norm", states + attention(states))
        return norm_of(p, "feed_forward_norm", states + feed_forward(states))
    states = states + attention(norm_of(p, "attention_norm", states))
    states = states + feed_forward(norm_of(p, "feed_forward_norm", states))
    return norm_of(p, "last_norm", states)


@each_case
@torch.no_grad()
def test_states_are_those_of_the_equations(case: Case) -> None:
    layer, inputs = random_layer(case).double(), drawn(4, 5, INPUTS).double()
    weights = {name: values.numpy() for name, values in layer.named_parameters()}
    states, final = layer.read(inputs, MASK)
    for row, length in enumerate(LENGTHS):
        expected = by_equations(weights, case, inputs[row, :length].numpy())
        # Angles are computed in float32.
        np.testing.assert_allclose(states[row, :length].numpy(), expected, rtol=1e-5, atol=1e-6)
        assert torch.equal(final[row], states[row, length - 1])


@each_case
def test_gradients_are_those_of_differences(case: Case) -> None:
    layer = random_layer(case).double()
    inputs = drawn(2, 5, INPUTS).double().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda given, *_: layer(given, MASK[1:3]), (inputs, *layer.parameters()), fast_mode=True
    )


# Positions


def test_sinusoids_follow_their_formula() -> None:
    for hidden in (6, 7):
        found = sinusoids(50, hidden, torch.zeros(1))
        assert found.shape == (50, hidden)
        size = hidden + hidden % 2
        for t, i in product((0, 1, 7, 49), range(hidden)):
            angle = t / 10_000 ** (2 * (i // 2) / size)
            expected = np.cos(angle) if i % 2 else np.sin(angle)
            assert float(found[t, i]) == pytest.approx(expected, abs=1e-5)


def test_rotated_scores_depend_on_the_distance_of_positions_alone() -> None:
    query, key = drawn(8).double(), drawn(8, seed=2).double()
    theta = 10_000.0 ** (-torch.arange(0, 8, 2) / 8)

    def at(vector: Tensor, position: int) -> Tensor:
        return rotated(vector.unsqueeze(0), position * theta.double().unsqueeze(0))[0]

    for distance in (0, 1, -3, 20):
        scores = [float(at(query, t + distance) @ at(key, t)) for t in (0, 1, 5, 100)]
        assert scores == pytest.approx([scores[0]] * 4)
    assert float(at(query, 1) @ at(key, 0)) != pytest.approx(float(at(query, 2) @ at(key, 0)))
    assert torch.equal(at(query, 0), query)


def test_learned_positions_beyond_the_table_share_its_last_one() -> None:
    positions = Positions(HIDDEN, 3)
    added = positions(torch.zeros(2, 6, HIDDEN))
    assert positions.table is not None
    assert torch.equal(added[1], positions.table[[0, 1, 2, 2, 2, 2]])


@each_case
@torch.no_grad()
def test_the_order_of_tokens_matters(case: Case) -> None:
    layer, inputs = random_layer(case), drawn(1, 3, INPUTS)
    mask = torch.ones(1, 3, dtype=torch.bool)
    exchanged = layer(inputs[:, [1, 0, 2]], mask)[:, 2]
    assert not torch.allclose(layer(inputs, mask)[:, 2], exchanged, atol=1e-4)


# Laws of an encoder's layer


@each_case
@torch.no_grad()
def test_a_sentence_gets_the_same_states_alone_and_in_a_batch(case: Case) -> None:
    network, inputs = encoder(case), drawn(4, 5, INPUTS)
    together, final = network.read(inputs, MASK)
    for row, length in enumerate(LENGTHS):
        alone, last = network.read(inputs[row : row + 1, :length], MASK[row : row + 1, :length])
        torch.testing.assert_close(alone[0], together[row, :length])
        torch.testing.assert_close(last[0], final[row])
        assert not together[row, length:].any()


@each_case
def test_padding_even_nan_never_leaks_into_states_or_gradients(case: Case) -> None:
    clean = drawn(4, 5, INPUTS)
    results = []
    for values in (clean, clean.masked_fill(~MASK.unsqueeze(2), torch.nan)):
        network, given = encoder(case), values.clone().requires_grad_()
        states, final = network.read(given, MASK)
        (states.square().sum() + final.sum()).backward()
        results.append([states, final, given.grad, *(p.grad for p in network.parameters())])
    for ours, theirs in zip(*results, strict=True):
        assert ours is not None
        torch.testing.assert_close(ours, theirs)


@each_case
def test_states_depend_on_all_tokens_or_on_those_before(case: Case) -> None:
    network = encoder(case)
    for row, length in enumerate(LENGTHS):
        for t in range(length):
            given = drawn(4, 5, INPUTS).requires_grad_()
            # Not a sum: the values of a state that a norm has centred add up to a constant.
            reads = network(given, MASK)[row, t] @ drawn(HIDDEN, seed=3)
            (gradient,) = torch.autograd.grad(reads, given)
            expected = torch.zeros_like(MASK)
            expected[row, : length if case[2] else t + 1] = True
            assert torch.equal(gradient.abs().sum(2) > 0, expected)


@each_case
def test_every_parameter_gets_a_gradient_and_is_saved(case: Case) -> None:
    network, other = encoder(case), encoder(case, seed=3)
    states = network(drawn(4, 5, INPUTS), MASK)
    (states @ drawn(HIDDEN, seed=3)).square().sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert bool(parameter.grad.abs().sum() > 0), name
    assert not list(network.named_buffers())
    assert not torch.equal(other(drawn(4, 5, INPUTS), MASK), states)
    other.load_state_dict(network.state_dict())
    assert torch.equal(other(drawn(4, 5, INPUTS), MASK), states)


def test_a_stack_has_one_input_product_one_table_of_positions_and_one_last_norm() -> None:
    names = list(encoder(("before", "learned", True)).state_dict())
    once = [name for name in names if "input" in name or "positions" in name or "last" in name]
    assert once == [
        "layers.0.input.weight", "layers.0.input.bias", "layers.0.positions.table",
        "layers.1.last_norm.weight", "layers.1.last_norm.bias",
    ]  # fmt: skip
    assert not [name for name in encoder(("after", "rotary", True)).state_dict() if "last" in name]


def test_a_row_without_any_token_gives_zeros_and_no_nan() -> None:
    layer = random_layer(("before", "rotary", True))
    mask = torch.tensor([[True, True], [False, False]])
    states, final = layer.read(drawn(2, 2, INPUTS), mask)
    assert bool(torch.isfinite(final).all())
    assert not states[1].any()


def test_dropout_inside_a_layer_works_in_training_alone() -> None:
    case = ("before", "rotary", True)
    layer, inputs = build(layer_options(case, dropout=0.5)), drawn(4, 5, INPUTS)
    first, second = layer(inputs, MASK), layer(inputs, MASK)
    assert not torch.equal(first, second)
    layer.eval()
    assert torch.equal(layer(inputs, MASK), layer(inputs, MASK))


def test_a_transformer_has_no_cached_inference() -> None:
    network = encoder(("before", "rotary", True))
    assert layer_readers(network, "fp32") == []
    assert precisions_of(network) == ("fp32",)


@torch.no_grad()
def test_mixed_precision_gives_nearly_the_same_states() -> None:
    for case in CASES:
        layer, inputs = random_layer(case), drawn(4, 5, INPUTS)
        with torch.autocast("cpu", torch.bfloat16):
            found = layer(inputs, MASK)
        off = (found - layer(inputs, MASK)).abs().max()
        assert 0 < off < 0.2


# Texts that go on


@each_causal_case
@torch.no_grad()
def test_segments_have_the_states_of_reading_in_one_go(case: Case) -> None:
    network, inputs = encoder(case).double(), drawn(2, 9, INPUTS).double()
    whole, after = network.carry(inputs, None)
    for sizes in ((1,) * 9, (4, 5), (2, 1, 6)):
        parts, carried = [], None
        for part in torch.split(inputs, sizes, dim=1):
            states, carried = network.carry(part, carried)
            parts.append(states)
        torch.testing.assert_close(torch.cat(parts, dim=1), whole)
        torch.testing.assert_close(carried, after)
    # A window of 2 tokens in each of 2 layers: 5 tokens are all that a state depends on.
    torch.testing.assert_close(network.carry(inputs[:, :3], None)[0], network(
        inputs[:, :3], torch.ones(2, 3, dtype=torch.bool)))  # fmt: skip


@each_causal_case
def test_a_state_that_is_carried_on_depends_on_the_window_of_each_layer(case: Case) -> None:
    network, inputs = encoder(case), drawn(1, 9, INPUTS).requires_grad_()
    _, carried = network.carry(inputs[:, :5], None)
    states, _ = network.carry(inputs[:, 5:], carried)
    (gradient,) = torch.autograd.grad(states[0, 1] @ drawn(HIDDEN, seed=3), inputs)
    # Token 6, and 2 before it in each of 2 layers.
    assert (gradient[0].abs().sum(1) > 0).tolist() == [False, False] + [True] * 5 + [False] * 2


def test_rows_of_a_batch_that_begin_anew_do_so_beside_others_that_go_on() -> None:
    case = ("before", "learned", False)
    network, inputs = encoder(case), drawn(2, 4, INPUTS)
    _, carried = network.carry(inputs, None)
    mixed = tuple(state.index_fill(1, torch.tensor([1]), 0) for state in carried)  # type: ignore[union-attr]
    with torch.no_grad():
        together, _ = network.carry(inputs, mixed)
        torch.testing.assert_close(together[:1], network.carry(inputs[:1], tuple(
            state[:, :1] for state in carried))[0])  # type: ignore[union-attr] # fmt: skip
        torch.testing.assert_close(together[1:], network.carry(inputs[1:], None)[0])


@each_causal_case
@torch.no_grad()
def test_mixed_precision_carries_nearly_the_same_states_in_32_bits(case: Case) -> None:
    layer, inputs = random_layer(case, segment=3), drawn(2, 8, INPUTS)
    first = second = None
    for part in inputs.split(4, dim=1):
        with torch.autocast("cpu", torch.bfloat16):
            found, first = layer.carry(part, first)
        expected, second = layer.carry(part, second)
        assert 0 < (found - expected).abs().max() < 0.2
    assert first is not None
    assert isinstance(first, Tensor)
    assert first.dtype == torch.float32
    assert torch.equal(first[..., -1], torch.tensor([[6.0], [7.0], [8.0]]).expand(3, 2))


BATCH, MEMORY_HEADS, SIZE, MEMORY_HIDDEN = 2, 3, 4, 5


def drawn_memory(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).double()


def by_hand(queries: Tensor, keys: Tensor, values: Tensor, filled: Tensor, window: int) -> Tensor:
    """Each row, each head and each token in a loop of its own."""
    found = torch.zeros_like(queries)
    time, tokens = queries.shape[2], keys.shape[2]
    for row in range(BATCH):
        for head in range(MEMORY_HEADS):
            for t in range(time):
                own = tokens - time + t
                seen = [k for k in range(max(0, own - window), own + 1) if filled[row, k]]
                scores = keys[row, head, seen] @ queries[row, head, t] / SIZE**0.5
                found[row, head, t] = torch.softmax(scores, 0) @ values[row, head, seen]
    return found


@pytest.mark.parametrize("window", [1, 3, 8, 20])
@pytest.mark.parametrize("before", [0, 1, 3])
@pytest.mark.parametrize("block", [1, 3, 64])
def test_a_token_reads_itself_and_the_window_before_it(
    monkeypatch: pytest.MonkeyPatch, window: int, before: int, block: int
) -> None:
    monkeypatch.setattr(text_memory, "_LEAST_BLOCK", block)
    time = 9
    queries = drawn_memory(BATCH, MEMORY_HEADS, time, SIZE)
    keys, values = drawn_memory(2, BATCH, MEMORY_HEADS, before + time, SIZE, seed=2)
    filled = torch.ones(BATCH, before + time, dtype=torch.bool)
    filled[1, : max(0, before - 1)] = False
    found = attend_in_window(queries, keys, values, filled=filled, window=window, dropout=0)
    torch.testing.assert_close(found, by_hand(queries, keys, values, filled, window))


def test_a_window_of_nothing_is_refused() -> None:
    queries = drawn_memory(BATCH, MEMORY_HEADS, 2, SIZE)
    filled = torch.ones(BATCH, 2, dtype=torch.bool)
    with refuses(ValueError, "0", "1", "window"):
        attend_in_window(queries, queries, queries, filled=filled, window=0, dropout=0)


@pytest.mark.parametrize("parts", [(7,), (1,) * 7, (2, 4, 1), (6, 1)])
def test_a_memory_holds_the_last_tokens_whatever_the_parts_they_came_in(
    parts: tuple[int, ...],
) -> None:
    text, state = drawn_memory(BATCH, 7, MEMORY_HIDDEN), None
    for part in torch.split(text, parts, dim=1):
        memory = TextMemory.of(state, part, MEMORY_HIDDEN).extended(part)
        state = memory.state(4)
        assert state.shape == (4, BATCH, MEMORY_HIDDEN + 1)
    assert state is not None
    torch.testing.assert_close(state[..., :-1], text[:, 3:].transpose(0, 1))
    assert state[:, 0, -1].tolist() == [4, 5, 6, 7]
    assert TextMemory.of(state, text, MEMORY_HIDDEN).count.tolist() == [7, 7]


def test_places_of_a_memory_that_are_empty_hold_nothing_not_even_nan() -> None:
    text = drawn_memory(BATCH, 2, MEMORY_HIDDEN)
    state = TextMemory.of(None, text, MEMORY_HIDDEN).extended(text).state(4)
    assert state[:, 0, -1].tolist() == [0, 0, 1, 2]
    assert not state[:2].any()
    state[:2, :, :-1] = torch.nan
    memory = TextMemory.of(state, text, MEMORY_HIDDEN)
    assert not memory.states[:, :2].any()
    assert memory.filled.tolist() == [[False, False, True, True]] * 2
    assert memory.count.tolist() == [2, 2]


def test_numbers_of_tokens_are_exact_in_16_bits_too() -> None:
    text = torch.zeros(1, 999, MEMORY_HIDDEN, dtype=torch.bfloat16)
    memory = TextMemory.of(None, text, MEMORY_HIDDEN).extended(text)
    assert memory.count.tolist() == [999]
    assert memory.states.dtype == torch.bfloat16
    assert memory.state(3).dtype == torch.float32
