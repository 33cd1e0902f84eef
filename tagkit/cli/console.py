"""What a person sees: progress, tables, notes. The only module that knows rich.

Everything goes to standard error, but for what a command was asked to print. Where standard error
is no terminal there is no colour and no progress bar, and lines come out plain.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table

from tagkit.bundle import Bundle
from tagkit.cli.reports import NOBODY, measured_lines, report_lines
from tagkit.config import Config
from tagkit.corpus import Corpus
from tagkit.evaluation.classes import ClassReport, JointReport
from tagkit.measure import Measured
from tagkit.preparation import Prepared
from tagkit.scoring import AnyReport
from tagkit.split import Split
from tagkit.trainer import Epoch, Listener, Trained

_ERRORS = Console(stderr=True, highlight=False, soft_wrap=True)
_CELLS = {"lstm": "LSTM", "gru": "GRU", "elman": "Elman RNN"}
_HEADS = {"crf": "CRF", "softmax": "softmax", "viterbi": "softmax + tag bigrams"}


_MOST_CLASSES = 10  # of a confusion matrix; with more, its largest cells


def note(text: str) -> None:
    """A line for the person, beside the data."""
    _ERRORS.print(text, markup=False)


def print_report(report: AnyReport) -> None:
    """A report as a table, to standard output: it is what was asked for."""
    typer.echo("\n".join(report_lines(report)))
    classes = report.classes if isinstance(report, JointReport) else report
    if isinstance(classes, ClassReport) and classes.confused():
        _print_confusion(classes)


def _print_confusion(report: ClassReport) -> None:
    """The confusion matrix, or, of many classes, the pairs that are confused most often."""
    predicted = {label for row in report.confusion.values() for label in row}
    labels = sorted(predicted | report.confusion.keys())
    if len(labels) <= _MOST_CLASSES:
        table = Table("gold \\ predicted", *(label or NOBODY for label in labels))
        for gold, row in report.confusion.items():
            table.add_row(gold, *(f"{row.get(label, 0):,}" for label in labels))
    else:
        pairs = report.confused()[:_MOST_CLASSES]
        table = Table("gold", "predicted", "texts", title="confused most often")
        for gold, other, count in pairs:
            table.add_row(gold, other or NOBODY, f"{count:,}")
    for column in table.columns[1:] if len(labels) <= _MOST_CLASSES else table.columns[2:]:
        column.justify = "right"
    # A matrix is as wide as it is: where there is no terminal nothing is to be cut.
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = 1000
    console.print(table)


def print_measured(measured: Measured) -> None:
    """What a benchmark found, to standard output."""
    typer.echo("\n".join(measured_lines(measured)))


def print_info(name: str, bundle: Bundle) -> None:
    """What a model is, to standard output."""
    typer.echo("\n".join(_info_lines(name, bundle)))


class Progress(Listener):
    """Shows a training run on standard error."""

    def __init__(self) -> None:
        """A progress bar where there is a terminal."""
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=_ERRORS,
            transient=True,
            disable=not _ERRORS.is_terminal,
        )
        self._task = self._bar.add_task("reading", total=None)
        self._epoch = 1
        self._epochs = 1
        self._measure = "F1"

    def __enter__(self) -> "Progress":
        """Start the bar."""
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        self._bar.stop()

    def on_start(self, prepared: Prepared, threads: int) -> None:
        """The splits, the model, and the table's head."""
        for line in _start_lines(prepared, threads):
            note(line)
        self._epochs = prepared.config.train.max_epochs
        self._measure = _measure(prepared)
        note(f"\nepoch      loss  dev {self._measure:<4}        lr  tokens/s")

    def on_step(self, done: int, total: int) -> None:
        """Move the bar."""
        description = f"epoch {self._epoch} of {self._epochs}"
        self._bar.update(self._task, description=description, completed=done, total=total)

    def on_epoch(self, epoch: Epoch) -> None:
        """A row of the table; * where no epoch before was as good."""
        self._epoch = epoch.number + 1
        star = "  *" if epoch.is_best else ""
        note(
            f"{epoch.number:>5}  {epoch.loss:>8.4f}  {100 * epoch.score:>8.2f}  {epoch.lr:>8.6f}  "
            f"{epoch.tokens_per_s:>8,.0f}{star}"
        )

    def on_end(self, trained: Trained) -> None:
        """The best epoch, the test report, and what to type next."""
        self._bar.stop()
        stopped = ""
        if trained.stopped_early:
            stopped = f" (stopped: dev did not get better for {_waited(trained)} epochs)"
        best = trained.best
        ending = "; test:\n" if trained.test else ""
        note(
            f"best epoch {best.number}, dev {self._measure} {100 * best.score:.2f}{stopped}{ending}"
        )
        if trained.test:
            for line in report_lines(trained.test):
                note(line)
        size = sum(file.stat().st_size for file in (trained.folder / "best").iterdir())
        note(
            f"\nsaved {trained.folder} ({size / 1e6:.1f} MB). "
            f"Next: tagkit predict {trained.folder} FILE"
        )


