"""Options that have no effect beside others: `head.hidden` of a tagger, `train.momentum` of Adam.

A run refuses them where they have another value than their default. Whether a value was given on
purpose or written out in full, as a saved model's config.toml has all options, makes no difference.
Which option needs which is said at its field (`tagkit.config.option`).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tagkit.config.loading import with_options
from tagkit.config.option import Needs, Option, carried_by_models, options_of
from tagkit.config.sections import SAVED_WITHOUT_EFFECT, Config
from tagkit.config.train_section import DEFAULT_BPTT
from tagkit.errors import ConfigError
from tagkit.wording import clipped, visible

# Values that "auto" becomes also where they have no effect, as every saved model's config.toml has.
_VALUES_OF_AUTO = {**SAVED_WITHOUT_EFFECT, "train.bptt": DEFAULT_BPTT, "train.workers": 1}


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
    problems: list[str] = []
    for name, needs in _without_effect(config, searched):
        if name not in searched and _value(config, name) == _VALUES_OF_AUTO.get(name):
            continue
        cause = _cause(config, needs, searched)
        given = name if name in searched else f"{name} = {_shown(_value(config, name))}"
        problem = f"{given}: has no effect with {cause}; leave it out"
        # A task that nobody has named is rather what is missing than the option too much.
        if needs.option == "task" and needs.values and "task" not in config.model_fields_set:
            problem = f"{problem}, or name its task: task={needs.values[0]}"
        problems.append(problem)
    if problems:
        raise ConfigError(source, problems)


def without_effect_in(config: Config, name: str) -> list[str]:
    """Sentences on options that have no effect in the model of `train.init_from`.

    Options that are inherited are that model's own, and no others depend on it.

    Args:
        config: with the inherited options.
        name: of that model, for messages.
    """
    problems, options, defaults = [], options_of(Config), Config()
    for key, option in options.items():
        value = _value(config, key)
        if option.inherit or value in (_value(defaults, key), _VALUES_OF_AUTO.get(key)):
            continue
        for needs in option.needed:
            inherited = options[needs.option].inherit or needs.option == "head.kind"
            if not inherited or not needs.applies_to(config.task):
                continue
            if not _are_met(config, needs, {}):
                problems.append(
                    f"{key} = {_shown(value)}: has no effect with {_cause(config, needs, {})}, as "
                    f"{name} has, from which training begins; leave it out"
                )
    return problems


def has_effect(config: Config, name: str) -> bool:
    """Whether an option has one in the configuration's task and beside its other values.

    Args:
        config: with the inherited options.
        name: the option's dotted name.
    """
    options = {**options_of(Config), **carried_by_models(Config)}
    return all(
        _are_met(config, needs, {})
        for needs in options[name].conditions
        if needs.applies_to(config.task)
    )


def effective(config: Config) -> Config:
    """The configuration with the default of each option that has no effect.

    Configurations that train the same model become equal, so that a search tells trials apart.
    """
    names = {name for name, _ in _without_effect(config, {})}
    return with_options(config, {name: _value(Config(), name) for name in names})


def _without_effect(
    config: Config, searched: Mapping[str, Sequence[Any]]
) -> Iterator[tuple[str, Needs]]:
    """Options that differ from their defaults in vain, each with the first need that is not met."""
    options = options_of(Config)
    for name, option in options.items():
        # A value that a search tries counts as set, even where the default is among the values.
        if name not in searched and _value(config, name) == _value(Config(), name):
            continue
        for needs in _conditions(config, option, options):
            if not _are_met(config, needs, searched):
                yield name, needs
                break


def _are_met(config: Config, needs: Needs, searched: Mapping[str, Sequence[Any]]) -> bool:
    """Whether a condition is met, or what serves in its place."""
    values = searched.get(needs.option, (_value(config, needs.option),))
    # One trial in which it has an effect is enough.
    if any(needs.are_met_by(value) for value in values):
        return True
    return needs.alternative is not None and _are_met(config, needs.alternative, searched)


def _cause(config: Config, needs: Needs, searched: Mapping[str, Sequence[Any]]) -> str:
    """Why a condition is not met: options and their values."""
    values = searched.get(needs.option, (_value(config, needs.option),))
    cause = f"{needs.option} = {' or '.join(_shown(value) for value in dict.fromkeys(values))}"
    if needs.alternative is None:
        return cause
    return f"{cause} and {_cause(config, needs.alternative, searched)}"


def _conditions(config: Config, option: Option, options: Mapping[str, Option]) -> Iterator[Needs]:
    """What an option needs for an effect in this configuration."""
    for needs in option.conditions:
        if not needs.applies_to(config.task):
            continue
        # With train.init_from the other model decides on inherited options, not this configuration.
        inherited = needs in option.needed and (option.inherit or options[needs.option].inherit)
        if not (config.train.init_from and inherited):
            yield needs


def _value(config: Config, name: str) -> Any:
    section, _, key = name.rpartition(".")
    return getattr(getattr(config, section) if section else config, key)


def _shown(value: Any) -> str:
    return visible(clipped(json.dumps(value, ensure_ascii=False, default=str)))
