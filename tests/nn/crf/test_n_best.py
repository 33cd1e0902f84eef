"""The n best paths, few and many, against all paths."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tagkit.nn.crf.chain import Chain, path_score, viterbi
from tagkit.nn.crf.n_best import n_best
from tagkit.nn.crf.partition import log_partition


@pytest.fixture(params=[0, 10**9], ids=["by lists", "one by one"], autouse=True, scope="module")
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    """All paths are found in one of the two ways, however many."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tagkit.nn.crf.n_best._ONE_BY_ONE", request.param)
        yield


def drawn(seed: int, lengths: list[int], tags: int, forbidden: float) -> Chain:
    dice = torch.Generator().manual_seed(seed)
    time = max(lengths)

    def scores(*shape: int) -> torch.Tensor:
        return 2 * torch.randn(*shape, generator=dice)

    transitions = scores(tags, tags)
    transitions[torch.rand(tags, tags, generator=dice) < forbidden] = -torch.inf
    mask = torch.arange(time) < torch.tensor(lengths).unsqueeze(1)
    emissions = scores(len(lengths), time, tags).masked_fill(~mask.unsqueeze(2), torch.nan)
    return Chain(emissions, transitions, scores(tags), scores(tags), mask)


def all_paths(chain: Chain, row: int) -> list[tuple[float, tuple[int, ...]]]:
    """Every possible path with its score, the best one first."""
    length = int(chain.mask[row].sum())
    found = []
    for path in itertools.product(range(len(chain.start)), repeat=length):
        score = float(chain.start[path[0]] + chain.end[path[-1]])
        score += sum(float(chain.emissions[row, t, tag]) for t, tag in enumerate(path))
        score += sum(float(chain.transitions[a, b]) for a, b in itertools.pairwise(path))
        if score > -math.inf:
            found.append((score, path))
    return sorted(found, reverse=True)


@given(
    st.integers(0, 10_000),
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.integers(1, 3),
    st.integers(1, 9),
    st.sampled_from([0.0, 0.4]),
)
def test_the_paths_are_the_best_of_all(
    seed: int, lengths: list[int], tags: int, count: int, forbidden: float
) -> None:
    chain = drawn(seed, lengths, tags, forbidden)
    paths, scores = n_best(chain, count)
    assert paths.shape == (len(lengths), count, max(lengths))
    for row, length in enumerate(lengths):
        expected = all_paths(chain, row)[:count]
        for rank in range(count):
            score = float(scores[row, rank])
            if rank >= len(expected):
                assert score == -math.inf
                continue
            assert score == pytest.approx(expected[rank][0], abs=1e-4)
            assert tuple(paths[row, rank, :length].tolist()) == expected[rank][1]
            assert not paths[row, rank, length:].any()


def list_viterbi(chain: Chain, length: int, count: int) -> list[tuple[float, tuple[int, ...]]]:
    """The n best paths of a sentence, each tag keeping the n best ways to it."""
    tags = range(len(chain.start))
    emissions = chain.emissions[0].double()
    lists = [[(float(chain.start[tag] + emissions[0, tag]), (tag,))] for tag in tags]
    for t in range(1, length):
        before = [way for ways in lists for way in ways]
        lists = []
        for tag in tags:
            step = (chain.transitions[:, tag] + emissions[t, tag]).tolist()
            ways = [(score + step[path[-1]], (*path, tag)) for score, path in before]
            lists.append(sorted(ways, reverse=True)[:count])
    ended = [(s + float(chain.end[p[-1]]), p) for ways in lists for s, p in ways]
    return sorted(ended, reverse=True)[:count]


@pytest.mark.parametrize("seed", range(3))
def test_long_sentences_have_the_paths_of_list_viterbi(seed: int) -> None:
    chain = drawn(seed, [14], 6, 0.3)
    paths, scores = n_best(chain, 12)
    expected = list_viterbi(chain, 14, 12)
    torch.testing.assert_close(scores[0].float(), torch.tensor([score for score, _ in expected]))
    assert [tuple(path) for path in paths[0].tolist()] == [path for _, path in expected]


def test_paths_of_equal_scores_are_each_found_once() -> None:
    scores = torch.zeros(3)
    chain = Chain(torch.zeros(1, 3, 3), torch.zeros(3, 3), scores, scores, torch.ones(1, 3) > 0)
    paths, totals = n_best(chain, 30)
    assert sorted(map(tuple, paths[0, :27].tolist())) == [*itertools.product(range(3), repeat=3)]
    assert totals[0].tolist() == [0.0] * 27 + [-math.inf] * 3


@pytest.mark.parametrize("tokens", [1, 5])
def test_windows_of_any_number_of_tokens_give_the_same_paths(
    tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = drawn(5, [13, 1, 6, 12], 4, 0.2)
    whole = n_best(chain, 9)
    monkeypatch.setattr("tagkit.nn.crf.n_best._BYTES", tokens * 4 * 4 * 8)
    assert all(map(torch.equal, n_best(chain, 9), whole))


def test_scores_fall_and_are_those_of_their_paths() -> None:
    chain = drawn(6, [40, 17, 33], 5, 0.1)
    chain = replace(chain, emissions=chain.emissions.nan_to_num(0))
    paths, scores = n_best(chain, 60)
    assert bool((scores.diff(dim=1) <= 0).all())
    for rank in range(60):
        expected = path_score(chain, paths[:, rank]).double()
        torch.testing.assert_close(scores[:, rank], expected, atol=1e-4, rtol=0)
    assert len({tuple(path) for path in paths[0].tolist()}) == 60


def test_a_sentence_with_infinite_scores_leaves_the_others_as_they_are() -> None:
    chain = drawn(3, [3, 3], 3, 0.0)
    paths, scores = n_best(chain, 4)
    chain.emissions[0, 1, 1] = torch.inf  # of weights far out of range
    found, totals = n_best(chain, 4)
    assert torch.equal(found[1], paths[1])
    assert torch.equal(totals[1], scores[1])
    assert not bool(totals[0].isfinite().any())


def test_the_first_path_is_viterbis_and_all_paths_make_up_the_partition() -> None:
    chain = drawn(1, [3, 2], 3, 0.0)
    paths, scores = n_best(chain, 27)
    best, score = viterbi(chain)
    assert torch.equal(paths[:, 0], best)
    torch.testing.assert_close(scores[:, 0], score)
    total = torch.logsumexp(scores, dim=1)
    torch.testing.assert_close(total.float(), log_partition(chain))
    assert scores[1].isfinite().sum() == 9


def test_more_paths_than_there_are_cost_no_memory_and_are_minus_infinity() -> None:
    chain = drawn(3, [3, 2], tags=3, forbidden=0.0)
    few, few_scores = n_best(chain, 27)
    many, many_scores = n_best(chain, 10**5)
    assert many.shape == (2, 10**5, 3)
    assert torch.equal(many[:, :27], few)
    assert torch.equal(many_scores[:, :27], few_scores)
    assert bool((many_scores[:, 27:] == -torch.inf).all())
