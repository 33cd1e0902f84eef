"""Training in closed form: the read-out of an echo-state network by ridge regression.

One pass over the training corpus gathers the sums of `nn/heads/ridge.py`, from which the read-out
for every penalty follows. The penalty is chosen on dev as an epoch is, by `train.metric`. A run of
this kind has one epoch, whose result is scored, saved and resumed as that of any other.
"""

import math
import time
from collections.abc import Iterator, Sequence

import numpy as np
from torch import Tensor

from tagkit.errors import Interrupted, TrainingError
from tagkit.evaluation.reports.criterion import rank
from tagkit.features import Ids
from tagkit.features.batching.batch import Batch
from tagkit.features.batching.encoding import Encoded
from tagkit.inference.score.score import dev_scores
from tagkit.limits import BATCH_SIZE
from tagkit.models.base.device import to_tensors
from tagkit.models.base.readout import Readout, ReadoutBatch, fit_scales
from tagkit.nn.heads.ridge import RidgeSums, Rows, Solution
from tagkit.training.loop.dev_loss import NO_LOSS
from tagkit.training.loop.run import Ending, Run
from tagkit.training.loop.state import EpochPlan

# Multiples of the mean variance of a state: the smaller the corpus, the larger the best one.
PENALTIES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
# Tokens of dev, at most, that the scales are fitted on: these are one or two numbers.
_SCALE_TOKENS = 8_192
# Steps of which the mean loss of the training corpus is estimated.
_LOSS_STEPS = 32


def solve_readout(run: Run) -> Ending:
    """Solve the read-out, score it and save it, unless the run that is resumed has done so.

    Returns:
        Why there is no further epoch.

    Raises:
        Interrupted: the run was asked to stop before the read-out was solved.
        TrainingError: memory is too short for one sentence, or the states are not finite.
    """
    state, model = run.state, run.prepared.model
    if ending := run.ending():
        return ending
    model.eval()  # no dropout: the states that are solved for are those of prediction
    encoded = run.prepared.encoded
    assert isinstance(encoded, Encoded)  # a language model has no read-out in closed form
    readouts = model.readouts(encoded)
    sums = [
        RidgeSums(each.linear.in_features, each.linear.out_features, run.prepared.device)
        for each in readouts
    ]
    plan = state.plan_epoch()
    for batch in plan.steps:
        began = time.perf_counter()
        for own, rows in zip(sums, _rows_of_step(run, readouts, batch), strict=True):
            for each in rows:
                own.add(each)
        state.schedule.next_step()  # it counts steps; its rate is 0
        state.count_step(batch, 0.0, 0, time.perf_counter() - began, finite=True)
        run.listener.on_step(run.step_facts(len(plan.steps)))
        if run.stop_requested():
            # The checkpoint before the first step is the one to resume from.
            raise Interrupted(
                f"stopped after step {state.step}, before the read-out was solved; resume=True "
                f"repeats the pass over the corpus for {run.folder.path}"
            )
    for own in sums:
        state.processes.sum_over_ranks(own.tensors())
    if not all(own.are_finite for own in sums):
        has_vectors = run.prepared.config.embeddings.vectors
        remedy = "look for wrong values in the vectors, or " if has_vectors else ""
        raise TrainingError(
            f"the states of the training corpus are not finite: {remedy}lower "
            "encoder.spectral_radius"
        )
    _place_best(run, readouts, sums)
    _estimate_loss(run, plan)
    epoch = run.evaluate(whole=True)
    state.end_epoch(epoch.score)
    run.checkpoint()
    return "epochs"


def _rows_of_step(run: Run, readouts: Sequence[Readout], batch: Ids) -> list[list[Rows]]:
    """For each read-out the rows of this process's share of a step."""
    state = run.state
    while True:
        # Nothing is added to the sums before the whole step was read: a failed attempt leaves none
        # of its rows there.
        try:
            pieces = [
                _examples(run, readouts, state.micro_batches.load(piece))
                for piece in state.micro_batches.split(batch)
            ]
            return [
                [readout.rows(piece[number]) for piece in pieces]
                for number, readout in enumerate(readouts)
            ]
        except (RuntimeError, MemoryError) as error:
            state.micro_batches.shrink(batch, error)  # raises `error` unless memory is short


def _examples(run: Run, readouts: Sequence[Readout], batch: Batch[Tensor]) -> list[ReadoutBatch]:
    """A batch as each read-out sees it."""
    states, final = run.prepared.model.read_batch(batch)
    return [readout.examples(states, final, batch) for readout in readouts]


def _place_best(run: Run, readouts: Sequence[Readout], sums: Sequence[RidgeSums]) -> None:
    """Give the model the solution whose penalty is best on dev; of equal ones the smallest."""
    solutions = list(zip(*(own.solve(PENALTIES) for own in sums), strict=True))
    samples = [_examples(run, readouts, batch) for batch in _dev_batches(run)]
    by_readout = list(zip(*samples, strict=True)) if samples else [() for _ in readouts]
    scores = []
    for solution in solutions:
        _place(readouts, solution, by_readout)
        scores.append(_dev_rank(run))
    best = max(range(len(PENALTIES)), key=lambda number: scores[number])
    _place(readouts, solutions[best], by_readout)
    run.listener.on_note(f"ridge regression: the best penalty on dev is {PENALTIES[best]:g}")


def _place(
    readouts: Sequence[Readout],
    solutions: Sequence[Solution],
    samples: Sequence[Sequence[ReadoutBatch]],
) -> None:
    for readout, solution, examples in zip(readouts, solutions, samples, strict=True):
        readout.place(solution)
        if examples:
            readout.scale(fit_scales(readout, examples))


def _dev_rank(run: Run) -> float:
    """The score on dev by `train.metric`, on a scale on which larger is better."""
    if run.criterion.is_loss:
        loss = run.dev_loss.compute()
        score = NO_LOSS if loss is None else loss
    else:
        score = dev_scores(run.predictor, run.prepared.corpus.dev, BATCH_SIZE).headline
    # Rounding may differ between processes, which have to agree on the best.
    return rank(run.criterion.key, run.processes.from_first_rank(score))


def _dev_batches(run: Run) -> Iterator[Batch[Tensor]]:
    """Sentences from all parts of dev, of a bounded number of tokens, without unknown labels."""
    encoded = run.dev_loss.encoded
    if encoded is None:
        return
    stride = math.ceil(encoded.lengths.sum() / _SCALE_TOKENS)
    chosen = np.arange(len(encoded))[::stride]
    for part in np.array_split(chosen, math.ceil(len(chosen) / BATCH_SIZE)):
        yield to_tensors(encoded.batch(part), run.prepared.device)


def _estimate_loss(run: Run, plan: EpochPlan) -> None:
    """Count the loss of some of the steps as that of the epoch, of which it is an estimate."""
    encoded = run.prepared.encoded
    some = plan.steps[:: math.ceil(len(plan.steps) / _LOSS_STEPS)]
    sentences = np.concatenate(some)
    mean = run.dev_loss.mean(encoded, sentences)
    run.state.position.loss, run.state.position.targets = mean, 1
