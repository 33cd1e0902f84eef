"""Several systems on one corpus: each with its interval, and its difference from the first one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagkit.errors import DataError
from tagkit.evaluation.by_sentence import parts_of, sentence_counts
from tagkit.evaluation.class_report import ClassReport
from tagkit.evaluation.report import Report
from tagkit.evaluation.significance import (
    Difference,
    Interval,
    SentenceCounts,
    compare,
    interval,
)
from tagkit.evaluation.tag_report import TagReport
from tagkit.text.json_text import Record, plain


@dataclass(frozen=True, slots=True)
class System(Record):
    """One system.

    Attributes:
        name: of its predictions.
        report: on them.
        interval: of the headline, by the bootstrap.
        difference: of its headline from that of the first system; None of the first one.
    """

    name: str
    report: TagReport | ClassReport
    interval: Interval
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class Systems:
    """All systems, on the same labels.

    Attributes:
        parts: the systems in the order in which they were given, under ""; or their "tags" and
            their "classes", where all of them have both.
    """

    parts: Mapping[str, Sequence[System]]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; `kind` is "systems"."""
        tables = {
            name: {"measure": systems[0].report.measure, "systems": plain(systems)}
            for name, systems in self.parts.items()
        }
        return {"kind": "systems", **tables.get("", tables)}


def compare_systems(reports: Sequence[tuple[str, Report]]) -> Systems:
    """Systems side by side.

    Args:
        reports: of each system its name and the report on its predictions, which has kept its
            tags; all on the same gold labels.

    Raises:
        DataError: the reports are of different kinds, or on different sentences.
    """
    parts = [(name, parts_of(report)) for name, report in reports]
    (first_name, first), *others = parts
    for name, each in others:
        for part, report in first.items():
            found = each.get(part)
            if found is None or found.comparison.kind is not report.comparison.kind:
                kinds = [" and ".join(p.comparison.kind for p in side.values())
                         for side in (first, each)]  # fmt: skip
                raise DataError(f"{name}: expected {kinds[0]} as in {first_name}, found {kinds[1]}")
    return Systems({part: _table([(name, each[part]) for name, each in parts]) for part in first})


def _table(reports: Sequence[tuple[str, TagReport | ClassReport]]) -> list[System]:
    first_name = reports[0][0]
    first: SentenceCounts | None = None
    found = []
    for name, report in reports:
        counts = sentence_counts(report)
        difference = None
        if first is None:
            first = counts
        else:
            if not np.array_equal(first.gold, counts.gold):
                # Spans of characters divide a text where tokens do not.
                raise DataError(
                    f"{name}: expected the sentences of {first_name}, found others: spans of "
                    "characters that cross sentences cannot be compared in pairs"
                )
            difference = compare([first], [counts])
        found.append(System(name, report, interval([counts]), difference))
    return found
