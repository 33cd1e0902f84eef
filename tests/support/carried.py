"""Configurations as of models of earlier versions, which had further options."""

from collections.abc import Iterable, Mapping
from typing import Any

from tagkit.config import Config, carried_by_models, load_config, toml_value, with_options


def config_with(overrides: Iterable[str], flags: Mapping[str, Any]) -> Config:
    """As `load_config`, which refuses what models alone have; here that is set too."""
    given, carried = [], {}
    for override in overrides:
        name, _, value = override.partition("=")
        if name in carried_by_models(Config):
            carried[name] = toml_value(value)
        else:
            given.append(override)
    return with_options(load_config(None, given, flags), carried)
