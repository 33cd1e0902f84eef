"""Transfer: a new model starts with the weights of another, the base model.

An id is a position in a list of the vocabulary. The new model's lists are the base model's,
followed by what the new corpus adds, so that every old tensor is the leading block of the new one.
Of a language model units and their order in a line are what rows of weights mean: one of plain
lines may learn pairs; one of pairs knows a line by its two sides, and goes on with pairs alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch

from tagkit.config import (
    Config,
    carried_by_models,
    has_effect,
    options_of,
    training_scheme,
    without_effect_in,
)
from tagkit.corpus.records.dataset import Split
from tagkit.corpus.records.unit_lines import UnitLines
from tagkit.corpus.splits.splits import Corpus
from tagkit.errors import ConfigError
from tagkit.features.column_labels import ColumnLabels
from tagkit.features.pair_reading import PairReading
from tagkit.features.vocabulary import PAD_ID, Vocabulary
from tagkit.features.word_vectors import Vectors
from tagkit.models.base.model import Model, within_member
from tagkit.models.bundle.bundle import Bundle
from tagkit.nn.heads.tagging import ChainHead
from tagkit.text.pairs import PairUnits, within
from tagkit.text.unit_kinds import UNIT_KINDS

# Prefixes of the tensors whose first dimension grows with the vocabulary.
_TABLES = (
    "embed.words.trained.", "embed.chars.embedding.", "embed.affixes.table.", "embed.features.",
)  # fmt: skip
# What a word's vector may have beside the word's own embedding, which comes first in it, by the
# prefix of its tensors. A new model may have parts that its base model has none of.
_BESIDE_WORDS = {
    "embed.chars.": "characters", "embed.affixes.": "affixes", "embed.features.": "features",
}  # fmt: skip
# Options that give a model such a part.
_ADDED = ("embeddings.char_cell", "embeddings.affix_dim")
# Options of [head] that decide which tensors a head has.
_OF_HEADS = (
    "kind", "feedback_cell", "feedback_hidden", "tag_dim", "pooling", "hidden", "activation",
    "softmax",
)  # fmt: skip
# Output layers are about tags: a base model of another task has none to copy.
_OUTPUT_LAYERS = "encoder.output_layers."
_FIRST_LAYERS = ("encoder.layers.0.", "encoder.input_layers.0.")
# What a language model knows of a line beside its units: of the same classes, if of any.
_OF_LINES = ("condition.", "length.")


def inherit_options(config: Config, base: Bundle, name: str) -> Config:
    """The configuration with the base model's sizes.

    Args:
        config: of the new model.
        base: the base model.
        name: of the base model, for messages.

    Raises:
        ConfigError: an option was set to another value than the base model has, or has no effect
            in it.
    """
    problems = []
    options = {**options_of(Config), **carried_by_models(Config)}
    for option_name, option in options.items():
        if not option.inherit:  # it decides neither which tensors there are nor what rows mean
            continue
        if not option.serves(config.task):  # about what the other task has
            continue
        section, _, key = option_name.partition(".")
        mine, theirs = getattr(config, section), getattr(base.config, section)
        value, is_set = getattr(theirs, key), key in mine.model_fields_set
        if not option.serves(base.config.task):
            value = option.otherwise
            if value is None or (option_name in _ADDED and is_set and getattr(mine, key) != "auto"):
                continue
        elif any(not options[n.option].serves(base.config.task) for n in option.needed):
            continue  # about a part that the base model has none of
        # A default gives way, and so does "auto"; another value that somebody set contradicts.
        if is_set and getattr(mine, key) not in (value, "auto"):
            problems.append(
                f"{option_name} = {getattr(mine, key)!r}: {name}, from which training "
                f"begins, has {value!r}; leave it out"
            )
        changed = mine.model_copy(update={key: value})
        config = config.model_copy(update={section: changed})
    # A new head may be another. Of itself it is as the one whose weights it begins with.
    for key in _OF_HEADS:
        is_set = key in config.head.model_fields_set and getattr(config.head, key) != "auto"
        both_have_it = all(has_effect(each, f"head.{key}") for each in (base.config, config))
        if both_have_it and not is_set:
            head = config.head.model_copy(update={key: getattr(base.config.head, key)})
            config = config.model_copy(update={"head": head})
    config, of_pairs = inherit_pairs(config, base, name)
    problems += of_pairs
    problems += _contradictions(config, base, name)
    problems += without_effect_in(config, name)
    if problems:
        raise ConfigError("train.init_from", problems)
    return config


def _contradictions(config: Config, base: Bundle, name: str) -> list[str]:
    """Why models of a task cannot start with a base model, whatever their sizes."""
    problems = []
    units = base.vocabulary.units
    if units and (units.instead_of == "words") != config.reads_units:
        known = UNIT_KINDS[units.units.kind].name
        problems.append(
            f"data.unit: {name}, from which training begins, reads {known}s in place of "
            f"{units.instead_of}, which task = {config.task!r} does not; begin from a model of "
            "words"
        )
    if base.config.data.direction != config.data.direction:
        problems.append(
            f"data.direction: {name}, from which training begins, reads "
            f"{base.config.data.direction}, expected {config.data.direction}"
        )
    options = {**options_of(Config), **carried_by_models(Config)}
    for columns, read in (
        ("feature_columns", len(base.vocabulary.features)),
        ("vector_columns", len(base.vocabulary.vectors)),
    ):
        wanted = len(getattr(config.data, columns))
        if options[f"data.{columns}"].serves(base.config.task) and wanted != read:
            problems.append(
                f"data.{columns}: {name}, from which training begins, reads {read} of them, "
                f"not {wanted}"
            )
    for option_name, option in options.items():
        if option.inherit and option.otherwise is not None and not option.serves(config.task):
            section, _, key = option_name.partition(".")
            value = getattr(getattr(base.config, section), key)
            if option.serves(base.config.task) and value != option.otherwise:
                problems.append(
                    f"task = {config.task!r}: {name}, from which training begins, has "
                    f"{option_name} = {value!r}, expected {option.otherwise!r}"
                )
    return problems


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
        affixes=_united(old.affixes, vocabulary.affixes),
        tags=_united(old.tags, vocabulary.tags) if same_tags else vocabulary.tags,
        classes=_united(old.classes, vocabulary.classes) if vocabulary.classes else (),
        features=(
            tuple(map(_united, old.features, vocabulary.features))
            if old.features
            else vocabulary.features
        ),
        columns=tuple(_extended(column, old.columns) for column in vocabulary.columns),
        pairs=_extended_pairs(vocabulary.pairs, old.pairs),
    )


def _extended_pairs(pairs: PairReading | None, old: PairReading | None) -> PairReading | None:
    """The units of the base model, and those that are new; cut as it cuts."""
    if pairs is None or old is None:
        return pairs
    return replace(old, units=_united(old.units, pairs.units))


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
        added: what its words' vectors have that the base model's have not.
        left_out: what counts beside the base model's network, and is not copied.
    """

    words: int
    added: tuple[str, ...]
    heads: dict[str, bool]
    left_out: tuple[str, ...]


