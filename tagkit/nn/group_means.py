"""Rows of a matrix moved towards the mean of their group."""

import torch
from torch import Tensor


def toward_means(values: Tensor, rows: Tensor, groups: Tensor, share: float) -> Tensor:
    """The matrix with x + share (m - x) for each row x of a group, whose mean is m.

    Args:
        values: (all rows, features).
        rows: (n,) int64 numbers of those rows that are in a group.
        groups: (n,) int64 number of each one's group, from 0; no group is empty.
        share: of the way to the mean, from 0 to 1.

    Returns:
        (all rows, features); other rows are as they were.
    """
    if not len(rows):
        return values
    own = values[rows]  # (n, features)
    count = int(groups.max()) + 1
    sums = own.new_zeros(count, own.shape[1]).index_add(0, groups, own)  # (groups, features)
    means = sums / torch.bincount(groups, minlength=count).unsqueeze(1)
    return values.index_copy(0, rows, own + share * (means[groups] - own))
