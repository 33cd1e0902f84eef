"""What a step does with the gradients: clipping, the optimizer, the moving average.

Adam: Kingma and Ba 2015; AdamW, with decoupled weight decay: Loshchilov and Hutter 2019. Clipping
by the norm: Pascanu et al. 2013; Goodfellow, Bengio and Courville, section 10.11.1.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_value_, clip_grads_with_norm_, get_total_norm

from tagkit.config import TrainConfig, fixed
from tagkit.features.batching.batch import Batch
from tagkit.models.base.model import Model
from tagkit.nn.layers.embedding import row_updated_table
from tagkit.nn.optimizers import without_compiler
from tagkit.training.optim.ema import TriggeredAverage, WeightAverage, swapped
from tagkit.training.optim.precision import loss_scaler
from tagkit.training.optim.row_adam import RowAdam


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

        If they are not, and `on_nonfinite` is "random", they are replaced by a random direction
        (Pascanu et al. 2013; Goodfellow, Bengio and Courville, section 10.11.1).

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
    if kind.fused:
        options["fused"] = True  # one pass over each tensor; three times as fast on a CPU
    return kind.build(list(parameters), **options)
