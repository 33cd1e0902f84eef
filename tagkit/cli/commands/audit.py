"""`tagkit audit`."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tagkit.cli.program.options import (
    DevFile,
    Encoding,
    InputFormat,
    LabelColumn,
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
    TrainWorkers,
    corpus_options,
    load_settings,
)
from tagkit.cli.program.refusals import refuse
from tagkit.cli.program.signals import status_of, stop_on_signal
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

# \b keeps click from joining the lines below it.
EXAMPLES = """\b
Examples:
  tagkit audit train.conll
  tagkit audit train.conll --folds 10 --repeats 3 --weights weights.jsonl
  tagkit train --train train.conll --set data.weights=weights.jsonl
  tagkit audit train.conll --folds-by entity -o doubts.jsonl --html doubts.html
  tagkit audit train.tsv --task classify --top 50
"""


def audit_command(
    context: typer.Context,
    corpus: Annotated[
        str,
        typer.Argument(help="Corpus with gold labels.", metavar="CORPUS", show_default=False),
    ],
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            help="Configuration file in TOML.",
            readable=False,
            metavar="FILE",
            show_default="none",
        ),
    ] = None,
    task: TaskOfLabels = None,
    dev: DevFile = None,
    folds: Annotated[
        int, typer.Option(min=2, help="Parts of the corpus; one model for each.", metavar="N")
    ] = 5,
    repeats: Annotated[
        int, typer.Option(min=1, help="How often, with other folds each time.", metavar="N")
    ] = 1,
    folds_by: Annotated[
        Literal["sentence", "entity"],
        typer.Option(
            help="With entity, models learn from no sentence that shares an entity with the fold."
        ),
    ] = "sentence",
    top: Annotated[
        int | None,
        typer.Option(
            min=0, help="Number of doubts in the table.", metavar="N", show_default=f"{_TOP}"
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", help="File for all doubts.", metavar="FILE", show_default="none"
        ),
    ] = None,
    output_format: Annotated[
        Literal["table", "jsonl"] | None,
        typer.Option(
            "--format", help="Format of the doubts.", show_default="table; jsonl with --output"
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the whole audit as one JSON object.")
    ] = False,
    weights: Annotated[
        str | None,
        typer.Option(
            help="File for a weight of each sentence, for data.weights of training.",
            metavar="FILE",
            show_default="none",
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Factor of a sentence's weight for each model that contradicts it.",
            metavar="X",
            show_default=f"{EPSILON}",
        ),
    ] = None,
    html: Annotated[
        str | None,
        typer.Option(
            help="Also write the audit as a page for a browser. A page that exists is replaced.",
            metavar="FILE",
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
    device: TrainDevice = None,
    threads: Threads = None,
    workers: TrainWorkers = None,
    max_minutes: Annotated[float | None, typer.Option(metavar="M")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the files of --output and --weights.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Find gold labels that are probably wrong.

    Each part of the corpus is predicted by a model that was trained on the others, with the
    options of `tagkit train`. Where it contradicts gold, a person should look; the most doubtful
    labels come first. The corpus stays as it is, and the models are not kept.
    """  # fmt: skip
    from tagkit.config import refuse_without_effect

    if as_json and output_format:
        raise typer.BadParameter("--json prints one object; --format is for a list of doubts")
    chosen = output_format or ("jsonl" if output else "table")
    has_table = not as_json and bool(output or chosen == "table")
    refuse({"--top": top is not None and not has_table}, "is for the table, which is not printed")
    refuse({"--epsilon": epsilon is not None and not weights}, "is for --weights")
    _refuse_unused(overrides or ())
    flags = {
        "task": task,
        "data.train_file": corpus,
        "data.dev_file": dev,
        **corpus_options(context),
        "train.seed": seed,
        "train.device": device,
        "train.threads": threads,
        "train.workers": workers,
        "train.max_minutes": max_minutes,
    }
    settings = load_settings(config, overrides, flags)
    # `audit` checks this too. Here it comes before torch is imported, and names the file.
    refuse_without_effect(settings, str(config or "configuration"))
    # Before hours of training: what is written has its place.
    also = (settings.data.dev_file, settings.data.weights, settings.embeddings.vectors, config)
    inputs = [corpus, *(str(path) for path in also if path)]
    _check_places(inputs, {"--output": output, "--weights": weights}, html, force=force)
    found = _audited(
        settings, folds=folds, repeats=repeats, folds_by=folds_by, started_s=context.obj,
        quiet=quiet,
    )  # fmt: skip
    if weights:
        _write_weights(Path(weights), found, epsilon, force=force)
    if output or (chosen == "jsonl" and not as_json):
        _write_doubts(Path(output) if output else None, found, chosen, force=force)
    if as_json:
        typer.echo(to_json(found.to_dict()))
    elif has_table:
        _show_table(found, top)
    if html is not None:
        _write_page(Path(html), found)
    if not quiet and (weights or output or html):
        # What says how the corpus is read and a model is made of it.
        options = {
            "--config": config, "--task": task, "--train": corpus, "--dev": dev,
            "--input-format": input_format, "--on-misaligned": on_misaligned,
            "--token-column": token_column, "--tag-column": tag_column, "--encoding": encoding,
            "--set": [*(overrides or ()), *([f"data.weights={weights}"] if weights else ())],
        }  # fmt: skip
        _note_next_command([output, weights, html], options if weights else {})


