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
) -> list[list[Hypothesis]]:
    """At most `options.count` different sequences of each source, the best first.

    Args:
        step: the model.
        start: (sources,) the last input before the first unit.
        state: after all inputs before it, a row for each source.
        ending: what ends a sequence before its length.
        lengths: most units of the sequences of each source, at least 1.
        options: of the search.
    """
    device, sources = start.device, len(start)
    finished: list[list[Hypothesis]] = [[] for _ in range(sources)]
    steps: list[_Step] = []
    active = np.arange(sources)  # numbers of the sources that are still searched
    # (active, hypotheses): there is one before the first step; equal ones would all grow alike.
    scores = torch.zeros(sources, 1, dtype=torch.float64, device=device)
    ids = start.unsqueeze(1)
    history = ids.new_zeros(sources, 1, 0)  # (active, hypotheses, units), where it is needed
    coverage: Tensor | None = None  # (active, hypotheses, time)
    for number in range(1, max(lengths) + 1):
        width = ids.shape[1]
        output = step(ids.flatten(), state)
        grown = ban(output.log_probs.double(), options.banned)
        grown = grown.view(-1, width, grown.shape[1])
        grown = _without_repeated(grown, history, options)
        vocabulary = grown.shape[2]
        if ending.by_halt:
            # One more column, with the id `vocabulary`: to halt before another unit. To halt then
            # competes with all units for the places in the beam. Each row is still a distribution:
            # p(halt) and (1 - p(halt)) p(unit), which sum to 1 if nothing is banned.
            halt = halt_probs_of(output).view(-1, width, 1)
            # (active, hypotheses, vocabulary) -> (active, hypotheses, vocabulary + 1)
            grown = torch.cat((torch.log1p(-halt) + grown, halt.log()), 2)
        if number <= options.min_units:
            for end in (ending.symbol, vocabulary if ending.by_halt else None):
                if end is not None:
                    grown[..., end] = -torch.inf
        # (active, hypotheses, 1) + (active, hypotheses, columns), and the best of all hypotheses
        # together. A place is parent x columns + column.
        total = (scores.unsqueeze(2) + grown).flatten(1)
        scores, places = total.topk(min(options.beam, total.shape[1]), dim=1)
        parents = torch.div(places, grown.shape[2], rounding_mode="floor")
        units = places - parents * grown.shape[2]
        weights = None
        if output.weights is not None and (options.keeps_weights or options.coverage_penalty):
            weights = output.weights.view(-1, width, output.weights.shape[1])
        if options.coverage_penalty and weights is not None:
            coverage = weights if coverage is None else coverage + weights
            coverage = coverage.gather(1, parents.unsqueeze(2).expand(-1, -1, coverage.shape[2]))
        row = np.full(sources, -1)
        row[active] = np.arange(len(active))
        kept_weights = (
            weights.cpu().numpy() if options.keeps_weights and weights is not None else None
        )
        steps.append(_Step(row, parents.cpu().numpy(), units.cpu().numpy(), kept_weights))

        # A finished hypothesis keeps its place in the beam. What is impossible takes none: with few
        # units there may be fewer continuations than places.
        found, chosen = scores.tolist(), units.tolist()
        stays = torch.zeros_like(units, dtype=torch.bool)
        going: list[int] = []
        for at, source in enumerate(active.tolist()):
            ready = finished[source]
            room = options.beam - len(ready)
            best = -math.inf
            for place in range(min(room, len(found[at]))):
                log_prob, unit = found[at][place], chosen[at][place]
                if math.isinf(log_prob):
                    break
                is_last = number == lengths[source]
                ended = ended_by(unit == vocabulary, unit == ending.symbol, is_last)
                if ended is None:
                    stays[at, place] = True
                    best = max(best, log_prob)
                    continue
                penalty = _coverage(coverage, at, place, options.coverage_penalty)
                path, seen = _path(steps, source, place)
                path = path[:-1] if ended == "halt" else path
                ready.append(Hypothesis(path, log_prob, ended, penalty, seen))
            if not math.isinf(best) and not _is_certain(ready, best, lengths[source], options):
                going.append(at)
        if not going:
            break
        # Two levels of indices: which sources stay, and the row that each hypothesis grew from.
        rows = torch.tensor(going, device=device)
        scores = torch.where(stays, scores, -torch.inf)[rows]
        ids, parents = units[rows].clamp(max=vocabulary - 1), parents[rows]
        state = select_rows(output.state, (rows.unsqueeze(1) * width + parents).flatten())
        if options.no_repeat or options.once:
            before = history[rows].gather(1, parents.unsqueeze(2).expand(-1, -1, history.shape[2]))
            history = torch.cat((before, ids.unsqueeze(2)), 2)
        coverage = None if coverage is None else coverage[rows]
        if len(going) < len(active):
            step, active = step.keep(rows), active[going]
    return [
        sorted(each, key=lambda one: -one.score(options.length_penalty))[: options.count]
        for each in finished
    ]


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
