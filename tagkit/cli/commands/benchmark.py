"""`tagkit benchmark`."""

from typing import Annotated

import typer

from tagkit.cli.program.options import (
    Device,
    Encoding,
    InputFormat,
    LabelColumn,
    Model,
    TagColumn,
    TextColumn,
    Threads,
    TokenColumn,
    corpus_options,
)
from tagkit.text.json_text import to_json

# \b keeps click from joining the lines.
EXAMPLES = """\b
Example:
  tagkit benchmark models/travel data/travel/test.conll
"""


def benchmark_command(
    context: typer.Context,
    model: Model,
    file: Annotated[str, typer.Argument(help="Corpus with gold tags or classes.", metavar="FILE")],
    # How the corpus is read: `corpus_options` takes these from the context.
    input_format: InputFormat = None,
    token_column: TokenColumn = None,
    tag_column: TagColumn = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    encoding: Encoding = None,
    rounds: Annotated[
        int,
        typer.Option(
            min=1, help="Measurements of each figure; the median is reported.", metavar="N"
        ),
    ] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Measure the speed, memory and score of a model.

    Speed and memory are those of this machine. The score is also measured at lower precision.
    """
    from tagkit.cli.program.console import note
    from tagkit.cli.program.messages import show_lines
    from tagkit.cli.shown.command_times import measure_commands
    from tagkit.cli.shown.reports import measured_lines
    from tagkit.config import load_config
    from tagkit.corpus.source.source import rereadable
    from tagkit.inference.score.benchmark import measure
    from tagkit.models.base.device import set_threads

    data = load_config(flags=corpus_options(context)).data
    options = ["--device", device, "--encoding", data.encoding, "--input-format", data.format]
    # `predict`, which is measured too, reads tokens or texts alone.
    columns = []
    for flag, column in (("--token-column", token_column), ("--text-column", text_column)):
        columns += [] if column is None else [flag, column]
    each = set_threads(threads)
    with rereadable(file) as path:  # a copy of standard input, which each command reads again
        speed = measure(model, path, data, device=device, rounds=rounds, note=note)
        note("start-up ...")
        measured = measure_commands(
            speed, model, [path, *columns], options, threads=each, rounds=rounds
        )
    if as_json:
        typer.echo(to_json(measured.to_dict()))
    else:
        show_lines(measured_lines(measured))
