"""`tagkit eval`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagkit.cli.program.completion import complete_column, values_of
from tagkit.cli.program.option_fields import Sets, flags_of, given_flags, takes_options
from tagkit.cli.program.options import (
    AsJson,
    Columns,
    Encoding,
    InputFormat,
    OnMisaligned,
    Predicting,
    tag_columns,
)
from tagkit.cli.program.refusals import refuse
from tagkit.errors import DataError
from tagkit.limits import BATCH_SIZE, CACHE_SHARE, CACHE_THETA, CACHE_THETA_MAX, CACHE_WINDOW

if TYPE_CHECKING:  # their modules import torch
    from tagkit.cli.shown.report_page import ReportPage
    from tagkit.inference.predict.predictor import Predictor
    from tagkit.nn.softmax.neural_cache import CacheOptions

# Options that not every evaluation has a use for, in the order in which they are refused.
_ANALYSES = ("--measures", "--errors", "--slices", "--interval", "--calibration")
_OF_LABELS = (*_ANALYSES, "--verify", "--coverage")
_OF_MODELS = ("--batch-size", "--coverage", "--device", "--threads", "--cache")

EXAMPLES = """\
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


@dataclass(frozen=True, kw_only=True)
class CacheSettings:
    """The neural cache of `tagkit eval`."""

    cache: Annotated[
        bool,
        typer.Option(
            help="Mix a neural cache of the preceding text into the probabilities of a language "
            "model."
        ),
    ] = False
    cache_window: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Units that the cache reaches back.",
            metavar="N",
            show_default=f"{CACHE_WINDOW}",
        ),
    ] = None
    cache_theta: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=CACHE_THETA_MAX,
            help="How much the cache prefers the states that are most like the present one; 0 for "
            "not at all.",
            metavar="T",
            show_default=f"{CACHE_THETA}",
        ),
    ] = None
    cache_share: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Share of the cache in a probability, below 1.",
            metavar="L",
            show_default=f"{CACHE_SHARE}",
        ),
    ] = None

    def chosen(self) -> "CacheOptions | None":
        """The options of the cache; None where there is none.

        Raises:
            typer.BadParameter: an option is given without the cache.
        """
        if not self.cache:
            refuse(given_flags(self), "is for --cache")
            return None
        from tagkit.nn.softmax.neural_cache import CacheOptions

        window, theta, share = self.cache_window, self.cache_theta, self.cache_share
        return CacheOptions(
            window=CACHE_WINDOW if window is None else window,
            theta=CACHE_THETA if theta is None else theta,
            share=CACHE_SHARE if share is None else share,
        )


@dataclass(frozen=True, kw_only=True)
class EvalOptions:
    """The options of `tagkit eval`."""

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
    ] = None
    file: Annotated[
        str | None,
        typer.Argument(
            help="Corpus with gold tags or classes.", metavar="FILE", show_default=False
        ),
    ] = None
    gold: Annotated[
        str | None,
        typer.Option(help="File with gold tags, spans or classes.", metavar="FILE"),
    ] = None
    pred: Annotated[
        list[str] | None,
        typer.Option(
            help="The same tokens or texts with predictions, in the same format or another; "
            "several times to compare systems; several files with commas between them are runs "
            "of one system.",
            metavar="FILE",
            show_default="the gold file",
        ),
    ] = None
    input_format: InputFormat = None
    on_misaligned: OnMisaligned = None
    columns: Columns
    pred_column: Annotated[
        str | None,
        typer.Option(
            help="Column of the predicted tags, or several with commas.",
            metavar="N|NAME",
            show_default="-1; of CoNLL-U, that of the gold tags",
            autocompletion=complete_column,
        ),
    ] = None
    scheme: Annotated[
        str,
        typer.Option(
            help="Tag scheme of the files: auto, iob1, iob2, iobes, bilou, bmes, io or labels.",
            metavar="SCHEME",
            autocompletion=values_of("data.scheme"),
        ),
        Sets("data.scheme"),
    ] = "auto"
    strict: Annotated[bool, typer.Option(help="Count well-formed spans only.")] = False
    verify: Annotated[
        bool, typer.Option(help="Score again with seqeval, in both modes, and compare the numbers.")
    ] = False
    measures: Annotated[
        bool,
        typer.Option(help="Add strict, exact, partial, type and surface-form scores of spans."),
    ] = False
    errors: Annotated[
        bool, typer.Option(help="Add the kinds of error, what each costs, and examples in context.")
    ] = False
    slices: Annotated[
        bool,
        typer.Option(help="Add scores by length and, with --train, by what training has seen."),
    ] = False
    train: Annotated[
        str | None, typer.Option(help="Training corpus, for --slices and --html.", metavar="FILE")
    ] = None
    interval: Annotated[
        bool, typer.Option(help="Add the 95 % bootstrap interval of the main score.")
    ] = False
    coverage: Annotated[
        float | None,
        typer.Option(
            help="Add how often sets of this coverage, 0.5 to 0.99, hold the gold answer; for a "
            "calibrated model.",
            metavar="P",
            show_default="no sets",
        ),
    ] = None
    calibration: Annotated[
        bool,
        typer.Option(help="Add how far probabilities can be trusted, and scores by threshold."),
    ] = False
    neural_cache: CacheSettings
    html: Annotated[
        str | None,
        typer.Option(
            help="Also write the report as a page for a browser, with all analyses that have a "
            "meaning for the labels, asked for or not. A page that exists is replaced.",
            metavar="FILE",
        ),
    ] = None
    curve: Annotated[
        Path | None,
        typer.Option(
            help="learning-curve.json of tagkit learning-curve, for --html.",
            readable=False,
            metavar="FILE",
        ),
    ] = None
    audit: Annotated[
        Path | None,
        typer.Option(
            help="Output of tagkit audit --json, for --html.", readable=False, metavar="FILE"
        ),
    ] = None
    as_json: AsJson = False
    encoding: Encoding = None
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, help="Sentences per batch.", metavar="N", show_default=f"{BATCH_SIZE}"),
    ] = None
    prediction: Predicting