@torch.no_grad()
def copy_weights(model: Model, base: Bundle, vocabulary: Vocabulary, name: str) -> Copied:
    """Copy the base model's weights into a new model.

    Rows of words, characters, feature values, tags and classes that the base model lacks keep their
    random values, but those of tags are 0 where tags share scores. A head keeps its own if
    its labels are others, or one of its tensors has another size: stacked weights, such as those of
    the gates of a cell, would be mixed up by copying a corner of them.

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
    added = tuple(part for part in _BESIDE_WORDS if _is_added(part, mine, weights))
    copied_heads = tuple(head for head, fit in heads.items() if fit)
    for key in _names_to_copy(model, base, copied_heads, added, name):
        # The leading block, in every dimension: a CRF's transitions grow in two.
        mine[key][tuple(slice(size) for size in weights[key].shape)] = weights[key]
        if within_member(key).startswith(_TABLES):
            mine[key][PAD_ID] = 0  # the padding row, which training in early versions changed
    for head in copied_heads:
        old, new = (each.get_submodule(head.removesuffix(".")) for each in (base.model, model))
        if isinstance(old, ChainHead) and isinstance(new, ChainHead):
            new.copy_scores(old)
    titles = _titles(model)
    return Copied(
        words=len(base.vocabulary.words),
        added=tuple(_BESIDE_WORDS[part] for part in added),
        heads={titles.get(head, head.removesuffix(".")): fit for head, fit in heads.items()},
        left_out=_left_out(model, base),
    )


def _left_out(model: Model, base: Bundle) -> tuple[str, ...]:
    """What counts in the base model beside its network, and is not copied."""
    crf, found = base.model.feature_crf, []
    if crf is not None and float(crf.share):
        found.append(f"its CRF of word features, which counted {100 * float(crf.share):.0f} %")
    theirs, mine = (any(".bag." in key for key in one.state_dict()) for one in (base.model, model))
    if theirs and not mine:
        found.append("its linear model of words (head.bag_of_words > 0 fits one to train)")
    return tuple(found)


def _is_added(part: str, mine: Iterable[str], theirs: Iterable[str]) -> bool:
    """Whether a new model has tensors of this prefix, and the base model none."""
    return any(key.startswith(part) for key in mine) and not any(
        key.startswith(part) for key in theirs
    )


def _names_to_copy(
    model: Model, base: Bundle, heads: tuple[str, ...], added: tuple[str, ...], name: str
) -> list[str]:
    """Names of the tensors that are copied: of embeddings, encoder, and the heads that fit.

    Args:
        model: new.
        base: the base model.
        heads: prefixes of the tensors of heads that fit.
        added: prefixes of the tensors that the base model has none of, and need not have.
        name: of the base model, for messages.

    Raises:
        ConfigError: embeddings or encoder of the base model have other sizes.
    """
    copied, problems = [], []
    weights = base.model.state_dict()
    wider = base.model.embed.outputs, model.embed.outputs
    reads_more = bool(added) or model.embed.numbers > base.model.embed.numbers
    for key, tensor in model.named_parameters():
        # What is of none of these is of training alone, such as the layers of a second loss.
        own = within_member(key)
        if own.startswith(_OF_LINES) and key in weights and weights[key].shape == tensor.shape:
            copied.append(key)
        if not own.startswith(("embed.", "encoder.", *heads)):
            continue
        old, new = weights.get(key), tensor.shape
        if old is None:
            if not own.startswith((*heads, _OUTPUT_LAYERS, *added)):
                problems.append(f"{name}, from which training begins, has no {key}")
        elif (
            own.startswith(heads)
            or old.shape == new
            or (own.startswith(_TABLES) and _has_more_rows(old.shape, new))
            or (reads_more and own.startswith(_FIRST_LAYERS) and _reads_more(old.shape, new, wider))
        ):
            copied.append(key)
        else:
            problems.append(
                f"{name}, from which training begins, has {key} of shape {tuple(old.shape)}, "
                f"expected {tuple(new)}"
            )
    if problems:
        raise ConfigError("train.init_from", problems)
    return copied


def _has_more_rows(old: torch.Size, new: torch.Size) -> bool:
    """Whether a table has grown by strings that the base model does not know."""
    return old[1:] == new[1:] and old[0] <= new[0]


def _reads_more(old: torch.Size, new: torch.Size, inputs: tuple[int, int]) -> bool:
    """Whether a weight reads vectors with more values, the base model's first: more columns."""
    # A convolution's has the width as its third dimension.
    others_same = old[:1] == new[:1] and old[2:] == new[2:]
    return len(old) > 1 and others_same and (old[1], new[1]) == inputs


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
    not count, unless a head's mean nothing without each other; one at least has to be there.
    """
    old_labels = base.model.head_labels(base.vocabulary)
    fits = {}
    for head, labels in model.head_labels(vocabulary).items():
        old = old_labels.get(head)
        if old is None or tuple(labels[: len(old)]) != tuple(old):
            fits[head] = False
            continue
        mine, theirs = ({key: tensor for key, tensor in each.named_parameters()
                         if key.startswith(head)} for each in (model, base.model))  # fmt: skip
        shared = mine.keys() & theirs.keys()
        # A language model that halts has its softmax under another name, so that none is shared.
        found = bool(shared) and (mine.keys() == theirs.keys() or not model.heads_are_whole)
        rows = len(labels) - len(old)
        sizes = [(theirs[key].shape, mine[key].shape) for key in shared]
        fits[head] = found and all(_grows_by(rows, *both) for both in sizes)
    return fits


def _grows_by(rows: int, old: torch.Size, new: torch.Size) -> bool:
    """Whether a tensor has more rows or columns for so many new labels, and is the same else."""
    return len(old) == len(new) and all(
        after - before in (0, rows) for before, after in zip(old, new, strict=True)
    )


def _united(old: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*old, *new]))  # each string once, at its first position


# How pairs are read: what is not set is as in the base model.
_OF_PAIRS = ("pairs", "context", "loss_on")


def inherit_pairs(config: Config, base: Bundle, name: str) -> tuple[Config, list[str]]:
    """The configuration with pairs where the base model has them, and what contradicts that.

    Args:
        config: of the new model.
        base: the base model.
        name: of the base model, for messages.
    """
    mine, theirs = config.data, base.config.data
    if not (theirs.pairs and options_of(Config)["data.pairs"].serves(config.task)):
        return config, []
    if "pairs" in mine.model_fields_set and not mine.pairs:
        return config, [
            f"data.pairs = False: {name}, from which training begins, has True; leave it out"
        ]
    left = {key: getattr(theirs, key) for key in _OF_PAIRS if key not in mine.model_fields_set}
    return config.model_copy(update={"data": mine.model_copy(update=left)}), []


def in_units_of(corpus: Corpus, base: Bundle, *, pairs: bool) -> Corpus:
    """A corpus of texts in the units of the base model, which its own text may not give.

    Args:
        corpus: of the new model.
        base: the base model.
        pairs: whether each line is a pair, whatever the lines of the base model were.
    """
    known = base.vocabulary.units

    def cut(split: Split | None) -> Split | None:
        if split is None or known is None or not isinstance(split.sentences, UnitLines):
            return split
        units = within(known.units)
        return replace(
            split, sentences=split.sentences.cut_again(PairUnits(units) if pairs else units)
        )

    train, dev = cut(corpus.train), cut(corpus.dev)
    assert train is not None
    assert dev is not None
    return Corpus(train, dev, cut(corpus.test))
