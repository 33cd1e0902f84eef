"""Training: epochs, early stopping, checkpoints; one loop, readable from top to bottom."""

import math
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from tagkit.config import Config, TrainConfig
from tagkit.errors import ConfigError, DeviceError, Interrupted, TrainingError
from tagkit.inference.predictor import Predictor
from tagkit.inference.score import AnyReport, dev_scores, evaluate
from tagkit.models.device import choose_device, set_threads
from tagkit.training.callbacks import Epoch, Listener
from tagkit.training.checkpoint import Checkpoint
from tagkit.training.distributed import Processes, processes_of
from tagkit.training.gradients import shortage_told
from tagkit.training.run_files import TRACKED
from tagkit.training.run_folder import RunFolder
from tagkit.training.run_identity import facts_of, identity, output_folder, refuse_unfit
from tagkit.training.setup import prepare
from tagkit.training.state import RunState
from tagkit.training.time_budget import Clock

# Steps in a row without finite gradients before the run goes back, and how often it does.
_MOST_SKIPPED = 5
_MOST_RETURNS = 5
# What a process may wish between two steps, the most urgent last.
_SAVE, _TIME, _STOP = 1, 2, 3


Ending = Literal["epochs", "patience", "time"]


@dataclass(frozen=True, slots=True)
class Trained:
    """What a run ends with.

    Attributes:
        predictor: the best epoch's model.
        epochs: all of them.
        best: the one whose model was kept.
        dev: report of the best model on dev.
        test: report on test; None without a test corpus.
        folder: where the model is.
        ended: why there was no further epoch: all were done, dev did not get better for
            `patience` epochs, or `max_minutes` were over.
        skipped: steps whose loss or gradients were not finite.
    """

    predictor: Predictor
    epochs: tuple[Epoch, ...]
    best: Epoch
    dev: AnyReport
    test: AnyReport | None
    folder: Path
    ended: Ending
    skipped: int


def train(
    config: Config,
    listener: Listener | None = None,
    *,
    resume: bool = False,
    force: bool = False,
    stop: threading.Event | None = None,
) -> Trained:
    """Train a model as the configuration says, save it, and score it.

    The best epoch's model goes to `best` in the output folder, the last epoch's to `last`, and all
    that it takes to go on to `checkpoints`.

    Args:
        config: of the run.
        listener: told what happens.
        resume: go on where a run in the same folder was stopped; it ends with the weights that it
            would have had. Where none was begun, one is.
        force: remove what a run left in the folder.
        stop: when it is set, the run saves its state and ends after the step.

    Raises:
        TagkitError: a corpus, a file of vectors, the device or the output folder cannot be used.
        Interrupted: `stop` was set.
    """
    if config.train.seeds:
        raise ConfigError("train.seeds", ["several seeds are for train_seeds; train takes one"])
    path = output_folder(config)
    refuse_unfit(config, resume=resume)
    clock = Clock(config.train.max_minutes, config.train.checkpoint_every)
    threads = set_threads(config.train.threads)
    device = choose_device(config.train.device)
    if config.train.precision == "fp16" and device.type == "cpu":
        raise DeviceError("train.precision = 'fp16' wants a GPU; bf16 works on a CPU too")
    processes = processes_of(device, config.train.precision, config.train.tracker, path)
    listener = listener if listener and processes.is_first else Listener()
    folder = RunFolder(path, writes=processes.is_first)
    notes: list[str] = []
    restored = torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])
    with folder.locked(notes.append), restored, shortage_told():
        folder.check(resume=resume, force=force)
        torch.manual_seed(config.train.seed)
        prepared = prepare(folder.resumed_config(config) if resume else config, device)
        if stop and stop.is_set():
            raise Interrupted(f"stopped before the first step; {path} is as it was")
        facts = facts_of(prepared)
        digests = {name: split["sha256"] for name, split in facts["data"].items()}
        run = identity(prepared.config, digests, device.type, processes.count)
        state = RunState(prepared, processes, lambda text: told.on_note(text))
        checkpoint = folder.open(run, state.check, notes.append, resume=resume)
        processes.wait()
        told = folder.logged(listener)
        for note in notes:
            told.on_note(note)
        told.on_start(prepared, threads)
        folder.claim_tracked(config.train.tracker)
        with processes.tracking(TRACKED):
            return _Run(state, folder, facts, run, processes, told, clock, stop).run(checkpoint)


