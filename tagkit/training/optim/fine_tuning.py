"""Fine-tuning of a model that starts from another's weights: which layers a step trains, how fast.

Gradual unfreezing trains the head first, and after every `train.unfreeze` epochs one more group of
layers, the highest that is still frozen. With rates by layer the learning rate of a group is
`train.layer_lr_decay` times that of the group above it (Howard and Ruder 2018, sections 3.2 and
3.3). What a step trains follows from the number of its epoch, so a checkpoint holds nothing of it.

The groups of a model are those of `Model.layer_groups`. Where it starts from no other model, all
but the language models of `embeddings.contextual` begin with random weights: these are one group,
which is trained from the first epoch on.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from tagkit.config import TrainConfig, fixed
from tagkit.models.base.model import LANGUAGE_MODELS
from tagkit.wording import plural


class FineTuning:
    """The groups of a model's trained parameters: when each is trained, at which rate.

    Attributes:
        groups: parameters of each group by their names, from the input to the output.
        frozen_epochs: epochs at the beginning in which some group is frozen.
    """

    def __init__(
        self,
        groups: Mapping[str, Sequence[str]],
        trained: Mapping[str, Tensor],
        settings: TrainConfig,
    ) -> None:
        """Nothing is frozen yet.

        Args:
            groups: names of the parameters of each group, from the input to the output.
            trained: all parameters that are ever trained, by name; a group without any does not
                count.
            settings: of the run.
        """
        if not settings.init_from and LANGUAGE_MODELS in groups:
            fresh = [each for group, each in groups.items() if group != LANGUAGE_MODELS]
            groups = {LANGUAGE_MODELS: groups[LANGUAGE_MODELS], "other layers": [*chain(*fresh)]}
        found = {
            group: {name: trained[name] for name in names if name in trained}
            for group, names in groups.items()
        }
        self.groups = {group: named for group, named in found.items() if named}
        self.settings = settings
        self.frozen_epochs = settings.unfreeze * (len(self.groups) - 1)
        # The head, which comes last, has all of the learning rate.
        self._shares = {
            name: settings.layer_lr_decay**depth
            for depth, named in enumerate(reversed(self.groups.values()))
            for name in named
        }

    def share_of(self, name: str) -> float:
        """Learning rate of a parameter as a share of that of the head."""
        return self._shares[name]

    def by_rate(self, parameters: Mapping[str, Tensor]) -> list[dict[str, Any]]:
        """Parameters with the same learning rate together, as torch's optimizers take them."""
        shares = dict.fromkeys(map(self.share_of, parameters))
        return [
            {
                "params": [each for name, each in parameters.items() if self.share_of(name) == one],
                "share": one,
            }
            for one in shares
        ]

    def trained_groups(self, epoch: int) -> list[str]:
        """The groups that an epoch, counted from 1, trains, from the input to the output."""
        if not self.settings.unfreeze:
            return [*self.groups]
        return [*self.groups][-1 - (epoch - 1) // self.settings.unfreeze :]

    def freeze_for(self, epoch: int) -> None:
        """Freeze what an epoch, counted from 1, does not train, and nothing else.

        Frozen layers draw the same dropout as others. No gradient is computed for them, and none
        goes back through them, as only the lowest ones are frozen. The optimizer passes over a
        parameter without a gradient: its moments begin when it is unfrozen.
        """
        trained = self.trained_groups(epoch)
        for group, named in self.groups.items():
            for parameter in named.values():
                parameter.requires_grad_(group in trained)

    def note(self, epoch: int) -> str:
        """What changes with an epoch, counted from 1, in a sentence; empty if nothing does."""
        every = self.settings.unfreeze
        if not every or (epoch - 1) % every or epoch > self.frozen_epochs + 1:
            return ""
        *others, lowest = self.trained_groups(epoch)[::-1]
        if epoch > self.frozen_epochs:
            return f"epoch {epoch} trains the {lowest} too: all layers"
        if others:
            return f"epoch {epoch} trains {lowest} too"
        last, whole = fixed(self.settings.max_epochs), self.frozen_epochs + 1
        few = plural(last, "epoch")
        late = f"; all layers would be trained from epoch {whole} on, but the run has {few}"
        return f"epoch {epoch} trains the {lowest} alone" + (late if whole > last else "")


def begin_momentum(optimizer: torch.optim.Optimizer) -> None:
    """Give layers that were frozen until now a momentum of 0 beside others that have one.

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
