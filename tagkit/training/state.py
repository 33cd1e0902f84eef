"""The state of a training run: what changes from step to step, and is saved with a checkpoint."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tagkit.features.bucketing import Ids
from tagkit.training.callbacks import Epoch
from tagkit.training.checkpoint import Checkpoint
from tagkit.training.distributed import Processes
from tagkit.training.gradients import Gradients
from tagkit.training.lr_schedule import Schedule
from tagkit.training.optimizer import Updates
from tagkit.training.saved_state import (
    StateRecord,
    check_generator,
    check_pieces,
    check_position,
    check_tensors,
    check_updates,
    checked_state,
    generator_of,
)
from tagkit.training.setup import Prepared


@dataclass(slots=True)
class Position:
    """How far an epoch is.

    Attributes:
        shuffler: state of the generator that plans the epoch, before it did.
        done: steps.
        loss: summed, in nats, of all targets in steps that were finite.
        targets: their number.
        tokens: that were read.
        seconds: spent on that.
    """

    shuffler: Mapping[str, Any]
    done: int = 0
    loss: float = 0.0
    targets: int = 0
    tokens: int = 0
    seconds: float = 0.0


class RunState:
    """Weights, optimiser, schedule, random generators, place in the corpus, history."""

    def __init__(
        self, prepared: Prepared, processes: Processes, note: Callable[[str], None]
    ) -> None:
        """The state before the first step; `note` is told when memory is short."""
        settings = prepared.config.train
        self.prepared = prepared
        self.updates = Updates(prepared.model, settings, processes)
        self.gradients = Gradients(prepared, self.updates, processes, note)
        self.shuffler = np.random.default_rng(settings.seed)
        self.position = Position(self.shuffler.bit_generator.state)
        self.schedule = Schedule(settings)
        self.epochs: list[Epoch] = []
        self.best_weights: dict[str, Tensor] = {}
        self.step = 0
        self.skipped = 0  # steps that were not finite,
        self.in_a_row = 0  # how many of them came last,
        self.returns = 0  # and how often the run has gone back because of them

    @property
    def best(self) -> Epoch:
        """The best epoch so far."""
        return [epoch for epoch in self.epochs if epoch.is_best][-1]

    def plan(self) -> list[list[Ids]]:
        """The batches of each step of this epoch; moves the shuffler on to the next.

        With batches measured in tokens, epochs differ in their number of steps. The schedule
        assumes that all later epochs are as long as this one, so it ends with the last step.
        """
        self.shuffler.bit_generator.state = dict(self.position.shuffler)
        steps = self._planned(self.shuffler)
        epochs_left = self.prepared.config.train.max_epochs - len(self.epochs)
        self.schedule.total_steps = self.step - self.position.done + len(steps) * epochs_left
        return steps

    def _planned(self, shuffler: np.random.Generator) -> list[list[Ids]]:
        prepared = self.prepared
        return prepared.task.batches(prepared.encoded, prepared.config, shuffler)

    def _targets(self) -> int:
        """Targets of an epoch.

        A step's loss is divided by those of an average step. Batches hold sentences of similar
        length: divided by its own number of tokens, one of short sentences would pull as hard as
        one of long ones.
        """
        encoded = self.prepared.encoded
        return encoded.target_count

    def take_step(self, plan: list[list[Ids]]) -> float:
        """Take the next step of an epoch's plan; its loss, in nats, summed.

        Raises:
            TrainingError: a single sentence does not fit into memory.
        """
        began, position = time.perf_counter(), self.position
        batches = plan[position.done]
        loss = self.gradients.of(batches, self._targets() / len(plan))
        finite = self.updates.step(self.schedule.next_step(), loss)
        lengths = self.prepared.encoded.lengths
        self.step += 1
        position.done += 1
        position.tokens += int(sum(lengths[indices].sum() for indices in batches))
        if finite:
            self.in_a_row = 0
            position.loss += loss
            position.targets += self.gradients.targets
        else:
            self.in_a_row += 1
            self.skipped += 1
        position.seconds += time.perf_counter() - began
        return loss

    def keep(self, epoch: Epoch) -> None:
        """Add an epoch to the history; if it is the best, keep the weights as they are now."""
        self.epochs.append(epoch)
        if epoch.is_best:
            named = self.prepared.model.named_parameters()
            self.best_weights = {name: weights.detach().clone() for name, weights in named}

    def end_epoch(self, score: float) -> None:
        """Hear dev's score, and turn to the next epoch."""
        self.schedule.after_epoch(score)
        self.position = Position(self.shuffler.bit_generator.state)

    @torch.no_grad()
    def load_best(self) -> None:
        """Give the model the weights of the best epoch."""
        for name, parameter in self.prepared.model.named_parameters():
            parameter.copy_(self.best_weights[name])

    def checkpoint(self, more: Mapping[str, Any], *, sound: bool) -> Checkpoint:
        """The state as it is saved, with more values beside it."""
        tensors = {
            **self.updates.tensors(),
            **{f"best.{name}": tensor for name, tensor in self.best_weights.items()},
            **self.gradients.tensors(),
        }
        state = {
            "epochs": [asdict(epoch) for epoch in self.epochs],
            "position": asdict(self.position),
            "schedule": self.schedule.state(),
            "skipped": self.skipped,
            "in_a_row": self.in_a_row,
            "returns": self.returns,
            **more,
        }
        return Checkpoint(self.step, tensors, state, sound)

    def check(self, checkpoint: Checkpoint) -> None:
        """Whether `restore` can take over a state; changes nothing.

        Raises:
            ValueError: a value or a tensor is missing, or another than a run of this kind has.
        """
        self._checked(checkpoint)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Take over a state that was saved: all of it, or nothing.

        Raises:
            ValueError: as `check` does; nothing has changed.
        """
        record, tensors = self._checked(checkpoint), checkpoint.tensors
        self.updates.restore(tensors)
        self.gradients.restore(tensors)
        names = [name for name, _ in self.prepared.model.named_parameters()]
        self.best_weights = {name: tensors[f"best.{name}"] for name in names if record.epochs}
        self.epochs = [Epoch(**epoch.model_dump()) for epoch in record.epochs]
        self.position = Position(**record.position.model_dump())
        self.schedule.restore(record.schedule.model_dump())
        self.step, self.skipped = checkpoint.step, record.skipped
        self.in_a_row, self.returns = record.in_a_row, record.returns

    def _checked(self, checkpoint: Checkpoint) -> StateRecord:
        record = checked_state(checkpoint.state, checkpoint.step)
        shuffler = generator_of(record.position.shuffler)
        check_position(record, len(self._planned(shuffler)))
        tensors = checkpoint.tensors
        check_updates(tensors, self.updates)
        processes, cpu = self.gradients.processes, torch.get_rng_state().unsqueeze(0)
        for name in ("random.words", "random.torch"):
            check_tensors(tensors, {name: cpu.expand(processes.count, -1)})
            check_generator(name, tensors[name][processes.number])
        if self.prepared.device.type == "cuda" and "random.cuda" in tensors:
            gpu = torch.cuda.get_rng_state(self.prepared.device).unsqueeze(0)
            check_tensors(tensors, {"random.cuda": gpu.expand(processes.count, -1)})
        check_pieces(tensors, processes.count)
        if record.epochs:
            named = self.prepared.model.named_parameters()
            check_tensors(tensors, {f"best.{name}": weights for name, weights in named})
        return record
