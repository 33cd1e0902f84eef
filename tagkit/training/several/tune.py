"""`tagkit.tune`: a search for good values of options: each trial trains a model, the best is kept.

    study.db     Optuna's database of all trials, from which a search that was stopped is resumed
    best.toml    the best configuration, complete
    best/        its model
    trial-N/     the run of the trial that is being trained; removed at its end

Optuna's TPE sampler chooses the next values (Bergstra et al. 2011, "Algorithms for Hyper-Parameter
Optimization"). Its median pruner stops a trial whose dev score is below the median of the earlier
trials at the same epoch. All that a search has to remember is in its database: SQLite completes a
change or leaves none of it, also when it is killed.

Two kinds of Optuna's trials are none of ours: those that were stopped, which another one says that
it `repeats`, and draws of values that had been tried, which are marked `tried`. Optuna is an
optional package: it is imported when a search begins, after all that can be wrong without it.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagkit.config import (
    Config,
    as_config,
    effective,
    load_config,
    option_values,
    options_of,
    refuse_without_effect,
    to_toml,
    with_options,
)
from tagkit.config.search_space import FILE_OPTIONS, Range, Space, parse_spaces
from tagkit.corpus.source.pipes import require_files
from tagkit.errors import (
    BundleError,
    CheckpointError,
    ConfigError,
    DataError,
    Interrupted,
    TrainingError,
    VectorsError,
)
from tagkit.evaluation.reports.criterion import LOSS, rank
from tagkit.limits import check_count
from tagkit.models.folder.parts import copy_bundle
from tagkit.models.task_table import ranking_metric
from tagkit.storage import BEST, cannot_write, write_remedy, write_whole
from tagkit.text.json_text import INTERNAL, Record
from tagkit.training.events.callbacks import Epoch, Listener, listener_of
from tagkit.training.folder.run_files import BEST_CONFIG, STUDY, STUDY_FILES
from tagkit.training.folder.run_folder import RunFolder
from tagkit.training.folder.run_identity import output_folder, refuse_unreadable
from tagkit.training.loop.time_budget import TimeBudget
from tagkit.training.setup.setup import Prepared
from tagkit.training.several.fits import Fits, digests, refuse_options
from tagkit.wording import ANOTHER_OR_FORCE, plural

if TYPE_CHECKING:
    import optuna
    from optuna.trial import FrozenTrial

# Draws in a row, at most, of values that were tried: half by the sampler, which prefers what scored
# well, then half at random, so that all of a small space is tried.
_MAX_DRAWS = 100
_AGAIN = "correct this, and repeat the command to resume the search; force=True starts a new one"
# The names of Optuna's states in which a trial has ended, for people.
_STATES = {"COMPLETE": "done", "PRUNED": "given up", "FAIL": "failed"}
_VALUES = "values to try"


@dataclass(frozen=True, slots=True)
class Trial(Record):
    """One model of a search.

    Attributes:
        number: from 1.
        values: of the searched options, by dotted name.
        dev: score on dev by `train.metric`: the best epoch's, or, if the trial was stopped early,
            the last epoch's. None if it failed.
        state: "done", "given up" (stopped early by the pruner) or "failed".
        seconds: duration.
    """

    number: int
    values: Mapping[str, Any]
    dev: float | None
    state: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Tuned(Record):
    """The result of a search.

    Attributes:
        trials: all that have ended, including those of earlier runs of the command.
        best: the trial with the best score on dev among those that are done; of several with
            the same score, the first.
        config: its configuration, as in `best.toml`.
        folder: of the search.
    """

    trials: tuple[Trial, ...]
    best: Trial
    config: Config = field(metadata={INTERNAL: True})
    folder: Path


class TuneListener:
    """Callbacks of a search; this one does nothing."""

    def on_start(self) -> None:
        """Called once, before the first trial."""

    def on_measure(self, name: str) -> None:
        """Called once it is known what the score on dev is called, such as "F1".

        That depends on the labels of the corpora: for a new search it is before the first step.
        """

    def on_trial(self, trial: Trial, *, is_best: bool) -> None:
        """Called when a trial has ended."""

    def on_note(self, text: str) -> None:
        """Called with a message for the user, one sentence."""


def tune(
    config: Config | Path | str | Mapping[str, Any],
    spaces: Mapping[str, Space] | Iterable[str],
    *,
    trials: int = 20,
    listener: TuneListener | None = None,
    force: bool = False,
    stop: threading.Event | None = None,
    started_s: float | None = None,
) -> Tuned:
    """Search for good values of options, as `tagkit tune` does.

    Each trial trains a model; the one with the best score on dev is kept in the output folder. A
    search that is there is resumed.

    Args:
        config: all other options, as for `train`. `train.max_minutes` limits the whole search. The
            test corpus is not used.
        spaces: the values to try, as texts: "train.lr=0.001..0.01:log", "encoder.hidden=50..200",
            "encoder.cell=lstm,gru".
        trials: their number at most, including those of earlier runs of the same search.
        listener: callbacks of the search, as `tagkit.training.several.tune.TuneListener`.
        force: remove the search that is there.
        stop: once it is set, the search ends after the current step of training. The trial is
            started again when the search is resumed.
        started_s: the moment, by `time.monotonic()`, from which `train.max_minutes` counts; None
            for the moment of this call.

    Raises:
        TagkitError: Optuna is not installed, a corpus cannot be used, or an option cannot have one
            of the values.
        Interrupted: `stop` was set.
    """
    config = as_config(config)
    if not isinstance(spaces, Mapping):
        spaces = parse_spaces([spaces] if isinstance(spaces, str) else spaces)
    check_count("trials", trials)
    _refuse_unfit(config, spaces, force=force)
    corpora = _corpora(config)
    # Mistakes of the search come first, as Optuna would be of no use to it.
    if find_spec("optuna") is None:  # which does not import it
        raise ConfigError("tagkit tune", ["needs Optuna; pip install 'tagkit[tune]'"])
    budget = TimeBudget(config.train.max_minutes, 1, started_s)
    listener = listener_of(listener, TuneListener, stop)
    fits = Fits("search", RunFolder(output_folder(config), writes=True), listener.on_note, stop)
    with fits.folder.locked(listener.on_note), write_remedy(_AGAIN):
        # SQLite creates the files beside it when it needs them.
        fits.open(effective(config), STUDY_FILES, resume=not force, force=force)
        with _study(config, fits) as study:
            before = study.user_attrs.get("search")
            if before and _VALUES not in before:
                old = "holds a search of tagkit 0.2 or earlier, which that version alone can resume"
                raise CheckpointError(f"{fits.folder.path}: {old}; {ANOTHER_OR_FORCE}")
            config, now = fits.same_as_before(
                config, before, lambda one: _identity(one, corpora, spaces)
            )
            study.set_user_attr("search", now)
            return _Search(study, config, spaces, fits, listener, budget).run(trials)


def _refuse_unfit(config: Config, spaces: Mapping[str, Space], *, force: bool) -> None:
    """Look for what is wrong with a search before there is a folder.

    Each kind of value is tried: a wrong one must not fail the tenth trial.

    Raises:
        TagkitError: an option cannot have one of the values, or a file cannot be used.
    """
    # An option counts as having an effect if it has one in some trial.
    searched = {name: space.samples() for name, space in spaces.items()}
    refuse_without_effect(config, "configuration", searched)
    one = {"train.seeds": "a trial trains one model; leave them out of a search"}
    refuse_options("tagkit tune", config, one)
    output_folder(config)
    for name, values in searched.items():
        for value in values:
            with_options(config, {name: value})
            if name in FILE_OPTIONS and value and not Path(value).exists():
                raise DataError(f"{value}: no such file")
    others = with_options(config, {name: "" for name in spaces if name in FILE_OPTIONS})
    refuse_unreadable(others, resume=not force)
    require_files(config, "the trials of a search")


def _corpora(config: Config) -> dict[str, str | None]:
    """SHA-256 of each corpus of a search, and of the weights of its sentences.

    Raises:
        DataError: one does not exist or cannot be read.
    """
    data = config.data
    files = {"train": data.train_file, "dev": data.dev_file, "weights of the train": data.weights}
    for path in files.values():
        if path and not Path(path).exists():
            raise DataError(f"{path}: no such file")
    return digests({f"{name} corpus": path for name, path in files.items()})


def _identity(
    config: Config, corpora: Mapping[str, str | None], spaces: Mapping[str, Space]
) -> dict[str, Any]:
    """What all trials have in common: options, corpora and what is tried."""
    values = option_values(config)
    fixed = {name: values[name] for name, o in options_of(Config).items() if not o.resume_search}
    to_try = " ".join(sorted(f"{name}={space}" for name, space in spaces.items()))
    return {**fixed, **corpora, _VALUES: to_try}


@contextmanager
def _study(config: Config, fits: Fits) -> Iterator["optuna.Study"]:
    """Optuna's study in the folder of a search; its database is there after each change.

    Raises:
        CheckpointError: the database cannot be read or written.
    """
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    path = fits.folder.path / STUDY
    try:
        yield optuna.create_study(
            storage=f"sqlite:///{path}",
            study_name="tagkit",
            direction="minimize" if ranking_metric(config) == LOSS else "maximize",
            load_if_exists=True,
            # The median of fewer than 5 trials says little, and so do the first 2 epochs.
            pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=2),
        )
    except (SQLAlchemyError, optuna.exceptions.StorageInternalError) as error:
        first = str(error).partition("\n")[0]
        raise CheckpointError(f"{path}: cannot be read or written: {first}; {_AGAIN}") from None


@dataclass
class _Search:
    """An Optuna study, and the models that are trained for it."""

    study: "optuna.Study"
    config: Config
    spaces: Mapping[str, Space]
    fits: Fits
    listener: TuneListener
    budget: TimeBudget

    @property
    def folder(self) -> Path:
        """Of the search."""
        return self.fits.folder.path

    def run(self, trials: int) -> Tuned:
        """Run trials until there are `trials`, the time is over, or all values seem to be tried.

        Raises:
            TrainingError: no trial was completed.
        """
        self._repeat_stopped()
        self.listener.on_start()
        if measure := self.study.user_attrs.get("measure"):
            self.listener.on_measure(measure)
        while len(ended := self._ended()) < trials and not self.budget.is_over(0):
            if (drawn := self._draw(ended)) is None:
                self.listener.on_note(
                    f"the search ends after {plural(len(ended), 'trial')}: {_MAX_DRAWS} draws in a "
                    "row had values that were tried before"
                )
                break
            is_best = self._run_trial(drawn, ended)
            self.listener.on_trial(self._ended()[-1], is_best=is_best)
        if not ended and self.budget.is_over(0):
            raise TrainingError(
                f"{self.folder}: the time limit "
                f"(train.max_minutes={self.config.train.max_minutes:g}) was over before the first "
                "trial began; allow more"
            )
        if (best := self._best(ended)) is None:
            raise TrainingError(f"{self.folder}: no trial was completed")
        return Tuned(tuple(ended), best, load_config(self.folder / BEST_CONFIG), self.folder)

    def _repeat_stopped(self) -> None:
        """Queue the trials again that were running when the search was stopped."""
        repeated = self._repeated()
        for frozen in self.study.get_trials():
            if frozen.state.name == "RUNNING":
                self.fits.discard(_folder_of(frozen))
                # Queued before it has ended: after a kill in between, it is still found here.
                if frozen.number not in repeated:
                    self.study.enqueue_trial(frozen.params, user_attrs={"repeats": frozen.number})
                self._fail(frozen.number)

    def _fail(self, trial: "int | optuna.Trial") -> None:
        from optuna.trial import TrialState

        self.study.tell(trial, state=TrialState.FAIL)

    def _repeated(self) -> set[int | None]:
        return {each.user_attrs.get("repeats") for each in self.study.get_trials(deepcopy=False)}

    def _draws(self) -> "list[FrozenTrial]":
        """All draws whose trials have ended, those of values that had been tried included."""
        repeated = self._repeated()
        ended = (t for t in self.study.get_trials(deepcopy=False) if t.state.name in _STATES)
        return [frozen for frozen in ended if frozen.number not in repeated]

    def _ended(self) -> list[Trial]:
        """All trials that have ended, numbered without gaps."""
        ended = [frozen for frozen in self._draws() if "tried" not in frozen.user_attrs]
        return [_as_trial(frozen, number) for number, frozen in enumerate(ended, 1)]

    def _best(self, ended: list[Trial]) -> Trial | None:
        """The trial with the best score; of several equals the first."""
        done = [trial for trial in ended if trial.state == "done"]
        return max(done, key=lambda trial: self._rank(trial.dev), default=None)

    def _rank(self, score: float | None) -> float:
        return rank(ranking_metric(self.config), score or 0.0)

    def _draw(self, ended: list[Trial]) -> "optuna.Trial | None":
        """A trial with values that none has had; None if none was found."""
        from optuna.samplers import RandomSampler, TPESampler

        tried = [self._options(trial.values) for trial in ended]
        for draw in range(_MAX_DRAWS):
            # The seed depends on the number of draws: a resumed search draws what an uninterrupted
            # one would have drawn next, and not its first values again. (Optuna takes seeds of 32
            # bits.)
            seed = (self.config.train.seed + len(self._draws())) % 2**32
            sampler = TPESampler if draw < _MAX_DRAWS // 2 else RandomSampler
            self.study.sampler = sampler(seed=seed)
            trial = self.study.ask()
            for name, space in self.spaces.items():
                _suggest(trial, name, space)
            if self._options(trial.params) not in tried:
                return trial
            trial.set_user_attr("tried", True)  # before it has ended, as in `_repeat_stopped`
            self._fail(trial)
        return None

    def _options(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What a trial is trained with: values without effect beside the others do not count."""
        try:
            options = option_values(self._config(values))
        except ConfigError:  # they do not go together, and the trial will fail
            return dict(values)
        del options["train.max_minutes"]  # what was left of the limit
        return options

    def _run_trial(self, trial: "optuna.Trial", ended: list[Trial]) -> bool:
        """Train and score a model with the values that were drawn; whether it is the best so far.

        Raises:
            Interrupted: the search was asked to stop.
        """
        from optuna import TrialPruned
        from optuna.trial import TrialState

        # The errors that fail a trial and not the search: other values may be right.
        reads = any(name in FILE_OPTIONS for name in self.spaces)
        failures = (TrainingError, ConfigError, *((VectorsError, BundleError) if reads else ()))
        number, name = len(ended) + 1, _folder_of(trial)
        try:
            trained = self.fits.fit(name, self._config(trial.params), _Pruner(trial, self))
            score = trained.best.score
            best = self._best(ended)
            is_best = best is None or self._rank(score) > self._rank(best.dev)
            # The model is kept before Optuna learns the score: after a kill in between, the trial
            # is started again, and a score without its model never wins.
            if is_best:
                self._keep(trial.params, name)
        except TrialPruned:
            self.study.tell(trial, state=TrialState.PRUNED)
        except failures as error:
            self.listener.on_note(f"trial {number}: {error}")
            self._fail(trial)
        except Interrupted:
            raise Interrupted(f"stopped in trial {number}, which will be started again") from None
        else:
            self.study.tell(trial, score)
            return is_best
        finally:  # if its folder holds foreign files, all of it stays
            self.fits.discard(name)
        return False

    def name_measure(self, name: str) -> None:
        """Say what the score on dev is called, once a search."""
        if "measure" not in self.study.user_attrs:
            self.study.set_user_attr("measure", name)
            self.listener.on_measure(name)

    def _keep(self, values: Mapping[str, Any], trial: str) -> None:
        """Write the best model so far, which is in the folder of a trial, and its configuration.

        Raises:
            CheckpointError: they cannot be written.
        """
        # With it `tagkit train` repeats the trial, with the test corpus, without the time limit of
        # the search, and in a folder of its own.
        test = self.config.data.test_file
        own = {"data.test_file": test, "output.dir": f"{self.folder}-best", "train.max_minutes": 0}
        self.fits.folder.claim(BEST, BEST_CONFIG)
        try:
            copy_bundle(self.folder / trial / BEST, self.folder / BEST)
            config = with_options(self._config(values), own)
            write_whole(self.folder / BEST_CONFIG, to_toml(config).encode())
        except OSError as error:
            raise cannot_write(self.folder, error) from None

    def _config(self, values: Mapping[str, Any]) -> Config:
        """The configuration of a trial, without values that have no effect beside the others."""
        own = {"data.test_file": "", "train.max_minutes": self.budget.left_minutes()}
        return effective(with_options(self.config, {**values, **own}))


