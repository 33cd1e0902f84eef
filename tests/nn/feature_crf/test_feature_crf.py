"""The CRF of word features: scores by a dictionary, weights where the enumerated loss is least."""

import itertools
import math
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tagkit.nn import optimizers
from tagkit.nn.crf.chain import Chain, viterbi
from tagkit.nn.feature_crf import feature_crf_fit as feature_crf_blocks
from tagkit.nn.feature_crf.feature_crf import FeatureCrf, Ids, VectorClusters
from tagkit.nn.feature_crf.feature_crf_fit import (
    FeatureExamples,
    Features,
    Floats,
    _pairs,
    fit,
    make_blocks,
)

pytestmark = pytest.mark.usefixtures("full_fits")

TAGS, KINDS, DIM = 3, 6, 2
Weights = dict[tuple[int, int], Tensor]  # by feature and tag


@dataclass(frozen=True, slots=True)
class Corpus:
    """As `FeatureExamples`, with the features of each token as they are: (tokens, features)."""

    keys: Ids
    vectors: Floats
    tags: Ids
    lengths: Ids
    weights: npt.NDArray[np.float32] | None = None
    values: Floats = field(default_factory=lambda: np.ones(2))  # of the features

    def grouped(self, *groups: slice) -> FeatureExamples:
        """What is learnt from, with these groups of features; with one of all by default."""
        features = [
            Features.of(self.keys[:, group], self.values[group])
            for group in groups or (slice(None),)
        ]
        return FeatureExamples(features, self.vectors, self.tags, self.lengths, self.weights)


