"""Several systems on one corpus: each with its interval, and its difference from the first one.

A system has one run, or several that differ in their seeds: then its scores are means. They are
shown side by side as lines of plain text, which `tagkit eval` prints.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tagkit.errors import DataError
from tagkit.evaluation.analysis.by_sentence import (
    Decisions,
    Scored,
    TypeCounts,
    decisions_of,
    kind_of,
    scored_parts,
    sentence_counts,
    type_counts,
)
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.reports.report_text import (
    WIDTH,
    interval_cell,
    label_cell,
    p_cell,
    shares,
    table,
    without_spans,
)
from tagkit.evaluation.reports.tag_report import TagReport
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
from tagkit.wording import plural

_FEW = 5  # runs: of fewer, the standard deviation is hardly known


@dataclass(frozen=True, slots=True)
class SystemRun(Record):
    """One run of a system.

    Attributes:
        name: of its predictions, or of its model.
        report: on them.
    """

    name: str
    report: Scored


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
    kinds: Mapping[str, str]
    gold: Mapping[str, Decisions]

    def require_same(
        self, name: str, kinds: Mapping[str, str], gold: Mapping[str, Decisions]
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
                parts = scored_parts(report)
            except DataError as error:
                error.add_line(f"That is of {run}.")
                raise
            kinds = {part: kind_of(each) for part, each in parts.items()}
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


def systems_lines(
    systems: Systems, names: Sequence[str], width: int | None = None
) -> Iterator[str]:
    """Tables of the systems' scores, of their runs, and of their scores by type.

    Args:
        systems: side by side.
        names: what to call them, in their order.
        width: cells of a terminal; None for a file.
    """
    for number, (part, each) in enumerate(systems.parts.items()):
        if part:
            yield from (["", part, ""] if number else [part, ""])
        for place, found in enumerate(system_tables(each, names)):
            if place:
                yield ""
            yield from table(found.title, found.heads, found.rows, width or WIDTH)
            yield from found.remarks


@dataclass(frozen=True, slots=True)
class SystemTable:
    """A table of systems, which a terminal and a page show alike.

    Attributes:
        caption: what it is of.
        title: head of the names on the left.
        heads: of the other columns.
        rows: of each a name and its cells.
        remarks: lines below it.
    """

    caption: str
    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str] = ()


def system_tables(
    systems: Sequence[System], names: Sequence[str], *, numbered: bool = False
) -> Iterator[SystemTable]:
    """Scores of systems, of their runs if one has several, and F1 by type and its changes.

    Args:
        systems: side by side.
        names: what to call them, in their order.
        numbered: whether the names begin with their numbers, as columns by type are called.
    """
    yield _scores(systems, names)
    if any(len(system.runs) > 1 for system in systems):
        yield _runs(systems, names)
    if systems[0].types:
        numbers = [f"({number})" for number in range(1, len(systems) + 1)]
        pairs = zip(numbers, names, strict=True)
        legend = [] if numbered else [f"{number} {name}" for number, name in pairs]
        yield from _types(systems, numbers, legend)


def _scores(systems: Sequence[System], names: Sequence[str]) -> SystemTable:
    comparisons = len(systems) - 1
    adjusted = comparisons > 1
    measure, level = systems[0].runs[0].report.measure, 100 * systems[0].interval.level
    if any(len(system.runs) > 1 for system in systems):
        measure = f"mean {measure}"
    interval = f"{level:g} % interval"
    heads = [measure, interval]
    rows = [
        [name, *shares(system.score), interval_cell(system.interval.low, system.interval.high)]
        for name, system in zip(names, systems, strict=True)
    ]
    remarks = []
    if comparisons:
        heads += _heads(interval, adjusted=adjusted)
        for row, system in zip(rows, systems, strict=True):
            row += _cells(system.difference, adjusted=adjusted)
        remarks.append("change: from the first system; p: of a paired randomisation test")
    reports = [run.report for system in systems for run in system.runs]
    if all(isinstance(report, TagReport) and without_spans(report) for report in reports):
        remarks.append(
            "there is no gold span: all scores are 0, and a difference of 0 says nothing"
        )
    if adjusted:
        remarks.append(_holm_line(comparisons))
    return SystemTable("Systems", "system", heads, rows, remarks)


def _runs(systems: Sequence[System], names: Sequence[str]) -> SystemTable:
    rows = []
    remarks = [
        "sd by seed: of a run's score; sd by sentence: of the mean on other such corpora",
        "intervals and p allow for other seeds and other sentences",
    ]
    for name, system in zip(names, systems, strict=True):
        scores = [run.report.headline for run in system.runs]
        count, seeds = len(scores), system.spread.seeds
        rows.append(
            [name, str(count), *shares(min(scores), max(scores)),
             "-" if seeds is None else f"{seeds:.4f}", *shares(system.spread.sentences)]
        )  # fmt: skip
        if count == 1:
            remarks.append(
                f"{name}: one run says nothing about other seeds; only sentences are allowed for"
            )
        elif count < _FEW:
            wider = ", which widens its intervals" if seeds else ""
            remarks.append(f"{name}: {count} runs say little about other seeds{wider}")
    heads = ("runs", "lowest", "highest", "sd by seed", "sd by sentence")
    return SystemTable("Runs with several seeds", "system", heads, rows, remarks)


def _types(
    systems: Sequence[System], numbers: Sequence[str], legend: Sequence[str]
) -> Iterator[SystemTable]:
    """F1 by type, and its change: in one table of two systems, else in a table for each."""
    if not (labels := list(systems[0].types)):
        return
    interval = f"{100 * systems[0].interval.level:g} % interval"
    rows = [
        [label_cell(label), *shares(*(system.types[label].f1 for system in systems))]
        for label in labels
    ]
    others = systems[1:]
    holm_line = [_holm_line(len(labels) * len(others))] if others else []
    changes = [
        [[label_cell(label), *_cells(system.types[label].difference, adjusted=True)]
         for label in labels]
        for system in others
    ]  # fmt: skip
    heads, title = _heads(interval, adjusted=True), "F1 by type"
    caption = "Scores by type"
    if len(others) == 1:
        rows = [[*row, *change[1:]] for row, change in zip(rows, changes[0], strict=True)]
        yield SystemTable(caption, title, [*numbers, *heads], rows, [*legend, *holm_line])
        return
    yield SystemTable(caption, title, numbers, rows, legend)
    for number, found in zip(numbers[1:], changes, strict=True):
        between = f"{number} from {numbers[0]}"
        remarks = holm_line if number == numbers[-1] else ()
        yield SystemTable(f"{caption}: {between}", between, heads, found, remarks)


def _heads(interval: str, *, adjusted: bool) -> list[str]:
    return ["change", interval, "p", *(["Holm p"] if adjusted else [])]


def _cells(difference: Difference | None, *, adjusted: bool) -> list[str]:
    """The cells of a difference; empty of the first system."""
    if difference is None:
        return [""] * len(_heads("", adjusted=adjusted))
    ends = difference.interval.low, difference.interval.high
    cells = [
        f"{difference.difference:+.4f}", interval_cell(*ends, "+"),
        p_cell(difference.p), p_cell(difference.p_holm),
    ]  # fmt: skip
    return cells if adjusted else cells[:-1]


def _holm_line(comparisons: int) -> str:
    return f"Holm p: adjusted for {plural(comparisons, 'comparison')}"
