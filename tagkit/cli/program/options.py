"""Options that several commands take, each described once."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tagkit.cli.program.completion import (
    complete_column,
    complete_device,
    complete_metric,
    complete_setting,
    complete_task_of_labels,
    values_of,
)
from tagkit.cli.program.messages import OPTION_FLAGS
from tagkit.errors import ConfigError
from tagkit.wording import Message, Setting, shown_name

if TYPE_CHECKING:
    from tagkit.config import Config

# A file that cannot be read is an error of the file, with exit status 1, and not wrong usage.
Model = Annotated[Path, typer.Argument(help="Folder of a model.", metavar="MODEL", readable=False)]
# A flag that sets an option of the configuration has neither a default nor a help text of its own:
# None leaves the value to the configuration, whose metadata `parser.Command` shows.
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="Configuration file in TOML.",
        readable=False,
        metavar="FILE",
        show_default="tagkit.toml, without --train",
    ),
]
Task = Annotated[str | None, typer.Option(metavar="TASK", autocompletion=values_of("task"))]
# Of commands that are about labels, which a language model has none of.
TaskOfLabels = Annotated[
    str | None,
    typer.Option(
        "--task",
        help="What to learn: tag (tokens), classify (texts) or both.",
        metavar="TASK",
        show_default="tag",
        autocompletion=complete_task_of_labels,
    ),
]
TrainFile = Annotated[str | None, typer.Option("--train", metavar="FILE")]
DevFile = Annotated[str | None, typer.Option("--dev", metavar="FILE")]
TestFile = Annotated[str | None, typer.Option("--test", metavar="FILE")]
Metric = Annotated[
    str | None, typer.Option("--metric", metavar="NAME", autocompletion=complete_metric)
]
Seed = Annotated[int | None, typer.Option(metavar="N")]
# Of training, whose configuration may name it too.
TrainDevice = Annotated[
    str | None, typer.Option("--device", metavar="DEVICE", autocompletion=complete_device)
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
# Of prediction, where there is no configuration to leave it to.
Device = Annotated[
    str,
    typer.Option(
        help="Device: auto, cpu, cuda or cuda:N.", metavar="DEVICE", autocompletion=complete_device
    ),
]
Precision = Annotated[
    Literal["fp32", "bf16", "int8"],
    typer.Option(help="Precision of the recurrent layers on a CPU; fewer bits are faster."),
]
Threads = Annotated[int | None, typer.Option(min=0, metavar="N")]
# Of training; `predict` has a number of processes.
TrainWorkers = Annotated[str | None, typer.Option("--workers", metavar="auto|1|2")]
TokenColumn = Annotated[str | None, typer.Option(metavar="N|NAME", autocompletion=complete_column)]
TagColumn = Annotated[
    str | None, typer.Option(metavar="N|NAME[,...]", autocompletion=complete_column)
]
# Of tables of texts.
TextColumn = Annotated[str | None, typer.Option(metavar="N|NAME")]
LabelColumn = Annotated[str | None, typer.Option(metavar="N|NAME")]
Encoding = Annotated[str | None, typer.Option(metavar="NAME")]

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
]
OnMisaligned = Annotated[
    str | None, typer.Option(metavar="HOW", autocompletion=values_of("data.on_misaligned"))
]
# Read after the file and before the flags: a flag of its own wins.
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Set any option of the configuration.",
        metavar="SECTION.KEY=VALUE",
        autocompletion=complete_setting,
    ),
]


def corpus_options(context: typer.Context) -> dict[str, Any]:
    """What the flags of a command say of how a corpus is read, by the options' dotted names.

    Args:
        context: of the command, whose parameters of these names are among them; for one that it
            lacks there is None.
    """
    given = context.params.get
    return {
        "data.format": given("input_format"),
        "data.on_misaligned": given("on_misaligned"),
        "data.token_column": column(given("token_column")),
        "data.tag_column": tag_columns(given("tag_column")),
        "data.text_column": column(given("text_column")),
        "data.label_column": column(given("label_column")),
        "data.encoding": given("encoding"),
    }


def column(text: str | None) -> int | str | None:
    """A column as the configuration has it: a number, or a name."""
    # More digits than any number of columns has are no number: Python refuses 4,300 of them.
    return int(text) if text is not None and re.fullmatch(r"-?\d{1,9}", text) else text


def tag_columns(text: str | None) -> int | str | tuple[int | str, ...] | None:
    """A tag column, or the list of those that commas separate; "FEATS," is a list of one."""
    if text is None or "," not in text:
        return column(text)
    found = (column(part.strip()) for part in text.removesuffix(",").split(","))
    return tuple("" if part is None else part for part in found)


def config_file(named: Path | None, train: str | None) -> Path | None:
    """The file that a command reads its configuration from; None for the defaults.

    A file in the current folder is not read beside --train: whoever names a corpus expects the
    defaults, wherever the command runs.

    Raises:
        ConfigError: neither is named, and the folder has no `tagkit.toml`.
    """
    if named is not None or train is not None:
        return named
    path = Path("tagkit.toml")
    if not path.exists():
        remedy = Message(
            "no such file in this folder. Name a corpus with ", Setting("data.train_file"),
            ", or a configuration with ", Setting("path"),
        )  # fmt: skip
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

    In Python later values replace earlier ones. On one command line two values of an option are a
    mistake, of which nothing shows which one is meant.

    Args:
        path: of the file; None for the defaults.
        overrides: what `--set` gives.
        flags: what flags of their own give, by the option's dotted name; a None is skipped.
        folder: the command's own output.dir, unless one is given: that of the file is a model's.

    Raises:
        typer.BadParameter: an option is given twice, with different values.
        ConfigError: the file cannot be read, or any option is unknown or has a wrong value.
    """
    from tagkit.config import load_config

    overrides = overrides or ()
    given = set_values(overrides)
    for name, value in flags.items():
        if value is not None and name in given and not _are_same(given[name], value):
            flag = OPTION_FLAGS[name]
            raise typer.BadParameter(
                f"{name} is given twice, with different values, by {flag} and by --set; give one "
                "of them"
            )
    if folder is not None and "output.dir" not in given and flags.get("output.dir") is None:
        flags = {**flags, "output.dir": folder}
    return load_config(path, overrides, flags)


def set_values(overrides: Sequence[str]) -> dict[str, Any]:
    """The values that `--set` gives, by the option's dotted name.

    Raises:
        typer.BadParameter: an option is given twice, with different values.
    """
    from tagkit.config import toml_value

    values: dict[str, Any] = {}
    for text in overrides:
        name, _, written = text.partition("=")
        name, value = name.strip(), toml_value(written.strip())
        if not _are_same(values.setdefault(name, value), value):
            raise typer.BadParameter(
                f"{shown_name(name)} is given twice by --set, with different values; give one of "
                "them"
            )
    return values


def _are_same(one: Any, other: Any) -> bool:
    """Whether two values, in TOML or as a flag has them, are written alike, or the same number."""
    is_number = not isinstance(one, str | bool) and not isinstance(other, str | bool)
    return (is_number and one == other) or _as_written(one) == _as_written(other)


def _as_written(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
