"""`tagkit eval`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagkit.cli.cache_options import Cache, CacheShare, CacheTheta, CacheWindow, cache_of
from tagkit.cli.completion import complete_column, values_of
from tagkit.cli.options import (
    Device,
    Encoding,
    InputFormat,
    LabelColumn,
    OnMisaligned,
    TagColumn,
    TextColumn,
    Threads,
    TokenColumn,
    column,
    tag_columns,
)
from tagkit.cli.refusals import refuse
from tagkit.errors import DataError
from tagkit.limits import BATCH_SIZE

if TYPE_CHECKING:
    from tagkit.evaluation.conformal import SetReport

# \b keeps click from joining the lines.
EXAMPLES = """\b
Examples:
  tagkit eval models/travel data/travel/test.conll
  tagkit eval --gold test.conll --pred tagged.conll --strict --json
  tagkit eval --gold test.jsonl --pred tagged.jsonl
  tagkit eval --gold dev.conllu --pred tagged.conllu --tag-column UPOS
  tagkit eval models/travel data/travel/test.conll --errors --interval
  tagkit eval --gold test.conll --pred a.conll --pred b.conll
  tagkit eval models/first models/second test.conll
  tagkit eval models/mine test.conll --train train.conll --html report.html
  tagkit eval models/novel test.txt --cache
