"""Three tasks that are learnt on short sequences and tested on longer ones, and training on them.

Those of Graves, Wayne and Danihelka 2014, section 4, with one of 8 symbols at a step where they
have random bits, so that an answer is right or wrong:

- copy: a mark, `length` symbols, a mark, and the symbols again, at as many empty steps.
- repeat: as copy, with the number of times that the symbols are to be repeated beside the second
  mark, as a value of a channel of its own, and an end after the last one.
- recall: items of 3 symbols, a mark before each; then a mark of another kind and one of the items
  but the last, at random; the answer is the item that followed it.

Batches are drawn anew at every step of training. All sequences of a batch have one size, drawn from
those of training.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from long_range import Budget, Reader
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from tagkit.nn.recurrence.weights import count_parameters

SYMBOLS = 8
BEGIN, GO = SYMBOLS, SYMBOLS + 1  # marks
ITEM = 3  # symbols
REPEATED = 10  # times at most in training; the channel has a value of 1 there
TESTED = 200  # sequences of each size

Size = tuple[int, int]  # length, or number of items; and times that it is repeated


@dataclass(frozen=True, slots=True)
class MemoryTask:
    """A task.

    Attributes:
        title: for tables.
        inputs: features of a step.
        outputs: scores of an answer.
        draw: size, number of sequences and a generator -> inputs (batch, time, features), and
            targets (batch, answers), which belong to the last steps.
        sizes: the least and the largest of training.
        tested: sizes of the test.
    """

    title: str
    inputs: int
    outputs: int
    draw: Callable[[Size, int, torch.Generator], tuple[Tensor, Tensor]]
    sizes: tuple[Size, Size]
    tested: tuple[Size, ...]


def _shown(symbols: Tensor, features: int) -> Tensor:
    """(batch, time) -> (batch, time, features), of which one is 1."""
    return nn.functional.one_hot(symbols, features).float()


def draw_repeat(
    size: Size, batch: int, generator: torch.Generator, *, counted: bool = True
) -> tuple[Tensor, Tensor]:
    """A mark, symbols, a mark with the number of repetitions; all of them, and the end."""
    length, times = size
    symbols = torch.randint(SYMBOLS, (batch, length), generator=generator)
    features = SYMBOLS + 2 + counted
    mark = torch.full((batch, 1), BEGIN)
    shown = _shown(torch.cat((mark, symbols, mark + 1), 1), features)
    targets = symbols.repeat(1, times)
    if counted:
        shown[:, -1, -1] = times / REPEATED
        targets = torch.cat((targets, mark), 1)
    empty = torch.zeros(batch, targets.shape[1], features)
    return torch.cat((shown, empty), 1), targets


def draw_copy(size: Size, batch: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """The same once, without number and end."""
    return draw_repeat((size[0], 1), batch, generator, counted=False)


def draw_recall(size: Size, batch: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Items with marks, one of them again; the one that followed it."""
    items = torch.randint(SYMBOLS, (batch, size[0], ITEM), generator=generator)
    asked = torch.randint(size[0] - 1, (batch,), generator=generator)
    marks = torch.full((batch, size[0], 1), BEGIN)
    listed = torch.cat((marks, items), 2).flatten(1)
    rows = torch.arange(batch)
    go = torch.full((batch, 1), GO)
    shown = _shown(torch.cat((listed, go, items[rows, asked], go), 1), SYMBOLS + 2)
    empty = torch.zeros(batch, ITEM, SYMBOLS + 2)
    return torch.cat((shown, empty), 1), items[rows, asked + 1]


MEMORY_TASKS = {
    "copy": MemoryTask(
        title="copy: length",
        inputs=SYMBOLS + 2,
        outputs=SYMBOLS,
        draw=draw_copy,
        sizes=((1, 1), (20, 1)),
        tested=tuple((length, 1) for length in (10, 20, 40, 60, 80, 120)),
    ),
    "repeat": MemoryTask(
        title="repeat copy: length x times",
        inputs=SYMBOLS + 3,
        outputs=SYMBOLS + 1,
        draw=draw_repeat,
        sizes=((1, 1), (10, 10)),
        tested=((10, 10), (20, 10), (10, 20)),
    ),
    "recall": MemoryTask(
        title="associative recall: items",
        inputs=SYMBOLS + 2,
        outputs=SYMBOLS,
        draw=draw_recall,
        sizes=((2, 1), (6, 1)),
        tested=tuple((items, 1) for items in (6, 8, 10, 12, 15, 20)),
    ),
}


def name_of(size: Size) -> str:
    """`20`, or `20 x 10` where it is repeated."""
    return " x ".join(str(number) for number in size if number > 1)


@torch.no_grad()
def wrong(reader: Reader, task: MemoryTask, size: Size, seed: int) -> float:
    """Share of wrong answers among those of `TESTED` sequences."""
    inputs, targets = task.draw(size, TESTED, torch.Generator().manual_seed(seed))
    found = reader(inputs, targets.shape[1]).argmax(1)
    return (found != targets.flatten()).float().mean().item()


def learn_short(
    task: MemoryTask, options: Sequence[str], budget: Budget, *, lr: float, seed: int
) -> dict[str, Any]:
    """Train on short sequences until a limit is reached; errors on short and on longer ones.

    Adam, gradients clipped to a norm of 1.
    """
    torch.manual_seed(seed)
    reader = Reader(task, options, budget.hidden)
    generator = torch.Generator().manual_seed(seed)
    trained = [weights for weights in reader.parameters() if weights.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=lr)
    start_s, step, ended = time.process_time(), 0, "steps"
    while step < budget.steps:
        length, times = (
            int(torch.randint(low, high + 1, (), generator=generator))
            for low, high in zip(*task.sizes, strict=True)
        )
        inputs, targets = task.draw((length, times), budget.batch, generator)
        loss = cross_entropy(reader(inputs, targets.shape[1]), targets.flatten())
        step += 1
        if not math.isfinite(loss.item()):
            ended = "diverged"
            break
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        if time.process_time() - start_s > budget.seconds:
            ended = "time"
            break
    seconds = time.process_time() - start_s
    return {
        "ended": ended,
        "steps": step,
        "loss": round(loss.item(), 5) if math.isfinite(loss.item()) else None,
        "wrong": {
            name_of(size): round(wrong(reader, task, size, seed + 1), 5) for size in task.tested
        },
        "weights": count_parameters(reader.encoder),
        "seconds": round(seconds, 1),
        "ms_per_step": round(1000 * seconds / step, 2),
    }
