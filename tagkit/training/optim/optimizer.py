"""What a step does with the gradients: scaling, clipping, the optimizer, the moving average.

Adam: Kingma and Ba 2015; AdamW, with decoupled weight decay: Loshchilov and Hutter 2019. Clipping
by the norm: Pascanu et al. 2013; Goodfellow, Bengio and Courville, section 10.11.1.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_value_, clip_grads_with_norm_, get_total_norm

from tagkit.config import TrainConfig, fixed
from tagkit.features.batching.batch import Batch
from tagkit.models.base.model import Model
from tagkit.nn.layers.embedding import row_updated_table
from tagkit.nn.optimizers import without_compiler
from tagkit.training.optim.ema import TriggeredAverage, WeightAverage, swapped


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerKind:
    """A row of `OPTIMIZERS`.

    Attributes:
        build: torch's optimizer, of parameters or groups of them and its options.
        fused: whether torch has a version of it that makes one pass over each tensor.
        momentum: whether it reads `train.momentum`.
        by_rows: whether `RowAdam` gives the same result, where there is no weight decay.
    """

    build: Callable[..., torch.optim.Optimizer]
    fused: bool = True
    momentum: bool = False
    by_rows: bool = False


OPTIMIZERS = {
    "adam": OptimizerKind(build=without_compiler(torch.optim.Adam), by_rows=True),
    "adamw": OptimizerKind(build=without_compiler(torch.optim.AdamW), by_rows=True),
    "nadam": OptimizerKind(build=without_compiler(torch.optim.NAdam), fused=False),
    "sgd": OptimizerKind(build=without_compiler(torch.optim.SGD), momentum=True),
}


@dataclass(frozen=True, slots=True)
class Clipped:
    """Gradients after clipping.

    Attributes:
        finite: whether loss and gradients were finite; also True where only the loss scale of fp16
            made them infinite.
        usable: whether to take a step with them.
    """

    finite: bool
    usable: bool


class ModelOptimizer:
    """Changes a model's weights by their gradients, and keeps the moving average of the weights.

    torch's optimizer updates most parameters; `RowAdam` updates the one table of which a step reads
    few rows, where the model has such a table and its result is the same.
    """

    def __init__(self, model: Model, settings: TrainConfig, processes: int) -> None:
        """`model` is on its training device; `processes` train it together."""
        self.model = model
        self.settings = settings
        table = row_updated_table(model)
        self.rows = None
        if table is not None:
            # Several processes read different rows: before each step every process would have to
            # bring the others' rows up to date.
            by_rows = processes == 1 and _suits_row_adam(settings, table.weight)
            self.rows = RowAdam(table.weight) if by_rows else None
            # Gradients as (rows read, dim) with their row numbers, instead of the whole table's,
            # which is zeros but for a few hundred rows.
            table.sparse = by_rows
        trained = {name: each for name, each in model.named_parameters() if each.requires_grad}
        self.dense = {
            name: parameter
            for name, parameter in trained.items()
            if not self.rows or parameter is not self.rows.table
        }
        # Sparse gradients never hold the padding row; dense ones do.
        self.padded_tables = [
            module
            for module in model.modules()
            if isinstance(module, nn.Embedding) and module.padding_idx is not None
        ]
        parameters = list(self.dense.values())
        self.optimizer = make_optimizer(settings, parameters)
        triggered = settings.averaging == "triggered"
        self.average = (
            TriggeredAverage(parameters, settings.average_patience)
            if triggered
            else WeightAverage(parameters, settings.average_decay)
        )
        self.averages_weights = triggered or settings.average_decay > 0
        device = parameters[0].device if parameters else torch.device("cpu")
        self.scaler = loss_scaler(device, settings.precision)
        self.generator = torch.Generator().manual_seed(settings.seed)  # of random steps

    def before_forward(self, batch: Batch[Tensor]) -> None:
        """Bring those weights up to date that the model reads for a batch."""
        if self.rows:
            self.rows.read(torch.unique(batch.words.word_ids))

    def zero_grad(self) -> None:
        """Drop all gradients."""
        self.model.zero_grad()

    def dense_gradients(self) -> list[Tensor]:
        """The gradients of all parameters but the row-updated table; zeros where there are none.

        Every process has to send the same tensors: where one has no gradient, others may have one.
        """
        found = []
        for parameter in self.dense.values():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            found.append(parameter.grad)
        return found

    def clip_gradients(self, loss: float) -> Clipped:
        """Check whether the gradients are finite, and clip them.

        If they are not, and `on_nonfinite` is "random", they are replaced by a random direction,
        and so they are with `clipping` "random" if their norm is over the limit (Pascanu et al.
        2013; Goodfellow, Bengio and Courville, section 10.11.1).

        Args:
            loss: whose gradients they are.
        """
        settings, scaler = self.settings, self.scaler
        dense = [p for p in self.dense.values() if p.grad is not None]
        rows = self._coalesced()
        # Unscaled first, as the limits are for the gradients themselves. Without any gradient the
        # scaler raises an error.
        scaled = bool(dense) and math.isfinite(loss)
        if scaled:
            scaler.unscale_(self.optimizer)
        norm = get_total_norm([*(p.grad for p in dense if p.grad is not None), *rows])
        total = float(norm)  # once: a GPU is waited for
        finite = math.isfinite(loss) and math.isfinite(total)
        if scaled:
            # The scaler finds the largest possible scale by raising it until gradients overflow.
            # Such a step is skipped, but the model is not at fault.
            overflow = math.isfinite(loss) and not finite and scaler.get_scale() > 1
            scaler.update()
            if overflow:
                return Clipped(finite=True, usable=False)
        if not finite:
            random = settings.on_nonfinite == "random"
            if random:
                self._randomize(rows)
            return Clipped(finite=False, usable=random)
        # As torch computes the factor; where it is 1, nothing needs to be multiplied.
        if settings.max_grad_norm and total + 1e-6 > settings.max_grad_norm:
            if settings.clipping == "random":
                self._randomize(rows)
                return Clipped(finite=True, usable=True)
            clip_grads_with_norm_(dense, settings.max_grad_norm, norm)
            # The same for the rows' sparse gradient, which torch's function leaves uncoalesced.
            coefficient = (settings.max_grad_norm / (norm + 1e-6)).clamp(max=1)
            for gradient in rows:
                gradient.mul_(coefficient)
        if limit := settings.max_grad_value:
            clip_grad_value_(dense, limit)
            for gradient in rows:
                gradient.clamp_(-limit, limit)
        return Clipped(finite=True, usable=True)

    def step(self, lr: float, decay: float) -> None:
        """Change the weights by their gradients.

        Args:
            lr: learning rate of this step.
            decay: of the moving average, which `RowAdam` updates in the same pass.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        _begin_momentum(self.optimizer)
        self.optimizer.step()
        if self.rows and (gradient := self.rows.table.grad) is not None:
            self.rows.step(gradient.indices()[0], gradient.values(), lr=lr, decay=decay)

    def _coalesced(self) -> list[Tensor]:
        """[(rows, dim)] the gradient of the row-updated table, each row once; [] without one.

        Backward passes of several pieces each add their rows. Before these are summed, their norm
        would not be that of the gradient, and Adam would update a row more than once.
        """
        if not self.rows or self.rows.table.grad is None:
            return []
        self.rows.table.grad = self.rows.table.grad.coalesce()
        return [self.rows.table.grad.values()]

    def _randomize(self, rows: list[Tensor]) -> None:
        """Replace all gradients by a random direction with the norm that they are clipped to.

        Padding rows get no gradient: they stay zero, and words with frozen vectors read the padding
        row as what is added to their vectors.
        """
        gradients = [*self.dense_gradients(), *rows]
        for gradient in gradients:
            gradient.copy_(torch.randn(gradient.shape, generator=self.generator))
        for table in self.padded_tables:
            if table.weight.grad is not None and not table.weight.grad.is_sparse:
                table.weight.grad[table.padding_idx] = 0
        norm = get_total_norm(gradients)
        for gradient in gradients:
            gradient.mul_(self.settings.max_grad_norm / norm)

    def tensors(self) -> dict[str, Tensor]:
        """Weights, their means, and the optimizer's state of each, by name.

        The names are those of the file format ("dice": state of the generator): they stay.
        """
        kept = {f"weights.{name}": p.detach() for name, p in self.model.named_parameters()}
        for (name, parameter), mean in zip(self.dense.items(), self.average.means, strict=True):
            kept[f"mean.{name}"] = mean
            for key, value in self.optimizer.state[parameter].items():
                if value is not None:
                    kept[f"optimizer.{name}.{key}"] = torch.as_tensor(value)
        if self.rows:
            kept |= {f"rows.{key}": value for key, value in self.rows.tensors().items()}
        if self.scaler.is_enabled():
            state = self.scaler.state_dict()
            kept["scale"] = torch.tensor([state["scale"], state["_growth_tracker"]])
        if isinstance(self.average, TriggeredAverage):
            kept["triggered"] = torch.tensor(int(self.average.triggered))
        steps = torch.tensor(self.average.steps)
        return {**kept, "dice": self.generator.get_state(), "steps": steps}

    @torch.no_grad()
    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore the state that `tensors` returned.

        Raises:
            KeyError: some are missing, so they are of another model.
        """
        self.zero_grad()
        for name, parameter in self.model.named_parameters():
            parameter.copy_(tensors[f"weights.{name}"])
        # torch's optimizers know their parameters by number. Ours are saved by name, so that a
        # layer that is added in a later version does not shift all others.
        state: dict[int, dict[str, Tensor]] = {}
        in_order = (each for group in self.optimizer.param_groups for each in group["params"])
        numbers = {id(parameter): number for number, parameter in enumerate(in_order)}
        for (name, parameter), mean in zip(self.dense.items(), self.average.means, strict=True):
            mean.copy_(tensors[f"mean.{name}"])
            prefix = f"optimizer.{name}."
            kept = {key.removeprefix(prefix): value.clone() for key, value in tensors.items()
                    if key.startswith(prefix)}  # fmt: skip
            if kept:  # a parameter that has never had a gradient has none
                state[numbers[id(parameter)]] = kept
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": state, "param_groups": groups})
        if self.rows:
            self.rows.restore({key.removeprefix("rows."): value for key, value in tensors.items()
                               if key.startswith("rows.")})  # fmt: skip
        if self.scaler.is_enabled():
            scale, tracker = tensors["scale"].tolist()
            state_dict = {**self.scaler.state_dict(), "scale": scale}
            self.scaler.load_state_dict({**state_dict, "_growth_tracker": int(tracker)})
        self.generator.set_state(tensors["dice"])
        self.average.steps = int(tensors["steps"])
        if isinstance(self.average, TriggeredAverage):
            self.average.triggered = bool(tensors["triggered"])

    def averages(self) -> dict[str, Tensor]:
        """The weights that the model has within `averaged`, by name; they share its memory.

        The next step changes them.
        """
        found = {name: p.detach() for name, p in self.model.named_parameters()}
        if self.averages_weights:
            found |= zip(self.dense, self.average.means, strict=True)
        if self.rows:
            found |= {
                name: self.rows.mean
                for name, parameter in self.model.named_parameters()
                if parameter is self.rows.table
            }
        return found

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Within this context the model has the moving average as its weights."""
        pairs: list[tuple[Tensor, Tensor]] = []
        if self.averages_weights:
            pairs += zip(self.average.parameters, self.average.means, strict=True)
        if self.rows:
            # All of them: dev has words that the last steps did not read. Without an average (a
            # decay of 0) the mean of a row is the row itself.
            self.rows.read_all()
            pairs.append((self.rows.table, self.rows.mean))
        with swapped(pairs):
            yield


