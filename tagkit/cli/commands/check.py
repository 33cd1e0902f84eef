"""`tagkit check`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tagkit.cli.program.messages import show_lines
from tagkit.cli.program.options import (
    Encoding,
    InputFormat,
    LabelColumn,
    Set,
    TagColumn,
    TextColumn,
    TokenColumn,
    corpus_options,
    load_settings,
)
from tagkit.errors import ConfigError
from tagkit.text.json_text import to_json
from tagkit.wording import Setting

# \b keeps click from filling the lines.
EXAMPLES = """\b
Examples:
  tagkit check train.conll dev.conll test.conll
  tagkit check train.conll --fix repaired.conll
"""


def check_command(
    context: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(help="Corpora: train first, then dev and test.", metavar="FILE"),
    ],
    fix: Annotated[
        str | None,
        typer.Option(help="Write a repaired copy: a file, or a folder for several.", metavar="OUT"),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace files that exist in OUT.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    # How the corpora are read: `corpus_options` takes these from the context.
    input_format: InputFormat = None,
    token_column: TokenColumn = None,
    tag_column: TagColumn = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    encoding: Encoding = None,
    overrides: Set = None,
) -> None:
    """Check corpora for errors, and describe what they contain.

    --fix writes repaired copies, and never to a file that is read. The exit status is 1 if there
    are errors, and 0 if there are only warnings.
    """
    if force and not fix:
        raise typer.BadParameter("--force needs --fix: without it nothing is written")
    # Late, as in every command: rich and pydantic would double the time that --help takes.
    from tagkit.cli.program.console import note
    from tagkit.cli.shown.lint_report import check_lines, repair_lines
    from tagkit.config.option import LABELS, Needs
    from tagkit.corpus.lint.check import check_files
    from tagkit.corpus.lint.repair import copies_of, write_repaired
    from tagkit.storage.places import require_file_name, require_name

    settings = load_settings(None, overrides, corpus_options(context))
    if not Needs("task", LABELS).are_met_by(settings.task):
        raise ConfigError(
            Setting("task", settings.task),
            ["labels are checked, which plain text lacks; tagkit train describes the text"],
        )
    data = settings.data
    copies: dict[str, Path] = {}
    if fix is not None:
        require_name(fix, "--fix")
        if len(files) == 1:
            require_file_name(fix)
        # Before the reading, which may take minutes: a place that cannot be written is
        # reported at once.
        copies = copies_of(files, Path(fix), force=force)
    report = check_files(files, data, note)
    if not as_json:
        # Before any repair: it says why a file cannot be repaired.
        show_lines(check_lines(report))
    repaired = write_repaired(copies, data, force=force)
    # One object for both, as a program reads one.
    if as_json:
        facts: dict[str, Any] = report.to_dict()
        if copies:
            facts["repairs"] = {file: done.to_dict() for file, done in repaired.items()}
        typer.echo(to_json(facts))
    else:
        for file, done in repaired.items():
            show_lines(repair_lines(file, done))
    if report.errors:
        # So that a script or a hook can refuse the corpus.
        raise typer.Exit(1)
