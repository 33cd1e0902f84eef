"""Plain lines for people: reports, and errors and notes with the flags of the command that runs.

Whatever comes from a file, a name or a label is displayed as text: terminal control characters are
escaped (`tagkit.wording`). Data, such as predictions and JSON, is not written by this module.
"""

import sys
from collections.abc import Iterable
from typing import Any

import typer

from tagkit.cli.program.terminal import for_terminal
from tagkit.text.json_text import to_json
from tagkit.wording import Message, Setting, message_line, visible

# Flags of options of the configuration.
OPTION_FLAGS = {
    "task": "--task",
    "data.train_file": "--train",
    "data.dev_file": "--dev",
    "data.test_file": "--test",
    "data.format": "--input-format",
    "data.on_misaligned": "--on-misaligned",
    "data.token_column": "--token-column",
    "data.tag_column": "--tag-column",
    "data.text_column": "--text-column",
    "data.label_column": "--label-column",
    "data.encoding": "--encoding",
    # Of `eval`. That of `convert` is the parameter below: the scheme to write.
    "data.scheme": "--scheme",
    "embeddings.vectors": "--vectors",
    # The long form is --output; messages are read more easily with the short one.
    "output.dir": "-o",
    "train.seed": "--seed",
    "train.seeds": "--seeds",
    "train.device": "--device",
    "train.threads": "--threads",
    "train.workers": "--workers",
    "train.init_from": "--init-from",
    "train.metric": "--metric",
    "train.max_minutes": "--max-minutes",
    "train.checkpoint_every": "--checkpoint-every",
}
# Those, and the flags of the library's parameters that have another name than the parameter.
FLAGS = {
    **OPTION_FLAGS,
    "output_format": "--format",
    "overrides": "--set",
    "path": "--config",
    "spaces": "--search",
}
# Those of the command that runs.
_flags: frozenset[str] = frozenset()


def use_flags(flags: Iterable[str]) -> None:
    """Have messages name these flags, which are those of the command that runs."""
    global _flags  # a process runs one command, and its errors surface where that is not known
    _flags = frozenset(flags)


def flag_of(name: str) -> str:
    """The flag of an option of the configuration, or of a parameter; some command may have it."""
    return FLAGS.get(name) or f"--{name.replace('_', '-')}"


def with_flags(text: str) -> str:
    """A message of the library, which names parameters, with the command's flags in their place.

    Only what the library marked as a parameter is replaced, never what a message quotes.
    """
    return text.spelled(_as_typed) if isinstance(text, Message) else text


def _as_typed(setting: Setting) -> str:
    """A parameter as typed on this command line; its own name where it has no flag here."""
    # Not every command has every flag: `benchmark` has no --on-misaligned.
    flag = flag_of(setting.name)
    if flag in _flags:
        is_bare = setting.value is None or setting.value is True  # 1 is equal to True
        return flag if is_bare else f"{flag} {setting.value}"
    if "." in setting.name and setting.value is not None and "--set" in _flags:
        return f"--set {setting}"
    return str(setting)


def for_people(text: str) -> str:
    """One line of an error or a note: with flags, safe to display, of bounded length."""
    return message_line(with_flags(text))


def show_result(result: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print what a command has found: as one JSON object, or `lines` for people."""
    if as_json:
        typer.echo(to_json(result.to_dict()))
    else:
        show_lines(lines)


def show_lines(lines: Iterable[str]) -> None:
    """Print lines for people to standard output; for a command whose result they are."""
    typer.echo("\n".join(for_terminal(visible(with_flags(line)), sys.stdout) for line in lines))
