"""Linear chains of tags: path scores, forward-backward, marginals, best path.

The score of a path y through emissions e and transitions w is
    start[y0] + sum over t of e[t, y[t]] + sum over t > 0 of w[y[t-1], y[t]] + end[y[last]]
(Lafferty et al. 2001; Jurafsky and Martin, "Sequence Labeling for Parts of Speech and Named
Entities", section on CRFs). Log-partition and marginals are the forward-backward algorithm
(Rabiner 1989, eqs. 19-21 and 24-25), the best path the Viterbi algorithm (eqs. 32-35; Jurafsky and
Martin, the same chapter, figure "Viterbi algorithm").

A forbidden step is a transition (or start, or end) of minus infinity.

Every public function checks a chain that it is passed; `checked` chains, which heads make, are
taken as they are.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tagkit.nn.padding import check_mask, zero_padding

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
        checked: whether the chain is known to be valid, so that `check` returns at once.
    """

    emissions: Tensor
    transitions: Tensor
    start: Tensor
    end: Tensor
    mask: Tensor
    checked: bool = False

    def check(self) -> None:
        """Raise unless shapes and dtypes are those above, and padding is on the right alone.

        Raises:
            ValueError: with what was found and what was expected.
        """
        if self.checked:
            return
        shape = self.emissions.shape
        if len(shape) != 3 or not shape[1]:
            raise ValueError(
                "emissions: expected shape (batch, time, tags), time at least 1, "
                f"found {tuple(shape)}"
            )
        if not self.emissions.dtype.is_floating_point:
            raise ValueError(
                f"emissions: expected a floating-point dtype, found {self.emissions.dtype}"
            )
        batch, time, tags = shape
        # Compared exactly, as broadcasting would score a chain of another size without an error.
        if self.transitions.shape != (tags, tags):
            raise _wrong_steps("transitions", self.transitions, (tags, tags))
        if self.start.shape != (tags,):
            raise _wrong_steps("start", self.start, (tags,))
        if self.end.shape != (tags,):
            raise _wrong_steps("end", self.end, (tags,))
        check_mask(self.mask, batch, time)

    def cpu(self) -> "Chain":
        """The same scores on the CPU, where small steps cost no launches."""
        return Chain(
            self.emissions.cpu(),
            self.transitions.cpu(),
            self.start.cpu(),
            self.end.cpu(),
            self.mask.cpu(),
            self.checked,
        )


def _wrong_steps(name: str, scores: Tensor, expected: tuple[int, ...]) -> ValueError:
    found = tuple(scores.shape)
    return ValueError(f"{name}: expected shape {expected} for {expected[0]} tags, found {found}")


@dataclass(frozen=True, slots=True)
class Messages:
    """Forward and backward messages of each token, in logarithms, float64.

    Attributes:
        alpha: (batch, time, tags) log sum over all paths up to this tag, which is included.
        beta: (batch, time, tags) log sum over all paths after this tag, which is excluded.
        log_partition: (batch,) log sum of all paths.
    """

    alpha: Tensor
    beta: Tensor
    log_partition: Tensor


def check_tag_ids(tag_ids: Tensor, mask: Tensor) -> None:
    """Raise unless `tag_ids` are int64 and of the mask's shape; their values are not checked.

    Raises:
        ValueError: they are not.
    """
    if tag_ids.shape != mask.shape:
        raise ValueError(
            f"tag ids: expected shape {tuple(mask.shape)}, found {tuple(tag_ids.shape)}"
        )
    if tag_ids.dtype != torch.int64:  # bool would index as a mask, not as ids
        raise ValueError(f"tag ids: expected torch.int64, found {tag_ids.dtype}")


def path_score(chain: Chain, tag_ids: Tensor) -> Tensor:
    """Score of one given path per sentence.

    Args:
        chain: the scores.
        tag_ids: (batch, time) int64, the path; any valid id on padding.

    Returns:
        (batch,) unnormalised log score.
    """
    chain.check()
    check_tag_ids(tag_ids, chain.mask)
    mask = chain.mask
    # (batch, time, tags) at (batch, time, 1) -> (batch, time)
    emitted = chain.emissions.gather(2, tag_ids.unsqueeze(2)).squeeze(2)
    # (tags, tags) at pairs of neighbours -> (batch, time - 1)
    stepped = chain.transitions[tag_ids[:, :-1], tag_ids[:, 1:]]
    # Right padding: the last token is at length - 1. -> (batch,)
    last = tag_ids.gather(1, mask.sum(1, keepdim=True) - 1).squeeze(1)
    # The equation at the top of the module, term by term: start, emissions, transitions, end.
    return (
        chain.start[tag_ids[:, 0]]
        + emitted.masked_fill(~mask, 0).sum(1)
        + stepped.masked_fill(~mask[:, 1:], 0).sum(1)
        + chain.end[last]
    )


