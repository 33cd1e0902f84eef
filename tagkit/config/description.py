"""What is said of each option: its default and its meaning, for lists and for commented files.

Both are made of the metadata at the option's field (`tagkit.config.option`).
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tomli_w

from tagkit.config.option import Needs, Option, options_of
from tagkit.config.sections import Config, option_text, option_values
from tagkit.wording import visible

_COMMENT_WIDTH = 78  # characters of a comment, without "# "


@dataclass(frozen=True, slots=True)
class Described:
    """An option in words.

    Attributes:
        name: dotted.
        default: as TOML has it; empty where the option has no value by default.
        meaning: sentences: what it is, and its default in words.
        conditions: sentences: what it takes for an effect; the task first, if it has one of some
            tasks only.
        option: its metadata.
    """

    name: str
    default: str
    meaning: str
    conditions: tuple[str, ...]
    option: Option

    @property
    def section(self) -> str:
        """The name of its table; empty for an option outside all tables."""
        return self.name.rpartition(".")[0]

    @property
    def key(self) -> str:
        """Its name in its table."""
        return self.name.rpartition(".")[2]


def described_options() -> Iterator[Described]:
    """Every option, in the order of the sections and of their options."""
    defaults = option_values(Config())
    for name, option in options_of(Config).items():
        parts = [option_text(name)[0]]
        if option.default_shown:
            parts.append(f"Default: {option.default_shown}.")
        conditions = tuple(_condition(needs) for needs in option.conditions)
        default = defaults[name]
        shown = "" if default is None else toml_text(default)
        yield Described(name, shown, " ".join(parts), conditions, option)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a configuration (draft 2020-12), for editors.

    It has types, limits and allowed values; what options mean for each other is not a matter of
    schemas, and stands in their descriptions.
    """
    schema = Config.model_json_schema()
    sections = schema["$defs"]
    tables = {name: each["$ref"].rpartition("/")[2] for name, each in schema["properties"].items()
              if "$ref" in each}  # fmt: skip
    for name, table in tables.items():
        # Without its default, which is the table with all of its options again.
        schema["properties"][name] = {"$ref": f"#/$defs/{table}"}
        sections[table]["description"] = f"[{name}] of tagkit.toml."
    for each in described_options():
        owner = sections[tables[each.section]] if each.section else schema
        found = owner["properties"][each.key]
        del found["title"]
        found["description"] = " ".join([each.meaning, *each.conditions])
        if found.get("default", "") is None:  # TOML has no null
            del found["default"]
            found["anyOf"].remove({"type": "null"})
    named = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "tagkit.toml"}
    return schema | named | {"description": "A configuration of tagkit."}


def _condition(needs: Needs) -> str:
    """A sentence such as 'Only with train.optimizer = "sgd".' on when an option has an effect."""
    exempt = f", but for task = {_either(needs.exempt)}" if needs.exempt else ""
    if needs.alternative is not None:
        other = needs.alternative
        exempt += f", unless {other.option} = {_either(other.values)}"
    if needs.but:
        return f"Not with {needs.option} = {_either(needs.but)}{exempt}."
    return f"Only with {needs.option} = {_either(needs.values)}{exempt}."


def _either(values: Sequence[Any]) -> str:
    return " or ".join(map(toml_text, values))


def toml_text(value: Any) -> str:
    """A value as one writes it in TOML, on one line; tables and lists inline."""
    if isinstance(value, Mapping):
        pairs = (f"{_toml_key(key)} = {toml_text(inner)}" for key, inner in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_text, value))}]"
    return tomli_w.dumps({"x": value}).removeprefix("x = ").removesuffix("\n")


def _toml_key(key: str) -> str:
    return tomli_w.dumps({key: 0}).removesuffix(" = 0\n")


def commented_toml(
    config: Config, head: Sequence[str], resolved: Mapping[str, str], remarks: Mapping[str, str]
) -> str:
    """A configuration as TOML in which a comment says what each option is.

    Args:
        config: its options that have an effect with its task are written, defaults included. One
            without a value is written as a comment.
        head: paragraphs for the beginning of the file.
        resolved: the values that options have for the corpus, as TOML, by dotted name.
        remarks: what is to be said of single options besides, by dotted name.
    """
    values = option_values(config)
    lines = [line for paragraph in head for line in _comment(paragraph)]
    section = ""
    for each in described_options():
        if not each.option.serves(values["task"]):
            continue
        if each.section != section:
            section = each.section
            lines += ["", f"[{section}]"]
        # All of them have an effect with this task, which is not said again.
        needs = each.conditions[bool(each.option.tasks) :]
        lines += ["", *_comment(" ".join([each.meaning, *needs]))]
        found, value = resolved.get(each.name, ""), values[each.name]
        if each.name in remarks:
            lines += _comment(remarks[each.name])
        if found and value is not None:
            lines += _comment(f"For this corpus: {found}.")
        shown = toml_text(value) if value is not None else found
        lines.append(f"{'# ' if value is None else ''}{each.key} = {shown}".rstrip())
    return "\n".join([*lines, ""])


def _comment(text: str) -> list[str]:
    """A text as lines of a comment; an empty one as an empty line."""
    # A path may hold any character, and a comment of TOML no control characters.
    lines = textwrap.wrap(
        visible(text), _COMMENT_WIDTH, break_long_words=False, break_on_hyphens=False
    )
    return [f"# {line}" for line in lines] or [""]
