"""What the training loop calls by name: evaluation, checkpoints, rollbacks, and when to stop.

How long scoring dev takes is estimated from samples of it (`DevCost`), until it has been scored.
"""

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from enum import IntEnum
from statistics import median
from typing import Any, Literal

from tagkit.config import fixed
from tagkit.corpus.records.dataset import Split
from tagkit.errors import TrainingError
from tagkit.evaluation.reports.criterion import rank
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.score.score import dev_scores
from tagkit.limits import BATCH_SIZE
from tagkit.nn.feature_crf.feature_crf import SHARES
from tagkit.training.events.callbacks import Epoch, Listener, Save, Step
from tagkit.training.folder.run_folder import RunFolder
from tagkit.training.loop.dev_loss import NO_LOSS, DevLoss
from tagkit.training.loop.state import EpochPlan, RunState
from tagkit.training.loop.time_budget import COLD_STEPS, TimeBudget

# How many consecutive steps without finite gradients make a run go back, and how often it may.
MAX_NONFINITE = 5
_MAX_ROLLBACKS = 5
# Drawing the curves, showing the report, starting and ending the interpreter, in seconds.
_EXIT_S = 1.0
# Samples of dev: sentences of one, and how many, as the last ones would take the time of the last
# steps; both at most.
_SENTENCES, _SAMPLES = 256, 4

Ending = Literal["epochs", "patience", "time"]


class Action(IntEnum):
    """What to do before the next step, the most urgent last."""

    # Numbers, because processes agree on the largest of theirs.
    CONTINUE = 0
    SAVE = 1
    END = 2
    STOP = 3


