"""Sequences, unit by unit: each chosen unit is the next input of the model."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from tagkit.nn.generation.choice import METHODS, Choice
from tagkit.nn.generation.ended import Ended
from tagkit.nn.generation.row_random import RowRandom
from tagkit.nn.generation.step import State, StepModel, StepOutput, select_rows


@dataclass(frozen=True, slots=True)
class Ending:
    """What ends a sequence; each of three ways alone, or with a length as the limit of another.

    Attributes:
        symbol: id of the unit that ends it, which is its last unit; None for none.
        by_halt: whether the model's halting probability ends it, decided before each unit.
    """

    symbol: int | None
    by_halt: bool


@dataclass(frozen=True, slots=True)
class Event:
    """What a step brings to a row.

    Attributes:
        row: its number.
        unit: the unit that was added; None if it halted instead.
        log_prob: of that in the model, whatever was changed for the choice; with the decision to
            halt or not, where there is one.
        ended: why the row ends with this event; None if it does not.
    """

    row: int
    unit: int | None
    log_prob: float
    ended: Ended | None


@torch.no_grad()
def generate(
    step: StepModel,
    start: Tensor,
    state: State,
    choice: Choice,
    ending: Ending,
    lengths: Tensor,
    random: RowRandom,
    seen: Tensor,
) -> Iterator[list[Event]]:
    """Sequences, a step of all rows at a time; rows that have ended are taken out of the batch.

    Args:
        step: the model.
        start: (rows,) the last input before the first unit.
        state: after all inputs before it.
        choice: how a unit is chosen.
        ending: what ends a row before its length.
        lengths: (rows,) most units of each row, at least 1: a fixed or a predicted number.
        random: random numbers of each row.
        seen: (rows, vocabulary) bool, units that a repetition penalty holds for repetitions.
    """
    method = METHODS[choice.method]
    ids, seen = start, seen.clone()  # the caller's own is not written into
    # Places in the batch move up when rows leave it: these are the numbers that the caller knows.
    rows = torch.arange(len(start), device=start.device)
    # Below, `rows` in a shape are those that have not ended.
    for number in range(1, int(lengths.max()) + 1):
        output = step(ids, state)
        state = output.state
        halts = torch.zeros_like(ids, dtype=torch.bool)  # (rows,)
        # (rows,) in float64, as those of a sequence are added up.
        log_probs = torch.zeros_like(ids, dtype=torch.float64)
        if ending.by_halt:
            # A Bernoulli variable before each unit, so that a sequence may have no unit at all.
            halt_probs = halt_probs_of(output)
            halts = method.decide(halt_probs, random)
            log_probs = torch.where(halts, halt_probs.log(), torch.log1p(-halt_probs))
        # Rows that halt choose a unit too, which is not used: so all rows stay one batch.
        ids = method.choose(choice.change(output.log_probs, seen), random)
        # (rows, vocabulary) -> (rows,) from the model's own distribution: `choice` changes what is
        # chosen, not what is reported.
        of_units = output.log_probs.double().gather(1, ids.unsqueeze(1)).squeeze(1)
        # log p(unit, go on) = log(1 - p(halt)) + log p(unit); of a row that halts p(halt) alone.
        # Filled, not multiplied by 0: an unused unit may be at minus infinity.
        log_probs += of_units.masked_fill(halts, 0)
        seen.scatter_(1, ids.unsqueeze(1), True)
        is_symbol = torch.zeros_like(halts) if ending.symbol is None else ids == ending.symbol
        is_full = lengths <= number  # a row of this length has room for no other unit
        columns = (rows, ids, log_probs, halts, is_symbol, is_full)
        # One list for each column: on a GPU `item()` would wait for the device once a value.
        found = zip(*(column.tolist() for column in columns), strict=True)
        yield [
            Event(row, None if halted else unit, log_prob, ended_by(halted, symbol, full))
            for row, unit, log_prob, halted, symbol, full in found
        ]
        stays = (~(halts | is_symbol | is_full)).nonzero().squeeze(1)  # (rows that stay,) places
        if not len(stays):
            return
        # Only where a row has ended: states of all layers are copied. All that belongs to a row is
        # cut alike; `random` too, so that a row's numbers do not depend on the others' ends.
        if len(stays) < len(rows):
            state = select_rows(state, stays)
            random.select(stays)
            rows, ids, lengths, seen = rows[stays], ids[stays], lengths[stays], seen[stays]


def halt_probs_of(output: StepOutput) -> Tensor:
    """The halting probabilities of a model, (rows,) float64.

    Raises:
        ValueError: it has none.
    """
    if output.halt_probs is None:
        raise ValueError("the model has no halting probability")
    return output.halt_probs.double()


def ended_by(halted: bool, symbol: bool, full: bool) -> Ended | None:
    """Why a sequence ends; None if it does not."""
    # The symbol of a row that halted was never added.
    if halted:
        return "halt"
    if symbol:
        return "symbol"
    return "length" if full else None
