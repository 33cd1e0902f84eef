"""How the next unit is chosen from the log probabilities of all units.

First the scores are changed, in this order, which is the usual one:

    repetition penalty    units that were seen become less probable (Keskar et al. 2019)
    banned units          become impossible
    temperature           the distribution becomes more even or more peaked (Ackley et al. 1985)
    top-k                 all but the k most probable units become impossible (Fan et al. 2018)
    top-p, or nucleus     all but the fewest units that have the mass p (Holtzman et al. 2020)

Then a row of `METHODS` takes one unit. Each change is a function of scores, (rows, vocabulary), log
probabilities up to a constant of each row; minus infinity is an impossible unit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tagkit.nn.generation.row_random import RowRandom

_NUCLEUS = 256  # units in which a nucleus is looked for first


def penalise_repetition(scores: Tensor, seen: Tensor, penalty: float) -> Tensor:
    """Scores of which those of units that were seen are lower.

    A positive score is divided by the penalty, a negative one multiplied, as is usual: Keskar et
    al. 2019 divide all, which would make units with negative scores more probable. A log
    probability is negative: p becomes p ** penalty.

    Args:
        scores: (rows, vocabulary).
        seen: (rows, vocabulary) bool.
        penalty: above 0; 1 changes nothing, and less makes repetition more probable.
    """
    penalised = torch.where(scores > 0, scores / penalty, scores * penalty)
    return torch.where(seen, penalised, scores)


def ban(scores: Tensor, ids: Sequence[int]) -> Tensor:
    """Scores of which those of some units are minus infinity.

    Args:
        scores: (rows, vocabulary).
        ids: of these units.
    """
    if not ids:
        return scores
    return scores.index_fill(1, torch.tensor(ids, device=scores.device), -torch.inf)


def ban_where(scores: Tensor, ids: Tensor, where: Tensor) -> Tensor:
    """Scores of which those of some units are minus infinity in some rows.

    Args:
        scores: (rows, vocabulary).
        ids: (ids,) int64 of these units.
        where: (rows, ids) bool.
    """
    # Of these units alone, and not of the whole vocabulary; the caller's scores stay as they are.
    return scores.index_copy(1, ids, scores[:, ids].masked_fill(where, -torch.inf))


def apply_temperature(scores: Tensor, temperature: float) -> Tensor:
    """Scores, (rows, vocabulary), divided by a temperature.

    Args:
        scores: (rows, vocabulary).
        temperature: above 0: below 1 more peaked, above it more even.
    """
    # The best score becomes 0 first: with a temperature near 0 all would be minus infinity.
    return (scores - scores.amax(1, keepdim=True)) / temperature


def keep_top_k(scores: Tensor, k: int) -> Tensor:
    """Scores of the k best units, ties by the lowest id; minus infinity for all others.

    Args:
        scores: (rows, vocabulary).
        k: 0 keeps all.
    """
    if not 0 < k < scores.shape[1]:
        return scores
    return _keep_best(scores, scores.topk(k, dim=1).values[:, -1:], k)


def keep_top_p(scores: Tensor, p: float) -> Tensor:
    """Scores of the nucleus: the most probable units, as few as have a mass of at least p.

    Args:
        scores: (rows, vocabulary).
        p: above 0; 1 keeps all.
    """
    if p >= 1:  # rounded sums may reach 1 before the last units
        return scores
    # (rows, 1) in float64: with 50,000 units float32 would round a cumulative sum.
    total = scores.double().logsumexp(1, keepdim=True)
    width, vocabulary = 0, scores.shape[1]
    best = mass = scores[:, :0]  # (rows, 0) before the first attempt
    # A nucleus is small as a rule, and sorting the whole vocabulary would take most of the time.
    while width < vocabulary and (not width or bool((mass[:, -1] < p).any())):
        width = min(vocabulary, 8 * width or _NUCLEUS)
        # (rows, vocabulary) -> (rows, width), falling: scores, and the mass of each and all before
        best = scores.topk(width, dim=1).values
        mass = (best.double() - total).exp().cumsum(1)
    # (rows, 1) the first that reaches p; all, where rounding keeps the sum below it
    counts = ((mass < p).sum(1, keepdim=True) + 1).clamp_max(width)
    return _keep_best(scores, best.gather(1, counts - 1), counts)


def _keep_best(scores: Tensor, lowest: Tensor, counts: Tensor | int) -> Tensor:
    """Scores of the best units, ties by the lowest id.

    Args:
        scores: (rows, vocabulary).
        lowest: (rows, 1) the lowest score that is kept.
        counts: (rows, 1) how many are kept.
    """
    # A threshold alone would keep all that are equal to the lowest, more than `counts`; the order
    # in which `topk` gives equal ones differs between devices.
    above, ties = scores > lowest, scores == lowest  # (rows, vocabulary)
    room = counts - above.sum(1, keepdim=True)  # (rows, 1) for ties
    # The running number of a tie, by rising id, from 1
    return scores.masked_fill(~(above | (ties & (ties.cumsum(1) <= room))), -torch.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """How a unit is chosen.

    Attributes:
        method: a row of `METHODS`.
        temperature: above 0.
        top_k: units that are kept; 0 for all.
        top_p: mass that is kept, above 0; 1 for all.
        repetition_penalty: above 0; 1 for none.
        banned: ids that are never chosen.
        once: ids that are not chosen again.
        unpenalised: ids that may be repeated without a penalty.
    """

    method: str
    temperature: float
    top_k: int
    top_p: float
    repetition_penalty: float
    banned: tuple[int, ...]
    once: tuple[int, ...] = ()
    unpenalised: tuple[int, ...]

    def change(self, log_probs: Tensor, seen: Tensor) -> Tensor:
        """The model's log probabilities after all changes, in float64.

        Args:
            log_probs: (rows, vocabulary).
            seen: (rows, vocabulary) bool, whether a unit is in the row already.
        """
        scores = log_probs.double()
        if self.repetition_penalty != 1:
            # Of no ids the type of the tensor is not known, hence `long`.
            free = torch.tensor(self.unpenalised, device=seen.device).long()
            repeated = seen.index_fill(1, free, 0)
            scores = penalise_repetition(scores, repeated, self.repetition_penalty)
        scores = ban(scores, self.banned)
        if self.once:
            ids = torch.tensor(self.once, device=seen.device)
            scores = ban_where(scores, ids, seen[:, ids])
        scores = apply_temperature(scores, self.temperature)
        return keep_top_p(keep_top_k(scores, self.top_k), self.top_p)


@dataclass(frozen=True, slots=True)
class Method:
    """A row of `METHODS`.

    Attributes:
        choose: scores (rows, vocabulary) -> (rows,) ids.
        decide: probabilities (rows,) of yes -> (rows,) bool.
    """

    choose: Callable[[Tensor, RowRandom], Tensor]
    decide: Callable[[Tensor, RowRandom], Tensor]


def most_probable(scores: Tensor, _: RowRandom) -> Tensor:
    """The best unit of each row, (rows, vocabulary) -> (rows,) ids, ties by the lowest id."""
    return scores.argmax(1)


def sampled(scores: Tensor, random: RowRandom) -> Tensor:
    """A unit of each row, each with its probability: (rows, vocabulary) -> (rows,) ids.

    Of independent waiting times with rates p, that of unit i ends first with probability p[i]. It
    is a comparison of sums of logarithms (the Gumbel-max trick), for which nothing is summed over
    the vocabulary: rounding in the model, which differs between batches, changes the unit only if
    the two best differ by as little.
    """
    # -log(1 - u) is exponential; u may be 0, whose logarithm below would be infinite.
    # (rows, vocabulary) of rate 1. That of rate p is this divided by p, and the first to end has
    # the largest log p - log(waiting). A constant that all scores of a row have changes nothing.
    waiting = (-torch.log1p(-random.uniform(scores.shape[1]))).clamp_min(1e-300)
    return (scores - waiting.log().to(scores.device)).argmax(1)


METHODS: dict[str, Method] = {
    "greedy": Method(most_probable, lambda probs, _: probs > 0.5),
    "sample": Method(
        sampled, lambda probs, random: random.uniform(1).squeeze(1).to(probs.device) < probs
    ),
}
