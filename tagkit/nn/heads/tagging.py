"""Heads of a tagger: from hidden states to emissions, a loss, and a path of tags.

    softmax  p(y | x) = product of p(y[t] | x): each token's best tag by itself
             (Jurafsky and Martin, "RNNs and LSTMs", section on sequence labeling)
    viterbi  softmax with a bigram model of the tags, estimated from the training tags, in the
             manner of hybrid networks: p(x[t] | y) is proportional to p(y | x[t]) / p(y)
             (Bourlard and Morgan 1994), so the best path maximises
             sum of log p(y[t] | x) + log p(y[t] | y[t-1]) - log p(y[t])
    crf      p(y | x) = exp(score(y) - log partition), the score of `chain.py`
             (Lafferty et al. 2001; Huang et al. 2015; Lample et al. 2016)

Every head has `loss(states, mask, targets) -> (sum, count)`, a sum and a count because those stay
exact under accumulation, `decode(states, mask)`, and `chain(states, mask)`, whose forward-backward
gives marginals.
"""

from dataclasses import dataclass
from itertools import chain

import torch
import torchcrf
from torch import Tensor, nn

from tagkit.nn.crf.chain import Chain, path_score, viterbi
from tagkit.nn.crf.partition import log_partition
from tagkit.nn.crf.weighted_loss import weighted_loss


@dataclass(frozen=True, slots=True)
class StepScores:
    """Scores of steps between tags, whether learnt, estimated, or 0 and minus infinity.

    Attributes:
        transitions: (tags before, tags after).
        start: (tags,).
        end: (tags,).
    """

    transitions: Tensor
    start: Tensor
    end: Tensor


