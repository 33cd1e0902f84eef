"""The most probable sequences that a beam finds.

A beam keeps the best few beginnings, hypotheses, of the same number of units. One that ends leaves
the beam, which from then on has one place less, until there is none (Jurafsky and Martin, section
on beam search in the chapter on machine translation). A beam of 1 is greedy search, but for
models that halt: a beam halts where that is more probable than the best unit, greedy search where
it is more probable than not. One as large as the number of all sequences finds the best.

Longer sequences have lower probabilities. Finished hypotheses are therefore compared by their log
probability divided by length ** penalty, the length in units and with the end: a penalty of 1 is
the mean (Jurafsky and Martin), 0 the probability itself. Wu et al. 2016 divide by
((5 + length) / 6) ** penalty, which grows as this does for long sequences.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from tagkit.nn.generation.choice import ban, ban_where
from tagkit.nn.generation.ended import Ended
from tagkit.nn.generation.generate import Ending, ended_by, halt_probs_of
from tagkit.nn.generation.step import State, StepModel, select_rows


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A sequence that a beam search has found.

    Attributes:
        units: its ids; the last one is the symbol that ended it, if one did.
        log_prob: in the model, the end included.
        ended: why it ends.
    """

    units: tuple[int, ...]
    log_prob: float
    ended: Ended

    def score(self, length_penalty: float) -> float:
        """By what it is compared with others."""
        # To halt is one more decision; a sequence without any unit has it alone.
        length = len(self.units) + (self.ended == "halt")
        return self.log_prob / math.pow(length, length_penalty)


@torch.no_grad()
def beam_search(
    step: StepModel,
    start: Tensor,
    state: State,
    ending: Ending,
    length: int,
    *,
    beam: int,
    length_penalty: float,
    banned: tuple[int, ...],
    once: tuple[int, ...] = (),
) -> list[Hypothesis]:
    """At most `beam` different sequences, the best first.

    Args:
        step: the model.
        start: (1,) the last input before the first unit.
        state: after all inputs before it, of one row.
        ending: what ends a sequence before its length.
        length: most units of a sequence, at least 1.
        beam: number of hypotheses.
        length_penalty: power of the length that log probabilities are divided by.
        banned: ids that are never chosen.
        once: ids that a sequence has once at most.
    """
    finished: list[Hypothesis] = []
    # Of each hypothesis in the beam, in the order of the rows: units, log probability, last unit.
    # There is one before the first step; `beam` equal ones would all grow in the same way.
    paths: list[tuple[int, ...]] = [()]
    scores = torch.zeros(1, dtype=torch.float64, device=start.device)
    ids = start
    for number in range(1, length + 1):
        output = step(ids, state)
        grown = ban(output.log_probs.double(), banned)  # (hypotheses, vocabulary)
        if once:
            again = torch.tensor([[unit in path for unit in once] for path in paths])
            units = torch.tensor(once, device=start.device)
            grown = ban_where(grown, units, again.to(start.device))
        vocabulary = grown.shape[1]
        if ending.by_halt:
            # One more column, with the id `vocabulary`: to halt before another unit. To halt then
            # competes with all units for the places in the beam. Each row is still a distribution:
            # p(halt) and (1 - p(halt)) p(unit), which sum to 1 if nothing is banned.
            halt_probs = halt_probs_of(output).unsqueeze(1)  # (hypotheses, 1)
            # (hypotheses, vocabulary) -> (hypotheses, vocabulary + 1)
            grown = torch.cat((torch.log1p(-halt_probs) + grown, halt_probs.log()), 1)
        # (hypotheses, 1) + (hypotheses, columns): log p(path, unit) = log p(path) + log p(unit)
        total = scores.unsqueeze(1) + grown
        # A finished hypothesis keeps its place in the beam. What is impossible takes none: with few
        # units there may be fewer continuations than places.
        width = min(beam - len(finished), int(total.isfinite().sum()))
        # (hypotheses, columns) -> (hypotheses x columns,): the best of all hypotheses together. A
        # place is parent x columns + column: the row that was grown, and the unit that it got.
        scores, places = total.flatten().topk(width)  # (width,) each, the best first
        parents = torch.div(places, grown.shape[1], rounding_mode="floor")
        ids = places - parents * grown.shape[1]
        # Of the chosen those that stay in the beam: places among them, and paths.
        stays, kept = [], []
        chosen = zip(parents.tolist(), ids.tolist(), scores.tolist(), strict=True)
        for place, (parent, unit, score) in enumerate(chosen):
            halted = unit == vocabulary  # the column that is no unit, and is in no path
            path = paths[parent] if halted else (*paths[parent], unit)
            ended = ended_by(halted, unit == ending.symbol, number == length)
            if ended is None:
                stays.append(place)
                kept.append(path)
            else:
                finished.append(Hypothesis(path, score, ended))
        if not stays:
            break
        paths, rows = kept, torch.tensor(stays, device=start.device)
        ids, scores = ids[rows], scores[rows]
        # Two levels of indices: which ones stay, and the row that each was grown from. A parent
        # with several children is copied, one without any is left out.
        state = select_rows(output.state, parents[rows])
    return sorted(finished, key=lambda each: -each.score(length_penalty))
