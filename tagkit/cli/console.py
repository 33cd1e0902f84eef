"""What a person sees: progress, tables, notes. The only module that knows rich.

Everything goes to standard error, but for what a command was asked to print. Where standard error
is no terminal there is no colour and no progress bar, and lines come out plain.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from tagkit.bundle import Bundle
from tagkit.config import Config
from tagkit.corpus import Corpus, Split
from tagkit.evaluation.report import Report, Score
from tagkit.preparation import Prepared
from tagkit.trainer import Epoch, Listener, Trained

_ERRORS = Console(stderr=True, highlight=False, soft_wrap=True)
_CELLS = {"lstm": "LSTM", "gru": "GRU", "elman": "Elman RNN"}
_HEADS = {"crf": "CRF", "softmax": "softmax", "viterbi": "softmax + tag bigrams"}


def note(text: str) -> None:
    """A line for the person, beside the data."""
    _ERRORS.print(text, markup=False)


def print_report(report: Report) -> None:
    """A report as a table, to standard output: it is what was asked for."""
    typer.echo("\n".join(_report_lines(report)))


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
        if prepared.corpus.scheme == "labels":
            self._measure = "acc."
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
            for line in _report_lines(trained.test):
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
            yield f"{name:<6} {split.path:<{width}}  {_split_facts(name, split, corpus)}"
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


def _split_facts(name: str, split: Split, corpus: Corpus) -> str:
    kinds = "labels" if split.detection.scheme == "labels" else "types"
    scheme = "plain" if split.detection.scheme == "labels" else str(split.detection)
    facts = (
        f"{len(split.sentences):>7,} sentences {split.tokens:>9,} tokens  "
        f"{scheme}, {len(split.labels())} {kinds}"
    )
    unseen = corpus.unseen_share()
    if name == "dev" and unseen is not None:
        facts += f"; {100 * unseen:.0f} % of its entities never seen in train"
    return facts


def _architecture(config: Config) -> str:
    encoder = config.encoder
    both = "Bi" if encoder.bidirectional else ""
    layers = f"{encoder.layers}-layer " if encoder.layers > 1 else ""
    return f"{layers}{both}{_CELLS[encoder.cell]} with {_HEADS[config.head.kind]}"


def _report_lines(report: Report) -> Iterator[str]:
    rows: Mapping[str, Score] = {
        **report.types,
        "micro avg": report.micro,
        "macro avg": report.macro,
        "weighted avg": report.weighted,
    }
    width = max(len(label) for label in rows)
    yield f"{'':<{width}}  precision  recall      f1  support"
    for label, score in rows.items():
        if label == "micro avg":
            yield ""
        yield (
            f"{label:<{width}}  {score.precision:>9.4f}  {score.recall:>6.4f}  {score.f1:>6.4f}  "
            f"{score.support:>7,}"
        )
    yield ""
    kind = "tags" if report.scheme == "labels" else f"{report.scheme} spans"
    yield f"{kind}, {report.mode}; token accuracy {report.accuracy:.4f} of {report.tokens:,} tokens"
    if report.unknown:
        unknown = ", ".join(f"{label} ({count:,})" for label, count in report.unknown.items())
        yield f"gold labels that the model does not know, all counted as errors: {unknown}"


def _info_lines(name: str, bundle: Bundle) -> Iterator[str]:
    metadata, config, vocabulary = bundle.metadata, bundle.config, bundle.vocabulary
    yield f"model       {name}: {_architecture(config)}, {metadata['parameters']:,} parameters"
    yield f"made by     tagkit {metadata['tagkit']}, torch {metadata['torch']}"
    for split, facts in metadata.get("data", {}).items():
        yield (
            f"{split:<11} {facts['file']}: {facts['sentences']:,} sentences, "
            f"{facts['tokens']:,} tokens, {facts['scheme']}"
        )
    vectors = len(vocabulary.vector_words)
    beyond = f" and {vectors:,} with pretrained vectors" if vectors else ""
    yield (
        f"vocabulary  {len(vocabulary.words):,} trained words{beyond}, "
        f"{len(vocabulary.chars):,} characters"
    )
    yield f"labels      {', '.join(metadata.get('labels', []))}"
    columns = [config.data.token_column or "FORM or 0", *config.data.feature_columns]
    yield f"reads       columns {', '.join(str(column) for column in columns)}"
    yield f"epoch       {metadata['epoch']} of {config.train.max_epochs}, seed {config.train.seed}"
    for split, scores in (metadata.get("scores") or {}).items():
        if scores:
            measure = "accuracy" if scores["scheme"] == "labels" else "F1"
            value = scores["accuracy"] if measure == "accuracy" else scores["micro"]["f1"]
            yield f"{split + ' ' + measure:<11} {100 * value:.2f} ({scores['mode']})"