def _suits_row_adam(settings: TrainConfig, table: Tensor) -> bool:
    """Whether `RowAdam` may update a table, in one process.

    Only on a CPU: a GPU updates the whole table in no time. Not with weight decay, which moves all
    rows.
    """
    return (
        OPTIMIZERS[settings.optimizer].by_rows
        and not settings.weight_decay
        and table.device.type == "cpu"
    )


def _begin_momentum(optimizer: torch.optim.Optimizer) -> None:
    """Give parameters that had no gradient until now a momentum of 0 beside others that have one.

    torch's fused SGD takes a group in which all have one, or none. From 0 a momentum becomes the
    gradient, as torch begins it.
    """
    for group in optimizer.param_groups:
        if not group.get("momentum"):
            continue
        moved = [each for each in group["params"] if each.grad is not None]
        fresh = [each for each in moved if optimizer.state[each].get("momentum_buffer") is None]
        for each in fresh if len(fresh) < len(moved) else ():
            optimizer.state[each]["momentum_buffer"] = torch.zeros_like(each)


def make_optimizer(settings: TrainConfig, parameters: Sequence[Tensor]) -> torch.optim.Optimizer:
    """The optimizer that the configuration names."""
    kind = OPTIMIZERS[settings.optimizer]
    options: dict[str, Any] = {"lr": fixed(settings.lr), "weight_decay": settings.weight_decay}
    if kind.momentum:
        options["momentum"] = settings.momentum
        options["nesterov"] = settings.nesterov
    if kind.fused:
        options["fused"] = True  # one pass over each tensor; three times as fast on a CPU
    return kind.build(list(parameters), **options)


