"""Scores of word features by rows of words: those of all features of each token, looked up."""

import math
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tagkit.features.batching.batch import Tokens
from tagkit.features.vocabulary import Vocabulary
from tagkit.features.word_features import cluster_keys, feature_keys
from tagkit.models.base.feature_rows import FeatureRows, RowMaker
from tagkit.nn.feature_crf.feature_crf import FeatureCrf
from tagkit.nn.feature_crf.feature_crf_fit import FeatureExamples, Features, fit
from tagkit.text.records import Sentence

TAGS, DIM = 3, 4
WORDS = ("In", "in", "Oslo", "oslo", "B-1", "2019", "é", "Wales")
VECTORS = torch.tensor(np.random.default_rng(2).normal(size=(len(WORDS) // 2 + 1, DIM))).float()
SENTENCES = st.lists(
    st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from("NV")), min_size=1, max_size=6),
    min_size=1,
    max_size=4,
)


class Known(Vocabulary):
    """Half of the words have a vector."""

    def __init__(self) -> None:
        pass

    def vector_row(self, word: str) -> int:
        return WORDS.index(word) // 2 + 1 if WORDS.index(word) % 2 else 0


def vectors() -> Tensor:
    return torch.cat((torch.zeros(1, DIM), VECTORS[1:]))


@cache
def fitted(dim: int, columns: int) -> FeatureCrf:
    draw = np.random.default_rng(1)
    lengths = draw.integers(1, 7, 40)
    sentences = [
        sentence([(WORDS[draw.integers(len(WORDS))], "NV"[draw.integers(2)]) for _ in range(n)],
                 columns)
        for n in lengths
    ]  # fmt: skip
    keys = np.concatenate([feature_keys(one) for one in sentences])
    crf = FeatureCrf(weights=2000, tags=TAGS, dim=dim, clusters=(2, 4) if dim else ())
    kinds = [Features.of(keys)]
    if crf.clusters is not None:
        crf.clusters.find(vectors())
        kinds.append(Features.of(np.concatenate([clusters_of(crf, one) for one in sentences])))
    examples = FeatureExamples(
        kinds,
        draw.normal(size=(len(keys), dim)),
        draw.integers(0, TAGS, len(keys)),
        lengths,
    )
    fit(crf, examples, None, math.inf, lambda _: None)
    return crf


def sentence(tokens: list[tuple[str, str]], columns: int) -> Sentence:
    words, values = zip(*tokens, strict=True)
    return Sentence(words, features=(values,) * columns)


def own_vectors(one: Sentence) -> Tensor:
    """(tokens, dim)."""
    return torch.stack([vectors()[Known().vector_row(word)] for word in one.words])


def clusters_of(crf: FeatureCrf, one: Sentence) -> npt.NDArray[np.int64]:
    """(tokens, features) keys of the clusters at, before and after each token."""
    assert crf.clusters is not None
    own = torch.cat((torch.zeros(1, DIM), own_vectors(one), torch.zeros(1, DIM)))
    keys = cluster_keys(crf.clusters.numbers(own))  # (border, tokens and border; 3; kinds)
    return np.concatenate((keys[1:-1, 0], keys[:-2, 1], keys[2:, 2]), axis=1)


def expected(crf: FeatureCrf, one: Sentence) -> Tensor:
    """(tokens, tags), token by token."""
    scores = crf.scores(feature_keys(one))
    if crf.reads_vectors:
        nothing = torch.zeros(1, DIM)
        padded = torch.cat((nothing, own_vectors(one), nothing))
        windows = torch.cat((padded[:-2], padded[1:-1], padded[2:]), dim=1)
        scores = scores + windows @ crf.vector_weights + crf.scores(clusters_of(crf, one))
    return scores


def batch_of(sentences: list[Sentence], words: list[str]) -> Tokens:
    longest = max(len(one.words) for one in sentences)
    # Padding has the row of a real word.
    rows = torch.full((len(sentences), longest), len(words) - 1)
    mask = torch.zeros(len(sentences), longest, dtype=torch.bool)
    for place, one in enumerate(sentences):
        rows[place, : len(one.words)] = torch.tensor([words.index(word) for word in one.words])
        mask[place, : len(one.words)] = True
    return Tokens(rows, mask, ())


def together(crf: FeatureCrf, words: list[str]) -> FeatureRows:
    maker = RowMaker(crf, vectors(), Known())
    parts = maker.borders(), maker.rows(words)
    return FeatureRows(
        torch.cat([part.scores for part in parts]), np.concatenate([part.parts for part in parts])
    )


@pytest.mark.parametrize("columns", [0, 2])
@pytest.mark.parametrize("dim", [0, DIM])
@given(drawn=SENTENCES)
def test_emissions_are_the_scores_of_all_features_of_each_token_and_zero_on_padding(
    dim: int, columns: int, drawn: list[list[tuple[str, str]]]
) -> None:
    crf = fitted(dim, columns)
    sentences = [sentence(tokens, columns) for tokens in drawn]
    words = list(dict.fromkeys(word for one in sentences for word in one.words))
    found = together(crf, words).emissions(crf, batch_of(sentences, words), sentences)
    for row, one in zip(found, sentences, strict=True):
        length = len(one.words)
        torch.testing.assert_close(row[:length], expected(crf, one), rtol=1e-5, atol=1e-5)
        assert not row[length:].any()


def test_a_row_has_the_scores_of_its_word_whatever_words_are_beside_it() -> None:
    crf = fitted(DIM, 0)
    maker = RowMaker(crf, vectors(), Known())
    whole = maker.rows(WORDS)
    for place, word in enumerate(WORDS):
        alone = maker.rows([word])
        torch.testing.assert_close(alone.scores[0], whole.scores[place])
        assert (alone.parts[0] == whole.parts[place]).all()


def test_a_row_counts_its_bytes() -> None:
    found = together(fitted(DIM, 0), [*WORDS])
    rows = len(found.parts)
    assert found.row_bytes * rows == found.scores.nbytes + found.parts.nbytes
