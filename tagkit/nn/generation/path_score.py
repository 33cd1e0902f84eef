"""Log probabilities of given sequences."""

from collections.abc import Sequence

import torch
from torch import Tensor

from tagkit.nn.generation.generate import halt_probs_of
from tagkit.nn.generation.step import State, Step, select_rows


@torch.no_grad()
def path_log_probs(
    step: Step,
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
    # The longest first: those that are still being read are always the first rows.
    order = sorted(range(len(paths)), key=lambda number: -len(paths[number]))
    lengths = [len(paths[number]) for number in order]
    total = torch.zeros(len(paths), dtype=torch.float64, device=start.device)
    first = torch.tensor(
        [given[number] if given else 0 for number in order], device=start.device
    ).long()
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
            total[:grows] += torch.log1p(-halt_probs[:grows])
            total[grows:reads] += halt_probs[grows:].log()
        ids = torch.tensor([paths[number][t] for number in order[:grows]], device=start.device)
        ids = ids.long()  # of no rows, the type is not known
        log_probs = output.log_probs[:grows].double().gather(1, ids.unsqueeze(1)).squeeze(1)
        total[:grows] += log_probs.where(first[:grows] <= t, 0)
    found = dict(zip(order, total.tolist(), strict=True))
    return [found[number] for number in range(len(paths))]
