"""The n best paths of a chain, exactly. Each but the first leaves an earlier one at one token.

The set of all paths but the best one is divided by the last token at which a path differs from it,
and by its tag there (Lawler 1972; Seshadri and Sundberg 1994 for the Viterbi algorithm). The best
path of each part is known from Viterbi's forward pass: the best beginning up to that tag, then the
rest of the path that it leaves. The best of all these is the next path, and its part is divided in
the same way. What a path loses by leaving another at a token depends on the tag that follows alone.
So where a path comes back to the one that it left, all that lies before has been computed already.
"""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import pad

from tagkit.nn.crf.chain import BestPrefixes, Chain, best_prefixes, trace
from tagkit.nn.crf.many_best import many_best

_Ids = npt.NDArray[np.int64]
_Scores = npt.NDArray[np.float64]
# Paths up to which they are found one by one: each costs some 60 microseconds of calls.
_FEW = 8
# Of scores of all tags that are held at once, beside those of the forward pass.
_BYTES = 2**22


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
    if count > _FEW:
        return many_best(chain, count)
    # Weights far out of range give infinite scores, whose differences are not numbers; readers of
    # the result report that.
    with np.errstate(invalid="ignore"):
        search = _Search(best_prefixes(chain), count)
        ranks = 1
        while ranks < count and search.find(ranks):
            ranks += 1
    # (rank, batch, time) -> (batch, rank, time), and (rank, batch) -> (batch, rank)
    paths = torch.from_numpy(search.tags[:ranks, :, :-1].swapaxes(0, 1) * search.mask[:, None])
    totals = torch.from_numpy(search.totals[:ranks].T.copy())
    device, missing = chain.mask.device, (0, count - ranks)
    if ranks < count:
        paths, totals = pad(paths, (0, 0, *missing)), pad(totals, missing, value=-torch.inf)
    return paths.to(device), totals.to(device)


