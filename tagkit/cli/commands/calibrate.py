"""`tagkit calibrate`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

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
from tagkit.limits import BATCH_SIZE
from tagkit.text.json_text import to_json

if TYPE_CHECKING:
    from tagkit.inference.score.calibrate import Calibrated

# \b keeps click from joining the lines.
EXAMPLES = """\b
Examples:
  tagkit calibrate models/travel data/travel/dev.conll
  tagkit calibrate models/travel --reset
"""


def calibrate_command(
    context: typer.Context,
    model: Model,
    file: Annotated[
        str | None,
        typer.Argument(
            help="Corpus with gold tags or classes, which the model was not trained on.",
            metavar="DEV",
            show_default=False,
        ),
    ] = None,
    reset: Annotated[
        bool, typer.Option("--reset", help="Remove the calibration of the model.")
    ] = False,
    # How the corpus is read: `corpus_options` takes these from the context.
    input_format: InputFormat = None,
    token_column: TokenColumn = None,
    tag_column: TagColumn = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    encoding: Encoding = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    batch_size: Annotated[
        int, typer.Option(min=1, help="Sentences per batch.", metavar="N")
    ] = BATCH_SIZE,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Fit the probabilities of a model to a corpus.

    They then agree better with how often the model is right. A temperature for each head is stored
    with the model; no prediction changes.
    """
    if reset == (file is not None):
        raise typer.BadParameter("expected either MODEL DEV, or MODEL --reset")
    # Imported here: `--help` and a wrong command line need neither rich nor torch.
    from tagkit.cli.program.console import note
    from tagkit.cli.program.messages import show_lines
    from tagkit.inference.score.calibrate import calibrate, remove_calibration
    from tagkit.models.base.device import set_threads

    if file is None:
        folder = remove_calibration(model, note)
        if as_json:
            typer.echo(to_json({"model": str(folder), "removed": True}))
        else:
            note(f"{folder}: the calibration is removed")
        return
    set_threads(threads)
    given = corpus_options(context)
    options = {
        name.removeprefix("data."): value for name, value in given.items() if value is not None
    }
    found = calibrate(model, file, batch_size=batch_size, device=device, note=note, **options)
    if as_json:
        typer.echo(to_json(found.to_dict()))
    else:
        show_lines(_lines(found))


def _lines(found: "Calibrated") -> Iterator[str]:
    """What the temperatures do, a table for each head, and where they are stored."""
    from tagkit.evaluation.reports.calibration_text import numbers_of
    from tagkit.storage import METADATA
    from tagkit.wording import plural, shown_name

    for head in found.heads:
        before, after = numbers_of(head.before), numbers_of(head.after)
        what = f"{head.before.count:,} {head.before.name}"
        how = f"fitted to {what}" if head.is_fitted else f"not fitted to these {what}"
        yield f"{shown_name(head.head)}: temperature {head.temperature:.3f}, {how}"
        yield f"{'':<23}  {'before':>8}  {'after':>8}"
        for name, value in before.items():
            yield f"{name:<23}  {value:>8.4f}  {after[name]:>8.4f}"
        yield ""
    for name, sets in found.sets.items():
        answers = plural(sets.count, "answer")
        if sets.most is not None:
            yield f"{shown_name(name)}: sets of coverage 0.5 to {sets.most:g}, from {answers}"
            continue
        # Of few answers, or where too few of them are found, no coverage can be promised.
        yield (
            f"{shown_name(name)}: no sets, from {answers}: the right one is among the "
            f"{sets.limit:,} most probable in {sets.found:,} of them; more answers, or a better "
            "model, would give some"
        )
    if found.sets:
        yield ""
    yield f"stored in {found.model / METADATA}"
