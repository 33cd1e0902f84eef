"""`tagkit train`."""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Annotated

import typer

from tagkit.cli.program.option_fields import Sets, flags_of, takes_options
from tagkit.cli.program.options import (
    SEEDS,
    AsJson,
    Hardware,
    MaxMinutes,
    Metric,
    Overrides,
    Quiet,
    Seed,
    SpanReading,
    TestFile,
    TrainingFiles,
    load_settings,
)
from tagkit.cli.program.process import stop_on_signal
from tagkit.cli.program.refusals import refuse_contradictions
from tagkit.text.json_text import to_json
from tagkit.training.processes.launcher import is_first

EXAMPLES = """\
Examples:
  tagkit train
  tagkit train --train train.conll --dev dev.conll -o models/mine
  tagkit train --task classify --train train.tsv -o models/mine
  tagkit train --set encoder.cell=gru --set train.max_epochs=5
  tagkit train --seeds 1,2,3
  tagkit train --init-from models/mine --train more.conll -o models/better
  tagkit train --resume
  tagkit train -q --json > run.json
"""


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """The options of `tagkit train`."""

    files: TrainingFiles
    test: TestFile = None
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="DIR"), Sets("output.dir")
    ] = None
    overrides: Overrides = None
    reading: SpanReading
    seed: Seed = None
    seeds: Annotated[str | None, typer.Option(metavar="N,N,..."), SEEDS] = None
    hardware: Hardware
    init_from: Annotated[str | None, typer.Option(metavar="MODEL"), Sets("train.init_from")] = None
    resume: Annotated[bool, typer.Option(help="Resume the run in DIR, if there is one.")] = False
    force: Annotated[bool, typer.Option(help="Replace the run in DIR.")] = False
    metric: Metric = None
    max_minutes: MaxMinutes = None
    checkpoint_every: Annotated[
        str | None, typer.Option(metavar="N|Nm"), Sets("train.checkpoint_every")
    ] = None
    as_json: AsJson = False
    quiet: Quiet = False


@takes_options
def train_command(context: typer.Context, options: TrainOptions) -> None:
    """Train a tagger, classifier, transducer or language model.

    The best and the last epoch are saved. Without --train and --config, the configuration is
    read from tagkit.toml in this folder; with --train, every option has a default.
    """
    from tagkit.config import refuse_without_effect

    config = options.files.config_file()
    settings = load_settings(config, options.overrides, flags_of(options))
    # `train` checks this too. Here it comes before torch is imported, and names the file.
    if not options.resume:
        refuse_without_effect(settings, str(config or "configuration"))
    refuse_contradictions("train", options, "model", "run")
    quiet = options.quiet or not is_first()  # only the first of several processes reports
    # Importing torch takes seconds: a signal that comes meanwhile must be handled already.
    with stop_on_signal() as stop:
        from tagkit.cli.shown.train_progress import Progress
        from tagkit.training.events.callbacks import Listener
        from tagkit.training.run_end import Trained
        from tagkit.training.several.seeds import TrainedSeeds, train_seeds
        from tagkit.training.trainer import train as run

        trained: TrainedSeeds | Trained
        with nullcontext(Listener()) if quiet else Progress() as listener:
            # Also from the configuration file, which may name seeds without --seeds.
            if settings.train.seeds:
                trained = of_seeds = train_seeds(
                    settings, listener, resume=options.resume, force=options.force, stop=stop,
                    started_s=context.obj,
                )  # fmt: skip
                if isinstance(listener, Progress):
                    listener.on_seeds(of_seeds)
            else:
                trained = of_one = run(
                    settings, listener, resume=options.resume, force=options.force, stop=stop,
                    started_s=context.obj,
                )  # fmt: skip
                if isinstance(listener, Progress):
                    listener.on_end(of_one)
        if options.as_json and is_first():
            typer.echo(to_json(trained.to_dict()))
