"""The log-partition of linear chains, and its gradient: the marginals.

On a CPU both are the forward-backward algorithm with scaled products (`scaled.py`). Sentences whose
scores are so far apart that float64 would lose some are computed with sums of exponentials
(`log_space.py`), which are exact for scores of any size. On a GPU one step for each token would be
several kernel launches for each token: there steps are taken in pairs (`tree_partition.py`).
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from tagkit.nn.crf.chain import Chain, in_double
from tagkit.nn.crf.log_space import Messages, log_counts, log_messages
from tagkit.nn.crf.scaled import Scaled, Scores, scaled_counts, scaled_forward
from tagkit.nn.crf.tree_partition import tree_partition


def log_partition(chain: Chain) -> Tensor:
    """Log of the sum of exp(score) over all paths of each sentence, (batch,), differentiable.

    Its gradient is the expected count of each emission and each step: the marginals. There is no
    autograd graph over the steps.
    """
    chain.check()
    if chain.emissions.is_cuda:
        return tree_partition(chain)
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
        scaled = scaled_forward(Scores.of(chain))
        safe = torch.zeros(len(mask)).bool() if scaled is None else torch.from_numpy(scaled.safe)
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
