"""Reports, benchmarks and the description of a model, as lines of plain text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tagkit.evaluation.reports.criterion import AUTO
from tagkit.evaluation.reports.language_report import perplexity_text
from tagkit.evaluation.reports.report import StoredHeadline, stored_headlines
from tagkit.evaluation.reports.report_text import MAX_LABELS, label_cell
from tagkit.text.unit_kinds import UNIT_KINDS
from tagkit.wording import listed, plural, plural_of, shown_name, visible

if TYPE_CHECKING:  # their modules import torch, or pydantic
    from tagkit.config import DataConfig
    from tagkit.features.column_labels import ColumnLabels
    from tagkit.features.unit_reading import UnitReading
    from tagkit.models.base.calibration import ModelCalibration
    from tagkit.models.bundle.bundle import Bundle

UNKNOWN = "?"  # where metadata.json has nothing that could be shown
_MAX_TEXT = 1000  # characters of a name in metadata.json


def _reading_text(data: "DataConfig") -> str:
    """How a language model reads a text, in words."""
    lines = "line by line" if data.context == "line" else "on from line to line"
    pairs = "; pairs of prefix and continuation" if data.pairs else ""
    counted = ", of which continuations count" if data.loss_on == "continuation" else ""
    return f"{data.direction}, {lines}{pairs}{counted}"


def info_lines(name: str, bundle: "Bundle") -> Iterator[str]:
    """Architecture of a model, the corpora that it was trained on, and its scores.

    Anyone may have edited the metadata: what is not as training writes it is shown as `UNKNOWN`.
    """
    metadata, config, vocabulary = bundle.metadata, bundle.config, bundle.vocabulary
    from tagkit.models.task_table import task_of  # imports torch
    from tagkit.training.setup.run_settings import run_settings

    task = task_of(config)
    description = task.describe(config)
    parameters = _count(metadata, "parameters", "parameter")
    yield f"model       {name}: {description.architecture}, {parameters}"
    # Heads are eleven characters wide, as "vocabulary" and a blank.
    yield f"made by     tagkit {_text(metadata, 'tagkit')}, torch {_text(metadata, 'torch')}"
    plain = "classes" if task.needs.classes else "text"
    for split, facts in _tables(metadata, "data"):
        yield (
            f"{split:<11} {_text(facts, 'file')}: {_count(facts, 'sentences', description.unit)}, "
            f"{_count(facts, 'tokens', 'token')}, "
            f"{_text(facts, 'scheme') if facts.get('scheme') else plain}"
        )
    yield from (_vocabulary_lines(bundle) if task.annotates else _units_lines(bundle))
    if vocabulary.columns:
        yield f"columns     {columns_text(vocabulary.columns)}"
    for what in ("labels", "classes"):  # labels of spans are without their prefixes
        if names := metadata.get(what):
            shown = [_shown(each) for each in names] if isinstance(names, list) else [UNKNOWN]
            yield f"{what:<11} {listed([*map(label_cell, shown)], MAX_LABELS)}"
    yield from _beside_lines(bundle)
    if description.reads_columns:
        data = config.data
        columns = [data.token_column or "FORM or 0", *data.feature_columns, *data.vector_columns]
        yield f"reads       columns {', '.join(str(column) for column in columns)}"
    metric = config.train.metric
    chosen = "" if metric == AUTO else f", chosen by {_shown(metric)} on dev"
    yield (
        f"epoch       {_number(metadata, 'epoch')} of {run_settings(config.train).max_epochs}"
        f"{chosen}, seed {config.train.seed}"
    )
    if bundle.calibration is not None:
        yield _calibration_line(bundle.calibration, description.unit)
    # None of a model that was saved before its run ended: it has no report yet.
    for split, scores in _tables(metadata, "scores"):
        for headline in stored_headlines(scores):
            yield _headline_line(split, headline)


def _vocabulary_lines(bundle: "Bundle") -> Iterator[str]:
    """What a model that annotates knows of words, and what it reads in their place."""
    vocabulary = bundle.vocabulary
    # Words of a vectors file that the training corpus lacks: the model knows them all the same.
    vectors = len(vocabulary.vector_words)
    beyond = f" and {vectors:,} with pretrained vectors" if vectors else ""
    word = "trained unit" if vocabulary.reads_units else "trained word"
    chars = "character" if vocabulary.units is None or vocabulary.reads_units else "unit"
    yield (
        f"vocabulary  {plural(len(vocabulary.words), word)}{beyond}, "
        f"{plural(len(vocabulary.chars), chars)}"
    )
    if vocabulary.units:
        yield f"units       {units_text(vocabulary.units)}"
    if vocabulary.contextual:
        paths = listed([shown_name(part.path) for part in vocabulary.contextual])
        facts = bundle.metadata.get("contextual")
        is_further = isinstance(facts, list) and any(
            isinstance(each, dict) and each.get("trained_further") is True for each in facts
        )
        further = ", trained further" if is_further else ""
        yield f"contextual  states of the language models {paths}{further}"


def _units_lines(bundle: "Bundle") -> Iterator[str]:
    """The units of a language model, and how it reads them."""
    data = bundle.config.data
    known = plural(len(bundle.vocabulary.words), UNIT_KINDS[data.unit].name)
    # Any text can be cut into byte pairs.
    rest = "; none is unknown" if data.unit == "bpe" else ", and the unknown one"
    yield f"vocabulary  {known}, the end of a line among them{rest}"
    yield f"reads       {_reading_text(data)}"


def _beside_lines(bundle: "Bundle") -> Iterator[str]:
    """What decides on labels beside a tag's own score: other tags, documents, word features."""
    config = bundle.config
    heads = bundle.model.heads_by_name().values()
    if any(getattr(head, "sharing", None) is not None for head in heads):
        yield "tags        of the same label or with the same prefix share a part of their scores"
    if words := config.encoder.document_words:
        yield f"context     documents, up to {plural(words, 'word')} as one sequence"
    if share := config.label_consistency:
        yield f"consistency scores of a name go {share:g} of the way to their mean in its document"
    if (crf := bundle.model.feature_crf) is not None:
        counts = (
            f"{100 * share:.0f} % beside the network" if (share := float(crf.share)) else "nothing"
        )
        yield f"features    a CRF of word features, which counts {counts}"


