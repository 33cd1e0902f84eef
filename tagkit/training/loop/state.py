"""The state of a training run: what changes from step to step, and is saved with a checkpoint."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from torch import Tensor

from tagkit.config import TrainConfig, fixed
from tagkit.errors import TrainingError
from tagkit.evaluation.reports.criterion import rank
from tagkit.features import Ids
from tagkit.training.events.callbacks import Epoch
from tagkit.training.folder.checkpoint import BEST, Checkpoint, read_best_weights
from tagkit.training.loop.micro_batches import MicroBatches
from tagkit.training.optim.ema import TriggeredAverage
from tagkit.training.optim.lr_schedule import Schedule
from tagkit.training.optim.optimizer import ModelOptimizer, make_optimizer
from tagkit.training.processes.distributed import Processes
from tagkit.training.setup.run_settings import run_settings
from tagkit.training.setup.setup import Prepared
from tagkit.wording import quoted

# Prefixes of names in a checkpoint: of a task's state (`Task.state`), of what is fitted before the
# first step, and of the optimizer's state of each parameter.
_CARRIED, _FITTED, _OPTIMIZER = "carried.", "fitted.", "optimizer."


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

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore the state that was saved: all of it, or nothing.

        Raises:
            ValueError: as `check` does; nothing has changed.
        """
        # All checks come before the first change.
        record, tensors = self.check(checkpoint), checkpoint.tensors
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

    def check(self, checkpoint: Checkpoint) -> "StateRecord":
        """What `restore` will restore of a checkpoint, its tensors aside; changes nothing.

        Raises:
            ValueError: a value or a tensor is missing, or another than a run of this kind has.
        """
        record, tensors = checked_state(checkpoint.state, checkpoint.step), checkpoint.tensors
        # A generator of its own: the shuffler of this run does not move.
        steps = len(self._steps(_generator_of(record.position.shuffler)))
        done = record.position.done
        if done >= steps:  # at the end of an epoch a checkpoint is already of the next one
            raise ValueError(
                f"state.position.done = {done}: expected less than the {steps} steps of the epoch"
            )
        _check_optimizer(tensors, self.optimizer)
        count, cpu = self.processes.count, torch.get_rng_state().expand(self.processes.count, -1)
        expected = {"random.words": cpu, "random.torch": cpu, **self._carried(), **self._fitted()}
        # A run may be resumed on a GPU from a checkpoint that has no state of its generator.
        if self.prepared.device.type == "cuda" and "random.cuda" in tensors:
            gpu = torch.cuda.get_rng_state(self.prepared.device)
            expected["random.cuda"] = gpu.expand(count, -1)
        if "pieces" in tensors:  # earlier versions saved none
            expected["pieces"] = torch.zeros(count, dtype=torch.int64)
        if record.epochs:
            named = self.prepared.model.named_parameters()
            expected |= {f"{BEST}{name}": weights for name, weights in named}
        _check_tensors(tensors, expected)
        for name in ("random.words", "random.torch"):
            _check_generator(name, tensors[name][self.processes.rank])
        if "pieces" in tensors and bool((tensors["pieces"] < 1).any()):
            found = tensors["pieces"].tolist()
            raise ValueError(f"tensor 'pieces' = {found}: expected at least 1")
        return record


# What a state has to be so that a run can restore it. A checkpoint with the right digests may still
# have been written by another program, or by a version with a mistake. Before any of it is used,
# each value is checked by itself, then against the others, and each tensor's name, shape and dtype
# against those of the run. Keys that are not listed are allowed: a later version may add some. A
# key that is added here needs a default, so that checkpoints of earlier versions can be read.

