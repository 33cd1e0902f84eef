"""Cached inference gives the states of torch's layers, for every cell of the table."""

import numpy as np
import pytest
import torch
from cell_options import CACHED, MOSTLY_SLOW_CACHED, cell_of
from torch import Tensor

from tagkit.nn.layers import inference
from tagkit.nn.layers.embedding import CharEncoder
from tagkit.nn.layers.encoder import Encoder
from tagkit.nn.layers.inference import (
    layer_reader,
    layer_readers,
    precisions_of,
    read_cached,
    read_layer_cached,
)
from tagkit.nn.layers.recurrent_layer import MERGES, RecurrentLayer

LENGTHS = (5, 1, 3, 2)
MASK = torch.arange(5) < torch.tensor(LENGTHS).unsqueeze(1)


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def rows(count: int, seed: int) -> Tensor:
    return torch.randint(count, MASK.shape, generator=torch.Generator().manual_seed(seed))


def layer(cell: str, *, bidirectional: bool = True, merge: str = "concat") -> RecurrentLayer:
    torch.manual_seed(2)
    made = RecurrentLayer(
        **cell_of(cell),
        inputs=5,
        hidden=4,
        bidirectional=bidirectional,
        merge=merge,
        segment=0,
    )
    for parameter in made.parameters():  # biases that are not zero
        torch.nn.init.normal_(parameter)
    return made


def deep_encoder(cell: str, *, connection: str, merge: str) -> Encoder:
    """With connections and output layers, ready for prediction."""
    torch.manual_seed(3)
    return Encoder(
        **cell_of(cell), inputs=3, hidden=8, layers=3, connection=connection, bidirectional=True,
        merge=merge, output_layers=(9, 7), segment=0, dropout=0.5, locked_dropout=0.5,
        word_dropout=0.5,
    ).eval()  # fmt: skip


