"""The options of the configuration as lines for people: all, those of a section, or one."""

import textwrap
from collections.abc import Iterator, Sequence

from tagkit.cli.program.messages import OPTION_FLAGS
from tagkit.config import Config, tunable_options, unknown_option
from tagkit.config.description import Described, described_options
from tagkit.errors import ConfigError

_MEANING_AT = 30  # the column in which meanings begin
_NARROW = 70  # below so many columns of a terminal, meanings are below their options


def chosen_options(part: str | None) -> list[Described]:
    """The options of a section, or the one of this dotted name; all without one.

    Raises:
        ConfigError: there is no such section or option.
    """
    found = [each for each in described_options() if part in (None, each.section, each.name)]
    if not found:
        raise ConfigError("tagkit config", [unknown_option(part or "")])
    return found


def option_lines(options: Sequence[Described], width: int | None) -> Iterator[str]:
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


def one_option_lines(option: Described, width: int | None) -> Iterator[str]:
    """One option, with what a run, a search and the command line do with it."""
    meta = option.option
    default = f" = {option.default}" if option.default else ", unset by default"
    yield f"{option.name}{default}"
    facts = [option.meaning, *option.conditions]
    if option.name in OPTION_FLAGS:
        facts.append(f"Flag of the commands that have one for it: {OPTION_FLAGS[option.name]}")
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


def _setting(option: Described) -> str:
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
