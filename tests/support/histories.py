"""A model in which each tag depends on all tags before it: a table of every history."""

import itertools

import torch
from torch import Tensor

TAGS = 3
LENGTHS = (4, 2, 1)
MASK = torch.arange(4) < torch.tensor(LENGTHS)[:, None]


class History:
    """Log probabilities that depend on the whole history, one table for each sentence."""

    def __init__(self, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.tables = [
            {
                before: torch.log_softmax(2 * torch.randn(TAGS, generator=generator), 0)
                for length in range(4)
                for before in itertools.product(range(TAGS), repeat=length)
            }
            for _ in LENGTHS
        ]
        self.histories: list[list[tuple[int, ...]]] = []

    def __call__(self, time: int, tags: Tensor | None, parents: Tensor) -> Tensor:
        if tags is None:
            self.histories = [[()] for _ in LENGTHS]
        else:
            self.histories = [
                [(*old[parent], tag) for tag, parent in zip(added, chosen, strict=True)]
                for old, added, chosen in zip(
                    self.histories, tags.tolist(), parents.tolist(), strict=True
                )
            ]
        rows = zip(self.tables, self.histories, strict=True)
        return torch.stack([torch.stack([table[path] for path in paths]) for table, paths in rows])

    def score(self, row: int, path: tuple[int, ...]) -> float:
        table = self.tables[row]
        return sum(float(table[path[:t]][tag]) for t, tag in enumerate(path))
