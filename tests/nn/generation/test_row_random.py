"""Random numbers of a row are its own."""

import math

import torch

from tagkit.nn.generation.row_random import RowRandom


def test_a_row_has_the_same_numbers_alone_among_others_and_after_others_are_gone() -> None:
    together, alone = RowRandom(5, range(4)), RowRandom(5, [2])
    assert torch.equal(together.uniform(3)[2:3], alone.uniform(3))
    together.select(torch.tensor([1, 2]))
    assert torch.equal(together.uniform(6)[1:], alone.uniform(6))


def test_rows_and_seeds_have_different_numbers() -> None:
    # Also row 1 of seed 0 and row 0 of seed 1.
    found = {
        tuple(row) for seed in range(20) for row in RowRandom(seed, range(5)).uniform(2).tolist()
    }
    assert len(found) == 100


def test_numbers_are_uniform_over_rows() -> None:
    """First numbers of many rows; Kolmogorov and Smirnov's statistic, with a tail of 1e-7."""
    count = 2000
    numbers = RowRandom(1, range(count)).uniform(1).squeeze(1).sort().values
    steps = torch.arange(count + 1, dtype=torch.float64) / count
    distance = max(float((steps[1:] - numbers).max()), float((numbers - steps[:-1]).max()))
    assert distance < math.sqrt(math.log(2e7) / (2 * count))
