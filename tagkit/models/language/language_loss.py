"""The language-model loss of `train.lm_loss`: what it predicts, and its layers on a model.

Its layers belong to training. They are parameters of the model that is trained, so that optimizer,
averages and checkpoints know them; a saved model is without them.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tagkit.config import Config, lm_problem
from tagkit.errors import ConfigError
from tagkit.features.batching.targets import Target
from tagkit.features.vocabulary import most_frequent, word_key
from tagkit.models.base.model import Model
from tagkit.nn.softmax.language_loss import PREDICTED_WORDS, LanguageLoss
from tagkit.text.records import Sentence

_UNKNOWN = 0  # id of all words but the most frequent ones


def predicted_words(counts: Counter[str]) -> tuple[str, ...]:
    """The words that are told apart, from how often each form of the training corpus occurs."""
    return most_frequent(counts)[:PREDICTED_WORDS]


def language_target(config: Config, sentences: Sequence[Sentence], words: Sequence[str]) -> Target:
    """The word of each token, as an id among `words`."""
    # Not the ids that the model reads: with frozen vectors most words have none, and singletons are
    # read as the unknown word at times.
    ids = {word: number for number, word in enumerate(words, _UNKNOWN + 1)}
    options = config.embeddings
    surfaces = [word for sentence in sentences for word in sentence.words]
    known = {
        surface: ids.get(word_key(surface, options.lowercase, options.normalize_digits), _UNKNOWN)
        for surface in dict.fromkeys(surfaces)
    }
    found = np.fromiter(map(known.__getitem__, surfaces), np.int64, len(surfaces))
    return Target(found, "token", auxiliary=True)


def add_language_loss(model: Model, config: Config, words: Sequence[str]) -> None:
    """Give a model the layers of the loss, with fresh weights.

    Args:
        model: whose other weights are drawn already, so that they do not depend on this loss.
        config: resolved.
        words: that are predicted.

    Raises:
        ConfigError: the model's states cannot predict.
    """
    # Again, as `train.init_from` may have brought another encoder.
    if problem := lm_problem(config):
        raise ConfigError("train.init_from", [problem])
    model.language_loss = LanguageLoss(
        weight=config.train.lm_loss,
        per_token=not model.text_targets,
        words=len(words) + 1,
        features=config.encoder.hidden,
        backwards=config.encoder.bidirectional,
    )
