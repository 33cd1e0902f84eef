"""Linear chains of tags: path scores and the best path.

The score of a path y through emissions e and transitions w is
    start[y0] + sum over t of e[t, y[t]] + sum over t > 0 of w[y[t-1], y[t]] + end[y[last]]
(Lafferty et al. 2001; Jurafsky and Martin, "Sequence Labeling for Parts of Speech and Named
Entities", section on CRFs). The best path is found by the Viterbi algorithm (Rabiner 1989,
eqs. 32-35; Jurafsky and Martin, the same chapter, figure "Viterbi algorithm").

A forbidden step is a transition (or start, or end) of minus infinity.

Every public function checks a chain that it is passed; `checked` chains, which heads make, are
taken as they are.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tagkit.nn.padding import check_mask, zero_padding

# Stands for minus infinity where a difference of two infinities would be NaN.
NEVER = -1e12
# Viterbi adds up pairs of tags for as many tags at once as this many bytes hold: a part of a cache.
_BYTES = 2**22
# A GPU has caches of its own kind, and fewer launches count.
_GPU_BYTES = 2**28
# Pairs of tags of all sentences at a token from which on a GPU adds them up: one CPU takes longer
# for them than the launches cost.
_PAIRS_FOR_GPU = 2**16


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

    def rows(self, chosen: Tensor) -> "Chain":
        """The sentences for which `chosen`, (batch,) bool, is True."""
        return replace(self, emissions=self.emissions[chosen], mask=self.mask[chosen])

    def at_temperature(self, temperature: float) -> "Chain":
        """All scores divided by a temperature: the same best path, other probabilities.

        Over whole paths, P(y | x) becomes proportional to P(y | x) ** (1 / temperature); Guo et al.
        2017 do the same with a softmax.
        """
        if temperature == 1:  # of most models: the same scores, to the bit
            return self
        return replace(
            self,
            emissions=self.emissions / temperature,
            transitions=self.transitions / temperature,
            start=self.start / temperature,
            end=self.end / temperature,
        )

    def multiplied(self, other: "Chain", share: float) -> "Chain":
        """The product of two distributions over paths, scaled to a sum of 1.

        P(y | x) becomes proportional to P(y | x) ** (1 - share) * P'(y | x) ** share (Hinton 2002,
        products of experts). Of two chains that is a chain, whose scores are sums.

        Args:
            other: of the same sentences, without forbidden steps.
            share: of the other one, from 0 to below 1.
        """
        kept = 1 - share  # above 0: a forbidden step keeps its minus infinity
        return replace(
            self,
            emissions=kept * self.emissions + share * other.emissions,
            transitions=kept * self.transitions + share * other.transitions,
            start=kept * self.start + share * other.start,
            end=kept * self.end + share * other.end,
        )

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
    # (tags, tags) at pairs of neighbours -> (batch, time - 1). `gather` and not an index, whose
    # gradient a GPU sorts: that took a third of the time of a CRF's loss.
    pairs = tag_ids[:, :-1] * chain.transitions.shape[1] + tag_ids[:, 1:]
    stepped = chain.transitions.flatten().gather(0, pairs.flatten()).view(pairs.shape)
    # Right padding: the last token is at length - 1. -> (batch,)
    last = tag_ids.gather(1, mask.sum(1, keepdim=True) - 1).squeeze(1)
    # The equation at the top of the module, term by term: start, emissions, transitions, end.
    return (
        chain.start.gather(0, tag_ids[:, 0])
        + emitted.masked_fill(~mask, 0).sum(1)
        + stepped.masked_fill(~mask[:, 1:], 0).sum(1)
        + chain.end.gather(0, last)
    )


@dataclass(frozen=True, slots=True)
class BestPrefixes:
    """Scores of the best beginnings of paths, on the CPU, float64: the forward pass of Viterbi.

    Attributes:
        scores: (time, batch, tags) of the best path up to this tag, which is included; on padding
            those of the sentence's last token.
        arriving: (after, before) score of each step.
        end: (tags,) score of ending with a tag.
        mask: (batch, time) bool.
        whole: for each time, whether all sentences have a token there.
    """

    scores: npt.NDArray[np.float64]
    arriving: npt.NDArray[np.float64]
    end: npt.NDArray[np.float64]
    mask: npt.NDArray[np.bool_]
    whole: list[bool]

    def at_end(self) -> npt.NDArray[np.float64]:
        """(batch, tags) score of the best whole path that ends with each tag (Rabiner, eq. 34)."""
        # Scores stay as they were on padding, so the last row is that of each sentence's last
        # token: (batch, tags) + (tags,)
        ended: npt.NDArray[np.float64] = self.scores[-1] + self.end
        return ended


def best_prefixes(chain: Chain) -> BestPrefixes:
    """The forward pass of the Viterbi algorithm, for a chain that is valid."""
    # The mask decides what the loop below does, so it is needed on the CPU in any case.
    mask = chain.mask.cpu()
    # For each time, whether all sentences have a token there.
    whole = mask.all(0).tolist()
    # On a GPU each step costs launches: where steps are small, all scores are copied to the CPU. In
    # float64: sums over a long sentence would lose the digits in which two paths differ.
    pairs = len(mask) * chain.transitions.numel()
    device = chain.emissions.device if pairs >= _PAIRS_FOR_GPU else torch.device("cpu")
    emissions, transitions, start, end = (
        part.detach().to(device, torch.float64)
        for part in (chain.emissions, chain.transitions, chain.start, chain.end)
    )
    # Tags first, sentences last: the maximum over `before` is found along whole rows.
    # (batch, time, tags) -> (time, tags, batch)
    scores = emissions.permute(1, 2, 0).clone(memory_format=torch.contiguous_format)
    tags, batch, here = len(start), len(mask), mask.to(device)
    # (before, after, 1), which broadcasts over sentences; as many `after` at once as have room.
    room = _BYTES if device.type == "cpu" else _GPU_BYTES
    groups = torch.split(transitions.unsqueeze(2), max(1, room // (8 * tags * batch)), dim=1)
    # (before, group, batch), one array for all steps: allocating this size each time would be slow.
    ways = [emissions.new_empty(*groups[0].shape[:2], batch)] * (len(groups) - 1)
    ways.append(emissions.new_empty(*groups[-1].shape[:2], batch))
    # Rabiner's delta, eq. 32a at the first token, in logarithms: each row is (tags, batch).
    before, *rows = scores.unbind(0)
    before += start.unsqueeze(1)  # (tags, batch) + (tags, 1), in place: row 0 of `scores`
    for t, row in enumerate(rows, 1):
        # (before, 1, batch) + (before, group, 1) -> maximum over `before`: (group, batch).
        # Rabiner's eq. 33a, but no back pointers (eq. 33b) are kept: `trace` finds the tag before
        # again, for one tag instead of all, and a maximum without its index is faster to compute.
        leaving = before.unsqueeze(1)
        best = [
            torch.add(leaving, steps, out=way).amax(0)
            for steps, way in zip(groups, ways, strict=True)
        ]
        row += best[0] if len(best) == 1 else torch.cat(best)
        if not whole[t]:  # on padding, where there may be a NaN, the score stays as it was
            torch.where(here[:, t], row, before, out=row)
        before = row
    return BestPrefixes(
        # (time, tags, batch) -> (time, batch, tags), and (before, after) -> (after, before): the
        # tags before come last, so that one sentence's candidates lie side by side.
        scores.transpose(1, 2).contiguous().cpu().numpy(),
        transitions.t().contiguous().cpu().numpy(),
        end.cpu().numpy(),
        mask.numpy(),
        whole,
    )


def viterbi(chain: Chain) -> tuple[Tensor, Tensor]:
    """The best path of each sentence and its score.

    Returns:
        (batch, time) int64, 0 on padding, and (batch,) float64.
    """
    chain.check()
    if len(chain.mask) == 1 and bool(chain.mask.all()):
        return _viterbi_one(chain)
    prefixes = best_prefixes(chain)
    ended = prefixes.at_end()
    device = chain.mask.device
    paths = torch.from_numpy(trace(prefixes, ended.argmax(1)))
    return paths.to(device), torch.from_numpy(ended.max(1)).to(device)


def _viterbi_one(chain: Chain) -> tuple[Tensor, Tensor]:
    """As `viterbi`, for one sentence without padding, in NumPy: the same sums, in the same order.

    NumPy's calls cost a quarter of torch's, and for one sentence the calls are all there is.
    """
    # (time, tags), (before, after), (tags,), (tags,)
    scores, transitions, start, end = (
        part.detach().cpu().double().numpy()
        for part in (chain.emissions[0], chain.transitions, chain.start, chain.end)
    )
    if chain.emissions.dtype == torch.float64:
        scores = scores.copy()  # they are written into; of other types they are copies already
    before, *rows = scores
    before += start
    ways = np.empty_like(transitions)
    for row in rows:
        # (before, 1) + (before, after) -> maximum over `before`: (after,)
        row += np.maximum.reduce(np.add(before[:, None], transitions, out=ways))
        before = row
    ending = before + end
    tag = int(ending.argmax())
    path, total = [tag], ending[tag]
    arriving = np.ascontiguousarray(transitions.T)  # (after, before)
    for row in scores[-2::-1]:
        tag = int((row + arriving[tag]).argmax())
        path.append(tag)
    device = chain.mask.device
    # Of arrays: torch reads lists number by number, in ten times the time.
    found = torch.from_numpy(np.array([path[::-1]])), torch.from_numpy(np.array([total]))
    return found[0].to(device), found[1].to(device)


def trace(prefixes: BestPrefixes, tag: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Paths traced back from the last tags, (batch,); (batch, time).

    NumPy calls cost a quarter of torch's, which is what counts for arrays of this size.
    """
    there = prefixes.mask
    paths = np.zeros(there.shape, dtype=np.int64)
    # Back over whole columns, from the last tag, which stays until the trace comes to a sentence's
    # last real token: there its own trace begins.
    paths[:, -1] = tag
    for t in range(there.shape[1] - 2, -1, -1):
        # Eq. 35: (batch, before) + the row of each sentence's tag, (batch, before) -> (batch,)
        earlier = (prefixes.scores[t] + prefixes.arriving.take(tag, axis=0)).argmax(1)
        tag = earlier if prefixes.whole[t + 1] else np.where(there[:, t + 1], earlier, tag)
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
