"""Training a model: `training_loop` is all of it; `train` prepares it and finishes the run.

The callbacks of a program leave a run as it is without them: see `undisturbed`.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, cast

import torch

from tagkit.config import Config, TrainConfig, as_config, with_options
from tagkit.corpus.records.objects import Given, option_of, path_of
from tagkit.corpus.splits.splits import Corpus
from tagkit.errors import ConfigError, DataError, DeviceError, Interrupted
from tagkit.features import Ids
from tagkit.models.base.device import choose_device, choose_workers, thread_count
from tagkit.nn.threads import given_threads, kept_threads, second_thread
from tagkit.training.diagnosis.corpus_checks import diagnose_corpus
from tagkit.training.events.callbacks import Listener, listener_of
from tagkit.training.folder.run_files import TRACKED
from tagkit.training.folder.run_folder import RunFolder
from tagkit.training.folder.run_identity import facts_of, identity, output_folder, refuse_unfit
from tagkit.training.loop.dev_loss import refuse_undefined_loss
from tagkit.training.loop.micro_batches import oom_as_error
from tagkit.training.loop.run import MAX_NONFINITE, Action, Ending, Run
from tagkit.training.loop.state import RunState
from tagkit.training.loop.time_budget import TimeBudget
from tagkit.training.optim.optimizer import autocast
from tagkit.training.processes.distributed import Processes, processes_of
from tagkit.training.readout import solve_readout
from tagkit.training.run_end import Trained, finish, interrupt
from tagkit.training.setup.run_settings import is_closed_form
from tagkit.training.setup.setup import Prepared, fit, prepare
from tagkit.wording import clipped, joined


def training_loop(run: Run) -> Ending:
    """Train epoch by epoch, from the run's state on: that of a new run, or of a checkpoint.

    A step is one of minibatch gradient descent: Goodfellow, Bengio and Courville, algorithm 8.1.

    Returns:
        Why there is no further epoch.

    Raises:
        Interrupted: the run was asked to stop.
        TrainingError: memory is too short for one sentence, or the loss does not stay finite.
    """
    state, listener, model = run.state, run.listener, run.prepared.model
    optimizer, schedule, average = state.optimizer, state.schedule, state.optimizer.average
    while not (ending := run.ending()):
        model.train()
        plan = state.plan_epoch()
        run.fit_schedule_to_time(plan)
        # `position` is in the checkpoint: a resumed run may begin in the middle of an epoch.
        while state.position.done < len(plan.steps):
            began = time.perf_counter()
            sentences = plan.steps[state.position.done]

            # Forward and backward.
            try:
                loss, targets = forward_backward(state, sentences, plan.targets_per_step)
            except (RuntimeError, MemoryError) as error:
                optimizer.zero_grad()
                # Raises `error` unless memory is short.
                state.micro_batches.shrink(sentences, error)
                continue  # the same step again, in smaller pieces

            # Clip, step, average. The schedule counts skipped steps too, so that it ends in time.
            gradients = optimizer.clip_gradients(loss)
            lr = schedule.next_step()
            if gradients.usable:
                decay = average.next_decay()
                optimizer.step(lr, decay)
                average.update(decay)
            optimizer.zero_grad()

            # Count it. After several steps in a row that were not finite the run goes back.
            seconds = time.perf_counter() - began
            state.count_step(sentences, loss, targets, seconds, finite=gradients.finite)
            run.count_time(seconds, plan)
            if state.consecutive_nonfinite == 1:
                listener.on_note(f"step {state.step}: {_nonfinite(loss, run.settings)}")
            if state.consecutive_nonfinite == MAX_NONFINITE:
                run.roll_back()
                plan = state.plan_epoch()  # of the checkpoint's epoch, perhaps an earlier one
                run.fit_schedule_to_time(plan)
                continue
            listener.on_step(run.step_facts(len(plan.steps)))
            if state.position.done == len(plan.steps):
                break  # the checkpoint is saved below, when the epoch has its score

            # Save a checkpoint, or end before the epoch does.
            match run.pending_action():
                case Action.SAVE:
                    run.checkpoint()
                case Action.END:
                    # Before the evaluation: resumed with more time, the run takes the next step, as
                    # if it had never ended here.
                    run.checkpoint()
                    run.evaluate(whole=False)
                    return "time"
                case Action.STOP:
                    interrupt(run)  # saves a checkpoint and raises Interrupted

        # Evaluate on dev: the best model is saved, and the schedule may cut the learning rate.
        epoch = run.evaluate(whole=True)
        state.end_epoch(epoch.score)
        run.checkpoint()
        if run.stop_requested() and not run.ending():
            interrupt(run)
    return ending


def forward_backward(state: RunState, sentences: Ids, targets_per_step: float) -> tuple[float, int]:
    """Add the gradients of a step's loss, divided by `targets_per_step`, to the parameters.

    Gradients are sums over the pieces into which a batch is cut where memory is short, and over
    processes. This is a function of its own so that a failed attempt keeps no tensors.

    Returns:
        The loss, summed, in nats, and the number of its targets.
    """
    prepared, optimizer = state.prepared, state.optimizer
    prepared.task.begin_step(prepared.model, state.step)
    # (2,) loss and targets, in float64: a sum of many pieces and processes keeps its digits.
    sums = torch.zeros(2, dtype=torch.float64)
    for piece in state.micro_batches.split(sentences):
        batch = state.micro_batches.load(piece)
        optimizer.before_forward(batch)
        with autocast(prepared.device, prepared.config.train.precision):
            total, count = prepared.task.loss(prepared.model, batch)
        loss = float(total.detach())
        sums += torch.tensor([loss, float(count)], dtype=torch.float64)
        if math.isfinite(loss):  # otherwise no gradient is finite, and the step is skipped
            # Only in fp16 does the scaler multiply: small gradients would become 0 there.
            scaled = optimizer.scaler.scale(total / targets_per_step)
            scaled.backward()  # type: ignore[no-untyped-call]
    if state.processes.count > 1:
        state.processes.sum_over_ranks([sums, *optimizer.dense_gradients()])
    return float(sums[0]), int(sums[1])


def _nonfinite(loss: float, settings: TrainConfig) -> str:
    what = "a gradient is not finite" if math.isfinite(loss) else f"the loss is {loss}"
    done = {"skip": "the step is skipped", "random": "a random step is taken in its place"}
    return f"{what}; {done[settings.on_nonfinite]}"


def train(
    config: Config | Path | str | Mapping[str, Any],
    listener: Listener | None = None,
    *,
    resume: bool = False,
    force: bool = False,
    stop: threading.Event | None = None,
    started_s: float | None = None,
    corpus: Corpus | None = None,
    train: Any = None,
    dev: Any = None,
    test: Any = None,
) -> Trained:
    """Train a model as the configuration says, save it, and score it.

    The best epoch's model goes to `best` in the output folder, the last epoch's to `last`, and
    checkpoints to resume from to `checkpoints`.

    Args:
        config: of the run; or the path of a TOML file, or its tables as dictionaries.
        listener: callbacks of the run.
        resume: continue the run in the output folder that was stopped; it ends with the weights
            that it would have had. Without such a run a new one begins.
        force: remove what an earlier run left in the folder.
        stop: once it is set, the run saves a checkpoint after the current step and ends.
        started_s: the moment, by `time.monotonic()`, from which `train.max_minutes` counts; None
            for the moment of this call.
        corpus: train, dev and test as they were read, or parts of them; None to read them.
        train: records in place of `data.train_file`: dictionaries with the keys of JSON Lines,
            `Sentence`, `Document`, `(text, spans)`, `(text, class)`, lists of `(word, tag)`, a
            frame, data set, table or dictionary of columns; None to read the file.
        dev: likewise in place of `data.dev_file`.
        test: likewise in place of `data.test_file`.

    Raises:
        TagkitError: a corpus, a file of vectors, the device or the output folder cannot be used.
        Interrupted: `stop` was set.
    """
    config, listener = as_config(config), listener_of(listener, Listener, stop)
    corpora = _corpora(corpus, {"train": train, "dev": dev, "test": test})
    own = {} if isinstance(corpora, Corpus) else {option_of(each): each for each in corpora}
    if config.train.seeds:
        raise ConfigError("train.seeds", ["several seeds are for train_seeds; train takes one"])
    path = output_folder(config)
    refuse_unfit(config, resume=resume)
    # Started before the corpora are read: that time counts too.
    budget = TimeBudget(config.train.max_minutes, config.train.checkpoint_every, started_s)
    threads = thread_count(config.train.threads)
    device = device_of(config)
    processes = processes_of(device, config.train.tracker, path)
    listener = undisturbed(listener, device) if processes.is_first else Listener()
    config = with_options(config, own) if own else config
    folder = RunFolder(path, writes=processes.is_first)
    call = _Call(config, device, threads, processes, folder, listener, budget, stop, resume)
    with folder.locked(call.notes), _own_torch_state(device, threads), oom_as_error():
        folder.check(resume=resume, force=force)
        torch.manual_seed(config.train.seed)
        # After the header, and not at all where there is a checkpoint: it may take minutes.
        fits_later = device.type == "cpu"
        prepared = _prepare(call, corpora, fits=not fits_later)
        return _train(call, prepared, fits_later=fits_later)


def _corpora(corpus: Corpus | None, records: Mapping[str, Any]) -> Corpus | Given:
    """What is given in place of files: a corpus, or records by the paths that stand for them.

    Raises:
        DataError: both are, or the corpus is none.
    """
    given = {path_of(name): each for name, each in records.items() if each is not None}
    if corpus is not None and not isinstance(corpus, Corpus):
        raise DataError(f"corpus: expected a Corpus, found {clipped(repr(corpus))}")
    if corpus is not None and given:
        names = joined([*records])
        raise DataError(f"expected either corpus, which has all three splits, or {names}")
    return corpus or given


def device_of(config: Config) -> torch.device:
    """The device of a training.

    Raises:
        DeviceError: there is no such device, or it cannot compute in the precision that is named.
    """
    device = choose_device(config.train.device)
    if config.train.precision == "fp16" and device.type == "cpu":
        raise DeviceError("train.precision = 'fp16' needs a GPU; bf16 works on a CPU too")
    return device


class _Notes:
    """Called with each note of a run: those that come before there is a log wait for it."""

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._on_note: Callable[[str], object] = self._waiting.append

    def __call__(self, text: str) -> None:
        self._on_note(text)

    def hand_to(self, on_note: Callable[[str], object]) -> None:
        """Hand on the notes that wait, and from now on each one as it comes."""
        self._on_note = on_note
        for note in self._waiting:
            on_note(note)


@dataclass(frozen=True)
class _Call:
    """What `train` was called with, and what it has before the corpora are read.

    Attributes:
        threads: of torch, for one direction of a layer.
        processes: that train together.
        folder: of the run, locked.
        listener: in all processes but the first one that does nothing.
        notes: what the run tells the listener.
    """

    config: Config
    device: torch.device
    threads: int
    processes: Processes
    folder: RunFolder
    listener: Listener
    budget: TimeBudget
    stop: threading.Event | None
    resume: bool
    notes: _Notes = field(default_factory=_Notes)


@contextmanager
def _own_torch_state(device: torch.device, threads: int) -> Iterator[None]:
    """Torch as a run needs it; afterwards it is again as the caller has it."""
    # Training does not change a caller's draws.
    with (
        torch.random.fork_rng(devices=[device] if device.type == "cuda" else []),
        given_threads(threads),
        # Whatever a program has turned off around this call.
        torch.inference_mode(mode=False),
        torch.enable_grad(),
    ):
        yield


def _prepare(call: _Call, corpus: Corpus | Given, *, fits: bool) -> Prepared:
    """What the training loop needs; the folder is as it was until then.

    Raises:
        Interrupted: the run was asked to stop meanwhile.
    """
    folder, resume = call.folder, call.resume
    chosen = folder.resumed_config(call.config) if resume else call.config
    prepared = prepare(chosen, call.device, corpus, fits=fits, on_pass=call.listener.on_fit)
    refuse_undefined_loss(prepared)
    if call.stop and call.stop.is_set():
        text = f"stopped before the first step; {folder.path} is as it was"
        raise Interrupted(text, is_saved=resume)
    return prepared


def _train(call: _Call, prepared: Prepared, *, fits_later: bool) -> Trained:
    """Make the folder ready, begin or resume the run, and take it to its end."""
    processes, folder, notes, options = call.processes, call.folder, call.notes, call.config.train
    workers = choose_workers(options.workers, call.threads, processes.count, prepared.model)
    facts = facts_of(prepared)
    digests = {name: split["sha256"] for name, split in facts["data"].items()}
    identified = identity(prepared.config, digests, call.device.type, processes.count)
    state = RunState(prepared, processes, notes)
    if not fits_later:
        state.broadcast_fitted()
    processes.barrier()  # the first process has made the folder
    checkpoint = folder.open(identified, state.check, notes, resume=call.resume)
    processes.barrier()  # and has made it ready
    logged = folder.logged(call.listener)
    notes.hand_to(logged.on_note)
    findings = diagnose_corpus(prepared)
    for finding in findings:
        logged.on_finding(finding)
    # Mixed precision computes one direction after the other (`nn.threads.read_both`).
    at_once = workers if prepared.config.train.precision == "fp32" else 1
    logged.on_start(prepared, call.threads * at_once)
    folder.claim_tracked(options.tracker)
    run = Run(state, folder, facts, identified, logged, call.budget, call.stop)
    with processes.tracking(TRACKED), second_thread(wanted=workers > 1):
        begins = checkpoint is None
        if checkpoint:
            state.restore(checkpoint)
            if run.ending():
                logged.on_note("the run has ended: it is scored again, and not trained further")
        del checkpoint  # its tensors: as large as all that the run has in memory
        if fits_later and not state.is_fitted:
            fit(prepared, call.listener.on_fit)
            state.broadcast_fitted()
        if begins:
            run.checkpoint()  # of step 0, so that there is always one to go back to
        train_run = solve_readout if is_closed_form(prepared.config) else training_loop
        return finish(run, train_run(run), findings)


# torch has one state of random numbers for all of a process, and one for each GPU. A callback that
# draws from it, to show a sample say, would give a run other weights than the same seed gives
# without it. So would one that sets the number of threads, among which sums are split.


class _Undisturbed:
    """Calls a listener, and restores what is torch's after each callback."""

    def __init__(self, listener: Listener, device: torch.device) -> None:
        self._listener = listener
        self._gpus = [device] if device.type == "cuda" else []

    def __getattr__(self, name: str) -> Any:
        callback = getattr(self._listener, name)

        @wraps(callback)
        def call(*arguments: Any, **options: Any) -> None:
            with torch.random.fork_rng(self._gpus), kept_threads():
                callback(*arguments, **options)

        return call


def undisturbed(listener: Listener, device: torch.device) -> Listener:
    """Wrap a listener so that its callbacks leave the random states of a run on `device` alone.

    These are torch's state of the CPU and, on a GPU, that of this GPU. The number of threads stays
    too.
    """
    return cast(Listener, _Undisturbed(listener, device))
