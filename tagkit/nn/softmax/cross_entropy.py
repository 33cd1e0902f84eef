"""Cross-entropy of a linear layer over many units, in little memory, with its own gradient.

    loss = sum over tokens of -w log p(y | h),   p(. | h) = softmax(W h + b)

where w is a token's weight, 1 as a rule. With G = w (p - onehot(y)) of all tokens, (tokens, units),
the gradients are (Goodfellow, Bengio and Courville, section 6.2.2.3)

    dh = G W,   dW = G^T h,   db = sum of G over tokens

times the gradient that arrives, which is one number, as the loss is. So they are computed together
with the loss, for a few tokens at a time: no tensor of (all tokens, units) is ever in memory, and
nothing is computed twice.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

# Scores in memory at a time: 128 MB in float32, or 671 tokens of 50,000 units.
SCORES = 2**25


def token_chunks(states: Tensor, units: int, scores: int | None = None) -> tuple[Tensor, ...]:
    """(tokens, hidden) in parts of so many tokens that they have at most `scores` scores.

    None stands for `SCORES`.
    """
    return torch.split(states, max(1, (scores or SCORES) // units))


def cross_entropy(
    states: Tensor,
    weight: Tensor,
    bias: Tensor,
    targets: Tensor,
    weights: Tensor | None = None,
    *,
    scores: int | None = None,
) -> Tensor:
    """Nats of all targets, summed.

    Args:
        states: (tokens, hidden).
        weight: (units, hidden).
        bias: (units,).
        targets: (tokens,) int64.
        weights: (tokens,) in the sum, to which no gradient goes; None where all are 1.
        scores: that are in memory at a time; None for `SCORES`.
    """
    total: Tensor = _CrossEntropy.apply(  # type: ignore[no-untyped-call]
        states, weight, bias, targets, weights, scores
    )
    return total


def target_log_probs(states: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """(tokens,) log probability of each target; arguments as in `cross_entropy`."""
    found = []
    chunks = token_chunks(states, len(weight))
    for part, wanted in zip(
        chunks, targets.split_with_sizes([len(part) for part in chunks]), strict=True
    ):
        # (tokens of the part, hidden) -> (tokens of the part, units)
        scores = nn.functional.linear(part, weight, bias)
        own = scores.gather(1, wanted.unsqueeze(1)).squeeze(1)
        found.append(own - torch.logsumexp(scores, 1))
    return torch.cat(found)


class _CrossEntropy(torch.autograd.Function):
    """Forward: the loss and all its gradients. Backward: these times the gradient that arrives."""

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        weights: Tensor | None,
        scores_at_once: int | None,
    ) -> Tensor:
        """The loss, a number; arguments as in `cross_entropy`."""
        of_states, of_weight, of_bias = ctx.needs_input_grad[:3]
        d_states = torch.empty_like(states) if of_states else None
        d_weight = torch.zeros_like(weight) if of_weight else None
        d_bias = torch.zeros_like(bias) if of_bias else None
        # Of thousands of tokens in float64: the sum of an epoch's losses is made of these.
        total = states.new_zeros((), dtype=torch.float64)
        start = 0  # tokens before the part
        for part in token_chunks(states, len(weight), scores_at_once):
            tokens = slice(start, start + len(part))
            # (tokens of the part, 1), and weights likewise, or (1, 1) where all are 1
            gold = targets[tokens].unsqueeze(1)
            weighed = part.new_ones(1, 1) if weights is None else weights[tokens].unsqueeze(1)
            scores = torch.addmm(bias, part, weight.t())  # (tokens of the part, units)
            # softmax(s) = exp(s - largest) / sum; log p(y) = s[y] - largest - log(sum). All is done
            # in place, in the one large tensor: `scores` becomes s - largest, its exponential, the
            # weighted probabilities and at last G. What the loss needs is taken on the way.
            scores.sub_(scores.amax(1, keepdim=True))
            at_gold = scores.gather(1, gold)
            sums = scores.exp_().sum(1, keepdim=True)  # (tokens of the part, 1), at least 1
            total += (weighed * (sums.log() - at_gold)).sum(dtype=torch.float64)
            if weights is None:
                scores.div_(sums)
            else:
                scores.mul_(weighed / sums)
            scores.scatter_add_(1, gold, -weighed.expand_as(gold))  # G
            # A token is in one part: its state's gradient is written. Weights and biases serve all
            # tokens: their gradients are added up.
            if d_states is not None:
                torch.mm(scores, weight, out=d_states[tokens])
            if d_weight is not None:
                d_weight.addmm_(scores.t(), part)
            if d_bias is not None:
                d_bias += scores.sum(0)
            start = tokens.stop
        ctx.gradients = d_states, d_weight, d_bias
        return total.to(states.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of states, weight and bias, in their shapes; `grad` is a number."""
        return *(None if one is None else one * grad for one in ctx.gradients), None, None, None
