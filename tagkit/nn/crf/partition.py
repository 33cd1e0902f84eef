"""The log-partition of linear chains, and its gradient: the marginals.

On a CPU both are the forward-backward algorithm with scaled products (`scaled.py`). Sentences whose
scores are so far apart that float64 would lose some are computed with sums of exponentials
(`log_space.py`), which are exact for scores of any size. On a GPU one step for each token would be
several kernel launches for each token: there steps are taken in pairs (`tree_partition`).
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from tagkit.nn.crf.chain import NEVER, Chain, in_double
from tagkit.nn.crf.log_space import Messages, log_counts, log_messages
from tagkit.nn.crf.scaled import Scaled, Scores, scaled_counts, scaled_forward
from tagkit.nn.padding import zero_padding

# Bytes of the matrices of a chunk of tokens, at most; the gradient needs several times as much.
_CHUNK_BYTES = 2**28
# A chunk of fewer steps would be launched as often as single steps, which need no matrices.
_FEWEST_STEPS = 8
# Multiplications of pairs of matrices, tags^3 for each token, at most. Steps in turn need tags^2.
# 32 sentences of 24 tokens took an H200 3.4 ms in pairs and 6.4 in turn with 93 tags, 7.5 and 6.9
# with 200; GPUs for games multiply numbers of 64 bits thirty times as slowly.
_MULTIPLICATIONS = 2**30
# Below this a sum of exponentials is that of forbidden paths.
_FORBIDDEN = 1e-300
# A positive number below this is left to the exact way: its product with another such one could be
# below `_FORBIDDEN`, or a zero.
_SMALLEST = 1e-147


def log_partition(chain: Chain) -> Tensor:
    """Log of the sum of exp(score) over all paths of each sentence, (batch,), differentiable.

    Its gradient is the expected count of each emission and each step: the marginals. There is no
    autograd graph over the steps.
    """
    chain.check()
    return tree_partition(chain) if chain.emissions.is_cuda else _by_messages(chain)


def _by_messages(chain: Chain) -> Tensor:
    total: Tensor = _LogPartition.apply(  # type: ignore[no-untyped-call]
        chain.emissions, chain.transitions, chain.start, chain.end, chain.mask
    )
    return total


@dataclass(frozen=True, slots=True)
class _Exact:
    """Sentences that are computed in logarithms.

    Attributes:
        rows: (batch,) bool, which ones of the batch.
        chain: of these sentences, float64.
        messages: of the same.
    """

    rows: Tensor
    chain: Chain
    messages: Messages


class _LogPartition(torch.autograd.Function):
    """Forward: alphas. Backward: betas, then expected counts times the incoming gradient.

    The derivative of log Z by a score is the expected count of that emission or step under the
    chain's distribution (Lafferty et al. 2001; Eisner 2016), so no graph over the steps is needed.
    """

    @staticmethod
    def forward(
        ctx: Any, emissions: Tensor, transitions: Tensor, start: Tensor, end: Tensor, mask: Tensor
    ) -> Tensor:
        """(batch,) log-partitions; arguments with the shapes of a `Chain`."""
        ctx.dtype = emissions.dtype
        chain = Chain(emissions, transitions, start, end, mask, checked=True)
        # On a GPU these are sentences that `tree_partition` cannot hold.
        scaled = None if emissions.is_cuda else scaled_forward(Scores.of(chain))
        safe = torch.zeros_like(mask[:, 0]) if scaled is None else torch.from_numpy(scaled.safe)
        # (batch,), in float64 up to here: a loss is a difference of two large numbers.
        total = mask.new_empty(len(mask), dtype=torch.float64)
        if scaled is not None:
            total = torch.from_numpy(scaled.log_partition)
        exact = None
        if not safe.all():
            part = in_double(chain.rows(~safe))
            exact = _Exact(~safe, part, log_messages(part))
            total[~safe] = exact.messages.log_partition
        ctx.scaled, ctx.exact = scaled, exact
        return total.to(ctx.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Expected counts, each sentence's times its value in `grad`, (batch,)."""
        # (batch, time, tags), (before, after), (tags,), (tags,): the shapes of the arguments
        counts = _counts(ctx.scaled, ctx.exact, grad.double())
        # One gradient for each argument of `forward`, none for the mask.
        return *(count.to(ctx.dtype) for count in counts), None


