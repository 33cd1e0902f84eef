"""Reports, benchmarks and the description of a model, as lines of plain text."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tagkit.evaluation.class_report import ClassReport, JointReport
from tagkit.evaluation.report import Report, StoredHeadline, stored_headlines
from tagkit.evaluation.report_text import MAX_LABELS, label_cell
from tagkit.wording import listed, plural, plural_of

if TYPE_CHECKING:  # their modules import torch
    from tagkit.cli.command_times import Measured
    from tagkit.models.bundle import Bundle

UNKNOWN = "?"  # where metadata.json has nothing that could be shown
_MAX_CLASSES = 10  # of a confusion matrix; with more, its largest cells are listed
_MAX_TEXT = 1000  # characters of a name in metadata.json


@dataclass(frozen=True, slots=True)
class Confusion:
    """The confusions of a classifier as a table.

    Attributes:
        head: name of each column.
        rows: as long as `head`.
        labels: number of columns on the left that hold classes; the others hold numbers.
        title: above the table; may be empty.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int
    title: str


def confusion_of(report: "Report") -> Confusion | None:
    """The confusion matrix, or, of many classes, the pairs that are confused most often.

    None for a report without classes, and where nothing is confused.
    """
    classes = report.classes if isinstance(report, JointReport) else report
    if not isinstance(classes, ClassReport) or not classes.confused():
        return None
    predicted = {label for row in classes.confusion.values() for label in row}
    labels = sorted(predicted | classes.confusion.keys())
    if len(labels) <= _MAX_CLASSES:
        return Confusion(
            ("gold \\ predicted", *map(label_cell, labels)),
            tuple(
                (label_cell(gold), *(f"{row.get(label, 0):,}" for label in labels))
                for gold, row in classes.confusion.items()
            ),
            labels=1,
            title="",
        )
    return Confusion(
        ("gold", "predicted", "texts"),
        tuple(
            (label_cell(gold), label_cell(other), f"{count:,}")
            for gold, other, count in classes.confused()[:_MAX_CLASSES]
        ),
        labels=2,
        title="confused most often",
    )


def measured_lines(measured: "Measured") -> Iterator[str]:
    """The figures of a benchmark."""
    sizes = "".join(f"{f'batch {size}':>12}" for size in measured.speeds[0].tokens_per_s)
    yield f"{'':<10}  score  change{sizes}     p50     p95     p99"
    # The first row has all bits of the weights; `change` is what the others lose in score.
    first = measured.speeds[0].score
    for speed in measured.speeds:
        # Columns as wide as their heads above.
        rates = "".join(f"{rate:>12,.0f}" for rate in speed.tokens_per_s.values())
        waits = "".join(f"{wait:>8.2f}" for wait in speed.latency_ms)
        change = 100 * (speed.score - first)
        yield f"{speed.precision:<10}{100 * speed.score:>7.2f}{change:>+8.2f}{rates}{waits}"
    yield ""
    yield "tokens per second by sentences per batch; milliseconds for one sentence by itself"
    yield f"corpus     {plural(measured.sentences, 'sentence')}, {plural(measured.tokens, 'token')}"
    yield f"threads    {measured.threads}"
    if measured.startup_s is not None:
        # Importing torch takes most of it, and no model can change that.
        extra = measured.startup_s - measured.torch_s
        yield (
            f"start-up   {measured.startup_s:.2f} s for one text, {extra:.2f} s more than to "
            "import torch"
        )
    yield f"predict    {measured.command_s:.2f} s for the corpus, as a whole command"
    if measured.peak_mb is not None:
        yield f"memory     {measured.peak_mb:,.0f} MB at its peak"
    yield f"model      {measured.model_mb:,.1f} MB on disk"


def info_lines(name: str, bundle: "Bundle") -> Iterator[str]:
    """Architecture of a model, the corpora that it was trained on, and its scores.

    Anyone may have edited the metadata: what is not as training writes it is shown as `UNKNOWN`.
    """
    metadata, config, vocabulary = bundle.metadata, bundle.config, bundle.vocabulary
    from tagkit.models.task_table import task_of  # imports torch

    description = task_of(config).describe(config)
    parameters = _count(metadata, "parameters", "parameter")
    yield f"model       {name}: {description.architecture}, {parameters}"
    # Heads are eleven characters wide, as "vocabulary" and a blank.
    yield f"made by     tagkit {_text(metadata, 'tagkit')}, torch {_text(metadata, 'torch')}"
    for split, facts in _tables(metadata, "data"):
        yield (
            f"{split:<11} {_text(facts, 'file')}: {_count(facts, 'sentences', description.unit)}, "
            f"{_count(facts, 'tokens', 'token')}, "
            f"{_text(facts, 'scheme') if facts.get('scheme') else 'classes'}"
        )
    # Words of a vectors file that the training corpus lacks: the model knows them all the same.
    vectors = len(vocabulary.vector_words)
    beyond = f" and {vectors:,} with pretrained vectors" if vectors else ""
    yield (
        f"vocabulary  {plural(len(vocabulary.words), 'trained word')}{beyond}, "
        f"{plural(len(vocabulary.chars), 'character')}"
    )
    for what in ("labels", "classes"):  # labels of spans are without their prefixes
        if names := metadata.get(what):
            shown = [_shown(each) for each in names] if isinstance(names, list) else [UNKNOWN]
            yield f"{what:<11} {listed([*map(label_cell, shown)], MAX_LABELS)}"
    if description.reads_columns:
        columns = [config.data.token_column or "FORM or 0", *config.data.feature_columns]
        yield f"reads       columns {', '.join(str(column) for column in columns)}"
    yield (
        f"epoch       {_number(metadata, 'epoch')} of {config.train.max_epochs}, "
        f"seed {config.train.seed}"
    )
    # None of a model that was saved before its run ended: it has no report yet.
    for split, scores in _tables(metadata, "scores"):
        for headline in stored_headlines(scores):
            yield _headline_line(split, headline)


def _headline_line(split: str, headline: StoredHeadline) -> str:
    """One line on a report as `metadata.json` has it."""
    value, number = headline.value, UNKNOWN
    # True is an int to Python, and no score.
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        number = f"{100 * value:.2f}"
    return f"{split + ' ' + _shown(headline.measure):<11} {number} ({_shown(headline.mode)})"


def _tables(metadata: Mapping[str, Any], key: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Names and contents of the tables in a table, without empty ones."""
    found = metadata.get(key)
    for name, table in found.items() if isinstance(found, dict) else ():
        if isinstance(table, dict) and table:
            yield _shown(name), table


def _count(facts: Mapping[str, Any], key: str, unit: str) -> str:
    """A number of things, or `UNKNOWN`."""
    value = facts.get(key)
    # `type`, as True is an int; bounded, as Python refuses to print one of over 4,300 digits.
    if type(value) is int and 0 <= value < 2**63:
        return plural(value, unit)
    return f"{UNKNOWN} {plural_of(unit)}"


def _number(facts: Mapping[str, Any], key: str) -> str:
    """A whole number, or `UNKNOWN`."""
    value = facts.get(key)
    return f"{value:,}" if type(value) is int and 0 <= value < 2**63 else UNKNOWN


def _text(facts: Mapping[str, Any], key: str) -> str:
    """A text, or `UNKNOWN`."""
    return _shown(facts.get(key))


def _shown(value: Any) -> str:
    """A text of bounded length, or `UNKNOWN` of anything else."""
    if not isinstance(value, str):
        return UNKNOWN
    return value if len(value) <= _MAX_TEXT else f"{value[: _MAX_TEXT // 2]}..."