class Run:
    """One training run: its state, the folder that it writes into, and its time budget."""

    def __init__(
        self,
        state: RunState,
        folder: RunFolder,
        facts: dict[str, Any],
        identity: dict[str, Any],
        listener: Listener,
        budget: TimeBudget,
        stop: threading.Event | None,
    ) -> None:
        """`facts` are saved with each model, `identity` with each checkpoint."""
        self.state = state
        self.prepared = prepared = state.prepared
        self.processes = state.processes
        self.settings = state.settings
        self.folder = folder
        self.facts = facts
        self.identity = identity
        self.listener = listener
        self.stop = stop or threading.Event()
        self.budget = budget
        self.criterion = prepared.criterion
        self.dev_loss = DevLoss(prepared)
        # Of dev and test; added up once, not after each step.
        self._dev_tokens = max(1, prepared.corpus.dev.tokens)
        self._test_tokens = prepared.corpus.test.tokens if prepared.corpus.test else 0
        # It has the model that is trained, not a copy, and so its current weights.
        self.predictor = Predictor(
            prepared.model, prepared.vocabulary, prepared.config, prepared.device
        )
        self._dev_cost = DevCost(self.predictor, prepared.corpus.dev, self.dev_loss)
        self._estimate_at_s = math.inf  # seconds left when the next estimate is due

    def ending(self) -> Ending | None:
        """Why there is no further epoch; None while there is one."""
        done, patience = len(self.state.epochs), fixed(self.settings.patience)
        if done >= fixed(self.settings.max_epochs):
            return "epochs"
        # Early stopping: Goodfellow, Bengio and Courville, section 7.8, algorithm 7.1. A score of 0
        # says that learning has not begun: a tagger predicts O alone for its first hundred steps.
        # A loss falls from the first step on.
        begun = done and (self.criterion.is_loss or self.state.best.score > 0)
        if begun and patience and done - self.state.best.number >= patience:
            return "patience"
        # A few steps are taken and scored, however short the time: else there is no model.
        if done and self.processes.max_over_ranks(self._time_is_over()):
            return "time"
        return None

    def pending_action(self) -> Action:
        """What to do before the next step: the most urgent action of any process."""
        return Action(self.processes.max_over_ranks(self._own_action()))

    def _own_action(self) -> Action:
        if self.stop.is_set():
            return Action.STOP
        if self.budget.steps >= COLD_STEPS and self._time_is_over():
            return Action.END
        return Action.SAVE if self.budget.should_save(self.state.step) else Action.CONTINUE

    def stop_requested(self) -> bool:
        """Whether any process was asked to stop."""
        return bool(self.processes.max_over_ranks(self.stop.is_set()))

    def count_time(self, seconds: float, plan: EpochPlan) -> None:
        """Count the duration of a step; with a time limit, let the learning rate fall to its end.

        A run without a limit does not depend on the clock.
        """
        if self.budget.is_limited:
            self.budget.count_step(seconds)
            if self.budget.steps >= COLD_STEPS and not self.budget.dev_s:
                self._estimate_dev()
            self.fit_schedule_to_time(plan)

    def fit_schedule_to_time(self, plan: EpochPlan) -> None:
        """Set the number of steps of the schedule to those that fit into the time limit."""
        budget, state = self.budget, self.state
        if not budget.is_limited:
            return
        # The first steps of a new run have the planned rate, as there is nothing to go by. All
        # processes have counted the same steps, and so none waits below for the others.
        is_resumed = state.step > budget.steps
        if budget.steps < COLD_STEPS and not is_resumed:
            return
        # A run that is resumed has the durations of its past until it has its own.
        past_s = sum(epoch.seconds for epoch in state.epochs) + state.position.seconds
        step_s = budget.step_s or past_s / state.step
        steps = len(plan.steps)
        fitting = budget.steps_that_fit(
            steps - state.position.done, steps, step_s=max(step_s, 1e-9),
            ending_s=self._epoch_ending_s(), closing_s=self._closing_s(),
        )  # fmt: skip
        state.schedule.fitting_steps = state.step + self.processes.from_first_rank(fitting)

    def evaluate(self, *, whole: bool) -> Epoch:
        """Score dev with the averaged weights, and save the model if it is the best.

        Args:
            whole: whether the epoch was completed.
        """
        began, state = time.perf_counter(), self.state
        position = state.position
        with state.optimizer.averaged():
            dev = self.prepared.corpus.dev
            scores = dev_scores(self.predictor, dev, BATCH_SIZE)
            scored = time.perf_counter()
            loss = self.dev_loss.compute() if scores.loss is None else scores.loss
            if loss is not None and not math.isfinite(loss):  # as of a model that has diverged
                loss = None
            self.budget.dev_loss_s = time.perf_counter() - scored
            score = scores.headline
            if self.criterion.is_loss:
                score = NO_LOSS if loss is None else loss
            # Rounding may differ between processes, which have to agree on the best epoch.
            score = self.processes.from_first_rank(score)
            loss = self.processes.from_first_rank(math.nan if loss is None else loss)
            loss = None if math.isnan(loss) else loss
            # `_closing_s` estimates from it how long the end of the run will take.
            self.budget.dev_s = time.perf_counter() - began
            epoch = Epoch(
                number=len(state.epochs) + 1,
                step=state.step,
                loss=position.loss / max(1, position.targets),
                score=score,
                scores=dict(scores.parts),
                lr=state.schedule.lr,
                # Seconds of steps alone, summed over stops and resumptions.
                tokens_per_s=position.tokens / max(position.seconds, 1e-9),
                seconds=position.seconds + self.budget.dev_s,
                is_best=not state.epochs or self._is_better(score, loss),
                whole=whole,
                dev_loss=loss,
            )
            state.add_epoch(epoch)
            if epoch.is_best:
                self.folder.remove_results()  # those of a finished run that was resumed
                self.save_model("best", epoch)
        # After the model, so that the history never names a best epoch whose model is not saved.
        self.folder.write_history(state.epochs)
        self.listener.on_epoch(epoch)
        self._track(epoch)
        return epoch

    def _track(self, epoch: Epoch) -> None:
        curves = {"loss": epoch.loss, "dev": epoch.score, "lr": epoch.lr,
                  "tokens/s": epoch.tokens_per_s}  # fmt: skip
        if epoch.dev_loss is not None:
            curves["dev loss"] = epoch.dev_loss
        self.processes.log(curves, epoch.step)

    def _is_better(self, score: float, loss: float | None) -> bool:
        """Whether an epoch is better than the best one; of equal scores the first stays the best.

        As long as the score is 0, the last one whose loss on dev is finite is: it has learnt for
        longest. Not that with the lowest loss, which rises early where dev is small.
        """
        best = self.state.best
        if score or best.score or self.criterion.is_loss:
            return self._rank(score) > self._rank(best.score)
        return loss is not None or best.dev_loss is None

    def _rank(self, score: float) -> float:
        return rank(self.criterion.key, score)

    def checkpoint(self) -> None:
        """Save the state of the run.

        Whether a run may go back to it depends on the step alone, not on why it is saved: a run
        that was stopped and resumed has to go back to the same step as one that was not.
        """
        began, state = time.perf_counter(), self.state
        on_schedule = not state.position.done or self.budget.is_due(state.step)
        sound = on_schedule and not state.consecutive_nonfinite
        place = self.folder.save_checkpoint(state.checkpoint({"run": self.identity}, sound=sound))
        self.budget.saved()
        self.processes.barrier()
        state.saved(place)  # after the barrier: the first process has written it
        self.budget.checkpoint_s = self._saved("checkpoint", began)

    def roll_back(self) -> None:
        """Go back to the newest sound checkpoint, with half the learning rate.

        Raises:
            TrainingError: the run has gone back too often.
        """
        state = self.state
        step, skipped, rollbacks = state.step, state.skipped, state.rollbacks + 1
        if rollbacks > _MAX_ROLLBACKS:
            has_vectors = self.prepared.config.embeddings.vectors
            remedy = "Look for wrong values in the vectors, or lower" if has_vectors else "Lower"
            raise TrainingError(
                f"step {step}: loss or gradients were not finite {MAX_NONFINITE} times in a row, "
                f"also after {_MAX_ROLLBACKS} returns with half the learning rate each time. "
                f"{remedy} train.lr"
            )
        state.restore(self.folder.sound_checkpoint(state.check, self.listener.on_note))
        # The counts are not undone: otherwise the run could go back forever.
        state.skipped, state.rollbacks = skipped, rollbacks
        state.schedule.factor /= 2
        self.listener.on_note(
            f"step {step}: not finite {MAX_NONFINITE} times in a row; back to step {state.step}, "
            f"with {state.schedule.factor:g} times the learning rate"
        )
        # At once, so that a run that is killed now resumes with the halved learning rate.
        self.checkpoint()

    def save_model(self, name: str, epoch: Epoch, scores: Mapping[str, Any] | None = None) -> None:
        """Save the model with its current weights, those of `epoch`, as `best` or `last`.

        `scores` are those of the end of the run.
        """
        began = time.perf_counter()
        facts = {**self.facts, "epoch": epoch.number, "dev_score": epoch.score}
        if scores is not None:
            facts["scores"] = scores
        self.folder.save_model(name, self.prepared, facts)
        self.budget.model_s = self._saved(f"{name} model", began)

    def _saved(self, what: str, began: float) -> float:
        """Report what was saved; the seconds since `began`."""
        seconds = time.perf_counter() - began
        self.listener.on_save(Save(what, self.state.step, seconds))
        return seconds

    def _time_is_over(self) -> bool:
        return self.budget.is_over(self._closing_s())

    def _epoch_ending_s(self) -> float:
        """Seconds that it takes to score dev, and to save a model and a checkpoint."""
        budget = self.budget
        dev_s = budget.dev_s or self._dev_cost.seconds
        # Until a model was saved, a checkpoint, which holds more, is an upper bound.
        return dev_s + budget.checkpoint_s + (budget.model_s or budget.checkpoint_s)

    def step_facts(self, total: int) -> Step:
        """What listeners get after a step of an epoch of `total` steps."""
        state, position = self.state, self.state.position
        epoch, epochs = len(state.epochs) + 1, fixed(self.settings.max_epochs)
        left_minutes = self.budget.left_minutes()
        return Step(
            epoch=epoch,
            epochs=epochs,
            done=position.done,
            total=total,
            run_done=state.step,
            run_total=state.step + total - position.done + (epochs - epoch) * total,
            loss=position.loss / max(1, position.targets),
            tokens_per_s=position.tokens / max(position.seconds, 1e-9),
            closing_s=self._closing_s(),
            limit_s=60 * left_minutes or math.inf,
        )

    def _closing_s(self) -> float:
        """Seconds that it takes to end within an epoch.

        The epoch is scored and saved; then the last model is saved, the best one is scored on dev
        and test, and saved once more.
        """
        budget = self.budget
        dev_s = budget.dev_s or self._dev_cost.seconds
        # The loss is for epochs alone. Beside a CRF of word features dev is scored with each share.
        times = 1 if self.prepared.model.feature_crf is None else len(SHARES)
        passes = times + self._test_tokens / self._dev_tokens
        scored_s = max(0.0, dev_s - budget.dev_loss_s) * passes
        return self._epoch_ending_s() + scored_s + 2 * budget.model_s + _EXIT_S

    def _estimate_dev(self) -> None:
        """Estimate how long scoring dev takes, again whenever half of the time has passed."""
        left_s, cost = self.budget.left_s(self._closing_s()), self._dev_cost
        if 0 < left_s < self._estimate_at_s and not cost.is_final:
            cost.sample()
            self.budget.dev_loss_s = cost.loss_s
            self._estimate_at_s = self.budget.left_s(self._closing_s()) / 2
            self.prepared.model.train()  # which scoring has ended


