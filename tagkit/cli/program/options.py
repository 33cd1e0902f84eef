"""Options that several commands take, each described once."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagkit.cli.program.completion import (
    complete_column,
    complete_device,
    complete_metric,
    complete_setting,
    complete_task_of_labels,
    values_of,
)
from tagkit.cli.program.messages import flag_of
from tagkit.cli.program.option_fields import Sets
from tagkit.errors import ConfigError
from tagkit.wording import shown_name

if TYPE_CHECKING:
    from tagkit.config import Config


def column(text: str) -> int | str:
    """A column as the configuration has it: a number, or a name."""
    # More digits than any number of columns has are no number: Python refuses 4,300 of them.
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else text


def tag_columns(text: str) -> int | str | tuple[int | str, ...]:
    """A tag column, or the list of those that commas separate; "FEATS," is a list of one."""
    if "," not in text:
        return column(text)
    return tuple(column(part.strip()) for part in text.removesuffix(",").split(","))


def config_option(default: str) -> Any:
    """--config of a command, with its default in words."""
    return typer.Option(
        help="Configuration file in TOML.", readable=False, metavar="FILE", show_default=default
    )


def folder_option(help: str, default: str) -> Any:
    """-o of a command that fills a folder of its own."""
    return typer.Option("--output", "-o", help=help, metavar="DIR", show_default=default)


# A file that cannot be read is an error of the file, with exit status 1, and not wrong usage.
Model = Annotated[Path, typer.Argument(help="Folder of a model.", metavar="MODEL", readable=False)]
# A flag that sets an option of the configuration has neither a default nor a help text of its own:
# None leaves the value to the configuration, whose metadata `parser.Command` shows.
Task = Annotated[
    str | None, typer.Option(metavar="TASK", autocompletion=values_of("task")), Sets("task")
]
# Of commands that are about labels, which a language model has none of.
TaskOfLabels = Annotated[
    str | None,
    typer.Option(
        help="What to learn: tag (tokens), classify (texts) or both.",
        metavar="TASK",
        show_default="tag",
        autocompletion=complete_task_of_labels,
    ),
    Sets("task"),
]
TrainFile = Annotated[str | None, typer.Option(metavar="FILE"), Sets("data.train_file")]
DevFile = Annotated[str | None, typer.Option(metavar="FILE"), Sets("data.dev_file")]
TestFile = Annotated[str | None, typer.Option(metavar="FILE"), Sets("data.test_file")]
Vectors = Annotated[str | None, typer.Option(metavar="FILE"), Sets("embeddings.vectors")]
Metric = Annotated[
    str | None,
    typer.Option(metavar="NAME", autocompletion=complete_metric),
    Sets("train.metric"),
]
Seed = Annotated[int | None, typer.Option(metavar="N"), Sets("train.seed")]
MaxMinutes = Annotated[float | None, typer.Option(metavar="M"), Sets("train.max_minutes")]
# Split here; the configuration checks each number, and refuses an empty one.
SEEDS = Sets("train.seeds", lambda text: text.split(","))
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
# Of prediction, where there is no configuration to leave it to.
Device = Annotated[
    str,
    typer.Option(
        help="Device: auto, cpu, cuda or cuda:N.", metavar="DEVICE", autocompletion=complete_device
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(min=0, help="CPU threads; 0 for all cores.", metavar="N", show_default="1"),
]
BatchSize = Annotated[int, typer.Option(min=1, help="Sentences per batch.", metavar="N")]
TokenColumn = Annotated[
    str | None,
    typer.Option(metavar="N|NAME", autocompletion=complete_column),
    Sets("data.token_column", column),
]
# Of tables of texts.
TextColumn = Annotated[str | None, typer.Option(metavar="N|NAME"), Sets("data.text_column", column)]
Encoding = Annotated[str | None, typer.Option(metavar="NAME"), Sets("data.encoding")]

# Of the search for a string.
Beam = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Search for the most probable string with a beam of N hypotheses; for models that "
        "write strings.",
        metavar="N",
        show_default="the most probable unit each time",
    ),
]
MinUnits = Annotated[
    int,
    typer.Option(min=0, help="Least units of a string, for the task transduce.", metavar="N"),
]
LengthPenalty = Annotated[
    float,
    typer.Option(
        min=0,
        help="Strings of a beam are compared by log probability / units ** A.",
        metavar="A",
    ),
]
CoveragePenalty = Annotated[
    float,
    typer.Option(
        min=0,
        help="Factor of what a beam adds for symbols of the source that were not looked at.",
        metavar="B",
    ),
]
NoRepeat = Annotated[
    int,
    typer.Option(min=0, help="No string has a stretch of N units twice; 0 allows it.", metavar="N"),
]

# A text, and not a Literal: the configuration knows the formats, and refuses others by name. They
# are put into the help where it is shown (`parser.Command`).
InputFormat = Annotated[
    str | None,
    typer.Option(
        help="Format of the input: {choices}.",
        metavar="FORMAT",
        show_default="recognised",
        autocompletion=values_of("data.format"),
    ),
    Sets("data.format"),
]
OnMisaligned = Annotated[
    str | None,
    typer.Option(metavar="HOW", autocompletion=values_of("data.on_misaligned")),
    Sets("data.on_misaligned"),
]
# Read after the file and before the flags: a flag of its own wins.
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Set any option of the configuration.",
        metavar="SECTION.KEY=VALUE",
        autocompletion=complete_setting,
    ),
]


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which columns of a corpus are read."""

    token_column: TokenColumn = None
    tag_column: Annotated[
        str | None,
        typer.Option(metavar="N|NAME[,...]", autocompletion=complete_column),
        Sets("data.tag_column", tag_columns),
    ] = None
    text_column: TextColumn = None
    label_column: Annotated[
        str | None, typer.Option(metavar="N|NAME"), Sets("data.label_column", column)
    ] = None


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a corpus is read."""

    input_format: InputFormat = None
    columns: Columns
    encoding: Encoding = None


@dataclass(frozen=True, kw_only=True)
class SpanReading:
    """How a corpus is read, and what becomes of spans that begin or end within a token."""

    input_format: InputFormat = None
    on_misaligned: OnMisaligned = None
    columns: Columns
    encoding: Encoding = None


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """What a training runs on; its configuration may name that too."""

    device: Annotated[
        str | None,
        typer.Option(metavar="DEVICE", autocompletion=complete_device),
        Sets("train.device"),
    ] = None
    threads: Annotated[int | None, typer.Option(min=0, metavar="N"), Sets("train.threads")] = None
    workers: Annotated[str | None, typer.Option(metavar="auto|1|2"), Sets("train.workers")] = None


@dataclass(frozen=True, kw_only=True)
class Predicting:
    """Where a model predicts."""

    device: Device = "auto"
    threads: Threads = None


@dataclass(frozen=True, kw_only=True)
class TrainingFiles:
    """What trainings learn, and from which files."""

    config: Annotated[Path | None, config_option("tagkit.toml, without --train")] = None
    task: Task = None
    train: TrainFile = None
    dev: DevFile = None
    vectors: Vectors = None

    def config_file(self) -> Path | None:
        """The file that the configuration is read from; None for the defaults.

        A file in the current folder is not read beside --train: whoever names a corpus expects the
        defaults, wherever the command runs.

        Raises:
            ConfigError: neither is named, and the folder has no `tagkit.toml`.
        """
        if self.config is not None or self.train is not None:
            return self.config
        path = Path("tagkit.toml")
        if not path.exists():
            remedy = (
                "no such file in this folder. Name a corpus with --train, or a configuration with "
                "--config"
            )
            raise ConfigError(str(path), [remedy])
        return path


def load_settings(
    path: Path | None,
    overrides: Sequence[str] | None,
    flags: Mapping[str, Any],
    *,
    folder: str | None = None,
) -> "Config":
    """The configuration of a command: that of a file, `--set` and flags.

    Args:
        path: of the file; None for the defaults.
        overrides: what `--set` gives.
        flags: what flags of their own give, by the option's dotted name; a None is skipped.
        folder: the command's own output.dir, unless one is given: that of the file is a model's.

    Raises:
        typer.BadParameter: an option is given twice.
        ConfigError: the file cannot be read, or any option is unknown or has a wrong value.
    """
    from tagkit.config import load_config

    overrides = overrides or ()
    flags = {name: value for name, value in flags.items() if value is not None}
    # In Python later values replace earlier ones. On one command line nothing shows which is meant.
    names = [*flags, *set_names(overrides)]
    for name in names:
        if names.count(name) > 1:
            by = f"by {flag_of(name)} and by --set" if name in flags else "by --set"
            raise typer.BadParameter(f"{shown_name(name)} is given twice, {by}; give one of them")
    if folder is not None and "output.dir" not in names:
        flags["output.dir"] = folder
    return load_config(path, overrides, flags)


def set_names(overrides: Sequence[str]) -> list[str]:
    """The options that `--set` gives values of, by their dotted names."""
    return [text.partition("=")[0].strip() for text in overrides]