def examples(seed: int = 1, *, count: int = 12, dim: int = 0) -> Corpus:
    """Sentences of at most four tokens of two features; the first tells the tag mostly."""
    draw = np.random.default_rng(seed)
    lengths = draw.integers(1, 5, count)
    keys = draw.integers([0, 100], [KINDS, 100 + KINDS], (int(lengths.sum()), 2))
    tags = (keys[:, 0] + draw.integers(0, 5, len(keys)) // 4) % TAGS
    return Corpus(keys, draw.normal(size=(len(keys), dim)), tags, lengths)


def untold(number: int) -> None:
    """Whom the passes over the corpus do not matter to."""


def model(*, weights: int = 100, dim: int = 0) -> FeatureCrf:
    return FeatureCrf(weights=weights, tags=TAGS, dim=dim)


@cache
def fitted(dim: int = 0) -> FeatureCrf:
    crf = model(dim=dim)
    fit(crf, examples(dim=dim).grouped(), None, math.inf, untold)
    return crf


def mask_of(lengths: list[int]) -> Tensor:
    return torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def chain(crf: FeatureCrf, found: Corpus, lengths: list[int] | None = None) -> Chain:
    """The chain of sentences whose tokens have these features and vectors, and no others."""
    lengths = found.lengths.tolist() if lengths is None else lengths
    scores = crf.scores(found.keys)  # (tokens, tags)
    emissions, start = torch.zeros(*mask_of(lengths).shape, TAGS), 0
    for row, length in enumerate(lengths):
        vectors = torch.from_numpy(found.vectors[start : start + length]).float()
        after, own, before = crf.vector_scores(vectors).unbind(1)  # (length, tags) each
        emissions[row, :length] = scores[start : start + length] + own
        emissions[row, 1:length] += after[:-1]
        emissions[row, : length - 1] += before[1:]
        start += length
    return crf.chain(emissions, mask_of(lengths))


def windows(vectors: Tensor, start: int, end: int) -> Tensor:
    """(tokens, 3 x dim) of one sentence, one token after the other."""
    nothing = torch.zeros_like(vectors[0])
    padded = [nothing, *vectors[start:end], nothing]
    return torch.stack([torch.cat(padded[here : here + 3]) for here in range(end - start)])


def penalised_loss(
    found: Corpus,
    table: Weights,
    steps: Tensor,
    of_vectors: Tensor,
    tag_weights: Tensor | None = None,
) -> Tensor:
    """The loss by enumeration of all paths of all sentences."""
    total = 0.1 * (steps**2).sum() + 0.1 * (of_vectors**2).sum()
    # Features of the first kind have numbers below 100.
    learnt = [weight / float(found.values[int(key >= 100)]) for (key, _), weight in table.items()]
    total = total + 0.1 * torch.stack([each**2 for each in learnt]).sum()
    vectors, start = torch.from_numpy(found.vectors), 0
    # Of a mean squared length of 4.5, as the module says.
    if vectors.shape[1]:
        vectors = vectors * (4.5 / (vectors**2).sum(1).mean()).sqrt()
    zero = torch.zeros((), dtype=torch.float64)
    for number, length in enumerate(found.lengths.tolist()):
        seen = windows(vectors, start, start + length)

        def score(path: tuple[int, ...], seen: Tensor = seen, start: int = start) -> Tensor:
            score = zero + sum(steps[a, b] for a, b in itertools.pairwise(path))
            for here, tag in enumerate(path):
                score = score + seen[here] @ of_vectors[:, tag]
                score = score + sum(
                    table.get((key, tag), zero) for key in found.keys[start + here].tolist()
                )
            return score

        gold = found.tags[start : start + length].tolist()
        paths = list(itertools.product(range(TAGS), repeat=length))
        whole = torch.logsumexp(torch.stack([score(path) for path in paths]), 0)
        if tag_weights is None:
            loss = whole - score(tuple(gold))
        else:
            # The loss of each token, of the token given all before it, by the weight of its tag.
            loss = zero
            for end in range(length):
                sums = [
                    torch.logsumexp(
                        torch.stack([score(p) for p in paths if list(p[:known]) == gold[:known]]), 0
                    )
                    for known in (end, end + 1)
                ]
                loss = loss + tag_weights[gold[end]] * (sums[0] - sums[1])
        total = total + loss * (1 if found.weights is None else float(found.weights[number]))
        start += length
    return total


def parameters(crf: FeatureCrf, scale: float) -> tuple[Weights, Tensor, Tensor]:
    """The weights in use by key and tag, those of steps, and those of vectors, copied."""
    used = int((crf.weights != 0).sum())
    table = {
        (int(key), int(tag)): weight.double()
        for key, tag, weight in zip(
            crf.keys[:used], crf.tags[:used], crf.weights[:used], strict=True
        )
    }
    return table, crf.transitions.double(), crf.vector_weights.double() / scale


CASES = [
    "plain",
    "values of features",
    "vectors",
    "vectors, shared",
    "weights of sentences",
    "weights of tags",
]


@pytest.mark.parametrize("case", CASES)
def test_the_weights_are_those_at_which_the_enumerated_penalised_loss_is_smallest(
    case: str,
) -> None:
    found = examples(dim=DIM if case.startswith("vectors") else 0)
    sharing = torch.tensor([[1, 0, 0], [0, 0.8, 0.6], [0, 0.6, 0.8]]) if "shared" in case else None
    tag_weights = torch.tensor([0.5, 1.0, 2.0]) if case == "weights of tags" else None
    if case == "weights of sentences":
        weights = np.random.default_rng(3).uniform(0.1, 2, len(found.lengths))
        found = replace(found, weights=weights.astype(np.float32))
    if case == "values of features":
        found = replace(found, values=np.array([3.0, 0.5]))
    crf = model(dim=found.vectors.shape[1])
    fit(crf, found.grouped(), tag_weights, math.inf, untold, sharing)
    squares = (found.vectors**2).sum(1).mean()
    table, steps, of_vectors = parameters(crf, (4.5 / squares) ** 0.5 if squares else 1.0)
    shares = torch.eye(TAGS) if sharing is None else sharing
    own = of_vectors @ shares.double().inverse()  # what is learnt, and penalised
    leaves = [each.requires_grad_() for each in (*table.values(), steps, own)]
    of_vectors = own @ shares.double()
    loss = penalised_loss(found, table, steps, of_vectors, tag_weights)
    loss = loss + 0.1 * ((own**2).sum() - (of_vectors**2).sum())
    slopes = torch.autograd.grad(loss, leaves, allow_unused=True)
    # The loss is convex: where its slope is 0 it is smallest. Its slopes at 0 are ten and more.
    assert max(float(s.abs().max()) for s in slopes if s is not None and len(s.flatten())) < 1e-2
    for leaf in leaves:
        leaf.detach_().zero_()
    at_0 = penalised_loss(found, table, steps, own, tag_weights)
    assert float(loss.detach()) < 0.8 * float(at_0)


def test_scores_are_sums_of_the_weights_of_features_and_of_vectors() -> None:
    crf, found = fitted(DIM), examples(5, dim=DIM)
    table, _, _ = parameters(crf, 1.0)
    given_chain, start = chain(crf, found), 0
    for row, length in enumerate(found.lengths.tolist()):
        seen = windows(torch.from_numpy(found.vectors).float(), start, start + length)
        for here, tag in itertools.product(range(length), range(TAGS)):
            keys = found.keys[start + here].tolist()
            expected = sum(float(table[key, tag]) for key in keys if (key, tag) in table)
            expected += float(seen[here] @ crf.vector_weights[:, tag])
            assert float(given_chain.emissions[row, here, tag]) == pytest.approx(expected, abs=1e-5)
        start += length
    assert torch.equal(given_chain.transitions, crf.transitions)
    assert not given_chain.start.any()
    assert not given_chain.end.any()


def test_it_learns_what_the_first_feature_tells() -> None:
    crf, found = model(), examples(7, count=40)
    fit(crf, examples(count=100).grouped(), None, math.inf, untold)
    paths = viterbi(chain(crf, found))[0][mask_of(found.lengths.tolist())]
    assert (paths.numpy() == found.keys[:, 0] % TAGS).mean() > 0.9


def test_features_that_training_never_saw_with_a_tag_have_no_weight() -> None:
    crf, found = fitted(), examples()
    together = Counter(
        (key, tag)
        for keys, tag in zip(found.keys.tolist(), found.tags.tolist(), strict=True)
        for key in keys
    )
    used = int((crf.weights != 0).sum())
    assert len(together) == used
    kept = list(zip(crf.keys[:used].tolist(), crf.tags[:used].tolist(), strict=True))
    assert kept == sorted(together)
    unknown = replace(found, keys=found.keys + 1000)
    assert not chain(crf, unknown).emissions.any()


def test_of_more_pairs_than_there_are_weights_the_most_frequent_are_kept() -> None:
    crf, found = model(weights=5), examples()
    fit(crf, found.grouped(), None, math.inf, untold)
    together = Counter(
        (key, tag)
        for keys, tag in zip(found.keys.tolist(), found.tags.tolist(), strict=True)
        for key in keys
    )
    kept = zip(crf.keys.tolist(), crf.tags.tolist(), strict=True)
    counts = sorted(together.values(), reverse=True)
    assert sorted((together[pair] for pair in kept), reverse=True) == counts[:5]


def test_a_sentence_gets_the_same_scores_alone_and_in_a_batch_whatever_vectors_are_beside_it() -> (
    None
):
    crf, found = fitted(DIM), examples(5, dim=DIM)
    together, start = chain(crf, found), 0
    for row, length in enumerate(found.lengths.tolist()):
        own = slice(start, start + length)
        alone = Corpus(found.keys[own], found.vectors[own], found.tags[own], np.array([length]))
        torch.testing.assert_close(chain(crf, alone).emissions[0], together.emissions[row, :length])
        assert not together.emissions[row, length:].any()
        start += length


@given(st.lists(st.lists(st.integers(-5, 120), min_size=1, max_size=4), min_size=1, max_size=5))
def test_whatever_the_features_the_scores_are_numbers(tokens: list[list[int]]) -> None:
    keys = np.array([token[0] for token in tokens])[:, None]
    found = Corpus(keys, np.zeros((len(keys), 0)), keys[:, 0], np.array([len(keys)]))
    assert bool(chain(fitted(), found).emissions.isfinite().all())


@pytest.mark.parametrize("assign", [False, True])
def test_a_crf_that_was_saved_or_copied_answers_the_same(assign: bool) -> None:
    found = examples(5, dim=DIM)
    copied = model(dim=DIM)
    before = chain(copied, found)  # its table of features is made, and has to be made again
    assert not before.emissions.any()
    copied.load_state_dict(fitted(DIM).state_dict(), assign=assign)
    assert torch.equal(chain(copied, found).emissions, chain(fitted(DIM), found).emissions)
    assert torch.equal(chain(deepcopy(copied), found).emissions, chain(copied, found).emissions)


def test_the_same_corpus_gives_the_same_weights_to_the_last_bit() -> None:
    again = fitted.__wrapped__(DIM)
    for name, tensor in fitted(DIM).state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name])


