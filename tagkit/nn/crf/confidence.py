"""How probable the tags and spans of a path are, from the messages of forward-backward.

A span is a run of tags with an end, so that its probability is a product along the chain:

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
from tagkit.nn.crf.scaled import (
    Array,
    Flags,
    Scaled,
    Scores,
    scaled_backward,
    scaled_forward,
    underflows,
)

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
            log P(tag | sentence): summed over a run after its first token's `probs`, the
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
    # In NumPy, whose calls cost a quarter of torch's; time first, as scores are computed.
    # Contiguous: these small arrays are read several times.
    paths, mask = (np.ascontiguousarray(part.cpu().numpy().T) for part in (tag_ids, chain.mask))
    next_ids = continuation.cpu().numpy().take(paths[:-1])  # (time - 1, batch)
    # Steps between two real tokens whose first has a tag that can be continued.
    within = (next_ids >= 0) & mask[1:]
    # An id must be valid even where nothing continues a span: that value is not used.
    found = _factors(chain, paths, np.maximum(next_ids, 0))
    # Rounding can put a certain tag a little above 1. Below 0 before `exp`, which would overflow
    # where the value has no meaning: on padding, and after a tag that no path has.
    probs = np.exp(np.minimum(found.here, 0))
    steps = np.concatenate([found.here[:1], found.taken])
    continued = np.zeros(paths.shape)  # no token follows the last one
    np.exp(np.minimum(found.continued, 0), out=continued[:-1], where=within)
    device = chain.mask.device
    # (time, batch) -> (batch, time)
    return SpanConfidence(
        *(torch.from_numpy(part.T.copy()).to(device) for part in (probs, steps, continued))
    )


@dataclass(frozen=True, slots=True)
class _LogFactors:
    """Logarithms of probabilities along a path; of any value on padding.

    Attributes:
        here: (time, batch) P(tag).
        taken: (time - 1, batch) P(the path's next tag | tag).
        continued: (time - 1, batch) P(another given tag next | tag).
    """

    here: Array
    taken: Array
    continued: Array


def _factors(chain: Chain, tag_ids: _Ids, next_ids: _Ids) -> _LogFactors:
    """For sentences that scaled products are right for with these, for the others in logarithms.

    Args:
        chain: the scores.
        tag_ids: (time, batch) paths.
        next_ids: (time - 1, batch) other tags that may follow.
    """
    scores = None if chain.emissions.is_cuda else Scores.of(chain)
    scaled = None if scores is None else scaled_forward(scores)
    if scores is None or scaled is None:
        return _log_factors(chain, tag_ids, next_ids)
    found, safe = _scaled_factors(scaled, tag_ids, next_ids)
    if not safe.all():
        rest = chain.rows(torch.from_numpy(~safe))
        exact = _log_factors(rest, tag_ids[:, ~safe], next_ids[:, ~safe])
        for part, replacement in (
            (found.here, exact.here), (found.taken, exact.taken),
            (found.continued, exact.continued),
        ):  # fmt: skip
            part[:, ~safe] = replacement
    return found


def _scaled_factors(scaled: Scaled, tag_ids: _Ids, next_ids: _Ids) -> tuple[_LogFactors, Flags]:
    """For paths (time, batch); also for which sentences they are right, (batch,) bool."""
    with np.errstate(all="ignore"):  # sentences that are not safe
        beta, incoming = scaled_backward(scaled)
        time, batch, tags = beta.shape
        # Places in the arrays as single numbers, by which NumPy takes values fastest.
        tokens = np.arange(0, time * batch * tags, tags).reshape(time, batch)
        places = tokens + tag_ids
        betas = beta.take(places)  # (time, batch)
        # p(y[t] | x) = alpha beta (Rabiner 1989, eq. 27)
        here = np.log(scaled.alpha.take(places) * betas)
        before = tag_ids[:-1] * tags
        # p(j | i, x) = w[i, j] e[t, j] beta[t, j] / beta[t-1, i]: each (time - 1, batch)
        taken, continued = (
            np.log(
                scaled.steps.stepped.take(before + after)
                * incoming.take(tokens[1:] + after)
                / betas[:-1]
            )
            for after in (tag_ids[1:], next_ids)
        )
        safe = scaled.safe & np.isfinite(here).all(0)
        if scaled.steps.constrained:
            safe &= ~underflows(beta)
    return _LogFactors(here, taken, continued), safe


def _log_factors(chain: Chain, paths: _Ids, next_ids: _Ids) -> _LogFactors:
    """As `_scaled_factors`, for scores of any size."""
    messages = forward_backward(chain)
    device = chain.emissions.device
    tag_ids, continuing = (torch.from_numpy(ids.T).to(device) for ids in (paths, next_ids))
    chosen = tag_ids.unsqueeze(2)  # (batch, time, 1), as `gather` needs it
    # log p(y[t] | x) = alpha + beta - log Z at the path's own tags (Rabiner 1989, eq. 27):
    # (batch, time, tags) at (batch, time, 1) -> (batch, time)
    both = messages.alpha.gather(2, chosen) + messages.beta.gather(2, chosen)
    steps = step_log_probs(chain, messages, tag_ids)  # (batch, time - 1, next tag)
    taken, continued = (
        steps.gather(2, after.unsqueeze(2)).squeeze(2) for after in (tag_ids[:, 1:], continuing)
    )
    here = both.squeeze(2) - messages.log_partition.unsqueeze(1)
    return _LogFactors(*(part.detach().cpu().numpy().T for part in (here, taken, continued)))
