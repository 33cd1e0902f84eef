"""The viterbi head: bigrams of tags, and what they add in decoding."""

import itertools
import math

import pytest
import torch
from tag_heads import MASK, free, hidden_states, make_head
from torch import Tensor

from tagkit.nn.heads.softmax import SoftmaxHead
from tagkit.nn.heads.viterbi import ViterbiHead, estimate_bigrams


@pytest.fixture
def states() -> Tensor:
    return hidden_states()


@torch.no_grad()
def test_viterbi_maximises_log_probabilities_plus_bigram_scores(states: Tensor) -> None:
    head = make_head("viterbi", free(3))
    assert isinstance(head, ViterbiHead)
    log_probs = torch.softmax(head.linear(states), 2).log().tolist()
    bigrams, start, end = (
        part.tolist() for part in (head.bigram_transitions, head.bigram_start, head.bigram_end)
    )
    found = head.decode(states, MASK)
    plain = SoftmaxHead._decode(head, states, MASK)
    assert not torch.equal(found, plain)  # the bigrams do have a say
    for row, length in enumerate((4, 2)):

        def total(path: tuple[int, ...], row: int = row) -> float:
            emitted = sum(log_probs[row][t][tag] for t, tag in enumerate(path))
            stepped = sum(bigrams[a][b] for a, b in itertools.pairwise(path))
            return float(emitted + stepped + start[path[0]] + end[path[-1]])

        best = max(itertools.product(range(3), repeat=length), key=total)
        assert tuple(found[row].tolist()) == best + (0,) * (4 - length)


@torch.no_grad()
def test_the_viterbi_head_adds_bigrams_starts_and_ends_to_log_probabilities(
    states: Tensor,
) -> None:
    head = make_head("viterbi", free(3))
    assert isinstance(head, ViterbiHead)
    chain = head.chain(states, MASK)
    torch.testing.assert_close(chain.emissions, torch.log_softmax(head.linear(states), 2))
    assert torch.equal(chain.transitions, head.bigram_transitions)
    assert torch.equal(chain.start, head.bigram_start)
    assert torch.equal(chain.end, head.bigram_end)


def test_bigrams_are_ratios_of_counts() -> None:
    found = estimate_bigrams([[0, 1], [0, 0]], 2, smoothing=0.5)
    # counts + 0.5 of steps from tag 0: to 0, to 1, to the end; from 1; and from the start
    from_0, from_1, from_edge = [1.5, 1.5, 1.5], [0.5, 0.5, 1.5], [2.5, 0.5]
    seen = [1.5 + 0.5 + 2.5, 1.5 + 0.5 + 0.5]
    prior = [count / sum(seen) for count in seen]
    for before, row in enumerate((from_0, from_1)):
        for after in (0, 1):
            expected = math.log(row[after] / sum(row) / prior[after])
            assert float(found.transitions[before, after]) == pytest.approx(expected, abs=1e-6)
        assert float(found.end[before]) == pytest.approx(math.log(row[2] / sum(row)), abs=1e-6)
    for after in (0, 1):
        expected = math.log(from_edge[after] / sum(from_edge) / prior[after])
        assert float(found.start[after]) == pytest.approx(expected, abs=1e-6)