@pytest.fixture(params=[0, 10**9], ids=["steps of torch", "packed in NumPy"])
def each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of reading in fp32, for batches of any size."""
    monkeypatch.setattr(inference, "_LARGE_STEP", request.param)


@pytest.mark.usefixtures("each_way")
@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("cell", CACHED)
@torch.no_grad()
def test_states_are_those_of_reading_the_rows_as_inputs(cell: str, both: bool) -> None:
    ours = layer(cell, bidirectional=both)
    words, features = drawn(7, 3), drawn(4, 2, seed=3)
    of_word, of_feature = rows(7, 4), rows(4, 5)
    inputs = torch.cat((words[of_word], features[of_feature]), dim=2)
    reader = layer_reader(ours, "fp32")
    projected = [reader.project(words, 0), reader.project(features, 3)]
    found = read_layer_cached(ours, reader, projected, [of_word, of_feature], MASK)
    for mine, theirs in zip(found, ours.read(inputs, MASK), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_few_sequences_with_few_units_are_read_in_numpy() -> None:
    reader = layer_reader(layer("lstm"), "fp32")  # of 4 units
    assert reader.packs(1)
    assert reader.packs(799)
    assert not reader.packs(800)
    assert not layer_reader(layer("lstm"), "bf16").packs(1)


@pytest.mark.parametrize("padding", [0, 2])
@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("cell", MOSTLY_SLOW_CACHED)
@torch.no_grad()
def test_one_sequence_is_read_with_padding_and_without(cell: str, both: bool, padding: int) -> None:
    made, mask = layer(cell, bidirectional=both), torch.ones(1, 4 + padding, dtype=torch.bool)
    mask[:, 4:] = False
    reader, words, features = layer_reader(made, "fp32"), drawn(7, 3), drawn(4, 2, seed=3)
    of_word = torch.tensor([[1, 2, 3, 6, *[0] * padding]])
    of_feature = torch.tensor([[3, 0, 1, 1, *[2] * padding]])
    projected = [reader.project(words, 0), reader.project(features, 3)]
    states, final = read_layer_cached(made, reader, projected, [of_word, of_feature], mask)
    inputs = torch.cat((words[of_word], features[of_feature]), dim=2)
    expected, last = made.read(inputs, mask)
    torch.testing.assert_close(states, expected)
    torch.testing.assert_close(final, last)


@pytest.mark.usefixtures("each_way")
@pytest.mark.parametrize("connection", ["highway", "residual"])
@pytest.mark.parametrize("merge", MERGES)
@torch.no_grad()
def test_connections_and_output_layers_are_read_as_in_training(connection: str, merge: str) -> None:
    encoder = deep_encoder("lstm", connection=connection, merge=merge)
    words, of_word = drawn(7, 3), rows(7, 4)
    readers = layer_readers(encoder, "fp32")
    found = read_cached(encoder, readers, [readers[0].project(words, 0)], [of_word], MASK)
    for mine, theirs in zip(found, encoder.read(words[of_word], MASK), strict=True):
        assert bool((theirs > 0).any())
        torch.testing.assert_close(mine, theirs)
    assert not found[0][~MASK].any()


@pytest.mark.parametrize("connection", ["highway", "residual"])
@pytest.mark.parametrize("cell", ["lstm", "recurrent-highway"])
@pytest.mark.parametrize("precision", ["bf16", "int8"])
@torch.no_grad()
def test_fewer_bits_give_nearly_what_a_deep_network_gives(
    precision: str, cell: str, connection: str
) -> None:
    encoder = deep_encoder(cell, connection=connection, merge="concat")
    words, of_word = drawn(7, 3), rows(7, 4)
    readers = layer_readers(encoder, precision)
    states, _ = read_cached(encoder, readers, [readers[0].project(words, 0)], [of_word], MASK)
    off = (states - encoder(words[of_word], MASK)).abs().max()
    assert 0 < off < 0.1


@pytest.mark.usefixtures("each_way")
@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize("layers", [1, 3])
@torch.no_grad()
def test_an_encoder_reads_rows_as_it_reads_inputs(layers: int, merge: str) -> None:
    torch.manual_seed(3)
    encoder = Encoder(
        **cell_of("lstm"), inputs=3, hidden=4, layers=layers, connection="none",
        bidirectional=True, merge=merge, output_layers=(), segment=0, dropout=0.5,
        locked_dropout=0.5, word_dropout=0.5,
    ).eval()  # fmt: skip
    words, of_word = drawn(7, 3), rows(7, 4)
    readers = layer_readers(encoder, "fp32")
    found = read_cached(encoder, readers, [readers[0].project(words, 0)], [of_word], MASK)
    for mine, theirs in zip(found, encoder.read(words[of_word], MASK), strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.usefixtures("each_way")
@torch.no_grad()
def test_extreme_inputs_saturate_as_those_of_torch_do() -> None:
    for cell in CACHED:
        ours = layer(cell)
        words, of_word = 1e3 * drawn(7, 5), rows(7, 4)
        reader = layer_reader(ours, "fp32")
        states, _ = read_layer_cached(ours, reader, [reader.project(words, 0)], [of_word], MASK)
        # Memories that are not squashed are as large as the inputs, and so is what rounds them.
        within = 1e-5 * max(1.0, float(states.abs().max()) / 1e3)
        torch.testing.assert_close(states, ours(words[of_word], MASK), rtol=1e-5, atol=within)


@pytest.mark.usefixtures("each_way")
@pytest.mark.parametrize("cell", MOSTLY_SLOW_CACHED)
def test_characters_are_read_in_prediction_as_they_are_in_training(cell: str) -> None:
    torch.manual_seed(1)
    encoder = CharEncoder(chars=9, dim=4, **cell_of(cell), hidden=3)
    groups = []
    for width, words in ((3, 18), (6, 1), (9, 16)):
        ids = torch.randint(2, 9, (words, width), generator=torch.Generator().manual_seed(width))
        lengths = torch.randint(
            1, width + 1, (words, 1), generator=torch.Generator().manual_seed(1)
        )
        lengths[0] = width
        groups.append(ids.masked_fill(torch.arange(width) >= lengths, 0))
    expected = encoder(groups)
    with torch.no_grad():
        torch.testing.assert_close(encoder.eval()(groups), expected)


@pytest.mark.parametrize("at_once", [0, 10**9], ids=["one direction", "both directions"])
@pytest.mark.parametrize("cell", MOSTLY_SLOW_CACHED)
@torch.no_grad()
def test_few_words_are_read_without_padding_in_their_own_order(
    cell: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inference, "_CACHED_BYTES", at_once)
    torch.manual_seed(1)
    encoder = CharEncoder(chars=9, dim=4, **cell_of(cell), hidden=3).eval()
    words = [[2, 3, 4], [5], [8, 7, 6, 5, 4], [2, 2, 3], [3, 8]]
    with torch.enable_grad():  # as in training, not by a reader
        expected = torch.cat([encoder([torch.tensor([word])]) for word in words])
    counts = np.array([len(word) for word in words])
    found = encoder.reader().read_few(np.concatenate(words), counts)
    torch.testing.assert_close(torch.from_numpy(found), expected)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", MOSTLY_SLOW_CACHED)
@pytest.mark.parametrize(("precision", "error"), [("bf16", 0.05), ("int8", 0.05)])
@torch.no_grad()
def test_fewer_bits_give_nearly_the_same_states(
    precision: str, error: float, cell: str, layers: int
) -> None:
    torch.manual_seed(3)
    encoder = Encoder(
        **cell_of(cell), inputs=3, hidden=16, layers=layers, connection="none",
        bidirectional=True, merge="concat", output_layers=(), segment=0, dropout=0,
        locked_dropout=0, word_dropout=0,
    ).eval()  # fmt: skip
    words, of_word = drawn(7, 3), rows(7, 4)
    readers = layer_readers(encoder, precision)
    assert len(readers) == layers
    # Without recurrent products there is nothing to compute with fewer bits.
    assert (precision in precisions_of(encoder)) == (cell != "sru")
    if cell == "sru":
        return
    states, final = read_cached(encoder, readers, [readers[0].project(words, 0)], [of_word], MASK)
    expected, last = encoder.read(words[of_word], MASK)
    for ours, theirs in ((states, expected), (final, last)):
        off = (ours - theirs).abs().max()
        assert 0 < off < error


@pytest.mark.parametrize(("precision", "error"), [("fp32", 1e-5), ("bf16", 0.05), ("int8", 0.05)])
@pytest.mark.parametrize("layers", [1, 2])
@torch.no_grad()
def test_states_beyond_one_are_read_in_every_precision(
    precision: str, error: float, layers: int
) -> None:
    torch.manual_seed(3)
    encoder = Encoder(
        **cell_of("elman, relu"), inputs=3, hidden=16, layers=layers, connection="none",
        bidirectional=True, merge="concat", output_layers=(), segment=0, dropout=0,
        locked_dropout=0, word_dropout=0,
    ).eval()  # fmt: skip
    words, of_word = 3 * drawn(7, 3), rows(7, 4)
    readers = layer_readers(encoder, precision)
    states, _ = read_cached(encoder, readers, [readers[0].project(words, 0)], [of_word], MASK)
    expected = encoder(words[of_word], MASK)
    assert float(expected.max()) > 3
    assert float((states - expected).abs().max() / expected.max()) < error
    # A sentence's states do not depend on its neighbours: scales are not shared in a batch.
    alone, _ = read_cached(
        encoder, readers, [readers[0].project(words, 0)], [of_word[2:3, :3]], MASK[2:3, :3]
    )
    torch.testing.assert_close(alone[0], states[2, :3])
