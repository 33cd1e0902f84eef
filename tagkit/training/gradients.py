"""The gradients of a step: of several batches, in pieces where memory is short, over processes."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from tagkit.errors import TrainingError
from tagkit.features.batch import Batch
from tagkit.features.bucketing import Ids
from tagkit.features.vocabulary import UNKNOWN_ID
from tagkit.nn.dropout import replace_at_random
from tagkit.training.distributed import Processes
from tagkit.training.optimizer import Updates
from tagkit.training.setup import Prepared


class Gradients:
    """Works out the gradients of sums of losses, which are left with the parameters."""

    def __init__(
        self,
        prepared: Prepared,
        updates: Updates,
        processes: Processes,
        note: Callable[[str], None],
    ) -> None:
        """`note` is told when memory is short."""
        self.prepared = prepared
        self.updates = updates
        self.processes = processes
        self.note = note
        self.targets = 0  # of the last step
        self.parts = 1  # into which a batch is cut
        seed = prepared.config.train.seed + processes.number
        if processes.number:  # each process drops other units
            torch.manual_seed(seed)
        self.dice = torch.Generator().manual_seed(seed)

    def of(self, batches: Sequence[Ids], share: float) -> float:
        """Gradients of a step's loss divided by `share`; that loss, in nats, not divided.

        Sums over pieces, batches and processes are exact: where a batch is cut makes no difference
        but to what dropout draws.

        Raises:
            TrainingError: a single sentence does not fit into memory.
        """
        while True:
            pieces = list(
                chain.from_iterable(np.array_split(b, min(self.parts, len(b))) for b in batches)
            )
            try:
                sums = np.sum([self._backward(piece, share) for piece in pieces], axis=0)
                break
            except (RuntimeError, MemoryError) as error:
                if not _is_out_of_memory(error):
                    raise
            self.updates.forget()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            largest = max(map(len, pieces))
            if largest == 1:
                raise TrainingError(
                    "too little memory for 1 sentence at a time; lower data.max_length or the "
                    "sizes of the model"
                )
            self.parts *= 2
            self.note(
                f"too little memory for {largest} sentences at a time; from now on steps are taken "
                f"in pieces of {-(-max(map(len, batches)) // self.parts)}"
            )
        totals = torch.tensor(sums)
        if self.processes.count > 1:
            self.processes.add([totals, *self.updates.dense_gradients()])
        self.targets = int(totals[1])
        return float(totals[0])

    def _backward(self, indices: Ids, share: float) -> tuple[float, float]:
        """Add a piece's gradients; its loss and number of targets."""
        mine = indices[self.processes.number :: self.processes.count]
        if not len(mine):
            return 0.0, 0.0
        prepared = self.prepared
        batch = self._with_unknown_words(prepared.encoded.batch(mine)).to(prepared.device)
        self.updates.before(batch)
        accelerator = self.processes.accelerator
        with accelerator.autocast():
            total, count = prepared.model(batch)
        loss = float(total.detach())
        if math.isfinite(loss):  # else there are no gradients worth having
            accelerator.backward(total / share)
        return loss, float(count)

    def _with_unknown_words(self, batch: Batch) -> Batch:
        """The batch with some of its rare words unknown, so that the unknown word is learnt."""
        probability = self.prepared.config.embeddings.singleton_dropout
        if not probability:
            return batch
        singletons = self.prepared.singletons
        return batch.with_words(
            replace_at_random(batch.words.word_ids, singletons, UNKNOWN_ID, probability, self.dice)
        )

    def tensors(self) -> dict[str, Tensor]:
        """All that `restore` needs, of each process.

        States of the random generators are (processes, bytes). Dropout is drawn for each piece by
        itself, so the number of pieces, (processes,), decides what it draws too.
        """
        states = {
            "random.words": self.dice.get_state(),
            "random.torch": torch.get_rng_state(),
            "pieces": torch.tensor(self.parts),
        }
        if self.prepared.device.type == "cuda":
            states["random.cuda"] = torch.cuda.get_rng_state(self.prepared.device)
        return {name: self.processes.all_of(state) for name, state in states.items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore what `tensors` gave.

        A run that returns to an earlier checkpoint keeps its number of pieces: memory is as short
        as it was. Checkpoints of earlier versions do not have that number.
        """
        number = self.processes.number
        if "pieces" in tensors:
            self.parts = max(self.parts, int(tensors["pieces"][number]))
        self.dice.set_state(tensors["random.words"][number].clone())
        torch.set_rng_state(tensors["random.torch"][number].clone())
        if self.prepared.device.type == "cuda" and "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"][number].clone(), self.prepared.device)


@contextmanager
def shortage_told() -> Iterator[None]:
    """Within this context a lack of memory is an error that says what to lower.

    Raises:
        TrainingError: of such a lack.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not _is_out_of_memory(error):
            raise
        raise TrainingError(
            "too little memory to update or score the model; lower train.batch_size or the sizes "
            "of the model"
        ) from None


def _is_out_of_memory(error: BaseException) -> bool:
    """Torch has an error of its own for a GPU alone."""
    short = ("can't allocate memory", "not enough memory", "out of memory")
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(words in text for words in short)
