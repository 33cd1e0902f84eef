"""`tagkit config`."""

import sys
from typing import Annotated

import typer

from tagkit.cli.program.completion import complete_part, values_of
from tagkit.cli.program.options import DevFile, Set, TestFile, TrainFile, load_settings
from tagkit.wording import shown_name

# \b (a backspace, on a line of its own) keeps click from joining the lines below it.
EXAMPLES = """\b
Examples:
  tagkit config
  tagkit config encoder
  tagkit config train.metric
  tagkit config --train train.conll --dev dev.conll > tagkit.toml
"""
_HEAD = (
    "A configuration of tagkit. Options that were not given have their defaults. What is left to "
    "the corpus, such as auto, has a comment that says what it is for this one.",
    "To train with it: tagkit train --config FILE",
)


def config_command(
    part: Annotated[
        str | None,
        typer.Argument(
            help="A section, or one option as SECTION.KEY.",
            metavar="PART",
            show_default="all options",
            autocompletion=complete_part,
        ),
    ] = None,
    train: TrainFile = None,
    dev: DevFile = None,
    test: TestFile = None,
    task: Annotated[
        str | None,
        typer.Option(
            metavar="TASK",
            show_default="the task that the corpus is for",
            autocompletion=values_of("task"),
        ),
    ] = None,
    vectors: Annotated[str | None, typer.Option(metavar="FILE")] = None,
    overrides: Set = None,
) -> None:
    """List the options, or write a configuration file.

    The list has the default and the meaning of each.

    With --train, a complete configuration for that corpus is written to standard output. Without
    --task, the task is the one that the corpus is for. Comments say what each option means, and
    what "auto" resolves to.
    """
    from tagkit.cli.program.messages import show_lines
    from tagkit.cli.program.terminal import width_of
    from tagkit.cli.shown.option_list import chosen_options, one_option_lines, option_lines

    if train is None:
        given = {"--dev": dev, "--test": test, "--task": task, "--vectors": vectors}
        given["--set"] = overrides[0] if overrides else None
        for flag, value in given.items():
            if value is not None:
                raise typer.BadParameter(f"{flag} needs --train: without it no file is written")
        options = chosen_options(part)
        width = width_of(sys.stdout)
        is_one = part == options[0].name
        lines = one_option_lines(options[0], width) if is_one else option_lines(options, width)
        show_lines(lines)
        return
    if part is not None:
        raise typer.BadParameter(
            f"expected either {shown_name(part)}, to list options, or --train "
            f"{shown_name(train)}, to write a complete configuration; found both"
        )
    from tagkit.config import refuse_without_effect, with_options

    flags = {
        "task": task,
        "data.train_file": train,
        "data.dev_file": dev,
        "data.test_file": test,
        "embeddings.vectors": vectors,
    }
    settings = load_settings(None, overrides, flags)
    is_detected = "task" not in settings.model_fields_set
    if not is_detected:  # before torch is imported
        refuse_without_effect(settings, "tagkit config")
    from tagkit.training.setup.starting_config import detected_task, starting_config

    if is_detected:
        settings = with_options(settings, {"task": detected_task(settings)})
        refuse_without_effect(settings, "tagkit config")
    typer.echo(starting_config(settings, _HEAD, is_detected=is_detected), nl=False)