def forward_backward(chain: Chain) -> Messages:
    """Messages of the forward-backward algorithm in logarithms: exact for scores of any size."""
    chain.check()
    return log_messages(in_double(chain))


def marginals(chain: Chain) -> Tensor:
    """Probability of each tag at each token, (batch, time, tags); zeros on padding."""
    messages = forward_backward(chain)
    # p(y[t] | x) = alpha beta / Z (Rabiner 1989, eq. 27): (batch, time, tags) - (batch, 1, 1)
    log_probs = messages.alpha + messages.beta - messages.log_partition[:, None, None]
    return zero_padding(log_probs.exp(), chain.mask)


def step_log_probs(chain: Chain, messages: Messages, tag_ids: Tensor) -> Tensor:
    """Log of P(next tag | this tag, sentence) for the steps out of each token of a path.

    Args:
        chain: the scores.
        messages: of the same chain.
        tag_ids: (batch, time) int64, the path.

    Returns:
        (batch, time - 1, tags) for each next tag.
    """
    chain.check()
    check_tag_ids(tag_ids, chain.mask)
    here = tag_ids[:, :-1]  # (batch, time - 1), the tags i that steps leave
    # p(j | i, x) = exp(w[i, j] + e[t, j] + beta[t, j]) / exp(beta[t-1, i]); the row of each i is
    # fetched from (before, after): (batch, time - 1) -> (batch, time - 1, after)
    stepped = chain.transitions.double()[here] + chain.emissions[:, 1:] + messages.beta[:, 1:]
    total = messages.beta[:, :-1].gather(2, here.unsqueeze(2))  # (batch, time - 1, 1)
    return stepped - total


def viterbi(chain: Chain) -> tuple[Tensor, Tensor]:
    """The best path of each sentence and its score.

    Returns:
        (batch, time) int64, 0 on padding, and (batch,) float64.
    """
    chain.check()
    # The mask decides what the loop below does, so it is needed on the CPU in any case.
    mask = chain.mask.cpu()
    if len(mask) == 1 and bool(mask.all()):
        return _viterbi_one(chain)
    # For each time, whether all sentences have a token there.
    whole = mask.all(0).tolist()
    # On a GPU each of these small steps would cost a kernel launch, so all scores are copied to the
    # CPU. In float64: sums over a long sentence would lose the digits in which two paths differ.
    emissions, transitions, start, end = (
        part.detach().to("cpu", torch.float64)
        for part in (chain.emissions, chain.transitions, chain.start, chain.end)
    )
    # Tags first, sentences last: the maximum over `before` is found along whole rows.
    # (batch, time, tags) -> (time, tags, batch)
    scores = emissions.permute(1, 2, 0).clone(memory_format=torch.contiguous_format)
    steps = transitions.unsqueeze(2)  # (before, after, 1), which broadcasts over sentences
    # (before, after, batch), one array for all steps: allocating this size each time would be slow.
    ways = emissions.new_empty(len(start), len(start), len(mask))
    # Rabiner's delta, eq. 32a at the first token, in logarithms: each row is (tags, batch).
    before, *rows = scores.unbind(0)
    before += start.unsqueeze(1)  # (tags, batch) + (tags, 1), in place: row 0 of `scores`
    for t, row in enumerate(rows, 1):
        # (before, 1, batch) + (before, after, 1) -> maximum over `before`: (after, batch).
        # Rabiner's eq. 33a, but no back pointers (eq. 33b) are kept: `_trace` finds the tag before
        # again, for one tag instead of all, and a maximum without its index is faster to compute.
        row += torch.add(before.unsqueeze(1), steps, out=ways).amax(0)
        if not whole[t]:  # on padding, where there may be a NaN, the score stays as it was
            torch.where(mask[:, t], row, before, out=row)
        before = row
    # Termination (eq. 34). Scores stay as they were on padding, so this row is that of each
    # sentence's last token: (tags, batch) + (tags, 1) -> maximum over tags: (batch,), twice.
    total, last = (before + end.unsqueeze(1)).max(0)
    paths = _trace(scores, transitions, last, mask, whole)
    device = chain.mask.device
    return torch.from_numpy(paths).to(device), total.to(device)


