"""`tagkit convert`."""

from dataclasses import dataclass
from typing import Annotated

import typer

from tagkit.cli.program.completion import complete_span_scheme, complete_target_format
from tagkit.cli.program.option_fields import flags_of, takes_options
from tagkit.cli.program.options import AsJson, Overrides, SpanReading, load_settings

EXAMPLES = """\
Examples:
  tagkit convert data/travel/test.conll test.jsonl --to jsonl-spans
  tagkit convert brat_folder train.conll --scheme iobes --on-misaligned shrink
"""


@dataclass(frozen=True, kw_only=True)
class ConvertOptions:
    """The options of `tagkit convert`."""

    source: Annotated[
        str, typer.Argument(help="Corpus to read; - is standard input.", metavar="IN")
    ]
    output: Annotated[
        str,
        typer.Argument(help="File or folder to write; - is standard output.", metavar="OUT"),
    ]
    to: Annotated[
        str | None,
        typer.Option(
            help="Format of OUT.",
            metavar="FORMAT",
            show_default="by OUT's name",
            autocompletion=complete_target_format,
        ),
    ] = None
    scheme: Annotated[
        str | None,
        typer.Option(
            help="Tag scheme of OUT: iob1, iob2, iobes, bilou or bmes.",
            metavar="SCHEME",
            show_default="that of IN",
            autocompletion=complete_span_scheme,
        ),
    ] = None
    reading: SpanReading
    safe_cells: Annotated[
        bool,
        typer.Option(
            help="Put an apostrophe before cells of CSV or TSV that a spreadsheet would run: those "
            "that begin with =, +, - or @."
        ),
    ] = False
    force: Annotated[bool, typer.Option(help="Replace OUT if the file exists.")] = False
    as_json: AsJson = False
    overrides: Overrides = None


@takes_options
def convert_command(options: ConvertOptions) -> None:
    """Convert a corpus to another format or tag scheme.

    What the format of OUT cannot hold is reported. OUT is written completely or not at all. A file
    that exists is replaced with --force only; a folder, and a file that is read, never.
    """
    # Late: nothing that is slow to import before the arguments are known to be good.
    from tagkit.cli.program.console import note, show_line
    from tagkit.corpus.files import convert_file
    from tagkit.corpus.source.source import STDIN
    from tagkit.text.json_text import to_json
    from tagkit.wording import plural

    if options.as_json and options.output == STDIN:
        raise typer.BadParameter("--json needs a file: standard output is the corpus")
    data = load_settings(None, options.overrides, flags_of(options)).data
    converted = convert_file(
        options.source, options.output, data, to=options.to, scheme=options.scheme,
        force=options.force, safe_cells=options.safe_cells, note=note,
    )  # fmt: skip
    target = converted.target
    kind = "sentence" if target.holds == "tags" else "text"
    if options.as_json:
        formats = {"format": converted.format.name, "output_format": target.name}
        places = {"input": converted.name, "output": options.output}
        typer.echo(to_json({**places, **formats, "records": converted.records, "unit": kind}))
        return
    # To standard error: standard output may be the corpus.
    show_line(
        f"{converted.name} ({converted.format.name}) -> {options.output} ({target.name}): "
        f"{plural(converted.records, kind)}"
    )
