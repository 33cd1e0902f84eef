"""Beam search: the best sequences of tags where each tag depends on all tags before it.

With such a model no dynamic programming finds the best path, as no two beginnings have the same
continuations. A beam keeps the best few beginnings, hypotheses, at each token (Jurafsky and Martin,
section on beam search in the chapter on machine translation; Goodfellow, Bengio and Courville,
section 10.2.4, on outputs that are conditioned on the outputs before). A beam of 1 is greedy
search; one as large as the number of paths is exhaustive.

All sentences of a batch, and all hypotheses of each, take a step together. The hypotheses of a beam
also say how probable the tags and spans of a path are (`beam_confidence`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import pad

from tagkit.nn.crf.confidence import PathConfidence

_Floats = npt.NDArray[np.float64]


class Advance(Protocol):
    """A model that is read step by step; it keeps the state of each hypothesis."""

    def __call__(self, time: int, tags: Tensor | None, parents: Tensor) -> Tensor:
        """Log probabilities of the tags at token `time`, (batch, hypotheses, tags).

        Args:
            time: number of the token; every token is asked for once, in order.
            tags: (batch, hypotheses) at the token before; None at the first token.
            parents: (batch, hypotheses) of each, the number of the hypothesis of the call before
                that it continues; zeros at the first token.
        """


@dataclass(frozen=True, slots=True)
class BeamStep:
    """One step of the search. On padding hypotheses stay as they are, with tag 0.

    Attributes:
        before: (batch, hypotheses) float64 log probability of each before the step.
        log_probs: (batch, hypotheses, tags) of each tag after each hypothesis.
        scores: (batch, kept) float64 log probability of each that was kept; minus infinity where
            there are fewer than were to be kept.
        tags: (batch, kept) that was added.
        parents: (batch, kept) number of the hypothesis that it was added to.
    """

    before: Tensor
    log_probs: Tensor
    scores: Tensor
    tags: Tensor
    parents: Tensor


def beam_steps(
    advance: Advance, mask: Tensor, beam: int, kept_path: Tensor | None = None
) -> Iterator[BeamStep]:
    """The steps of a search, one for each token; the best hypothesis is the first.

    Args:
        advance: the model.
        mask: (batch, time) bool, True on real tokens.
        beam: how many hypotheses are kept.
        kept_path: (batch, time) a path that is hypothesis 0 throughout, whatever its score; 0 on
            padding. None for none.
    """
    batch, time = mask.shape
    scores = torch.zeros(batch, 1, dtype=torch.float64, device=mask.device)
    parents = torch.zeros(batch, 1, dtype=torch.int64, device=mask.device)
    tags = None
    for t in range(time):
        log_probs = advance(t, tags, parents)  # (batch, hypotheses, tags)
        size = log_probs.shape[2]
        # In float64: sums over a long sentence would lose the digits in which two paths differ.
        grown = scores.unsqueeze(2) + log_probs.double()
        # Where there is no token, a hypothesis grows by tag 0 alone, and its score stays.
        stays = torch.full_like(grown, -torch.inf)
        stays[:, :, 0] = scores
        grown = torch.where(mask[:, t, None, None], grown, stays)
        # A place of a hypothesis that does not exist has no log probabilities, perhaps NaN.
        grown = grown.masked_fill(torch.isneginf(scores).unsqueeze(2), -torch.inf)
        before, width = scores, min(beam, grown[0].numel())
        if kept_path is None:
            scores, place = grown.flatten(1).topk(width, dim=1)
        else:
            path = kept_path[:, t, None]  # (batch, 1), also its place among those of hypothesis 0
            score = grown[:, 0].gather(1, path)
            others = grown.flatten(1).scatter(1, path, -torch.inf)
            best, places = others.topk(width - 1, dim=1)
            scores, place = torch.cat((score, best), 1), torch.cat((path, places), 1)
        parents = torch.div(place, size, rounding_mode="floor")
        tags = place - parents * size
        yield BeamStep(before, log_probs, scores, tags, parents)


def beam_search(advance: Advance, mask: Tensor, beam: int, count: int) -> tuple[Tensor, Tensor]:
    """The best paths that a beam finds, the best first, and their log probabilities.

    Args:
        advance: the model.
        mask: (batch, time) bool, True on real tokens.
        beam: how many hypotheses are kept.
        count: how many paths to return, at most `beam`.

    Returns:
        (batch, count, time) int64, 0 on padding, and (batch, count) float64, minus infinity where
        there is no further path.
    """
    tags, parents, scores = [], [], torch.empty(0)
    for step in beam_steps(advance, mask, beam):
        tags.append(step.tags)
        parents.append(step.parents)
        scores = step.scores
    found = min(count, scores.shape[1])
    scores = scores[:, :found]
    # Traced back from the last step: (batch, found), which hypothesis each path goes through.
    place = torch.arange(found, device=mask.device).expand(len(mask), found)
    columns = []
    for added, origin in zip(reversed(tags), reversed(parents), strict=True):
        columns.append(added.gather(1, place))
        place = origin.gather(1, place)
    paths = torch.stack(columns[::-1], dim=2).masked_fill(~mask.unsqueeze(1), 0)
    missing = (0, count - found)
    return pad(paths, (0, 0, *missing)), pad(scores, missing, value=-torch.inf)


def path_log_probs(advance: Advance, mask: Tensor, paths: Tensor) -> Tensor:
    """Log probabilities of given paths, (batch, count) float64.

    Args:
        advance: the model.
        mask: (batch, time) bool, True on real tokens.
        paths: (batch, count, time) int64 tag ids, any valid ones on padding.
    """
    batch, count, _ = paths.shape
    total = torch.zeros(batch, count, dtype=torch.float64, device=mask.device)
    first = torch.zeros_like(paths[:, :1, 0])  # all paths continue one beginning
    parents = torch.arange(count, device=mask.device).expand(batch, count)
    tags, origin = None, first
    for t, here in enumerate(paths.unbind(2)):  # (batch, count) each
        # (batch, 1, tags) at the first token, (batch, count, tags) after it
        log_probs = advance(t, tags, origin).double().expand(batch, count, -1)
        added = log_probs.gather(2, here.unsqueeze(2)).squeeze(2)
        total += added.masked_fill(~mask[:, t, None], 0)
        tags, origin = here, first.expand(batch, count) if t == 0 else parents
    return total


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


# How probable the tags and spans of a path are, where each tag depends on all tags before it.
#
#     p(y[t] = k | x) = sum over beginnings b of p(b | x) p(y[t] = k | b, x)
#
# Each factor is normalised by itself, so no later token changes this sum: it needs no backward
# pass. There are too many beginnings for it. It is taken over those that a beam keeps, with their
# probabilities divided by their sum, so that it is exact where the beam holds all of them, and an
# approximation elsewhere. Its error is what the dropped beginnings would say otherwise: those that
# were kept are the most probable, and each of them gives a whole distribution of the next tag. The
# path itself is always among them.
#
# A span's probability is a product of such sums, each over the beginnings that have the span's tags
# so far:
#
#     p(span) = p(first tag) * product of p(tag | the span's tags before it)
#               * p(the span ends | them)
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
        """The product that stands above this class."""
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
