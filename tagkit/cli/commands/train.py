"""`tagkit train`."""

from contextlib import nullcontext
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
    Task,
    TestFile,
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
from tagkit.training.processes.launcher import is_first

# \b (a backspace, on a line of its own) keeps click from joining the lines below it.
EXAMPLES = """\b
Examples:
  tagkit train
  tagkit train --train train.conll --dev dev.conll -o models/mine
  tagkit train --task classify --train train.tsv -o models/mine
  tagkit train --set encoder.cell=gru --set train.max_epochs=5
  tagkit train --seeds 1,2,3
  tagkit train --init-from models/mine --train more.conll -o models/better
  tagkit train --resume
"""


def train_command(
    context: typer.Context,
    config: ConfigFile = None,
    task: Task = None,
    train: TrainFile = None,
    dev: DevFile = None,
    test: TestFile = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="DIR"),
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
        typer.Option(metavar="N,N,..."),
    ] = None,
    device: TrainDevice = None,
    threads: Threads = None,
    workers: TrainWorkers = None,
    init_from: Annotated[
        str | None,
        typer.Option(metavar="MODEL"),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume the run in DIR, if there is one.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the run in DIR.")] = False,
    metric: Metric = None,
    max_minutes: Annotated[
        float | None,
        typer.Option(metavar="M"),
    ] = None,
    checkpoint_every: Annotated[
        str | None,
        typer.Option(metavar="N|Nm"),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Train a tagger, a text classifier or a language model.

    The best and the last epoch are saved. Without --train and --config, the configuration is
    read from tagkit.toml in this folder; with --train, every option has a default.
    """
    from tagkit.config import refuse_without_effect

    config = config_file(config, train)
    # None stands for an argument that was not given, and leaves the configuration as it is.
    flags = {
        "task": task,
        "data.train_file": train,
        "data.dev_file": dev,
        "data.test_file": test,
        **corpus_options(context),
        "output.dir": output,
        "train.seed": seed,
        # Split here; the configuration checks each number, and refuses an empty one.
        "train.seeds": seeds.split(",") if seeds is not None else None,
        "train.device": device,
        "train.threads": threads,
        "train.workers": workers,
        "train.init_from": init_from,
        "train.metric": metric,
        "train.max_minutes": max_minutes,
        "train.checkpoint_every": checkpoint_every,
    }
    settings = load_settings(config, overrides, flags)
    # `train` checks this too. Here it comes before torch is imported, and names the file.
    if not resume:
        refuse_without_effect(settings, str(config or "configuration"))
    if seed is not None and seeds is not None:
        raise ConfigError(
            "tagkit train", ["--seed is for one model, --seeds for several: name one"]
        )
    # Continuing and replacing contradict each other: neither may win in silence.
    if resume and force:
        raise ConfigError(
            "tagkit train", ["--resume continues the run, --force starts a new one: name one"]
        )
    if not is_first():  # only the first of several processes reports
        quiet = True
    # Importing torch takes seconds: a signal that comes meanwhile must be handled already.
    with stop_on_signal() as stop:
        from tagkit.cli.shown.train_progress import Progress
        from tagkit.training.events.callbacks import Listener
        from tagkit.training.several.seeds import train_seeds
        from tagkit.training.trainer import train as run

        with nullcontext(Listener()) if quiet else Progress() as listener:
            # Also from the configuration file, which may name seeds without --seeds.
            if settings.train.seeds:
                of_seeds = train_seeds(
                    settings, listener, resume=resume, force=force, stop=stop,
                    started_s=context.obj,
                )  # fmt: skip
                if isinstance(listener, Progress):
                    listener.on_seeds(of_seeds)
            else:
                trained = run(
                    settings, listener, resume=resume, force=force, stop=stop,
                    started_s=context.obj,
                )  # fmt: skip
                if isinstance(listener, Progress):
                    listener.on_end(trained)