@takes_options
def eval_command(options: EvalOptions) -> None:
    """Score a model, or predictions, against gold labels.

    With --gold alone, a column file holds both: gold tags in the last column but one, predicted
    tags in the last one.
    """
    # Imported here, as all below: `--help` and a wrong command line need neither rich nor torch.
    from tagkit.cli.program.console import note
    from tagkit.cli.shown.eval_report import Wanted, runs_of, show_system, show_systems
    from tagkit.config import load_config

    models, gold, file, preds = options.models or (), options.gold, options.file, options.pred or ()
    if bool(models and file) == bool(gold) or (preds and not gold) or bool(models) != bool(file):
        raise typer.BadParameter(
            "expected either MODEL FILE, or --gold FILE and perhaps --pred FILE"
        )
    read = [run for each in preds for run in runs_of(each)]
    several = len(models) > 1 or len(read) > 1
    given = given_flags(options)
    _refuse_without_effect(given, of_files=bool(gold), several=several, typed=file == "-")
    cache = options.neural_cache.chosen()
    # None leaves a key as it is; with a model the missing ones are those of its training.
    data = load_config(flags=flags_of(options)).data
    from tagkit.inference.score.scoring import Scoring

    pred_column = None if options.pred_column is None else tag_columns(options.pred_column)
    size = options.batch_size or BATCH_SIZE
    scoring = Scoring(data, pred_column, options.strict, size, note, cache)
    device = options.prediction.device
    if models:  # else no torch, which takes seconds to import
        from tagkit.models.base.device import set_threads

        set_threads(options.prediction.threads)
    corpus = gold or file or ""
    page = _page(options, corpus, read)
    if several:
        show_systems(scoring, corpus, models, preds, device, page, as_json=options.as_json)
        return
    predictor = _load(models[0], device, given) if models else None
    analyses = [option.removeprefix("--") for option in _ANALYSES if given[option]]
    wanted = Wanted(analyses, options.train, options.coverage, options.verify, page)
    pred = preds[0] if preds else None
    show_system(scoring, corpus, pred, predictor, wanted, as_json=options.as_json)


def _page(options: EvalOptions, corpus: str, read: Sequence[str]) -> "ReportPage | None":
    """The page of --html on `corpus` and the files that are `read` beside it; None without it."""
    if options.html is None:
        return None
    from tagkit.cli.shown.report_page import ReportPage

    models = options.models or ()
    scored = [*map(str, models), *read, corpus][0]
    files = read if options.train is None else [*read, options.train]
    return ReportPage(options.html, options.curve, options.audit, scored, corpus, models, files)


def _refuse_without_effect(
    given: Mapping[str, bool], *, of_files: bool, several: bool, typed: bool
) -> None:
    """Refuse options that would have no effect: one that is ignored hides a mistake.

    Args:
        given: for each option whether it is given.
        of_files: whether files of predictions are scored, and no model.
        several: whether several systems are compared.
        typed: whether the corpus is standard input.

    Raises:
        typer.BadParameter: one is given.
    """

    def refuse_given(because: str, *options: str) -> None:
        refuse({option: given[option] for option in options}, because)

    if of_files:
        refuse_given("is for a model: --gold compares files", *_OF_MODELS)
    else:
        refuse_given("is for --gold: a model predicts its tags itself", "--pred-column")
    if typed:
        refuse_given("needs a file: standard input is read once", "--coverage")
    if not (given["--slices"] or (given["--html"] and not several)):
        refuse_given("is for --slices or --html, with one system", "--train")
    if not given["--html"]:
        refuse_given("is for --html", "--curve", "--audit")
    if several:
        because = "is for one system: one MODEL, or one file of --pred"
        refuse_given(because, *_OF_LABELS, "--cache")


def _load(model: Path, device: str, given: Mapping[str, bool]) -> "Predictor":
    """The model, ready to predict.

    Raises:
        DataError: an option is given that has no meaning for it.
    """
    from tagkit.inference.predict.predictor import load

    predictor = load(model, device)
    refused = {option: DataError(f"{predictor.answers.model}: {option} is for labels")
               for option in (*_OF_LABELS, "--html")}  # fmt: skip
    refused["--batch-size"] = DataError("--batch-size has no effect on a language model")
    task = predictor.task
    for option, error in refused.items():
        if given[option]:  # as --strict: what the model is, the command line does not show
            # An interval is of the headline, whatever that is of.
            of_answers = option in ("--interval", "--batch-size")
            require = task.require_answers if of_answers else task.require_labels
            require(predictor.config, error)
    return predictor
