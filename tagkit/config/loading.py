"""A configuration from a TOML file, `--set section.key=value`, and the commands' own flags.

All problems are gathered and reported at once, each with the nearest known name where one is
misspelled.
"""

import difflib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tagkit.config.sections import FORMER_TOKENIZER, Config, Section
from tagkit.errors import ConfigError


def load_config(
    path: Path | str | None = None,
    overrides: Iterable[str] = (),
    flags: Mapping[str, Any] | None = None,
) -> Config:
    """Configuration from a file, `section.key=value` texts, and values by dotted name.

    Args:
        path: a TOML file; None for the defaults alone.
        overrides: as behind `--set`; a value is read as TOML, and as plain text where it is none.
        flags: dotted name -> value; a None is passed over.

    Raises:
        ConfigError: the file cannot be read, or any option is unknown or has a wrong value.
    """
    source = str(path) if path else "configuration"
    table = _read_toml(Path(path)) if path else {}
    problems: list[str] = []
    for text in overrides:
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigError("--set", [f"expected section.key=value, found {text!r}"])
        problems += _put(table, name.strip(), toml_value(value.strip()))
    for name, value in (flags or {}).items():
        if value is not None:
            problems += _put(table, name, value)
    try:
        config = parse_config(table, source)
    except ConfigError as error:
        raise ConfigError(source, [*problems, *error.problems]) from None
    if problems:
        raise ConfigError(source, problems)
    return config


def parse_config(table: Mapping[str, Any], source: str) -> Config:
    """Configuration from nested dictionaries; `source` names them in messages.

    Raises:
        ConfigError: any option is unknown or has a wrong value.
    """
    try:
        config = Config.model_validate(table)
    except ValidationError as error:
        raise ConfigError(source, [_explain(details) for details in error.errors()]) from None
    if problems := list(_not_in_utf_8(config)):
        raise ConfigError(source, problems)
    return config


def _not_in_utf_8(config: Config) -> Iterator[str]:
    """Names of files that could not be written into a model's config.toml."""
    for section, options in config:
        for key, value in options if isinstance(options, Section) else ():
            if isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
                yield f"{section}.{key} = {value!r}: expected a name in UTF-8; rename the file"


def parse_saved(table: dict[str, Any], source: str) -> Config:
    """The configuration of a saved model: what it leaves out is as it was before it could be said.

    Raises:
        ConfigError: any option is unknown or has a wrong value.
    """
    data = table.get("data", {})
    if isinstance(data, dict):
        table = {**table, "data": {"tokenizer": FORMER_TOKENIZER, **data}}
    return parse_config(table, source)


def with_options(config: Config, values: Mapping[str, Any]) -> Config:
    """The configuration with other values, by dotted name.

    Raises:
        ConfigError: an option is unknown or has a wrong value.
    """
    table = config.model_dump(mode="json", exclude_unset=True)
    problems = [problem for name, value in values.items() for problem in _put(table, name, value)]
    if problems:
        raise ConfigError("configuration", problems)
    return parse_config(table, "configuration")


def to_toml(config: Config) -> str:
    """The whole configuration as TOML, defaults included; options without a value are left out."""
    return tomli_w.dumps(config.model_dump(mode="json", exclude_none=True))


def option_names() -> list[str]:
    """Every option's dotted name."""
    names = []
    for name, field in Config.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, Section):
            names += [f"{name}.{key}" for key in section.model_fields]
        else:
            names.append(name)
    return names


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(str(path), ["no such file. Name another with --config"]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), [f"cannot be read: {error}"]) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(path), [f"is not TOML: {error}"]) from None


def toml_value(text: str) -> Any:
    """What `text` is in TOML; the text itself where it is no TOML: --set data.train_file=a.txt."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _put(table: dict[str, Any], name: str, value: Any) -> list[str]:
    """Set a dotted name; a list with the problem where there is no such option."""
    if name not in option_names():
        return [unknown_option(name)]
    *sections, key = name.split(".")
    for section in sections:
        table = table.setdefault(section, {})
        if not isinstance(table, dict):
            return [f"{section}: expected a table, found {table!r}"]
    table[key] = value
    return []


def unknown_option(name: str) -> str:
    """A sentence on a name that is no option's, with one that is near."""
    inside = [option for option in option_names() if option.startswith(f"{name}.")]
    if inside:
        return f"{name} is a table; name one of its options, such as {inside[0]}"
    return f"unknown option {name}{_did_you_mean(name)}"


def _did_you_mean(name: str) -> str:
    """'; did you mean encoder.hidden?' where a known name is near, in this section or another."""
    names = option_names()
    key = name.rpartition(".")[2]
    sections = [option.partition(".")[0] for option in names]
    near = difflib.get_close_matches(name, names + sections, n=1, cutoff=0.75)
    same_key = [option for option in names if option.rpartition(".")[2] == key]
    near = near or same_key or difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else f". There are: {', '.join(sorted(names))}"


def _explain(details: ErrorDetails) -> str:
    """One of pydantic's findings as a sentence in tagkit's manner."""
    # A union's or a list's place ends in the branch's name or the index: not part of the option.
    depth = 2 if len(details["loc"]) > 1 else 1
    name = ".".join(str(part) for part in details["loc"][:depth])
    if details["type"] == "extra_forbidden":
        return unknown_option(name)
    message = details["msg"]
    if details["type"] == "value_error":
        message = message.removeprefix("Value error, ")
    if not name:  # a rule between options names them itself
        return message
    found = json.dumps(details["input"], ensure_ascii=False, default=str)
    wanted = message[0].lower() + message[1:]
    wanted = wanted.removeprefix("input should be ").removeprefix("expected ")
    return f"{name} = {found}: expected {wanted}"
