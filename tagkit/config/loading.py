"""A configuration from a TOML file, texts such as `section.key=value`, and single values.

All problems are gathered and reported at once: each names its option, what was found and what is
expected, in the words of TOML rather than those of a library, with the nearest known name where one
is misspelled.
"""

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_origin

import tomli_w
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tagkit.config.option import MarkedBool, carried_by_models, options_of
from tagkit.config.removed import (
    REMOVED,
    RENAMED,
    removed_option,
    with_new_names,
    without_removed,
)
from tagkit.config.sections import FORMER_DEFAULTS, Config
from tagkit.errors import ConfigError
from tagkit.text.json_text import is_writable
from tagkit.wording import clipped, quoted, reason, visible

# What pydantic expects, by the type of its error, where its own words are those of Python.
_EXPECTED = {
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), "a table"),
    **dict.fromkeys(
        ("int_type", "int_parsing", "int_from_float", "int_parsing_size"), "an integer"
    ),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    "string_type": "text in quotes",
    "tuple_type": "a list",
}
MAX_QUOTED = 200  # characters of a value, a name or a problem in a sentence
_MAX_EXPECTED = 1_000  # of what is expected, such as the names of all cells
_LONGEST_NAME = 100  # of an option for which a near one is looked for
LARGEST = 2**63  # TOML's own limit of a whole number


def option_names() -> list[str]:
    """Every option's dotted name."""
    return list(options_of(Config))


def explain(errors: Iterable[ErrorDetails]) -> dict[str, list[str]]:
    """Findings of pydantic as sentences, by option."""
    by_option: dict[str, list[ErrorDetails]] = {}
    for details in errors:
        # A union's or a list's place ends in the branch's name or the index: no part of the option.
        depth = 2 if len(details["loc"]) > 1 else 1
        name = ".".join(str(part) for part in details["loc"][:depth])
        by_option.setdefault(name, []).append(details)
    return {name: _explain(name, found) for name, found in by_option.items()}


def _explain(name: str, errors: Sequence[ErrorDetails]) -> list[str]:
    """Sentences on one option; on rules between options where the name is empty."""
    if any(details["type"] == "extra_forbidden" for details in errors):
        return [unknown_option(name)]
    if not name:  # a rule between options names them itself
        return [_message(details) for details in errors]
    # A value inside a list or a table is what is wrong, not that it is no number.
    inside = max(len(details["loc"]) for details in errors)
    expected: dict[str, list[str]] = {}
    for details in errors:
        if inside <= 3 or len(details["loc"]) == inside:
            wanted = _message(details)
            wanted = wanted[0].lower() + wanted[1:]
            wanted = wanted.removeprefix("input should be ").removeprefix("expected ")
            wanted = _EXPECTED.get(details["type"], wanted)
            if details["type"] == "tuple_type" and isinstance(details["input"], int | str):
                wanted = f"a list, such as [{shown(details['input'])}]"
            found = f"{name}{_key_of(name, details)} = {shown(details['input'])}"
            expected.setdefault(found, []).append(wanted)
    return [
        f"{found}: expected {clipped(_alternatives([*dict.fromkeys(wanted)]), _MAX_EXPECTED)}"
        for found, wanted in expected.items()
    ]


def _key_of(name: str, details: ErrorDetails) -> str:
    """The key of a value in an option that is a table, after a dot; empty for other options."""
    *place, last = details["loc"]
    section, _, option = name.partition(".")
    field = Config.model_fields.get(section)
    fields = getattr(field.annotation, "model_fields", {}) if field else {}
    is_table = option in fields and get_origin(fields[option].annotation) is dict
    # Where it may be a number or a table, pydantic names the branch before the key.
    in_branch = len(place) == 3 and str(place[2]).startswith("dict[")
    if (is_table and len(place) == 2) or in_branch:
        return f".{visible(clipped(str(last), MAX_QUOTED))}"
    return ""


def _alternatives(wanted: Sequence[str]) -> str:
    """What an option can be: "a number greater than 0", or "'auto' or a number greater than 0"."""
    bounds = ("greater than", "less than")
    return " or ".join(f"a number {each}" if each.startswith(bounds) else each for each in wanted)


