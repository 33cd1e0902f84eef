"""Which sentences make up a batch."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tagkit.features.batching.bucketing import (
    batches_at_random,
    batches_in_order,
    batches_with_little_padding,
    padding_share,
)

lengths = st.lists(st.integers(1, 60), min_size=1, max_size=200).map(np.array)


@given(lengths, st.integers(1, 9), st.sampled_from([0, 1, 40, 200]), st.integers(0, 9))
def test_batches_hold_every_sentence_once_and_keep_to_their_limits(
    found: np.ndarray, size: int, tokens: int, seed: int
) -> None:
    shuffled = batches_at_random(found, size, tokens, np.random.default_rng(seed))
    ordered = batches_in_order(found, size, tokens)
    padded_little = batches_with_little_padding(found, size, tokens or 10**6)
    for batches in (shuffled, ordered, padded_little):
        assert sorted(i for batch in batches for i in batch) == list(range(len(found)))
        for batch in batches:
            area = len(batch) * found[batch].max()
            assert not tokens or area <= tokens or len(batch) == 1
    assert tokens or all(len(batch) <= size for batch in shuffled)
    for batches in (ordered, padded_little):
        assert all(len(batch) <= size for batch in batches)
        longest = [int(found[batch].max()) for batch in batches]
        assert longest == sorted(longest)


def test_batches_at_random_are_those_of_the_generator_and_pad_little() -> None:
    found = np.random.default_rng(1).integers(1, 60, 5000)

    def batches(seed: int) -> list[list[int]]:
        drawn = batches_at_random(found, 32, 0, np.random.default_rng(seed))
        return [batch.tolist() for batch in drawn]

    assert batches(1) == batches(1) != batches(2)
    assert padding_share(found, [np.array(batch) for batch in batches(1)]) < 0.05
    # In the order of the corpus nearly half of the area would be padding.
    assert padding_share(found, list(np.arange(4992).reshape(-1, 32))) > 0.4
    by_tokens = batches_at_random(found, 32, 1000, np.random.default_rng(1))
    sizes = [len(batch) for batch in by_tokens]
    assert max(sizes) > 100  # short sentences
    assert min(sizes) < 20  # long ones


def test_batches_of_a_window_pad_little_and_are_not_smaller_than_that_needs() -> None:
    found = np.random.default_rng(1).integers(1, 60, 800)
    batches = batches_with_little_padding(found, 128, 16_384)
    assert padding_share(found, batches) < 0.05 < padding_share(found, [np.arange(800)])
    assert padding_share(found, batches_in_order(found, 128, 16_384)) > 0.09
    assert min(len(batch) for batch in batches[:-1]) >= 24
    same = np.full(300, 7)
    assert [len(batch) for batch in batches_with_little_padding(same, 128, 16_384)] == [
        128,
        128,
        44,
    ]


def test_a_token_budget_pads_little_whatever_the_number_of_sentences_says() -> None:
    found = np.random.default_rng(1).integers(1, 60, 5000)
    batches = batches_at_random(found, 1, 1000, np.random.default_rng(1))
    assert padding_share(found, batches) < 0.05
    assert max(len(batch) for batch in batches) > 100


def test_batches_come_in_random_order_of_sentences_drawn_at_random() -> None:
    found = np.random.default_rng(1).integers(1, 60, 1000)
    batches = batches_at_random(found, 10, 0, np.random.default_rng(1))
    longest = np.array([found[batch].max() for batch in batches])
    assert abs(np.corrcoef(longest, np.arange(len(longest)))[0, 1]) < 0.3
    # Of equal lengths, neighbours in the corpus are no more likely to meet than others.
    equal = batches_at_random(np.full(1000, 7), 10, 0, np.random.default_rng(1))
    assert all(int(batch.max() - batch.min()) > 100 for batch in equal)


def test_a_batch_of_long_texts_has_fewer_of_them() -> None:
    found = np.array([10_000] * 40 + [10] * 40)
    batches = batches_at_random(found, 32, 0, np.random.default_rng(1))
    assert sorted(i for batch in batches for i in batch) == list(range(80))
    areas = [len(batch) * int(found[batch].max()) for batch in batches]
    assert max(areas) <= 65_536
    assert max(len(batch) for batch in batches) == 32
