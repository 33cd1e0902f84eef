"""`tagkit convert`."""

from typing import Annotated

import typer

from tagkit.cli.program.completion import complete_span_scheme, complete_target_format
from tagkit.cli.program.options import (
    Encoding,
    InputFormat,
    LabelColumn,
    OnMisaligned,
    Set,
    TagColumn,
    TextColumn,
    TokenColumn,
    corpus_options,
    load_settings,
)

# \b keeps click from filling the lines.
EXAMPLES = """\b
Examples:
  tagkit convert data/travel/test.conll test.jsonl --to jsonl-spans
  tagkit convert brat_folder train.conll --scheme iobes --on-misaligned shrink
"""


def convert_command(
    context: typer.Context,
    source: Annotated[
        str, typer.Argument(help="Corpus to read; - is standard input.", metavar="IN")
    ],
    output: Annotated[
        str,
        typer.Argument(help="File or folder to write; - is standard output.", metavar="OUT"),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            help="Format of OUT.",
            metavar="FORMAT",
            show_default="by OUT's name",
            autocompletion=complete_target_format,
        ),
    ] = None,
    scheme: Annotated[
        str | None,
        typer.Option(
            help="Tag scheme of OUT: iob1, iob2, iobes, bilou or bmes.",
            metavar="SCHEME",
            show_default="that of IN",
            autocompletion=complete_span_scheme,
        ),
    ] = None,
    # How IN is read: `corpus_options` takes these from the context.
    input_format: InputFormat = None,
    on_misaligned: OnMisaligned = None,
    token_column: TokenColumn = None,
    tag_column: TagColumn = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
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
    from tagkit.cli.program.console import note
    from tagkit.corpus.files import convert_file
    from tagkit.wording import plural

    data = load_settings(None, overrides, corpus_options(context)).data
    converted = convert_file(source, output, data, to=to, scheme=scheme, force=force, note=note)
    # To standard error: standard output may be the corpus.
    target = converted.target
    kind = "sentence" if target.holds == "tags" else "text"
    note(
        f"{converted.name} ({converted.format.name}) -> {output} ({target.name}): "
        f"{plural(converted.records, kind)}"
    )
