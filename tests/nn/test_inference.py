"""Reading rows of projected tables gives the states of torch's layers."""

import pytest
import torch
from torch import Tensor

from tagkit.nn import inference as lookup
from tagkit.nn.embedding import CharEncoder
from tagkit.nn.encoder import CELLS, MERGES, Encoder, RecurrentLayer
from tagkit.nn.inference import FEWEST, LOOPS, PRECISIONS, Int8Product

LENGTHS = (5, 1, 3, 2)
MASK = torch.arange(5) < torch.tensor(LENGTHS).unsqueeze(1)


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def rows(count: int, seed: int) -> Tensor:
    return torch.randint(count, MASK.shape, generator=torch.Generator().manual_seed(seed))


def layer(cell: str, *, bidirectional: bool = True, merge: str = "concat") -> RecurrentLayer:
    torch.manual_seed(2)
    made = RecurrentLayer(
        cell=cell, inputs=5, hidden=4, bidirectional=bidirectional, merge=merge, segment=0
    )
    for parameter in made.parameters():  # biases that are not zero
        torch.nn.init.normal_(parameter)
    return made


def test_every_cell_can_read_rows() -> None:
    assert set(LOOPS) == set(CELLS)


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("cell", sorted(CELLS))
@torch.no_grad()
def test_states_are_those_of_reading_the_rows_as_inputs(cell: str, both: bool) -> None:
    ours = layer(cell, bidirectional=both)
    words, features = drawn(7, 3), drawn(4, 2, seed=3)
    of_word, of_feature = rows(7, 4), rows(4, 5)
    inputs = torch.cat((words[of_word], features[of_feature]), dim=2)
    reader = ours.reader("fp32")
    projected = [reader.project(words, 0), reader.project(features, 3)]
    found = ours.look_up(reader, projected, [of_word, of_feature], MASK)
    for mine, theirs in zip(found, ours.read(inputs, MASK), strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize("layers", [1, 3])
@torch.no_grad()
def test_an_encoder_reads_rows_with_its_lowest_layer_alone(layers: int, merge: str) -> None:
    torch.manual_seed(3)
    encoder = Encoder(
        cell="lstm", inputs=3, hidden=4, layers=layers, bidirectional=True, merge=merge, segment=0,
        dropout=0.5, locked_dropout=0.5, word_dropout=0.5,
    ).eval()  # fmt: skip
    words, of_word = drawn(7, 3), rows(7, 4)
    (reader,) = encoder.readers("fp32")
    found = encoder.look_up([reader], [reader.project(words, 0)], [of_word], MASK)
    for mine, theirs in zip(found, encoder.read(words[of_word], MASK), strict=True):
        torch.testing.assert_close(mine, theirs)


@torch.no_grad()
def test_extreme_inputs_saturate_as_those_of_torch_do() -> None:
    for cell in CELLS:
        ours = layer(cell)
        words, of_word = 1e3 * drawn(7, 5), rows(7, 4)
        reader = ours.reader("fp32")
        states, _ = ours.look_up(reader, [reader.project(words, 0)], [of_word], MASK)
        torch.testing.assert_close(states, ours(words[of_word], MASK))


@pytest.mark.parametrize("cell", sorted(CELLS))
def test_characters_are_read_in_prediction_as_they_are_in_training(cell: str) -> None:
    torch.manual_seed(1)
    encoder = CharEncoder(chars=9, dim=4, cell=cell, hidden=3, dropout=0.0)
    groups = []
    for width, words in ((3, FEWEST + 2), (6, FEWEST - 1), (9, FEWEST)):
        ids = torch.randint(2, 9, (words, width), generator=torch.Generator().manual_seed(width))
        lengths = torch.randint(
            1, width + 1, (words, 1), generator=torch.Generator().manual_seed(1)
        )
        lengths[0] = width
        groups.append(ids.masked_fill(torch.arange(width) >= lengths, 0))
    expected = encoder(groups)
    with torch.no_grad():
        torch.testing.assert_close(encoder.eval()(groups), expected)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", sorted(CELLS))
@pytest.mark.parametrize(("precision", "error"), [("bf16", 0.05), ("int8", 0.05)])
@torch.no_grad()
def test_fewer_bits_give_nearly_the_same_states(
    precision: str, error: float, cell: str, layers: int
) -> None:
    torch.manual_seed(3)
    encoder = Encoder(
        cell=cell, inputs=3, hidden=16, layers=layers, bidirectional=True, merge="concat",
        segment=0, dropout=0, locked_dropout=0, word_dropout=0,
    ).eval()  # fmt: skip
    words, of_word = drawn(7, 3), rows(7, 4)
    readers = encoder.readers(precision)
    assert len(readers) == layers
    states, final = encoder.look_up(readers, [readers[0].project(words, 0)], [of_word], MASK)
    expected, last = encoder.read(words[of_word], MASK)
    for ours, theirs in ((states, expected), (final, last)):
        off = (ours - theirs).abs().max()
        assert 0 < off < error


def test_a_product_of_integers_is_that_of_the_rounded_numbers() -> None:
    weights, states = drawn(2, 5, 12), drawn(2, 3, 5, seed=2).tanh()
    product = Int8Product(weights)
    largest = weights.abs().amax(1, keepdim=True)
    rounded = (weights / largest * 127).round() * largest / 127
    expected = torch.bmm((states * 127).round() / 127, rounded)
    torch.testing.assert_close(product.of(states), expected)
    gates = torch.ones(2, 3, 12)
    product.add_to(gates, states)
    torch.testing.assert_close(gates, expected + 1)
    assert Int8Product(torch.zeros(1, 5, 4)).of(states[:1]).abs().max() == 0


def test_the_precisions_have_the_names_of_the_options() -> None:
    assert set(PRECISIONS) == set(lookup._PRODUCTS)
