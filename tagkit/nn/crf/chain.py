"""Linear chains of tags: path scores, forward-backward, marginals, best path.

The score of a path y through emissions e and transitions w is
    start[y0] + sum over t of e[t, y[t]] + sum over t > 0 of w[y[t-1], y[t]] + end[y[last]]
(Lafferty et al. 2001; Jurafsky and Martin, "Sequence Labeling for Parts of Speech and Named
Entities", section on CRFs). Log-partition and marginals are the forward-backward algorithm
(Rabiner 1989), the best path the Viterbi algorithm (the same chapter, figure "Viterbi algorithm").

A forbidden step is a transition (or start, or end) of minus infinity.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

# Stands for minus infinity where a difference of two infinities would be NaN.
NEVER = -1e12


@dataclass(frozen=True, slots=True)
class Chain:
    """Scores of all paths of a batch of sentences.

    Attributes:
        emissions: (batch, time, tags) score of each tag at each token.
        transitions: (tags before, tags after) score of each step.
        start: (tags,) score of beginning with a tag.
        end: (tags,) score of ending with a tag.
        mask: (batch, time) bool, True on real tokens; True throughout column 0.
    """

    emissions: Tensor
    transitions: Tensor
    start: Tensor
    end: Tensor
    mask: Tensor

    def cpu(self) -> "Chain":
        """The same scores on the CPU, where small steps cost no launches."""
        return Chain(
            self.emissions.cpu(),
            self.transitions.cpu(),
            self.start.cpu(),
            self.end.cpu(),
            self.mask.cpu(),
        )


@dataclass(frozen=True, slots=True)
class Messages:
    """What the forward-backward algorithm knows of each token, in logarithms, float64.

    Attributes:
        alpha: (batch, time, tags) log sum of all paths up to and with this tag.
        beta: (batch, time, tags) log sum of all paths behind this tag, without it.
        log_partition: (batch,) log sum of all paths.
    """

    alpha: Tensor
    beta: Tensor
    log_partition: Tensor


def path_score(chain: Chain, tag_ids: Tensor) -> Tensor:
    """Score of one given path per sentence.

    Args:
        chain: the scores.
        tag_ids: (batch, time) int64, the path; any valid id on padding.

    Returns:
        (batch,) unnormalised log score.
    """
    mask = chain.mask
    emitted = chain.emissions.gather(2, tag_ids.unsqueeze(2)).squeeze(2)
    stepped = chain.transitions[tag_ids[:, :-1], tag_ids[:, 1:]]
    last = tag_ids.gather(1, mask.sum(1, keepdim=True) - 1).squeeze(1)
    return (
        chain.start[tag_ids[:, 0]]
        + emitted.masked_fill(~mask, 0).sum(1)
        + stepped.masked_fill(~mask[:, 1:], 0).sum(1)
        + chain.end[last]
    )


def forward_backward(chain: Chain) -> Messages:
    """Messages of the forward-backward algorithm in logarithms: exact for scores of any size."""
    return log_messages(in_double(chain))


def marginals(chain: Chain) -> Tensor:
    """Probability of each tag at each token, (batch, time, tags); zeros on padding."""
    messages = forward_backward(chain)
    log_probs = messages.alpha + messages.beta - messages.log_partition[:, None, None]
    return log_probs.exp().masked_fill(~chain.mask.unsqueeze(2), 0)


def step_log_probs(chain: Chain, messages: Messages, tag_ids: Tensor) -> Tensor:
    """Log of P(next tag | this tag, sentence) for the steps out of each token of a path.

    Args:
        chain: the scores.
        messages: of the same chain.
        tag_ids: (batch, time) int64, the path.

    Returns:
        (batch, time - 1, tags) for each next tag.
    """
    here = tag_ids[:, :-1]
    stepped = chain.transitions.double()[here] + chain.emissions[:, 1:] + messages.beta[:, 1:]
    left = messages.beta[:, :-1].gather(2, here.unsqueeze(2))
    return stepped - left


def viterbi(chain: Chain) -> tuple[Tensor, Tensor]:
    """The best path of each sentence and its score.

    Returns:
        (batch, time) int64, 0 on padding, and (batch,) float64.
    """
    mask = chain.mask.cpu()
    whole = mask.all(0).tolist()
    # On a GPU each of these small steps would cost a launch: the scores come to the CPU at once.
    emissions, transitions, start, end = (
        part.detach().to("cpu", torch.float64)
        for part in (chain.emissions, chain.transitions, chain.start, chain.end)
    )
    # Tags first, sentences last: the largest over `before` is found along whole rows.
    scores = emissions.permute(1, 2, 0).clone(memory_format=torch.contiguous_format)
    steps = transitions.unsqueeze(2)
    # One for all steps: a new one of this size would be fetched from the system each time.
    ways = emissions.new_empty(len(start), len(start), len(mask))
    before, *rows = scores.unbind(0)
    before += start.unsqueeze(1)
    for t, row in enumerate(rows, 1):
        # (before, 1, batch) + (before, after, 1) -> best over `before`: (after, batch). Which one
        # it is, is asked in the trace alone, of one tag: the largest alone is found faster.
        row += torch.add(before.unsqueeze(1), steps, out=ways).amax(0)
        if not whole[t]:  # on padding, where there may be a NaN, the score stands still
            torch.where(mask[:, t], row, before, out=row)
        before = row
    total, last = (before + end.unsqueeze(1)).max(0)
    paths = _trace(scores, transitions, last, mask, whole)
    device = chain.mask.device
    return torch.from_numpy(paths).to(device), total.to(device)


def _trace(
    scores: Tensor, transitions: Tensor, last: Tensor, mask: Tensor, whole: list[bool]
) -> npt.NDArray[np.int64]:
    """Paths from the scores of their beginnings, back from the last tags.

    NumPy calls cost a quarter of torch's, which is what counts for arrays of this size.

    Args:
        scores: (time, tags, batch).
        transitions: (before, after).
        last: (batch,) the last tags.
        mask: (batch, time).
        whole: for each time, whether all sentences have a token there.
    """
    behind = scores.transpose(1, 2).contiguous().numpy()
    arriving = transitions.t().contiguous().numpy()
    there = mask.numpy()
    tag = last.numpy()
    paths = np.zeros(there.shape, dtype=np.int64)
    # Back over whole columns; a sentence's own trace begins at its last real token.
    paths[:, -1] = tag
    for t in range(len(behind) - 2, -1, -1):
        earlier = (behind[t] + arriving[tag]).argmax(1)
        tag = earlier if whole[t + 1] else np.where(there[:, t + 1], earlier, tag)
        paths[:, t] = tag
    paths[~there] = 0
    return paths


def in_double(chain: Chain) -> Chain:
    """The scores in float64, without their history, and zeros on padding."""
    return Chain(
        # What stands on padding must not matter, not even a NaN.
        chain.emissions.detach().double().masked_fill(~chain.mask.unsqueeze(2), 0),
        chain.transitions.detach().double(),
        chain.start.detach().double(),
        chain.end.detach().double(),
        chain.mask,
    )


# Sums of exponentials, for scores of any size.


def log_messages(chain: Chain) -> Messages:
    """As `forward_backward`, of a chain that is in float64 already."""
    emissions, mask = chain.emissions, chain.mask
    transitions, start, end = (
        scores.clamp(min=NEVER) for scores in (chain.transitions, chain.start, chain.end)
    )
    _, time, _ = emissions.shape
    alphas = [start + emissions[:, 0]]
    for t in range(1, time):
        # (batch, before, 1) + (before, after) -> (batch, before, after), then sum out `before`
        stepped = torch.logsumexp(alphas[-1].unsqueeze(2) + transitions, dim=1) + emissions[:, t]
        alphas.append(torch.where(mask[:, t].unsqueeze(1), stepped, alphas[-1]))
    betas = [end.expand_as(alphas[-1])]
    for t in range(time - 1, 0, -1):
        # (batch, 1, after) + (before, after) -> (batch, before, after), then sum out `after`
        ahead = (emissions[:, t] + betas[-1]).unsqueeze(1)
        stepped = torch.logsumexp(ahead + transitions, dim=2)
        betas.append(torch.where(mask[:, t].unsqueeze(1), stepped, betas[-1]))
    log_partition = torch.logsumexp(alphas[-1] + end, dim=1)
    return Messages(torch.stack(alphas, 1), torch.stack(betas[::-1], 1), log_partition)
