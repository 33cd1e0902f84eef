"""A model that begins with another's weights: its words, characters, tags and classes come first.

Ids are places in lists. The new model's lists begin with the old one's and go on with what the new
corpus adds, so that every old tensor is the first block of the new one.
"""

from collections.abc import Iterable
from dataclasses import replace

import torch

from tagkit.config import Config, options_of, training_scheme
from tagkit.errors import ConfigError
from tagkit.features.vocabulary import PAD_ID, Vocabulary
from tagkit.features.word_vectors import Vectors
from tagkit.models.bundle import Bundle
from tagkit.models.model import Model

# Tensors that grow with the vocabulary.
_TABLES = ("embed.words.trained.", "embed.chars.embedding.", "embed.features.")


def inherited(config: Config, base: Bundle, name: str) -> Config:
    """The configuration with the other model's sizes.

    Args:
        config: of the new model.
        base: the other one.
        name: of it, for messages.

    Raises:
        ConfigError: an option that was given asks for other sizes.
    """
    problems = []
    for option_name, option in options_of(Config).items():
        if not option.inherit:  # it decides neither what tensors there are nor what they are of
            continue
        section, _, key = option_name.partition(".")
        mine, theirs = getattr(config, section), getattr(base.config, section)
        value = getattr(theirs, key)
        if key in mine.model_fields_set and getattr(mine, key) != value:
            problems.append(
                f"{option_name} = {getattr(mine, key)!r}: {name}, from which training "
                f"begins, has {value!r}; leave it out"
            )
        changed = mine.model_copy(update={key: value})
        config = config.model_copy(update={section: changed})
    columns = len(config.data.feature_columns)
    if columns != len(base.vocabulary.features):
        problems.append(
            f"data.feature_columns: {name}, from which training begins, reads "
            f"{len(base.vocabulary.features)} of them, not {columns}"
        )
    if problems:
        raise ConfigError("train.init_from", problems)
    return config


def vectors_of(base: Bundle) -> Vectors | None:
    """The pretrained vectors that the other model holds; None if it has none."""
    if not base.vocabulary.vector_words:
        return None
    return Vectors(base.vocabulary.vector_words, base.model.embed.words.vectors[1:].numpy())


def extended(vocabulary: Vocabulary, config: Config, base: Bundle) -> Vocabulary:
    """The other model's vocabulary, with what the new corpus adds behind it.

    Tags of another kind (plain labels in place of spans) are not kept, nor classes where the new
    model has none.
    """
    old = base.vocabulary
    same_tags = old.tags and training_scheme(config) == training_scheme(base.config)
    return replace(
        vocabulary,
        words=_united(old.words, vocabulary.words),
        chars=_united(old.chars, vocabulary.chars),
        tags=_united(old.tags, vocabulary.tags) if same_tags else vocabulary.tags,
        classes=_united(old.classes, vocabulary.classes) if vocabulary.classes else (),
        features=tuple(map(_united, old.features, vocabulary.features)),
    )


@torch.no_grad()
def inherit(model: Model, base: Bundle, vocabulary: Vocabulary) -> None:
    """Put the other model's weights into a new one.

    Rows of words, characters, feature values, tags and classes that it lacks stay as they were
    drawn. A head with other layers, or of tags that were not kept, stays as it was drawn too.
    """
    weights = base.model.state_dict()
    former = base.model.head_labels(base.vocabulary)
    # A head is kept where its rows are still those of the same labels.
    keeps = {
        head: labels[: len(former.get(head, ()))] == former.get(head, ())
        for head, labels in model.head_labels(vocabulary).items()
    }
    for name, tensor in model.named_parameters():
        old = weights.get(name)
        head = next(filter(name.startswith, keeps), None)
        if head and (old is None or not keeps[head] or not _is_block(old, tensor)):
            continue
        assert old is not None
        assert head or old.shape == tensor.shape or name.startswith(_TABLES), name
        tensor[tuple(slice(size) for size in old.shape)] = old
        if name.startswith(_TABLES):
            tensor[PAD_ID] = 0  # random steps of earlier versions moved it


def _is_block(old: torch.Tensor, new: torch.Tensor) -> bool:
    pairs = zip(old.shape, new.shape, strict=False)
    return old.dim() == new.dim() and all(before <= after for before, after in pairs)


def _united(old: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*old, *new]))
