"""From ids to vectors."""

import numpy as np
import pytest
import torch
from cell_options import MOSTLY_SLOW, cell_of
from torch import Tensor, nn

from tagkit.nn.layers.embedding import (
    AffixEmbedding,
    CharConvolution,
    CharEncoder,
    ContextualInput,
    TokenEmbedding,
    WordEmbedding,
)


def words_with_vectors() -> tuple[WordEmbedding, Tensor]:
    torch.manual_seed(1)
    words = WordEmbedding(words=5, dim=3, vectors=2)
    vectors = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    # Of the trained words 2 to 4 the second has no vector.
    table = torch.cat([torch.zeros(1, 3), vectors])  # row 0 is that of no vector
    words.place(table, torch.tensor([False, False, True, False, True]))
    assert words.vectors is table  # not a copy, which would need its memory again
    return words, vectors


def test_a_words_vector_is_its_pretrained_one_plus_its_trained_one() -> None:
    words, vectors = words_with_vectors()
    unknown, own = words.trained.weight[1].detach(), words.trained.weight[3].detach()
    assert own.abs().sum() > 0
    # with both, with a trained one alone, unknown but with a vector, unknown, padding
    found = words(torch.tensor([[2, 3, 1, 1, 0]]), torch.tensor([[1, 0, 2, 0, 0]]))[0]
    expected = [vectors[0], own, vectors[1] + unknown, unknown, torch.zeros(3)]
    torch.testing.assert_close(found, torch.stack(expected))


def test_pretrained_vectors_never_change_and_the_trained_ones_beside_them_do() -> None:
    words, vectors = words_with_vectors()
    optimizer = torch.optim.SGD(words.parameters(), lr=1.0)
    words(torch.tensor([[2, 0]]), torch.tensor([[1, 0]])).sum().backward()
    optimizer.step()
    assert torch.equal(words.vectors[1:], vectors)
    assert words.trained.weight[2].tolist() == [-1, -1, -1]
    assert not words.trained.weight[0].any()
    assert "vectors" in words.state_dict()


def test_without_pretrained_vectors_there_are_trained_ones_alone() -> None:
    words = WordEmbedding(words=4, dim=3, vectors=0)
    ids = torch.tensor([[3, 2, 0]])
    torch.testing.assert_close(words(ids, torch.zeros_like(ids)), words.trained(ids))


def test_vectors_begin_with_a_length_of_about_one_and_padding_at_zero() -> None:
    torch.manual_seed(1)
    table = WordEmbedding(words=300, dim=50, vectors=0).trained.weight.detach()
    assert abs(float(table[1:].norm(dim=1).mean()) - 1) < 0.05
    assert abs(float(table[1:].mean())) < 0.01
    assert not table[0].any()


def chars() -> CharEncoder:
    torch.manual_seed(1)
    return CharEncoder(chars=6, dim=4, **cell_of("lstm"), hidden=3)


def test_a_words_vector_does_not_depend_on_the_group_that_it_is_in() -> None:
    encoder = chars()
    spellings = [[2, 3], [4], [5, 5, 2, 3, 4], [2]]

    def pad(group: list[list[int]]) -> Tensor:
        width = max(len(word) for word in group)
        return torch.tensor([word + [0] * (width - len(word)) for word in group])

    alone = encoder([pad([word]) for word in spellings])
    torch.testing.assert_close(encoder([pad(spellings)]), alone)
    torch.testing.assert_close(encoder([pad(spellings[:2]), pad(spellings[2:])]), alone)
    assert alone.shape == (4, encoder.outputs)


def test_a_words_vector_depends_on_all_of_its_characters_and_their_order() -> None:
    encoder = chars()
    words = torch.tensor([[2, 3, 4], [5, 3, 4], [2, 5, 4], [2, 3, 5], [4, 3, 2]])
    vectors = encoder([words])
    for row in range(1, 5):
        assert not torch.allclose(vectors[0], vectors[row])


@pytest.mark.parametrize("alphabet", [9, 50])
def test_packed_words_have_the_vectors_and_gradients_of_padded_ones(alphabet: int) -> None:
    # 13 characters: more than an alphabet of 9 has, fewer than one of 50.
    groups = [
        torch.tensor([[1, 0], [2, 3]]),
        torch.tensor([[4, 5, 6, 7], [8, 1, 1, 0], [1, 2, 3, 0]]),
    ]
    torch.manual_seed(1)
    encoder = CharEncoder(chars=alphabet, dim=3, **cell_of("lstm"), hidden=2)
    packed = encoder(groups)
    padded = torch.cat([encoder._encode(group) for group in groups])
    torch.testing.assert_close(packed, padded)
    above, weights = torch.randn_like(padded), [*encoder.parameters()]
    found, wanted = (torch.autograd.grad((v * above).sum(), weights) for v in (packed, padded))
    torch.testing.assert_close(found, wanted)
    assert not found[0][0].any()  # of padding
    assert not found[0][9:].any()  # of characters that no word has


