"""Transfer: a new model starts with the weights of another, the base model.

An id is a position in a list of the vocabulary. The new model's lists are the base model's,
followed by what the new corpus adds, so that every old tensor is the leading block of the new one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

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
# Output layers are about tags: a base model of another task has none to copy.
_OUTPUT_LAYERS = "encoder.output_layers."


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
        if not (option.serves(config.task) and option.serves(base.config.task)):
            continue  # about what the other task does not have
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


@dataclass(frozen=True, slots=True)
class Copied:
    """What a model has of its base model.

    Attributes:
        words: how many words of its vocabulary the base model knows.
        heads: whether each of its heads has the base model's weights, by what the head predicts;
            not where the base model has no such head, or one of other labels or sizes.
    """

    words: int
    heads: dict[str, bool]


@torch.no_grad()
def copy_weights(model: Model, base: Bundle, vocabulary: Vocabulary, name: str) -> Copied:
    """Copy the base model's weights into a new model.

    Rows of words, characters, feature values, tags and classes that the base model lacks keep their
    random values. So does a head whose labels are others, or one of whose tensors has another
    size: stacked weights, such as those of the gates of a cell, would be mixed up by copying a
    corner of them.

    Args:
        model: new, of any task.
        base: the base model, of the same task or another.
        vocabulary: of the new model, which begins with that of the base model.
        name: of the base model, for messages.

    Raises:
        ConfigError: embeddings or encoder of the base model have other sizes.
    """
    weights, mine = base.model.state_dict(), dict(model.named_parameters())
    heads = _heads_that_fit(model, base, vocabulary)
    for key in _copied(mine, weights, tuple(head for head, fit in heads.items() if fit), name):
        # The leading block, in every dimension: a CRF's transitions grow in two.
        mine[key][tuple(slice(size) for size in weights[key].shape)] = weights[key]
        if key.startswith(_TABLES):
            mine[key][PAD_ID] = 0  # the padding row, which training in early versions changed
    titles = _titles(model)
    return Copied(
        words=len(base.vocabulary.words),
        heads={titles.get(head, head.removesuffix(".")): fit for head, fit in heads.items()},
    )


def _copied(
    mine: Mapping[str, Tensor], weights: Mapping[str, Tensor], heads: tuple[str, ...], name: str
) -> list[str]:
    """Names of the tensors that are copied: of embeddings, encoder, and the heads that fit.

    Raises:
        ConfigError: embeddings or encoder of the base model, of this name, have other sizes.
    """
    copied, problems = [], []
    for key, tensor in mine.items():
        # What is of none of these is of training alone, such as the layers of a second loss.
        if not key.startswith(("embed.", "encoder.", *heads)):
            continue
        old = weights.get(key)
        if old is None:
            if not key.startswith((*heads, _OUTPUT_LAYERS)):
                problems.append(f"{name}, from which training begins, has no {key}")
        elif key.startswith(heads) or _fits(old.shape, tensor.shape, table=key.startswith(_TABLES)):
            copied.append(key)
        else:
            problems.append(
                f"{name}, from which training begins, has {key} of shape {tuple(old.shape)}, "
                f"expected {tuple(tensor.shape)}"
            )
    if problems:
        raise ConfigError("train.init_from", problems)
    return copied


def _fits(old: torch.Size, new: torch.Size, *, table: bool) -> bool:
    """Whether a tensor outside the heads can be copied: a table grows by rows, others not."""
    return old == new or (table and old[1:] == new[1:] and old[0] <= new[0])


def _titles(model: Model) -> dict[str, str]:
    """What each head predicts, by the prefix of its parameters' names."""
    titles = {id(head): title for title, head in model.heads_by_name().items()}
    return {
        f"{path}.": titles[id(part)] for path, part in model.named_modules() if id(part) in titles
    }


def _heads_that_fit(model: Model, base: Bundle, vocabulary: Vocabulary) -> dict[str, bool]:
    """Whether each head can have the base model's weights, by the prefix of its parameters' names.

    Its first labels have to be those of the base model, and its tensors may be larger only by the
    new labels. A tensor that the base model lacks, as softmax lacks the transitions of a CRF, does
    not count.
    """
    weights, old_labels = base.model.state_dict(), base.model.head_labels(base.vocabulary)
    fits = {}
    for head, labels in model.head_labels(vocabulary).items():
        old = old_labels.get(head)
        fits[head] = old is not None and tuple(labels[: len(old)]) == tuple(old)
        for key, tensor in model.named_parameters():
            if fits[head] and key.startswith(head) and key in weights:
                assert old is not None
                fits[head] = _grows_by(len(labels) - len(old), weights[key].shape, tensor.shape)
    return fits


def _grows_by(rows: int, old: torch.Size, new: torch.Size) -> bool:
    """Whether a tensor has more rows or columns for so many new labels, and is the same else."""
    return len(old) == len(new) and all(
        after - before in (0, rows) for before, after in zip(old, new, strict=True)
    )


def _united(old: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*old, *new]))  # each string once, at its first position