class _Run:
    """One training run: what changes from step to step, and the loop over it."""

    def __init__(
        self,
        state: RunState,
        folder: RunFolder,
        facts: dict[str, Any],
        identity: dict[str, Any],
        processes: Processes,
        listener: Listener,
        clock: Clock,
        stop: threading.Event | None,
    ) -> None:
        self.state = state
        self.prepared = prepared = state.prepared
        self.settings = prepared.config.train
        self.folder = folder
        self.facts = facts
        self.identity = identity
        self.processes = processes
        self.listener = listener
        self.stop = stop or threading.Event()
        self.clock = clock
        self.predictor = Predictor(
            prepared.model, prepared.vocabulary, prepared.config, prepared.device
        )

    def run(self, checkpoint: Checkpoint | None) -> Trained:
        """All epochs, until the last, until dev stops getting better, or until time is over."""
        if checkpoint:
            self.state.restore(checkpoint)
        else:
            self._checkpoint()
        ended = self._ended()
        while not ended:
            if self._train_to_end_of_epoch():
                self._end_epoch()
                ended = self._ended()
            else:
                ended = "time"
                # First the state, in which a run without a limit would be.
                self._checkpoint()
                self._score(whole=False)
        with self.state.updates.averaged():
            self._save("last", self.state.epochs[-1])
        self.state.load_best()
        return self._finish(ended)

    def _ended(self) -> Ending | None:
        """Why there is no further epoch; None while there is one."""
        done, patience = len(self.state.epochs), self.settings.patience
        if done >= self.settings.max_epochs:
            return "epochs"
        if done and patience and done - self.state.best.number >= patience:
            return "patience"
        if done and self.processes.most(self.clock.is_over(self._ending_s())):
            return "time"
        return None

    def _train_to_end_of_epoch(self) -> bool:
        """The steps of an epoch that are left; False where time is over before the last.

        Raises:
            Interrupted: the run was asked to end.
            TrainingError: it cannot go on.
        """
        state = self.state
        self.prepared.model.train()
        plan = state.plan()
        while state.position.done < len(plan):
            loss = state.take_step(plan)
            if state.in_a_row == 1:
                self.listener.on_note(f"step {state.step}: {_nonfinite(loss, self.settings)}")
            if state.in_a_row == _MOST_SKIPPED:
                self._go_back()
                return self._train_to_end_of_epoch()
            self.listener.on_step(len(state.epochs) + 1, state.position.done, len(plan))
            if state.position.done < len(plan):
                wish = self.processes.most(self._wish())
                if wish == _STOP:
                    self._interrupt()
                if wish == _TIME:
                    return False
                if wish == _SAVE:
                    self._checkpoint()
        return True

    def _wish(self) -> int:
        """What this process would do before the next step."""
        if self.stop.is_set():
            return _STOP
        if self.clock.is_over(self._ending_s()):
            return _TIME
        return _SAVE if self.clock.wants_checkpoint(self.state.step) else 0

    def _end_epoch(self) -> None:
        """Score dev, keep the model if it is the best, and save the state.

        Raises:
            Interrupted: the run was asked to end.
        """
        self.state.end_epoch(self._score(whole=True).score)
        self._checkpoint()
        if self.processes.most(self.stop.is_set()) and not self._ended():
            self._interrupt()

    def _score(self, *, whole: bool) -> Epoch:
        """Score dev, and keep the model if it is the best."""
        began, state = time.perf_counter(), self.state
        position = state.position
        with state.updates.averaged():
            dev = self.prepared.corpus.dev
            scores = dev_scores(self.predictor, dev, self.settings.batch_size)
            score = self.processes.first(scores.headline)
            self.clock.dev_s = time.perf_counter() - began
            epoch = Epoch(
                number=len(state.epochs) + 1,
                step=state.step,
                loss=position.loss / max(1, position.targets),
                score=score,
                scores=dict(scores.parts),
                lr=state.schedule.lr,
                tokens_per_s=position.tokens / max(position.seconds, 1e-9),
                seconds=position.seconds + self.clock.dev_s,
                is_best=not state.epochs or score > state.best.score,
                whole=whole,
            )
            state.keep(epoch)
            if epoch.is_best:
                self._save("best", epoch)
        self.folder.write_history(state.epochs)
        self.listener.on_epoch(epoch)
        curves = {"loss": epoch.loss, "dev": epoch.score, "lr": epoch.lr,
                  "tokens/s": epoch.tokens_per_s}  # fmt: skip
        self.processes.log(curves, epoch.step)
        return epoch

    def _ending_s(self) -> float:
        """Seconds that it will take to end: dev twice, and test."""
        corpus, position = self.prepared.corpus, self.state.position
        tokens = 2 * corpus.dev.tokens + (corpus.test.tokens if corpus.test else 0)
        if self.clock.dev_s:
            return self.clock.dev_s * tokens / max(1, corpus.dev.tokens)
        # Nothing was scored yet. Scoring takes less than training.
        return tokens * position.seconds / max(1, position.tokens)

    def _go_back(self) -> None:
        """Begin again where the run was sound, with half the learning rate.

        Raises:
            TrainingError: that was tried too often.
        """
        state = self.state
        step, skipped, returns = state.step, state.skipped, state.returns + 1
        if returns > _MOST_RETURNS:
            raise TrainingError(
                f"step {step}: loss or gradients were not finite {_MOST_SKIPPED} times in a row, "
                f"also after {_MOST_RETURNS} returns with half the learning rate each time. Look "
                "for wrong values in the vectors, or lower train.lr"
            )
        state.restore(self.folder.sound_checkpoint(state.check, self.listener.on_note))
        state.skipped, state.returns = skipped, returns
        state.schedule.factor /= 2
        self.listener.on_note(
            f"step {step}: not finite {_MOST_SKIPPED} times in a row; back to step {state.step}, "
            f"with {state.schedule.factor:g} times the learning rate"
        )
        self._checkpoint()

    def _interrupt(self) -> None:
        """Save a checkpoint to resume from, and a model.

        Raises:
            Interrupted: always.
        """
        self._checkpoint()
        epoch, step = len(self.state.epochs) + 1, self.state.step
        with self.state.updates.averaged():
            facts = {**self.facts, "epoch": epoch, "step": step}
            self.folder.save_model("last", self.prepared, facts)
        raise Interrupted(
            f"stopped after step {step}, in epoch {epoch}; a checkpoint to resume from is in "
            f"{self.folder.path}"
        )

    def _checkpoint(self) -> None:
        """Save the state of the run.

        Whether a run may go back to it is a matter of the place alone, not of what it is saved for.
        """
        state = self.state
        on_schedule = not state.position.done or self.clock.is_due(state.step)
        sound = on_schedule and not state.in_a_row
        self.folder.save_checkpoint(state.checkpoint({"run": self.identity}, sound=sound))
        self.clock.saved()
        self.processes.wait()

    def _save(self, name: str, epoch: Epoch, **more: Any) -> None:
        facts = {**self.facts, "epoch": epoch.number, "dev_score": epoch.score, **more}
        self.folder.save_model(name, self.prepared, facts)

    def _finish(self, ended: Ending) -> Trained:
        """Score the best model, and save it with its scores."""
        corpus, size = self.prepared.corpus, self.settings.batch_size
        dev = evaluate(self.predictor, corpus.dev, batch_size=size)
        test = evaluate(self.predictor, corpus.test, batch_size=size) if corpus.test else None
        scores = {"dev": dev.to_dict(), "test": test.to_dict() if test else None}
        self._save("best", self.state.best, scores=scores)
        self.processes.wait()
        self.folder.write_curves(self.state.epochs, self.listener.on_note)
        return Trained(
            predictor=self.predictor,
            epochs=tuple(self.state.epochs),
            best=self.state.best,
            dev=dev,
            test=test,
            folder=self.folder.path,
            ended=ended,
            skipped=self.state.skipped,
        )


def _nonfinite(loss: float, settings: TrainConfig) -> str:
    what = "a gradient is not finite" if math.isfinite(loss) else f"the loss is {loss}"
    done = {"skip": "the step is skipped", "random": "a random step is made in its place"}
    return f"{what}; {done[settings.on_nonfinite]}"