def _message(details: ErrorDetails) -> str:
    message = details["msg"]
    return message.removeprefix("Value error, ") if details["type"] == "value_error" else message


def unusable_values(table: Mapping[str, Any]) -> dict[str, list[str]]:
    """Sentences on values that no option can have, by option."""
    problems: dict[str, list[str]] = {}
    # A stack in place of recursion: TOML nests deeper than Python's stack.
    waiting: list[tuple[str, Any, int]] = [("", dict(table), 0)]
    while waiting:
        name, value, depth = waiting.pop()
        if isinstance(value, dict):
            for key, inner in value.items():
                inside = f"{name}.{key}" if name and depth < 2 else name or str(key)
                _note(problems, inside, str(key))
                waiting.append((inside, inner, depth + 1))
        elif isinstance(value, (list, tuple)):
            waiting += [(name, inner, depth) for inner in value]
        else:
            _note(problems, name, value)
    return problems


def _note(problems: dict[str, list[str]], name: str, value: Any) -> None:
    """Add a sentence on a value that no option can have."""
    wanted = None
    if isinstance(value, int) and abs(value) > LARGEST:
        wanted = "a number of at most 64 bits"
    elif isinstance(value, str) and "\0" in value:
        wanted = "text without NUL characters"
    elif isinstance(value, str) and not is_writable(value):
        wanted = "text that is UTF-8; rename the file"
    if wanted:
        said = f"{visible(clipped(name, MAX_QUOTED))} = {shown(value)}: expected {wanted}"
        problems[name] = [said] if name not in problems else problems[name]


def shown(value: Any) -> str:
    """A value for a message, as JSON has it, of bounded length."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=_plain)
        return visible(clipped(text, MAX_QUOTED))
    except ValueError:  # Python writes no number of more than 4,300 digits
        return "a number of many digits"
    except RecursionError:
        return "a value that is nested deeply"


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, MarkedBool) else str(value)


def unknown_option(name: str) -> str:
    """A sentence on a name that is no option's, with one that is near."""
    if name in REMOVED:
        return removed_option(name)
    if name in RENAMED:
        return f"{name} is now {RENAMED[name][0]}; as it was it takes true or false"
    # A section in place of one of its options: encoder=3.
    inside = [option for option in option_names() if option.startswith(f"{name}.")]
    if inside:
        return f"{name} is a table; name one of its options, such as {inside[0]}"
    if len(name) > _LONGEST_NAME or not name.isprintable():
        return f"unknown option {quoted(name)}"
    return f"unknown option {name}{_did_you_mean(name)}"


def _did_you_mean(name: str) -> str:
    """'; did you mean encoder.hidden?' where a known name is near, in this section or another."""
    names = option_names()
    key = name.rpartition(".")[2]
    sections = [option.partition(".")[0] for option in names]
    # A high cutoff for the whole name, then the same key elsewhere (train.hidden), then a guess.
    # A name without a dot may be meant for a section; train.x is not meant for train.
    others = [] if "." in name else sections
    near = difflib.get_close_matches(name, names + others, n=1, cutoff=0.75)
    same_key = [option for option in names if option.rpartition(".")[2] == key]
    near = near or same_key or difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]}?"
    section = f"{name.partition('.')[0]}."
    inside = [option for option in names if option.startswith(section)]
    if inside:
        return f". There are: {', '.join(sorted(inside))}"
    tops = dict.fromkeys(option.partition(".")[0] for option in names if "." in option)
    return f". There are task, and the sections {', '.join(tops)}"


MAX_CONFIG_BYTES = 4 * 2**20  # of a file
MAX_PARTS = 16  # of a dotted key; options have two
MAX_PROBLEMS = 30  # that are named at once
# Strings and comments of TOML, whose dots part no keys.
_QUOTED = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL
)
_BETWEEN_KEYS = re.compile(r"[,={}\n]")
# Words of tomllib that do not say what is wrong, and ours.
_TOML_PROBLEMS = (
    (r"Cannot overwrite a value", "a key is given twice"),
    (r"Cannot declare \('([^']*)'[^)]*\) twice", r"the section [\1] is given twice"),
    (r"Expected '\]' at the end of a table declaration",
     "expected ']' at the end of a section's name"),
)  # fmt: skip


