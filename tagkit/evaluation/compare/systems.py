"""Several systems on one corpus: each with its interval, and its difference from the first one.

A system has one run, or several that differ in their seeds: then its scores are means.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tagkit.errors import DataError
from tagkit.evaluation.analysis.by_sentence import (
    Decisions,
    TypeCounts,
    decisions_of,
    parts_of,
    sentence_counts,
    type_counts,
)
from tagkit.evaluation.reports.class_report import ClassReport
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.reports.tag_report import TagReport
from tagkit.evaluation.scores.metrics import Kind
from tagkit.evaluation.scores.significance import (
    Difference,
    Interval,
    SentenceCounts,
    Spread,
    certainty,
    compare,
    holm,
)
from tagkit.text.json_text import Record, plain


@dataclass(frozen=True, slots=True)
class SystemRun(Record):
    """One run of a system.

    Attributes:
        name: of its predictions, or of its model.
        report: on them.
    """

    name: str
    report: TagReport | ClassReport


@dataclass(frozen=True, slots=True)
class TypeScore(Record):
    """The score of a system on one label.

    Attributes:
        f1: the mean of its runs, 0 to 1.
        support: gold spans, tokens or texts.
        difference: from the first system; None of the first one.
    """

    f1: float
    support: int
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class System(Record):
    """One system.

    Attributes:
        name: of its predictions, or of its model.
        score: the headline, 0 to 1; of several runs the mean.
        interval: of the score, by the bootstrap.
        spread: the variance that the interval is made of.
        difference: of the score from that of the first system; None of the first one.
        types: by label. The p-values of all labels of all systems are adjusted together.
        runs: one, or several that differ in their seeds.
    """

    name: str
    score: float
    interval: Interval
    spread: Spread
    difference: Difference | None
    types: Mapping[str, TypeScore]
    runs: Sequence[SystemRun]


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
            name: {"measure": systems[0].runs[0].report.measure, "systems": plain(systems)}
            for name, systems in self.parts.items()
        }
        return {"kind": "systems", **tables.get("", tables)}


@dataclass(frozen=True, slots=True)
class _Reference:
    """The labels of the first run, which all others must have too."""

    name: str
    kinds: Mapping[str, Kind]
    gold: Mapping[str, Decisions]

    def require_same(
        self, name: str, kinds: Mapping[str, Kind], gold: Mapping[str, Decisions]
    ) -> None:
        """Refuse a run on other labels.

        Raises:
            DataError: its labels are of other kinds, or on other sentences, or are others.
        """
        if kinds != self.kinds:
            expected, found = (" and ".join(each.values()) for each in (self.kinds, kinds))
            raise DataError(f"{name}: expected {expected} as in {self.name}, found {found}")
        for part, expected_gold in self.gold.items():
            if gold[part] != expected_gold:  # spans of characters divide a text where tokens do not
                raise DataError(
                    f"{name}: expected the gold labels of {self.name}, found others: systems are "
                    "compared on the same labels of the same sentences"
                )


@dataclass(frozen=True, slots=True)
class _Counted:
    """The runs of a system, counted by sentence."""

    name: str
    runs: list[SystemRun] = field(default_factory=list)
    counts: list[SentenceCounts] = field(default_factory=list)
    types: list[TypeCounts] = field(default_factory=list)


def compare_systems(systems: Iterable[tuple[str, Iterable[tuple[str, Report]]]]) -> Systems:
    """Systems side by side.

    Args:
        systems: of each system its name and its runs, each with a name and the report on its
            predictions, which has kept its tags. All are on the same gold labels. Runs are taken
            one by one, so that each may be made when it is its turn.

    Raises:
        DataError: there is no system, or one without runs; the reports are of different kinds, or
            on different labels.
    """
    tables: dict[str, list[_Counted]] = {}
    first: _Reference | None = None
    for name, runs in systems:
        system: dict[str, _Counted] = {}
        for run, report in runs:
            try:
                parts = parts_of(report)
            except DataError as error:
                error.add_line(f"That is of {run}.")
                raise
            kinds = {part: each.comparison.kind for part, each in parts.items()}
            decisions = {part: decisions_of(each) for part, each in parts.items()}
            gold = {part: sides[0] for part, sides in decisions.items()}
            first = first or _Reference(run, kinds, gold)
            first.require_same(run, kinds, gold)
            for part, each in parts.items():
                counted = system.setdefault(part, _Counted(name))
                counted.runs.append(SystemRun(run, each))
                counted.counts.append(sentence_counts(each))
                counted.types.append(type_counts(*decisions[part]))
        if not system:
            raise DataError(f"{name}: expected at least one run, found none")
        for part, counted in system.items():
            tables.setdefault(part, []).append(counted)
    if not tables:
        raise DataError("expected at least one system, found none")
    return Systems({part: _table(found) for part, found in tables.items()})


def _table(systems: Sequence[_Counted]) -> list[System]:
    """The systems with their differences from the first one; p-values are adjusted at the end."""
    first, *others = systems
    differences = holm([compare(first.counts, other.counts) for other in others])
    labels = sorted({label for system in systems for each in system.types for label in each.labels})
    by_type = holm([
        _difference(first, other, label) for other in others for label in labels
    ])  # fmt: skip
    remaining = iter(by_type)
    found = []
    for system, difference in zip(systems, [None, *differences], strict=True):
        sure = certainty(system.counts)
        types = {
            label: TypeScore(
                *_mean_f1(system, label), None if difference is None else next(remaining)
            )
            for label in labels
        }
        score = float(np.mean([run.report.headline for run in system.runs]))
        found.append(System(
            system.name, score, sure.interval, sure.spread, difference, types, system.runs
        ))  # fmt: skip
    return found


def _difference(first: _Counted, other: _Counted, label: str) -> Difference:
    ours, theirs = ([each.of(label) for each in system.types] for system in (first, other))
    return compare(ours, theirs)


def _mean_f1(system: _Counted, label: str) -> tuple[float, int]:
    """The mean F1 of a label, and its support."""
    counts = [each.of(label) for each in system.types]
    return float(np.mean([each.f1 for each in counts])), int(counts[0].gold.sum())
