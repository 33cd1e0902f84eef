"""What all reports have in common, and the headline of one that was written to metadata.json."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from tagkit.evaluation.scores.metrics import (
    JOINT,
    Comparison,
    Kind,
    added_metrics,
    headline_metric,
    history_values,
)
from tagkit.evaluation.scores.scores import Score
from tagkit.text.json_text import Record, notebook_html
from tagkit.text.unit_kinds import UNIT_KINDS
from tagkit.wording import listed

LANGUAGE = "language-model"  # `kind` of the report of one


class Report(Protocol):
    """Scores of predictions against gold."""

    @property
    def headline(self) -> float:
        """The one number that ranks models: 0 to 1, or of a language model nats, fewer are better.

        `criterion.rank` knows which direction is the better one.
        """

    @property
    def measure(self) -> str:
        """Name of the headline, such as "F1", "accuracy" or "cross-entropy"."""

    @property
    def micro(self) -> Score:
        """Precision, recall and F1 over all labels.

        Raises:
            AttributeError: it is a report of several parts (`tags.micro`, `classes.micro`), or of a
                language model.
        """

    def parts(self) -> dict[str, float]:
        """Every metric by its name in `dev_scores` of history.jsonl."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: `kind`, the sort of report, `measure`, `headline`, and others."""


class ShownReport:
    """A report that prints as its table, and that a notebook shows as pages do."""

    __slots__ = ()

    def __str__(self) -> str:
        """The lines that `tagkit eval` prints."""
        # The text of reports knows every kind of them, and so is above each.
        text = import_module("tagkit.evaluation.reports.report_text")
        return "\n".join(text.report_lines(self))

    def _repr_html_(self) -> str | None:
        return notebook_html(self)


class ReportOfParts(ShownReport):
    """A report whose scores are in its parts, or that has none of labels."""

    __slots__ = ()

    @property
    def micro(self) -> Score:
        """There is none.

        Raises:
            AttributeError: always, with what there is.
        """
        names = listed(sorted(name for name in dir(self) if name[0] != "_" and name != "micro"))
        raise AttributeError(f"a {type(self).__name__} has no micro average; it has {names}")


class LabelScores(ShownReport, Record):
    """What reports on labels of one kind have in common; each has fields of its own."""

    __slots__ = ()
    comparison: Comparison  # what was scored; not part of the JSON

    @property
    def headline(self) -> float:
        """The one number: F1 of spans or of several classes a text, else accuracy; 0 to 1."""
        return headline_metric(self.comparison.kind).value(self.comparison)

    @property
    def measure(self) -> str:
        """Name of the headline."""
        return headline_metric(self.comparison.kind).name

    def parts(self) -> dict[str, float]:
        """Every metric by its name in history.jsonl."""
        return history_values(self.comparison)

    def to_dict(self) -> dict[str, Any]:
        """Plain values of the attributes and of further metrics, for JSON."""
        comparison = self.comparison
        added = {each.key: each.value(comparison) for each in added_metrics(comparison.kind)}
        return head_of(self, str(comparison.kind)) | Record.to_dict(self) | added


class Measured(Protocol):
    """What has a number that ranks it."""

    @property
    def headline(self) -> float:
        """As of `Report`."""

    @property
    def measure(self) -> str:
        """As of `Report`."""


def head_of(report: Measured, kind: str) -> dict[str, Any]:
    """What the JSON of every report begins with."""
    return {"kind": kind, "measure": report.measure, "headline": report.headline}


@dataclass(frozen=True, slots=True)
class StoredHeadline:
    """The headline of a report as JSON has it, which anybody may have edited.

    Attributes:
        measure: its name.
        value: as stored, which may be anything; None where it is missing.
        mode: of a report of tags, as stored; "classes" of one of classes; "per word" or per
            another unit of a language model; the kind of any other.
        is_share: whether it is a number from 0 to 1.
    """

    measure: str
    value: Any
    mode: Any
    is_share: bool = True


def stored_headlines(table: Mapping[str, Any]) -> Iterator[StoredHeadline]:
    """The headlines of a report that was read from JSON: two where it is one of tags and classes.

    Args:
        table: what `to_dict` gave, of this version or of an earlier one.
    """
    if table.get("kind") == LANGUAGE:
        unit = table.get("unit")
        # Perplexities of different units cannot be compared.
        kind = UNIT_KINDS.get(unit) if isinstance(unit, str) else None
        mode = None if kind is None else f"per {kind.name}"
        value = table.get("perplexity")
        if value is None and "perplexity" in table:  # JSON has no name for one that is infinite
            value = math.inf
        yield StoredHeadline("perplexity", value, mode, is_share=False)
        return
    # Of a task whose report is of a kind of its own, which no metric here is defined for.
    if "headline" in table and table.get("kind") not in (*Kind, JOINT):
        yield StoredHeadline(str(table.get("measure")), table["headline"], table.get("kind"))
        # One of several tag columns has the headline of each.
        columns = table.get("columns")
        for name, column in columns.items() if isinstance(columns, dict) else ():
            found = column if isinstance(column, dict) else {}
            measure = f"{name} {found.get('measure')}"
            yield StoredHeadline(measure, found.get("headline"), found.get("kind"))
        return
    # Before 0.2 a report had no `kind`; that of tags and classes alone had `whole`.
    if table.get("kind", JOINT if "whole" in table else None) == JOINT:
        parts = [table.get(part) for part in ("tags", "classes")]
    else:
        parts = [table]
    for part in parts:
        if part:
            yield _headline(part if isinstance(part, dict) else {})


def _headline(table: Mapping[str, Any]) -> StoredHeadline:
    metric = headline_metric(_kind_of(table))
    micro = table.get("micro")
    # A metric is at the top of a report or in its micro average.
    value = table.get(metric.key, micro.get(metric.key) if isinstance(micro, dict) else None)
    return StoredHeadline(metric.name, value, table.get("mode") if "scheme" in table else "classes")


def _kind_of(table: Mapping[str, Any]) -> Kind:
    """The kind that a report names; without one, the kind that follows from its other keys."""
    kind = table.get("kind")
    if isinstance(kind, str) and kind in list(Kind):
        return Kind(kind)
    # Before 0.2 a report of tags had a `scheme`, and one of classes `several`.
    if "scheme" in table:
        return Kind.TOKENS if table["scheme"] == "labels" else Kind.SPANS
    return Kind.CLASS if table.get("several") is False else Kind.CLASSES