def _counts(scaled: Scaled | None, exact: _Exact | None, grad: Tensor) -> tuple[Tensor, ...]:
    """Expected counts of emissions, steps, starts and ends, each sentence's times its `grad`."""
    if exact is None:
        assert scaled is not None
        return tuple(torch.from_numpy(count) for count in scaled_counts(scaled, grad.numpy()))
    unary, *sums = log_counts(exact.chain, exact.messages, grad[exact.rows])
    if scaled is None or exact.rows.all():
        return unary, *sums
    safe = ~exact.rows
    chosen = scaled.rows(safe.numpy())
    safe_unary, *safe_sums = map(torch.from_numpy, scaled_counts(chosen, grad[safe].numpy()))
    # (sentences of each kind, time, tags) -> (batch, time, tags)
    both = unary.new_empty(len(grad), *unary.shape[1:])
    both[safe], both[exact.rows] = safe_unary, unary
    return both, *(one + other for one, other in zip(sums, safe_sums, strict=True))


# The log-partition as a product of matrices in pairs, for a GPU.
#
# One step for each token would be several kernel launches for each token. A product of matrices,
# one for each step, is taken in pairs, pairs of pairs, and so on: as many launches as the length
# has binary digits (Blelloch 1990; Rush 2020 for chains of tags). Numbers are exponentials of
# scores, and what is the largest is taken out of each product, whose logarithm is added in the end
# (Rabiner 1989, section V.A, does so for each token).
#
# The matrices hold tags x tags numbers for each token: where those of the batch are more than
# `_CHUNK_BYTES`, a chunk of tokens is computed after the other, and again for its gradient. Where
# there is too much to multiply, steps are taken in turn.
def tree_partition(chain: Chain) -> Tensor:
    """As `log_partition`, with an autograd graph.

    Sentences whose scores are further apart than float64 can hold, some 300 nats in a step or,
    where steps are forbidden, between tags without a common past, are computed in logarithms.
    """
    chain.check()
    emissions = zero_padding(chain.emissions.double(), chain.mask)
    steps, of_step, step_low = _factors(chain.transitions.double(), (0, 1))
    # At the first token, the score of beginning with a tag included: (batch, tags), (batch, 1)
    alpha, of_first, first_low = _factors(chain.start.double() + emissions[:, 0], (1,))
    end, of_end, end_low = _factors(chain.end.double(), (0,))
    # (batch, steps, tags), (batch, steps, 1), and (batch, steps)
    factors, of_tokens, token_low = _factors(emissions[:, 1:], (2,))
    mask = chain.mask[:, 1:]
    # A matrix has the factors of a step and of a token: (batch, steps, 1) -> (batch, 1)
    low = torch.cat([token_low.flatten(1) + step_low, first_low, end_low.expand_as(first_low)], 1)
    safe = (low >= math.log(_SMALLEST)).all(1)  # (batch,); not with a NaN
    # What was taken out of padding is 0, as its scores are: (batch,)
    log_scale = of_first[:, 0] + of_tokens.sum((1, 2)) + mask.sum(1) * of_step[0, 0] + of_end[0]

    batch, time, tags = factors.shape
    room = _CHUNK_BYTES // (8 * batch * tags * tags)  # steps whose matrices fit
    if _padded(time) * batch * tags**3 > _MULTIPLICATIONS or room < min(_FEWEST_STEPS, time):
        alpha, scale, held = _in_turn(alpha, steps, factors, mask)
        log_scale, safe = log_scale + scale, safe & held
    elif time:
        chunk = min(_padded(time), 1 << (room.bit_length() - 1))
        for parts in zip(torch.split(factors, chunk, 1), torch.split(mask, chunk, 1), strict=True):
            if chunk < time:
                found = checkpoint(_in_pairs, alpha, steps, *parts, use_reentrant=False)
            else:
                found = _in_pairs(alpha, steps, *parts)
            alpha, scale, held = found
            log_scale, safe = log_scale + scale, safe & held
    # (batch, tags) @ (tags,): the last tag is summed out -> (batch,)
    total = ((alpha @ end).clamp(min=_FORBIDDEN).log() + log_scale).to(chain.emissions.dtype)
    if not safe.all():
        total = total.index_put((~safe,), _by_messages(chain.rows(~safe)))
    return total


def _factors(scores: Tensor, dims: tuple[int, ...]) -> tuple[Tensor, Tensor, Tensor]:
    """Exponentials of scores, the largest score along `dims`, and how far the lowest is below it.

    The largest is taken out of the exponentials. It is detached: it is put back in the end, so that
    it has no gradient of its own. The lowest is that of what is allowed.
    """
    # Not minus infinity, which less itself would be NaN.
    largest = scores.detach().amax(dims, keepdim=True).clamp(min=NEVER)
    below = scores - largest
    allowed = below.detach().masked_fill(below == -torch.inf, 0)
    return below.exp(), largest, allowed.amin(dims, keepdim=True)