def _refuse_unused(overrides: Sequence[str]) -> None:
    """Refuse options of training that an audit does not read; in a configuration they may stand.

    Raises:
        typer.BadParameter: one is set on the command line.
    """
    for each in overrides:
        if reason := _UNUSED.get(each.partition("=")[0].strip()):
            raise typer.BadParameter(f"--set {each}: {reason}")


def _check_places(
    inputs: Sequence[str], places: dict[str, str | None], html: str | None, *, force: bool
) -> None:
    """Refuse a file that exists, that is an input, or that is named twice.

    Raises:
        DataError: it cannot be written.
        typer.BadParameter: two options name one file.
    """
    from tagkit.corpus.formats.folders.file_sets import files_of
    from tagkit.storage.places import (
        refuse_input,
        require_file_name,
        require_name,
        require_place,
    )

    read = [file for path in inputs for file in files_of(path)]
    named = {flag: path for flag, path in places.items() if path is not None}
    for flag, path in named.items():
        require_name(path, flag)
        require_file_name(path)
        refuse_input(Path(path), read)
        require_place(Path(path), replace=force)
    if html is not None:
        from tagkit.cli.shown.report_page import check_page

        check_page(html, [*map(str, read)], [])
        named["--html"] = html
    flags: dict[Path, str] = {}
    for flag, path in named.items():
        other = flags.setdefault(Path(path).absolute(), flag)
        if other != flag:
            raise typer.BadParameter(f"{other} and {flag} name one file")


def _audited(
    settings: "Config",
    *,
    folds: int,
    repeats: int,
    folds_by: Literal["sentence", "entity"],
    started_s: float,
    quiet: bool,
) -> "Audit":
    """The audit; its progress is shown unless `quiet`.

    Raises:
        typer.Exit: a signal stopped it.
    """
    # Importing torch takes seconds: a signal that comes meanwhile must be handled already.
    try:
        with stop_on_signal() as stop:
            from tagkit.cli.shown.several_progress import AuditProgress
            from tagkit.training.several.audit import AuditListener, audit

            shown = AuditProgress(folds * repeats)
            with nullcontext(AuditListener()) if quiet else shown as listener:
                return audit(
                    settings, folds=folds, repeats=repeats, folds_by=folds_by, listener=listener,
                    stop=stop, started_s=started_s,
                )  # fmt: skip
    except Interrupted as error:  # there is nothing to resume
        from tagkit.cli.program.streams import say
        from tagkit.wording import message_line

        say(message_line(f"{error}, and nothing is written"))
        raise typer.Exit(status_of(error)) from None


def _write_weights(path: Path, found: "Audit", epsilon: float | None, *, force: bool) -> None:
    from tagkit.corpus.splits.weights import write_weights

    weights = found.weights(EPSILON if epsilon is None else epsilon)
    write_weights(path, found.sentences, weights, force=force)


def _write_doubts(path: Path | None, found: "Audit", output_format: str, *, force: bool) -> None:
    """Write all doubts to a file, or to standard output."""
    from tagkit.evaluation.analysis.label_errors import audit_lines
    from tagkit.storage import open_output

    with open_output(path, replace=force) as write:
        if output_format == "jsonl":
            for doubt in found.doubts:
                write(to_json({"file": found.corpus, **doubt.to_dict()}) + "\n")
        else:
            for line in audit_lines(found, len(found.doubts)):
                write(f"{line}\n")


def _show_table(found: "Audit", top: int | None) -> None:
    from tagkit.cli.program.messages import show_lines
    from tagkit.cli.program.terminal import width_of
    from tagkit.evaluation.analysis.label_errors import audit_lines

    show_lines(audit_lines(found, _TOP if top is None else top, width_of(sys.stdout)))


def _write_page(html: Path, found: "Audit") -> None:
    from tagkit.evaluation.html_report.page import Part, report_page
    from tagkit.storage import open_output

    page = report_page(f"Labels in doubt in {found.corpus}", "", [Part("", found)])
    with open_output(html) as write:
        write(page)


def _note_next_command(places: Sequence[str | None], options: Mapping[str, object]) -> None:
    """Say what was written, and the command that trains with `options`, where there are some."""
    from tagkit.cli.program.console import note
    from tagkit.wording import as_argument

    note(f"written: {', '.join(path for path in places if path)}")
    words = []
    for flag, given in options.items():
        for value in given if isinstance(given, list) else [given]:
            if value is not None:  # a column may be -1, which would be taken for an option
                parted = "=" if str(value).startswith("-") else " "
                words.append(f"{flag}{parted}{as_argument(value)}")
    if words:
        note(f"Next: tagkit train {' '.join(words)}")
