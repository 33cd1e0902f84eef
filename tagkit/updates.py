"""What a step of training does to the weights: clipping, the optimiser, the running mean."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from tagkit.averaging import RunningMean, decay_at, swapped
from tagkit.batch import Batch
from tagkit.config import TrainConfig
from tagkit.model import Model
from tagkit.rows import RowAdam

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "nadam": torch.optim.NAdam,
    "sgd": torch.optim.SGD,
}


class Updates:
    """Changes a model's weights by their gradients."""

    def __init__(self, model: Model, settings: TrainConfig) -> None:
        """`model` on the device where it is trained."""
        self.settings = settings
        self.steps = 0
        words = model.embed.words.trained
        self.rows = RowAdam(words.weight) if _updates_rows(settings, words.weight) else None
        words.sparse = self.rows is not None
        parameters = [
            parameter
            for parameter in model.parameters()
            if self.rows is None or parameter is not words.weight
        ]
        self.optimizer = _optimizer(settings, parameters)
        self.mean = RunningMean(parameters)

    def before(self, batch: Batch) -> None:
        """Make ready the weights that the model reads for a batch."""
        if self.rows:
            self.rows.read(torch.unique(batch.words.word_ids))

    def step(self, lr: float) -> None:
        """Change the weights by their gradients, and forget these."""
        self.steps += 1
        decay = decay_at(self.steps, self.settings.average_decay)
        gradients = [p.grad for p in self.mean.parameters if p.grad is not None]
        rows = None
        if self.rows and self.rows.table.grad is not None:
            rows = self.rows.table.grad.coalesce()
            gradients.append(rows._values())
        if self.settings.max_grad_norm:
            norm = torch.nn.utils.get_total_norm(gradients)
            factor = (self.settings.max_grad_norm / (norm + 1e-6)).clamp(max=1)
            torch._foreach_mul_(gradients, factor)
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.mean.update(decay)
        if self.rows and rows is not None:
            self.rows.step(rows._indices()[0], rows._values(), lr=lr, decay=decay)
            self.rows.table.grad = None

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


def _updates_rows(settings: TrainConfig, table: Tensor) -> bool:
    """Whether only those rows of a table are updated that a step reads.

    A GPU passes over the table in no time; weight decay moves every row.
    """
    return (
        settings.optimizer in ("adam", "adamw")
        and not settings.weight_decay
        and table.device.type == "cpu"
    )


def _optimizer(settings: TrainConfig, parameters: Sequence[Tensor]) -> torch.optim.Optimizer:
    options: dict[str, Any] = {"lr": settings.lr, "weight_decay": settings.weight_decay}
    if settings.optimizer == "sgd":
        options["momentum"] = settings.momentum
    if settings.optimizer != "nadam":
        options["fused"] = True  # one pass over each tensor; three times as fast on a CPU
    return OPTIMIZERS[settings.optimizer](list(parameters), **options)
