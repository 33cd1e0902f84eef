"""Sentences -> padded batches."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from says import refuses
from vocabularies import CHARS, NO_FEATURES, VOCABULARY

from tagkit.features.batching.encoding import encode, encode_words
from tagkit.features.batching.targets import tag_target
from tagkit.features.vocabulary import RESERVED
from tagkit.features.word_features import AFFIXES_PER_WORD
from tagkit.text.records import Sentence

words = st.text(CHARS, min_size=1, max_size=12)
sentences = st.lists(
    st.lists(words, min_size=1, max_size=6).map(lambda found: Sentence(tuple(found))),
    min_size=1, max_size=6,
)  # fmt: skip


@given(sentences)
def test_each_token_finds_its_own_characters(found: list[Sentence]) -> None:
    batch = encode(found, NO_FEATURES, {}, chars=True).batch(range(len(found)))
    spelt = [[i for i in row if i] for group in batch.words.char_ids for row in group.tolist()]
    assert len(spelt) == len({word for sentence in found for word in sentence.words})
    for row, sentence in enumerate(found):
        for t, word in enumerate(sentence.words):
            place = int(batch.tokens.rows[row, t])
            assert spelt[place] == [CHARS.index(char) + RESERVED for char in word]


def test_a_batch_is_padded_on_the_right() -> None:
    found = [
        Sentence(("aa", "x", "CC"), ("O", "B-X", "O"), (("N", "V", "Z"),)),
        Sentence(("B",), ("B-X",), (("V",),)),
    ]
    targets = {"tags": tag_target(found, VOCABULARY)}
    encoded = encode(found, VOCABULARY, targets, chars=False)
    batch = encoded.batch([1, 0])
    rows, mask = batch.tokens.rows, batch.tokens.mask
    assert [batch.words.word_ids[rows[i]][mask[i]].tolist() for i in (0, 1)] == [[3], [2, 1, 1]]
    assert [batch.words.vector_rows[rows[i]][mask[i]].tolist() for i in (0, 1)] == [[1], [0, 0, 2]]
    assert rows[~mask].tolist() == [0, 0]
    assert batch.tokens.mask.tolist() == [[True, False, False], [True, True, True]]
    assert "tags" in batch.targets
    assert batch.target("tags").tolist() == [[1, 0, 0], [0, 1, 0]]
    assert [ids.tolist() for ids in batch.tokens.feature_ids] == [[[3, 0, 0], [2, 3, 1]]]
    assert batch.words.char_ids == ()
    bare = encode([Sentence(("aa",), None, (("N",),))], VOCABULARY, {}, chars=False)
    assert bare.batch([0]).targets == {}


def test_a_word_of_ten_thousand_characters_does_not_lengthen_the_others() -> None:
    short = [a + b + c for a in CHARS for b in CHARS for c in CHARS]
    batch = encode([Sentence((*short, "a" * 10_000))], NO_FEATURES, {}, chars=True).batch([0])
    assert sum(group.size for group in batch.words.char_ids) < 3 * len(short) + 10_000 + 1_000


def test_a_tag_that_is_not_in_the_vocabulary_is_no_id() -> None:
    with refuses(KeyError):
        tag_target([Sentence(("a",), ("B-Y",))], NO_FEATURES)


def test_each_word_has_as_many_affixes_also_where_there_is_no_word() -> None:
    some = replace(VOCABULARY, affixes=("-b", "=xx"))
    found = encode_words(["ab", "b", "AB"], some, chars=False).affix_ids
    assert [sorted(row) for row in found.tolist()] == [
        [0] * (AFFIXES_PER_WORD - 2) + [1, 2], [0] * AFFIXES_PER_WORD,
        [0] * (AFFIXES_PER_WORD - 1) + [1],
    ]  # fmt: skip
    assert encode_words([], some, chars=False).affix_ids.shape == (0, AFFIXES_PER_WORD)
    for words in ([], ["ab", "b"]):
        found = encode_words(words, VOCABULARY, chars=False).affix_ids
        assert found.shape == (len(words), 0)
