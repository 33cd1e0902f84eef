"""`tagkit tune`."""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from tagkit.cli.program.completion import complete_search
from tagkit.cli.program.option_fields import Sets, flags_of, takes_options
from tagkit.cli.program.options import (
    AsJson,
    Hardware,
    Metric,
    Overrides,
    Quiet,
    Seed,
    SpanReading,
    TrainingFiles,
    folder_option,
    load_settings,
    set_names,
)
from tagkit.cli.program.process import stop_on_signal
from tagkit.text.json_text import to_json

if TYPE_CHECKING:
    from tagkit.config import Config
    from tagkit.config.search_space import Space

# Worth trying on any corpus, the most important first. Reimers and Gurevych 2017 (arXiv:1707.06799)
# found the optimizer's settings and this kind of dropout to matter much for BiLSTM taggers, and the
# number of units little.
DEFAULT_SEARCH = (
    "train.lr=0.001..0.02:log",
    "encoder.hidden=100,200,300",
    "encoder.locked_dropout=0.1..0.6",
    "train.batch_size=4,8,16,32",
)
FOLDER = "models/search"  # by default
EXAMPLES = """\
Examples:
  tagkit tune --train train.conll --dev dev.conll -o models/search --trials 30
  tagkit tune --search train.lr=0.001..0.01:log --search encoder.cell=lstm,gru
  tagkit tune --max-minutes 120
"""


def default_search(settings: "Config") -> tuple[str, ...]:
    """What is searched unless something is named: of these options, those that nobody has set.

    A model that reads characters of a large text wants no dropout at all.
    """
    from tagkit.config import Config, option_values

    values, defaults = option_values(settings), option_values(Config())
    lowered = {"encoder.locked_dropout=0.1..0.6": "encoder.locked_dropout=0.0..0.6"}
    return tuple(
        lowered.get(each, each) if settings.reads_units else each
        for each in DEFAULT_SEARCH
        if values[name := each.partition("=")[0]] == defaults[name]
    )


@dataclass(frozen=True, kw_only=True)
class TuneOptions:
    """The options of `tagkit tune`: no test file and no seeds, as trials are compared on dev."""

    files: TrainingFiles
    output: Annotated[
        str | None,
        folder_option("Folder of the search and of its best model.", FOLDER),
        Sets("output.dir"),
    ] = None
    spaces: Annotated[
        list[str] | None,
        typer.Option(
            "--search",
            help="Values to try: FROM..TO, FROM..TO:log, or A,B,C.",
            metavar="SECTION.KEY=VALUES",
            show_default="; ".join(DEFAULT_SEARCH)
            + "; dropout from 0 for units smaller than words; what is set is not searched",
            autocompletion=complete_search,
        ),
    ] = None
    trials: Annotated[
        int,
        typer.Option(
            min=1, help="Number of trials, those of a resumed search included.", metavar="N"
        ),
    ] = 20
    max_minutes: Annotated[
        float | None,
        typer.Option(
            help="Time limit of the search in minutes.", metavar="M", show_default="no limit"
        ),
        Sets("train.max_minutes"),
    ] = None
    overrides: Overrides = None
    reading: SpanReading
    seed: Seed = None
    hardware: Hardware
    metric: Metric = None
    force: Annotated[bool, typer.Option(help="Replace the search in DIR.")] = False
    as_json: AsJson = False
    quiet: Quiet = False


@takes_options
def tune_command(context: typer.Context, options: TuneOptions) -> None:
    """Search for good values of options.

    Each trial trains a model; the one with the best dev score is kept. The same command resumes a
    search that was stopped. The test corpus is not used.
    """  # fmt: skip
    from tagkit.config import refuse_without_effect

    config = options.files.config_file()
    settings = load_settings(config, options.overrides, flags_of(options), folder=FOLDER)
    spaces = _spaces(options, settings)
    # An option counts as having an effect if it has one in some trial.
    searched = {name: space.samples() for name, space in spaces.items()}
    refuse_without_effect(settings, str(config or "tagkit tune"), searched)
    # Importing torch and Optuna takes seconds, in which a signal must be handled already.
    with stop_on_signal() as stop:
        from tagkit.cli.shown.several_progress import SearchProgress
        from tagkit.models.task_table import ranking_metric
        from tagkit.training.several.tune import TuneListener, tune

        shown = SearchProgress(options.trials, ranking_metric(settings))
        with nullcontext(TuneListener()) if options.quiet else shown as listener:
            tuned = tune(
                settings, spaces, trials=options.trials, listener=listener, force=options.force,
                stop=stop, started_s=context.obj,
            )  # fmt: skip
            if isinstance(listener, SearchProgress):
                listener.on_end(tuned)
        if options.as_json:
            typer.echo(to_json(tuned.to_dict()))


def _spaces(options: TuneOptions, settings: "Config") -> "dict[str, Space]":
    """What is searched, by the options' dotted names; what is set is not searched.

    Raises:
        typer.BadParameter: nothing is left to search, or an option is both set and searched.
    """
    from tagkit.config.search_space import parse_spaces

    given = set_names(options.overrides or ())
    default = [each for each in default_search(settings) if each.partition("=")[0] not in given]
    if not (options.spaces or default):
        raise typer.BadParameter(
            "every option that is searched by default is set; name others with --search"
        )
    spaces = parse_spaces(options.spaces or default)
    for name in spaces:
        if name in given:
            raise typer.BadParameter(
                f"{name} is given twice: by --set and by --search; give one of them"
            )
    return spaces
