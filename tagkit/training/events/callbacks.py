"""Callbacks of a training run, and the records that it writes: train.log and history.jsonl."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Generic, TypeVar

from tagkit.corpus.source.options import log_note
from tagkit.errors import DataError
from tagkit.evaluation.reports.criterion import AUTO, LOSS, Criterion, score_text
from tagkit.storage import cannot_write
from tagkit.text.json_text import Record, to_json
from tagkit.training.setup.setup import Prepared
from tagkit.wording import clipped, message_line, plural

# Names that other programs and older runs know: never to be renamed.
LOG, CURVES = "train.log", "curves.svg"
Statement = tuple[str, str]  # what is wrong, and a remedy: sentences without a full stop
Facts = TypeVar("Facts")


@dataclass(frozen=True, slots=True)
class Epoch(Record):
    """One pass over the training corpus, and its score on dev.

    Attributes:
        number: from 1.
        step: number of steps since the run began.
        loss: mean negative log-likelihood in nats of a token, or of a text that is classified.
        score: on dev by `train.metric`: 0 to 1, or the loss.
        scores: all metrics of dev by name (`evaluation.metrics.METRICS`), 0 to 1.
        lr: learning rate of its last step.
        tokens_per_s: of training, scoring dev not counted.
        seconds: of training and scoring.
        is_best: whether its score is better than that of every earlier epoch; among equal scores
            the first is the best. As long as all scores are 0, the last one whose loss on dev is
            finite.
        whole: whether the pass was completed; False if `max_minutes` ended it early.
        dev_loss: on dev, in the unit of `loss`, without dropout; None where no sentence of dev can
            be scored, where the loss is not finite, and of an epoch of an earlier version.
    """

    number: int
    step: int
    loss: float
    score: float
    scores: dict[str, float]
    lr: float
    tokens_per_s: float
    seconds: float
    is_best: bool
    whole: bool
    dev_loss: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One step of training.

    Attributes:
        epoch: number of its epoch, from 1.
        epochs: number of epochs, if nothing ends the run early.
        done: number of steps of this epoch so far.
        total: number of steps of this epoch.
        run_done: number of steps since the run began.
        run_total: number of steps of the run, if nothing ends it early.
        loss: mean of this epoch so far, as in `Epoch`.
        tokens_per_s: of this epoch so far, as in `Epoch`.
        closing_s: estimate of the seconds that scoring dev and test takes at the end.
        limit_s: seconds until the time limit; infinite without one.
    """

    epoch: int
    epochs: int
    done: int
    total: int
    run_done: int
    run_total: int
    loss: float
    tokens_per_s: float
    closing_s: float
    limit_s: float


@dataclass(frozen=True, slots=True)
class Save:
    """A model or a checkpoint that was written.

    Attributes:
        what: "best model", "last model" or "checkpoint".
        step: number of steps since the run began.
        seconds: during which training waited.
    """

    what: str
    step: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Finding(Record):
    """Something that is wrong with a run.

    Attributes:
        name: of the check, such as "few-examples".
        sentence: what was found, without a full stop.
        remedy: what to do about it, likewise.
        useless: whether the predictions of the model are of no use.
    """

    name: str
    sentence: str
    remedy: str
    useless: bool = False

    @property
    def text(self) -> str:
        """Both sentences."""
        return f"{self.sentence}. {self.remedy}."


@dataclass(frozen=True, slots=True)
class Check(Generic[Facts]):
    """One row of a table of checks.

    Attributes:
        name: of its findings.
        find: a pure function from facts to what is wrong: nothing for most runs.
        useless: whether a model with such a finding is of no use.
    """

    name: str
    find: Callable[[Facts], Iterable[Statement]]
    useless: bool = False

    def findings(self, facts: Facts) -> Iterator[Finding]:
        """What the check finds."""
        for sentence, remedy in self.find(facts):
            yield Finding(self.name, sentence, remedy, self.useless)


_Listener = TypeVar("_Listener")


def listener_of(
    listener: _Listener | None, kind: type[_Listener], stop: threading.Event | None
) -> _Listener:
    """The listener, or one that does nothing; before anything is removed or written.

    Raises:
        DataError: it, or `stop`, is of another kind.
    """
    if listener is not None and not isinstance(listener, kind):
        found = clipped(repr(listener))
        raise DataError(f"listener: expected an instance of {kind.__name__}, found {found}")
    if stop is not None and not callable(getattr(stop, "is_set", None)):
        raise DataError(f"stop: expected a threading.Event, found {clipped(repr(stop))}")
    return listener if listener is not None else kind()


