"""The n best paths of a chain, exactly: list Viterbi.

Every tag at every token keeps the n best ways to it, not the best one alone, with the place of each
in the list of the tag before (Seshadri and Sundberg 1994). The n best paths to a tag go through the
n best paths to the tags before it, since what follows adds the same to all of them.
"""

import torch
from torch import Tensor
from torch.nn.functional import pad

from tagkit.nn.crf.chain import Chain, in_double


def n_best(chain: Chain, count: int) -> tuple[Tensor, Tensor]:
    """The best paths of each sentence, the best one first, and their scores.

    Args:
        chain: the scores.
        count: how many paths; a sentence with fewer has paths of score minus infinity after them,
            whose tags have no meaning.

    Returns:
        (batch, count, time) int64, 0 on padding, and (batch, count) float64.
    """
    chain.check()
    chain = in_double(chain)
    mask = chain.mask
    batch, time, tags = chain.emissions.shape
    # Ranks that no path can have cost no memory: there are tags ** time paths, which is more than
    # any count from 64 tokens on, as there are 2 tags or more.
    asked, count = count, min(count, tags ** min(time, 64))
    # (batch, tags, rank), best rank first: at the first token there is one way to each tag, and
    # ranks without a way hold minus infinity.
    score = chain.emissions.new_full((batch, tags, count), -torch.inf)
    score[:, :, 0] = chain.start + chain.emissions[:, 0]  # (tags,) + (batch, tags)
    arriving = chain.transitions.t().unsqueeze(2)  # (after, before, 1)
    pointers = []
    for t in range(1, time):
        # (batch, 1, before, rank) + (after, before, 1) -> (batch, after, before x rank): all ways
        # to each `after`, of which the best `count` are kept with their places.
        ways = (score.unsqueeze(1) + arriving).flatten(2)
        best, way = ways.topk(count, dim=2)
        here = mask[:, t, None, None]  # on padding scores stay as they were
        score = torch.where(here, best + chain.emissions[:, t].unsqueeze(2), score)
        pointers.append(way)  # (batch, after, rank): before x count + rank before
    # (batch, tags, rank) + (tags, 1) -> (batch, tags x rank) -> (batch, count)
    ended = (score + chain.end.unsqueeze(1)).flatten(1)
    total, place = ended.topk(count, dim=1)

    # Back along the pointers: a place is tag x count + rank, as `way` is.
    paths = [place // count]
    for t in range(time - 2, -1, -1):
        tag, rank = place // count, place % count
        # (batch, 1), beside tag and rank, (batch, count)
        row = torch.arange(batch, device=place.device).unsqueeze(1)
        # pointers[t] belongs to the step from t to t + 1, which a sentence takes if it has a token
        # there; until then its place stays as it is.
        place = torch.where(mask[:, t + 1, None], pointers[t][row, tag, rank], place)
        paths.append(place // count)
    # `time` of (batch, count) -> (batch, count, time), first token first
    best = torch.stack(paths[::-1], dim=2).masked_fill(~mask.unsqueeze(1), 0)
    missing = asked - count
    return pad(best, (0, 0, 0, missing)), pad(total, (0, missing), value=-torch.inf)
