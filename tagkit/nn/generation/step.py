"""A model of the next unit, as generation sees it: one unit in, a distribution and a state out.

Three ways to end a sequence are known (Goodfellow, Bengio and Courville, section 10.2.3): a unit
that means the end, a Bernoulli variable beside each unit that means to halt, and a length that is
predicted beforehand (10.34). The first is a unit as all others, the second is
`StepOutput.halt_probs`, and with the third a model gives the end once as many units are written.
"""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

# What a model carries from unit to unit: tensors with the rows on axis 1, (layers, rows, values),
# in tuples of any depth. None at a beginning that is all zeros, and for what carries nothing.
State = Tensor | tuple["State", ...] | None


@dataclass(frozen=True, slots=True)
class StepOutput:
    """What a model says after it has read a unit.

    Attributes:
        log_probs: (rows, vocabulary) of the next unit, given that there is one.
        state: after the unit that was read.
        halt_probs: (rows,) probability that the sequence ends here; None if the model has no such
            variable.
        weights: (rows, time) of attention to the symbols of a source; None without any.
    """

    log_probs: Tensor
    state: State
    halt_probs: Tensor | None
    weights: Tensor | None = None


class StepModel(Protocol):
    """A model of the next unit."""

    def __call__(self, ids: Tensor, state: State, /) -> StepOutput:
        """Read a unit in each row.

        Args:
            ids: (rows,) int64.
            state: after the units before it.
        """


def select_rows(state: State, rows: Tensor) -> State:
    """The state of some rows, in their order; a row that is named twice is copied.

    Args:
        state: tensors with the rows on axis 1.
        rows: (selected,) int64.
    """
    if state is None:
        return None
    if isinstance(state, Tensor):
        return state.index_select(1, rows)
    return tuple(select_rows(part, rows) for part in state)
