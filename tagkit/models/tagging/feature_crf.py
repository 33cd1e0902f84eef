"""The CRF of word features of a tagger, fitted to the training corpus."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from tagkit.features.batching.encoding import Encoded
from tagkit.features.vocabulary import Vocabulary
from tagkit.features.word_features import (
    cluster_keys,
    feature_groups,
    feature_keys,
    feature_values,
)
from tagkit.models.answers.kind import TAGS
from tagkit.models.base.model import Model
from tagkit.models.base.task_records import FitCorpus
from tagkit.models.tagging.tag_head import label_sharing
from tagkit.nn.feature_crf.feature_crf import FeatureCrf, Ids
from tagkit.nn.feature_crf.feature_crf_fit import FeatureExamples, Features, fit
from tagkit.text.records import Sentence


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
    # Where tags share scores in the network's head: spans of a small corpus.
    is_shared = model.heads_by_name()[TAGS].sharing is not None
    sharing = label_sharing(corpus.vocabulary.tags) if is_shared else None
    vectors = _vectors(crf, model, sentences, corpus.vocabulary)
    lengths = np.array([len(sentence) for sentence in sentences])
    if crf.clusters is not None:
        crf.clusters.find(model.embed.words.vectors)
    examples = FeatureExamples(
        features=[
            *_features(sentences, few_spans=is_shared),
            *_cluster_features(crf, vectors, lengths),
        ],
        vectors=vectors.double().cpu().numpy(),
        tags=encoded.targets["tags"].values,
        lengths=lengths,
        weights=encoded.weights,
    )
    fit(crf, examples, tag_weights, corpus.max_seconds, corpus.on_pass, sharing)


def _features(sentences: Sequence[Sentence], *, few_spans: bool) -> list[Features]:
    """Of all tokens, one sentence after another; `few_spans`: with `feature_values`."""
    first = feature_keys(sentences[0])
    keys = np.empty((sum(map(len, sentences)), first.shape[1]), np.int64)
    end = 0
    for sentence in sentences:
        start, end = end, end + len(sentence)
        keys[start:end] = feature_keys(sentence)
    values = feature_values(keys.shape[1]) if few_spans else np.ones(keys.shape[1])
    return [Features.of(keys[:, one], values[one]) for one in feature_groups(keys.shape[1])]


def _cluster_features(crf: FeatureCrf, vectors: Tensor, lengths: Ids) -> list[Features]:
    """Clusters of the words of all tokens and of their neighbours; of a border that of no vector.

    Args:
        crf: whose clusters these are.
        vectors: (tokens, dim).
        lengths: (sentences,) number of tokens in each.
    """
    if crf.clusters is None:
        return []
    # (tokens, 3, kinds), and the same of a border; the second is read by the token after, and the
    # third by the token before.
    keys = cluster_keys(crf.clusters.numbers(vectors))
    border = cluster_keys(crf.clusters.numbers(vectors.new_zeros(1, vectors.shape[1])))[0]
    ends = np.cumsum(lengths)
    before, after = np.roll(keys[:, 1], 1, axis=0), np.roll(keys[:, 2], -1, axis=0)
    before[ends - lengths], after[ends - 1] = border[1], border[2]
    return [Features.of(each) for each in (keys[:, 0], before, after)]


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