def load_config(
    path: Path | str | None = None,
    overrides: Iterable[str] = (),
    flags: Mapping[str, Any] | None = None,
) -> Config:
    """Configuration from a file, `section.key=value` texts, and values by dotted name.

    Args:
        path: a TOML file; None for the defaults alone.
        overrides: `section.key=value`; a value is read as TOML, and as plain text where it is none.
        flags: dotted name -> value; a None is skipped.

    Raises:
        ConfigError: the file cannot be read, or any option is unknown or has a wrong value.
    """
    source = str(path) if path else "configuration"
    table = _read_toml(Path(path)) if path else {}
    problems: list[str] = []
    values: dict[str, Any] = {}
    for text in overrides:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            problems.append(f"overrides={quoted(text)}: expected section.key=value")
            continue
        values[name.strip()] = toml_value(value.strip())
    values |= {name: value for name, value in (flags or {}).items() if value is not None}
    for name, value in values.items():
        problems += _put(table, name, value)
    config, found = _validated(table)
    if config is None or found or problems:
        # What was typed beside a file is not looked for in it.
        for name in [name for name in found if name in values]:
            said = found.pop(name)
            problems += [f"{name}{each.removeprefix(name)}" for each in said]
        raise ConfigError(source, _first(found), problems)
    return config


def as_config(given: Config | Path | str | Mapping[str, Any]) -> Config:
    """A configuration, however it is given to a function of the library.

    Args:
        given: the configuration; the path of a TOML file; or its tables as dictionaries, in which
            an option may also have its dotted name: `{"data.train_file": "train.conll"}`.

    Raises:
        ConfigError: the file cannot be read, or any option is unknown or has a wrong value.
    """
    if isinstance(given, Config):
        # Also what pydantic's own `model_copy` has changed, which checks nothing.
        return _whole(*_read(given.model_dump(exclude_unset=True)), "configuration")
    if isinstance(given, str | Path):
        return load_config(given)
    tables = {name: _with_text(value) for name, value in given.items() if "." not in name}
    problems = [problem for name, value in given.items() if "." in name
                for problem in _put(tables, name, value)]  # fmt: skip
    config, found = _validated(tables)
    # What the names say wrong and what the values say wrong is reported together.
    if config is None or found or problems:
        raise ConfigError("configuration", [*problems, *_first(found)])
    return config


def parse_config(table: Mapping[str, Any], source: str) -> Config:
    """Configuration from nested dictionaries; `source` names them in messages.

    Raises:
        ConfigError: any option is unknown or has a wrong value.
    """
    return _whole(*_validated(table), source)


def _whole(config: Config | None, problems: Mapping[str, list[str]], source: str) -> Config:
    if config is None or problems:
        raise ConfigError(source, _first(problems))
    return config


def _validated(table: Mapping[str, Any]) -> tuple[Config | None, dict[str, list[str]]]:
    """The configuration of tables that somebody wrote; and sentences, by option."""
    left, removed = without_removed(table)
    config, problems = _read(left)
    return config, removed | problems


def _read(table: Mapping[str, Any]) -> tuple[Config | None, dict[str, list[str]]]:
    """The configuration of the tables, None where it has none; and sentences, by option."""
    table = with_new_names(table)
    problems = unusable_values(table)
    config = None
    try:
        config = Config.model_validate(table)
    except ValidationError as error:
        problems = explain(error.errors()) | problems
    return config, problems


def _first(problems: Mapping[str, list[str]]) -> list[str]:
    """As many sentences as one reads, and how many there are more."""
    said = [problem for each in problems.values() for problem in each]
    if len(said) > MAX_PROBLEMS:
        said[MAX_PROBLEMS:] = [f"and {len(said) - MAX_PROBLEMS:,} problems more"]
    return said


def parse_saved(table: dict[str, Any], source: str) -> Config:
    """The configuration of a saved model; options that it lacks are as before they were options.

    Raises:
        ConfigError: any option is unknown or has a wrong value.
    """
    for name, value in FORMER_DEFAULTS.items():
        section, _, key = name.partition(".")
        given = table.get(section, {})
        if isinstance(given, dict):  # otherwise it is refused below
            table = {**table, section: {key: value, **given}}
    for name in REMOVED:
        section, _, key = name.partition(".")
        given = table.get(section)
        if isinstance(given, dict) and name not in carried_by_models(Config):
            table = {**table, section: {one: given[one] for one in given if one != key}}
    return _whole(*_read(table), source)


