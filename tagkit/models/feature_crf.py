"""The CRF of word features of a tagger: made as the configuration says, fitted, and read."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tagkit.config import Config
from tagkit.errors import BundleError
from tagkit.features.crf_features import feature_groups, feature_keys
from tagkit.features.encoding import Encoded
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.calibration import TAGS
from tagkit.models.model import Model
from tagkit.models.tag_sharing import label_sharing
from tagkit.models.task_records import FitCorpus, SentenceBatch
from tagkit.nn.crf.chain import Chain
from tagkit.nn.heads.feature_crf import FeatureCrf
from tagkit.nn.heads.feature_crf_blocks import Examples, Features
from tagkit.nn.heads.feature_crf_fit import fit
from tagkit.text.records import Sentence


def build_feature_crf(config: Config, vocabulary: Vocabulary) -> FeatureCrf | None:
    """The CRF that the configuration asks for, without weights; None where it does not."""
    weights = config.head.feature_crf
    if not isinstance(weights, int) or not weights:
        return None
    dim = config.embeddings.word_dim if vocabulary.vector_words else 0
    return FeatureCrf(weights=weights, tags=len(vocabulary.tags), dim=dim)


def check_feature_crf(crf: FeatureCrf | None, path: Path) -> None:
    """Raise unless weights that were read can be used.

    Args:
        crf: of the model that was read.
        path: of the file, for messages.

    Raises:
        BundleError: its tables are not what `fit` makes.
    """
    if crf is not None and not crf.is_valid():
        last = len(crf.transitions) - 1
        raise BundleError(
            f"{path}: feature_crf: expected ascending keys, tags from 0 to {last} and a share from "
            "0 to below 1; train the model again"
        )


def fit_feature_crf(
    crf: FeatureCrf, model: Model, corpus: FitCorpus, tag_weights: Tensor | None
) -> None:
    """Fit the CRF to the training corpus.

    Args:
        crf: of the model.
        model: with its pretrained vectors.
        corpus: in the training scheme.
        tag_weights: (tags,) of the gold tags in the loss; None where all weigh the same.
    """
    sentences, encoded = corpus.sentences, corpus.encoded
    assert isinstance(encoded, Encoded)  # as `TagTask.encode` gives it
    examples = Examples(
        features=_features(sentences),
        vectors=_vectors(crf, model, sentences, corpus.vocabulary).double().cpu().numpy(),
        tags=encoded.targets["tags"].values,
        lengths=np.array([len(sentence) for sentence in sentences]),
        weights=encoded.weights,
    )
    # Where tags share scores in the network's head.
    is_shared = model.heads_by_name()[TAGS].sharing is not None
    sharing = label_sharing(corpus.vocabulary.tags) if is_shared else None
    fit(crf, examples, tag_weights, corpus.max_seconds, corpus.on_pass, sharing)


def _features(sentences: Sequence[Sentence]) -> list[Features]:
    """Of all tokens, one sentence after another."""
    first = feature_keys(sentences[0])
    keys = np.empty((sum(map(len, sentences)), first.shape[1]), np.int64)
    end = 0
    for sentence in sentences:
        start, end = end, end + len(sentence)
        keys[start:end] = feature_keys(sentence)
    return [Features.of(keys[:, group]) for group in feature_groups(keys.shape[1])]


@torch.no_grad()
def feature_chain(crf: FeatureCrf | None, batch: SentenceBatch) -> Chain | None:
    """The scores of all paths of the batch's sentences; None where they would count nothing."""
    emissions = feature_emissions(crf, batch)
    if emissions is None:
        return None
    assert crf is not None
    return crf.chain(emissions, batch.tokens.mask)


@torch.no_grad()
def feature_emissions(crf: FeatureCrf | None, batch: SentenceBatch) -> Tensor | None:
    """(batch, time, tags) the scores of tags at the batch's tokens, likewise."""
    if crf is None or not float(crf.share):
        return None
    if batch.feature_emissions is not None:
        return batch.feature_emissions
    assert batch.feature_rows is not None
    return batch.feature_rows.emissions(crf, batch.tokens, batch.sentences)


def _vectors(
    crf: FeatureCrf, model: Model, sentences: Sequence[Sentence], vocabulary: Vocabulary
) -> Tensor:
    """(tokens, dim) pretrained vectors; dim is 0 where the CRF reads none."""
    words = [word for sentence in sentences for word in sentence.words]
    if not crf.reads_vectors:
        return crf.vector_weights.new_zeros(len(words), 0)
    vectors = model.embed.words.vectors
    rows = np.fromiter(map(vocabulary.vector_row, words), np.int64, len(words))
    return vectors[torch.from_numpy(rows).to(vectors.device)]
