"""`tagkit audit`."""

import sys
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tagkit.cli.program.option_fields import Sets, flags_by_name, flags_of, takes_options
from tagkit.cli.program.options import (
    DevFile,
    Hardware,
    MaxMinutes,
    Overrides,
    Quiet,
    Seed,
    SpanReading,
    TaskOfLabels,
    config_option,
    load_settings,
)
from tagkit.cli.program.process import status_of, stop_on_signal
from tagkit.cli.program.refusals import refuse
from tagkit.errors import Interrupted
from tagkit.limits import EPSILON
from tagkit.text.json_text import to_json

_TOP = 20
# Options of training that a configuration may have, and an audit does not read.
_UNUSED = {
    "data.train_file": "the corpus that is audited is CORPUS",
    "data.test_file": "an audit scores no test corpus",
    "output.dir": "an audit keeps no model",
}

if TYPE_CHECKING:
    from tagkit.config import Config
    from tagkit.evaluation.analysis.label_errors import Audit

EXAMPLES = """\
Examples:
  tagkit audit train.conll
  tagkit audit train.conll --folds 10 --repeats 3 --weights weights.jsonl
  tagkit train --train train.conll --set data.weights=weights.jsonl
  tagkit audit train.conll --folds-by entity -o doubts.jsonl --html doubts.html
  tagkit audit train.tsv --task classify --top 50
"""


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """The options of `tagkit audit`."""

    corpus: Annotated[
        str,
        typer.Argument(help="Corpus with gold labels.", metavar="CORPUS", show_default=False),
        Sets("data.train_file"),
    ]
    config: Annotated[Path | None, config_option("none")] = None
    task: TaskOfLabels = None
    dev: DevFile = None
    folds: Annotated[
        int, typer.Option(min=2, help="Parts of the corpus; one model for each.", metavar="N")
    ] = 5
    repeats: Annotated[
        int, typer.Option(min=1, help="How often, with other folds each time.", metavar="N")
    ] = 1
    folds_by: Annotated[
        Literal["sentence", "entity"],
        typer.Option(
            help="With entity, models learn from no sentence that shares an entity with the fold."
        ),
    ] = "sentence"
    top: Annotated[
        int | None,
        typer.Option(
            min=0, help="Number of doubts in the table.", metavar="N", show_default=f"{_TOP}"
        ),
    ] = None
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", help="File for all doubts.", metavar="FILE", show_default="none"
        ),
    ] = None
    output_format: Annotated[
        Literal["table", "jsonl"] | None,
        typer.Option(
            "--format", help="Format of the doubts.", show_default="table; jsonl with --output"
        ),
    ] = None
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the whole audit as one JSON object.")
    ] = False
    weights: Annotated[
        str | None,
        typer.Option(
            help="File for a weight of each sentence, for data.weights of training.",
            metavar="FILE",
            show_default="none",
        ),
    ] = None
    epsilon: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Factor of a sentence's weight for each model that contradicts it.",
            metavar="X",
            show_default=f"{EPSILON}",
        ),
    ] = None
    html: Annotated[
        str | None,
        typer.Option(
            help="Also write the audit as a page for a browser. A page that exists is replaced.",
            metavar="FILE",
        ),
    ] = None
    overrides: Overrides = None
    reading: SpanReading
    seed: Seed = None
    hardware: Hardware
    max_minutes: MaxMinutes = None
    force: Annotated[bool, typer.Option(help="Replace the files of --output and --weights.")] = (
        False
    )
    quiet: Quiet = False

    @property
    def chosen_format(self) -> str:
        """Format of the doubts."""
        return self.output_format or ("jsonl" if self.output else "table")

    @property
    def has_table(self) -> bool:
        """Whether a table is printed or written."""
        return not self.as_json and bool(self.output or self.chosen_format == "table")


@takes_options
def audit_command(context: typer.Context, options: AuditOptions) -> None:
    """Find gold labels that are probably wrong.

    Each part of the corpus is predicted by a model that was trained on the others, with the
    options of `tagkit train`. Where it contradicts gold, a person should look; the most doubtful
    labels come first. The corpus stays as it is, and the models are not kept.
    """  # fmt: skip
    from tagkit.config import refuse_without_effect

    _refuse_unused(options)
    settings = load_settings(options.config, options.overrides, flags_of(options))
    # `audit` checks this too. Here it comes before torch is imported, and names the file.
    refuse_without_effect(settings, str(options.config or "configuration"))
    _check_places(options, settings)  # before hours of training
    found = _audited(options, settings, context.obj)
    _write(found, options)
    if options.as_json:
        typer.echo(to_json(found.to_dict()))
    elif options.has_table:
        from tagkit.cli.program.messages import show_lines, width_of
        from tagkit.evaluation.analysis.label_errors import audit_lines

        top = _TOP if options.top is None else options.top
        show_lines(audit_lines(found, top, width_of(sys.stdout)))
    written = [path for path in (options.output, options.weights, options.html) if path]
    if written and not options.quiet:
        from tagkit.cli.program.console import show_line

        show_line(f"written: {', '.join(written)}")
        if options.weights:
            show_line(f"Next: {_next_command(options)}")