@pytest.mark.parametrize("case", ["plain", "weights of tags"])
def test_weights_are_the_same_however_features_are_grouped(case: str) -> None:
    found = replace(examples(count=30, dim=DIM), values=np.array([2.0, 0.5]))
    tag_weights = torch.tensor([0.5, 1.0, 2.0]) if case == "weights of tags" else None
    fitted_ = []
    for groups in [(slice(None),), (slice(0, 1), slice(1, 2))]:
        crf = model(dim=DIM, weights=20)  # not all pairs of a feature and a tag have one
        fit(crf, found.grouped(*groups), tag_weights, math.inf, untold)
        fitted_.append(crf.state_dict())
    for name, tensor in fitted_[0].items():
        torch.testing.assert_close(tensor, fitted_[1][name], atol=1e-5, rtol=1e-5)
    assert fitted_[0]["weights"].all()


def test_what_a_batch_is_learnt_from_grows_with_distinct_values_and_not_with_tokens() -> None:
    found, sizes = examples(), []
    for times in (1, 5):
        crf = model()
        many = replace(
            found,
            keys=np.tile(found.keys, (times, 1)),
            vectors=np.tile(found.vectors, (times, 1)),
            tags=np.tile(found.tags, times),
            lengths=np.tile(found.lengths, times),
        ).grouped()
        crf.place(*_pairs(many, TAGS, len(crf.keys)))
        (block,) = make_blocks(crf, many, torch.from_numpy(many.vectors), None)
        sizes.append((len(block.entries), block.rows))
        tokens = sum(int(batch.mask.sum()) for batch in block.batches)
        assert tokens == times * int(found.lengths.sum())
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("tokens", [1, 11, 1000])
@pytest.mark.parametrize("sentences", [1, 5])
def test_weights_are_the_same_in_batches_and_blocks_of_any_size(
    monkeypatch: pytest.MonkeyPatch, sentences: int, tokens: int
) -> None:
    monkeypatch.setattr(feature_crf_blocks, "_SENTENCES", sentences)
    monkeypatch.setattr(feature_crf_blocks, "_MAX_SCORES", tokens * TAGS)
    crf, found = model(dim=DIM), examples(dim=DIM).grouped()
    crf.place(*_pairs(found, TAGS, len(crf.keys)))
    blocks = make_blocks(crf, found, torch.from_numpy(found.vectors), None)
    # (batch x time,) tokens, of which a block with more than one batch has no more.
    sizes = [[batch.mask.numel() for batch in block.batches] for block in blocks]
    assert all(len(size) == 1 or sum(size) <= tokens for size in sizes)
    assert sum(len(batch.mask) for block in blocks for batch in block.batches) == 12
    assert (len(blocks) == 1) == (tokens == 1000)
    fit(crf, examples(dim=DIM).grouped(), None, math.inf, untold)
    for name, tensor in fitted(DIM).state_dict().items():
        torch.testing.assert_close(tensor, crf.state_dict()[name], atol=1e-5, rtol=1e-5)


