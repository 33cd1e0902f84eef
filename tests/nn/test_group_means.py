"""Rows moved towards the mean of their group, beside loops over numbers."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from tagkit.nn.group_means import toward_means


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.sampled_from([0.0, 0.3, 1.0]))
def test_each_row_is_moved_toward_the_mean_of_its_group(numbers: list[int], share: float) -> None:
    values = np.random.default_rng(len(numbers)).normal(size=(len(numbers), 3))
    groups = np.unique(numbers, return_inverse=True)[1]
    found = toward_means(torch.from_numpy(values), torch.from_numpy(groups), share)
    wanted = values.copy()
    for row, number in enumerate(numbers):
        members = [values[other] for other, same in enumerate(numbers) if same == number]
        wanted[row] += share * (sum(members) / len(members) - values[row])
    np.testing.assert_allclose(found.numpy(), wanted, rtol=0, atol=1e-12)


def test_what_is_not_a_number_stays_in_its_group() -> None:
    values = torch.tensor([[float("nan")], [1.0], [3.0], [5.0]])
    found = toward_means(values, torch.tensor([0, 0, 1, 1]), 0.5)
    assert found.isnan().tolist() == [[True], [True], [False], [False]]
    assert found[2:].tolist() == [[3.5], [4.5]]
