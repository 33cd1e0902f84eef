"""How a command line is read, and how its help is laid out: typer's classes, adapted.

typer shows an argument as `{FILE}` and `FILE <list[str]>`, and a default in words as
`(by name)`; most programs write `FILE` and `by name`, and so does this one.
"""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from tagkit.cli.program import messages, option_fields, refusals
from tagkit.errors import DataError
from tagkit.wording import clipped, joined, message_line, quoted

# Phrases of the library that checks the options' values, and what they mean.
_PHRASES = (
    (re.compile(r"^Value error, "), ""),
    (re.compile(r"Input should be a valid integer.*"), "expected a whole number"),
    (re.compile(r"Input should be a valid number.*"), "expected a number"),
    (re.compile(r"Input should be (?=greater|less)"), "expected a number "),
    (re.compile(r"Input should be "), "expected "),
)
_LARGEST = 2**31 - 1  # of a number of things
_TYPE = re.compile(r" <[^<>]*>$")  # after the name of an argument
# What typer adds to a help text: `[default: (by name); x>=0; required]`.
_EXTRAS = re.compile(r"(?P<text>.*?)  \[(?P<extras>.*)\]", re.DOTALL)
_CHOICES = "{choices}"  # in a help text: where those of the option of the configuration stand
# click's, which newer versions of typer carry inside themselves.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]


class Command(TyperCommand):
    """One command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; an option of one value that is given twice is refused.

        click would take the last value in silence, and the user would believe that both counted.
        """
        try:
            values, _, given = self.make_parser(ctx).parse_args(args=list(args))
        except _UsageError as error:
            self._name_remedy(ctx, args, error)
            raise
        counts: Counter[Any] = Counter(given if not ctx.resilient_parsing else ())
        for param, times in counts.items():
            name = max(param.opts, key=len)
            if param.param_type_name == "argument":
                if param.metavar == "MODEL":
                    _refuse_empty(values[param.name])
            # A flag that is given twice means what it means once.
            elif times > 1 and not (param.multiple or param.is_flag):
                ctx.fail(
                    f"{name} takes one value, and is given {times} times: leave out all but one"
                )
        rest = super().parse_args(ctx, args)
        for param in self.get_params(ctx):
            value = ctx.params.get(param.name)
            # No file has as many lines, and the libraries below count in 32 or 64 bits.
            if isinstance(value, int) and value > _LARGEST and param.name != "seed":
                name = max(param.opts, key=len)
                ctx.fail(f"{name}: expected at most {_LARGEST:,}, found {clipped(str(value))}")
        return list(rest)

    def _name_remedy(self, ctx: Any, args: list[str], error: Any) -> None:
        """Of an unknown option say what sets the option of the configuration that it means."""
        if (option := getattr(error, "option_name", None)) is None or "No such" not in str(error):
            return
        from tagkit.config import option_names

        # Of -epoch click has read -e.
        typed = next((each for each in args if each.startswith(option)), option).partition("=")[0]
        takes_set = any("--set" in param.opts for param in self.get_params(ctx))
        names = option_names() if takes_set else ()
        flags = option_fields.flags_by_name(ctx.command.callback)
        if remedy := refusals.remedy_for(typed, flags, names):
            ctx.fail(f"No such option: {typed}; use {remedy}")

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What follows the command's name in its usage: [OPTIONS] MODEL [FILE]..."""
        pieces = ["[OPTIONS]"]
        for param in self.get_params(ctx):
            if param.param_type_name == "argument":
                name = param.metavar if param.required else f"[{param.metavar}]"
                pieces.append(f"{name}..." if param.nargs != 1 else f"{name}")
        return pieces

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options, each with what it means."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            _complete(ctx, param)
            record = param.get_help_record(ctx)
            if record is not None:
                kind = "Arguments" if param.param_type_name == "argument" else "Options"
                sections[kind].append(_plain(kind, *record))
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _refuse_empty(given: Any) -> None:
    """Refuse an empty name of a model's folder, as of an unset variable of a shell.

    Here, where it is still text: the path of an empty name is ".", the current folder.
    """
    names = given if isinstance(given, list | tuple) else [given]
    if any(isinstance(name, str) and not name.strip() for name in names):  # one may be missing
        raise DataError("MODEL: expected the folder of a model, found an empty name")


def _complete(ctx: Any, param: Any) -> None:
    """Give a flag without a help text that of the option that it sets, or its choices to one.

    Only here, where help is shown: the configuration is slow to import (pydantic), and
    `tagkit --help` does without it.
    """
    if param.param_type_name == "argument" or (param.help and _CHOICES not in param.help):
        return
    from tagkit.cli.program.completion import choices_of
    from tagkit.config import option_text

    flags = option_fields.flags_by_name(ctx.command.callback)
    *_, name = (name for name, flag in flags.items() if flag in param.opts)  # after the field
    if param.help:
        choices = [choice for choice in choices_of(name) if choice != "auto"]
        param.help = param.help.replace(_CHOICES, joined(choices))
        return
    param.help, default = option_text(name)
    if not isinstance(param.show_default, str):  # one command may choose a value of its own
        param.show_default = default or False


def _plain(kind: str, name: str, text: str) -> tuple[str, str]:
    """A line of the help without typer's own notation."""
    if kind == "Arguments":
        name = _TYPE.sub("", name)  # a metavar says what is meant: FILE
    found = _EXTRAS.fullmatch(text)
    if found is None:
        return name, text
    extras = found["extras"]
    # Usage shows by its brackets what may be left out.
    extras = re.sub(r"(^|; )required$", "", extras)
    extras = re.sub(r"^default: \((.*)\)(; [^;]*)?$", r"default: \1\2", extras)
    return name, f"{found['text']}  [{extras}]" if extras else found["text"]


class Commands(TyperGroup):
    """The commands, whose usage errors quote arguments safely."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the options before the command."""
        with _quoting_safely():
            return super().make_context(*args, **kwargs)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command, and remember its flags: messages name those that it has."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and command.callback is not None:
            messages.use_flags(option_fields.flags_by_name(command.callback))
        return name, command, rest

    def invoke(self, *args: Any, **kwargs: Any) -> Any:
        """Read the command's arguments, and run it."""
        with _quoting_safely():
            return super().invoke(*args, **kwargs)


@contextmanager
def _quoting_safely() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        message = getattr(error, "message", None)
        # Without a command the message is the help, which has lines.
        if isinstance(message, str) and type(error).__name__ != "NoArgsIsHelpError":
            said = f"{_in_our_words(message)}{_found(error)}"
            error.message = message_line(said)  # type: ignore[attr-defined]
        raise


def _found(error: Exception) -> str:
    """', found 'x'' of the value of an option that is refused; empty for other errors."""
    # The finding of the library that checks the values (pydantic), which typer leaves out.
    details = getattr(error.__cause__, "errors", None)
    if details is None or not (found := details()):
        return ""
    return f", found {quoted(str(found[0]['input']))}" if found[0]["type"] != "value_error" else ""


def _in_our_words(message: str) -> str:
    for phrase, plain in _PHRASES:
        message = phrase.sub(plain, message)
    return message
