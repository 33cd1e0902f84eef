"""`tagkit calibrate`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from tagkit.cli.program.option_fields import flags_of, takes_options
from tagkit.cli.program.options import AsJson, BatchSize, Model, Predicting, Reading
from tagkit.limits import BATCH_SIZE
from tagkit.text.json_text import to_json

if TYPE_CHECKING:
    from tagkit.inference.score.calibrate import Calibrated

EXAMPLES = """\
Examples:
  tagkit calibrate models/travel data/travel/dev.conll
  tagkit calibrate models/travel --reset
"""


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions:
    """The options of `tagkit calibrate`."""

    model: Model
    file: Annotated[
        str | None,
        typer.Argument(
            help="Corpus with gold tags or classes, which the model was not trained on.",
            metavar="DEV",
            show_default=False,
        ),
    ] = None
    reset: Annotated[bool, typer.Option("--reset", help="Remove the calibration of the model.")] = (
        False
    )
    reading: Reading
    as_json: AsJson = False
    batch_size: BatchSize = BATCH_SIZE
    prediction: Predicting


@takes_options
def calibrate_command(options: CalibrateOptions) -> None:
    """Fit the probabilities of a model to a corpus.

    They then agree better with how often the model is right. A temperature for each head is stored
    with the model; no prediction changes.
    """
    if options.reset == (options.file is not None):
        raise typer.BadParameter("expected either MODEL DEV, or MODEL --reset")
    # Imported here: `--help` and a wrong command line need neither rich nor torch.
    from tagkit.cli.program.console import note, show_line
    from tagkit.cli.program.messages import show_result
    from tagkit.inference.score.calibrate import calibrate, remove_calibration
    from tagkit.models.base.device import set_threads

    model, file = options.model, options.file
    if file is None:
        folder = remove_calibration(model, note)
        if options.as_json:
            typer.echo(to_json({"model": str(folder), "removed": True}))
        else:
            show_line(f"{folder}: the calibration is removed")
        return
    set_threads(options.prediction.threads)
    reading = {
        name.removeprefix("data."): value
        for name, value in flags_of(options).items()
        if value is not None
    }
    batch_size, device = options.batch_size, options.prediction.device
    found = calibrate(model, file, batch_size=batch_size, device=device, note=note, **reading)
    show_result(found, _lines(found), as_json=options.as_json)


def _lines(found: "Calibrated") -> Iterator[str]:
    """What the temperatures do, a table for each head, and where they are stored."""
    from tagkit.evaluation.reports.report_text import numbers_of
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
