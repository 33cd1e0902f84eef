"""Leaky units: each state is a running mean of what an Elman network would compute.

    h[t] = a * h[t-1] + (1 - a) * tanh(W x[t] + U h[t-1] + b),  h[-1] = 0,  0 <= a < 1

A unit remembers about 1 / (1 - a) steps: one with a near 1 integrates over a long past, one with
a = 0 is a unit of Elman's (Mozer 1992; El Hihi and Bengio 1996; Jaeger et al. 2007; Goodfellow,
Bengio and Courville, section 10.9.2). The option is the leaking rate 1 - a, as in the literature on
echo-state networks: a number for all units or for each of several groups (Goodfellow, Bengio and
Courville, section 10.9.3), fixed rates over a spectrum of time scales, or rates that are trained
and begin with that spectrum.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from tagkit.nn.recurrence.cell import Cell, CellOptions
from tagkit.nn.recurrence.time_loop import Functions, LoopNetwork, Values, fresh_recurrent_weights
from tagkit.nn.recurrence.weights import fill_chrono

LONGEST = 32  # steps that the slowest unit of the spectrum remembers: more than most sentences have


class LeakyNetwork(LoopNetwork):
    """A layer of leaky units."""

    def __init__(self, inputs: int, hidden: int, options: CellOptions) -> None:
        """`options.leak` as `CellOptions` describes it."""
        super().__init__(inputs=inputs, hidden=hidden, gates=1, memories=[hidden])
        self.take_activation(options)
        self.weight_hh = fresh_recurrent_weights(1, hidden, options)
        self.leak = options.leak
        if self.leak == "learned":
            # Any real number is the logit of a share between 0 and 1.
            logits = [math.log(rate / (1 - rate)) for rate in self._spectrum()]
            self.leak_logit = nn.Parameter(torch.tensor(logits))
            fill_chrono(options.chrono, keep=torch.empty(hidden), take=self.leak_logit)

    def _spectrum(self) -> list[float]:
        """Leaking rates of time scales from 1 to `LONGEST` steps, in equal ratios."""
        return [LONGEST ** -((unit + 0.5) / self.hidden) for unit in range(self.hidden)]

    def leaking_rates(self) -> Tensor:
        """(hidden,) 1 - a of each unit."""
        if self.leak == "learned":
            return torch.sigmoid(self.leak_logit)
        if self.leak == "spectrum":
            return self.bias.new_tensor(self._spectrum())
        rates = self.leak if isinstance(self.leak, tuple) else (float(self.leak),)
        units = torch.arange(self.hidden, device=self.bias.device)
        return self.bias.new_tensor(rates)[units * len(rates) // self.hidden]

    def recurrent_weights(self) -> tuple[Tensor, ...]:
        """U."""
        return (self.weight_hh,)

    def constants(self) -> tuple[Tensor, ...]:
        """1 - a."""
        return (self.leaking_rates(),)

    @staticmethod
    def advance(
        projected: Values,
        state: tuple[Values, ...],
        products: Sequence[Callable[[Values], Values]],
        constants: Sequence[Values],
        functions: Functions,
    ) -> tuple[Values, tuple[Values, ...]]:
        """The equation of one step."""
        (before,), (product,), (rates,) = state, products, constants
        new = functions.activation(projected + product(before))
        # h + (1 - a) (new - h), which is a h + (1 - a) new with one product instead of two
        after = before + rates * (new - before)
        return after, (after,)


LEAKY = Cell(build=LeakyNetwork)
