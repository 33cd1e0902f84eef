"""`tagkit info`."""

from pathlib import Path
from typing import Annotated

import typer

from tagkit.jsontext import to_json

# \b keeps click from filling the lines.
EXAMPLES = """\b
Example:
  tagkit info models/travel
"""


def info_command(
    model: Annotated[Path, typer.Argument(help="Folder of a model.", metavar="MODEL")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what a model is and how well it does.

    The whole model is checked on the way: digests, names and shapes.
    """
    from tagkit.bundle import load_bundle
    from tagkit.cli.console import print_info

    bundle = load_bundle(model)
    if as_json:
        facts = {**bundle.metadata, "config": bundle.config.model_dump(mode="json")}
        typer.echo(to_json(facts))
    else:
        print_info(str(model), bundle)
