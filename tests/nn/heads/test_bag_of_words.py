"""The linear model of words: features by hand, weights as scikit-learn finds them."""

import math
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from tagkit.nn.heads.bag_of_words import NETWORK_SHARE, BagOfWords, log_scores

WORDS, PAIRS = 9, 2**8
Texts = list[npt.NDArray[np.int64]]


def texts(*ids: Sequence[int]) -> Texts:
    return [np.array(each, dtype=np.int64) for each in ids]


def corpus(classes: int, *, seed: int = 1, count: int = 60) -> tuple[Texts, npt.NDArray[np.int64]]:
    """Texts of the words 2 to 8, and a class of each, which its first word tells mostly."""
    draw = np.random.default_rng(seed)
    found = [draw.integers(2, WORDS, draw.integers(1, 7)) for _ in range(count)]
    labels = [int(text[0] + draw.integers(2)) % classes for text in found]
    return found, np.array(labels)


def model(classes: int = 3, *, several: bool = False, pairs: int = PAIRS) -> BagOfWords:
    return BagOfWords(words=WORDS, pairs=pairs, classes=classes, several=several, unknown=1)


@cache
def fitted() -> BagOfWords:
    bag, (found, labels) = model(), corpus(3)
    targets = torch.eye(3)[labels]
    bag.fit(found, targets, torch.ones_like(targets))
    return bag


def features(bag: BagOfWords, found: Texts) -> npt.NDArray[np.float64]:
    """(texts, rows): what the model multiplies with its weights, one row at a time."""
    rows = len(bag.idf)
    wide = BagOfWords(words=WORDS, pairs=rows - WORDS, classes=rows, several=False, unknown=1)
    wide.idf, wide.weight = bag.idf, torch.eye(rows)
    return wide.scores(found).double().numpy()


def test_features_are_tf_idf_of_words_and_pairs_of_known_neighbours_with_length_1() -> None:
    train = texts([2, 3, 2, 3], [3, 1, 4], [4])  # 1 is an unknown word: it and its pairs are none
    named = [[(2,), (3,), (2,), (3,), (2, 3), (3, 2), (2, 3)], [(3,), (4,)], [(4,)]]
    bag = model()
    bag.fit(train, torch.eye(3), torch.ones(3, 3))
    frequency = Counter(name for text in named for name in set(text))
    for row, text in zip(features(bag, train), named, strict=True):
        values = [
            (1 + math.log(count)) * (math.log((1 + 3) / (1 + frequency[name])) + 1)
            for name, count in Counter(text).items()
        ]
        length = math.sqrt(sum(value**2 for value in values))
        expected = sorted(value / length for value in values)
        assert sorted(row[row > 0]) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("balanced", [False, True])
def test_weights_are_those_at_which_the_penalised_loss_is_smallest(balanced: bool) -> None:
    found, labels = corpus(3)
    bag, targets = model(), torch.eye(3)[labels]
    of_class = len(labels) / (3 * np.bincount(labels)) if balanced else np.ones(3)
    weights = torch.from_numpy(of_class[labels]).float().unsqueeze(1).expand_as(targets)
    bag.fit(found, targets, weights)
    theirs = LogisticRegression(
        C=10, max_iter=10_000, tol=1e-10, class_weight="balanced" if balanced else None
    )
    unseen, _ = corpus(3, seed=2)
    theirs.fit(features(bag, found), labels)
    expected = theirs.predict_proba(features(bag, unseen))
    np.testing.assert_allclose(torch.softmax(bag.scores(unseen), 1), expected, atol=2e-3)
    assert expected.max() > 0.9  # it has learnt something


def test_of_several_classes_each_is_found_by_itself() -> None:
    found, labels = corpus(3)
    has = np.stack([labels == 0, labels != 2], axis=1)
    bag, targets = model(2, several=True), torch.from_numpy(has).float()
    bag.fit(found, targets, torch.ones_like(targets))
    for column in range(2):
        theirs = LogisticRegression(C=10, max_iter=10_000, tol=1e-10)
        theirs.fit(features(bag, found), has[:, column])
        expected = theirs.predict_proba(features(bag, found))[:, 1]
        ours = torch.sigmoid(bag.scores(found)[:, column])
        np.testing.assert_allclose(ours, expected, atol=2e-3)