def _viterbi_one(chain: Chain) -> tuple[Tensor, Tensor]:
    """As `viterbi`, for one sentence without padding, in NumPy: the same sums, in the same order.

    NumPy's calls cost a quarter of torch's, and for one sentence the calls are all there is.
    """
    # (time, tags), (before, after), (tags,), (tags,)
    scores, transitions, start, end = (
        part.detach().to("cpu", torch.float64).numpy()
        for part in (chain.emissions[0], chain.transitions, chain.start, chain.end)
    )
    scores = scores.copy()
    before, *rows = scores
    before += start
    ways = np.empty_like(transitions)
    for row in rows:
        # (before, 1) + (before, after) -> maximum over `before`: (after,)
        row += np.add(before[:, None], transitions, out=ways).max(0)
        before = row
    ending = before + end
    tag = int(ending.argmax())
    path, total = [tag], ending[tag]
    arriving = np.ascontiguousarray(transitions.T)  # (after, before)
    for row in scores[-2::-1]:
        tag = int((row + arriving[tag]).argmax())
        path.append(tag)
    device = chain.mask.device
    return torch.tensor([path[::-1]], device=device), torch.tensor([total], device=device)


def _trace(
    scores: Tensor, transitions: Tensor, last: Tensor, mask: Tensor, whole: list[bool]
) -> npt.NDArray[np.int64]:
    """Paths from the best scores of their beginnings, traced back from the last tags.

    NumPy calls cost a quarter of torch's, which is what counts for arrays of this size.

    Args:
        scores: (time, tags, batch).
        transitions: (before, after).
        last: (batch,) the last tags.
        mask: (batch, time).
        whole: for each time, whether all sentences have a token there.
    """
    # (time, tags, batch) -> (time, batch, tags), and (before, after) -> (after, before): the tags
    # before come last, so that one sentence's candidates lie side by side.
    behind = scores.transpose(1, 2).contiguous().numpy()
    arriving = transitions.t().contiguous().numpy()
    there = mask.numpy()
    tag = last.numpy()
    paths = np.zeros(there.shape, dtype=np.int64)
    # Back over whole columns, from the last tag, which stays until the trace comes to a sentence's
    # last real token: there its own trace begins.
    paths[:, -1] = tag
    for t in range(len(behind) - 2, -1, -1):
        # Eq. 35: (batch, before) + the row of each sentence's tag, (batch, before) -> (batch,)
        earlier = (behind[t] + arriving[tag]).argmax(1)
        tag = earlier if whole[t + 1] else np.where(there[:, t + 1], earlier, tag)
        paths[:, t] = tag
    paths[~there] = 0
    return paths


def in_double(chain: Chain) -> Chain:
    """The scores in float64, without gradients, and zeros on padding, of a chain that is valid."""
    return Chain(
        # Padding must not matter, not even a NaN.
        zero_padding(chain.emissions.detach().double(), chain.mask),
        chain.transitions.detach().double(),
        chain.start.detach().double(),
        chain.end.detach().double(),
        chain.mask,
        checked=True,
    )


# Sums of exponentials, for scores of any size.


def log_messages(chain: Chain) -> Messages:
    """As `forward_backward`, for a chain of `in_double`."""
    emissions, mask = chain.emissions, chain.mask
    transitions, start, end = (
        # A row of which all is minus infinity would give inf - inf = NaN in `logsumexp`.
        scores.clamp(min=NEVER)
        for scores in (chain.transitions, chain.start, chain.end)
    )
    _, time, _ = emissions.shape
    # Forward (Rabiner 1989, eqs. 19 and 20), each (batch, tags).
    alphas = [start + emissions[:, 0]]
    for t in range(1, time):
        # (batch, before, 1) + (before, after) -> (batch, before, after), then sum out `before`
        stepped = torch.logsumexp(alphas[-1].unsqueeze(2) + transitions, dim=1) + emissions[:, t]
        # On padding alpha stays as it was: the last one is that of each sentence's last token.
        alphas.append(torch.where(mask[:, t].unsqueeze(1), stepped, alphas[-1]))
    # Backward (eqs. 24 and 25, with the end's scores for their ones).
    betas = [end.expand_as(alphas[-1])]  # (tags,) -> (batch, tags), from the last token back
    for t in range(time - 1, 0, -1):
        # (batch, 1, after) + (before, after) -> (batch, before, after), then sum out `after`
        ahead = (emissions[:, t] + betas[-1]).unsqueeze(1)
        stepped = torch.logsumexp(ahead + transitions, dim=2)
        betas.append(torch.where(mask[:, t].unsqueeze(1), stepped, betas[-1]))
    # Termination (eq. 21): (batch, tags) + (tags,), then sum out the last tag -> (batch,)
    log_partition = torch.logsumexp(alphas[-1] + end, dim=1)
    # `time` of (batch, tags) -> (batch, time, tags)
    return Messages(torch.stack(alphas, 1), torch.stack(betas[::-1], 1), log_partition)
