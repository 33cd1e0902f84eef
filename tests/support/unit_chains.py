"""A model of the next unit whose distributions depend on all units before, for enumeration."""

import functools
import itertools
import math
import random

import torch
from torch import Tensor

from tagkit.nn.generation.ended import Ended
from tagkit.nn.generation.step import State, StepOutput

START = 99  # an input that is no unit of a sequence


class UnitChain:
    """A distribution after each history of units; its state is the number of the history."""

    def __init__(self, seed: int, vocabulary: int = 3, *, halt: bool = False) -> None:
        self.vocabulary, self.halt, self.seed = vocabulary, halt, seed
        self.after = functools.cache(self.after)  # type: ignore[method-assign]

    def after(self, history: tuple[int, ...]) -> tuple[list[float], float]:
        """Probabilities of the next unit, and of halting, after a history."""
        numbers = random.Random(f"{self.seed} {history}")
        weights = [numbers.random() + 0.05 for _ in range(self.vocabulary)]
        return [weight / sum(weights) for weight in weights], 0.1 + 0.5 * numbers.random()

    def begin(self) -> State:
        """Of one row."""
        return (torch.full((1, 1, 8), -1),)

    def __call__(self, ids: Tensor, state: State, /) -> StepOutput:
        assert isinstance(state, tuple)
        (histories,) = state  # (1, rows, 8) the units so far, -1 for none
        assert isinstance(histories, Tensor)
        assert histories.shape[1] == len(ids)
        found = []
        for row, id in enumerate(ids.tolist()):
            history = [unit for unit in histories[0, row].tolist() if unit >= 0]
            found.append((*history, *([id] if id != START else [])))
        probs = torch.tensor([self.after(each)[0] for each in found], dtype=torch.float64)
        halts = torch.tensor([self.after(each)[1] for each in found], dtype=torch.float64)
        rows = torch.tensor([[*each, *[-1] * (8 - len(each))] for each in found])
        return StepOutput(probs.log(), (rows.unsqueeze(0),), halts if self.halt else None)

    def sequences(
        self, symbol: int | None, length: int, *, by_halt: bool
    ) -> dict[tuple[tuple[int, ...], Ended], float]:
        """Every sequence, why it ended, and its log probability."""
        found: dict[tuple[tuple[int, ...], Ended], float] = {}
        beginnings: dict[tuple[int, ...], float] = {(): 0.0}
        for number in range(1, length + 1):
            longer = {}
            for (history, before), unit in itertools.product(
                beginnings.items(), range(self.vocabulary)
            ):
                probs, halt = self.after(history)
                if by_halt:
                    found[history, "halt"] = before + math.log(halt)
                goes_on = math.log(1 - halt) if by_halt else 0.0
                path, score = (*history, unit), before + goes_on + math.log(probs[unit])
                if unit == symbol:
                    found[path, "symbol"] = score
                elif number == length:
                    found[path, "length"] = score
                else:
                    longer[path] = score
            beginnings = longer
        return found
