"""`tagkit learning-curve`."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from tagkit.cli.program.options import (
    ConfigFile,
    DevFile,
    Encoding,
    InputFormat,
    LabelColumn,
    Metric,
    OnMisaligned,
    Quiet,
    Seed,
    Set,
    TagColumn,
    TaskOfLabels,
    TextColumn,
    Threads,
    TokenColumn,
    TrainDevice,
    TrainFile,
    TrainWorkers,
    config_file,
    corpus_options,
    load_settings,
)
from tagkit.cli.program.signals import stop_on_signal
from tagkit.errors import ConfigError
from tagkit.text.json_text import to_json

FOLDER = "models/learning-curve"  # by default
# \b (a backspace, on a line of its own) keeps click from joining the lines below it.
EXAMPLES = """\b
Examples:
  tagkit learning-curve --train train.conll --dev dev.conll -o models/curve
  tagkit learning-curve --train train.conll --dev dev.conll --seeds 1,2,3
  tagkit learning-curve --train train.conll --sizes 250,500,1000,2000
  tagkit learning-curve --config tagkit.toml --resume --json
"""


def learning_curve_command(
    context: typer.Context,
    config: ConfigFile = None,
    task: TaskOfLabels = None,
    train: TrainFile = None,
    dev: DevFile = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder of the learning curve.",
            metavar="DIR",
            show_default=FOLDER,
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            help="Sizes of the training corpus: numbers of sentences, or shares of it.",
            metavar="SIZE,SIZE,...",
            show_default="1/16,1/8,1/4,1/2,1/1; from 10 sentences on",
        ),
    ] = None,
    overrides: Set = None,
    # How the corpora are read: `corpus_options` takes these from the context.
    input_format: InputFormat = None,
    on_misaligned: OnMisaligned = None,
    token_column: TokenColumn = None,
    tag_column: TagColumn = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    encoding: Encoding = None,
    seed: Seed = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...", help="Train each size with each seed, which draws parts of its own."
        ),
    ] = None,
    device: TrainDevice = None,
    threads: Threads = None,
    workers: TrainWorkers = None,
    metric: Metric = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume the curve in DIR, or add sizes or seeds to it.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the curve in DIR.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    quiet: Quiet = False,
) -> None:
    """Forecast what more training data would bring.

    Models are trained on growing parts of the training corpus, and scored on the same dev corpus.
    A power law through the scores forecasts those of twice and four times the data. The test
    corpus is not used.
    """
    from tagkit.config import refuse_without_effect
    from tagkit.training.several.curve_sizes import parse_size

    config = config_file(config, train)
    flags = {
        "task": task,
        "data.train_file": train,
        "data.dev_file": dev,
        **corpus_options(context),
        "output.dir": output,
        "train.seed": seed,
        "train.seeds": seeds.split(",") if seeds is not None else None,
        "train.device": device,
        "train.threads": threads,
        "train.workers": workers,
        "train.metric": metric,
    }
    settings = load_settings(config, overrides, flags, folder=FOLDER)
    refuse_without_effect(settings, str(config or "configuration"))
    parsed = None if sizes is None else [parse_size(each) for each in sizes.split(",")]
    if seed is not None and seeds is not None:
        raise ConfigError(
            "tagkit learning-curve", ["--seed is for one seed, --seeds for several: name one"]
        )
    if resume and force:
        raise ConfigError(
            "tagkit learning-curve",
            ["--resume continues the curve, --force starts a new one: name one"],
        )
    # Importing torch takes seconds: a signal that comes meanwhile must be handled already.
    with stop_on_signal() as stop:
        from tagkit.cli.program.messages import show_lines
        from tagkit.cli.shown.several_progress import CurveProgress, curve_lines
        from tagkit.training.several.learning_curve import CurveListener, learning_curve

        with nullcontext(CurveListener()) if quiet else CurveProgress() as listener:
            curve = learning_curve(
                settings, parsed, listener=listener, resume=resume, force=force, stop=stop
            )
    if as_json:
        typer.echo(to_json(curve.to_dict()))
    else:
        show_lines(curve_lines(curve, Path(settings.output.dir)))
