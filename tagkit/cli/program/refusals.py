"""Options that would have no effect beside others, or contradict them: a wrong command line."""

from collections.abc import Mapping
from typing import Any

import typer

from tagkit.errors import ConfigError


def refuse(given: Mapping[str, bool], because: str) -> None:
    """Refuse options that would have no effect.

    Raises:
        typer.BadParameter: one is given.
    """
    for option, is_given in given.items():
        if is_given:
            raise typer.BadParameter(f"{option} {because}")


def refuse_contradictions(command: str, options: Any, of_seed: str, resumed: str) -> None:
    """Refuse two options of a training that contradict each other: neither may win in silence.

    Args:
        command: its name.
        options: of the command, with --seed, --seeds, --resume and --force among them.
        of_seed: what one seed is for.
        resumed: what --resume continues.

    Raises:
        ConfigError: two of them are given.
    """
    problem = ""
    if options.seed is not None and options.seeds is not None:
        problem = f"--seed is for one {of_seed}, --seeds for several: name one"
    elif options.resume and options.force:
        problem = f"--resume continues the {resumed}, --force starts a new one: name one"
    if problem:
        raise ConfigError(f"tagkit {command}", [problem])