"""


def eval_command(
    # typer does not check that the folder can be read, as the loader says more precisely what is
    # wrong.
    models: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folder of a model; several are compared.",
            metavar="MODEL",
            show_default=False,
            readable=False,
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
            "several times to compare systems; several files with commas between them are runs "
            "of one system.",
            metavar="FILE",
            show_default="the gold file",
        ),
    ] = None,
    input_format: InputFormat = None,
    on_misaligned: OnMisaligned = None,
    token_column: TokenColumn = None,
    tag_column: TagColumn = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
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
            help="Tag scheme of the files: auto, iob1, iob2, iobes, bilou, bmes or labels.",
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
        str | None, typer.Option(help="Training corpus, for --slices and --html.", metavar="FILE")
    ] = None,
    interval: Annotated[
        bool,
        typer.Option("--interval", help="Add the 95 % bootstrap interval of the main score."),
    ] = False,
    coverage: Annotated[
        float | None,
        typer.Option(
            help="Add how often sets of this coverage, 0.5 to 0.99, hold the gold answer; for a "
            "calibrated model.",
            metavar="P",
            show_default="no sets",
        ),
    ] = None,
    calibration: Annotated[
        bool,
        typer.Option(
            "--calibration",
            help="Add how far probabilities can be trusted, and scores by threshold.",
        ),
    ] = False,
    cache: Cache = False,
    cache_window: CacheWindow = None,
    cache_theta: CacheTheta = None,
    cache_share: CacheShare = None,
    html: Annotated[
        str | None,
        typer.Option(
            help="Also write the report as a page for a browser, with all analyses that have a "
            "meaning for the labels, asked for or not. A page that exists is replaced.",
            metavar="FILE",
        ),
    ] = None,
    curve: Annotated[
        Path | None,
        typer.Option(
            help="learning-curve.json of tagkit learning-curve, for --html.",
            readable=False,
            metavar="FILE",
        ),
    ] = None,
    audit: Annotated[
        Path | None,
        typer.Option(
            help="Output of tagkit audit --json, for --html.", readable=False, metavar="FILE"
        ),
    ] = None,
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
    from tagkit.cli.eval_report import show_report
    from tagkit.cli.eval_systems import runs_of, show_systems
    from tagkit.config import load_config

    several = len(models or ()) > 1 or sum(len(runs_of(each)) for each in pred or ()) > 1
    asked = {
        "measures": measures,
        "errors": errors,
        "slices": slices,
        "interval": interval,
        "calibration": calibration,
    }
    names = [name for name, is_asked in asked.items() if is_asked]
    if bool(models and file) == bool(gold) or (pred and not gold) or bool(models) != bool(file):
        raise typer.BadParameter(
            "expected either MODEL FILE, or --gold FILE and perhaps --pred FILE"
        )
    # What would have no effect is refused: an option that is ignored hides a mistake.
    of_models = {
        "--batch-size": batch_size is not None,
        "--coverage": coverage is not None,
        "--device": device != "auto",
        "--threads": threads is not None,
        "--cache": cache,
    }
    refuse(of_models if gold else {}, "is for a model: --gold compares files")
    refuse(
        {"--pred-column": not gold and pred_column is not None},
        "is for --gold: a model predicts its tags itself",
    )
    refuse(
        {"--coverage": coverage is not None and file == "-"},
        "needs a file: standard input is read once",
    )
    of_slices = slices or (html is not None and not several)
    refuse(
        {"--train": train is not None and not of_slices},
        "is for --slices or --html, with one system",
    )
    of_page = {"--curve": curve is not None, "--audit": audit is not None}
    refuse(of_page if html is None else {}, "is for --html")
    of_labels = {f"--{name}": True for name in names}
    of_labels |= {"--verify": verify, "--coverage": coverage is not None}
    for_one = {**of_labels, "--cache": cache} if several else {}
    refuse(for_one, "is for one system: one MODEL, or one file of --pred")
    cache_options = cache_of(cache, cache_window, cache_theta, cache_share)
    # None leaves a key as it is; with a model the missing ones are those of its training.
    flags = {
        "data.format": input_format,
        "data.on_misaligned": on_misaligned,
        "data.token_column": column(token_column),
        "data.tag_column": tag_columns(tag_column),
        "data.text_column": column(text_column),
        "data.label_column": column(label_column),
        "data.scheme": scheme,
        "data.encoding": encoding,
    }
    data = load_config(flags=flags).data
    from tagkit.inference.scoring import Scoring

    size = batch_size or BATCH_SIZE
    scoring = Scoring(data, column(pred_column), strict, size, note, cache_options)
    if models:  # else no torch, which takes seconds to import
        from tagkit.models.device import set_threads

        set_threads(threads)
    corpus = gold or file or ""
    page = None
    if html is not None:
        from tagkit.cli.report_page import ReportPage

        read = [file for each in pred or () for file in runs_of(each)]
        scored = [*map(str, models or ()), *read, corpus][0]
        read += [] if train is None else [train]
        page = ReportPage(html, curve, audit, scored, corpus, models or (), read)
    if several:
        show_systems(scoring, corpus, models or (), pred or (), device, page, as_json=as_json)
        return
    predictor = None
    if models:
        from tagkit.inference.predictor import load

        predictor = load(models[0], device)
        if not predictor.task.annotates:
            of_labels |= {"--html": html is not None}
            for option, is_given in of_labels.items():
                if is_given:  # as --strict: what the model is, the command line does not show
                    raise DataError(f"this is a language model: {option} is for labels")
            if batch_size is not None:
                raise DataError("--batch-size has no effect on a language model")
    report = scoring.report(
        corpus,
        pred[0] if pred else None,
        predictor,
        keep=verify or bool(names or page),
        confidence=calibration or page is not None,
    )
    sets: Mapping[str, SetReport] = {}
    if predictor is not None and coverage is not None:
        from tagkit.inference.evaluate_sets import evaluate_sets

        sets = evaluate_sets(
            corpus, coverage, model=predictor, batch_size=scoring.batch_size,
            **data.model_dump(exclude_defaults=True),
        )  # fmt: skip
    analysis = None
    seen = None if train is None else scoring.training(train, predictor)
    if names:
        from tagkit.evaluation.analysis import analyse
        from tagkit.inference.collection import without_collection

        with without_collection():
            analysis = analyse(report, names, seen)
    found = None
    if verify:
        # Before anything is printed: what cannot be verified is an error without output.
        # seqeval brings scikit-learn, most of a second.
        from tagkit.corpus.formats.source import source_name
        from tagkit.evaluation.verify import verify_report

        found = verify_report(report, source_name(corpus))
    show_report(report, analysis, sets, as_json=as_json)
    if page is not None:
        page.write_report(report, seen, sets)
    if found:  # to standard error: standard output may be JSON
        for line in found.lines():
            note(line)
        if found.disagreements:  # after the report, so that the user sees what differs
            raise typer.Exit(1)
