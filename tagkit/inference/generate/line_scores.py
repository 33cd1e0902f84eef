"""The log probability of each line of a text in a language model."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from tagkit.errors import DataError
from tagkit.evaluation.reports.language_report import perplexity
from tagkit.inference.generate.language_model_reader import (
    LanguageModelReader,
    PlanningReader,
    ScoringReader,
)
from tagkit.nn.generation.path_score import path_log_probs, segment_log_probs
from tagkit.text.json_text import Record
from tagkit.text.pairs import pair_problem


@dataclass(frozen=True, slots=True)
class LineScore(Record):
    """How probable a line is.

    Attributes:
        text: the line.
        log_probability: natural logarithm, of all units that count and of the end.
        units: number of units that count, the end of the line or the decision to halt included.
            All count, but for a model that has learnt continuations alone.
        unknown: how many of them are the unknown unit.
    """

    text: str
    log_probability: float
    units: int
    unknown: int

    @property
    def per_unit(self) -> float:
        """Mean log probability of a unit."""
        return self.log_probability / self.units

    @property
    def perplexity(self) -> float:
        """Exponential of the negative mean log probability of a unit."""
        return perplexity(-self.log_probability / self.units)

    def to_dict(self) -> dict[str, Any]:
        """The fields, and what follows from them."""
        # Not super(): a dataclass with slots is another class than the one it is defined in.
        fields = Record.to_dict(self)
        return {**fields, "per_unit": self.per_unit, "perplexity": self.perplexity}


def score_lines(
    reader: LanguageModelReader, batches: Iterable[list[str]]
) -> Iterator[list[LineScore]]:
    """The scores of each batch of lines; each line by itself, from the beginning of a text.

    A blank line is the end alone.

    Args:
        reader: the model.
        batches: lines without their line ends; those of a batch are read together.

    Raises:
        DataError: the model has learnt pairs, and a line is none.
    """
    start = torch.tensor([reader.end], device=reader.device)
    for lines in batches:
        problems = [] if reader.delimiter is None else map(pair_problem, lines)
        if problem := next(filter(None, problems), None):
            raise DataError(problem)
        units = [reader.cut(line) for line in lines]
        given = [_given(reader, each) for each in units]
        ended = [[*each, reader.end] for each in units]
        if isinstance(reader, PlanningReader):
            lengths = torch.tensor([len(each) for each in units], device=reader.device)
            state, of_lengths = (
                reader.begin_lines(lengths),
                reader.length_log_probs(int(lengths.max())),
            )
            found = segment_log_probs(reader.score, start, state, ended, by_row=True)
            found = [
                of_units + float(of_lengths[length])
                for of_units, length in zip(found, lengths, strict=True)
            ]
        elif isinstance(reader, ScoringReader):
            found = segment_log_probs(reader.score, start, reader.begin(), ended, given)
        else:
            found = path_log_probs(
                reader.step,
                start,
                reader.begin(),
                units if reader.has_halt else ended,
                by_halt=reader.has_halt,
                given=given,
            )
        counted = [each[count:] for each, count in zip(units, given, strict=True)]
        yield [
            LineScore(line, log_prob, len(each) + 1, each.count(reader.unknown))
            for line, log_prob, each in zip(lines, found, counted, strict=True)
        ]


def _given(reader: LanguageModelReader, units: list[int]) -> int:
    """How many units of a line the model has not learnt to predict: the prefix and the tab."""
    if reader.counts_prefix or reader.delimiter not in units:
        return 0
    return units.index(reader.delimiter) + 1
