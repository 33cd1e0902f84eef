"""The schema of a checkpoint: what a state has to be so that a run can restore it.

A checkpoint with the right digests may still have been written by another program, or by a version
with a mistake. Before any of it is used, each value of the state is checked by itself, then against
the others, and each tensor's name, shape and dtype against those of the run. Keys that are not
listed are allowed: a later version may add some. A key that is added here needs a default, so that
checkpoints of earlier versions can be read.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from torch import Tensor

from tagkit.config import TrainConfig
from tagkit.training.optim.optimizer import ModelOptimizer, make_optimizer
from tagkit.wording import quoted

_OPTIMIZER = "optimizer."
Count = Annotated[int, Field(ge=0, lt=2**63)]  # numpy and torch count in int64
Number = Annotated[float, Field(allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Record(BaseModel):
    # strict: no 1.0 or "1" for a 1, which no version of tagkit has written.
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class EpochRecord(_Record):
    """A `callbacks.Epoch`."""

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
    """A `state.Position`."""

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


def check_position(record: StateRecord, steps: int) -> None:
    """Raise unless a step is left of the current epoch, which has `steps`.

    Raises:
        ValueError: none is left. At the end of an epoch a checkpoint is already of the next one.
    """
    done = record.position.done
    if done >= steps:
        raise ValueError(
            f"state.position.done = {done}: expected less than the {steps} steps of the epoch"
        )


def generator_of(state: Mapping[str, Any]) -> np.random.Generator:
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


def check_tensors(
    found: Mapping[str, Tensor], expected: Mapping[str, Tensor], *, but: tuple[str, ...] = ()
) -> None:
    """Raise unless tensors have the names, shapes and dtypes of a run; others are allowed.

    Args:
        found: by name.
        expected: by name.
        but: names of tensors whose shape may differ.

    Raises:
        ValueError: one is missing, or has another shape or dtype.
    """
    for name, wanted in expected.items():
        tensor = found.get(name)
        if tensor is None:
            raise ValueError(f"tensor {quoted(name)} is missing")
        if tensor.dtype != wanted.dtype or (name not in but and tensor.shape != wanted.shape):
            raise ValueError(
                f"tensor {quoted(name)}: expected {_kind(wanted)}, found {_kind(tensor)}"
            )


def check_generator(name: str, state: Tensor) -> None:
    """Raise unless this is the state of a generator of torch on the CPU.

    Raises:
        ValueError: it is not.
    """
    try:
        # clone: torch (2.13) crashes on a state that is a view of a larger tensor.
        torch.Generator().set_state(state.clone())
    except (RuntimeError, TypeError):
        raise ValueError(f"tensor {quoted(name)} is no state of a generator") from None


def check_pieces(tensors: Mapping[str, Tensor], processes: int) -> None:
    """Raise unless the processes' numbers of pieces, if they were saved, are at least 1.

    Raises:
        ValueError: they are not.
    """
    if "pieces" in tensors:  # earlier versions saved none
        pieces = tensors["pieces"]
        check_tensors(tensors, {"pieces": torch.zeros(processes, dtype=torch.int64)})
        if bool((pieces < 1).any()):
            raise ValueError(f"tensor 'pieces' = {pieces.tolist()}: expected at least 1")


def _kind(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"


def _explain(error: ValidationError) -> str:
    """The first problem in our words."""
    problem = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(map(str, ("state", *problem["loc"])))
    if problem["type"] == "missing":
        return f"{quoted(where)} is missing"
    return f"{quoted(where)} = {quoted(repr(problem['input']))}: no value of a run"


def check_optimizer(found: Mapping[str, Tensor], optimizer: ModelOptimizer) -> None:
    """Raise unless tensors are those of a `ModelOptimizer`: weights, means, moments, steps.

    Raises:
        ValueError: they are not.
    """
    # Moments are checked below: a parameter without a gradient so far has none.
    expected = {name: tensor for name, tensor in optimizer.tensors().items()
                if not name.startswith(_OPTIMIZER)}  # fmt: skip
    # Earlier versions kept a second moment for each number of a large table too.
    if optimizer.rows and found.get("rows.second", optimizer.rows.table).shape == (
        optimizer.rows.table.shape
    ):
        expected["rows.second"] = optimizer.rows.table
    # The sums of `RowAdam` grow with each step since the last sweep.
    check_tensors(found, expected, but=("rows.sums",))
    check_generator("dice", found["dice"])
    template = _moments(optimizer.settings)
    begun = [name for name in optimizer.dense
             if any(f"{_OPTIMIZER}{name}.{key}" in found for key in template)]  # fmt: skip
    if template and optimizer.dense and not begun and int(found["steps"]) > 0:
        raise ValueError("tensors of the optimizer are missing")
    for name in begun:
        for key, value in template.items():
            # A count of steps is one number; everything else has its parameter's shape.
            like = value if value.dim() == 0 else optimizer.dense[name]
            wanted = torch.empty_like(like, dtype=value.dtype)
            check_tensors(found, {f"{_OPTIMIZER}{name}.{key}": wanted})
    for name in [*expected, *(name for name in found if name.startswith(_OPTIMIZER))]:
        # After a count of -1 the bias correction of Adam would divide by 1 - beta^0 = 0.
        if found[name].dim() == 0 and not (0 <= float(found[name]) < 2**63):
            raise ValueError(f"tensor {quoted(name)} = {float(found[name])}: expected at least 0")
    if optimizer.rows:
        _check_rows(found, optimizer.rows.sums.shape)
    if optimizer.scaler.is_enabled():
        scale, tracker = found["scale"].tolist()
        if not (0 < scale < math.inf and 0 <= tracker < math.inf):
            raise ValueError(f"tensor 'scale' = {scale}, {tracker}: no scale of gradients")


def _check_rows(found: Mapping[str, Tensor], room: tuple[int, ...]) -> None:
    # `last` are columns of `sums`, of which a run has filled no more than these.
    sums, last = found["rows.sums"], found["rows.last"]
    if sums.dim() != 2 or len(sums) != room[0] or not 1 <= sums.shape[1] <= room[1]:
        raise ValueError(
            f"tensor 'rows.sums': expected shape ({room[0]}, 1 to {room[1]}), found "
            f"{tuple(sums.shape)}"
        )
    if len(last) and not 0 <= int(last.min()) <= int(last.max()) < sums.shape[1]:
        raise ValueError(f"tensor 'rows.last': expected numbers under {sums.shape[1]}")


def _moments(settings: TrainConfig) -> dict[str, Tensor]:
    """What the optimizer keeps of a parameter, by name, from one step with a small parameter."""
    # Tried out rather than listed here: a later version of torch may keep more.
    parameter = torch.zeros(2, requires_grad=True)
    parameter.grad = torch.zeros(2)
    optimizer = make_optimizer(settings, [parameter])
    optimizer.step()
    kept = optimizer.state[parameter].items()
    return {key: torch.as_tensor(value) for key, value in kept if value is not None}
