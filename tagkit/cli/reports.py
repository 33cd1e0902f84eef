"""Reports, and what a model is, as lines of plain text."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tagkit.config import Config
from tagkit.evaluation.classes import ClassReport, JointReport
from tagkit.evaluation.report import Report
from tagkit.evaluation.scores import Score
from tagkit.wording import clipped, listed, plural, visible

if TYPE_CHECKING:  # their modules import torch
    from tagkit.bundle import Bundle
    from tagkit.measure import Measured
    from tagkit.scoring import AnyReport

_NO_CLASS = "(none)"  # where no class was likely
_LONGEST_LABEL = 60  # characters of a label in a table
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
    """What a model is, what it was trained on, and how well it does."""
    metadata, config, vocabulary = bundle.metadata, bundle.config, bundle.vocabulary
    parameters = plural(metadata["parameters"], "parameter")
    yield f"model       {name}: {architecture(config)}, {parameters}"
    yield f"made by     tagkit {metadata['tagkit']}, torch {metadata['torch']}"
    unit = "text" if config.task == "classify" else "sentence"
    for split, facts in metadata.get("data", {}).items():
        yield (
            f"{split:<11} {facts['file']}: {plural(facts['sentences'], unit)}, "
            f"{plural(facts['tokens'], 'token')}, {facts['scheme'] or 'classes'}"
        )
    vectors = len(vocabulary.vector_words)
    beyond = f" and {vectors:,} with pretrained vectors" if vectors else ""
    yield (
        f"vocabulary  {plural(len(vocabulary.words), 'trained word')}{beyond}, "
        f"{plural(len(vocabulary.chars), 'character')}"
    )
    for what in ("labels", "classes"):
        if metadata.get(what):
            yield f"{what:<11} {listed([*map(label_cell, metadata[what])], _MOST_LABELS)}"
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