def _calibration_line(calibration: "ModelCalibration", unit: str) -> str:
    facts = calibration.fitted_on
    temperatures = ", ".join(
        f"{shown_name(head)} {value:.3f}" for head, value in calibration.temperatures.items()
    )
    return (
        f"calibrated  on {_text(facts, 'file')}: {_count(facts, 'sentences', unit)}; "
        f"temperature of {temperatures}"
    )


# What the labels of a codec are called.
_LABELS = {"tags": "tag", "features": "attribute", "lemmas": "edit script"}


def units_text(units: "UnitReading") -> str:
    """What a model reads instead of words, or of their characters."""
    known = units.known
    kind = f"{len(known):,} byte pairs" if known else "characters"
    return f"{kind} in place of {units.instead_of}"


def columns_text(columns: "Sequence[ColumnLabels]") -> str:
    """The columns of a model, each with the number of its labels."""
    found = []
    for column in columns:
        # Of values with parts their number; of others the number of labels of the one part.
        (*_, last) = column.parts.values()
        count = len(column.parts) if column.codec == "features" else len(last)
        found.append(f"{visible(column.name)} ({plural(count, _LABELS[column.codec])})")
    return ", ".join(found)


def _headline_line(split: str, headline: StoredHeadline) -> str:
    """One line on a report as `metadata.json` has it."""
    value, number = headline.value, UNKNOWN
    # True is an int to Python, and no score.
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
        if not headline.is_share:
            number = perplexity_text(value)
        elif value <= 1:
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
