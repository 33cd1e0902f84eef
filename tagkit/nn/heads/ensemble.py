"""An ensemble: several networks in one model, whose scores are averaged in prediction.

Its members differ in their initial weights and in what dropout leaves of them, and so they make
different mistakes (Hansen and Salamon 1990; Goodfellow, Bengio and Courville, section 7.11).
Each has embeddings and an encoder of its own. All are read by one head, whose inputs are the states
of all members side by side. In training each member is alone: the states of the others are 0, and
its own are multiplied by the number of members, as dropout does with what it keeps. So for all of
them together a linear layer gives the mean of the scores that it gives for each alone. A head of
classes is not linear, and scores each member alone in prediction too.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad


def alone(states: Tensor, member: int, members: int) -> Tensor:
    """(..., features) of a member, times `members` -> (..., members x features), 0 for others."""
    width = states.shape[-1]
    return pad(states * members, (member * width, (members - 1 - member) * width))


def together(states: Sequence[Tensor]) -> Tensor:
    """(..., features) of each member -> (..., members x features)."""
    return torch.cat([*states], dim=-1)


def each_alone(states: Tensor, members: int) -> list[Tensor]:
    """What `together` returns -> what `alone` returns for each member."""
    parts = states.chunk(members, dim=-1)
    return [alone(part, number, members) for number, part in enumerate(parts)]
