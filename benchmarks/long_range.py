"""Three synthetic problems whose answer needs a memory of T steps, and training on them.

- remember: the first of T + 1 symbols is one of 8, the others are of 8 other symbols, at random; at
  the end the first one is asked for (the latching problem of Bengio, Simard and Frasconi 1994, and
  experiment 2 of Hochreiter and Schmidhuber 1997). Solved at an accuracy of 0.99; chance is 1/8.
- adding: T numbers between 0 and 1, of which one in the first half and one in the second half is
  marked; at the end their sum is asked for (Hochreiter and Schmidhuber 1997, in the form of Le,
  Jaitly and Hinton 2015). Solved at a mean squared error of 0.01; always answering 1 gives 1/6.
- copy: 10 symbols of 8, T blanks, of which the last is replaced by a mark, and 10 blanks more,
  at which the symbols are to be repeated; blanks are the answer before (Arjovsky, Shah and Bengio
  2016; Tallec and Ollivier 2018). Solved at a tenth of the cross-entropy without memory,
  10 ln 8 / (T + 20).

Batches are drawn anew at every step: there is no training set that could be learned by heart.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss, one_hot

from tagkit.config import load_config
from tagkit.models.base.building import build_encoder
from tagkit.nn.layers.information_flow import watched_flow
from tagkit.nn.recurrence.weights import count_parameters

SYMBOLS = 8
COPIED = 10  # symbols that are to be copied
BLANK, MARK = SYMBOLS, SYMBOLS + 1  # of copy
AVERAGED = 20  # batches whose mean decides whether a problem is solved

# Number of steps T, of sequences, and a generator -> inputs (batch, time, features), targets
# (batch, answers), which belong to the last `answers` steps.
Draw = Callable[[int, int, torch.Generator], tuple[Tensor, Tensor]]


@dataclass(frozen=True, slots=True)
class Problem:
    """A synthetic problem.

    Attributes:
        title: for tables and plots.
        inputs: features of a step.
        outputs: scores of an answer.
        lengths: numbers of steps T that are tried.
        draw: makes a batch.
        loss: (answers, outputs) and (answers,) -> the mean loss.
        figure: name of what is reported, and decides whether the problem is solved.
        measure: the figure of a batch, from the same arguments as `loss`, and its loss.
        baseline: the figure without memory, by T.
        is_solved: whether a figure solves the problem, by T.
    """

    title: str
    inputs: int
    outputs: int
    lengths: tuple[int, ...]
    draw: Draw
    loss: Callable[[Tensor, Tensor], Tensor]
    figure: str
    measure: Callable[[Tensor, Tensor, float], float]
    baseline: Callable[[int], float]
    is_solved: Callable[[float, int], bool]


def draw_remember(length: int, batch: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """The first symbol, `length` others after it; the answer belongs to the last step."""
    symbols = torch.randint(SYMBOLS, (batch, length + 1), generator=generator)
    targets = symbols[:, :1].clone()
    symbols[:, 1:] += SYMBOLS  # symbols that are never asked for
    return one_hot(symbols, 2 * SYMBOLS).float(), targets


def draw_adding(length: int, batch: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Numbers and marks, (batch, length, 2); the sum belongs to the last step."""
    numbers = torch.rand(batch, length, generator=generator)
    marks = torch.zeros(batch, length)
    half = length // 2
    rows = torch.arange(batch)
    marks[rows, torch.randint(half, (batch,), generator=generator)] = 1
    marks[rows, torch.randint(half, length, (batch,), generator=generator)] = 1
    return torch.stack((numbers, marks), dim=2), (numbers * marks).sum(1, keepdim=True)