class DevCost:
    """Estimates of the seconds that scoring dev will take; scoring ends training mode."""

    def __init__(self, predictor: Predictor, dev: Split, dev_loss: DevLoss) -> None:
        """Of a run's model on its dev corpus; 0 seconds before the first sample."""
        self.predictor = predictor
        self.dev = dev
        self.dev_loss = dev_loss
        self.seconds = 0.0  # of the scores and the loss
        self.loss_s = 0.0  # of the loss alone
        self._estimates_s: list[float] = []

    @property
    def is_final(self) -> bool:
        """Whether there are samples enough."""
        return len(self._estimates_s) >= _SAMPLES

    def sample(self) -> None:
        """Score a sample, and estimate from it and those before."""
        if not self._estimates_s:
            self._sampled_s()  # loads code and allocates memory, as the first steps do
        self._estimates_s.append(self._sampled_s())
        # One that is far too high would end the run at once, in the middle of its schedule.
        self.seconds = median(self._estimates_s)

    def _sampled_s(self) -> float:
        dev, seconds = self.dev, []
        # From all parts of the corpus: sentences of its beginning may be of another length.
        sentences = tuple(dev.sentences[:: len(dev.sentences) // _SENTENCES + 1])
        once = replace(dev, sentences=sentences)
        # A word's vector is computed once. All of dev has fewer new words than a sample has, so a
        # second pass over the same words shows what tokens alone take.
        for part in (once, replace(dev, sentences=sentences * 2)):
            began = time.perf_counter()
            self.predictor.score(part, batch_size=BATCH_SIZE)
            seconds.append(time.perf_counter() - began)
        of_tokens = min(max(seconds[1] - seconds[0], 0.0), seconds[0])
        of_words = seconds[0] - of_tokens
        self.loss_s = self.dev_loss.estimate_s(_SENTENCES)
        return (
            of_tokens * (dev.tokens / max(1, once.tokens))
            + of_words * (_distinct_words(dev) / max(1, _distinct_words(once)))
            + self.loss_s
        )


def _distinct_words(split: Split) -> int:
    return len({word for sentence in split.sentences for word in sentence.words})
