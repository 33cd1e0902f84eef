"""Log probabilities of given sequences."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from tagkit.nn.generation.generate import halt_probs_of
from tagkit.nn.generation.step import State, StepModel, select_rows

NOT_ASKED = -1  # in place of a unit whose probability does not count
# Steps of the shortest segment: shorter ones would cost more than the padding that they save.
_SHORTEST = 16
_READ_AT_ONCE = 16_384  # units of all rows, padding included, that are in memory together


class PathScorer(Protocol):
    """A model that says how probable known units are, many at once."""

    def __call__(self, ids: Tensor, wanted: Tensor, state: State, /) -> tuple[Tensor, State]:
        """Read units, and say how probable the one after each is.

        Args:
            ids: (rows, time) int64.
            wanted: (rows, time) int64, the unit after each; `NOT_ASKED` where it does not count.
            state: before the first of them.

        Returns:
            (rows,) float64 log probability of all that count, and the state after the last ones.
        """


@torch.no_grad()
def segment_log_probs(
    score: PathScorer,
    start: Tensor,
    state: State,
    paths: Sequence[Sequence[int]],
    given: Sequence[int] | None = None,
    *,
    by_row: bool = False,
) -> list[float]:
    """As `path_log_probs`, of a model that reads many units at once, and so much faster.

    Args:
        score: the model.
        start: (1,) the last input before the first unit.
        state: after all inputs before it, of one row, or with a row for each sequence.
        paths: ids of each sequence, with what ends it: halting is the unit of an end too.
        given: as for `path_log_probs`.
        by_row: whether the state has a row for each sequence.
    """
    order, lengths, heads = _longest_first(paths, given)
    total = torch.zeros(len(paths), dtype=torch.float64, device=start.device)
    rows_of = torch.tensor(order, device=start.device).long() * by_row
    state = select_rows(state, rows_of)
    first, at = int(start), 0
    while rows := sum(length > at for length in lengths):
        # To the end of the shortest row, so that no row is mostly padding.
        width = min(max(lengths[rows - 1] - at, _SHORTEST), lengths[0] - at)
        stop = at + min(width, max(1, _READ_AT_ONCE // rows))
        ids = start.new_zeros(rows, stop - at)
        wanted = torch.full_like(ids, NOT_ASKED)
        for row, number in enumerate(order[:rows]):
            units = paths[number][at:stop]
            read = [paths[number][at - 1] if at else first, *units[:-1]]
            ids[row, : len(read)] = torch.tensor(read)
            skipped = max(0, heads[row] - at)
            wanted[row, skipped : len(units)] = torch.tensor(units[skipped:])
        found, state = score(ids, wanted, select_rows(state, torch.arange(rows, device=ids.device)))
        total[:rows] += found
        at = stop
    return _as_given(order, total)


@torch.no_grad()
def path_log_probs(
    step: StepModel,
    start: Tensor,
    state: State,
    paths: Sequence[Sequence[int]],
    *,
    by_halt: bool,
    given: Sequence[int] | None = None,
) -> list[float]:
    """The log probability of each sequence, by itself after the same beginning.

    Args:
        step: the model.
        start: (1,) the last input before the first unit.
        state: after all inputs before it, of one row.
        paths: ids of each sequence, with the symbol that ends it where one does.
        by_halt: whether each sequence ends by halting after its last unit.
        given: number of the first units of each sequence that are read alone, and not predicted;
            None for none.
    """
    order, lengths, heads = _longest_first(paths, given)
    total = torch.zeros(len(paths), dtype=torch.float64, device=start.device)
    first = torch.tensor(heads, device=start.device).long()
    ids = start.expand(len(paths))
    state = select_rows(state, torch.zeros_like(ids))
    for t in range(max(lengths, default=0) + by_halt):
        # Rows that have a unit at t, or that halt there.
        reads = sum(t < length + by_halt for length in lengths)
        state = select_rows(state, torch.arange(reads, device=start.device))
        output = step(ids[:reads], state)
        state = output.state
        grows = sum(t < length for length in lengths)
        if by_halt:
            halt_probs = halt_probs_of(output)
            total[:grows] += torch.log1p(-halt_probs[:grows]).where(first[:grows] <= t, 0)
            total[grows:reads] += halt_probs[grows:].log()
        ids = torch.tensor([paths[number][t] for number in order[:grows]], device=start.device)
        ids = ids.long()  # of no rows, the type is not known
        log_probs = output.log_probs[:grows].double().gather(1, ids.unsqueeze(1)).squeeze(1)
        total[:grows] += log_probs.where(first[:grows] <= t, 0)
    return _as_given(order, total)


def _longest_first(
    paths: Sequence[Sequence[int]], given: Sequence[int] | None
) -> tuple[list[int], list[int], list[int]]:
    """Numbers of the paths, their lengths, and how many of their first units are read alone.

    The longest come first: those that are still being read are always the first rows.
    """
    order = sorted(range(len(paths)), key=lambda number: -len(paths[number]))
    heads = [given[number] if given else 0 for number in order]
    return order, [len(paths[number]) for number in order], heads


def _as_given(order: Sequence[int], total: Tensor) -> list[float]:
    """The scores of rows, (rows,), in the order of the paths; `order` has the number of each."""
    found = dict(zip(order, total.tolist(), strict=True))
    return [found[number] for number in range(len(order))]
