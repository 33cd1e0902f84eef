"""The loss on dev: the number that training makes small, on text that it does not learn from."""

import math
import time

import numpy as np
import torch

from tagkit.errors import DataError
from tagkit.evaluation.reports.criterion import LOSS
from tagkit.features import Ids
from tagkit.features.batching.document_batches import batches_to_predict, count_documents, pieces
from tagkit.features.batching.examples import Examples
from tagkit.limits import BATCH_SIZE, BATCH_TOKENS
from tagkit.models.base.device import to_tensors
from tagkit.models.base.memory import is_out_of_memory
from tagkit.text.records import Sentence
from tagkit.training.setup.language_models import with_states
from tagkit.training.setup.setup import Prepared

# Stands for a loss that is not finite where it ranks epochs: JSON has neither infinity nor NaN.
NO_LOSS = 1e9


class DevLoss:
    """Mean negative log-likelihood on dev of a token, or of a text that is classified.

    It is computed as in training, label weights and label smoothing included, and long sentences
    are read in the windows of training; but without dropout, in 32 bits as the scores on dev are,
    and nothing random is drawn. A label that train lacks has no id, and so no likelihood: a
    sentence (or window) with one is left out.

    Attributes:
        encoded: dev as ids; None where every sentence has such a label.
    """

    def __init__(self, prepared: Prepared) -> None:
        """Dev as ids, once for all epochs."""
        self.prepared = prepared
        self.encoded = _encoded_dev(prepared)

    @property
    def is_defined(self) -> bool:
        """Whether any sentence of dev can be scored."""
        return self.encoded is not None

    def compute(self) -> float | None:
        """The loss with the model's current weights; None where it is not defined or not finite."""
        if self.encoded is None:
            return None
        mean = self.mean(self.encoded, np.arange(len(self.encoded)))
        return mean if math.isfinite(mean) else None

    def estimate_s(self, sample: int) -> float:
        """Seconds that `compute` will take, from `sample` sentences at most."""
        if self.encoded is None:
            return 0.0
        lengths = self.encoded.lengths
        # From all parts of the corpus: sentences of its beginning may be of another length.
        some = np.arange(len(lengths))[:: len(lengths) // sample + 1]
        began = time.perf_counter()
        self.mean(self.encoded, some)
        return (time.perf_counter() - began) * float(lengths.sum() / lengths[some].sum())

    @torch.no_grad()  # not inference_mode: what a task carries is used in training again
    def mean(self, encoded: Examples, sentences: Ids) -> float:
        """The mean loss of some sentences, perhaps not finite; nothing random is drawn."""
        prepared = self.prepared
        task, model = prepared.task, prepared.model
        # What a task carries from step to step belongs to train: dev must not change it.
        carried = {name: tensor.clone() for name, tensor in task.state(model).items()}
        model.eval()
        total, targets = 0.0, 0  # a Python float has the digits for the sum of all batches
        documents = encoded.documents
        batches = batches_to_predict(
            encoded.lengths[sentences],
            None if documents is None else documents[sentences],
            BATCH_SIZE,
            BATCH_TOKENS,
            little_padding=False,
        )
        waiting = [sentences[batch] for batch in batches]
        while waiting:
            indices = waiting.pop()
            try:
                batch = to_tensors(encoded.batch(indices), prepared.device)
                loss, count = map(float, task.loss(model, batch))
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error) or count_documents(indices, documents) == 1:
                    raise
                waiting += pieces(indices, documents, 2)
                continue
            total += loss
            targets += int(count)
        if carried:
            task.restore(model, carried)
        return total / max(1, targets)


def refuse_undefined_loss(prepared: Prepared) -> None:
    """Refuse to choose the best epoch by a loss that cannot be computed.

    Raises:
        DataError: every sentence of dev has a label that train lacks.
    """
    task, corpus = prepared.task, prepared.corpus
    is_ranked_by_it = prepared.criterion.is_loss and task.dev_examples(prepared.config, corpus.dev)
    if is_ranked_by_it and not DevLoss(prepared).is_defined:
        raise DataError(
            f"train.metric={LOSS}: every sentence of {corpus.dev.path} has a label that "
            f"{corpus.train.path} lacks, so that none has a loss; name another metric"
        )


def _encoded_dev(prepared: Prepared) -> Examples | None:
    """Dev as ids, without sentences that have a label which train lacks; None if all have one."""
    task, config, vocabulary = prepared.task, prepared.config, prepared.vocabulary
    sentences = task.dev_examples(config, prepared.corpus.dev)
    if not sentences:
        return None
    try:
        encoded = task.encode(config, sentences, vocabulary, None)
    except KeyError:  # one by one only where it is necessary
        sentences = [sentence for sentence in sentences if _is_known(sentence, prepared)]
        if not sentences:
            return None
        encoded = task.encode(config, sentences, vocabulary, None)
    return with_states(encoded, sentences, prepared.model)


def _is_known(sentence: Sentence, prepared: Prepared) -> bool:
    try:
        prepared.task.targets([sentence], prepared.vocabulary)
    except KeyError:
        return False
    return True