class Listener:
    """Callbacks of a training run; these do nothing but to log notes and findings as "tagkit"."""

    def on_seed(self, seed: int, number: int, count: int) -> None:
        """Called before the run of each of several seeds; `number` of `count`, from 1."""

    def on_fit(self, number: int) -> None:
        """Called before each pass over the training corpus of what is fitted before the first step.

        That is a CRF of word features or a linear model of words. Passes count from 1, and there
        are 35 to 70.
        """

    def on_start(self, prepared: Prepared, threads: int) -> None:
        """Called when the corpora are read and the model is built, on a CPU before `on_fit`."""

    def on_step(self, step: Step) -> None:
        """Called after each step, which may take few milliseconds: return at once."""

    def on_epoch(self, epoch: Epoch) -> None:
        """Called when an epoch is done and scored."""

    def on_save(self, save: Save) -> None:
        """Called when a model or a checkpoint is written."""

    def on_note(self, text: str) -> None:
        """Called with a message for the user, one sentence."""
        log_note(text)

    def on_finding(self, finding: Finding) -> None:
        """Called with what is wrong with the run: before `on_start`, and after the last epoch."""
        log_note(finding.text)


class Forwarding(Listener):
    """Calls another listener, but for the callbacks that a subclass has itself."""

    def __init__(self, listener: Listener) -> None:
        """`listener`: the other one."""
        self.listener = listener
        for name, callback in vars(Listener).items():
            if name.startswith("on_") and getattr(type(self), name) is callback:
                setattr(self, name, getattr(listener, name))


class TrainLog(Forwarding):
    """Writes train.log, and calls another listener."""

    def __init__(self, folder: Path, listener: Listener) -> None:
        """A log in the folder of a run; every call is passed on to `listener`."""
        super().__init__(listener)
        self.path = folder / LOG
        self._criterion: Criterion | None = None  # until the run has started
        # Of this process, which may have resumed the run.
        self._saves = 0
        self._saving_s = 0.0

    def on_start(self, prepared: Prepared, threads: int) -> None:
        """Write the corpora, size of the model, device and seed."""
        corpus = prepared.corpus
        train = corpus.train
        self._criterion = prepared.criterion
        parameters = prepared.model.saved_weights
        unit = prepared.task.describe(prepared.config).unit
        self.write(
            f"{train.path}: {plural(len(train.sentences), unit)}, "
            f"{plural(train.tokens, 'token')}; {plural(parameters, 'parameter')} on "
            f"{prepared.device}, {plural(threads, 'thread')}, "
            f"seed {prepared.config.train.seed}"
        )
        for name, split in (("dev", corpus.dev), ("test", corpus.test)):
            if split:
                counts = f"{plural(len(split.sentences), unit)}, {plural(split.tokens, 'token')}"
                self.write(f"{name}: {split.path}: {counts}")
        # Here and below the log comes first: it has the line even if the other listener fails.
        self.listener.on_start(prepared, threads)

    def on_epoch(self, epoch: Epoch) -> None:
        """Write losses, score and speed."""
        key, name = (self._criterion.key, self._criterion.name) if self._criterion else (AUTO, "")
        # With the loss as metric both numbers of dev would be the same.
        loss = "" if epoch.dev_loss is None or key == LOSS else f"dev loss {epoch.dev_loss:z.4f}, "
        self.write(
            f"epoch {epoch.number}, step {epoch.step}: loss {epoch.loss:z.4f}, {loss}dev {name} "
            f"{score_text(key, epoch.score)}, lr {epoch.lr:.6f}, {epoch.tokens_per_s:.0f} tokens/s"
            f"{', best so far' if epoch.is_best else ''}"
        )
        self.listener.on_epoch(epoch)

    def on_save(self, save: Save) -> None:
        """Write how long training waited for it."""
        self._saves += 1
        self._saving_s += save.seconds
        self.write(
            f"saved the {save.what} after step {save.step} in {save.seconds:.2f} s "
            f"({plural(self._saves, 'save')} so far, {self._saving_s:.2f} s)"
        )
        self.listener.on_save(save)

    def on_note(self, text: str) -> None:
        """Write the sentence."""
        self.write(text)
        self.listener.on_note(text)

    def on_finding(self, finding: Finding) -> None:
        """Write what was found, and the remedy."""
        self.write(f"warning: {finding.text}")
        self.listener.on_finding(finding)

    def write(self, text: str) -> None:
        """Add one line with the time, safe to display.

        Raises:
            CheckpointError: it cannot be written.
        """
        # Opened for each line, so that the file has it if the run is killed.
        now = datetime.now().isoformat(sep=" ", timespec="seconds")
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{now}  {message_line(text)}\n")
        except OSError as error:
            raise cannot_write(self.path, error) from None


def history(epochs: Sequence[Epoch]) -> bytes:
    """The content of history.jsonl, one line for each evaluation on dev."""
    return "".join(to_json(_record(epoch)) + "\n" for epoch in epochs).encode()


def _record(epoch: Epoch) -> dict[str, float]:
    """An epoch with the keys of the file, three of which are older than the names above."""
    record = asdict(epoch)
    names = {"epoch": "number", "dev": "score", "dev_scores": "scores"}
    return {**{name: record.pop(own) for name, own in names.items()}, **record}