def convolution(alphabet: int) -> CharConvolution:
    torch.manual_seed(1)
    encoder = CharConvolution(chars=alphabet, dim=3, outputs=4).double()
    for parameter in (encoder.weight, encoder.bias):
        nn.init.normal_(parameter)
    return encoder


SPELLINGS = [[2, 3], [4], [8, 7], [5, 5, 2, 3, 4], [2, 1, 6, 8]]


def padded(words: list[list[int]]) -> Tensor:
    width = max(map(len, words))
    return torch.tensor([word + [0] * (width - len(word)) for word in words])


# Of 9 characters there are fewer than the words have, of 90 more.
@pytest.mark.parametrize("alphabet", [9, 90])
def test_a_convolution_over_characters_equals_a_loop_over_its_equation(alphabet: int) -> None:
    encoder = convolution(alphabet)
    weight, bias = encoder.weight.detach().numpy(), encoder.bias.detach().numpy()
    table = encoder.embedding.weight.detach().numpy()
    expected = np.full((5, 4), -np.inf)
    for number, word in enumerate(SPELLINGS):
        for t in range(len(word)):
            total = bias.copy()
            for o in (-1, 0, 1):
                if 0 <= t + o < len(word):
                    total += weight[o + 1] @ table[word[t + o]]
            expected[number] = np.maximum(expected[number], total)
    groups = [padded(SPELLINGS[:3]), padded(SPELLINGS[3:])]
    np.testing.assert_allclose(encoder(groups).detach().numpy(), expected, atol=1e-12)
    alone = torch.cat([encoder([padded([word])]) for word in SPELLINGS])
    np.testing.assert_allclose(alone.detach().numpy(), expected, atol=1e-12)
    reader = encoder.reader()
    np.testing.assert_allclose(reader.read(groups).numpy(), expected, atol=1e-12)
    chars = np.array([char for word in SPELLINGS for char in word])
    counts = np.array([len(word) for word in SPELLINGS])
    np.testing.assert_allclose(reader.read_few(chars, counts), expected, atol=1e-12)


@pytest.mark.parametrize("alphabet", [9, 90])
def test_gradients_of_a_convolution_over_characters_are_those_of_differences(
    alphabet: int,
) -> None:
    encoder, groups = convolution(alphabet), [padded(SPELLINGS)]
    weights = [encoder.weight, encoder.bias]
    assert torch.autograd.gradcheck(lambda *_: encoder(groups), weights, fast_mode=True)
    encoder(groups).square().sum().backward()
    table = encoder.embedding.weight
    assert table.grad is not None
    assert not table.grad[0].any()  # of padding
    assert not table.grad[9:].any()
    for place in [(row, column) for row in range(1, 9) for column in range(3)]:
        around = []
        for step in (1e-6, -2e-6):
            with torch.no_grad():
                table[place] += step
                around.append(float(encoder(groups).square().sum()))
        table.data[place] += 1e-6
        assert float(table.grad[place]) == pytest.approx((around[0] - around[1]) / 2e-6, abs=1e-5)


def test_layers_over_characters_read_the_states_of_those_below() -> None:
    torch.manual_seed(1)
    encoder = CharEncoder(chars=9, dim=3, **cell_of("lstm"), hidden=2, layers=3)
    ids = padded(SPELLINGS)
    states, mask = encoder.embedding(ids), ids != 0
    first, second = encoder.below
    expected = encoder.layer.final_states(second(first(states, mask), mask), mask)
    torch.testing.assert_close(encoder([ids]), expected)
    with torch.no_grad():
        torch.testing.assert_close(encoder.eval()([ids]), expected)
    one = CharEncoder(chars=9, dim=3, **cell_of("lstm"), hidden=2)
    assert not any("below" in name for name in one.state_dict())


def test_words_characters_and_features_stand_side_by_side() -> None:
    torch.manual_seed(1)
    words = WordEmbedding(words=4, dim=3, vectors=0)
    affixes = AffixEmbedding(affixes=4, dim=2)
    embed = TokenEmbedding(words=words, chars=chars(), affixes=affixes, features=[3, 5], dim=2)
    word_ids, rows = torch.tensor([2, 3]), torch.tensor([[1, 0]])
    char_ids = [torch.tensor([[2, 3]]), torch.tensor([[4, 5]])]
    features = [torch.tensor([[1, 2]]), torch.tensor([[4, 0]])]
    nothing = torch.zeros_like(word_ids)
    affix_ids = torch.tensor([[1, 0, 3], [0, 0, 0]])
    found = embed(embed.vectors(word_ids, nothing, char_ids, affix_ids, None), rows, features)
    assert embed.chars is not None
    spelt = embed.chars(char_ids)
    expected = [
        words.trained(word_ids.flip(0)).unsqueeze(0),
        torch.stack((spelt[1], spelt[0])).unsqueeze(0),
        torch.stack((torch.zeros(2), affixes.table.weight[[1, 3]].sum(0))).unsqueeze(0),
        embed.features[0](features[0]),
        embed.features[1](features[1]),
    ]
    torch.testing.assert_close(found, torch.cat(expected, dim=2))
    assert found.shape[2] == embed.outputs
    plain = TokenEmbedding(words=words, chars=None, affixes=None, features=[], dim=2)
    vectors = plain.vectors(word_ids, nothing, [], torch.zeros(2, 0, dtype=torch.int64), None)
    torch.testing.assert_close(plain(vectors, rows, []), words.trained(word_ids[rows]))


