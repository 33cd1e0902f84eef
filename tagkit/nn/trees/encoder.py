"""Trees of a batch, read height by height: all nodes of one height, of all trees, in one step.

A tree over words 0 to n - 1 has n - 1 inner nodes of two children each (Goodfellow, Bengio and
Courville, section 10.6). `children` says of column t >= 1 of a row which they are, of inner node t:
a number from 0 on is a word's, -k is inner node k, which comes before t. So the array has the shape
of the words, and column 0, which is no node's, is not looked at.

States have a column for each word, and after these one for each inner node from 1 on: a row of
`time` words is (2 time - 1,) nodes, of which those of padding are zero. The root is the last inner
node, or the only word.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tagkit.nn.layers.encoder import Encoder
from tagkit.nn.padding import Ids
from tagkit.nn.recurrence.cell import CellOptions
from tagkit.nn.trees import TREES


def node_mask(mask: Tensor) -> Tensor:
    """(batch, 2 time - 1) bool, True on nodes, for (batch, time) of words."""
    return torch.cat((mask, mask[:, 1:]), dim=1)


@dataclass(frozen=True, slots=True)
class _Plan:
    """In which order the nodes of a batch are computed, and what goes where.

    A node is passed on to its parent once. So the nodes of a height are in the order of the heights
    of their parents, and each step takes what is waiting for it: all copies together are as long
    as the trees, however deep these are.

    Attributes:
        nodes: (nodes,) place of each in (batch x (2 time - 1),), by height.
        sizes: (heights, heights + 1) number of nodes of each height whose parent has each height;
            the last column is that of the roots.
        children: of each height from 1 on, (nodes of that height x 2,) place of left and right
            child among all children of that height, which are in the order of their own heights.
        roots: (batch,) place of each root in `nodes`.
    """

    nodes: Ids
    sizes: Ids
    children: list[Ids]
    roots: Ids

    @classmethod
    def of(cls, mask: npt.NDArray[np.bool_], children: Ids) -> "_Plan":
        """The plan of a batch; (batch, time) and (batch, time, 2) as above."""
        batch, time = mask.shape
        # (batch, time, 2) columns of the children among a row's nodes
        columns = np.where(children >= 0, children, time - 1 - children)
        rows = np.arange(batch)
        heights = np.zeros((batch, 2 * time - 1), np.int64)
        for t in range(1, time):  # children come before their parents
            left, right = columns[:, t, 0], columns[:, t, 1]
            heights[:, time - 1 + t] = 1 + np.maximum(heights[rows, left], heights[rows, right])
        real = np.concatenate((mask, mask[:, 1:]), axis=1)
        highest = int(heights[real].max())
        parents = np.full_like(heights, highest + 1)  # (batch, nodes) height of each one's parent
        row, inner = mask[:, 1:].nonzero()  # (inner nodes,) each
        pairs = columns[row, inner + 1]  # (inner nodes, 2)
        parents[row[:, None], pairs] = heights[row, time + inner][:, None]
        # (nodes,) of real ones, in the order of rows; then by height, and by that of the parent
        flat = real.flatten().nonzero()[0]
        height, parent = heights.flatten()[flat], parents.flatten()[flat]
        order = np.lexsort((flat, parent, height))
        sizes = np.zeros((highest + 1, highest + 2), np.int64)
        np.add.at(sizes, (height, parent), 1)
        # Where each is among those whose parents have the same height.
        taken = np.lexsort((flat, height, parent))
        place = np.zeros(real.size, np.int64)
        before = np.cumsum(sizes.sum(0)) - sizes.sum(0)
        place[flat[taken]] = np.arange(len(flat)) - before[parent[taken]]
        flat_pairs = place[(row * real.shape[1])[:, None] + pairs]  # (inner nodes, 2)
        of_inner = np.zeros((real.size, 2), np.int64)
        of_inner[row * real.shape[1] + time + inner] = flat_pairs
        nodes = flat[order]
        ends = np.cumsum(sizes.sum(1))
        of_heights = [of_inner[nodes[a:b]].flatten() for a, b in pairwise(ends)]
        rank = np.zeros(real.size, np.int64)
        rank[nodes] = np.arange(len(nodes))
        lengths = mask.sum(1)
        root = np.where(lengths > 1, time + lengths - 2, 0)
        return cls(nodes, sizes[:, 1:], of_heights, rank[rows * real.shape[1] + root])


class TreeEncoder(Encoder):
    """One recursive network over the trees of texts, with dropout before and after it.

    Attributes:
        cell: computes the states.
    """

    def __init__(
        self, *, cell: str, inputs: int, hidden: int, options: CellOptions, **dropout: Any
    ) -> None:
        """`cell` is a row of `TREES`; `dropout` has the probabilities that `Encoder` takes."""
        super().__init__(
            cell=cell, options=options, inputs=inputs, hidden=hidden, layers=0, connection="none",
            bidirectional=False, merge="concat", output_layers=(), segment=0, **dropout,
        )  # fmt: skip
        self.cell = TREES[cell](inputs, hidden)
        self.outputs = hidden

    def read_trees(self, inputs: Tensor, mask: Tensor, children: Tensor) -> tuple[Tensor, Tensor]:
        """States of all nodes, and of the roots, before dropout, for `output`.

        Args:
            inputs: (batch, time, inputs) vectors of words; padding has no effect.
            mask: (batch, time) bool, True on words.
            children: (batch, time, 2) int64 of each inner node, as described above.

        Returns:
            (batch, 2 time - 1, hidden), zero on padding, and (batch, hidden).
        """
        plan = _Plan.of(mask.cpu().numpy(), children.cpu().numpy())
        batch, time = mask.shape
        words = self._drop(self.word_dropout(inputs)).flatten(0, 1)  # (batch x time, inputs)

        def on_device(ids: Ids) -> Tensor:
            return torch.from_numpy(ids).to(words.device)

        leaves = plan.nodes[: plan.sizes[0].sum()]
        row, column = np.divmod(leaves, 2 * time - 1)
        found = [self.cell.leaf(words.index_select(0, on_device(row * time + column)))]
        waiting: list[list[Tensor]] = [[] for _ in range(len(plan.sizes))]  # for each height
        for above, chosen in enumerate(plan.children):
            for parent, part in _parts(found[-1], plan.sizes[above]):
                waiting[parent].append(part)
            # (children, values) -> (children, values) in the order of parents -> (nodes, 2, values)
            ready = torch.cat(waiting[above]).index_select(0, on_device(chosen))
            waiting[above] = []
            found.append(self.cell.join(ready.view(-1, 2, self.cell.values)))
        states = torch.cat(found)[:, : self.cell.hidden]  # (nodes, hidden)
        every = states.new_zeros(batch * (2 * time - 1), self.cell.hidden)
        every = every.index_copy(0, on_device(plan.nodes), states)
        return every.view(batch, 2 * time - 1, -1), states.index_select(0, on_device(plan.roots))


def _parts(states: Tensor, sizes: Ids) -> Iterator[tuple[int, Tensor]]:
    """States of one height by that of their parents, counted from 1, which is number 0."""
    kept = sizes.nonzero()[0]
    yield from zip(kept.tolist(), torch.split(states, sizes[kept].tolist()), strict=True)
