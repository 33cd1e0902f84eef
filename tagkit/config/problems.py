"""What is wrong with a configuration, in sentences.

Each names its option, what was found and what is expected, in the words of TOML rather than those
of a library; what is quoted is of bounded length.
"""

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_origin

from pydantic_core import ErrorDetails

from tagkit.config.option import MarkedBool, options_of
from tagkit.config.sections import Config
from tagkit.text.json_text import is_writable
from tagkit.wording import clipped, quoted, visible

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