@pytest.mark.parametrize("seed", range(5))
def test_affixes_add_up_as_in_a_loop_and_unknown_ones_add_nothing(seed: int) -> None:
    torch.manual_seed(seed)
    embedding = AffixEmbedding(affixes=7, dim=4)
    with torch.no_grad():  # whatever the row of unknown ones holds, it must not be read
        embedding.table.weight[0] = 99.0
    ids = np.random.default_rng(seed).integers(0, 7, (6, 5))
    ids[0], ids[1] = 0, 3  # nothing but unknown ones; the same one several times
    table, expected = embedding.table.weight.detach().numpy(), np.zeros((6, 4), dtype=np.float32)
    uses = np.zeros((7, 4), dtype=np.float32)
    for word in range(6):
        for affix in ids[word]:
            if affix != 0:
                expected[word] += table[affix]
                uses[affix] += 1
    found = embedding(torch.from_numpy(ids))
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-5, atol=1e-6)
    found.sum().backward()
    gradient = embedding.table.weight.grad
    assert gradient is not None
    np.testing.assert_array_equal(gradient.numpy(), uses)  # of row 0 it is zero
    assert not embedding(torch.empty(2, 5, dtype=torch.int64).fill_(0)).any()


def test_an_affix_changes_its_own_words_alone() -> None:
    torch.manual_seed(1)
    embedding = AffixEmbedding(affixes=5, dim=3)
    ids = torch.tensor([[1, 2, 0], [2, 3, 4], [0, 0, 0]])
    before = embedding(ids)
    with torch.no_grad():
        embedding.table.weight[1] += 1
    assert (embedding(ids) != before).any(dim=1).tolist() == [True, False, False]
    assert embedding(torch.empty(0, 3, dtype=torch.int64)).shape == (0, 3)


@pytest.mark.parametrize("cell", MOSTLY_SLOW)
def test_words_in_training_have_the_vectors_of_words_in_prediction(cell: str) -> None:
    # Training reads packed words where the cell can, prediction reads padded ones.
    torch.manual_seed(1)
    encoder = CharEncoder(chars=9, dim=3, **cell_of(cell), hidden=2)
    groups = [torch.tensor([[1, 0], [2, 3]]), torch.tensor([[4, 5, 6, 7], [8, 1, 1, 0]])]
    with torch.no_grad():
        predicted = encoder.eval()(groups)
    encoder.train()
    torch.testing.assert_close(encoder(groups), predicted)
    # A word's vector does not depend on the words beside it.
    alone = torch.cat([encoder([group[[row]]]) for group in groups for row in range(2)])
    torch.testing.assert_close(alone, predicted)


def test_vectors_take_no_memory_before_they_are_placed() -> None:
    words = WordEmbedding(words=4, dim=3, vectors=10**9)
    assert words.vectors.shape == (10**9 + 1, 3)
    assert words.vectors.untyped_storage().nbytes() == 3 * 4


MIXES = [(3, 4), (1, 2), (2, 5)]


def test_a_mix_of_layers_is_that_of_the_equation() -> None:
    dice = np.random.default_rng(1)
    mix = ContextualInput(inputs=24, dim=0, mixes=MIXES).double()
    assert mix.outputs == 11
    states = dice.normal(size=(2, 3, 24))
    # As it begins, the mean of the layers.
    mean = states[..., :12].reshape(2, 3, 3, 4).mean(2)
    np.testing.assert_allclose(mix(torch.from_numpy(states)).detach()[..., :4], mean, atol=1e-12)
    with torch.no_grad():
        for each in mix.parameters():
            each.copy_(torch.from_numpy(dice.normal(size=each.shape)))
    expected, begin = np.zeros((2, 3, 11)), 0
    for number, (layers, width) in enumerate(MIXES):
        shares = np.exp(mix.weights[number].detach().numpy())
        shares /= shares.sum()
        place = sum(width for _, width in MIXES[:number])
        for layer in range(layers):
            h = states[..., begin : begin + width]
            gamma = float(mix.scales[number].detach())
            expected[..., place : place + width] += gamma * shares[layer] * h
            begin += width
    found = mix(torch.from_numpy(states)).detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    assert not mix(torch.zeros(1, 1, 24, dtype=torch.float64)).any()  # padding stays zero


def test_the_gradient_of_a_mix_is_that_of_its_differences() -> None:
    torch.manual_seed(1)
    mix = ContextualInput(inputs=24, dim=0, mixes=MIXES).double()
    states = torch.randn(1, 2, 24, dtype=torch.float64, requires_grad=True)
    names, values = zip(*mix.named_parameters(), strict=True)

    def of(states: Tensor, *parameters: Tensor) -> Tensor:
        given = dict(zip(names, parameters, strict=True))
        found: Tensor = torch.func.functional_call(mix, given, (states,))
        return found

    assert torch.autograd.gradcheck(of, (states, *values))
