"""The n best paths of a chain, exactly. Each but the first leaves an earlier one at one token.

The set of all paths but the best one is divided by the last token at which a path differs from it,
and by its tag there (Lawler 1972; Seshadri and Sundberg 1994 for the Viterbi algorithm). The best
path of each part is known from Viterbi's forward pass: the best beginning up to that tag, then the
rest of the path that it leaves. The best of all these is the next path, and its part is divided in
the same way. What a path loses by leaving another at a token depends on the tag that follows alone.
So where a path comes back to the one that it left, all that lies before has been computed already.

Many paths are found together instead, by lists of endings (`_many_best`).
"""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import pad

from tagkit.nn.crf.chain import BestPrefixes, Chain, best_prefixes

_Scores = npt.NDArray[np.float64]
_Ids = npt.NDArray[np.int64]

# Paths up to which they are found one by one: each costs some 60 microseconds of calls.
_ONE_BY_ONE = 8
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
    if count > _ONE_BY_ONE:
        return _many_best(chain, count)
    # Weights far out of range give infinite scores, whose differences are not numbers; readers of
    # the result report that.
    with np.errstate(invalid="ignore"):
        search = _PathSearch(best_prefixes(chain), count)
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


class _PathSearch:
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
        self._rows, self._times = np.arange(batch), np.arange(time + 1)
        # Where a sentence's tokens begin in an array of all of them, for two ranks, and its tags.
        self._first_cells = np.arange(2 * batch) * (time + 1)
        self._first_tags = self._rows * tags
        self._scores = prefixes.scores.reshape(-1, tags)  # (time x batch, tags)
        # A row for each tag that may follow, and one for the end: (tags + 1, tags).
        self._arriving = np.concatenate([prefixes.arriving, prefixes.end[None]])
        self.tags = np.empty((ranks, batch, time + 1), dtype=np.int64)
        self.totals = np.empty((ranks, batch))
        # What the best way costs that leaves a path at each token; infinity where ways belong to
        # the path that this one left, and beyond its end. Then the same without ways that were
        # taken since.
        self._losses = np.empty((ranks, batch, time + 1))
        self._left = np.empty((ranks, batch, time + 1))
        # The same arrays, a row for each path.
        self._tags_of, self._losses_of, self._left_of = (
            part.reshape(-1, time + 1) for part in (self.tags, self._losses, self._left)
        )
        # Of `_left` the least of each path: the score of that way, and its token.
        self._open = np.empty((ranks, batch))
        self._place = np.empty((ranks, batch), dtype=np.int64)
        # Which way each path is: the token of a path that it left, and its tag there.
        self._way = np.empty((ranks, batch), dtype=np.int64)
        self._way_tag = np.empty((ranks, batch), dtype=np.int64)

        self.totals[0] = prefixes.at_end().max(1)
        self._way[0] = -1
        self._find_best(prefixes)
        self._left[0] = self._losses[0]
        self._find_least(self._rows)

    def _find_best(self, prefixes: BestPrefixes) -> None:
        """Tags and losses of the best paths, from the last tags to the first."""
        time, batch, tags = prefixes.scores.shape
        # Tokens of one time side by side, as they are found.
        paths, losses = np.empty((time, batch), dtype=np.int64), np.empty((time, batch))
        following = np.full(batch, tags)
        # In windows, as this holds scores of all tags at each token once more.
        width = min(time, max(1, _BYTES // prefixes.scores.strides[0]))
        window = np.empty((width, batch, tags))
        for end in range(time, 0, -width):
            begin = max(0, end - width)
            for t in range(end - 1, begin - 1, -1):
                ways = np.add(
                    prefixes.scores[t],
                    self._arriving.take(following, axis=0),
                    out=window[t - begin],
                )
                following = ways.argmax(1)
                if not prefixes.whole[t]:
                    following = np.where(self.mask[:, t], following, tags)
                paths[t] = following
            # Padding has no tag: any will do, as its losses are not used.
            own = np.minimum(paths[begin:end], tags - 1)
            own += np.arange(0, own.size * tags, tags).reshape(own.shape)
            ways = window[: end - begin]
            np.take(ways, own, out=losses[begin:end], mode="clip")  # checked, it would be slower
            ways.put(own, -np.inf)
            # Of so many rows torch finds the greatest in a third of the time of `_losses`.
            losses[begin:end] -= torch.from_numpy(ways).amax(2).numpy()
        self.tags[0, :, :-1], self._losses[0, :, :-1] = paths.T, losses.T
        self.tags[0, :, -1], self._losses[0, :, -1] = tags, np.inf
        self._losses[0, :, :-1][~self.mask] = np.inf

    def _ways(self, places: _Ids, following: _Ids) -> _Scores:
        """(places, tags) scores of paths up to each tag, and of the step to the tag that follows.

        Args:
            places: (places,) tokens, as in `_scores`.
            following: (places,) the tag after each.
        """
        ways = self._scores.take(places, axis=0)
        ways += self._arriving.take(following, axis=0)
        return ways

    def _find_least(self, paths: _Ids) -> None:
        """The best open way to leave each of these paths, (paths,)."""
        left = self._left_of.take(paths, axis=0)
        place = left.argmin(1)
        self._place.put(paths, place)
        # (paths,) the number at each place, as one index into all rows
        least = left.take(self._first_cells[: len(paths)] + place)
        self._open.put(paths, self.totals.take(paths) - least)

    def find(self, rank: int) -> bool:
        """Add the paths of the next rank; False where no sentence has one."""
        batch = len(self._rows)
        left = self._open[:rank].argmax(0)  # (batch,) rank of the path that is left
        paths = left * batch + self._rows
        # Minus infinity, or not a number, where a sentence has no further path. Of a sentence with
        # infinite scores rank 0 alone has a meaning.
        found = np.fmax(self._open.take(paths), -np.inf, out=self.totals[rank]) > -np.inf
        if not found.any():
            return False
        at = self._place.take(paths)  # (batch,)
        self.tags[rank] = self._tags_of.take(paths, axis=0)
        self._losses[rank] = self._losses_of.take(paths, axis=0)
        self._take_way(rank, paths, at)
        self._trace_back(rank, np.flatnonzero(found & (at > 0)), at)
        if rank + 1 < len(self.totals):  # the paths of the last rank are not left
            losses = self._losses[rank]
            np.copyto(losses, np.inf, where=self._times >= at[:, None])
            self._left[rank] = losses
            self._find_least(np.concatenate([paths, rank * batch + self._rows]))
        return True

    def _take_way(self, rank: int, paths: _Ids, at: _Ids) -> None:
        """Set the tags of new paths at the tokens where they leave others, and close these ways.

        Args:
            rank: of the new paths, whose tags are still those of the paths that they leave.
            paths: (batch,) those.
            at: (batch,) tokens.
        """
        tags, firsts = self.tags[rank], self._first_tags
        cell = self._first_cells[: len(firsts)] + at
        ways = self._ways(at * len(firsts) + self._rows, tags.take(cell + 1))
        own = tags.take(cell)
        best = ways.take(firsts + own)
        way = paths * len(self._times) + at
        # (rank, batch): tags with which the path was left here before; otherwise its own, as it is
        # always in row 0, whose paths have left none.
        taken = np.where(self._way[:rank] == way, self._way_tag[:rank], own)
        ways.put(firsts + taken, -np.inf)
        tag = ways.argmax(1)
        tags.put(cell, tag)
        self._way[rank], self._way_tag[rank] = way, tag
        # What is left is the best way but for these: its loss is what it is worse than the path.
        ways.put(firsts + tag, -np.inf)
        best -= ways.take(firsts + ways.argmax(1))
        self._left.put(way, best)

    def _trace_back(self, rank: int, rows: _Ids, at: _Ids) -> None:
        """The best beginnings of new paths, each until it meets the path that it left.

        Args:
            rank: of the paths, which have tags and losses of those that they left.
            rows: (places,) sentences.
            at: (batch,) where paths were left.
        """
        tags, losses, batch = self.tags[rank], self._losses[rank], len(self._rows)
        last = rank + 1 == len(self.totals)
        tokens = at.take(rows)
        cells, places = self._first_cells.take(rows) + tokens, tokens * batch + rows
        following = tags.take(cells)
        while len(rows):
            cells, places = cells - 1, places - batch
            ways = self._ways(places, following)
            tag = ways.argmax(1)
            # Equal tags have equal tags before them, and equal losses.
            differs = tag != tags.take(cells)
            tags.put(cells, tag)
            if not last:
                firsts = self._first_tags[: len(tag)]
                losses.put(cells, _losses(ways, firsts + tag, firsts))
            differs &= places >= batch
            further = differs.nonzero()[0]
            cells, places, following = (part.take(further) for part in (cells, places, tag))
            rows = further


def _losses(ways: _Scores, chosen: _Ids, firsts: _Ids) -> _Scores:
    """(places,) by how much the best way to each place is better than all others.

    0 or more; infinity where there is no other way, and not a number where there is none at all.

    Args:
        ways: (places, tags), in which the best ones are minus infinity when this returns.
        chosen: (places,) index of the best way of each place, in all rows as one.
        firsts: (places,) index of the first way of each place.
    """
    best: _Scores = ways.take(chosen)
    ways.put(chosen, -np.inf)
    # `max` takes four times as long as the place of the greatest, for rows of a few tags.
    best -= ways.take(firsts + ways.argmax(1))
    return best


# Many best paths of a chain: Viterbi forwards, then lists of the best endings backwards.
#
# The forward pass gives, for each tag, the score of the best beginning of a path up to it. An
# ending is worth the score of the best path that ends like this, which is the sum of the two (Soong
# and Huang 1991, who search such endings one by one). At each token only the n best endings can be
# those of the n best paths: an ending that is not among them has n others before it, and each of
# these belongs to a path that is better than any with this ending.
def _many_best(chain: Chain, count: int) -> tuple[Tensor, Tensor]:
    """As `n_best`, for a chain that is valid and paths of any number.

    A token costs the same calls whatever the number of paths, and sums in proportion to it.
    """
    prefixes = best_prefixes(chain)
    time, batch, tags = prefixes.scores.shape
    # (batch, time, tags) -> (time, batch x tags); a tag's place there is that of its sentence + tag
    emissions = chain.emissions.detach().cpu().double().transpose(0, 1).reshape(time, -1).numpy()
    row = np.arange(batch)[:, None]  # beside tag and rank, (batch, rank)
    # The endings of one tag, (batch, rank), the best one first: their first tags, the score of what
    # follows these, and that of the best whole path.
    total, tag = _highest(prefixes.at_end(), count)
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
        best, place = _highest(whole.reshape(batch, -1), count)
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
    return _whole_paths(first_tags[::-1], origins[::-1], chain.mask, total, count)


def _highest(scores: _Scores, count: int) -> tuple[_Scores, _Ids]:
    """The highest of each row, at most `count`, and their places, the highest first."""
    best, place = torch.from_numpy(scores).topk(min(count, scores.shape[1]), dim=1)
    return best.numpy(), place.numpy()


def _whole_paths(
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
