"""The training loop, for some of its steps; and a step of an optimizer without the loop."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from torch import Tensor

from tagkit.features import Ids
from tagkit.training.events.callbacks import Listener, Step
from tagkit.training.folder.run_folder import RunFolder
from tagkit.training.loop.run import Run
from tagkit.training.loop.state import EpochPlan, RunState
from tagkit.training.loop.time_budget import TimeBudget
from tagkit.training.optim.optimizer import Clipped, ModelOptimizer
from tagkit.training.trainer import training_loop


def take_step(optimizer: ModelOptimizer, lr: float, loss: float) -> bool:
    """Clip, step and average, for gradients that are there; whether they were finite."""
    gradients = optimizer.clip_gradients(loss)
    if gradients.usable:
        decay = optimizer.average.next_decay()
        optimizer.step(lr, decay)
        optimizer.average.update(decay)
    optimizer.zero_grad()
    return gradients.finite


class _Enough(Exception):
    """The loop has taken the steps that it was to take."""


class _Counter(Listener):
    def __init__(self, steps: int) -> None:
        self.left = steps

    def on_step(self, step: Step) -> None:
        self.left -= 1
        if not self.left or step.done == step.total:
            raise _Enough


def loop_steps(state: RunState, count: int) -> list[float]:
    """Let the loop take some steps, to the end of the epoch at most; the loss of each."""
    losses, count_step = [], state.count_step

    def recorded(batch: Ids, loss: float, targets: int, seconds: float, *, finite: bool) -> None:
        losses.append(loss)
        count_step(batch, loss, targets, seconds, finite=finite)

    folder = RunFolder(Path("nowhere"), writes=False)
    run = Run(state, folder, {}, {}, _Counter(count), TimeBudget(0, 10**6), None)
    with pytest.MonkeyPatch.context() as patch, suppress(_Enough):
        patch.setattr(state, "count_step", recorded)
        training_loop(run)
        raise AssertionError("the loop came to its end")
    return losses


@dataclass
class Computed:
    """What the loop has computed for a step.

    Attributes:
        loss: summed.
        targets: their number.
        gradients: of the loss over the targets of the epoch, by parameter.
    """

    loss: float
    targets: int
    gradients: dict[str, Tensor]


def computed(state: RunState, batch: Ids) -> Computed:
    """Let the loop compute a step of this batch, without taking it."""
    found, position = Computed(0.0, 0, {}), state.position.targets

    def keep(loss: float) -> Clipped:
        named = state.prepared.model.named_parameters()
        found.gradients = {name: p.grad.to_dense().clone() for name, p in named
                           if p.grad is not None}  # fmt: skip
        return Clipped(finite=True, usable=False)

    plan = EpochPlan([batch], state.prepared.encoded.target_count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state.optimizer, "clip_gradients", keep)
        patch.setattr(state, "plan_epoch", lambda: plan)
        patch.setattr(state.position, "done", 0)
        (found.loss,) = loop_steps(state, 1)
    found.targets = state.position.targets - position
    return found
