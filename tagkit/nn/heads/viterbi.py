"""The viterbi head: softmax, decoded with a bigram model of the tags.

The bigrams are estimated from the training tags, in the manner of hybrid networks: p(x[t] | y) is
proportional to p(y | x[t]) / p(y) (Bourlard and Morgan 1994), so the best path maximises

    sum of log p(y[t] | x) + log p(y[t] | y[t-1]) - log p(y[t])
"""

from itertools import chain
from typing import ClassVar

import torch
from torch import Tensor

from tagkit.nn.crf.chain import Chain, viterbi
from tagkit.nn.heads.softmax import SoftmaxHead
from tagkit.nn.heads.tag_space import StepScores, TagSpace


class ViterbiHead(SoftmaxHead):
    """Softmax, decoded with a bigram model of the tags."""

    constrained_by_default: ClassVar[bool] = True
    uses_bigrams: ClassVar[bool] = True

    bigram_transitions: Tensor
    bigram_start: Tensor
    bigram_end: Tensor

    def __init__(self, space: TagSpace) -> None:
        """`space.bigrams` are those of `estimate_bigrams`."""
        super().__init__(space)
        tags = space.tags
        bigrams = space.bigrams or StepScores(
            torch.zeros(tags, tags), torch.zeros(tags), torch.zeros(tags)
        )
        # Saved with the weights, as prediction does not have the training corpus to count them.
        self.register_buffer("bigram_transitions", bigrams.transitions)
        self.register_buffer("bigram_start", bigrams.start)
        self.register_buffer("bigram_end", bigrams.end)

    def _chain(self, states: Tensor, mask: Tensor) -> Chain:
        """Log probabilities of each token, and the bigrams' scores."""
        # (batch, time, inputs) -> (batch, time, tags), log p(y[t] | x)
        log_probs = torch.log_softmax(self.emissions(states), dim=2)
        steps = StepScores(self.bigram_transitions, self.bigram_start, self.bigram_end)
        return self._constrained(log_probs, mask, steps)

    def _decode(self, states: Tensor, mask: Tensor) -> Tensor:
        """The best path under both models."""
        # Unlike `SoftmaxHead` never each token's best tag alone: the bigrams score all steps, also
        # where none is forbidden.
        return viterbi(self._chain(states, mask))[0]


def estimate_bigrams(tag_ids: list[list[int]], tags: int, smoothing: float = 0.1) -> StepScores:
    """Bigram scores log p(tag | tag before) - log p(tag), sentence edges included.

    Counts divided by counts (Jurafsky and Martin, "Sequence Labeling for Parts of Speech and Named
    Entities", eq. for HMM transition probabilities), with `smoothing` added to each count. The
    score of an end is its log probability: it has no emission to divide out.

    Args:
        tag_ids: the training corpus's paths.
        tags: how many tags there are.
        smoothing: pseudo-count of each step.
    """
    edge = tags  # one more state, before the first token and after the last
    counts = torch.full((tags + 1, tags + 1), smoothing, dtype=torch.float64)
    counts[edge, edge] = 0  # no sentence is empty
    # All sentences as one walk, edge y y y edge y y edge: the edge after one sentence is the one
    # before the next, so that the walk's pairs are the counted steps, each once.
    steps = torch.tensor([edge, *chain.from_iterable([*path, edge] for path in tag_ids)])
    counts.index_put_((steps[:-1], steps[1:]), torch.ones(1).double(), accumulate=True)
    # (before, after): each row sums to 1 over what may follow, the edge among it.
    log_probs = (counts / counts.sum(1, keepdim=True)).log()
    # (tags + 1, tags) -> (tags,): how often each tag is stepped to is how often it occurs.
    unigrams = counts[:, :tags].sum(0)
    # p(tag), which turns p(y | x) into p(x | y) up to a factor that is the same for all tags.
    prior = (unigrams / unigrams.sum()).log()
    # log p(after | before) - log p(after), (tags + 1, tags): the last row is that of the start
    scores = (log_probs[:, :tags] - prior).float()
    return StepScores(scores[:tags], scores[edge], log_probs[:tags, edge].float())
