"""The table of docs/configuration.md, made of the metadata of the options.

Run it to print the table after an option was added: `python tests/support/option_table.py`.
"""

import re
import sys
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from tagkit.config import Config, Option, Section, options_of


def rows() -> Iterator[tuple[str, str, str]]:
    """Each option's dotted name, its default as TOML has it, and what it means."""
    defaults = Config()
    for name, option in options_of(Config).items():
        section, _, key = name.rpartition(".")
        owner: Section = getattr(defaults, section) if section else defaults
        yield (
            name,
            shown(getattr(owner, key)),
            meaning(option, type(owner).model_fields[key].annotation),
        )


def meaning(option: Option, annotation: Any) -> str:
    """The help text, the choices that it does not name, and a default that needs words."""
    parts = [option.help]
    choices = choices_of(annotation)
    if not all(re.search(rf"\b{re.escape(str(choice))}\b", option.help) for choice in choices):
        parts.append(f"One of {', '.join(f'`{choice}`' for choice in choices)}.")
    if option.default_shown:
        parts.append(f"Default: {option.default_shown}.")
    return " ".join(parts)


def choices_of(annotation: Any) -> tuple[str, ...]:
    """The names of a Literal, also beside other types."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return choices_of(get_args(annotation)[0])
    if origin is Literal:
        return get_args(annotation)
    if origin in (Union, types.UnionType):
        return tuple(choice for part in get_args(annotation) for choice in choices_of(part))
    return ()


def shown(default: object) -> str:
    """As one writes it in TOML."""
    if default is None:
        return "unset"
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, tuple):
        return str(list(default))
    return f'"{default}"' if isinstance(default, str) else str(default)


if __name__ == "__main__":
    for name, default, text in rows():
        sys.stdout.write(f"| `{name}` | `{default}` | {text} |\n")
