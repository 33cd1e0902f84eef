"""How probable the tags and spans of a path are, where each tag depends on all tags before it.

    p(y[t] = k | x) = sum over beginnings b of p(b | x) p(y[t] = k | b, x)

Each factor is normalised by itself, so no later token changes this sum: it needs no backward pass.
There are too many beginnings for it. It is taken over those that a beam keeps, with their
probabilities divided by their sum, so that it is exact where the beam holds all of them, and an
approximation elsewhere. Its error is what the dropped beginnings would say otherwise: those that
were kept are the most probable, and each of them gives a whole distribution of the next tag. The
path itself is always among them.

A span's probability is a product of such sums, each over the beginnings that have the span's tags
so far:

    p(span) = p(first tag) * product of p(tag | the span's tags before it) * p(the span ends | them)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tagkit.nn.crf.confidence import PathConfidence
from tagkit.nn.search.beam import Advance, beam_steps

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Token:
    """The hypotheses before a token, and what they say of it.

    Attributes:
        scores: (batch, hypotheses) log probability of each.
        tags: (batch, hypotheses) tag that each ends with; None before the first token.
        parents: (batch, hypotheses) which hypothesis before the token before it continues.
        taken: (batch, hypotheses) probability of the path's tag here.
        continued: (batch, hypotheses) probability of the tag that continues the span of the path's
            tag before; 0 where there is none.
    """

    scores: _Floats
    tags: npt.NDArray[np.int64] | None
    parents: npt.NDArray[np.int64] | None
    taken: _Floats
    continued: _Floats


@dataclass(frozen=True, slots=True)
class BeamConfidence(PathConfidence):
    """Probabilities from the hypotheses of a beam.

    Attributes:
        tokens: the hypotheses before each token.
        lengths: (batch,) number of tokens.
        path: (batch, time) tag ids.
    """

    tokens: Sequence[_Token]
    lengths: Sequence[int]
    path: npt.NDArray[np.int64]

    def span_probs(self, row: int, spans: Sequence[tuple[int, int]]) -> list[float]:
        """The product that stands at the top of this module."""
        return [self._span_prob(row, start, end) for start, end in spans]

    def _span_prob(self, row: int, start: int, end: int) -> float:
        found = float(self.probs[row, start])
        has_span: npt.NDArray[np.bool_] | None = None  # hypotheses with the span's tags so far
        for t in range(start + 1, min(end + 1, self.lengths[row])):
            token = self.tokens[t]
            assert token.tags is not None
            assert token.parents is not None
            same = token.tags[row] == self.path[row, t - 1]
            has_span = same if has_span is None else same & has_span[token.parents[row]]
            # The path is among them, so that there is at least one; shares of the probability of
            # them all, from the difference to the best, as exp of a long path's score is 0.
            scores = np.where(has_span, token.scores[row], -np.inf)
            if np.isneginf(scores).all():  # a path that the scheme forbids
                return 0.0
            shares = np.exp(scores - scores.max())
            said = token.taken[row] if t < end else 1 - token.continued[row]
            found *= float(shares @ said / shares.sum())
        return min(found, 1.0)


def beam_confidence(
    advance: Advance, mask: Tensor, beam: int, path: Tensor, continuation: Tensor
) -> BeamConfidence:
    """Probabilities of the tags and spans of a path.

    Args:
        advance: the model.
        mask: (batch, time) bool, True on real tokens.
        beam: how many hypotheses are kept.
        path: (batch, time) int64 tag ids, 0 on padding.
        continuation: (tags,) id of the tag that continues each tag's span, or -1.
    """
    probs: list[Tensor] = []
    tokens: list[_Token] = []
    tags = parents = None
    for t, step in enumerate(beam_steps(advance, mask, beam, kept_path=path)):
        said = step.log_probs.double().exp()  # (batch, hypotheses, tags)
        # Places without a hypothesis hold no numbers.
        said = said.masked_fill(torch.isneginf(step.before).unsqueeze(2), 0)
        taken = _at(said, path[:, t])
        # (batch,) the tag that would continue the span of the path's tag before, or -1
        following = continuation[path[:, t - 1]] if t else torch.full_like(path[:, 0], -1)
        continued = _at(said, following.clamp(min=0)) * (following >= 0).unsqueeze(1)
        # (batch, hypotheses) shares of the beam, which sum to 1
        probs.append((torch.softmax(step.before, dim=1) * taken).sum(1).clamp(max=1))
        tokens.append(
            _Token(step.before.cpu().numpy(), tags, parents, _array(taken), _array(continued))
        )
        tags, parents = step.tags.cpu().numpy(), step.parents.cpu().numpy()
    return BeamConfidence(
        torch.stack(probs, dim=1).cpu(), tokens, mask.sum(1).tolist(), path.cpu().numpy()
    )


def _at(said: Tensor, tag: Tensor) -> Tensor:
    """(batch, hypotheses) the probabilities, (batch, hypotheses, tags), of a tag, (batch,)."""
    # the same tag for all hypotheses of a sentence: (batch,) -> (batch, hypotheses, 1)
    place = tag[:, None, None].expand(-1, said.shape[1], 1)
    return said.gather(2, place).squeeze(2)


def _array(values: Tensor) -> _Floats:
    found: _Floats = values.cpu().numpy()
    return found
