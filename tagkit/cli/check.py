"""`tagkit check`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tagkit.cli.options import Encoding, InputFormat, Set, TagColumn, TokenColumn, column
from tagkit.jsontext import to_json

# \b keeps click from filling the lines.
EXAMPLES = """\b
Examples:
  tagkit check train.conll dev.conll test.conll
  tagkit check train.conll --fix repaired.conll
"""


def check_command(
    files: Annotated[
        list[str], typer.Argument(help="A corpus: train, then dev and test.", metavar="FILE...")
    ],
    fix: Annotated[
        str | None,
        typer.Option(help="Write a repaired copy: a file, or a folder for several.", metavar="OUT"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    input_format: InputFormat = None,
    token_column: TokenColumn = None,
    tag_column: TagColumn = None,
    encoding: Encoding = None,
    overrides: Set = None,
) -> None:
    """Look for what is odd in a corpus, in any format, and say what is in it.

    Exit status 1 if there are errors, 0 if there are warnings alone.
    """
    from tagkit.config import load_config
    from tagkit.lint.check import check_files
    from tagkit.lint.render import repair_lines, report_lines
    from tagkit.lint.repair import write_repaired

    flags = {
        "data.format": input_format,
        "data.token_column": column(token_column),
        "data.tag_column": column(tag_column),
        "data.encoding": encoding,
    }
    data = load_config(flags=flags, overrides=overrides or ()).data
    report = check_files(files, data)
    if not as_json:
        # Before any repair: of a file that cannot be repaired it tells why.
        typer.echo("\n".join(report_lines(report)))
    repaired = write_repaired(files, Path(fix), data) if fix else {}
    if as_json:
        facts: dict[str, Any] = report.to_dict()
        if fix:
            facts["repairs"] = {file: done.to_dict() for file, done in repaired.items()}
        typer.echo(to_json(facts))
    else:
        for file, done in repaired.items():
            typer.echo("\n".join(repair_lines(file, done)))
    if report.errors:
        raise typer.Exit(1)
