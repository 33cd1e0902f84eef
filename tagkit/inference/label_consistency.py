"""Label consistency: the mentions of a name in one document help to decide on each other.

A name that one sentence says little about is often clear from another one: "Blackburn" in a table
of results, "Blackburn beat Leeds" above it. Krishnan and Manning 2006, "An Effective Two-Stage
Model for Exploiting Non-Local Dependencies in Named Entity Recognition", give a second CRF the
labels that a first one found for the same name elsewhere. Here there is one model, and nothing is
learnt: the states of all mentions are moved towards their mean. A linear head computes of it the
mean of their scores, so that each sentence's best path counts what was read of the name elsewhere.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from tagkit.config import Config
from tagkit.features.bucketing import Ids
from tagkit.features.document_batches import document_numbers
from tagkit.features.encoding import Indexed
from tagkit.features.repeated_words import RepeatedWords, repeated_words
from tagkit.limits import WINDOW_WORDS
from tagkit.models.model import Model
from tagkit.models.task_records import SentenceBatch
from tagkit.nn.group_means import toward_means
from tagkit.text.records import Sentence

IndexedBatches = Iterable[tuple[Ids, SentenceBatch]]  # with the indices of its sentences


def stretches(sentences: Sequence[Sentence], config: Config) -> Iterator[tuple[int, Ids]]:
    """Stretches of whole documents, whose size bounds memory: the states of all of it are held.

    Args:
        sentences: at least one.
        config: of the model, with label consistency.

    Yields:
        The index of the stretch's first sentence, and the number of each sentence's document, from
        0 in each stretch.
    """
    documents = document_numbers(
        sentences, config.document_words, marked_only=config.marked_documents_only
    )
    assert documents is not None
    # (sentences,) the stretch of each sentence, which is that of its document's first one.
    before = np.cumsum([0, *(len(sentence) for sentence in sentences[:-1])])
    firsts = np.flatnonzero(np.diff(documents, prepend=-1))
    stretch = (before // WINDOW_WORDS)[firsts][documents]
    for part in np.split(np.arange(len(sentences)), np.flatnonzero(np.diff(stretch)) + 1):
        yield int(part[0]), documents[part] - documents[part[0]]


def in_agreement(
    model: Model, batches: IndexedBatches, indexed: Indexed, documents: Ids, share: float
) -> IndexedBatches:
    """The batches of a stretch with their states, in which the mentions of a name agree more.

    Args:
        model: that reads them.
        batches: of all sentences of the stretch.
        indexed: these sentences.
        documents: (sentences,) number of each one's document, from 0.
        share: of the way to the mean, above 0.
    """
    repeated = repeated_words(indexed, documents)
    return batches if not len(repeated.tokens) else _moved(model, batches, indexed, repeated, share)


@torch.inference_mode()
def _moved(
    model: Model,
    batches: IndexedBatches,
    indexed: Indexed,
    repeated: RepeatedWords,
    share: float,
) -> IndexedBatches:
    read = [(indices, batch, *batch.read(model)) for indices, batch in batches]
    # (batch, time, hidden) of each -> (tokens, hidden), in the order of the batches
    each = [states[batch.tokens.mask] for _, batch, states, _ in read]
    flat = torch.cat(each)
    order = np.concatenate([indexed.positions(indices)[1] for indices, *_ in read])
    rows = torch.from_numpy(np.argsort(order)[repeated.tokens]).to(flat.device)
    groups = torch.from_numpy(repeated.groups).to(flat.device)
    moved = torch.split(toward_means(flat, rows, groups, share), [len(own) for own in each])
    return [
        (indices, replace(batch, states=(_padded(own, batch.tokens.mask), final)))
        for (indices, batch, _, final), own in zip(read, moved, strict=True)
    ]


def _padded(flat: Tensor, mask: Tensor) -> Tensor:
    """(tokens, hidden) states of a batch, row by row -> (batch, time, hidden), 0 on padding."""
    padded = flat.new_zeros((*mask.shape, flat.shape[1]))
    padded[mask] = flat
    return padded
