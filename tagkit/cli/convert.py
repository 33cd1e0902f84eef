"""`tagkit convert`."""

import os
from pathlib import Path
from typing import Annotated

import typer

from tagkit.cli.options import (
    Encoding,
    InputFormat,
    OnMisaligned,
    Set,
    TagColumn,
    TokenColumn,
    column,
)

# \b keeps click from filling the lines.
EXAMPLES = """\b
Examples:
  tagkit convert data/travel/test.conll test.jsonl --to jsonl-spans
  tagkit convert brat_folder train.conll --scheme iobes --on-misaligned shrink
"""


def convert_command(
    source: Annotated[
        str, typer.Argument(help="Corpus to read; - is standard input.", metavar="IN")
    ],
    output: Annotated[
        str,
        typer.Argument(help="File or folder to write; - is standard output.", metavar="OUT"),
    ],
    to: Annotated[
        str | None,
        typer.Option(help="Format of OUT.", metavar="FORMAT", show_default="by OUT's name"),
    ] = None,
    scheme: Annotated[
        str | None,
        typer.Option(
            help="iob1, iob2, iobes or bilou.", metavar="SCHEME", show_default="that of IN"
        ),
    ] = None,
    input_format: InputFormat = None,
    on_misaligned: OnMisaligned = None,
    token_column: TokenColumn = None,
    tag_column: TagColumn = None,
    encoding: Encoding = None,
    overrides: Set = None,
) -> None:
    """Write a corpus in another format, or its tags in another scheme.

    Reports what OUT's format cannot hold. An output file is written completely or not at all; an
    output folder must not exist yet.
    """
    from tagkit.cli.console import note
    from tagkit.config import load_config, parse_span_scheme
    from tagkit.conversion import Conversion
    from tagkit.errors import DataError
    from tagkit.formats.table import target_format
    from tagkit.output import open_output, write_folder, write_pair
    from tagkit.wording import plural

    flags = {
        "data.format": input_format,
        "data.on_misaligned": on_misaligned,
        "data.token_column": column(token_column),
        "data.tag_column": column(tag_column),
        "data.encoding": encoding,
    }
    data = load_config(flags=flags, overrides=overrides or ()).data
    is_pair = output.endswith((".ann", ".txt"))
    conversion = Conversion(
        source,
        data,
        lambda read: target_format(output, to, read),
        parse_span_scheme(scheme),
        single=is_pair,
        note=note,
    )
    target = conversion.target
    if target.many_files and output == "-":
        raise DataError(f"{target.name} fills files: name a file or folder, and not -")
    if not target.many_files and os.path.isdir(output):
        raise DataError(f"{output}: is a folder, and {target.name} fills a file: name one")
    if not target.many_files:
        with open_output(None if output == "-" else Path(output)) as write:
            for piece in conversion.pieces():
                write(piece.text)
    elif target.name == "brat" and is_pair:
        write_pair(Path(output), conversion.pieces())
    else:
        write_folder(Path(output), conversion.pieces())
    kind = "sentence" if target.holds == "tags" else "text"
    note(
        f"{conversion.source.name} ({conversion.format.name}) -> {output} ({target.name}): "
        f"{plural(conversion.records, kind)}"
    )
