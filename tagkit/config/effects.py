"""Options that have no effect beside others: `head.hidden` of a tagger, `train.momentum` of Adam.

A run refuses them where they have another value than their default. Whether a value was given on
purpose or written out in full, as a saved model's config.toml has all options, makes no difference.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tagkit.config.loading import with_options
from tagkit.config.sections import Config
from tagkit.errors import ConfigError
from tagkit.wording import clipped, visible


@dataclass(frozen=True, slots=True)
class Rule:
    """Options whose effect another one decides.

    Attributes:
        options: by dotted name.
        decided_by: the other option.
        has_effect: whether `options` have an effect where it has this value.
    """

    options: tuple[str, ...]
    decided_by: str
    has_effect: Callable[[Any], bool]


RULES = (
    Rule(
        ("head.pooling", "head.hidden", "head.activation", "head.dropout", "head.multi_label",
         "head.threshold", "head.label_smoothing", "head.class_weights", "data.text_column",
         "data.label_column", "data.header", "data.label_level", "data.tree_labels",
         "data.tree_phrases"),
        "task",
        lambda task: task != "tag",
    ),
    Rule(
        ("head.kind", "head.constrain", "head.label_weights", "data.scheme", "data.train_scheme"),
        "task",
        lambda task: task != "classify",
    ),
    Rule(("head.class_loss",), "task", lambda task: task == "both"),
    Rule(("data.max_length",), "task", lambda task: task == "tag"),
    Rule(("data.dev_fraction",), "data.dev_file", lambda path: not path),
    Rule(("head.activation",), "head.hidden", bool),
    Rule(
        ("embeddings.char_dim", "embeddings.char_hidden", "embeddings.char_dropout"),
        "embeddings.char_cell",
        lambda cell: cell != "none",
    ),
    Rule(("embeddings.feature_dim",), "data.feature_columns", bool),
    Rule(("embeddings.max_vectors", "embeddings.freeze_vectors"), "embeddings.vectors", bool),
    Rule(("train.seed",), "train.seeds", lambda seeds: not seeds),
    Rule(("train.momentum",), "train.optimizer", lambda name: name == "sgd"),
    Rule(
        ("train.anneal_factor", "train.anneal_patience"),
        "train.schedule",
        lambda name: name == "plateau",
    ),
)  # fmt: skip


def refuse_without_effect(
    config: Config, source: str, searched: Mapping[str, Sequence[Any]] | None = None
) -> None:
    """Refuse options that have no effect.

    Args:
        config: of a run or a search.
        source: names it in messages.
        searched: values that a search tries, by the option's dotted name. An option is refused
            only if it has an effect in no trial.

    Raises:
        ConfigError: an option has no effect; all of them at once.
    """
    searched = searched or {}
    problems = []
    for name, rule in _without_effect(config, searched):
        values = searched.get(rule.decided_by, (_value(config, rule.decided_by),))
        cause = " or ".join(_shown(value) for value in dict.fromkeys(values))
        given = name if name in searched else f"{name} = {_shown(_value(config, name))}"
        problems.append(f"{given}: has no effect with {rule.decided_by} = {cause}; leave it out")
    if problems:
        raise ConfigError(source, problems)


def effective(config: Config) -> Config:
    """The configuration with the default of each option that has no effect."""
    names = {name for name, _ in _without_effect(config, {})}
    return with_options(config, {name: _value(Config(), name) for name in names})


def _without_effect(
    config: Config, searched: Mapping[str, Sequence[Any]]
) -> Iterator[tuple[str, Rule]]:
    """Options that differ from their defaults in vain, each with the first rule that says so."""
    found = set()
    for rule in RULES:
        # With --init-from the other model decides on its sizes, not this configuration.
        if config.train.init_from and rule.options[0].startswith("embeddings."):
            continue
        values = searched.get(rule.decided_by, (_value(config, rule.decided_by),))
        if any(rule.has_effect(value) for value in values):
            continue
        for name in rule.options:
            is_set = name in searched or _value(config, name) != _value(Config(), name)
            if is_set and name not in found:
                found.add(name)
                yield name, rule


def _value(config: Config, name: str) -> Any:
    section, _, key = name.rpartition(".")
    return getattr(getattr(config, section) if section else config, key)


def _shown(value: Any) -> str:
    return visible(clipped(json.dumps(value, ensure_ascii=False, default=str)))
