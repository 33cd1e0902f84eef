"""How probable the tags and spans of a path are, from the messages of forward-backward.

A span is a stretch of tags with an end, so that its probability is a product along the chain:

    p(span) = p(first tag | x) * product of p(tag | tag before, x)
              * (1 - p(the next tag continues it | last tag, x))

which is exact, as a chain is a Markov chain given x (Lafferty et al. 2001). Culotta and McCallum
2004 find the same number by a constrained forward pass for each span.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tagkit.nn.crf.chain import Chain, check_tag_ids
from tagkit.nn.crf.log_space import forward_backward, step_log_probs
from tagkit.nn.crf.scaled import Scaled, Scores, lost, scaled_backward, scaled_forward

_Ids = npt.NDArray[np.int64]
# exp(700) is about 1e304, still a float64; math.exp raises OverflowError from 710 on. Only weights
# far out of range give log probabilities above 0, and readers of the result report those.
_MAX_LOG_PROB = 700.0


@dataclass(frozen=True, slots=True)
class PathConfidence(ABC):
    """How probable the tags and spans of a batch's paths are.

    Attributes:
        probs: (batch, time) marginal probability of each token's tag.
    """

    probs: Tensor

    @abstractmethod
    def span_probs(self, row: int, spans: Sequence[tuple[int, int]]) -> list[float]:
        """Probability of each span of a path: of all sequences of tags that have just this span.

        Args:
            row: of the path.
            spans: first token of each, and the token after its last one.
        """


@dataclass(frozen=True, slots=True)
class SpanConfidence(PathConfidence):
    """Factors of the probabilities of a path's tags and spans, where tags are a Markov chain.

    Attributes:
        probs: (batch, time) marginal probability of each token's tag.
        step_log_probs: (batch, time) log P(tag | tag before, sentence), the first column
            log P(tag | sentence): summed over a stretch after its first token's `probs`, the
            probability of just these tags there.
        continuation_prob: (batch, time) probability that the next token continues this token's
            span, given this tag; 0 at the last token and where the tag itself says where its span
            ends.
    """

    step_log_probs: Tensor
    continuation_prob: Tensor

    def span_probs(self, row: int, spans: Sequence[tuple[int, int]]) -> list[float]:
        """P(first tag) x P(each further tag | the tag before) x P(the span ends here)."""
        # One tolist() each: reading a tensor number by number is a call of torch for each.
        probs = self.probs[row].tolist()
        steps = self.step_log_probs[row].tolist()
        continued = self.continuation_prob[row].tolist()
        return [
            probs[start]
            * math.exp(min(sum(steps[start + 1 : end]), _MAX_LOG_PROB))
            * (1 - continued[end - 1])
            for start, end in spans
        ]


def span_confidence(chain: Chain, tag_ids: Tensor, continuation: Tensor) -> SpanConfidence:
    """How probable paths are, tag by tag and step by step.

    Args:
        chain: the scores.
        tag_ids: (batch, time) int64 paths.
        continuation: (tags,) id of the tag that continues each tag's span, or -1 where the tag
            itself says where its span ends.
    """
    chain.check()
    check_tag_ids(tag_ids, chain.mask)
    next_ids = continuation[tag_ids[:, :-1]]  # (tags,) at (batch, time - 1) -> (batch, time - 1)
    # An id must be valid even where nothing continues a span: that value is masked below.
    factors = _factors(chain, tag_ids, next_ids.clamp(min=0))
    # Steps between two real tokens whose first has a tag that can be continued.
    within = chain.mask[:, 1:] & (next_ids >= 0)
    continued = factors.continued.exp().masked_fill(~within, 0)
    nothing = torch.zeros_like(factors.here[:, :1])  # (batch, 1): no token follows the last one
    return SpanConfidence(
        # Rounding can put a certain tag a little above 1.
        probs=factors.here.exp().clamp(max=1),
        # (batch, 1) and (batch, time - 1) -> (batch, time); below in the other order
        step_log_probs=torch.cat((factors.here[:, :1], factors.taken), dim=1),
        continuation_prob=torch.cat((continued, nothing), 1).clamp(max=1),
    )


@dataclass(frozen=True, slots=True)
class _Factors:
    """Logarithms of probabilities along a path; of any value on padding.

    Attributes:
        here: (batch, time) P(tag).
        taken: (batch, time - 1) P(the path's next tag | tag).
        continued: (batch, time - 1) P(another given tag next | tag).
    """

    here: Tensor
    taken: Tensor
    continued: Tensor


def _factors(chain: Chain, tag_ids: Tensor, next_ids: Tensor) -> _Factors:
    """For sentences that scaled products are right for with these, for the others in logarithms."""
    scores = None if chain.emissions.is_cuda else Scores.of(chain)
    scaled = None if scores is None else scaled_forward(scores)
    if scores is None or scaled is None:
        return _log_factors(chain, tag_ids, next_ids)
    found, safe = _scaled_factors(scores, scaled, tag_ids.numpy().T, next_ids.numpy().T)
    if not safe.all():
        exact = _log_factors(chain.rows(~safe), tag_ids[~safe], next_ids[~safe])
        for part, replacement in (
            (found.here, exact.here), (found.taken, exact.taken),
            (found.continued, exact.continued),
        ):  # fmt: skip
            part[~safe] = replacement
    return found


def _scaled_factors(
    scores: Scores, scaled: Scaled, tag_ids: _Ids, next_ids: _Ids
) -> tuple[_Factors, Tensor]:
    """For paths (time, batch); also for which sentences they are right, (batch,) bool."""
    with np.errstate(all="ignore"):  # sentences that are not safe
        beta, incoming = scaled_backward(scaled)
        tokens = np.arange(len(beta))[:, None]
        row = np.arange(beta.shape[1])
        betas = beta[tokens, row, tag_ids]  # (time, batch)
        # p(y[t] | x) = alpha beta (Rabiner 1989, eq. 27)
        here = np.log(scaled.alpha[tokens, row, tag_ids] * betas)
        before = tag_ids[:-1]
        # p(j | i, x) = w[i, j] e[t, j] beta[t, j] / beta[t-1, i]: each (time - 1, batch)
        taken, continued = (
            np.log(scaled.stepped[before, after] * incoming[tokens[1:], row, after] / betas[:-1])
            for after in (tag_ids[1:], next_ids)
        )
        safe = scaled.safe & np.isfinite(here).all(0)
        if scores.constrained:
            safe &= ~lost(beta)
    parts = (torch.from_numpy(part).t() for part in (here, taken, continued))
    return _Factors(*parts), torch.from_numpy(safe)


def _log_factors(chain: Chain, tag_ids: Tensor, next_ids: Tensor) -> _Factors:
    """As `_scaled_factors`, for scores of any size."""
    messages = forward_backward(chain)
    chosen = tag_ids.unsqueeze(2)  # (batch, time, 1), as `gather` needs it
    # log p(y[t] | x) = alpha + beta - log Z at the path's own tags (Rabiner 1989, eq. 27):
    # (batch, time, tags) at (batch, time, 1) -> (batch, time)
    both = messages.alpha.gather(2, chosen) + messages.beta.gather(2, chosen)
    steps = step_log_probs(chain, messages, tag_ids)  # (batch, time - 1, next tag)
    taken, continued = (
        steps.gather(2, after.unsqueeze(2)).squeeze(2) for after in (tag_ids[:, 1:], next_ids)
    )
    return _Factors(both.squeeze(2) - messages.log_partition.unsqueeze(1), taken, continued)