class _Search:
    """The paths that were found, rank by rank, and the best ways to leave each.

    A way leaves a path at a token: it has another tag there, and all tags of the path after it.
    Calls are what this costs, not sums; NumPy takes rows of an array fastest by one index. So
    sentences of all ranks are numbered `rank x batch + row`, their tokens and tags likewise.

    Attributes:
        tags: (ranks, batch, time + 1); after a sentence's last token stands the number of tags.
        totals: (ranks, batch) scores; minus infinity where a sentence has no such path.
        mask: (batch, time) bool.
    """

    def __init__(self, prefixes: BestPrefixes, ranks: int) -> None:
        """With the best paths, as rank 0, and room for so many ranks."""
        time, batch, tags = prefixes.scores.shape
        self.mask = prefixes.mask
        self._rows, self._times = np.arange(batch), np.arange(time)
        # (time, batch, tags) -> (batch x time, tags)
        self._scores = np.ascontiguousarray(prefixes.scores.swapaxes(0, 1)).reshape(-1, tags)
        # A row for each tag that may follow, and one for the end: (tags + 1, tags).
        self._arriving = np.concatenate([prefixes.arriving, prefixes.end[None]])
        # Ranks that are not found, of which a sentence may have few, take no memory.
        self.tags = np.empty((ranks, batch, time + 1), dtype=np.int64)
        self.totals = np.empty((ranks, batch))
        # What the best way costs that leaves a path at each token, infinity where ways belong to
        # the path that this one left; and the same without ways that were taken since.
        self._losses = np.empty((ranks, batch, time))
        self._left = np.empty((ranks, batch, time))
        # Of `_left` the least of each path: the score of that way, and its token.
        self._open = np.empty((ranks, batch))
        self._place = np.empty((ranks, batch), dtype=np.int64)
        # Which way each path is: the token of a path that it left, and its tag there.
        self._way = np.empty((ranks, batch), dtype=np.int64)
        self._way_tag = np.empty((ranks, batch), dtype=np.int64)

        ended = prefixes.at_end()
        paths = self.tags[0]
        paths[:, :-1] = trace(prefixes, ended.argmax(1))
        paths[:, -1] = tags
        paths[:, :-1][~self.mask] = tags
        self.totals[0] = ended.max(1)
        self._way[0] = -1
        self._leave_everywhere()
        self._open_ways(0)

    def _leave_everywhere(self) -> None:
        """Losses of the best paths, (batch, time), at all tokens."""
        batch, time = self.mask.shape
        losses = self._losses[0]
        # In windows, as this holds scores of all tags at each token once more.
        width = max(1, _BYTES // (self._scores.strides[0] * batch))
        for begin in range(0, time, width):
            times = self._times[begin : begin + width]
            places = (self._rows[:, None] * time + times).ravel()
            # Padding has no tag: any will do, as its losses are not used.
            here = np.minimum(self.tags[0, :, times].T, len(self._arriving) - 2).ravel()
            following = self.tags[0, :, times + 1].T.ravel()
            found = _losses(self._ways(places, following), here)
            losses[:, begin : begin + width] = found.reshape(batch, -1)
        losses[~self.mask] = np.inf

    def _ways(self, places: _Ids, following: _Ids) -> _Scores:
        """(places, tags) scores of paths up to each tag, and of the step to the tag that follows.

        Args:
            places: (places,) tokens.
            following: (places,) the tag after each.
        """
        ways = self._scores.take(places, axis=0)
        ways += self._arriving.take(following, axis=0)
        return ways

    def _open_ways(self, rank: int) -> None:
        """All ways to leave the paths of a rank are open."""
        self._left[rank] = self._losses[rank]
        self._find_least(rank * len(self._rows) + self._rows)

    def _find_least(self, paths: _Ids) -> None:
        """The best open way to leave each of these paths, (paths,)."""
        time = len(self._times)
        left = self._left.reshape(-1, time).take(paths, axis=0)
        place = left.argmin(1)
        least = left.ravel().take(np.arange(len(paths)) * time + place)
        self._place.put(paths, place)
        self._open.put(paths, self.totals.take(paths) - least)

    def find(self, rank: int) -> bool:
        """Add the paths of the next rank; False where no sentence has one."""
        batch, time = len(self._rows), len(self._times)
        left = self._open[:rank].argmax(0)  # (batch,) rank of the path that is left
        paths = left * batch + self._rows
        totals = self._open.take(paths)
        found = totals > -np.inf
        if not found.any():
            return False
        at = self._place.take(paths)  # (batch,)
        self.totals[rank] = totals
        tags, losses = self.tags[rank], self._losses[rank]
        self.tags.reshape(-1, time + 1).take(paths, axis=0, out=tags)
        self._losses.reshape(-1, time).take(paths, axis=0, out=losses)
        self._take_way(rank, paths, at)
        losses[self._times >= np.where(found, at, 0)[:, None]] = np.inf
        self._trace_back(rank, np.flatnonzero(found & (at > 0)), at)
        self._open_ways(rank)
        return True

    def _take_way(self, rank: int, paths: _Ids, at: _Ids) -> None:
        """Set the tags of new paths at the tokens where they leave others, and close these ways.

        Args:
            rank: of the new paths, whose tags are still those of the paths that they leave.
            paths: (batch,) those.
            at: (batch,) tokens.
        """
        time, tags = len(self._times), self._scores.shape[1]
        place = self._rows * (time + 1) + at
        own, following = self.tags[rank].take(place), self.tags[rank].take(place + 1)
        ways = self._ways(self._rows * time + at, following)
        cells = self._rows * tags
        best = ways.take(cells + own)
        ways.put(cells + own, -np.inf)
        way = paths * time + at
        earlier, rows = np.nonzero(self._way[:rank] == way)
        ways[rows, self._way_tag[earlier, rows]] = -np.inf
        tag = ways.argmax(1)
        self.tags[rank].put(place, tag)
        self._way[rank], self._way_tag[rank] = way, tag
        ways.put(cells + tag, -np.inf)
        self._left.put(way, _difference(best, ways.max(1)))
        self._find_least(paths)

    def _trace_back(self, rank: int, rows: _Ids, at: _Ids) -> None:
        """The best beginnings of new paths, each until it meets the path that it left.

        Args:
            rank: of the paths, which have tags and losses of those that they left.
            rows: (places,) sentences.
            at: (batch,) where paths were left.
        """
        tags, losses, time = self.tags[rank], self._losses[rank], len(self._times)
        places = rows * time + at[rows]
        while len(places):
            places = places - 1
            cells = places + rows  # a sentence of `tags` has one place more
            ways = self._ways(places, tags.take(cells + 1))
            tag = ways.argmax(1)
            losses.put(places, _losses(ways, tag))
            # Equal tags have equal tags before them, and equal losses.
            further = (tag != tags.take(cells)) & (places > rows * time)
            tags.put(cells, tag)
            places, rows = places[further], rows[further]


def _losses(ways: _Scores, tag: _Ids) -> _Scores:
    """(places,) by how much the way with `tag` is better than all others, each 0 or more.

    Args:
        ways: (places, tags), in which that of `tag` is minus infinity when this returns.
        tag: (places,) the best of each.
    """
    cells = np.arange(len(tag)) * ways.shape[1] + tag
    best = ways.take(cells)
    ways.put(cells, -np.inf)
    return _difference(best, ways.max(1))


def _difference(best: _Scores, others: _Scores) -> _Scores:
    """`best` - `others`, infinity where these are minus infinity: there is no other way."""
    return np.subtract(best, others, out=np.full_like(best, np.inf), where=others > -np.inf)
