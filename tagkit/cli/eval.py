"""`tagkit eval`."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagkit.cli.completion import complete_column, values_of
from tagkit.cli.options import (
    Device,
    Encoding,
    InputFormat,
    OnMisaligned,
    TagColumn,
    Threads,
    TokenColumn,
    column,
    tag_columns,
)
from tagkit.limits import BATCH_SIZE
from tagkit.text.json_text import to_json

if TYPE_CHECKING:
    from tagkit.config import Column, DataConfig
    from tagkit.corpus.dataset import Split
    from tagkit.evaluation.report import Report

# \b keeps click from joining the lines.
EXAMPLES = """\b
Examples:
  tagkit eval models/travel data/travel/test.conll
  tagkit eval --gold test.conll --pred tagged.conll --strict --json
  tagkit eval --gold test.jsonl --pred tagged.jsonl
  tagkit eval --gold dev.conllu --pred tagged.conllu --tag-column UPOS
  tagkit eval models/travel data/travel/test.conll --errors --interval
  tagkit eval --gold test.conll --pred a.conll --pred b.conll
"""


def eval_command(
    # The usage line shows one pair of brackets, [MODEL FILE]: both are given or neither. typer does
    # not check that the folder can be read, as the loader says more precisely what is wrong.
    model: Annotated[
        Path | None,
        typer.Argument(
            help="Folder of a model.", metavar="MODEL", show_default=False, readable=False
        ),
    ] = None,
    file: Annotated[
        str | None,
        typer.Argument(
            help="Corpus with gold tags or classes.", metavar="FILE", show_default=False
        ),
    ] = None,
    gold: Annotated[
        str | None,
        typer.Option(help="File with gold tags, spans or classes.", metavar="FILE"),
    ] = None,
    pred: Annotated[
        list[str] | None,
        typer.Option(
            help="The same tokens or texts with predictions, in the same format or another; "
            "several times to compare systems.",
            metavar="FILE",
            show_default="the gold file",
        ),
    ] = None,
    input_format: InputFormat = None,
    on_misaligned: OnMisaligned = None,
    token_column: TokenColumn = None,
    tag_column: TagColumn = None,
    pred_column: Annotated[
        str | None,
        typer.Option(
            help="Column of the predicted tags.",
            metavar="N|NAME",
            show_default="-1; of CoNLL-U, that of the gold tags",
            autocompletion=complete_column,
        ),
    ] = None,
    scheme: Annotated[
        str,
        typer.Option(
            help="Tag scheme of the files: auto, iob1, iob2, iobes, bilou or labels.",
            metavar="SCHEME",
            autocompletion=values_of("data.scheme"),
        ),
    ] = "auto",
    strict: Annotated[bool, typer.Option("--strict", help="Count well-formed spans only.")] = False,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify", help="Score again with seqeval, in both modes, and compare the numbers."
        ),
    ] = False,
    measures: Annotated[
        bool,
        typer.Option(
            "--measures", help="Add strict, exact, partial, type and surface-form scores of spans."
        ),
    ] = False,
    errors: Annotated[
        bool,
        typer.Option(
            "--errors", help="Add the kinds of error, what each costs, and examples in context."
        ),
    ] = False,
    slices: Annotated[
        bool,
        typer.Option(
            "--slices", help="Add scores by length and, with --train, by what training has seen."
        ),
    ] = False,
    train: Annotated[
        str | None, typer.Option(help="Training corpus, for --slices.", metavar="FILE")
    ] = None,
    interval: Annotated[
        bool,
        typer.Option("--interval", help="Add the 95 % bootstrap interval of the main score."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    encoding: Encoding = None,
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Sentences per batch.", metavar="N", show_default=f"{BATCH_SIZE}"),
    ] = None,
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Score a model, or predictions, against gold labels.

    With --gold alone, a column file holds both: gold tags in the last column but one, predicted
    tags in the last one.
    """
    # Imported here, as all below: `--help` and a wrong command line need neither rich nor torch.
    from tagkit.cli.console import note
    from tagkit.cli.messages import show_lines
    from tagkit.cli.reports import confusion_lines
    from tagkit.cli.terminal import DEFAULT_WIDTH, width_of
    from tagkit.config import load_config
    from tagkit.evaluation.report_text import report_lines

    by_model = model is not None and file is not None
    if by_model == bool(gold) or (pred and not gold) or (model and not by_model):
        raise typer.BadParameter(
            "expected either MODEL FILE, or --gold FILE and perhaps --pred FILE"
        )
    # What would have no effect is refused: an option that is ignored hides a mistake.
    if by_model and pred_column is not None:
        raise typer.BadParameter("--pred-column is for --gold: a model predicts its tags itself")
    if gold:
        of_models = {
            "--batch-size": batch_size is not None,
            "--device": device != "auto",
            "--threads": threads is not None,
            "--on-misaligned": on_misaligned is not None,
        }
        for option, given in of_models.items():
            if given:
                raise typer.BadParameter(f"{option} is for a model: --gold compares files")
    asked = {"measures": measures, "errors": errors, "slices": slices, "interval": interval}
    names = [name for name, is_asked in asked.items() if is_asked]
    if train is not None and not slices:
        raise typer.BadParameter("--train is for --slices")
    for_one = [*names, "verify"] if verify else names
    _refuse_for_systems(gold, pred or [], for_one)
    # None leaves a key as it is; with a model the missing ones are those of its training.
    flags = {
        "data.format": input_format,
        "data.on_misaligned": on_misaligned,
        "data.token_column": column(token_column),
        "data.tag_column": tag_columns(tag_column),
        "data.scheme": scheme,
        "data.encoding": encoding,
    }
    data = load_config(flags=flags).data
    if gold and pred and len(pred) > 1:
        _show_systems(gold, pred, data, column(pred_column), strict, as_json)
        return
    seen: Split | None = None
    if gold:  # no model and so no torch, which takes seconds to import
        from tagkit.evaluation.analysis import read_training
        from tagkit.evaluation.compare import compare_files

        found_in = pred[0] if pred else None
        keep = verify or bool(names)
        report: Report = compare_files(
            gold, found_in, data, column(pred_column), strict, note, keep_labels=keep
        )
        if train is not None:
            seen = read_training(train, data, note)
    else:
        from tagkit.inference.predictor import load
        from tagkit.inference.score import gold_split, score_model
        from tagkit.models.device import set_threads

        set_threads(threads)
        predictor = load(model or "", device)
        report = score_model(predictor, file or "", data, strict, batch_size or BATCH_SIZE, note)
        if train is not None:
            seen = gold_split(predictor, train, data)
    analysis = None
    if names:
        from tagkit.evaluation.analysis import analyse

        analysis = analyse(report, names, seen)
    found = None
    if verify:
        # Before anything is printed: what cannot be verified is an error without output.
        # seqeval brings scikit-learn, most of a second.
        from tagkit.corpus.formats.source import source_name
        from tagkit.evaluation.verify import verify_report

        found = verify_report(report, source_name(gold or file or ""))
    if as_json:
        typer.echo(to_json(report.to_dict() | (analysis.to_dict() if analysis else {})))
    else:
        width = width_of(sys.stdout)
        lines = [*report_lines(report, width), *confusion_lines(report, width or DEFAULT_WIDTH)]
        if analysis is not None:
            from tagkit.evaluation.analysis_text import analysis_lines

            lines += analysis_lines(analysis, width)
        show_lines(lines)
    if found:  # to standard error: standard output may be JSON
        for line in found.lines():
            note(line)
        if found.disagreements:  # after the report, so that the user sees what differs
            raise typer.Exit(1)


