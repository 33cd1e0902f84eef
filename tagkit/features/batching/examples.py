"""What a model learns from, as the training loop sees it."""

from collections.abc import Sequence
from typing import Protocol

from tagkit.features import Arrays, Ids
from tagkit.features.batching.batch import Batch


class Examples(Protocol):
    """What is learnt from, as ids: what the training loop needs to know of it."""

    def __len__(self) -> int:
        """Number of examples."""

    @property
    def lengths(self) -> Ids:
        """(examples,) number of tokens in each."""

    @property
    def target_count(self) -> int:
        """Divisor of the loss of an epoch."""

    @property
    def documents(self) -> Ids | None:
        """(examples,) number of the document that each is read with; None if it is by itself."""

    def batch(self, indices: Sequence[int] | Ids) -> Batch[Arrays]:
        """The examples at `indices`, in that order, as one batch."""
