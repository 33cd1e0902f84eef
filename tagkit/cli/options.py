"""Options that several commands take, each described once."""

import re
from pathlib import Path
from typing import Annotated, Literal

import typer

# A file that cannot be read is an error of the file, with exit status 1, and not wrong usage.
Model = Annotated[Path, typer.Argument(help="Folder of a model.", metavar="MODEL", readable=False)]
# None of these has a default of its own: None leaves it to the configuration, which `show_default`
# merely describes. A test holds that help and default are those of the option.
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
Task = Annotated[
    str | None,
    typer.Option(
        help="What to learn: tag (tokens), classify (texts) or both.",
        metavar="TASK",
        show_default="tag",
    ),
]
TrainFile = Annotated[str | None, typer.Option("--train", help="Training corpus.", metavar="FILE")]
DevFile = Annotated[
    str | None,
    typer.Option(
        "--dev",
        help="Development corpus, used to select the best epoch.",
        metavar="FILE",
        show_default="split off train_file",
    ),
]
Seed = Annotated[int | None, typer.Option(help="Random seed.", metavar="N", show_default="1")]
# Of training, whose configuration may name it too.
TrainDevice = Annotated[
    str | None,
    typer.Option(
        "--device", help="Device: auto, cpu, cuda or cuda:N.", metavar="DEVICE", show_default="auto"
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
# Of prediction, where there is no configuration to leave it to.
Device = Annotated[str, typer.Option(help="Device: auto, cpu, cuda or cuda:N.", metavar="DEVICE")]
Precision = Annotated[
    Literal["fp32", "bf16", "int8"],
    typer.Option(help="Precision of the recurrent layers on a CPU; fewer bits are faster."),
]
Threads = Annotated[
    int | None,
    typer.Option(min=0, help="CPU threads; 0 for all cores.", metavar="N", show_default="1"),
]
TokenColumn = Annotated[
    str | None,
    typer.Option(
        help="Column of the tokens: 0 for the first, -1 for the last, or a CoNLL-U name.",
        metavar="N|NAME",
        show_default="FORM or 0",
    ),
]
TagColumn = Annotated[
    str | None,
    typer.Option(
        help="Column of the gold tags: a number or a name.",
        metavar="N|NAME",
        show_default="UPOS or -1",
    ),
]


Encoding = Annotated[
    str | None, typer.Option(help="Encoding of the files.", metavar="NAME", show_default="utf-8")
]

# A text, and not a Literal: the configuration knows the formats, and refuses others by name.
InputFormat = Annotated[
    str | None,
    typer.Option(
        help="Format of the input: columns, conllu, jsonl, brat, slash, parallel, tsv, csv, "
        "fasttext, trec, trees, folder or text.",
        metavar="FORMAT",
        show_default="recognised",
    ),
]
OnMisaligned = Annotated[
    str | None,
    typer.Option(
        help="What to do with spans that do not match token boundaries: error, expand, shrink "
        "or drop.",
        metavar="HOW",
        show_default="error",
    ),
]
# Read after the file and before the flags: a flag of its own wins.
Set = Annotated[
    list[str] | None,
    typer.Option("--set", help="Set any option of the configuration.", metavar="SECTION.KEY=VALUE"),
]


def column(text: str | None) -> int | str | None:
    """A column as the configuration has it: a number, or a name."""
    # More digits than any number of columns has are no number: Python refuses 4,300 of them.
    return int(text) if text is not None and re.fullmatch(r"-?\d{1,9}", text) else text
