"""Reports, and what a model is, as lines of plain text."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tagkit.config import Config
from tagkit.evaluation.class_report import ClassReport, JointReport
from tagkit.evaluation.metrics import Score
from tagkit.evaluation.tag_report import Report
from tagkit.wording import clipped, listed, plural, plural_of, visible

if TYPE_CHECKING:  # their modules import torch
    from tagkit.cli.command_times import Measured
    from tagkit.inference.score import AnyReport
    from tagkit.models.bundle import Bundle

_NO_CLASS = "(none)"  # where no class was likely
UNKNOWN = "?"  # where metadata.json has nothing that could be shown
_LONGEST_LABEL = 60  # characters of a label in a table
_LONGEST_TEXT = 1000  # characters of a name in metadata.json
_MOST_LABELS = 1000  # that a line names
_CELLS = {"lstm": "LSTM", "gru": "GRU", "elman": "Elman RNN"}
_HEADS = {"crf": "CRF", "softmax": "softmax", "viterbi": "softmax + tag bigrams"}


def label_cell(label: str) -> str:
    """A label or class in a table: safe to display, and of bounded length."""
    return visible(clipped(label, _LONGEST_LABEL)) or _NO_CLASS


def report_lines(report: "AnyReport") -> Iterator[str]:
    """A report of tags, of classes, or of both."""
    match report:
        case Report():
            yield from _tag_lines(report)
        case ClassReport():
            yield from _class_lines(report)
        case JointReport():
            yield from _tag_lines(report.tags)
            yield ""
            yield from _class_lines(report.classes)
            yield f"whole texts right, tags and class: {report.whole:.4f}"


def measured_lines(measured: "Measured") -> Iterator[str]:
    """Figures of a benchmark."""
    sizes = "".join(f"{f'batch {size}':>12}" for size in measured.speeds[0].tokens_per_s)
    yield f"{'':<10}  score  change{sizes}     p50     p95     p99"
    first = measured.speeds[0].score
    for speed in measured.speeds:
        rates = "".join(f"{rate:>12,.0f}" for rate in speed.tokens_per_s.values())
        waits = "".join(f"{wait:>8.2f}" for wait in speed.latency_ms)
        change = 100 * (speed.score - first)
        yield f"{speed.precision:<10}{100 * speed.score:>7.2f}{change:>+8.2f}{rates}{waits}"
    yield ""
    yield "tokens per second by sentences per batch; milliseconds for one sentence by itself"
    yield f"corpus     {plural(measured.sentences, 'sentence')}, {plural(measured.tokens, 'token')}"
    yield f"threads    {measured.threads}"
    if measured.startup_s is not None:
        extra = measured.startup_s - measured.torch_s
        yield (
            f"start-up   {measured.startup_s:.2f} s for one text, {extra:.2f} s more than to "
            "import torch"
        )
    yield f"predict    {measured.command_s:.2f} s for the corpus, as a whole command"
    if measured.peak_mb is not None:
        yield f"memory     {measured.peak_mb:,.0f} MB at its peak"
    yield f"model      {measured.model_mb:,.1f} MB on disk"


def _tag_lines(report: Report) -> Iterator[str]:
    yield from _score_lines(report.types, report.micro, report.macro, report.weighted)
    kind = "tags" if report.scheme == "labels" else f"{report.scheme} spans"
    tokens = plural(report.tokens, "token")
    yield f"{kind}, {report.mode}; token accuracy {report.accuracy:.4f} of {tokens}"
    yield from _unknown_lines("labels", report.unknown)


def _class_lines(report: ClassReport) -> Iterator[str]:
    yield from _score_lines(report.types, report.micro, report.macro, report.weighted)
    what = "all of a text's classes right" if report.several else "accuracy"
    yield f"classes; {what} {report.accuracy:.4f} of {plural(report.texts, 'text')}"
    yield from _unknown_lines("classes", report.unknown)


def _score_lines(
    types: Mapping[str, Score], micro: Score, macro: Score, weighted: Score
) -> Iterator[str]:
    # Not a dictionary: a label may be called "micro avg".
    rows = [(label_cell(label), score) for label, score in types.items()]
    averages = [("micro avg", micro), ("macro avg", macro), ("weighted avg", weighted)]
    width = max(len(label) for label, _ in (*rows, *averages))
    yield f"{'':<{width}}  precision  recall      f1  support"
    for group in (rows, averages):
        for label, score in group:
            yield (
                f"{label:<{width}}  {score.precision:>9.4f}  {score.recall:>6.4f}  "
                f"{score.f1:>6.4f}  {score.support:>7,}"
            )
        yield ""


def _unknown_lines(kind: str, unknown: Mapping[str, int]) -> Iterator[str]:
    if unknown:
        named = listed(
            [f"{label_cell(label)} ({count:,})" for label, count in unknown.items()], _MOST_LABELS
        )
        yield f"gold {kind} that the model does not know, all counted as errors: {named}"


def architecture(config: Config) -> str:
    """Encoder and heads, in a few words."""
    encoder = config.encoder
    both = "Bi" if encoder.bidirectional else ""
    layers = f"{encoder.layers}-layer " if encoder.layers > 1 else ""
    heads = []
    if config.task != "classify":
        heads.append(_HEADS[config.head.kind])
    if config.task != "tag":
        heads.append(f"{config.head.pooling} pooling")
    return f"{layers}{both}{_CELLS[encoder.cell]} with {' and '.join(heads)}"


def info_lines(name: str, bundle: "Bundle") -> Iterator[str]:
    """What a model is, what it was trained on, and how well it does.

    The metadata are anyone's: what is not as training writes it is shown as `UNKNOWN`.
    """
    metadata, config, vocabulary = bundle.metadata, bundle.config, bundle.vocabulary
    parameters = _count(metadata, "parameters", "parameter")
    yield f"model       {name}: {architecture(config)}, {parameters}"
    yield f"made by     tagkit {_text(metadata, 'tagkit')}, torch {_text(metadata, 'torch')}"
    unit = "text" if config.task == "classify" else "sentence"
    for split, facts in _tables(metadata, "data"):
        yield (
            f"{split:<11} {_text(facts, 'file')}: {_count(facts, 'sentences', unit)}, "
            f"{_count(facts, 'tokens', 'token')}, "
            f"{_text(facts, 'scheme') if facts.get('scheme') else 'classes'}"
        )
    vectors = len(vocabulary.vector_words)
    beyond = f" and {vectors:,} with pretrained vectors" if vectors else ""
    yield (
        f"vocabulary  {plural(len(vocabulary.words), 'trained word')}{beyond}, "
        f"{plural(len(vocabulary.chars), 'character')}"
    )
    for what in ("labels", "classes"):
        if names := metadata.get(what):
            shown = [_shown(each) for each in names] if isinstance(names, list) else [UNKNOWN]
            yield f"{what:<11} {listed([*map(label_cell, shown)], _MOST_LABELS)}"
    if config.task != "classify":
        columns = [config.data.token_column or "FORM or 0", *config.data.feature_columns]
        yield f"reads       columns {', '.join(str(column) for column in columns)}"
    yield (
        f"epoch       {_number(metadata, 'epoch')} of {config.train.max_epochs}, "
        f"seed {config.train.seed}"
    )
    for split, scores in _tables(metadata, "scores"):
        parts = ("tags", "classes")
        kinds = [scores.get(part) for part in parts] if "whole" in scores else [scores]
        for each in kinds:
            if each:
                yield _score_line(split, each if isinstance(each, dict) else {})


def _score_line(split: str, scores: Mapping[str, Any]) -> str:
    """One line on a report as `metadata.json` has it."""
    by_tags = "scheme" in scores
    plain = scores["scheme"] == "labels" if by_tags else scores.get("several") is False
    micro = scores.get("micro")
    measure, value = "accuracy", scores.get("accuracy")
    if not plain:
        measure, value = "F1", micro.get("f1") if isinstance(micro, dict) else None
    mode = _text(scores, "mode") if by_tags else "classes"
    number = UNKNOWN
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        number = f"{100 * value:.2f}"
    return f"{split + ' ' + measure:<11} {number} ({mode})"


def _tables(metadata: Mapping[str, Any], key: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Names and tables of a table of tables, those that are there."""
    found = metadata.get(key)
    for name, table in found.items() if isinstance(found, dict) else ():
        if isinstance(table, dict) and table:
            yield _shown(name), table


def _count(facts: Mapping[str, Any], key: str, unit: str) -> str:
    """A number of things, or `UNKNOWN`."""
    value = facts.get(key)
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
    return value if len(value) <= _LONGEST_TEXT else f"{value[: _LONGEST_TEXT // 2]}..."