def _waited(trained: Trained) -> int:
    return len(trained.epochs) - trained.best.number


def _start_lines(prepared: Prepared, threads: int) -> Iterator[str]:
    corpus, config = prepared.corpus, prepared.config
    splits: dict[str, Split | None] = {
        "train": corpus.train,
        "dev": corpus.dev,
        "test": corpus.test,
    }
    width = max(len(split.path) for split in splits.values() if split)
    for name, split in splits.items():
        if split:
            facts = _split_facts(name, split, corpus, with_classes=config.task != "tag")
            yield f"{name:<6} {split.path:<{width}}  {facts}"
    for note in dict.fromkeys(note for split in splits.values() if split for note in split.notes):
        yield f"       {note}"
    if prepared.cut:
        plural = "s" if prepared.cut > 1 else ""
        yield (
            f"       {prepared.cut:,} training sentence{plural} over {config.data.max_length:,} "
            "tokens: cut into windows that overlap"
        )
    parameters = sum(parameter.numel() for parameter in prepared.model.parameters())
    device = str(prepared.device)
    if device == "cpu":
        device += f" ({threads} thread{'s' if threads > 1 else ''})"
    yield f"model  {_architecture(config)}, {parameters:,} parameters, on {device}"
    if prepared.vectors:
        covered, total = prepared.vectors
        name = Path(config.embeddings.vectors).name
        yield f"       {covered:,} of {total:,} training words have a vector in {name}"


def _measure(prepared: Prepared) -> str:
    """What dev's score is called."""
    config = prepared.config
    if config.task == "both":
        return "mean"
    if config.task == "classify":
        return "F1" if config.head.multi_label == "yes" else "acc."
    return "acc." if prepared.corpus.scheme == "labels" else "F1"


def _split_facts(name: str, split: Split, corpus: Corpus, *, with_classes: bool) -> str:
    kinds = []
    if split.detection:
        plain = split.scheme == "labels"
        kinds.append(
            f"plain, {len(split.labels())} labels"
            if plain
            else f"{split.detection}, {len(split.labels())} types"
        )
    if with_classes:
        kinds.append(f"{len(split.classes())} classes")
    unit = "sentences" if split.detection else "texts"
    facts = f"{len(split.sentences):>7,} {unit} {split.tokens:>9,} tokens  {', '.join(kinds)}"
    unseen = corpus.unseen_share()
    if name == "dev" and unseen is not None:
        facts += f"; {100 * unseen:.0f} % of its entities never seen in train"
    return facts


def _architecture(config: Config) -> str:
    encoder = config.encoder
    both = "Bi" if encoder.bidirectional else ""
    layers = f"{encoder.layers}-layer " if encoder.layers > 1 else ""
    heads = []
    if config.task != "classify":
        heads.append(_HEADS[config.head.kind])
    if config.task != "tag":
        heads.append(f"{config.head.pooling} pooling")
    return f"{layers}{both}{_CELLS[encoder.cell]} with {' and '.join(heads)}"


def _info_lines(name: str, bundle: Bundle) -> Iterator[str]:
    metadata, config, vocabulary = bundle.metadata, bundle.config, bundle.vocabulary
    yield f"model       {name}: {_architecture(config)}, {metadata['parameters']:,} parameters"
    yield f"made by     tagkit {metadata['tagkit']}, torch {metadata['torch']}"
    unit = "texts" if config.task == "classify" else "sentences"
    for split, facts in metadata.get("data", {}).items():
        yield (
            f"{split:<11} {facts['file']}: {facts['sentences']:,} {unit}, "
            f"{facts['tokens']:,} tokens, {facts['scheme'] or 'classes'}"
        )
    vectors = len(vocabulary.vector_words)
    beyond = f" and {vectors:,} with pretrained vectors" if vectors else ""
    yield (
        f"vocabulary  {len(vocabulary.words):,} trained words{beyond}, "
        f"{len(vocabulary.chars):,} characters"
    )
    for what in ("labels", "classes"):
        if metadata.get(what):
            yield f"{what:<11} {', '.join(metadata[what])}"
    if config.task != "classify":
        columns = [config.data.token_column or "FORM or 0", *config.data.feature_columns]
        yield f"reads       columns {', '.join(str(column) for column in columns)}"
    yield f"epoch       {metadata['epoch']} of {config.train.max_epochs}, seed {config.train.seed}"
    for split, scores in (metadata.get("scores") or {}).items():
        for kind in ("tags", "classes") if scores and "whole" in scores else (None,):
            if scores:
                yield _score_line(split, scores[kind] if kind else scores)


def _score_line(split: str, scores: Mapping[str, Any]) -> str:
    """One line on a report as `metadata.json` has it."""
    by_tags = "scheme" in scores
    plain = scores["scheme"] == "labels" if by_tags else not scores["several"]
    measure, value = ("accuracy", scores["accuracy"]) if plain else ("F1", scores["micro"]["f1"])
    mode = scores["mode"] if by_tags else "classes"
    return f"{split + ' ' + measure:<11} {100 * value:.2f} ({mode})"