def with_options(config: Config, values: Mapping[str, Any]) -> Config:
    """The configuration with other values, by dotted name.

    Raises:
        ConfigError: an option is unknown or has a wrong value.
    """
    # Set options alone, so that what was left to its default still counts as left.
    table = config.model_dump(mode="json", exclude_unset=True)
    problems = [problem for name, value in values.items() for problem in _put(table, name, value)]
    if problems:
        raise ConfigError("configuration", problems)
    return _whole(*_read(table), "configuration")


def to_toml(config: Config) -> str:
    """The whole configuration as TOML, defaults included; options without a value are left out."""
    return tomli_w.dumps(config.model_dump(mode="json", exclude_none=True))


def parse_toml(content: bytes) -> dict[str, Any]:
    """The tables of a TOML text.

    Raises:
        ValueError: it is not TOML, or nested beyond all use; the message is the reason, in words.
    """
    try:
        text = content.decode("utf-8-sig")
        # tomllib takes memory that grows with the square of a dotted key's parts.
        bare = _QUOTED.sub("s", text)
        if max(key.count(".") for key in _BETWEEN_KEYS.split(bare)) > MAX_PARTS:
            raise ValueError(f"is not a configuration: a dotted key has over {MAX_PARTS} parts")
        return tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise ValueError(f"is not TOML: not UTF-8 at byte {error.start + 1:,}") from None
    except tomllib.TOMLDecodeError as error:
        problem = clipped(_in_plain_words(str(error)), MAX_QUOTED)
        quotes = '; a text needs quotes: task = "tag"' if "Invalid value" in problem else ""
        raise ValueError(f"is not TOML: {problem}{quotes}") from None
    except RecursionError:
        raise ValueError("is not a configuration: nested too deeply") from None
    except ValueError as error:
        if "digits" in str(error):  # Python's words on it name a function of Python
            raise ValueError("is not TOML: a number has over 4,300 digits") from None
        raise


def _in_plain_words(problem: str) -> str:
    """What tomllib says of a text, where its own words do not say what is wrong."""
    for theirs, ours in _TOML_PROBLEMS:
        problem = re.sub(theirs, ours, problem)
    return problem


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            # One byte more tells a file of exactly that size from a larger one.
            content = file.read(MAX_CONFIG_BYTES + 1)
        if len(content) > MAX_CONFIG_BYTES:
            raise ConfigError(
                str(path), [f"expected at most {MAX_CONFIG_BYTES:,} bytes, found more"]
            )
        return parse_toml(content)
    except FileNotFoundError:
        remedy = "no such file. Name another"
        raise ConfigError(str(path), [remedy]) from None
    except OSError as error:
        raise ConfigError(str(path), [f"cannot be read: {reason(error)}"]) from None
    except ValueError as error:
        said = "a file's name cannot hold NUL" if "\0" in str(path) else str(error)
        raise ConfigError(str(path), [said]) from None


def toml_value(text: str) -> Any:
    """What `text` is in TOML; the text itself where it is no TOML, as in data.train_file=a.txt."""
    try:
        table = parse_toml(f"value = {text}".encode())
    except ValueError:  # of half a surrogate pair too: a file's name with bytes that are not UTF-8
        return text
    # A text with a line end could define further keys.
    return table["value"] if len(table) == 1 else text


def _put(table: dict[str, Any], name: str, value: Any) -> list[str]:
    """Set a dotted name; a list with the problem where there is no such option."""
    if name not in option_names() and name not in REMOVED and name not in RENAMED:
        return [unknown_option(name)]
    *sections, key = name.split(".")
    for section in sections:
        table = table.setdefault(section, {})
        if not isinstance(table, dict):
            return []  # which is told when the tables are validated
    table[key] = _with_text(value)
    return []


def _with_text(value: Any) -> Any:
    """A value that a program gives, with text in place of the paths of `pathlib` in it."""
    if isinstance(value, Mapping):
        return {name: _with_text(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_with_text(each) for each in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value
