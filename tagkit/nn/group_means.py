"""Rows of a matrix moved towards the mean of their group."""

import torch
from torch import Tensor


def toward_means(values: Tensor, groups: Tensor, share: float) -> Tensor:
    """The matrix with x + share (m - x) for each row x, where m is the mean of its group's rows.

    Args:
        values: (rows, features), at least one row.
        groups: (rows,) int64 number of each row's group, from 0; no group is empty.
        share: of the way to the mean, from 0 to 1.
    """
    counts = torch.bincount(groups)
    sums = values.new_zeros(len(counts), values.shape[1]).index_add_(0, groups, values)
    # (groups, features) -> (rows, features)
    means = (sums / counts.unsqueeze(1))[groups]
    return values + share * (means - values)
