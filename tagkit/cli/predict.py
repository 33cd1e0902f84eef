"""`tagkit predict`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from tagkit.cli.options import Device, Encoding, Threads

# \b keeps click from filling the lines.
EXAMPLES = """\b
Examples:
  echo "Any flight from Oslo to Rome?" | tagkit predict models/travel - --format jsonl
  tagkit predict models/mine test.conll -o tagged.conll
"""


def predict_command(
    model: Annotated[Path, typer.Argument(help="Folder of a model.", metavar="MODEL")],
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Inputs; - is standard input.", metavar="[FILE...]", show_default="-"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write here, not to standard output.", metavar="FILE"),
    ] = None,
    input_format: Annotated[
        Literal["auto", "text", "columns"],
        typer.Option(help="Raw text, of which each line is a text of its own, or columns."),
    ] = "auto",
    output_format: Annotated[
        Literal["columns", "jsonl"],
        typer.Option("--format", help="What to write: columns, or a JSON object a text."),
    ] = "columns",
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Write the probability of each tag and span.")
    ] = False,
    batch_size: Annotated[int, typer.Option(min=1, help="Sentences a batch.")] = 64,
    encoding: Encoding = None,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Tag raw text or column files."""
    from tagkit.cli.console import note
    from tagkit.cli.output import open_output
    from tagkit.config import check_encoding
    from tagkit.device import set_threads
    from tagkit.predictor import load
    from tagkit.stream import StreamOptions, tag_file

    options = StreamOptions(
        input_format=input_format,
        output_format=output_format,
        encoding=check_encoding(encoding or "utf-8"),
        confidence=confidence,
        batch_size=batch_size,
    )
    set_threads(threads or 0)

    def tell(name: str, kind: str) -> None:
        note(f"{name}: read as {kind} (--input-format says otherwise)")

    predictor = load(model, device)
    with open_output(output) as write:
        for path in files or ["-"]:
            for piece in tag_file(predictor, path, options, tell):
                write(piece)
