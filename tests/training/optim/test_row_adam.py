"""Adam over the rows that a step reads, beside torch's Adam over the whole table."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tagkit.training.optim import row_adam as module
from tagkit.training.optim.ema import WeightAverage, decay_at
from tagkit.training.optim.row_adam import RowAdam

ROWS, DIM = 12, 3


class Dense:
    """torch's Adam and the running mean, over all rows at each step."""

    def __init__(self, table: Tensor) -> None:
        self.table = table.clone().requires_grad_()
        self.adam = torch.optim.Adam([self.table], lr=1.0)
        self.mean = WeightAverage([self.table], 0.999)

    def step(self, rows: Tensor, gradients: Tensor, lr: float, decay: float) -> None:
        self.table.grad = torch.zeros_like(self.table).index_put_((rows,), gradients)
        self.adam.param_groups[0]["lr"] = lr
        self.adam.step()
        self.mean.update(decay)


def walk(steps: int, seed: int, often: float) -> tuple[Dense, RowAdam]:
    """Both after some steps, at each of which few rows have gradients, of very unequal sizes."""
    dice = torch.Generator().manual_seed(seed)
    table = torch.randn(ROWS, DIM, generator=dice)
    dense, lazy = Dense(table), RowAdam(table.clone())
    for step in range(1, steps + 1):
        chance = torch.linspace(0, often, ROWS)  # row 0 never has one, the last ones often
        rows = torch.nonzero(torch.rand(ROWS, generator=dice) < chance)[:, 0]
        scale = 10 ** (3 * torch.rand(1, generator=dice) - 3)
        gradients = scale * torch.randn(len(rows), DIM, generator=dice)
        lr, decay = 0.003 * (1.5 - step / steps), decay_at(step, 0.99)
        lazy.read(rows)
        torch.testing.assert_close(lazy.table[rows], dense.table.detach()[rows], rtol=0, atol=5e-5)
        lazy.step(rows, gradients, lr=lr, decay=decay)
        dense.step(rows, gradients, lr, decay)
    return dense, lazy


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(st.integers(1, 150), st.integers(0, 1000), st.sampled_from([0.02, 0.2, 1.0]))
def test_rows_and_means_are_those_of_adam_over_the_whole_table(
    steps: int, seed: int, often: float
) -> None:
    dense, lazy = walk(steps, seed, often)
    lazy.read_all()
    torch.testing.assert_close(lazy.table, dense.table.detach(), rtol=0, atol=5e-5)
    torch.testing.assert_close(lazy.mean, dense.mean.means[0], rtol=0, atol=5e-5)
    state = dense.adam.state[dense.table]
    torch.testing.assert_close(lazy.first, state["exp_avg"], rtol=1e-3, atol=1e-7)
    torch.testing.assert_close(lazy.second, state["exp_avg_sq"], rtol=1e-3, atol=1e-7)


def test_sweeps_bring_all_rows_up_to_date_and_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_SWEEP", 7)
    dense, lazy = walk(100, 5, 0.1)
    assert lazy.clock == 100 % 7
    lazy.read_all()
    torch.testing.assert_close(lazy.table, dense.table.detach(), rtol=0, atol=5e-5)
    torch.testing.assert_close(lazy.mean, dense.mean.means[0], rtol=0, atol=5e-5)


def test_a_row_without_gradients_stands_still_and_one_with_a_single_one_goes_on() -> None:
    lazy = RowAdam(torch.ones(2, 1))
    lazy.read(torch.tensor([1]))
    lazy.step(torch.tensor([1]), torch.tensor([[0.5]]), lr=0.01, decay=0.5)
    at_once = float(lazy.table[1])
    for _ in range(200):
        lazy.step(torch.tensor([], dtype=torch.int64), torch.zeros(0, 1), lr=0.01, decay=0.5)
    assert float(lazy.table[1]) == at_once  # not read, not moved
    lazy.read_all()
    assert float(lazy.table[0]) == float(lazy.mean[0]) == 1
    assert 1 - float(lazy.table[1]) > 5 * (1 - at_once)


def test_reading_twice_is_reading_once() -> None:
    _, lazy = walk(40, 3, 0.3)
    lazy.read_all()
    before = [t.clone() for t in (lazy.table, lazy.first, lazy.second, lazy.mean)]
    lazy.read(torch.arange(ROWS))
    for tensor, old in zip((lazy.table, lazy.first, lazy.second, lazy.mean), before, strict=True):
        assert torch.equal(tensor, old)


def test_rows_in_small_groups_end_as_all_at_once_bit_for_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = []
    for group in (5, 4096):
        monkeypatch.setattr(module, "_ROWS_AT_ONCE", group)
        _, lazy = walk(60, 4, 1.0)
        found.append((lazy.table, lazy.first, lazy.second, lazy.mean))
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)


def test_a_large_table_has_one_second_moment_a_row_the_mean_of_its_squares(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_LARGE_TABLE", ROWS * DIM)
    dice = torch.Generator().manual_seed(1)
    table = torch.randn(ROWS, DIM, generator=dice)
    weights, first = table.double(), torch.zeros(ROWS, DIM, dtype=torch.float64)
    second = torch.zeros(ROWS, 1, dtype=torch.float64)
    lazy = RowAdam(table)
    assert lazy.second.shape == (ROWS, 1)
    for step in range(1, 30):
        rows = torch.nonzero(torch.rand(ROWS, generator=dice) < 0.4)[:, 0]
        gradients = torch.randn(len(rows), DIM, generator=dice)
        lazy.read(rows)
        lazy.step(rows, gradients, lr=0.01, decay=0.9)
        # Kingma and Ba 2015, algorithm 1, over the whole table
        whole = torch.zeros(ROWS, DIM, dtype=torch.float64)
        whole[rows] = gradients.double()
        first = 0.9 * first + 0.1 * whole
        second = 0.999 * second + 0.001 * (whole**2).mean(1, keepdim=True)
        corrected = (second / (1 - 0.999**step)).sqrt() + 1e-8
        weights -= 0.01 * first / (1 - 0.9**step) / corrected
    lazy.read_all()
    seen = second[:, 0] > 0
    torch.testing.assert_close(lazy.table[seen].double(), weights[seen], rtol=0, atol=5e-5)
    torch.testing.assert_close(lazy.second.double(), second, rtol=1e-3, atol=1e-7)


def test_the_second_moments_of_a_large_table_of_before_become_one_a_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, before = walk(20, 2, 0.5)
    saved = before.tensors()
    monkeypatch.setattr(module, "_LARGE_TABLE", ROWS * DIM)
    lazy = RowAdam(before.table)
    lazy.restore(saved)
    torch.testing.assert_close(lazy.second, saved["second"].mean(1, keepdim=True))
    assert torch.equal(lazy.first, saved["first"])