# Mixed precision: the forward pass in 16 bits, weights and their updates in 32.
#
# See Micikevicius et al. 2018, "Mixed Precision Training". This uses torch's autocast and scaler,
# not Accelerate's, which fix one precision for the whole program: a program may train several
# models.
_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """A context in which torch chooses 16 bits for the operations that tolerate it."""
    mixed = precision != "fp32"
    # torch checks the dtype even where nothing is cast, and does not accept float32.
    dtype = _DTYPES[precision] if mixed else torch.bfloat16
    return torch.autocast(device.type, dtype=dtype, enabled=mixed)


def loss_scaler(device: torch.device, precision: str) -> torch.amp.GradScaler:
    """Multiplies the loss before the backward pass, and divides the gradients after it.

    In fp16 numbers below 6e-8, such as small gradients, become 0. bf16 has the exponents of fp32
    and needs no scale; for both the scaler is disabled and changes nothing.
    """
    scaler = torch.amp.GradScaler(device.type, enabled=precision == "fp16")
    # Its first call makes its tensors. Of several processes one may have no sentence in its first
    # step, and would unscale its gradients, which are zeros, before it has scaled a loss.
    scaler.scale(torch.zeros((), device=device))
    return scaler


# Adam, and the running mean of the weights, for a table of which each step changes few rows.
#
# A row without a gradient still moves under Adam, by its momentum, and so does its mean. Both are
# computed when the row is next read, for all steps since at once. Let s be the step of the row's
# last gradient, m and v its moments then, and lr[j] and d[j] the learning rate and the mean's decay
# of step j > s. Without gradients m[j] = b1^(j-s) m and v[j] = b2^(j-s) v, so that by step t
#
#     w[t] = w[s] - moved[s] m / sqrt(v)
#     mean[t] = kept[s] mean[s] + (1 - kept[s]) w[s] - lag[s] m / sqrt(v)
#
# with sums that all rows of one s share, a few numbers a step:
#
#     moved[s] += lr[j] sqrt(1 - b2^j) / (1 - b1^j) (b1 / sqrt(b2))^(j-s)
#     lag[s]    = d[j] lag[s] + (1 - d[j]) moved[s]
#     kept[s]  *= d[j]
#
# Adam: Kingma and Ba 2015; Goodfellow, Bengio and Courville, algorithm 8.7. The sums are exact but
# for epsilon, which here falls with sqrt(v). What is known as lazy Adam leaves the movement out,
# and with it nine tenths of what a rare word learns.
#
# Of a very large table v is one number a row, the mean of its squares, as in the partial rowwise
# Adam of FBGEMM: three tables in memory in place of four.
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8  # the defaults of torch.optim.Adam
# Steps after which all rows are brought up to date: it bounds the number of sums.
_SWEEP = 512
_ROWS_AT_ONCE = 4096
# Numbers from which on a table is very large: 256 MB, 670,000 words of 100 dimensions.
_LARGE_TABLE = 2**26


