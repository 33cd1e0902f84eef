"""Label consistency: the mentions of a name in one document help to decide on each other.

A name that one sentence says little about is often clear from another one: "Blackburn" in a table
of results, "Blackburn beat Leeds" above it. Krishnan and Manning 2006, "An Effective Two-Stage
Model for Exploiting Non-Local Dependencies in Named Entity Recognition", give a second CRF the
labels that a first one found for the same name elsewhere. Here there is one model, and nothing is
learnt: the states of all mentions are moved towards their mean. A linear head computes of it the
mean of their scores, so that each sentence's best path counts what was read of the name elsewhere.
What a CRF of word features scores at the mentions moves likewise.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from tagkit.config import Config
from tagkit.features import Ids
from tagkit.features.batching.document_batches import document_numbers
from tagkit.features.batching.encoding import Indexed
from tagkit.features.batching.repeated_words import RepeatedWords, repeated_words
from tagkit.models.base.model import Model, SentenceBatch
from tagkit.text.records import Sentence

# The states of so many words are held at a time: 80 MB with 2 x 200 units. A stretch of fewer words
# has smaller batches, which are read more slowly.
_STRETCH_WORDS = 50_000

Cells = tuple[Tensor, ...]  # (mentions,) rows, and likewise columns
IndexedBatches = Iterable[tuple[Ids, SentenceBatch]]  # with the indices of its sentences


def document_groups(sentences: Sequence[Sentence], config: Config) -> Iterator[tuple[int, Ids]]:
    """Stretches of whole documents, which are read at a time.

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
    stretch = (before // _STRETCH_WORDS)[firsts][documents]
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
    group_of = np.full(len(indexed.numbers), -1)  # (tokens,)
    group_of[repeated.tokens] = repeated.groups
    read, cells, groups = [], [], []
    for indices, batch in batches:
        states = batch.read(model)  # (batch, time, hidden) and (batch, hidden)
        filled, tokens = indexed.positions(indices)
        own = group_of[tokens]
        # Rows and columns of the mentions in the batch.
        axes = (torch.from_numpy(axis[own >= 0]) for axis in filled.nonzero())
        cells.append(tuple(axis.to(states[0].device) for axis in axes))
        groups.append(own[own >= 0])
        emissions = batch.score_features(model.feature_crf)
        # What has been read is held no longer: states of language models are the largest of it.
        tokens_read = replace(batch.tokens, contextual=None, numbers=None)
        found = replace(batch, tokens=tokens_read, states=states, feature_emissions=emissions)
        read.append((indices, found))
    numbers = torch.from_numpy(np.concatenate(groups))
    _move([found.states[0] for _, found in read if found.states], cells, numbers, share)
    beside = [found.feature_emissions for _, found in read if found.feature_emissions is not None]
    if beside:
        _move(beside, cells, numbers, share)
    return read


def _move(values: Sequence[Tensor], cells: Sequence[Cells], numbers: Tensor, share: float) -> None:
    """Move what batches have at the mentions of names, in place: nobody else has these tensors.

    Args:
        values: (batch, time, features) of each batch.
        cells: rows and columns of the mentions in each.
        numbers: (mentions of all batches,) of their groups.
        share: of the way to the mean.
    """
    # (mentions of the batch, features). On the CPU: a GPU adds the rows of a group in any order.
    each = [own[places].cpu() for own, places in zip(values, cells, strict=True)]
    moved = torch.split(toward_means(torch.cat(each), numbers, share), [*map(len, each)])
    for own, places, found in zip(values, cells, moved, strict=True):
        own[places] = found.to(own.device)


def toward_means(values: Tensor, groups: Tensor, share: float) -> Tensor:
    """The matrix with x + share (m - x) for each row x, where m is the mean of its group's rows.

    Args:
        values: (rows, features), at least one row.
        groups: (rows,) int64 number of each row's group, from 0; no group is empty.
        share: of the way to the mean, from 0 to 1.
    """
    counts = torch.bincount(groups)
    sums = values.new_zeros(len(counts), values.shape[1]).index_add_(0, groups, values)
    # (groups, features) -> (rows, features)
    means = (sums / counts.unsqueeze(1))[groups]
    return values + share * (means - values)
