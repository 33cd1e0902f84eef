"""The clockwork RNN of Koutnik et al. 2014: groups of units that are updated at different periods.

    h_g[t] = tanh(W_g x[t] + sum over k >= g of U_gk h_k[t-1] + b_g)   where T_g divides t
    h_g[t] = h_g[t-1]                                                  at all other steps

with groups g of rising periods T_g, such as 1, 2, 4 and 8, steps t from 0 on, and h[-1] = 0. A
group reads itself and the slower ones alone, so that these keep a past which the fast ones do not
disturb: over T steps a slow group passes on a gradient through T / T_g links instead of T (also
Goodfellow, Bengio and Courville, section 10.9.3).
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from tagkit.nn.recurrence.cell import Cell, CellOptions
from tagkit.nn.recurrence.time_loop import Functions, LoopNetwork, Values, fresh_recurrent_weights


class ClockworkNetwork(LoopNetwork):
    """A layer of groups of simple recurrent units, each group with a clock of its own."""

    def __init__(self, inputs: int, hidden: int, options: CellOptions) -> None:
        """`options.periods` of the groups, rising; the units are divided evenly among them."""
        # States, and the number of the step, modulo the least common multiple of the periods: 32
        # bits count no further than 2^24, and a text may have more characters than that. It is
        # the same number for all sentences; as a tensor with an axis of the batch it is carried
        # from segment to segment as states are.
        super().__init__(inputs=inputs, hidden=hidden, gates=1, memories=[hidden, 1])
        self.take_activation(options)
        self.periods = options.periods
        self.weight_hh = fresh_recurrent_weights(1, hidden, options)

    def periods_of_units(self) -> Tensor:
        """(hidden,) the period of each unit's group."""
        of_groups = self.bias.new_tensor(self.periods)
        units = torch.arange(self.hidden, device=of_groups.device)
        return of_groups[units * len(self.periods) // self.hidden]

    def recurrent_weights(self) -> tuple[Tensor, ...]:
        """U with zeros where a unit does not read another, as that one's group is faster."""
        periods = self.periods_of_units()
        # (hidden, 1) <= (hidden,): the reader's period and that of the unit it reads
        return (self.weight_hh * (periods.unsqueeze(1) <= periods),)

    def constants(self) -> tuple[Tensor, ...]:
        """T of each unit, and the number of steps after which all clocks are where they were."""
        return (self.periods_of_units(), self.bias.new_tensor([math.lcm(*self.periods)]))

    @staticmethod
    def advance(
        projected: Values,
        state: tuple[Values, ...],
        products: Sequence[Callable[[Values], Values]],
        constants: Sequence[Values],
        functions: Functions,
    ) -> tuple[Values, tuple[Values, ...]]:
        """The equation of one step."""
        (before, step), (product,), (periods, cycle) = state, products, constants
        new = functions.activation(projected + product(before))
        # (..., 1) % (hidden,) -> (..., hidden)
        after = functions.where(step % periods == 0, new, before)
        return after, (after, (step + 1) % cycle)


CLOCKWORK = Cell(build=ClockworkNetwork)
