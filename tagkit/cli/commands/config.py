"""`tagkit config`."""

import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagkit.cli.program.completion import complete_part, values_of
from tagkit.cli.program.option_fields import (
    Sets,
    flags_by_name,
    flags_of,
    given_flags,
    takes_options,
)
from tagkit.cli.program.options import (
    DevFile,
    Overrides,
    TestFile,
    TrainFile,
    Vectors,
    load_settings,
)
from tagkit.cli.program.refusals import refuse
from tagkit.errors import ConfigError
from tagkit.text.json_text import to_json
from tagkit.wording import shown_name

if TYPE_CHECKING:  # its module imports pydantic
    from tagkit.config.description import Described

EXAMPLES = """\
Examples:
  tagkit config
  tagkit config encoder
  tagkit config train.metric
  tagkit config --train train.conll --dev dev.conll > tagkit.toml
  tagkit config --schema > tagkit.schema.json
"""
_HEAD = (
    "A configuration of tagkit. Options that were not given have their defaults. What is left to "
    "the corpus, such as auto, has a comment that says what it is for this one.",
    "To train with it: tagkit train --config FILE",
)


@dataclass(frozen=True, kw_only=True)
class ConfigOptions:
    """The options of `tagkit config`."""

    part: Annotated[
        str | None,
        typer.Argument(
            help="A section, or one option as SECTION.KEY.",
            metavar="PART",
            show_default="all options",
            autocompletion=complete_part,
        ),
    ] = None
    train: TrainFile = None
    dev: DevFile = None
    test: TestFile = None
    task: Annotated[
        str | None,
        typer.Option(
            metavar="TASK",
            show_default="the task that the corpus is for",
            autocompletion=values_of("task"),
        ),
        Sets("task"),
    ] = None
    vectors: Vectors = None
    overrides: Overrides = None
    schema: Annotated[
        bool, typer.Option(help="Print the JSON Schema of a configuration, for editors.")
    ] = False


@takes_options
def config_command(context: typer.Context, options: ConfigOptions) -> None:
    """List the options, or write a configuration file.

    The list has the default and the meaning of each.

    With --train, a complete configuration for that corpus is written to standard output. Without
    --task, the task is the one that the corpus is for. Comments say what each option means, and
    what "auto" resolves to.
    """
    if options.schema:
        refuse({**given_flags(options), "--schema": False}, "has no effect with --schema")
        if options.part is not None:
            raise typer.BadParameter("--schema is of all options; name none")
        from tagkit.config.description import json_schema

        typer.echo(to_json(json_schema(), indent=2))
        return
    if options.train is None:
        given = {**given_flags(options), "--set": bool(options.overrides)}
        refuse(given, "needs --train: without it no file is written")
        _list_options(options.part, context.find_root().command)
        return
    if options.part is not None:
        raise typer.BadParameter(
            f"expected either {shown_name(options.part)}, to list options, or --train "
            f"{shown_name(options.train)}, to write a complete configuration; found both"
        )
    from tagkit.config import refuse_without_effect, with_options

    settings = load_settings(None, options.overrides, flags_of(options))
    is_detected = "task" not in settings.model_fields_set
    if not is_detected:  # before torch is imported
        refuse_without_effect(settings, "tagkit config")
    from tagkit.training.setup.starting_config import detected_task, starting_config

    if is_detected:
        settings = with_options(settings, {"task": detected_task(settings)})
        refuse_without_effect(settings, "tagkit config")
    typer.echo(starting_config(settings, _HEAD, is_detected=is_detected), nl=False)


def _list_options(part: str | None, program: Any) -> None:
    """Print the options of a section, or one; all without a name."""
    from tagkit.cli.program.messages import show_lines, width_of

    options = chosen_options(part)
    width = width_of(sys.stdout)
    if part != options[0].name:
        show_lines(option_lines(options, width))
        return
    built = (program.get_command(None, name) for name in program.commands)
    commands = (flags_by_name(each.callback) for each in built)
    flag = next((flags[part] for flags in commands if part in flags), None)
    show_lines(one_option_lines(options[0], flag, width))


# The options of the configuration as lines for people: all, those of a section, or one.

_MEANING_AT = 30  # the column in which meanings begin
_NARROW = 70  # below so many columns of a terminal, meanings are below their options


def chosen_options(part: str | None) -> "list[Described]":
    """The options of a section, or the one of this dotted name; all without one.

    Raises:
        ConfigError: there is no such section or option.
    """
    from tagkit.config import unknown_option
    from tagkit.config.description import described_options

    found = [each for each in described_options() if part in (None, each.section, each.name)]
    if not found:
        raise ConfigError("tagkit config", [unknown_option(part or "")])
    return found


def option_lines(options: "Sequence[Described]", width: int | None) -> Iterator[str]:
    """Options below the names of their sections, each with its default and meaning.

    Args:
        options: in the order of their sections.
        width: of the terminal; None where lines stay whole.
    """
    section = ""
    for each in options:
        if each.section != section:
            section = each.section
            if each is not options[0]:
                yield ""
            yield f"[{section}]"
        meaning = " ".join([each.meaning, *each.conditions])
        yield from _lines(_setting(each), meaning, width)


def one_option_lines(option: "Described", flag: str | None, width: int | None) -> Iterator[str]:
    """One option, with what a run, a search and the command line (its `flag`) do with it."""
    from tagkit.config import Config, tunable_options

    meta = option.option
    default = f" = {option.default}" if option.default else ", unset by default"
    yield f"{option.name}{default}"
    facts = [option.meaning, *option.conditions]
    if flag is not None:
        facts.append(f"Flag of the commands that have one for it: {flag}")
    facts.append(
        "A run that is resumed may have another value."
        if meta.resume
        else "A run that is resumed must have the same value."
    )
    if meta.inherit:
        facts.append("A model that starts from another one's weights has that one's value.")
    searched = option.name in tunable_options(Config)
    facts.append(f"A search (tagkit tune) {'may' if searched else 'cannot'} try values of it.")
    for fact in facts:
        yield from _indented(fact, width, 2)


def _setting(option: "Described") -> str:
    return f"{option.key} = {option.default}" if option.default else f"{option.key} (unset)"


def _lines(setting: str, meaning: str, width: int | None) -> Iterator[str]:
    first = f"  {setting}"
    if width is None:  # one line each, so that a search finds all of it
        yield f"{first:<{_MEANING_AT}}  {meaning}"
        return
    is_below = len(first) > _MEANING_AT or width < _NARROW
    indent = 6 if width < _NARROW else _MEANING_AT + 2
    lines = [*_indented(meaning, width, indent)]
    if is_below:
        yield first
    else:
        lines[0] = f"{first:<{indent}}{lines[0].lstrip()}"
    yield from lines


def _indented(text: str, width: int | None, indent: int) -> list[str]:
    blanks = " " * indent
    if width is None:
        return [f"{blanks}{text}"]
    return textwrap.wrap(
        text,
        max(width, indent + 20),
        initial_indent=blanks,
        subsequent_indent=blanks,
        break_long_words=False,
        break_on_hyphens=False,
    )
