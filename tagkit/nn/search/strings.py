"""The most probable sequences that a beam finds, of many sources at once.

A beam keeps the best few beginnings, hypotheses, of the same number of units. One that ends leaves
the beam, which from then on has one place less, until there is none (Jurafsky and Martin, section
on beam search in the chapter on machine translation). A beam of 1 is greedy search, but for
models that halt: a beam halts where that is more probable than the best unit, greedy search where
it is more probable than not. One as large as the number of all sequences finds the best.

Longer sequences have lower probabilities. Finished hypotheses are therefore compared by their log
probability divided by length ** penalty, the length in units and with the end: a penalty of 1 is
the mean (Jurafsky and Martin), 0 the probability itself. Wu et al. 2016 divide by
((5 + length) / 6) ** penalty, which grows as this does for long sequences; from them is the
coverage penalty, which adds

    coverage penalty * sum over symbols j of log min(1, sum over steps i of weights[i, j])

so that a sequence which looked at every symbol of its source is preferred. A source is finished
when no hypothesis that goes on can become better than the ones that are wanted: the log probability
of a beginning only falls, and is at best divided by the most units there may be. To stop at the
first end, as if longer ones could only be worse, is wrong once a length is divided by.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tagkit.nn.generation.choice import ban
from tagkit.nn.generation.ended import Ended
from tagkit.nn.generation.generate import Ending, ended_by, halt_probs_of
from tagkit.nn.generation.step import State, StepModel, StepOutput, select_rows

_LEAST_COVERAGE = 1e-9  # of a symbol that nothing looked at


class SourceSteps(Protocol):
    """A model of the next unit that reads sources beside the rows' own states."""

    def __call__(self, ids: Tensor, state: State, /) -> StepOutput:
        """As of `StepModel`; the rows of a source follow each other."""

    def keep(self, sources: Tensor) -> "SourceSteps":
        """The same of some sources, by their places."""