class Head(nn.Module):
    """What the heads share: a linear layer, and steps that are forbidden in decoding."""

    illegal_transitions: Tensor
    illegal_start: Tensor
    illegal_end: Tensor
    tag_weights: Tensor | None

    def __init__(self, *, inputs: int, tags: int, illegal: StepScores) -> None:
        """`illegal` holds minus infinity where a step is forbidden, else 0."""
        super().__init__()
        self.linear = nn.Linear(inputs, tags)
        nn.init.xavier_uniform_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)
        # Not saved: they follow from the tags and the configuration.
        self.register_buffer("illegal_transitions", illegal.transitions, persistent=False)
        self.register_buffer("illegal_start", illegal.start, persistent=False)
        self.register_buffer("illegal_end", illegal.end, persistent=False)
        # Of each gold tag in the loss; None where all weigh the same.
        self.register_buffer("tag_weights", None, persistent=False)

    def chain(self, states: Tensor, mask: Tensor) -> Chain:
        """Scores of all paths, forbidden ones at minus infinity.

        Args:
            states: (batch, time, inputs).
            mask: (batch, time) bool, True on real tokens.
        """
        raise NotImplementedError

    def loss(self, states: Tensor, mask: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Negative log-likelihood in nats, summed, and the number of tokens.

        Args:
            states: (batch, time, inputs).
            mask: (batch, time) bool, True on real tokens.
            targets: (batch, time) int64 tag ids, any valid id on padding.
        """
        raise NotImplementedError

    def decode(self, states: Tensor, mask: Tensor) -> Tensor:
        """The best path, (batch, time) int64, 0 on padding."""
        return viterbi(self.chain(states, mask))[0]

    def _constrained(self, emissions: Tensor, mask: Tensor, steps: StepScores) -> Chain:
        return Chain(
            emissions,
            steps.transitions + self.illegal_transitions,
            steps.start + self.illegal_start,
            steps.end + self.illegal_end,
            mask,
        )


class SoftmaxHead(Head):
    """Each token's tag by itself."""

    def chain(self, states: Tensor, mask: Tensor) -> Chain:
        """Log probabilities of each token, and steps that are free or forbidden."""
        log_probs = torch.log_softmax(self.linear(states), dim=2)
        free = log_probs.new_zeros(())
        return self._constrained(log_probs, mask, StepScores(free, free, free))

    def loss(self, states: Tensor, mask: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Cross-entropy, summed over tokens, and their number."""
        scores = self.linear(states[mask])
        total = nn.functional.cross_entropy(
            scores, targets[mask], weight=self.tag_weights, reduction="sum"
        )
        return total, mask.sum()

    def decode(self, states: Tensor, mask: Tensor) -> Tensor:
        """The best tag of each token; a best path only where steps are forbidden."""
        # The start too: of B and I alone, every step is legal, but no sentence begins with I.
        steps = (self.illegal_transitions, self.illegal_start, self.illegal_end)
        if any(bool(torch.isinf(scores).any()) for scores in steps):
            return super().decode(states, mask)
        best: Tensor = self.linear(states).argmax(2)
        return best.masked_fill(~mask, 0)


class ViterbiHead(SoftmaxHead):
    """Softmax, decoded with a bigram model of the tags."""

    bigram_transitions: Tensor
    bigram_start: Tensor
    bigram_end: Tensor

    def __init__(self, *, inputs: int, tags: int, illegal: StepScores, bigrams: StepScores) -> None:
        """`bigrams` as `estimate_bigrams` gives them."""
        super().__init__(inputs=inputs, tags=tags, illegal=illegal)
        self.register_buffer("bigram_transitions", bigrams.transitions)
        self.register_buffer("bigram_start", bigrams.start)
        self.register_buffer("bigram_end", bigrams.end)

    def chain(self, states: Tensor, mask: Tensor) -> Chain:
        """Log probabilities of each token, and the bigrams' scores."""
        log_probs = torch.log_softmax(self.linear(states), dim=2)
        steps = StepScores(self.bigram_transitions, self.bigram_start, self.bigram_end)
        return self._constrained(log_probs, mask, steps)

    def decode(self, states: Tensor, mask: Tensor) -> Tensor:
        """The best path under both models."""
        return viterbi(self.chain(states, mask))[0]


class CrfHead(Head):
    """A conditional random field; pytorch-crf holds its parameters."""

    def __init__(
        self, *, inputs: int, tags: int, illegal: StepScores, constrain_training: bool
    ) -> None:
        """`constrain_training`: forbidden paths have no part in the log-partition either."""
        super().__init__(inputs=inputs, tags=tags, illegal=illegal)
        self.crf = torchcrf.CRF(tags, batch_first=True)
        self.constrain_training = constrain_training

    def chain(self, states: Tensor, mask: Tensor) -> Chain:
        """Emissions and learnt transitions."""
        return self._constrained(self.linear(states), mask, self._steps())

    def loss(self, states: Tensor, mask: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Log-partition minus the gold path's score, summed over sentences; number of tokens.

        Where tags have weights, the sum of `weighting.py`.
        """
        steps = self._steps()
        chain = Chain(self.linear(states), steps.transitions, steps.start, steps.end, mask)
        allowed = self.chain(states, mask) if self.constrain_training else chain
        if self.tag_weights is not None:
            return weighted_loss(allowed, targets, self.tag_weights).sum(), mask.sum()
        return (log_partition(allowed) - path_score(chain, targets)).sum(), mask.sum()

    def _steps(self) -> StepScores:
        crf = self.crf
        return StepScores(crf.transitions, crf.start_transitions, crf.end_transitions)


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
    edge = tags  # one more state, before the first and behind the last token
    counts = torch.full((tags + 1, tags + 1), smoothing, dtype=torch.float64)
    counts[edge, edge] = 0
    # The edge behind one sentence is the one before the next: its step to itself counts none.
    steps = torch.tensor([edge, *chain.from_iterable([*path, edge] for path in tag_ids)])
    counts.index_put_((steps[:-1], steps[1:]), torch.ones(1).double(), accumulate=True)
    log_probs = (counts / counts.sum(1, keepdim=True)).log()
    unigrams = counts[:, :tags].sum(0)
    prior = (unigrams / unigrams.sum()).log()
    scores = (log_probs[:, :tags] - prior).float()
    return StepScores(scores[:tags], scores[edge], log_probs[:tags, edge].float())
