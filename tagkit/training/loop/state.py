"""The state of a training run: what changes from step to step, and is saved with a checkpoint."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tagkit.config import fixed
from tagkit.errors import TrainingError
from tagkit.evaluation.reports.criterion import rank
from tagkit.features import Ids
from tagkit.training.events.callbacks import Epoch
from tagkit.training.folder.checkpoint import BEST, Checkpoint, read_best_weights
from tagkit.training.loop.micro_batches import MicroBatches
from tagkit.training.loop.saved_state import (
    StateRecord,
    check_generator,
    check_optimizer,
    check_pieces,
    check_position,
    check_tensors,
    checked_state,
    generator_of,
)
from tagkit.training.optim.ema import TriggeredAverage
from tagkit.training.optim.lr_schedule import Schedule
from tagkit.training.optim.optimizer import ModelOptimizer
from tagkit.training.processes.distributed import Processes
from tagkit.training.setup.run_settings import run_settings
from tagkit.training.setup.setup import Prepared

# Prefixes of names in a checkpoint: of a task's state (`Task.state`), and of what is fitted before
# the first step.
_CARRIED, _FITTED = "carried.", "fitted."


@dataclass(slots=True)
class Position:
    """How far the current epoch has come.

    Attributes:
        shuffler: state of the generator that plans the epoch, before it did.
        done: number of steps taken or skipped.
        loss: sum over the targets of all steps that were finite, in nats.
        targets: number of these targets.
        tokens: number of tokens read.
        seconds: duration of the steps.
    """

    shuffler: Mapping[str, Any]  # a few numbers, from which the whole plan can be made again
    done: int = 0
    loss: float = 0.0
    targets: int = 0
    tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class EpochPlan:
    """The steps of an epoch.

    Attributes:
        steps: the batch of each step, as indices of sentences.
        targets_per_step: tags, or classes, of an average step, by which the loss of each step is
            divided. Not by the targets of the step itself: batches hold sentences of similar
            length, so a step of short sentences would pull as hard as one of long ones, and a token
            would count for more in a short sentence.
    """

    steps: list[Ids]
    targets_per_step: float


class RunState:
    """Weights, optimizer, schedule, random generators, position in the corpus, history."""

    def __init__(
        self, prepared: Prepared, processes: Processes, note: Callable[[str], None]
    ) -> None:
        """The state before the first step; `note` is called with what a user should know.

        Raises:
            TrainingError: several processes would carry on one text.
        """
        self.settings = settings = run_settings(prepared.config.train)
        # Each process would carry the states of its own rows, and a checkpoint hold those of one.
        if processes.count > 1 and prepared.task.state(prepared.model):
            raise TrainingError(
                f"a text is read as streams by one process, found {processes.count}; train in one, "
                "or each line by itself with data.context=line"
            )
        self.prepared = prepared
        self.processes = processes
        self.note = note
        self.optimizer = ModelOptimizer(prepared.model, settings, processes.count)
        self.micro_batches = MicroBatches(prepared, processes, note)
        # The same in all processes, which have to cut the same batches: see `MicroBatches.split`.
        self.shuffler = np.random.default_rng(settings.seed)
        self.position = Position(self.shuffler.bit_generator.state)
        self.schedule = Schedule(settings)
        self.epochs: list[Epoch] = []
        # Of the best epoch: the folder of a checkpoint that has its weights, or, until that is
        # saved, the weights themselves. A copy in memory would be as large as the model. Not read
        # back from `best`, which may be of an epoch that a rollback has undone.
        self.best_place: Path | None = None
        self.best_weights: dict[str, Tensor] = {}
        self.step = 0
        self.skipped = 0  # steps that were not finite
        self.consecutive_nonfinite = 0  # how many of them came last
        self.rollbacks = 0  # how often the run has gone back because of them

    @property
    def best(self) -> Epoch:
        """The best epoch so far."""
        return [epoch for epoch in self.epochs if epoch.is_best][-1]

    def plan_epoch(self) -> EpochPlan:
        """The steps of the current epoch.

        With batches measured in tokens, epochs differ in their number of steps. The schedule
        assumes that all later epochs are as long as this one, so it ends with the last step.
        """
        # The plan itself is not saved: a resumed run makes that of its epoch again.
        self.shuffler.bit_generator.state = dict(self.position.shuffler)
        steps = self._steps(self.shuffler)
        # The current epoch is among those that are left.
        epochs_left = fixed(self.settings.max_epochs) - len(self.epochs)
        self.schedule.total_steps = self.step - self.position.done + len(steps) * epochs_left
        if not self.step and (note := self.schedule.note()):
            self.note(note)
        return EpochPlan(steps, self.prepared.encoded.target_count / len(steps))

    def _steps(self, shuffler: np.random.Generator) -> list[Ids]:
        prepared = self.prepared
        return prepared.task.batches(prepared.encoded, prepared.config, shuffler)

    def count_step(
        self, batch: Ids, loss: float, targets: int, seconds: float, *, finite: bool
    ) -> None:
        """Count a step that was taken, or skipped.

        Args:
            batch: of the step.
            loss: summed, in nats.
            targets: number of targets in that sum.
            seconds: duration of the step.
            finite: whether loss and gradients were finite.
        """
        position, lengths = self.position, self.prepared.encoded.lengths
        self.step += 1
        position.done += 1
        position.tokens += int(lengths[batch].sum())
        position.seconds += seconds
        if finite:  # a single NaN would make the mean loss of the epoch NaN
            self.consecutive_nonfinite = 0
            position.loss += loss
            position.targets += targets
        else:
            self.consecutive_nonfinite += 1
            self.skipped += 1

    def add_epoch(self, epoch: Epoch) -> None:
        """Add an epoch to the history; if it is the best, its weights are the averages.

        The next step changes these, so a checkpoint has to be saved before it.
        """
        self.epochs.append(epoch)
        if epoch.is_best:
            self.best_place, self.best_weights = None, self.optimizer.averages()

    def saved(self, place: Path) -> None:
        """Take note of a checkpoint of this state, which has the best epoch's weights, if any."""
        if self.epochs:
            self.best_place, self.best_weights = place, {}

    def end_epoch(self, score: float) -> None:
        """Pass dev's score to the schedule, and begin the next epoch."""
        key = self.prepared.criterion.key
        score = rank(key, score)  # a plateau begins where it is not larger
        self.schedule.after_epoch(score)
        if isinstance(self.optimizer.average, TriggeredAverage):
            self.optimizer.average.after_epoch([rank(key, one.score) for one in self.epochs])
        self.position = Position(self.shuffler.bit_generator.state)

    @torch.no_grad()
    def load_best(self) -> None:
        """Give the model the weights of the best epoch.

        Raises:
            CheckpointError: the checkpoint that has them is damaged.
        """
        parameters = dict(self.prepared.model.named_parameters())
        if self.best_place:
            read_best_weights(self.best_place, parameters)
        for name, weights in self.best_weights.items():
            parameters[name].copy_(weights)

    def checkpoint(self, more: Mapping[str, Any], *, sound: bool) -> Checkpoint:
        """The state as it is saved, and `more` values.

        The names are those of the file format, some of them older than the attributes: they stay.
        """
        tensors = {
            **self.optimizer.tensors(),
            **{f"{BEST}{name}": tensor for name, tensor in self.best_weights.items()},
            **self.micro_batches.tensors(),
            **self._carried(),
            **self._fitted(),
        }
        state = {
            "epochs": [asdict(epoch) for epoch in self.epochs],
            "position": asdict(self.position),
            "schedule": self.schedule.state(),
            "skipped": self.skipped,
            "in_a_row": self.consecutive_nonfinite,
            "returns": self.rollbacks,
            **more,
        }
        return Checkpoint(self.step, tensors, state, sound, self.best_place)

    def check(self, checkpoint: Checkpoint) -> None:
        """Check whether `restore` can restore a checkpoint; changes nothing.

        Raises:
            ValueError: a value or a tensor is missing, or another than a run of this kind has.
        """
        self._checked(checkpoint)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore the state that was saved: all of it, or nothing.

        Raises:
            ValueError: as `check` does; nothing has changed.
        """
        # All checks come before the first change.
        record, tensors = self._checked(checkpoint), checkpoint.tensors
        self.optimizer.restore(tensors)
        self.micro_batches.restore(tensors)
        carried = {name.removeprefix(_CARRIED): tensors[name] for name in self._carried()}
        self.prepared.task.restore(self.prepared.model, carried)
        # A search that time has ended at once is made up for: its end was no decision.
        self._take_fitted(tensors, unless_empty=True)
        names = [name for name, _ in self.prepared.model.named_parameters()]
        self.best_place, self.best_weights = checkpoint.best, {}
        if record.epochs and not checkpoint.best:  # of version 1, which has no file of them
            self.best_weights = {name: tensors[f"{BEST}{name}"] for name in names}
        self.epochs = [Epoch(**epoch.model_dump()) for epoch in record.epochs]
        self.position = Position(**record.position.model_dump())
        self.schedule.restore(record.schedule.model_dump())
        self.step, self.skipped = checkpoint.step, record.skipped
        self.consecutive_nonfinite, self.rollbacks = record.in_a_row, record.returns

    def _carried(self) -> dict[str, Tensor]:
        """The state of the task, by its names in a checkpoint."""
        carried = self.prepared.task.state(self.prepared.model)
        return {f"{_CARRIED}{name}": tensor for name, tensor in carried.items()}

    @property
    def is_fitted(self) -> bool:
        """Whether the model has what is fitted before the first step, or needs nothing."""
        return all(part.is_fitted for part in self.prepared.model.fitted_parts().values())

    def _fitted(self) -> dict[str, Tensor]:
        """What was fitted before the first step, by its names in a checkpoint.

        Without a limit of time it could be found again, with one a clock has decided what it is.
        """
        return {
            f"{_FITTED}{prefix}{name}": tensor
            for prefix, part in self.prepared.model.fitted_parts().items()
            for name, tensor in part.state_dict().items()
        }

    def _take_fitted(self, tensors: Mapping[str, Tensor], *, unless_empty: bool = False) -> None:
        for prefix, part in self.prepared.model.fitted_parts().items():
            own = {name: tensors[f"{_FITTED}{prefix}{name}"] for name in part.state_dict()}
            weights = (own[name] for name in own if name.endswith(("weight", "weights")))
            if not unless_empty or any(bool(each.any()) for each in weights):
                part.load_state_dict(own)

    def broadcast_fitted(self) -> None:
        """Give all processes what the first has fitted: their clocks may decide differently."""
        if self.processes.count > 1 and self.settings.max_minutes:
            found = {name: self.processes.gather(each)[0] for name, each in self._fitted().items()}
            self._take_fitted(found)

    def _checked(self, checkpoint: Checkpoint) -> StateRecord:
        record = checked_state(checkpoint.state, checkpoint.step)
        # A generator of its own: the shuffler of this run does not move.
        shuffler = generator_of(record.position.shuffler)
        check_position(record, len(self._steps(shuffler)))
        tensors = checkpoint.tensors
        check_optimizer(tensors, self.optimizer)
        count, rank, cpu = self.processes.count, self.processes.rank, torch.get_rng_state()
        for name in ("random.words", "random.torch"):
            check_tensors(tensors, {name: cpu.expand(count, -1)})
            check_generator(name, tensors[name][rank])
        # A run may be resumed on a GPU from a checkpoint that has no state of its generator.
        if self.prepared.device.type == "cuda" and "random.cuda" in tensors:
            gpu = torch.cuda.get_rng_state(self.prepared.device)
            check_tensors(tensors, {"random.cuda": gpu.expand(count, -1)})
        check_pieces(tensors, count)
        check_tensors(tensors, {**self._carried(), **self._fitted()})
        if record.epochs:
            named = self.prepared.model.named_parameters()
            check_tensors(tensors, {f"{BEST}{name}": weights for name, weights in named})
        return record