def _padded(steps: int) -> int:
    """The next power of two: so many steps are pairs of pairs throughout."""
    return 1 << max(0, steps - 1).bit_length()


def _in_pairs(
    alpha: Tensor, steps: Tensor, factors: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Alpha after the steps to some tokens.

    Args:
        alpha: (batch, tags) before them.
        steps: (before, after).
        factors: (batch, time, tags).
        mask: (batch, time) bool.

    Returns:
        (batch, tags), (batch,) log of what was taken out, and (batch,) whether all numbers that
        are not 0 were large enough to be exact.
    """
    batch, time, tags = factors.shape
    padded = _padded(time)
    factors = _halving_order(nn.functional.pad(factors, (0, 0, 0, padded - time)))
    mask = _halving_order(nn.functional.pad(mask, (0, padded - time)))
    # (before, after) x (padded, batch, 1, after) -> (padded, batch, before, after), a matrix for
    # each step; on padding the identity.
    still = torch.eye(tags, dtype=steps.dtype, device=steps.device)
    products = torch.where(mask[:, :, None, None], steps * factors.unsqueeze(2), still)
    products = products.flatten(0, 1)  # (padded x batch, before, after)
    taken_out, held = [], mask.new_ones(1, batch)
    while len(products) > batch:
        # (pairs x batch, before, between) x (pairs x batch, between, after): halves the steps
        products, largest = _scaled(torch.bmm(*products.chunk(2)), (1, 2))
        taken_out.append(largest.view(-1, batch))
        held = held & _are_held(products).view(-1, batch).all(0)
    # (batch, 1, before) x (batch, before, after) -> (batch, after)
    alpha, largest = _scaled(torch.bmm(alpha.unsqueeze(1), products).squeeze(1), (1,))
    log_scale = torch.cat([*taken_out, largest.view(1, batch)]).log().sum(0)
    return alpha, log_scale, held[0] & _are_held(alpha)


def _are_held(products: Tensor) -> Tensor:
    """(items,) whether no number of an item, (items, ...), is between 0 and `_SMALLEST`."""
    return ~((products > 0) & (products < _SMALLEST)).flatten(1).any(1)


def _halving_order(sequences: Tensor) -> Tensor:
    """Time first, in the order in which each half holds the partners of the other, again and again.

    Of eight tokens that is 0 4 2 6 1 5 3 7, their binary digits in reverse: 0 and 1 are partners,
    2 and 3, and so on; then the pairs 0 1 and 2 3. Halves lie in one piece of memory, which tokens
    of even and of odd number would not.

    Args:
        sequences: (batch, time, ...), time a power of two.

    Returns:
        (time, batch, ...).
    """
    batch, time, *rest = sequences.shape
    digits = time.bit_length() - 1
    # (batch, time, ...) -> (batch, 2, 2, ..., ...), an axis for each binary digit, highest first
    apart = sequences.reshape(batch, *[2] * digits, *rest)
    order = (*range(digits, 0, -1), 0, *range(digits + 1, apart.dim()))
    return apart.permute(order).reshape(time, batch, *rest)


def _in_turn(
    alpha: Tensor, steps: Tensor, factors: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """As `_in_pairs`, a step after the other: each is one product of alphas and one matrix."""
    alphas, taken_out = [alpha], [alpha.new_ones(len(alpha), 1)]
    for here in factors.unbind(1):
        # (batch, before) @ (before, after) -> (batch, after). Padding is read too, and left out
        # below: choosing at each step would be one launch more.
        alpha, largest = _scaled(alpha @ steps * here, (1,))
        alphas.append(alpha)
        taken_out.append(largest)
    last = mask.sum(1)  # (batch,) number of the last token's step; 0 where there is none
    # (time, batch, tags) at each sentence's own time -> (batch, tags)
    rows = torch.arange(len(last), device=last.device)
    stacked = torch.stack(alphas)
    alpha = stacked[last, rows]
    # (time, batch, tags) -> (batch, time)
    held = _are_held(stacked[1:].flatten(0, 1)).view(-1, len(last)).t() | ~mask
    log_scales = torch.cat(taken_out[1:] or [taken_out[0][:, :0]], 1).log()  # (batch, steps)
    return alpha, log_scales.masked_fill(~mask, 0).sum(1), held.all(1)


def _scaled(products: Tensor, dims: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Divided by the largest number along `dims`, and that number, detached."""
    largest = products.detach().amax(dims, keepdim=True).clamp(min=_FORBIDDEN)
    return products / largest, largest
