"""The sampled softmax: in training the sum over all units is estimated from some of them.

    p(y | h) = exp(s_y) / (exp(s_y) + sum over sampled k, k != y, of exp(s_k) / m_k)

with m_k the expected count of unit k in the sample, so that the sum is that over all units in
expectation (importance sampling: Bengio and Senecal 2008; one sample for all tokens of a step: Jean
et al. 2015). In the scores it is a correction by log m_k. Its gradient tends to that of the softmax
over all units as the sample grows.

Each unit k is in the sample by a draw of its own, with m_k = min(1, c q_k): q is log-uniform, as
frequencies fall with the rank, q_k = log((k + 2) / (k + 1)), and c is such that the counts sum to
the size that is asked for. The most frequent units are always in it and add no noise; no unit is in
it twice; and a sample of all units is the softmax itself.

Outside training all units are computed.
"""

from functools import lru_cache

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tagkit.nn.softmax.cross_entropy import token_chunks
from tagkit.nn.softmax.full import FullSoftmax
from tagkit.nn.softmax.layer import SoftmaxOptions, own_or_table


@lru_cache(maxsize=8)
def expected_counts(units: int, samples: int) -> Tensor:
    """(units,) m of each unit, which sum to `samples`; 1 for all where there are no more units."""
    if samples >= units:
        return torch.ones(units)
    ranks = torch.arange(units, dtype=torch.float64)
    q = torch.log1p(1 / (ranks + 1))
    # With the first k units at 1, the others share samples - k in proportion to q: (units,) factors
    # for each k. The first one with which no further unit exceeds 1 is c.
    factors = (samples - ranks) / q.flip(0).cumsum(0).flip(0)
    first = int((factors * q <= 1).nonzero()[0])
    return (factors[first] * q).clamp(max=1).float()


class SampledSoftmax(FullSoftmax):
    """The softmax over all units, whose loss in training is estimated."""

    samples = 1000  # units that a step of training computes, on average

    def loss(
        self, states: Tensor, targets: Tensor, table: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """As described in `UnitSoftmax`; the sample is drawn by torch's generator."""
        if not self.training or self.samples >= self.units:
            return super().loss(states, targets, table)
        vectors, states = own_or_table(self.weight, table), self.project(states)
        counts = expected_counts(self.units, self.samples).to(states.device)
        drawn = (torch.rand(self.units, device=states.device) < counts).nonzero().squeeze(1)
        # Place of each unit in the sample; beyond the last one for those that are not in it.
        places = counts.new_full((self.units,), len(drawn), dtype=torch.int64)
        places[drawn] = torch.arange(len(drawn), device=drawn.device)
        # (sampled, dim) and (sampled,), with the correction
        sampled = nn.functional.embedding(drawn, vectors)
        corrected = self.bias[drawn] - counts[drawn].log()
        # (tokens, dim) and (tokens,): the targets' own
        own = nn.functional.embedding(targets, vectors)
        own_scores = (states * own).sum(1) + self.bias[targets]
        total = states.new_zeros((), dtype=torch.float64)
        chunks = token_chunks(states, len(drawn) + 1)
        sizes = [len(part) for part in chunks]
        for part, score, place in zip(
            chunks,
            own_scores.split_with_sizes(sizes),
            places[targets].split_with_sizes(sizes),
            strict=True,
        ):
            given = (part, score, place, sampled, corrected)
            if len(chunks) == 1:
                total = total + _nats(*given)
            else:  # the scores of a part are computed again in the backward pass, and not kept
                total = total + checkpoint(
                    _nats, *given, use_reentrant=False, preserve_rng_state=False
                )
        return total.to(states.dtype), torch.tensor(len(targets))


def _nats(
    states: Tensor, own_scores: Tensor, places: Tensor, sampled: Tensor, corrected: Tensor
) -> Tensor:
    """Nats of the targets, summed, in float64.

    Args:
        states: (tokens, dim).
        own_scores: (tokens,) of the targets.
        places: (tokens,) of the targets in the sample, or its size for none.
        sampled: (sampled, dim) vectors.
        corrected: (sampled,) biases.
    """
    scores = nn.functional.linear(states, sampled, corrected)
    # One more column for targets that are not in the sample; a target that is counts once.
    scores = torch.cat((scores, own_scores.unsqueeze(1)), 1)
    present = (places < len(sampled)).unsqueeze(1)
    among = scores.scatter(
        1,
        places.unsqueeze(1),
        torch.where(present, -torch.inf, own_scores.unsqueeze(1)),
    )
    return (torch.logsumexp(among, 1) - own_scores).sum(dtype=torch.float64)


def build(options: SoftmaxOptions) -> SampledSoftmax:
    """A layer with fresh weights."""
    return SampledSoftmax(
        units=options.units,
        hidden=options.hidden,
        dim=options.dim,
        tied=options.tied,
    )