@dataclass(frozen=True, slots=True)
class Unconditional:
    """A model without a source as one that has them."""

    step: StepModel

    def __call__(self, ids: Tensor, state: State) -> StepOutput:
        """As of `StepModel`."""
        return self.step(ids, state)

    def keep(self, sources: Tensor) -> "Unconditional":
        """Itself: its states are all that differs."""
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """How sequences are searched for.

    Attributes:
        beam: number of hypotheses.
        count: of sequences that are wanted of each source, at most `beam`.
        length_penalty: power of the length that log probabilities are divided by.
        coverage_penalty: factor of that penalty; 0 for none.
        min_units: of a sequence, the end not counted, where that is a symbol or to halt.
        no_repeat: units of a stretch that no sequence has twice; 0 for none.
        banned: ids that are never chosen.
        once: ids that a sequence has once at most.
        keeps_weights: whether the weights of attention are kept.
    """

    beam: int
    count: int
    length_penalty: float
    coverage_penalty: float = 0.0
    min_units: int = 0
    no_repeat: int = 0
    banned: tuple[int, ...] = ()
    once: tuple[int, ...] = ()
    keeps_weights: bool = False


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A sequence that a beam search has found.

    Attributes:
        units: its ids; the last one is the symbol that ended it, if one did.
        log_prob: in the model, the end included.
        ended: why it ends.
        coverage: what the coverage penalty adds to its score.
        weights: (units, time) of attention at each unit; None where not wanted.
    """

    units: tuple[int, ...]
    log_prob: float
    ended: Ended
    coverage: float = 0.0
    weights: npt.NDArray[np.float32] | None = field(default=None, compare=False)

    def score(self, length_penalty: float) -> float:
        """By what it is compared with others."""
        # To halt is one more decision; a sequence without any unit has it alone.
        length = len(self.units) + (self.ended == "halt")
        return self.log_prob / math.pow(length, length_penalty) + self.coverage


@dataclass(slots=True)
class _Step:
    """What a step chose, on the CPU: arrays with a row for each source that was still searched.

    Attributes:
        row: of each source's number, its row; -1 of one that was finished.
        parents: (sources, kept) place of the hypothesis that each continues.
        units: (sources, kept) that was added.
        weights: (sources, hypotheses before, time) of attention; None where not kept.
    """

    row: npt.NDArray[np.int64]
    parents: npt.NDArray[np.int64]
    units: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32] | None


@torch.no_grad()
def search(
    step: SourceSteps,
    start: Tensor,
    state: State,
    ending: Ending,
    lengths: Sequence[int],
    options: Search,
    begun: Tensor | None = None,
) -> list[list[Hypothesis]]:
    """At most `options.count` different sequences of each source, the best first.

    Args:
        step: the model.
        start: (sources,) the last input before the first unit.
        state: after all inputs before it, a row for each hypothesis before the first unit.
        ending: what ends a sequence before its length.
        lengths: most units of the sequences of each source, at least 1.
        options: of the search.
        begun: (sources, hypotheses) log probabilities of what a sequence begins with, such as its
            number of units; None for one hypothesis without any.
    """
    if begun is None:
        begun = torch.zeros(len(start), 1, device=start.device)
    beam = _Beam(step, start, state, ending, lengths, options, begun.double())
    for number in range(1, max(lengths) + 1):
        output = beam.grow(number)
        going, stays = beam.finish(number)
        if not going:
            break
        beam.go_on(output, torch.tensor(going, device=start.device), stays)
    return [
        sorted(each, key=lambda one: -one.score(options.length_penalty))[: options.count]
        for each in beam.finished
    ]


class _Beam:
    """The hypotheses of all sources that are still searched.

    Attributes:
        finished: of each source, those that have ended.
    """

    def __init__(
        self,
        step: SourceSteps,
        start: Tensor,
        state: State,
        ending: Ending,
        lengths: Sequence[int],
        options: Search,
        begun: Tensor,
    ) -> None:
        """Before the first step; arguments as of `search`."""
        sources = len(start)
        self.finished: list[list[Hypothesis]] = [[] for _ in range(sources)]
        self._step, self._state, self._ending = step, state, ending
        self._lengths, self._options = lengths, options
        self._steps: list[_Step] = []
        self._active = np.arange(sources)  # numbers of the sources that are still searched
        # (active, hypotheses): of equal ones all would grow alike.
        self._scores = begun
        self._ids = start.unsqueeze(1).expand_as(begun)
        self._parents = torch.zeros_like(self._ids)
        # (active, hypotheses, units), if needed
        self._history = self._ids.new_zeros(*begun.shape, 0)
        self._coverage: Tensor | None = None  # (active, hypotheses, time)
        self._vocabulary = 0

    def grow(self, number: int) -> StepOutput:
        """Choose the best continuations of each source by unit `number`."""
        options, width = self._options, self._ids.shape[1]
        output = self._step(self._ids.flatten(), self._state)
        grown = ban(output.log_probs.double(), options.banned)
        grown = _without_repeated(grown.view(-1, width, grown.shape[1]), self._history, options)
        self._vocabulary = grown.shape[2]
        if self._ending.by_halt:
            # One more column, with the id `vocabulary`: to halt before another unit. To halt then
            # competes with all units for the places in the beam. Each row is still a distribution:
            # p(halt) and (1 - p(halt)) p(unit), which sum to 1 if nothing is banned.
            halt = halt_probs_of(output).view(-1, width, 1)
            # (active, hypotheses, vocabulary) -> (active, hypotheses, vocabulary + 1)
            grown = torch.cat((torch.log1p(-halt) + grown, halt.log()), 2)
        if number <= options.min_units:
            ends = [] if self._ending.symbol is None else [self._ending.symbol]
            grown = _without(grown, [*ends, *[self._vocabulary] * self._ending.by_halt])
        # (active, hypotheses, 1) + (active, hypotheses, columns), and the best of all hypotheses
        # together. A place is parent x columns + column.
        total = (self._scores.unsqueeze(2) + grown).flatten(1)
        self._scores, places = total.topk(min(options.beam, total.shape[1]), dim=1)
        self._parents = torch.div(places, grown.shape[2], rounding_mode="floor")
        self._ids = places - self._parents * grown.shape[2]
        self._steps.append(self._seen(output, width))
        return output

    def _seen(self, output: StepOutput, width: int) -> _Step:
        """What was chosen, and what was looked at for it."""
        options, weights = self._options, output.weights
        if weights is not None:
            weights = weights.view(-1, width, weights.shape[1])
        if options.coverage_penalty and weights is not None:
            seen = weights if self._coverage is None else self._coverage + weights
            places = self._parents.unsqueeze(2).expand(-1, -1, seen.shape[2])
            self._coverage = seen.gather(1, places)
        row = np.full(len(self.finished), -1)
        row[self._active] = np.arange(len(self._active))
        keeps = options.keeps_weights and weights is not None
        kept = weights.cpu().numpy() if keeps and weights is not None else None
        return _Step(row, self._parents.cpu().numpy(), self._ids.cpu().numpy(), kept)

    def finish(self, number: int) -> tuple[list[int], Tensor]:
        """Take out the hypotheses that end with unit `number`.

        Returns:
            Places of the sources whose search goes on, and (active, hypotheses) bool, True of what
            goes on in them.
        """
        found, chosen = self._scores.tolist(), self._ids.tolist()
        stays = torch.zeros_like(self._ids, dtype=torch.bool)
        going: list[int] = []
        for at, source in enumerate(self._active.tolist()):
            # A finished hypothesis keeps its place in the beam. What is impossible takes none: with
            # few units there may be fewer continuations than places.
            room = self._options.beam - len(self.finished[source])
            best = -math.inf
            for place, log_prob in enumerate(found[at][:room]):
                if math.isinf(log_prob):
                    break
                unit, is_last = chosen[at][place], number == self._lengths[source]
                is_symbol = unit == self._ending.symbol
                ended = ended_by(unit == self._vocabulary, is_symbol, is_last)
                if ended is None:
                    stays[at, place] = True
                    best = max(best, log_prob)
                else:
                    self.finished[source].append(self._hypothesis(at, place, log_prob, ended))
            ready, length = self.finished[source], self._lengths[source]
            if not math.isinf(best) and not _is_certain(ready, best, length, self._options):
                going.append(at)
        return going, stays

    def _hypothesis(self, at: int, place: int, log_prob: float, ended: Ended) -> Hypothesis:
        path, weights = _path(self._steps, int(self._active[at]), place)
        coverage = _coverage(self._coverage, at, place, self._options.coverage_penalty)
        return Hypothesis(
            path[:-1] if ended == "halt" else path, log_prob, ended, coverage, weights
        )

    def go_on(self, output: StepOutput, rows: Tensor, stays: Tensor) -> None:
        """Continue the search of some sources, by their places.

        Args:
            output: of the model, before the units that were chosen.
            rows: (going,) places of the sources.
            stays: (active, hypotheses) bool, what goes on.
        """
        width = len(output.log_probs) // len(self._active)
        self._scores = torch.where(stays, self._scores, -torch.inf)[rows]
        ids, parents = self._ids[rows].clamp(max=self._vocabulary - 1), self._parents[rows]
        # Two levels of indices: which sources stay, and the row that each hypothesis grew from.
        self._state = select_rows(output.state, (rows.unsqueeze(1) * width + parents).flatten())
        if self._options.no_repeat or self._options.once:
            places = parents.unsqueeze(2).expand(-1, -1, self._history.shape[2])
            before = self._history[rows].gather(1, places)
            self._history = torch.cat((before, ids.unsqueeze(2)), 2)
        self._ids = ids
        self._coverage = None if self._coverage is None else self._coverage[rows]
        if len(rows) < len(self._active):
            self._step, self._active = self._step.keep(rows), self._active[rows.cpu().numpy()]


def _is_certain(ready: Sequence[Hypothesis], best: float, length: int, options: Search) -> bool:
    """Whether nothing that goes on can be among the sequences that are wanted.

    Args:
        ready: of the source, finished.
        best: log probability of the best beginning that goes on.
        length: most units that it may have.
        options: of the search.
    """
    if len(ready) < options.count:
        return False
    scores = sorted((one.score(options.length_penalty) for one in ready), reverse=True)
    return scores[options.count - 1] >= best / math.pow(length + 1, options.length_penalty)


def _without(grown: Tensor, ends: list[int]) -> Tensor:
    """(sources, hypotheses, columns) without ends, but where nothing else is possible."""
    going = grown.clone()
    going[..., ends] = -torch.inf
    is_stuck = going.isinf().all(2, keepdim=True)
    return torch.where(is_stuck, grown, going)


def _without_repeated(grown: Tensor, history: Tensor, options: Search) -> Tensor:
    """Scores without units that would repeat what a sequence has.

    Args:
        grown: (sources, hypotheses, vocabulary).
        history: (sources, hypotheses, units) of each; empty where nothing is to be kept apart.
        options: of the search.
    """
    units = history.shape[2]
    for each in options.once:
        seen = (history == each).any(2)
        grown[..., each] = grown[..., each].masked_fill(seen, -torch.inf)
    size = options.no_repeat
    if not size or units < size:
        return grown
    stretches = history.unfold(2, size, 1)  # (sources, hypotheses, stretches, size)
    again = (stretches[..., :-1] == history[..., None, units - size + 1 :]).all(3)
    # One more column takes what is not repeated.
    wider = torch.nn.functional.pad(grown, (0, 1))
    places = torch.where(again, stretches[..., -1], grown.shape[2])
    return wider.scatter(2, places, -torch.inf)[..., :-1]


def _coverage(coverage: Tensor | None, at: int, place: int, factor: float) -> float:
    if coverage is None:
        return 0.0
    seen = coverage[at, place]
    # Of padding nothing is seen, and of every real symbol a little: a softmax is never 0.
    seen = seen[seen > 0].clamp(_LEAST_COVERAGE, 1)
    return factor * float(seen.log().sum())


def _path(
    steps: Sequence[_Step], source: int, place: int
) -> tuple[tuple[int, ...], npt.NDArray[np.float32] | None]:
    """The units of a hypothesis of the last step, and the weights at each; traced back."""
    units, weights = [], []
    for step in reversed(steps):
        row = step.row[source]
        units.append(int(step.units[row, place]))
        place = int(step.parents[row, place])
        if step.weights is not None:
            weights.append(step.weights[row, place])
    return tuple(reversed(units)), np.stack(weights[::-1]) if weights else None
