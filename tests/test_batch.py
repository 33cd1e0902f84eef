"""Sentences -> padded batches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagkit.batch import batches_at_random, batches_in_order, encode, padding_share
from tagkit.sentence import Sentence
from tagkit.vocab import RESERVED, Vocabulary

CHARS = "abcdef"
VOCABULARY = Vocabulary(
    words=("aa", "b"), vector_words=("b", "cc"), only_vectors=False, chars=tuple(CHARS),
    tags=("O", "B-X"), classes=(), features=(("N", "V"),), lowercase=True, normalize_digits=True,
)  # fmt: skip

lengths = st.lists(st.integers(1, 60), min_size=1, max_size=200).map(np.array)
words = st.text(CHARS, min_size=1, max_size=12)
sentences = st.lists(
    st.lists(words, min_size=1, max_size=6).map(lambda found: Sentence(tuple(found))),
    min_size=1, max_size=6,
)  # fmt: skip


@given(lengths, st.integers(1, 9), st.sampled_from([0, 1, 40, 200]), st.integers(0, 9))
def test_batches_hold_every_sentence_once_and_keep_to_their_limits(
    found: np.ndarray, size: int, tokens: int, seed: int
) -> None:
    shuffled = batches_at_random(found, size, tokens, np.random.default_rng(seed))
    ordered = batches_in_order(found, size, tokens)
    for batches in (shuffled, ordered):
        assert sorted(i for batch in batches for i in batch) == list(range(len(found)))
        for batch in batches:
            area = len(batch) * found[batch].max()
            assert not tokens or area <= tokens or len(batch) == 1
    assert all(len(batch) <= size for batch in ordered)
    assert tokens or all(len(batch) <= size for batch in shuffled)
    longest = [int(found[batch].max()) for batch in ordered]
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


@given(sentences)
def test_each_token_finds_its_own_characters(found: list[Sentence]) -> None:
    batch = encode(found, VOCABULARY, chars=True).batch(range(len(found)))
    spelt = [[i for i in row if i] for group in batch.char_ids for row in group.tolist()]
    assert len(spelt) == len({word for sentence in found for word in sentence.words})
    for row, sentence in enumerate(found):
        for t, word in enumerate(sentence.words):
            place = int(batch.word_rows[row, t])
            assert spelt[place] == [CHARS.index(char) + RESERVED for char in word]


def test_a_batch_is_padded_on_the_right() -> None:
    found = [
        Sentence(("aa", "x", "CC"), ("O", "B-X", "O"), (("N", "V", "Z"),)),
        Sentence(("B",), ("B-X",), (("V",),)),
    ]
    encoded = encode(found, VOCABULARY, chars=False)
    batch = encoded.batch([1, 0])
    assert batch.word_ids.tolist() == [[3, 0, 0], [2, 1, 1]]
    assert batch.vector_rows.tolist() == [[1, 0, 0], [0, 0, 2]]
    assert batch.mask.tolist() == [[True, False, False], [True, True, True]]
    assert batch.tag_ids is not None
    assert batch.tag_ids.tolist() == [[1, 0, 0], [0, 1, 0]]
    assert [ids.tolist() for ids in batch.feature_ids] == [[[3, 0, 0], [2, 3, 1]]]
    assert batch.char_ids == ()
    bare = encode([Sentence(("aa",), None, (("N",),))], VOCABULARY, chars=False)
    assert bare.batch([0]).tag_ids is None


def test_a_word_of_ten_thousand_characters_does_not_lengthen_the_others() -> None:
    short = [a + b + c for a in CHARS for b in CHARS for c in CHARS]
    batch = encode([Sentence((*short, "a" * 10_000))], VOCABULARY, chars=True).batch([0])
    assert sum(group.numel() for group in batch.char_ids) < 3 * len(short) + 10_000 + 1_000


def test_sentences_of_which_one_has_no_tags_are_to_be_predicted() -> None:
    found = [Sentence(("a",), ("O",)), Sentence(("b",))]
    assert encode(found, VOCABULARY, chars=False).batch([0]).tag_ids is None


def test_a_tag_that_is_not_in_the_vocabulary_is_no_id() -> None:
    with pytest.raises(KeyError, match="B-Y"):
        encode([Sentence(("a",), ("B-Y",))], VOCABULARY, chars=False)
