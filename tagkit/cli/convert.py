"""`tagkit convert`."""

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
    tag_columns,
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
            help="Tag scheme of OUT: iob1, iob2, iobes or bilou.",
            metavar="SCHEME",
            show_default="that of IN",
        ),
    ] = None,
    input_format: InputFormat = None,
    on_misaligned: OnMisaligned = None,
    token_column: TokenColumn = None,
    tag_column: TagColumn = None,
    encoding: Encoding = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if the file exists.")] = False,
    overrides: Set = None,
) -> None:
    """Convert a corpus to another format or tag scheme.

    What the format of OUT cannot hold is reported. OUT is written completely or not at all. A file
    that exists is replaced with --force only; a folder, and a file that is read, never.
    """
    # Late: no torch, and nothing that is slow to import, before the arguments are known to be
    # good.
    from tagkit.cli.console import note
    from tagkit.config import load_config, parse_span_scheme
    from tagkit.corpus.convert import convert_corpus
    from tagkit.corpus.formats.brat import PAIR
    from tagkit.corpus.formats.file_sets import files_of, pair_of, write_folder, write_pair
    from tagkit.corpus.formats.table import target_format
    from tagkit.errors import DataError
    from tagkit.storage import open_output
    from tagkit.storage.places import (
        refuse_folder_of_input,
        refuse_input,
        require_name,
        require_new_folder,
        require_place,
    )
    from tagkit.wording import plural

    flags = {
        "data.format": input_format,
        "data.on_misaligned": on_misaligned,
        "data.token_column": column(token_column),
        "data.tag_column": tag_columns(tag_column),
        "data.encoding": encoding,
    }
    data = load_config(flags=flags, overrides=overrides or ()).data
    require_name(output, "OUT")
    place = Path(output)
    # Before anything is read: an output that is an input would be lost.
    if output != "-":
        refuse_input(place, files_of(source))
        require_place(place, replace=force)
    # brat keeps a text and its annotation in two files; either name stands for the pair.
    is_pair = output.endswith(PAIR)
    converted = convert_corpus(
        source,
        data,
        # Which kind of JSON Lines is written depends on what the input holds.
        lambda read: target_format(output, to, read),
        parse_span_scheme(scheme),
        single=is_pair,
        note=note,
    )
    target = converted.target
    if target.many_files and output == "-":
        raise DataError(f"{target.name} fills files: name a file or folder, and not -")
    if not target.many_files:
        # Renamed into place at the end: a full disk leaves the old file.
        with open_output(None if output == "-" else place, replace=force) as write:
            for piece in converted.pieces:
                write(piece.text)
    elif target.name == "brat" and is_pair:
        for file in pair_of(place):
            refuse_input(file, files_of(source))
        write_pair(place, converted.pieces, replace=force)
    else:
        # A folder as output: folders are filled, never replaced.
        refuse_folder_of_input(place, files_of(source))
        require_new_folder(place)
        write_folder(place, converted.pieces)
    # To standard error: standard output may be the corpus.
    kind = "sentence" if target.holds == "tags" else "text"
    note(
        f"{converted.name} ({converted.format.name}) -> {output} ({target.name}): "
        f"{plural(converted.records, kind)}"
    )
