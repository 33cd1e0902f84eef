"""Many best paths of a chain: Viterbi forwards, then lists of the best endings backwards.

The forward pass gives, for each tag, the score of the best beginning of a path up to it. An ending
is worth the score of the best path that ends like this, which is the sum of the two (Soong and
Huang 1991, who search such endings one by one). At each token only the n best endings can be those
of the n best paths: an ending that is not among them has n others before it, and each of these
belongs to a path that is better than any with this ending.
"""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import pad

from tagkit.nn.crf.chain import Chain, best_prefixes

_Ids = npt.NDArray[np.int64]
_Scores = npt.NDArray[np.float64]


def many_best(chain: Chain, count: int) -> tuple[Tensor, Tensor]:
    """As `n_best` of `nn/crf/n_best.py`, for a chain that is valid and paths of any number.

    A token costs the same calls whatever the number of paths, and sums in proportion to it.
    """
    prefixes = best_prefixes(chain)
    time, batch, tags = prefixes.scores.shape
    # (batch, time, tags) -> (time, batch x tags); a tag's place there is that of its sentence + tag
    emissions = chain.emissions.detach().cpu().double().transpose(0, 1).reshape(time, -1).numpy()
    row = np.arange(batch)[:, None]  # beside tag and rank, (batch, rank)
    # The endings of one tag, (batch, rank), the best one first: their first tags, the score of what
    # follows these, and that of the best whole path.
    total, tag = _best(prefixes.at_end(), count)
    rest = prefixes.end[tag]
    first_tags: list[_Ids] = [tag]
    origins: list[_Ids] = []  # of each ending the rank of the one that it makes longer
    for t in range(time - 1, 0, -1):
        ranks = tag.shape[1]
        # Each tag before each ending,
        # (batch, rank, before) + (batch, rank, 1) + (batch, 1, before).
        # NumPy's `take` costs half of an index.
        ways = prefixes.arriving.take(tag, axis=0)
        ways += (rest + emissions[t].take(row * tags + tag))[:, :, None]
        whole = ways + prefixes.scores[t - 1][:, None, :]
        best, place = _best(whole.reshape(batch, -1), count)
        origin = place // tags
        before = place - tags * origin
        following = ways.take(row * (ranks * tags) + place)
        if not prefixes.whole[t]:
            # Where there is no token, endings stay as they were, in their ranks; further ranks hold
            # minus infinity.
            here = prefixes.mask[:, t, None]
            missing = ((0, 0), (0, best.shape[1] - ranks))
            best = np.where(here, best, np.pad(total, missing, constant_values=-np.inf))
            following = np.where(here, following, np.pad(rest, missing, constant_values=-np.inf))
            before = np.where(here, before, np.pad(tag, missing))
            origin = np.where(here, origin, np.minimum(np.arange(best.shape[1]), ranks - 1))
        total, tag, rest = best, before, following
        first_tags.append(tag)
        origins.append(origin)
    return _paths(first_tags[::-1], origins[::-1], chain.mask, total, count)


def _best(scores: _Scores, count: int) -> tuple[_Scores, _Ids]:
    """The highest of each row, at most `count`, and their places, the highest first."""
    best, place = torch.from_numpy(scores).topk(min(count, scores.shape[1]), dim=1)
    return best.numpy(), place.numpy()


def _paths(
    first_tags: list[_Ids], origins: list[_Ids], mask: Tensor, total: _Scores, count: int
) -> tuple[Tensor, Tensor]:
    """Whole paths from the first tags of endings, for each time, and where each was made from."""
    batch, kept = total.shape
    row = np.arange(batch)[:, None]
    rank = np.broadcast_to(np.arange(kept), (batch, kept))
    paths = np.empty((batch, kept, len(first_tags)), dtype=np.int64)
    paths[:, :, 0] = first_tags[0]
    for t, origin in enumerate(origins, 1):
        rank = origin[row, rank]
        paths[:, :, t] = first_tags[t][row, rank]
    missing = (0, count - kept)
    best = torch.from_numpy(paths).to(mask.device).masked_fill(~mask.unsqueeze(1), 0)
    scores = torch.from_numpy(total).to(mask.device)
    return pad(best, (0, 0, *missing)), pad(scores, missing, value=-torch.inf)
