"""The log-partition as a product of matrices in pairs, for a GPU.

One step for each token would be several kernel launches for each token. A product of matrices, one
for each step, is taken in pairs, pairs of pairs, and so on: as many launches as the length has
binary digits (Blelloch 1990; Rush 2020 for chains of tags). The matrices hold tags x tags numbers
for each token: where those of the batch are more than `_BYTES`, a stretch of tokens is computed
after the other, and computed again for its gradient.
"""

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from tagkit.nn.crf.chain import NEVER, Chain
from tagkit.nn.padding import zero_padding

# The matrices of a stretch, at most; the gradient needs several times as much.
_BYTES = 2**28
# A stretch of fewer steps would be launched as often as single steps, which need no matrices.
_FEWEST = 8
# Below this a sum of exponentials is that of forbidden paths.
_NOTHING = 1e-300


def tree_partition(chain: Chain) -> Tensor:
    """As `log_partition`, with an autograd graph.

    Scores within one sentence must not differ by more than float64 can hold, about 700 nats; paths
    that are further below the best one count as forbidden.
    """
    chain.check()
    emissions = zero_padding(chain.emissions.double(), chain.mask)
    transitions, start, end = (
        part.double().clamp(min=NEVER) for part in (chain.transitions, chain.start, chain.end)
    )
    batch, time, tags = emissions.shape
    alpha = start + emissions[:, 0]  # (batch, tags) at the first token
    emissions, mask = emissions[:, 1:], chain.mask[:, 1:]
    # How many steps' matrices there is room for; an even number, as an odd one gets a partner.
    stretch = _BYTES // (8 * batch * tags * tags) // 2 * 2
    if time - 1 <= stretch:
        alpha = _in_pairs(alpha, transitions, emissions, mask)
    elif stretch < _FEWEST:
        alpha = _in_turn(alpha, transitions, emissions, mask)
    else:
        for scores, here in zip(
            torch.split(emissions, stretch, dim=1), torch.split(mask, stretch, dim=1), strict=True
        ):
            alpha = checkpoint(_in_pairs, alpha, transitions, scores, here, use_reentrant=False)
    # (batch, tags) + (tags,), then sum out the last tag -> (batch,)
    return torch.logsumexp(alpha + end, dim=1).to(chain.emissions.dtype)


def _in_pairs(alpha: Tensor, transitions: Tensor, emissions: Tensor, mask: Tensor) -> Tensor:
    """(batch, tags) alpha after the steps to (batch, steps, tags) emissions."""
    batch, time, tags = emissions.shape
    if not time:
        return alpha
    # (before, after) + (batch, steps, 1, after) -> (batch, steps, before, after), a matrix for each
    # step. On padding it is the identity: log 1 on the diagonal, else log 0.
    steps = transitions + emissions.unsqueeze(2)
    still = torch.full_like(transitions, NEVER).fill_diagonal_(0)
    steps = torch.where(mask[:, :, None, None], steps, still)
    while steps.shape[1] > 1:
        if steps.shape[1] % 2:  # an odd number: the identity is the last one's partner
            last = still.expand(batch, 1, tags, tags)
            steps = torch.cat((steps, last), dim=1)
        # (batch, pairs, before, between) x (batch, pairs, between, after): halves the steps
        steps = _log_product(steps[:, 0::2], steps[:, 1::2])
    # (batch, before, 1) + (batch, before, after) -> sum out `before`: (batch, after)
    return torch.logsumexp(alpha.unsqueeze(2) + steps[:, 0], dim=1)


def _in_turn(alpha: Tensor, transitions: Tensor, emissions: Tensor, mask: Tensor) -> Tensor:
    """As `_in_pairs`, a step after the other: each is one product of alphas and one matrix."""
    highest = transitions.detach().max()
    probs = (transitions - highest).exp()  # (before, after)
    for scores, here in zip(emissions.unbind(1), mask.unbind(1), strict=True):
        # As in `_log_product`: (batch, before) @ (before, after) -> (batch, after)
        largest = alpha.detach().amax(1, keepdim=True)
        product = (alpha - largest).exp() @ probs
        stepped = product.clamp(min=_NOTHING).log() + (largest + highest) + scores
        alpha = torch.where(here.unsqueeze(1), stepped, alpha)
    return alpha


def _log_product(left: Tensor, right: Tensor) -> Tensor:
    """Log of the product of matrices whose logs are given, the largest of each row taken out."""
    # (batch, pairs, before, 1) and (batch, pairs, 1, 1): the largest of each row on the left, of
    # each whole matrix on the right, since the product sums over its rows. Detached: what is taken
    # out is put back, so that it has no gradient of its own.
    of_left = left.detach().amax(3, keepdim=True)
    of_right = right.detach().amax((2, 3), keepdim=True)
    # logsumexp over `between` as one matrix product: exp, multiply, log (Rush 2020).
    product = torch.matmul((left - of_left).exp(), (right - of_right).exp())
    # The logarithm of 0 would be minus infinity, and its gradient NaN.
    return product.clamp(min=_NOTHING).log() + of_left + of_right