def _refuse_unused(options: AuditOptions) -> None:
    """Refuse options that would have no effect; in a configuration those of training may stand.

    Raises:
        typer.BadParameter: one is given on the command line.
    """
    if options.as_json and options.output_format:
        raise typer.BadParameter("--json prints one object; --format is for a list of doubts")
    has_top, has_epsilon = options.top is not None, options.epsilon is not None
    refuse({"--top": has_top and not options.has_table}, "is for the table, which is not printed")
    refuse({"--epsilon": has_epsilon and not options.weights}, "is for --weights")
    for each in options.overrides or ():
        if reason := _UNUSED.get(each.partition("=")[0].strip()):
            raise typer.BadParameter(f"--set {each}: {reason}")


def _check_places(options: AuditOptions, settings: "Config") -> None:
    """Refuse a file that exists, that is an input, or that is named twice.

    Raises:
        DataError: it cannot be written.
        typer.BadParameter: two options name one file.
    """
    from tagkit.corpus.formats.folders.file_sets import files_of
    from tagkit.storage.places import refuse_input, require_file_name, require_name, require_place

    data, vectors = settings.data, settings.embeddings.vectors
    inputs = (options.corpus, data.dev_file, data.weights, vectors, options.config)
    read = [file for path in inputs if path for file in files_of(str(path))]
    places = {"--output": options.output, "--weights": options.weights, "--html": options.html}
    flags: dict[Path, str] = {}
    for flag, path in places.items():
        if path and flag == "--html":
            from tagkit.cli.shown.report_page import check_page

            check_page(path, [*map(str, read)], [])
        elif path:
            require_name(path, flag)
            require_file_name(path)
            refuse_input(Path(path), read)
            require_place(Path(path), replace=options.force)
        if path and (other := flags.setdefault(Path(path).absolute(), flag)) != flag:
            raise typer.BadParameter(f"{other} and {flag} name one file")


def _audited(options: AuditOptions, settings: "Config", started_s: float) -> "Audit":
    """The audit; its progress is shown unless --quiet is given.

    Raises:
        typer.Exit: a signal stopped it.
    """
    # Importing torch takes seconds: a signal that comes meanwhile must be handled already.
    try:
        with stop_on_signal() as stop:
            from tagkit.cli.shown.several_progress import AuditProgress
            from tagkit.training.several.audit import AuditListener, audit

            shown = AuditProgress(options.folds * options.repeats)
            with nullcontext(AuditListener()) if options.quiet else shown as listener:
                return audit(
                    settings, folds=options.folds, repeats=options.repeats,
                    folds_by=options.folds_by, listener=listener, stop=stop, started_s=started_s,
                )  # fmt: skip
    except Interrupted as error:  # there is nothing to resume
        from tagkit.cli.program.process import say
        from tagkit.wording import message_line

        say(message_line(f"{error}, and nothing is written"))
        raise typer.Exit(status_of(error)) from None


def _write(found: "Audit", options: AuditOptions) -> None:
    """Write the files that are asked for; a list of doubts to standard output without one."""
    from tagkit.storage import open_output

    if options.weights:
        from tagkit.corpus.splits.weights import write_weights

        weights = found.weights(EPSILON if options.epsilon is None else options.epsilon)
        write_weights(Path(options.weights), found.sentences, weights, force=options.force)
    if options.output or (options.chosen_format == "jsonl" and not options.as_json):
        from tagkit.evaluation.analysis.label_errors import audit_lines

        path = Path(options.output) if options.output else None
        lines = audit_lines(found, len(found.doubts))
        if options.chosen_format == "jsonl":
            lines = (to_json({"file": found.corpus, **each.to_dict()}) for each in found.doubts)
        with open_output(path, replace=options.force) as write:
            for line in lines:
                write(f"{line}\n")
    if options.html:
        from tagkit.evaluation.html_report.page import Part, report_page

        page = report_page(f"Labels in doubt in {found.corpus}", "", [Part("", found)])
        with open_output(Path(options.html)) as write:
            write(page)


def _next_command(options: AuditOptions) -> str:
    """The command that reads the corpus in the same way, and trains with the weights."""
    from tagkit.cli.commands.train import train_command
    from tagkit.wording import as_argument

    names = flags_by_name(train_command)
    given: list[tuple[str, object]] = [
        (names[name], value)
        for name, value in flags_of(options).items()
        if value is not None and name.partition(".")[0] in ("task", "data")
    ]
    if options.config:
        given.insert(0, ("--config", options.config))
    given += [("--set", each) for each in options.overrides or ()]
    given.append(("--set", f"data.weights={options.weights}"))
    # A column may be -1, which would be taken for an option.
    words = [f"{flag}{'=' if str(value).startswith('-') else ' '}{as_argument(value)}"
             for flag, value in given]  # fmt: skip
    return f"tagkit train {' '.join(words)}"