def test_a_corpus_of_one_tag_is_learnt_too() -> None:
    crf, found = FeatureCrf(weights=50, tags=1, dim=0), examples()
    fit(crf, replace(found, tags=np.zeros_like(found.tags)).grouped(), None, math.inf, untold)
    assert bool(torch.isfinite(crf.weights).all())


@pytest.mark.parametrize(
    ("evaluations", "is_kept"), [(0, False), (2, False), (19, False), (20, True)]
)
def test_a_search_that_time_ends_within_a_few_steps_leaves_no_weights(
    monkeypatch: pytest.MonkeyPatch, evaluations: int, is_kept: bool
) -> None:
    calls = iter(range(1000))  # the first one is before the search, then one for each evaluation
    monkeypatch.setattr(optimizers.time, "monotonic", lambda: float(next(calls)))
    crf = model(dim=DIM)
    assert not crf.is_fitted
    fit(crf, examples(30, dim=DIM).grouped(), None, evaluations + 0.5, untold)
    assert crf.is_fitted == is_kept
    assert bool(crf.transitions.any()) == is_kept


@pytest.mark.parametrize("factor", [1e-42, 1e-20, 0, 1e18])
def test_weights_of_vectors_of_any_length_are_numbers(factor: float) -> None:
    found = examples(5, dim=DIM)
    crf = model(dim=DIM)
    fit(crf, replace(found, vectors=found.vectors * factor).grouped(), None, math.inf, untold)
    for name, tensor in crf.state_dict().items():
        assert bool(tensor.isfinite().all()), name


WIDTH = 3