def test_a_text_gets_the_same_scores_alone_and_in_a_batch() -> None:
    bag, (found, _) = fitted(), corpus(3, seed=3)
    together = bag.scores([*found, *texts([1, 1])])
    for row, text in enumerate(found):
        torch.testing.assert_close(bag.scores([text])[0], together[row])
    # Nothing known: what is left is how frequent the classes are.
    torch.testing.assert_close(together[-1], bag.bias)


@given(st.lists(st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=8), max_size=5))
def test_whatever_the_words_the_scores_are_numbers_and_no_order_of_texts_matters(
    ids: list[list[int]],
) -> None:
    bag = fitted()
    scores = bag.scores(texts(*ids))
    assert scores.shape == (len(ids), 3)
    assert bool(scores.isfinite().all())
    torch.testing.assert_close(bag.scores(texts(*ids[::-1])), scores.flip(0))


def test_the_order_of_two_words_tells_texts_apart_and_with_one_row_for_all_pairs_it_does_not() -> (
    None
):
    orders = texts([2, 3], [3, 2])
    for pairs, expected in ((PAIRS, 1.0), (1, 0.0)):
        bag = model(2, pairs=pairs)
        bag.fit(orders, torch.eye(2), torch.ones(2, 2))
        scores = bag.scores(orders)
        margin = scores[0, 0] - scores[1, 0]
        assert (float(margin) > 0.1) == bool(expected)


def test_the_same_corpus_gives_the_same_weights_to_the_last_bit() -> None:
    one, other = fitted(), fitted.__wrapped__()
    for name, tensor in one.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name])


def test_texts_that_weigh_nothing_teach_nothing() -> None:
    bag, (found, labels) = model(), corpus(3)
    bag.fit(found, torch.eye(3)[labels], torch.zeros(len(found), 3))
    assert torch.equal(bag.scores(found), torch.zeros(len(found), 3))
    # Of some, only those that weigh something count.
    half, whole = model(), model()
    weights = torch.ones(len(found), 3)
    weights[30:] = 0
    half.fit(found, torch.eye(3)[labels], weights)
    shuffled = torch.eye(3)[[*labels[:30], *labels[30:][::-1]]]
    whole.fit(found, shuffled, weights)
    assert torch.equal(half.weight, whole.weight)


def product(network: Tensor, own: Tensor) -> Tensor:
    found = network**NETWORK_SHARE * own ** (1 - NETWORK_SHARE)
    return found / found.sum(-1, keepdim=True)


def test_probabilities_are_multiplied_each_to_the_power_of_its_share() -> None:
    bag, (found, _) = deepcopy(fitted()), corpus(3, seed=4)
    network = torch.softmax(torch.randn(len(found), 3, generator=torch.manual_seed(5)), 1)
    own = torch.softmax(bag.scores(found), 1)
    torch.testing.assert_close(bag.multiplied(network, found), product(network, own))
    # Of several classes each is a choice of two.
    bag.several = True
    chances, own = torch.stack([network, 1 - network], -1), torch.sigmoid(bag.scores(found))
    expected = product(chances, torch.stack([own, 1 - own], -1))[..., 0]
    torch.testing.assert_close(bag.multiplied(network, found), expected)


def test_what_is_certain_has_finite_scores() -> None:
    for several in (False, True):
        assert bool(log_scores(torch.tensor([0.0, 1.0]), several).isfinite().all())


def test_each_pass_is_told_and_a_search_without_time_leaves_a_network_as_it_is() -> None:
    found, labels = corpus(3)
    targets, passes = torch.eye(3)[labels], list[int]()
    bag = model()
    assert not bag.is_fitted
    probs = torch.tensor([[0.7, 0.2, 0.1]])
    bag.fit(found, targets, torch.ones_like(targets), max_seconds=-1, on_pass=passes.append)
    assert (passes, bag.is_fitted) == ([], False)
    assert torch.equal(bag.multiplied(probs, found[:1]), probs)
    bag.fit(found, targets, torch.ones_like(targets), on_pass=passes.append)
    assert passes == [*range(1, len(passes) + 1)]
    assert 10 < len(passes) < 150
    assert bag.is_fitted
    assert not torch.equal(bag.multiplied(probs, found[:1]), probs)


def test_scores_do_not_depend_on_the_type_that_new_tensors_have() -> None:
    found, _ = corpus(3)
    one = fitted()
    expected = one.scores(found)
    torch.set_default_dtype(torch.float64)
    try:
        again = one.scores(found)
    finally:
        torch.set_default_dtype(torch.float32)
    assert again.dtype == torch.float32
    assert torch.equal(again, expected)