class RowAdam:
    """Updates the rows of a table that a step reads; the others are brought up to date later."""

    def __init__(self, table: Tensor) -> None:
        """`table`: (rows, dim), whose gradients are sparse."""
        self.table = table
        self.first = torch.zeros_like(table)
        shares = table.numel() >= _LARGE_TABLE
        self.second = torch.zeros_like(table[:, :1] if shares else table)  # (rows, 1 or dim)
        self.mean = table.detach().clone()
        self.steps = 0
        # Steps since the last sweep: until now, and until each row was last updated or read.
        self.clock = 0
        self.last = torch.zeros(len(table), dtype=torch.int64)
        # (4, steps) moved, lag and kept of the rows last read at each step, and its epsilon. In
        # float64: they are sums of hundreds of terms of very unequal size.
        self.sums = np.zeros((4, _SWEEP + 1))
        self._begin_sums(_EPSILON * math.sqrt(1 - _BETA2))

    @torch.no_grad()
    def read(self, rows: Tensor) -> None:
        """Bring rows up to date; to be called before a step reads them.

        Args:
            rows: (rows,) int64, each once.
        """
        # A few at a time: the formulas make half a dozen copies of the rows that they are given.
        for part in torch.split(rows, _ROWS_AT_ONCE):
            self._read(part)

    def _read(self, rows: Tensor) -> None:
        last = self.last[rows]  # (rows,)
        age = self.clock - last
        # Four times (rows, 1): rows that were last read at the same step have the same sums.
        moved, lag, kept, epsilon = (
            torch.from_numpy(self.sums[:, last.numpy()]).to(self.table.dtype).unsqueeze(2)
        )
        weights, first, second, mean = self._rows(rows)
        direction = first / second.sqrt().add_(epsilon)
        # kept mean + (1 - kept) weights - lag direction
        mean = torch.lerp(weights, mean, kept).addcmul_(lag, direction, value=-1)
        weights.addcmul_(moved, direction, value=-1)
        first *= (_BETA1**age).unsqueeze(1)
        second *= (_BETA2**age).unsqueeze(1)
        self._write(rows, weights, first, second, mean)
        self.last[rows] = self.clock

    @torch.no_grad()
    def step(self, rows: Tensor, gradients: Tensor, *, lr: float, decay: float) -> None:
        """One step of Adam and of the mean.

        Args:
            rows: (rows,) int64, each once, all of them read before.
            gradients: (rows, dim).
            lr: learning rate of this step.
            decay: of the mean at this step.
        """
        self.steps += 1
        # Adam's moments begin at 0 and are too small at first. The correction is put into two
        # numbers, rate and epsilon, instead of into all moments (Kingma and Ba 2015, section 2).
        corrected = math.sqrt(1 - _BETA2**self.steps)
        rate = lr * corrected / (1 - _BETA1**self.steps)
        parts = (torch.split(each, _ROWS_AT_ONCE) for each in (rows, gradients))
        for some, gradient in zip(*parts, strict=True):
            weights, first, second, mean = self._rows(some)
            first.lerp_(gradient, 1 - _BETA1)
            second.lerp_(_as_wide_as(second, gradient * gradient), 1 - _BETA2)
            weights.addcdiv_(first, second.sqrt().add_(_EPSILON * corrected), value=-rate)
            self._write(some, weights, first, second, mean.lerp_(weights, 1 - decay))
        self._add_step(rate, decay)
        self._begin_sums(_EPSILON * corrected)
        self.last[rows] = self.clock
        if self.clock == _SWEEP:  # the array of sums is full
            self.read_all()

    def tensors(self) -> dict[str, Tensor]:
        """What `restore` needs, without the table."""
        return {
            "first": self.first,
            "second": self.second,
            "mean": self.mean,
            "last": self.last,
            "sums": torch.from_numpy(self.sums[:, : self.clock + 1].copy()),
            "steps": torch.tensor(self.steps),
        }

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore the state that `tensors` returned."""
        for own, key in ((self.first, "first"), (self.second, "second"), (self.mean, "mean"),
                         (self.last, "last")):  # fmt: skip
            own.copy_(_as_wide_as(own, tensors[key]))
        self.clock = tensors["sums"].shape[1] - 1
        self.sums[:, : self.clock + 1] = tensors["sums"].numpy()
        self.steps = int(tensors["steps"])

    def read_all(self) -> None:
        """Bring all rows up to date."""
        self.read(torch.arange(len(self.table)))
        self.last.zero_()
        # No gradient has come: the direction's epsilon is still that of the last step.
        epsilon = float(self.sums[3, self.clock])
        self.clock = 0
        self._begin_sums(epsilon)

    def _rows(self, rows: Tensor) -> list[Tensor]:
        """Copies of these rows of the weights, their two moments and their mean."""
        # Indexing with [rows] takes four times as long as this.
        parts = (self.table, self.first, self.second, self.mean)
        return [part.index_select(0, rows) for part in parts]

    def _write(self, rows: Tensor, *parts: Tensor) -> None:
        """Copy back what `_rows` returned, changed."""
        own = (self.table, self.first, self.second, self.mean)
        for whole, part in zip(own, parts, strict=True):
            whole.index_copy_(0, rows, part)

    def _add_step(self, rate: float, decay: float) -> None:
        """Add this step to the sums of all earlier ones."""
        self.clock += 1
        moved, lag, kept, _ = self.sums[:, : self.clock]
        # Each column is a step, 0 to clock - 1, at which a row may have been read last; the longer
        # ago, the more its momentum has faded: the exponents are clock, ..., 1.
        moved += rate * (_BETA1 / math.sqrt(_BETA2)) ** np.arange(self.clock, 0, -1)
        lag += (1 - decay) * (moved - lag)
        kept *= decay

    def _begin_sums(self, epsilon: float) -> None:
        """Begin the sums of the rows that this step reads."""
        self.sums[:, self.clock] = 0, 0, 1, epsilon  # nothing moved yet, all of the mean kept


def _as_wide_as(moment: Tensor, values: Tensor) -> Tensor:
    """The values of each row, or their mean where the moment is one number a row.

    A second moment that an earlier version saved, of a number for each weight, is averaged too.
    """
    narrow = moment.dim() == 2 and moment.shape[1] < values.shape[1]
    return values.mean(1, keepdim=True) if narrow else values
