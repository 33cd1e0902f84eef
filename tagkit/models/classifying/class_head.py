"""The head of classes that a configuration names, over the hidden states of any task with them."""

import numpy as np
import torch
from torch import Tensor

from tagkit.config import Config
from tagkit.errors import DataError
from tagkit.features.batching.encoding import Encoded
from tagkit.features.vocabulary import RESERVED, UNKNOWN_ID, Vocabulary
from tagkit.models.base.task_records import FitCorpus, TrainingData
from tagkit.nn.heads import POOLINGS
from tagkit.nn.heads.bag_of_words import BagOfWords
from tagkit.nn.heads.classification import ClassHead, balanced_weights
from tagkit.wording import listed, quoted


def build_class_head(
    config: Config, vocabulary: Vocabulary, inputs: int, data: TrainingData | None
) -> ClassHead:
    """Pooling and layers that the configuration names.

    Args:
        config: resolved.
        vocabulary: with the classes.
        inputs: features of a token in one member of an ensemble.
        data: the training corpus; None where weights are loaded next.
    """
    options, classes = config.head, len(vocabulary.classes)
    weights = None if data is None else _class_weights(config, vocabulary, data)
    members = config.encoder.ensemble_size
    pooling = POOLINGS[options.pooling](members * inputs)
    pooling.hops = options.hops
    head = ClassHead(
        pooling=pooling,
        hidden=options.hidden,
        activation=options.activation,
        dropout=options.dropout,
        classes=classes,
        several=options.several_classes,
        label_smoothing=options.label_smoothing,
        class_weights=torch.ones(classes) if weights is None else weights,
    )
    head.members = members
    if isinstance(options.bag_of_words, int) and options.bag_of_words:
        head.bag = BagOfWords(
            words=len(vocabulary.words) + RESERVED,
            pairs=options.bag_of_words,
            classes=classes,
            several=options.several_classes,
            unknown=UNKNOWN_ID,
        )
    return head


def fit_bag(head: ClassHead, corpus: FitCorpus) -> None:
    """Find the weights of a head's linear model of words, where it has one without any."""
    bag, encoded = head.bag, corpus.encoded
    if bag is None or bag.is_fitted:
        return
    assert isinstance(encoded, Encoded)
    ids = encoded.encoded_words.word_ids[encoded.indexed.numbers]
    texts = np.split(ids, np.cumsum(encoded.lengths)[:-1])
    targets = torch.from_numpy(encoded.targets["classes"].values).float()
    weights = head.class_weights.expand_as(targets)
    if not bag.several:  # (texts, classes) @ (classes,): the loss of a text is that of its class
        weights = (targets @ head.class_weights).unsqueeze(1).expand_as(targets)
    if encoded.weights is not None:
        weights = weights * torch.from_numpy(encoded.weights).unsqueeze(1)
    bag.fit(texts, targets, weights, corpus.max_seconds, corpus.on_pass)


def _class_weights(config: Config, vocabulary: Vocabulary, data: TrainingData) -> Tensor | None:
    """(classes,) weights of the classes in the loss; None where all weigh the same.

    Raises:
        DataError: an option names a class that the training corpus lacks.
    """
    # A misspelt class would otherwise have no effect, and no message.
    for option in ("class_weights", "threshold"):
        for label in named if isinstance(named := getattr(config.head, option), dict) else ():
            if vocabulary.class_id(label) is None:
                known = listed(vocabulary.classes)
                raise DataError(
                    f"head.{option}: no text of {data.path} has the class {quoted(label)}; there "
                    f"are: {known}"
                )
    weights = config.head.class_weights
    if isinstance(weights, dict):
        return torch.tensor([weights.get(label, 1.0) for label in vocabulary.classes])
    if weights == "balanced":
        assert isinstance(data.encoded, Encoded)
        return balanced_weights(torch.from_numpy(data.encoded.targets["classes"].values))
    return None