def _refuse_for_systems(gold: str | None, pred: Sequence[str], options: Sequence[str]) -> None:
    """Refuse what has no meaning for several systems.

    Raises:
        typer.BadParameter: there is such an option, or the gold file can be read but once.
    """
    if len(pred) < 2:
        return
    if options:
        raise typer.BadParameter(f"--{options[0]} is for one system, with --pred once")
    if gold == "-":
        raise typer.BadParameter(
            "several systems need a file with gold labels: --gold - is read once"
        )


def _show_systems(
    gold: str,
    files: Sequence[str],
    data: "DataConfig",
    pred_column: "Column | None",
    strict: bool,
    as_json: bool,
) -> None:
    """Print the comparison of several systems."""
    from tagkit.cli.console import note
    from tagkit.cli.messages import show_lines
    from tagkit.cli.terminal import short_paths, width_of
    from tagkit.corpus.formats.source import source_name
    from tagkit.evaluation.analysis_text import systems_lines
    from tagkit.evaluation.compare import compare_files
    from tagkit.evaluation.systems import compare_systems

    said: set[str] = set()

    def note_once(text: str) -> None:  # the gold file is read for each system
        if text not in said:
            said.add(text)
            note(text)

    systems = compare_systems(
        [
            (
                source_name(file),
                compare_files(gold, file, data, pred_column, strict, note_once, keep_labels=True),
            )
            for file in files
        ]
    )
    if as_json:
        typer.echo(to_json(systems.to_dict()))
        return
    short = short_paths(files)
    show_lines(systems_lines(systems, [short[file] for file in files], width_of(sys.stdout)))
