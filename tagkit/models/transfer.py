"""Transfer: a new model starts with the weights of another, the base model.

An id is a position in a list of the vocabulary. The new model's lists are the base model's,
followed by what the new corpus adds, so that every old tensor is the leading block of the new one.
"""

from collections.abc import Iterable
from dataclasses import replace

import torch

from tagkit.config import Config, options_of, training_scheme
from tagkit.errors import ConfigError
from tagkit.features.column_labels import ColumnLabels
from tagkit.features.vocabulary import PAD_ID, Vocabulary
from tagkit.features.word_vectors import Vectors
from tagkit.models.bundle import Bundle
from tagkit.models.model import Model

# Prefixes of the tensors whose first dimension grows with the vocabulary.
_TABLES = (
    "embed.words.trained.", "embed.chars.embedding.", "embed.affixes.table.", "embed.features.",
)  # fmt: skip


def inherit_options(config: Config, base: Bundle, name: str) -> Config:
    """The configuration with the base model's sizes.

    Args:
        config: of the new model.
        base: the base model.
        name: of the base model, for messages.

    Raises:
        ConfigError: an option was set to another value than the base model has.
    """
    problems = []
    for option_name, option in options_of(Config).items():
        if not option.inherit:  # it decides neither which tensors there are nor what rows mean
            continue
        section, _, key = option_name.partition(".")
        mine, theirs = getattr(config, section), getattr(base.config, section)
        value = getattr(theirs, key)
        # A default gives way, and so does "auto"; another value that somebody set contradicts.
        if key in mine.model_fields_set and getattr(mine, key) not in (value, "auto"):
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


def pretrained_vectors(base: Bundle) -> Vectors | None:
    """The pretrained vectors in the base model; None if it has none."""
    if not base.vocabulary.vector_words:
        return None
    return Vectors(base.vocabulary.vector_words, base.model.embed.words.vectors.numpy())


def extend_vocabulary(vocabulary: Vocabulary, config: Config, base: Bundle) -> Vocabulary:
    """The base model's vocabulary, followed by what the new corpus adds.

    Tags of another scheme are dropped, and so are classes if the new model has none.
    """
    old = base.vocabulary
    same_tags = old.tags and training_scheme(config) == training_scheme(base.config)
    return replace(
        vocabulary,
        words=_united(old.words, vocabulary.words),
        chars=_united(old.chars, vocabulary.chars),
        # A base model without them has no weights for them.
        affixes=_united(old.affixes, vocabulary.affixes) if old.affixes else (),
        tags=_united(old.tags, vocabulary.tags) if same_tags else vocabulary.tags,
        classes=_united(old.classes, vocabulary.classes) if vocabulary.classes else (),
        features=tuple(map(_united, old.features, vocabulary.features)),
        columns=tuple(_extended(column, old.columns) for column in vocabulary.columns),
    )


def _extended(column: ColumnLabels, old: Iterable[ColumnLabels]) -> ColumnLabels:
    """The labels of a column after those of the same column of the base model.

    Those of other parts are dropped, as the head's rows are in the order of the parts.
    """
    for other in old:
        same = (other.name, other.codec, other.learnt) == (column.name, column.codec, column.learnt)
        if same and [*other.parts] == [*column.parts]:
            parts = {part: _united(other.parts[part], new) for part, new in column.parts.items()}
            return replace(column, parts=parts)
    return column


@torch.no_grad()
def copy_weights(model: Model, base: Bundle, vocabulary: Vocabulary) -> None:
    """Copy the base model's weights into a new model.

    Rows of words, characters, feature values, tags and classes that the base model lacks keep their
    random values, and so does a head with other layers or with tags that were dropped.
    """
    weights = base.model.state_dict()
    old_labels = base.model.head_labels(base.vocabulary)
    # A head is copied only if its first rows still belong to the same labels.
    keeps = {
        head: labels[: len(old_labels.get(head, ()))] == old_labels.get(head, ())
        for head, labels in model.head_labels(vocabulary).items()
    }
    for name, tensor in model.named_parameters():
        old = weights.get(name)
        # Keys of `keeps` are prefixes of names; None for embeddings and encoder.
        head = next(filter(name.startswith, keeps), None)
        if head and (old is None or not keeps[head] or not _is_block(old, tensor)):
            continue
        # Outside the heads `inherit_options` has made the shapes equal, except the tables' rows.
        assert old is not None
        assert head or old.shape == tensor.shape or name.startswith(_TABLES), name
        # The leading block, in every dimension: a CRF's transitions grow in two.
        tensor[tuple(slice(size) for size in old.shape)] = old
        if name.startswith(_TABLES):
            tensor[PAD_ID] = 0  # the padding row, which training in early versions changed


def _is_block(old: torch.Tensor, new: torch.Tensor) -> bool:
    # Whether `old` fits into a corner of `new`.
    pairs = zip(old.shape, new.shape, strict=False)
    return old.dim() == new.dim() and all(before <= after for before, after in pairs)


def _united(old: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*old, *new]))  # each string once, at its first position
