"""Ridge regression from sums, against NumPy in float64."""

import numpy as np
import pytest
import torch

from tagkit.nn.heads.ridge import RidgeSums, Rows

CPU = torch.device("cpu")
# More inputs than blocks, and a number that no block size divides; and fewer inputs than blocks.
SIZES = [(60, 19, 3), (7, 19, 3), (40, 5, 2), (30, 1, 1)]


def rows_of(count: int, inputs: int, outputs: int, *, weighted: bool) -> Rows:
    generator = torch.Generator().manual_seed(inputs)
    # Far from 0, so that a bias that is forgotten or penalised shows.
    states = torch.randn(count, inputs, generator=generator) + 3
    targets = torch.rand(count, outputs, generator=generator) < 0.4
    weights = torch.rand(count, generator=generator) + 0.5 if weighted else None
    return Rows(states, targets, weights)


def sums_of(*parts: Rows) -> RidgeSums:
    sums = RidgeSums(parts[0].states.shape[1], parts[0].targets.shape[1], CPU)
    for part in parts:
        sums.add(part)
    return sums


def least_squares(rows: Rows, penalty: float) -> tuple[np.ndarray, np.ndarray]:
    """The minimum by `numpy.linalg.lstsq`, the penalty as rows of their own: weights and bias."""
    states = rows.states.double().numpy()
    targets = np.where(rows.targets.numpy(), 1.0, -1.0)
    weights = np.ones(len(states)) if rows.weights is None else rows.weights.double().numpy()
    weights = weights / weights.sum()
    variance = (weights @ states**2 - (weights @ states) ** 2).mean()
    root = np.sqrt(weights)[:, None]
    inputs, outputs = states.shape[1], targets.shape[1]
    # The last column is the bias, which has no penalty.
    design = np.hstack([states, np.ones((len(states), 1))]) * root
    shrink = np.hstack([np.sqrt(penalty * variance) * np.eye(inputs), np.zeros((inputs, 1))])
    goal = np.vstack([targets * root, np.zeros((inputs, outputs))])
    found = np.linalg.lstsq(np.vstack([design, shrink]), goal, rcond=None)[0]
    return found[:-1], found[-1]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_solution_is_that_of_least_squares_for_every_penalty(
    size: tuple[int, int, int], weighted: bool
) -> None:
    rows, penalties = rows_of(*size, weighted=weighted), (1e-4, 0.1, 10.0)
    for penalty, found in zip(penalties, sums_of(rows).solve(penalties), strict=True):
        weights, bias = least_squares(rows, penalty)
        np.testing.assert_allclose(found.weights.numpy(), weights, rtol=0, atol=1e-8)
        np.testing.assert_allclose(found.bias.numpy(), bias, rtol=0, atol=1e-8)


def test_it_is_that_of_the_normal_equations() -> None:
    # W = Y X^T (X X^T + beta I)^-1 of states and targets without their means
    rows = rows_of(60, 19, 3, weighted=False)
    states, targets = rows.states.double(), rows.targets.double() * 2 - 1
    x = (states - states.mean(0)).T
    y = (targets - targets.mean(0)).T
    beta = 0.01 * float((x @ x.T).diagonal().mean())
    expected = y @ x.T @ torch.linalg.inv(x @ x.T + beta * torch.eye(19))
    (found,) = sums_of(rows).solve([0.01])
    torch.testing.assert_close(found.weights.T, expected, rtol=0, atol=1e-9)


def test_batches_and_their_order_do_not_change_the_solution() -> None:
    whole = rows_of(60, 19, 3, weighted=True)
    assert whole.weights is not None
    cuts = [slice(40, 60), slice(0, 1), slice(1, 40)]
    parts = [Rows(whole.states[cut], whole.targets[cut], whole.weights[cut]) for cut in cuts]
    (found,), (expected,) = sums_of(*parts).solve([1e-3]), sums_of(whole).solve([1e-3])
    torch.testing.assert_close(found.weights, expected.weights, rtol=0, atol=1e-10)
    torch.testing.assert_close(found.bias, expected.bias, rtol=0, atol=1e-10)


def test_a_weight_of_two_is_that_of_a_row_twice() -> None:
    rows = rows_of(30, 5, 2, weighted=False)
    twice = Rows(rows.states, rows.targets, torch.full((30,), 2.0))
    once_more = sums_of(rows, rows)
    for found, expected in zip(sums_of(twice).tensors(), once_more.tensors(), strict=True):
        torch.testing.assert_close(found, expected)


def test_sums_over_parts_add_up_to_the_sum_over_all() -> None:  # as those of several processes do
    whole = rows_of(60, 19, 3, weighted=False)
    halves = [Rows(whole.states[at::2], whole.targets[at::2]) for at in (0, 1)]
    parts = [sums_of(half).tensors() for half in halves]
    for mine, other, expected in zip(*parts, sums_of(whole).tensors(), strict=True):
        torch.testing.assert_close(mine + other, expected)


def test_states_that_depend_on_each_other_or_never_vary_have_a_solution() -> None:
    states = torch.randn(20, 2, generator=torch.Generator().manual_seed(1))
    states = torch.cat((states, states, torch.ones(20, 1)), dim=1)
    (found,) = sums_of(Rows(states, states[:, :1] > 0)).solve([1e-6])
    # The smallest weights share what is the same, and a constant has none.
    torch.testing.assert_close(found.weights[:2], found.weights[2:4], rtol=1e-6, atol=1e-9)
    assert found.weights[4].abs().max() < 1e-9


def test_a_state_that_is_no_number_is_noticed() -> None:
    rows = rows_of(30, 5, 2, weighted=False)
    assert sums_of(rows).are_finite
    rows.states[3, 2] = torch.nan
    assert not sums_of(rows).are_finite