def draw_copy(length: int, batch: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Symbols, blanks and a mark, `length` + 20 steps; every step has an answer."""
    symbols = torch.randint(SYMBOLS, (batch, COPIED), generator=generator)
    inputs = torch.full((batch, length + 2 * COPIED), BLANK)
    targets = inputs.clone()
    inputs[:, :COPIED] = symbols
    inputs[:, COPIED + length - 1] = MARK
    targets[:, -COPIED:] = symbols
    return one_hot(inputs, SYMBOLS + 2).float(), targets


def _accuracy(scores: Tensor, targets: Tensor, loss: float) -> float:
    return (scores.argmax(1) == targets).float().mean().item()


def _loss(scores: Tensor, targets: Tensor, loss: float) -> float:
    return loss


def copy_baseline(length: int) -> float:
    """Cross-entropy of guessing the ten symbols, spread over all steps, in nats."""
    return COPIED * math.log(SYMBOLS) / (length + 2 * COPIED)


PROBLEMS = {
    "remember": Problem(
        title="remember the first symbol",
        inputs=2 * SYMBOLS,
        outputs=SYMBOLS,
        lengths=(10, 20, 50, 100, 200, 500),
        draw=draw_remember,
        loss=cross_entropy,
        figure="accuracy",
        measure=_accuracy,
        baseline=lambda length: 1 / SYMBOLS,
        is_solved=lambda figure, length: figure >= 0.99,
    ),
    "adding": Problem(
        title="adding",
        inputs=2,
        outputs=1,
        lengths=(50, 100, 200, 400),
        draw=draw_adding,
        loss=lambda scores, targets: mse_loss(scores.squeeze(1), targets),
        figure="mean squared error",
        measure=_loss,
        baseline=lambda length: 1 / 6,
        is_solved=lambda figure, length: figure < 0.01,
    ),
    "copy": Problem(
        title="copy",
        inputs=SYMBOLS + 2,
        outputs=SYMBOLS + 1,  # the mark is never an answer
        lengths=(10, 20, 50, 100, 200),
        draw=draw_copy,
        loss=cross_entropy,
        figure="cross-entropy",
        measure=_loss,
        baseline=copy_baseline,
        is_solved=lambda figure, length: figure < copy_baseline(length) / 10,
    ),
}


@dataclass(frozen=True, slots=True)
class Budget:
    """Sizes and limits of a run.

    Attributes:
        hidden: units of the layer.
        batch: sequences of a step of training.
        steps: of training, at most.
        seconds: of computing time, at most: what other programs take does not count.
    """

    hidden: int
    batch: int
    steps: int
    seconds: float


class Widths(Protocol):
    """What a problem says of the size of its steps and answers."""

    @property
    def inputs(self) -> int:
        """Features of a step."""

    @property
    def outputs(self) -> int:
        """Scores of an answer."""


TRAINING = ("train.flow_strength", "train.optimizer", "train.momentum", "train.nesterov")


class Reader(nn.Module):
    """A layer of one direction, and scores of each answer."""

    def __init__(self, problem: Widths, options: Sequence[str], hidden: int) -> None:
        """`options` are `encoder.key=value` each, or of `train.` one of `TRAINING`.

        Raises:
            ValueError: one of them would have no effect here.
        """
        super().__init__()
        flags = {
            "encoder.hidden": hidden,
            "encoder.bidirectional": False,
            "encoder.dropout": 0.0,
            "encoder.locked_dropout": 0.0,
            "encoder.word_dropout": 0.0,
            "train.bptt": 0,  # gradients go back to the first step
        }
        for option in options:
            name = option.partition("=")[0]
            if name in flags or not (name.startswith("encoder.") or name in TRAINING):
                raise ValueError(f"{option}: has no effect on a synthetic problem")
        config = load_config(None, options, flags)
        self.encoder = build_encoder(config, problem.inputs)
        self.readout = nn.Linear(self.encoder.outputs, problem.outputs)
        self.settings = config.train

    def forward(self, inputs: Tensor, answers: int) -> Tensor:
        """(batch, time, features) -> (batch x answers, outputs), of the last `answers` steps."""
        mask = torch.ones(inputs.shape[:2], dtype=torch.bool)
        scores: Tensor = self.readout(self.encoder(inputs, mask)[:, -answers:])
        return scores.flatten(0, 1)


def learn(
    problem: Problem, length: int, options: Sequence[str], budget: Budget, *, lr: float, seed: int
) -> dict[str, Any]:
    """Train until the problem is solved or a limit is reached; what came of it.

    Adam or SGD, gradients clipped to a norm of 1. `{T}` in an option stands for the length.
    """
    torch.manual_seed(seed)
    options = [option.replace("{T}", str(length)) for option in options]
    reader = Reader(problem, options, budget.hidden)
    strength = reader.encoder.flow_strength
    generator = torch.Generator().manual_seed(seed)
    trained = [weights for weights in reader.parameters() if weights.requires_grad]
    settings = reader.settings
    optimizer: torch.optim.Optimizer = torch.optim.Adam(trained, lr=lr)
    if settings.optimizer == "sgd":
        optimizer = torch.optim.SGD(
            trained, lr=lr, momentum=settings.momentum, nesterov=settings.nesterov
        )
    figures: deque[float] = deque(maxlen=AVERAGED)
    ended, step, mean = "steps", 0, math.nan
    start_s = time.process_time()
    while step < budget.steps:
        inputs, targets = problem.draw(length, budget.batch, generator)
        with watched_flow() if strength else nullcontext([]) as penalties:
            scores = reader(inputs, targets.shape[1])
        loss = problem.loss(scores, targets.flatten())
        step += 1
        figures.append(problem.measure(scores.detach(), targets.flatten(), loss.item()))
        if not math.isfinite(loss.item()):
            ended = "diverged"
            break
        mean = sum(figures) / len(figures)
        if len(figures) == AVERAGED and problem.is_solved(mean, length):
            ended = "solved"
            break
        if time.process_time() - start_s > budget.seconds:
            ended = "time"
            break
        optimizer.zero_grad()
        # The penalties are 0, and their gradients are sums over all sequences.
        (loss + strength / budget.batch * sum(penalties)).backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
    seconds = time.process_time() - start_s
    return {
        "ended": ended,
        "steps": step,
        "figure": round(mean, 5) if math.isfinite(mean) else None,
        "baseline": round(problem.baseline(length), 5),
        "weights": count_parameters(reader.encoder),
        "seconds": round(seconds, 1),
        "ms_per_step": round(1000 * seconds / step, 2),
    }