def drawn(count: int, seed: int = 0) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(count, WIDTH))).float()


def found(vectors: Tensor, *sizes: int) -> VectorClusters:
    clusters = VectorClusters(sizes=sizes, dim=vectors.shape[1])
    clusters.find(vectors)
    return clusters


def test_each_vector_belongs_to_the_centroid_that_is_nearest_to_its_direction() -> None:
    clusters, vectors = found(drawn(40), 3, 5), drawn(20, seed=1)
    numbers = clusters.numbers(vectors)
    assert numbers.shape == (20, 2)
    for row, vector in zip(numbers, vectors.double(), strict=True):
        for number, kind in zip(row, clusters.centroids.split([3, 5]), strict=True):
            away = [float((vector / vector.norm() - one).norm()) for one in kind]
            assert number == 1 + away.index(min(away))


def test_centroids_are_the_means_of_the_directions_nearest_to_them() -> None:
    vectors = drawn(60)
    clusters = found(vectors, 4)
    of_each = clusters.numbers(vectors)[:, 0]
    for number in range(1, 5):
        own = torch.nn.functional.normalize(vectors[of_each == number], dim=1)
        torch.testing.assert_close(clusters.centroids[number - 1], own.mean(0))


def test_words_that_are_used_alike_are_in_one_cluster() -> None:
    directions = torch.eye(WIDTH).repeat_interleave(5, 0)  # (15, 3): five words a direction
    vectors = (directions + 0.1 * drawn(15)) * torch.arange(1, 16).unsqueeze(1)  # of any length
    numbers = found(vectors, 3).numbers(vectors)[:, 0]
    assert [len(set(numbers[start : start + 5])) for start in (0, 5, 10)] == [1, 1, 1]
    assert len(set(numbers)) == 3


def test_a_word_without_a_vector_is_in_no_cluster() -> None:
    vectors = torch.cat((torch.zeros(1, WIDTH), drawn(10)))
    numbers = found(vectors, 2, 4).numbers(vectors)
    assert numbers[0].tolist() == [0, 0]
    assert (numbers[1:] > 0).all()


@given(st.lists(st.integers(0, 29), min_size=1, max_size=8))
def test_a_vector_has_the_same_numbers_alone_and_among_others(rows: list[int]) -> None:
    clusters, vectors = found(drawn(30), 4, 7), drawn(30)
    together = clusters.numbers(vectors[rows])
    for row, own in zip(rows, together, strict=True):
        assert clusters.numbers(vectors[[row]])[0].tolist() == own.tolist()


def test_what_is_in_the_table_beside_words_does_not_count() -> None:
    vectors = drawn(30)
    with_zeros = torch.cat((torch.zeros(1, WIDTH), vectors, torch.zeros(3, WIDTH)))
    twice = torch.cat((vectors, vectors))
    for other in (with_zeros, twice):
        torch.testing.assert_close(found(other, 4).centroids, found(vectors, 4).centroids)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_of_fewer_vectors_than_clusters_each_has_its_own(count: int) -> None:
    vectors = drawn(count)
    numbers = found(vectors, 5).numbers(vectors)[:, 0]
    assert len(set(numbers)) == count
    assert found(vectors, 5).centroids.isfinite().all()


def test_centroids_that_are_loaded_or_found_anew_are_those_that_count() -> None:
    one, other, vectors = found(drawn(50), 8), found(drawn(50, seed=3), 8), drawn(50, seed=1)
    expected = other.numbers(vectors)
    assert (one.numbers(vectors) != expected).any()
    one.load_state_dict(other.state_dict())
    assert (one.numbers(vectors) == expected).all()
    one.find(drawn(50))
    assert (one.numbers(vectors) == found(drawn(50), 8).numbers(vectors)).all()


def test_vectors_of_one_direction_and_any_length_are_the_same_word_to_it() -> None:
    vectors = drawn(20)
    scaled = torch.cat((vectors, vectors * 3, vectors / 7))
    torch.testing.assert_close(found(scaled, 4).centroids, found(vectors, 4).centroids)
    assert (found(vectors, 4).numbers(vectors) == found(vectors, 4).numbers(vectors * 3)).all()


def test_nothing_is_random() -> None:
    before = torch.get_rng_state()
    assert torch.equal(found(drawn(50), 8).centroids, found(drawn(50), 8).centroids)
    assert torch.equal(torch.get_rng_state(), before)
