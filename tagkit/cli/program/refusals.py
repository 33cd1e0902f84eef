"""Options that would have no effect beside others: a wrong command line."""

from collections.abc import Mapping

import typer


def refuse(given: Mapping[str, bool], because: str) -> None:
    """Refuse options that would have no effect.

    Raises:
        typer.BadParameter: one is given.
    """
    for option, is_given in given.items():
        if is_given:
            raise typer.BadParameter(f"{option} {because}")
