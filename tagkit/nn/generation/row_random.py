"""Random numbers of each row, whatever rows it shares a batch with."""

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor


class RowRandom:
    """Uniform random numbers, of a generator for each row.

    A row's numbers depend on the seed and on the number of the row alone, so that it is the same
    row by itself, among others, and after others have ended.
    """

    def __init__(self, seed: int, rows: Sequence[int]) -> None:
        """`rows` has the number of each row."""
        self._generators = [torch.Generator().manual_seed(_seed_of(seed, row)) for row in rows]

    def uniform(self, size: int) -> Tensor:
        """(rows, size) float64 on the CPU, from 0 up to but not including 1."""
        # Always on the CPU: other devices have other generators.
        return torch.stack(
            [torch.rand(size, generator=each, dtype=torch.float64) for each in self._generators]
        )

    def select(self, rows: Tensor) -> None:
        """Keep the generators of these rows."""
        self._generators = [self._generators[row] for row in rows.tolist()]


def _seed_of(seed: int, row: int) -> int:
    # Of a sum, row 1 of seed 1 would be row 0 of seed 2.
    digest = hashlib.sha256(f"{seed} {row}".encode()).digest()
    # torch's generator on the CPU reads 32 bits of a seed.
    return int.from_bytes(digest[:4], "little")