Count = Annotated[int, Field(ge=0, lt=2**63)]  # numpy and torch count in int64
Number = Annotated[float, Field(allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Record(BaseModel):
    # strict: no 1.0 or "1" for a 1, which no version of tagkit has written.
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class EpochRecord(_Record):
    """An `Epoch`."""

    number: Count
    step: Count
    loss: Number
    score: Number
    scores: dict[str, Number]
    lr: Number
    tokens_per_s: NotNegative
    seconds: NotNegative
    is_best: bool
    whole: bool
    dev_loss: Number | None = None  # checkpoints of version 0.1 do not have it


class PositionRecord(_Record):
    """A `Position`."""

    shuffler: dict[str, Any]
    done: Count
    loss: Number
    targets: Count
    tokens: Count
    seconds: NotNegative


class ScheduleRecord(_Record):
    """The state of an `lr_schedule.Schedule`."""

    model_config = ConfigDict(extra="allow")

    lr: Number
    step: Count
    factor: NotNegative
    best: Number
    waited: Count


class StateRecord(_Record):
    """The state of a run."""

    model_config = ConfigDict(extra="allow")

    epochs: list[EpochRecord]
    position: PositionRecord
    schedule: ScheduleRecord
    skipped: Count
    # Names of the file format: `consecutive_nonfinite` and `rollbacks` of a `RunState`.
    in_a_row: Count
    returns: Count
    run: dict[str, Any]


def checked_state(state: Mapping[str, Any], step: int) -> StateRecord:
    """The state of a run after a step.

    Args:
        state: values of JSON.
        step: number of steps done.

    Raises:
        ValueError: a value is missing, is of another kind, or does not fit the others.
    """
    try:
        record = StateRecord.model_validate(dict(state))
    except ValidationError as error:
        raise ValueError(_explain(error)) from None
    except RecursionError:  # of JSON that was made to break the reader
        raise ValueError("state.json is nested too deep") from None
    epochs, done = record.epochs, record.position.done
    if [epoch.number for epoch in epochs] != list(range(1, len(epochs) + 1)):
        raise ValueError("state.epochs are not numbered 1, 2, 3 ...")
    # The best epoch is the last one that is marked, and there has to be one.
    if epochs and not epochs[0].is_best:
        raise ValueError("state.epochs: the first one is not marked as the best so far")
    ends = [0, *(epoch.step for epoch in epochs)]
    if sorted(ends) != ends or ends[-1] + done != step:
        raise ValueError(
            f"state.position.done = {done} after epochs that end at step {ends[-1]}: expected "
            f"step {ends[-1] + done}, found {step}"
        )
    # The schedule counts skipped steps too, so it never differs.
    if record.schedule.step != step:
        raise ValueError(f"state.schedule.step = {record.schedule.step}: expected {step}")
    return record


def _generator_of(state: Mapping[str, Any]) -> np.random.Generator:
    """A generator of NumPy in the given state.

    Raises:
        ValueError: it is no state of such a generator.
    """
    generator = np.random.default_rng(0)
    try:
        generator.bit_generator.state = dict(state)
        generator.random()  # some states are accepted, and fail when they are used
        generator.bit_generator.state = dict(state)  # as it was before that draw
        return generator
    except (ValueError, TypeError, KeyError, OverflowError, AttributeError):
        raise ValueError("state.position.shuffler is no state of a generator") from None


def _check_tensors(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Raise unless tensors have the names, shapes and dtypes of a run; others are allowed.

    Raises:
        ValueError: one is missing, or has another shape or dtype.
    """
    for name, wanted in expected.items():
        tensor = found.get(name)
        if tensor is None:
            raise ValueError(f"tensor {quoted(name)} is missing")
        if (tensor.dtype, tensor.shape) != (wanted.dtype, wanted.shape):
            raise ValueError(
                f"tensor {quoted(name)}: expected {_kind(wanted)}, found {_kind(tensor)}"
            )


def _check_generator(name: str, state: Tensor) -> None:
    """Raise unless this is the state of a generator of torch on the CPU.

    Raises:
        ValueError: it is not.
    """
    try:
        # clone: torch (2.13) crashes on a state that is a view of a larger tensor.
        torch.Generator().set_state(state.clone())
    except (RuntimeError, TypeError):
        raise ValueError(f"tensor {quoted(name)} is no state of a generator") from None


def _kind(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"


def _explain(error: ValidationError) -> str:
    """The first problem in our words."""
    problem = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(map(str, ("state", *problem["loc"])))
    if problem["type"] == "missing":
        return f"{quoted(where)} is missing"
    return f"{quoted(where)} = {quoted(repr(problem['input']))}: no value of a run"


def _check_optimizer(found: Mapping[str, Tensor], optimizer: ModelOptimizer) -> None:
    """Raise unless tensors are those of a `ModelOptimizer`: weights, means, moments, steps.

    Raises:
        ValueError: they are not.
    """
    rows, sums = optimizer.rows, "rows.sums"  # sums grow with each step since the last sweep
    # Moments come below: a parameter without a gradient so far has none.
    expected = {name: tensor for name, tensor in optimizer.tensors().items()
                if not name.startswith(_OPTIMIZER) and name != sums}  # fmt: skip
    # Earlier versions kept a second moment for each number of a large table too.
    if rows and found.get("rows.second", rows.table).shape == rows.table.shape:
        expected["rows.second"] = rows.table
    template = _moments(optimizer.settings)
    begun = [name for name in optimizer.dense
             if any(f"{_OPTIMIZER}{name}.{key}" in found for key in template)]  # fmt: skip
    for name, (key, value) in product(begun, template.items()):
        # A count of steps is one number; everything else has its parameter's shape.
        like = value if value.dim() == 0 else optimizer.dense[name]
        # Without numbers: moments of all parameters at once would take twice the model's memory.
        wanted = torch.empty_like(like, dtype=value.dtype, device="meta")
        expected[f"{_OPTIMIZER}{name}.{key}"] = wanted
    _check_tensors(found, expected)
    _check_generator("dice", found["dice"])
    if template and optimizer.dense and not begun and int(found["steps"]) > 0:
        raise ValueError("tensors of the optimizer are missing")
    for name in [*expected, *(name for name in found if name.startswith(_OPTIMIZER))]:
        # After a count of -1 the bias correction of Adam would divide by 1 - beta^0 = 0.
        if found[name].dim() == 0 and not (0 <= float(found[name]) < 2**63):
            raise ValueError(f"tensor {quoted(name)} = {float(found[name])}: expected at least 0")
    if rows:
        # `last` are columns of `sums`, of which a run has filled no more than there is room for.
        _check_tensors(found, {sums: found.get(sums, torch.empty(0)).double()})
        shape, (count, room) = found[sums].shape, rows.sums.shape
        if len(shape) != 2 or shape[0] != count or not 1 <= shape[1] <= room:
            raise ValueError(
                f"tensor 'rows.sums': expected shape ({count}, 1 to {room}), found {tuple(shape)}"
            )
        last = found["rows.last"]
        if len(last) and not 0 <= int(last.min()) <= int(last.max()) < shape[1]:
            raise ValueError(f"tensor 'rows.last': expected numbers under {shape[1]}")
    if optimizer.scaler.is_enabled():
        scale, tracker = found["scale"].tolist()
        if not (0 < scale < math.inf and 0 <= tracker < math.inf):
            raise ValueError(f"tensor 'scale' = {scale}, {tracker}: no scale of gradients")


def _moments(settings: TrainConfig) -> dict[str, Tensor]:
    """What the optimizer keeps of a parameter, by name, from one step with a small parameter."""
    # Tried out rather than listed here: a later version of torch may keep more.
    parameter = torch.zeros(2, requires_grad=True)
    parameter.grad = torch.zeros(2)
    optimizer = make_optimizer(settings, [parameter])
    optimizer.step()
    kept = optimizer.state[parameter].items()
    return {key: torch.as_tensor(value) for key, value in kept if value is not None}
