"""What a step of training does to the weights: clipping, the optimiser, the running mean."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from tagkit.config import TrainConfig
from tagkit.features.batch import Batch
from tagkit.models.model import Model
from tagkit.training.distributed import Processes
from tagkit.training.ema import RunningMean, decay_at, swapped
from tagkit.training.row_adam import RowAdam

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "nadam": torch.optim.NAdam,
    "sgd": torch.optim.SGD,
}


class Updates:
    """Changes a model's weights by their gradients."""

    def __init__(self, model: Model, settings: TrainConfig, processes: Processes) -> None:
        """`model` on the device where it is trained."""
        self.model = model
        self.settings = settings
        self.scaler = processes.accelerator.scaler  # of fp16; else None
        self.steps = 0
        words = model.embed.words.trained
        alone = processes.count == 1
        self.rows = RowAdam(words.weight) if _updates_rows(settings, words.weight, alone) else None
        words.sparse = self.rows is not None
        self.named = {
            name: parameter
            for name, parameter in model.named_parameters()
            if parameter.requires_grad and (self.rows is None or parameter is not words.weight)
        }
        # Sparse gradients never hold the padding row; dense ones do.
        self.tables = [
            module
            for module in model.modules()
            if isinstance(module, torch.nn.Embedding) and module.padding_idx is not None
        ]
        parameters = list(self.named.values())
        self.optimizer = make_optimizer(settings, parameters)
        self.mean = RunningMean(parameters)
        self.dice = torch.Generator().manual_seed(settings.seed)

    def before(self, batch: Batch) -> None:
        """Make ready the weights that the model reads for a batch."""
        if self.rows:
            self.rows.read(torch.unique(batch.words.word_ids))

    def forget(self) -> None:
        """Drop all gradients."""
        self.model.zero_grad()

    def dense_gradients(self) -> list[Tensor]:
        """The gradients of all parameters but sparse ones; zeros where there are none."""
        found = []
        for parameter in self.named.values():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            found.append(parameter.grad)
        return found

    def step(self, lr: float, loss: float) -> bool:
        """Change the weights by their gradients, and forget these.

        Args:
            lr: learning rate.
            loss: that the gradients are of.

        Returns:
            False if loss or gradients were not finite. Then nothing has changed, or, as
            `on_nonfinite` has it, the step was a random one (Pascanu et al. 2013; Goodfellow,
            Bengio and Courville, section 10.11.1).
        """
        settings, scaler = self.settings, self.scaler
        dense = [p.grad for p in self.named.values() if p.grad is not None]
        gradients, rows = [*dense], None
        if self.rows and self.rows.table.grad is not None:
            rows = self.rows.table.grad.coalesce()
            gradients.append(rows._values())
        scaled = scaler and dense and math.isfinite(loss)
        if scaled:
            scaler.unscale_(self.optimizer)
        norm = torch.nn.utils.get_total_norm(gradients)
        finite = math.isfinite(loss) and bool(norm.isfinite())
        if scaled:
            # Scaled up so far that they overflow: that is how the scale is found.
            overflow = math.isfinite(loss) and not finite and scaler.get_scale() > 1
            scaler.update()
            if overflow:
                self.forget()
                return True
        if finite and settings.max_grad_norm:
            torch._foreach_mul_(gradients, (settings.max_grad_norm / (norm + 1e-6)).clamp(max=1))
        elif not finite and settings.on_nonfinite == "random":
            self._at_random([*self.dense_gradients(), *gradients[len(dense) :]])
        if finite and settings.max_grad_value:
            for gradient in gradients:
                gradient.clamp_(-settings.max_grad_value, settings.max_grad_value)
        if finite or settings.on_nonfinite == "random":
            self._apply(lr, rows)
        self.forget()
        return finite

    def _at_random(self, gradients: list[Tensor]) -> None:
        """Replace gradients by a random direction with the norm that they are clipped to.

        Padding rows get no gradient: they stay zero, and words with frozen vectors read the padding
        row as what is added to their vectors.
        """
        for gradient in gradients:
            drawn = torch.randn(gradient.shape, generator=self.dice)
            gradient.copy_(drawn)
        for table in self.tables:
            if table.weight.grad is not None and not table.weight.grad.is_sparse:
                table.weight.grad[table.padding_idx] = 0
        norm = torch.nn.utils.get_total_norm(gradients)
        torch._foreach_mul_(gradients, self.settings.max_grad_norm / norm)

    def _apply(self, lr: float, rows: Tensor | None) -> None:
        self.steps += 1
        decay = decay_at(self.steps, self.settings.average_decay)
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        self.optimizer.step()
        self.mean.update(decay)
        if self.rows and rows is not None:
            self.rows.step(rows._indices()[0], rows._values(), lr=lr, decay=decay)

    def tensors(self) -> dict[str, Tensor]:
        """Weights, their means, and what the optimiser keeps of each, by name."""
        kept = {f"weights.{name}": p.detach() for name, p in self.model.named_parameters()}
        for (name, parameter), mean in zip(self.named.items(), self.mean.means, strict=True):
            kept[f"mean.{name}"] = mean
            for key, value in self.optimizer.state[parameter].items():
                if value is not None:
                    kept[f"optimizer.{name}.{key}"] = torch.as_tensor(value)
        if self.rows:
            kept |= {f"rows.{key}": value for key, value in self.rows.tensors().items()}
        if self.scaler:
            state = self.scaler.state_dict()
            kept["scale"] = torch.tensor([state["scale"], state["_growth_tracker"]])
        return {**kept, "dice": self.dice.get_state(), "steps": torch.tensor(self.steps)}

    @torch.no_grad()
    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what `tensors` gave.

        Raises:
            KeyError: some are missing: they are of another model.
        """
        self.forget()
        for name, parameter in self.model.named_parameters():
            parameter.copy_(tensors[f"weights.{name}"])
        state: dict[int, dict[str, Tensor]] = {}
        for number, (name, mean) in enumerate(zip(self.named, self.mean.means, strict=True)):
            mean.copy_(tensors[f"mean.{name}"])
            prefix = f"optimizer.{name}."
            kept = {key.removeprefix(prefix): value.clone() for key, value in tensors.items()
                    if key.startswith(prefix)}  # fmt: skip
            if kept:
                state[number] = kept
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": state, "param_groups": groups})
        if self.rows:
            self.rows.restore({key.removeprefix("rows."): value for key, value in tensors.items()
                               if key.startswith("rows.")})  # fmt: skip
        if self.scaler:
            scale, tracker = tensors["scale"].tolist()
            state_dict = {**self.scaler.state_dict(), "scale": scale}
            self.scaler.load_state_dict({**state_dict, "_growth_tracker": int(tracker)})
        self.dice.set_state(tensors["dice"])
        self.steps = int(tensors["steps"])

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Within this context the model has the running mean as its weights."""
        pairs: list[tuple[Tensor, Tensor]] = []
        if self.settings.average_decay:
            pairs += zip(self.mean.parameters, self.mean.means, strict=True)
        if self.rows:
            self.rows.read_all()
            pairs.append((self.rows.table, self.rows.mean))
        with swapped(pairs):
            yield


def _updates_rows(settings: TrainConfig, table: Tensor, alone: bool) -> bool:
    """Whether only those rows of a table are updated that a step reads.

    A GPU passes over the table in no time; weight decay moves every row; several processes read
    different rows.
    """
    return (
        alone
        and settings.optimizer in ("adam", "adamw")
        and not settings.weight_decay
        and table.device.type == "cpu"
    )


def make_optimizer(settings: TrainConfig, parameters: Sequence[Tensor]) -> torch.optim.Optimizer:
    """The optimiser that the configuration names."""
    options: dict[str, Any] = {"lr": settings.lr, "weight_decay": settings.weight_decay}
    if settings.optimizer == "sgd":
        options["momentum"] = settings.momentum
    if settings.optimizer != "nadam":
        options["fused"] = True  # one pass over each tensor; three times as fast on a CPU
    return OPTIMIZERS[settings.optimizer](list(parameters), **options)
