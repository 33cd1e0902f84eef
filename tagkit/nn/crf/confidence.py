"""How probable the tags and spans of a path are, from the messages of forward-backward.

A span is a stretch of tags with an end, so that its probability is a product along the chain:

    p(span) = p(first tag | x) * product of p(tag | tag before, x)
              * (1 - p(the next tag continues it | last tag, x))

which is exact, as a chain is a Markov chain given x (Lafferty et al. 2001). Culotta and McCallum
2004 find the same number by a constrained forward pass for each span.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tagkit.nn.crf.chain import Chain
from tagkit.nn.crf.forward_backward import forward_backward, step_log_probs


@dataclass(frozen=True, slots=True)
class SpanConfidence:
    """Factors of the probabilities of a path's tags and spans.

    Attributes:
        probs: (batch, time) marginal probability of each token's tag.
        step_log_probs: (batch, time) log P(tag | tag before, sentence), the first column
            log P(tag | sentence): summed over a stretch after its first token's `probs`, the
            probability of just these tags there.
        continuation_prob: (batch, time) probability that the next token continues this token's
            span, given this tag; 0 at the last token and where the tag itself says where its span
            ends.
    """

    probs: Tensor
    step_log_probs: Tensor
    continuation_prob: Tensor


def span_confidence(chain: Chain, tag_ids: Tensor, continuation: Tensor) -> SpanConfidence:
    """How probable paths are, tag by tag and step by step.

    Args:
        chain: the scores.
        tag_ids: (batch, time) int64 paths.
        continuation: (tags,) id of the tag that continues each tag's span, or -1 where the tag
            itself says where its span ends.
    """
    messages = forward_backward(chain)
    chosen = tag_ids.unsqueeze(2)  # (batch, time, 1), as `gather` needs it
    # log p(y[t] | x) = alpha + beta - log Z at the path's own tags (Rabiner 1989, eq. 27):
    # (batch, time, tags) at (batch, time, 1) -> (batch, time)
    log_probs = (messages.alpha.gather(2, chosen) + messages.beta.gather(2, chosen)).squeeze(
        2
    ) - messages.log_partition.unsqueeze(1)
    steps = step_log_probs(chain, messages, tag_ids)  # (batch, time - 1, next tag)
    # log p(y[t] | y[t-1], x) of the path's own steps
    taken = steps.gather(2, tag_ids[:, 1:].unsqueeze(2)).squeeze(2)  # (batch, time - 1)
    next_id = continuation[tag_ids[:, :-1]]  # (tags,) at (batch, time - 1) -> (batch, time - 1)
    # `gather` needs a valid id even where there is none: that value is masked below.
    continued = steps.gather(2, next_id.clamp(min=0).unsqueeze(2)).squeeze(2).exp()
    # Steps between two real tokens whose first has a tag that can be continued.
    within = chain.mask[:, 1:] & (next_id >= 0)
    nothing = torch.zeros_like(log_probs[:, :1])  # (batch, 1): no token follows the last one
    return SpanConfidence(
        # Rounding can put a certain tag a little above 1.
        probs=log_probs.exp().clamp(max=1),
        # (batch, 1) and (batch, time - 1) -> (batch, time); below in the other order
        step_log_probs=torch.cat((log_probs[:, :1], taken), dim=1),
        continuation_prob=torch.cat((continued.masked_fill(~within, 0), nothing), 1).clamp(max=1),
    )
