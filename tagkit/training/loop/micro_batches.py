"""Batches as a process reads them: its share of each, in pieces where memory is short.

The gradient of a step is a sum over its sentences, so it can be computed in parts: by
processes, and by pieces of a process's share of a batch.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor

from tagkit.errors import TrainingError
from tagkit.features import Ids
from tagkit.features.batching.batch import Batch
from tagkit.features.batching.document_batches import count_documents, pieces, share
from tagkit.features.vocabulary import UNKNOWN_ID
from tagkit.models.base.device import to_tensors
from tagkit.models.base.memory import forget, is_out_of_memory
from tagkit.nn.layers.dropout import replace_at_random
from tagkit.training.processes.distributed import Processes
from tagkit.training.setup.setup import Prepared

# Half of the words seen once, read as the unknown word, teach its vector (Lample et al. 2016).
SINGLETON_DROPOUT = 0.5


class MicroBatches:
    """Cuts the batch of a step into pieces, and loads these as tensors."""

    def __init__(
        self, prepared: Prepared, processes: Processes, note: Callable[[str], None]
    ) -> None:
        """`note` is called with a sentence when memory is short."""
        self.prepared = prepared
        self.processes = processes
        self.note = note
        self.parts = 1  # into which a share of a batch is cut; processes may differ in it
        seed = prepared.config.train.seed + processes.rank
        # The weights are drawn by now, the same in all processes. From here on each process has a
        # seed of its own: with one seed all would drop the same units in their sentences.
        if processes.rank:
            torch.manual_seed(seed)
        self.generator = torch.Generator().manual_seed(seed)

    def split(self, batch: Ids) -> list[Ids]:
        """This process's pieces of a step's batch, whose sizes differ by one at most."""
        # The share comes first and does not depend on `parts`: where one process is short of memory
        # and another is not, every sentence is still read once.
        own = self._share(batch)
        # A document is never cut: its states and gradients would be others.
        return [*pieces(own, self._documents, self.parts)] if len(own) else []

    def _share(self, batch: Ids) -> Ids:
        """The sentences of a batch that this process reads."""
        # With two processes every second one. Sentences are in order of length: a half of the batch
        # would give one process all the long ones.
        return share(batch, self._documents, self.processes.rank, self.processes.count)

    @property
    def _documents(self) -> Ids | None:
        """(sentences,) the document that each is read with; None where it is read by itself."""
        return self.prepared.encoded.documents

    def load(self, indices: Ids) -> Batch[Tensor]:
        """A piece on the training device, with some of its rare words as the unknown word.

        Otherwise the vector of the unknown word would never be trained, as every word of the
        training corpus is known. Words that occur once resemble the unknown ones of new text most.
        """
        batch = self.prepared.encoded.batch(indices)
        ids, rare = torch.from_numpy(batch.words.word_ids), self.prepared.singletons
        drawn = replace_at_random(ids, rare, UNKNOWN_ID, SINGLETON_DROPOUT, self.generator)
        # Their characters and vectors stay.
        batch = replace(batch, words=replace(batch.words, word_ids=drawn.numpy()))
        return to_tensors(batch, self.prepared.device)

    def shrink(self, batch: Ids, error: BaseException) -> None:
        """Halve the pieces after a failed attempt at a step.

        Raises:
            TrainingError: a single sentence does not fit into memory.
            BaseException: `error`, where it is not about memory.
        """
        if not is_out_of_memory(error):
            raise error
        forget(error)
        documents = self._documents
        unit = "sentence" if documents is None else "document"
        whole = max(1, count_documents(self._share(batch), documents))
        largest = -(-whole // min(self.parts, whole))
        if largest == 1:
            remedy = (
                "lower data.max_length or"
                if documents is None
                else "set encoder.context = 'sentence', or lower"
            )
            raise TrainingError(
                f"too little memory for 1 {unit} at a time; {remedy} the sizes of the model"
            ) from None
        self.parts *= 2
        self.note(
            f"too little memory for {largest} {unit}s at a time; from now on steps are taken "
            f"in pieces of {-(-whole // self.parts)}"
        )

    def tensors(self) -> dict[str, Tensor]:
        """What `restore` needs, of all processes.

        States of the random generators are (processes, bytes). The number of pieces, (processes,),
        is saved too: dropout is drawn piece by piece, so the draws depend on it.
        """
        states = {
            "random.words": self.generator.get_state(),
            "random.torch": torch.get_rng_state(),
            "pieces": torch.tensor(self.parts),
        }
        if self.prepared.device.type == "cuda":
            states["random.cuda"] = torch.cuda.get_rng_state(self.prepared.device)
        return {name: self.processes.gather(state) for name, state in states.items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore the state that `tensors` returned.

        A run that goes back to an earlier checkpoint keeps its number of pieces if that is larger:
        memory is as short as before. Checkpoints of earlier versions do not have the number.
        """
        rank = self.processes.rank
        if "pieces" in tensors:
            self.parts = max(self.parts, int(tensors["pieces"][rank]))
        # clone: torch (2.13) crashes on a state that is a view of a larger tensor.
        self.generator.set_state(tensors["random.words"][rank].clone())
        torch.set_rng_state(tensors["random.torch"][rank].clone())
        if self.prepared.device.type == "cuda" and "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"][rank].clone(), self.prepared.device)


@contextmanager
def oom_as_error() -> Iterator[None]:
    """Within this context running out of memory is an error that says what to lower.

    Raises:
        TrainingError: memory is too short for what cannot be cut into pieces.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise TrainingError(
            "too little memory to update or score the model; lower train.batch_size or the sizes "
            "of the model"
        ) from None