class _Pruner(Listener):
    """Reports each epoch's score to Optuna, and stops the trial if the pruner says so."""

    def __init__(self, trial: "optuna.Trial", search: _Search) -> None:
        """`trial` is the one of a search that is trained."""
        self.trial = trial
        self.search = search

    def on_start(self, prepared: Prepared, threads: int) -> None:
        """Pass on what ranks the epochs."""
        self.search.name_measure(prepared.criterion.name)

    def on_epoch(self, epoch: Epoch) -> None:
        """Report the score on dev.

        Raises:
            TrialPruned: the trial is below the median; it passes through `train`, which stops.
        """
        from optuna import TrialPruned

        self.trial.report(epoch.score, epoch.number)
        if self.trial.should_prune():
            raise TrialPruned


def _folder_of(trial: "optuna.Trial | FrozenTrial") -> str:
    """The name of the folder in which a trial is trained."""
    return f"trial-{trial.number + 1}"  # Optuna counts from 0


def _suggest(trial: "optuna.Trial", name: str, space: Space) -> None:
    """Have Optuna's sampler draw a value from a space."""
    if not isinstance(space, Range):
        trial.suggest_categorical(name, space.values)
    elif space.whole:
        trial.suggest_int(name, int(space.low), int(space.high), log=space.log)
    else:
        trial.suggest_float(name, space.low, space.high, log=space.log)


def _as_trial(frozen: "FrozenTrial", number: int) -> Trial:
    """Optuna's record of a trial as ours."""
    # A pruned trial has no value in Optuna: the table shows its last reported score.
    state, scores = _STATES[frozen.state.name], frozen.intermediate_values
    dev = frozen.value if state == "done" else None
    if state == "given up" and scores:
        dev = scores[max(scores)]
    seconds = frozen.duration.total_seconds() if frozen.duration else 0.0
    return Trial(number, frozen.params, dev, state, seconds)
