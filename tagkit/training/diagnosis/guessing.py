"""The loss of a model that has learnt nothing, with which the losses of a run are compared."""

import math
from collections.abc import Sequence

from tagkit.training.setup.run_settings import is_closed_form
from tagkit.training.setup.setup import Prepared


def loss_of_guessing(prepared: Prepared) -> float:
    """Mean loss of a target to which a model gives each answer the same probability, in nats.

    0 where nothing is compared with it: of a language model, a read-out that is solved, a loss with
    weights, of which a rare label may have many, and one with that of a language model beside it.
    """
    config, vocabulary, train = prepared.config, prepared.vocabulary, prepared.corpus.train
    head = config.head
    is_weighted = train.weights or head.label_weights or head.class_weights != "none"
    is_sum = config.train.lm_loss > 0
    if not prepared.task.annotates or is_closed_form(config) or is_weighted or is_sum:
        return 0.0
    of_tags = _of_one(vocabulary.tags)
    for column in vocabulary.columns:
        weight = head.column_weights.get(column.name, 1.0)
        of_tags += weight * sum(map(_of_one, column.parts.values()))
    if head.several_classes:
        of_classes = len(vocabulary.classes) * math.log(2)
    else:
        of_classes = _of_one(vocabulary.classes)
    if of_tags and of_classes:  # each token is a target, and the classes of a text come once
        return of_tags + head.class_loss * of_classes * len(train.sentences) / train.tokens
    return of_tags or of_classes


def _of_one(labels: Sequence[str]) -> float:
    """Loss of one answer among these labels; 0 without any."""
    return math.log(max(1, len(labels)))
