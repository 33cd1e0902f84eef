"""`tagkit learning-curve`."""

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tagkit.cli.program.option_fields import Sets, flags_of, takes_options
from tagkit.cli.program.options import (
    SEEDS,
    AsJson,
    Hardware,
    Metric,
    Overrides,
    Quiet,
    Seed,
    SpanReading,
    TaskOfLabels,
    TrainingFiles,
    folder_option,
    load_settings,
)
from tagkit.cli.program.process import stop_on_signal
from tagkit.cli.program.refusals import refuse_contradictions

FOLDER = "models/learning-curve"  # by default
EXAMPLES = """\
Examples:
  tagkit learning-curve --train train.conll --dev dev.conll -o models/curve
  tagkit learning-curve --train train.conll --dev dev.conll --seeds 1,2,3
  tagkit learning-curve --train train.conll --sizes 250,500,1000,2000
  tagkit learning-curve --config tagkit.toml --resume --json
"""


@dataclass(frozen=True, kw_only=True)
class CurveFiles(TrainingFiles):
    """What the models of a learning curve learn: labels."""

    task: TaskOfLabels = None


@dataclass(frozen=True, kw_only=True)
class CurveOptions:
    """The options of `tagkit learning-curve`."""

    files: CurveFiles
    output: Annotated[
        str | None, folder_option("Folder of the learning curve.", FOLDER), Sets("output.dir")
    ] = None
    sizes: Annotated[
        str | None,
        typer.Option(
            help="Sizes of the training corpus: numbers of sentences, or shares of it.",
            metavar="SIZE,SIZE,...",
            show_default="1/16,1/8,1/4,1/2,1/1; from 10 sentences on",
        ),
    ] = None
    overrides: Overrides = None
    reading: SpanReading
    seed: Seed = None
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...", help="Train each size with each seed, which draws parts of its own."
        ),
        SEEDS,
    ] = None
    hardware: Hardware
    metric: Metric = None
    resume: Annotated[
        bool, typer.Option(help="Resume the curve in DIR, or add sizes or seeds to it.")
    ] = False
    force: Annotated[bool, typer.Option(help="Replace the curve in DIR.")] = False
    as_json: AsJson = False
    quiet: Quiet = False


@takes_options
def learning_curve_command(options: CurveOptions) -> None:
    """Forecast what more training data would bring.

    Models are trained on growing parts of the training corpus, and scored on the same dev corpus.
    A power law through the scores forecasts those of twice and four times the data. The test
    corpus is not used.
    """
    from tagkit.config import refuse_without_effect
    from tagkit.training.several.curve_sizes import as_size

    config = options.files.config_file()
    settings = load_settings(config, options.overrides, flags_of(options), folder=FOLDER)
    refuse_without_effect(settings, str(config or "configuration"))
    sizes = None if options.sizes is None else [*map(as_size, options.sizes.split(","))]
    refuse_contradictions("learning-curve", options, "seed", "curve")
    # Importing torch takes seconds: a signal that comes meanwhile must be handled already.
    with stop_on_signal() as stop:
        from tagkit.cli.program.messages import show_result
        from tagkit.cli.shown.several_progress import CurveProgress, curve_lines
        from tagkit.training.several.learning_curve import CurveListener, learning_curve

        with nullcontext(CurveListener()) if options.quiet else CurveProgress() as listener:
            curve = learning_curve(
                settings, sizes, listener=listener, resume=options.resume, force=options.force,
                stop=stop,
            )  # fmt: skip
    show_result(curve, curve_lines(curve, Path(settings.output.dir)), as_json=options.as_json)
