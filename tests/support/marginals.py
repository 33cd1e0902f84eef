"""Marginals of a chain from the messages of the forward-backward algorithm, as the textbooks do."""

from torch import Tensor

from tagkit.nn.crf.chain import Chain
from tagkit.nn.crf.log_space import forward_backward
from tagkit.nn.padding import zero_padding


def marginals(chain: Chain) -> Tensor:
    """Probability of each tag at each token, (batch, time, tags); zeros on padding."""
    messages = forward_backward(chain)
    # p(y[t] | x) = alpha beta / Z (Rabiner 1989, eq. 27): (batch, time, tags) - (batch, 1, 1)
    log_probs = messages.alpha + messages.beta - messages.log_partition[:, None, None]
    return zero_padding(log_probs.exp(), chain.mask)
