"""A search with Optuna: each trial trains a model, and the best on dev is kept.

    study.db     all trials, from which a search that was stopped is resumed
    best.toml    the best configuration, complete
    best/        its model

Optuna's TPE sampler chooses the next values (Bergstra et al. 2011, "Algorithms for Hyper-Parameter
Optimization"). Its median pruner stops a trial whose dev score is below the median of the earlier
trials at the same epoch. All that a search has to remember is in its database: SQLite completes a
change or leaves none of it, also when it is killed.

Two kinds of Optuna's trials are none of ours: those that were stopped, which another one says that
it `repeats`, and draws of values that had been tried, which are marked `tried`.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
from optuna.samplers import RandomSampler, TPESampler
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from tagkit.config import (
    Config,
    effective,
    load_config,
    option_values,
    options_of,
    to_toml,
    with_options,
)
from tagkit.config.search_space import FILE_OPTIONS, Range, Space
from tagkit.errors import (
    BundleError,
    CheckpointError,
    ConfigError,
    Interrupted,
    TrainingError,
    VectorsError,
)
from tagkit.evaluation.reports.criterion import LOSS, rank
from tagkit.models.folder.parts import copy_bundle
from tagkit.models.task_table import ranking_metric
from tagkit.storage import BEST, cannot_write, write_remedy, write_whole
from tagkit.training.events.callbacks import Epoch, Listener, listener_of
from tagkit.training.folder.run_folder import RunFolder, discard_run
from tagkit.training.folder.run_identity import output_folder
from tagkit.training.folder.trials import (
    BEST_CONFIG,
    STUDY,
    STUDY_FILES,
    STUDY_NAME,
    Trial,
    Tuned,
    TuneListener,
    trial_folder,
)
from tagkit.training.loop.time_budget import TimeBudget
from tagkit.training.setup.setup import Prepared
from tagkit.training.several.several_folder import open_folder, same_as_before
from tagkit.training.trainer import train
from tagkit.wording import ANOTHER_OR_FORCE, plural

# Draws in a row, at most, of values that were tried: half by the sampler, which prefers what scored
# well, then half at random, so that all of a small space is tried.
_MAX_DRAWS = 100
_AGAIN = "correct this, and repeat the command to resume the search; force=True starts a new one"
# The states in which a trial has ended, and their names for people.
_STATES = {
    TrialState.COMPLETE: "done",
    TrialState.PRUNED: "given up",
    TrialState.FAIL: "failed",
}
_VALUES = "values to try"


def search(
    config: Config,
    spaces: Mapping[str, Space],
    corpora: Mapping[str, str | None],
    *,
    trials: int,
    listener: TuneListener | None,
    force: bool,
    stop: threading.Event | None,
    started_s: float | None,
) -> Tuned:
    """Search for good values of some options; a search in the output folder is resumed.

    The arguments are those of `tagkit.training.several.tune.tune`, as it has read them; `corpora`
    has digests by name.

    Raises:
        TagkitError: a trial cannot begin, or the folder cannot be used.
        Interrupted: `stop` was set.
    """
    budget = TimeBudget(config.train.max_minutes, 1, started_s)
    folder, listener = output_folder(config), listener_of(listener, TuneListener, stop)
    run_folder = RunFolder(folder, writes=True)
    with run_folder.locked(listener.on_note), write_remedy(_AGAIN):
        # SQLite creates the files beside it when it needs them.
        open_folder(
            run_folder, effective(config), STUDY_FILES, "search", resume=not force, force=force
        )
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            study = optuna.create_study(
                storage=f"sqlite:///{folder / STUDY}",
                study_name=STUDY_NAME,
                direction="minimize" if ranking_metric(config) == LOSS else "maximize",
                load_if_exists=True,
                # The median of fewer than 5 trials says little, and so do the first 2 epochs.
                pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=2),
            )
            before = study.user_attrs.get("search")
            if before and _VALUES not in before:
                old = "holds a search of tagkit 0.2 or earlier, which that version alone can resume"
                raise CheckpointError(f"{folder}: {old}; {ANOTHER_OR_FORCE}")
            config, now = same_as_before(
                folder, "search", config, before, lambda one: _identity(one, corpora, spaces)
            )
            study.set_user_attr("search", now)
            return _Search(study, config, spaces, run_folder, listener, budget, stop).run(trials)
        except (SQLAlchemyError, optuna.exceptions.StorageInternalError) as error:
            first = str(error).partition("\n")[0]
            raise CheckpointError(
                f"{folder / STUDY}: cannot be read or written: {first}; {_AGAIN}"
            ) from None


def _identity(
    config: Config, corpora: Mapping[str, str | None], spaces: Mapping[str, Space]
) -> dict[str, Any]:
    """What all trials have in common: options, corpora and what is tried."""
    values = option_values(config)
    fixed = {name: values[name] for name, o in options_of(Config).items() if not o.resume_search}
    to_try = " ".join(sorted(f"{name}={space}" for name, space in spaces.items()))
    return {**fixed, **corpora, _VALUES: to_try}


@dataclass
class _Search:
    """An Optuna study, and the models that are trained for it."""

    study: optuna.Study
    config: Config
    spaces: Mapping[str, Space]
    run_folder: RunFolder
    listener: TuneListener
    budget: TimeBudget
    stop: threading.Event | None

    @property
    def folder(self) -> Path:
        """Of the search."""
        return self.run_folder.path

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
        for frozen in self.study.get_trials(states=(TrialState.RUNNING,)):
            discard_run(self.folder / trial_folder(frozen.number + 1), self.listener.on_note)
            # Queued before it has ended: after a kill in between, it is still found here.
            if frozen.number not in repeated:
                self.study.enqueue_trial(frozen.params, user_attrs={"repeats": frozen.number})
            self.study.tell(frozen.number, state=TrialState.FAIL)

    def _repeated(self) -> set[int | None]:
        return {each.user_attrs.get("repeats") for each in self.study.get_trials(deepcopy=False)}

    def _draws(self) -> list[FrozenTrial]:
        """All draws whose trials have ended, those of values that had been tried included."""
        repeated = self._repeated()
        ended = self.study.get_trials(deepcopy=False, states=tuple(_STATES))
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

    def _draw(self, ended: list[Trial]) -> optuna.Trial | None:
        """A trial with values that none has had; None if none was found."""
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
            # Marked first, as in `_repeat_stopped`.
            trial.set_user_attr("tried", True)
            self.study.tell(trial, state=TrialState.FAIL)
        return None

    def _options(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What a trial is trained with: values without effect beside the others do not count."""
        try:
            options = option_values(self._config(values))
        except ConfigError:  # they do not go together, and the trial will fail
            return dict(values)
        del options["train.max_minutes"]  # what was left of the limit
        return options

    def _run_trial(self, trial: optuna.Trial, ended: list[Trial]) -> bool:
        """Train and score a model with the values that were drawn; whether it is the best so far.

        Raises:
            Interrupted: `stop` was set.
        """
        # The errors that fail a trial and not the search: other values may be right.
        reads = any(name in FILE_OPTIONS for name in self.spaces)
        failures = (TrainingError, ConfigError, *((VectorsError, BundleError) if reads else ()))
        number, name = len(ended) + 1, trial_folder(trial.number + 1)  # Optuna counts from 0
        path = self.folder / name
        self.run_folder.claim(f"{name}/")
        try:
            one = self._config(trial.params, str(path))
            score = train(one, _Pruner(trial, self), force=True, stop=self.stop).best.score
            best = self._best(ended)
            is_best = best is None or self._rank(score) > self._rank(best.dev)
            # The model is kept before Optuna learns the score: after a kill in between, the trial
            # is started again, and a score without its model never wins.
            if is_best:
                self._keep(trial.params, name)
        except optuna.TrialPruned:
            self.study.tell(trial, state=TrialState.PRUNED)
        except failures as error:
            self.listener.on_note(f"trial {number}: {error}")
            self.study.tell(trial, state=TrialState.FAIL)
        except Interrupted:
            raise Interrupted(f"stopped in trial {number}, which will be started again") from None
        else:
            self.study.tell(trial, score)
            return is_best
        finally:  # if its folder holds foreign files, all of it stays
            discard_run(path, self.listener.on_note)
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
        try:
            self.run_folder.claim(BEST, BEST_CONFIG)
            copy_bundle(self.folder / trial / BEST, self.folder / BEST)
            config = with_options(self._config(values), own)
            write_whole(self.folder / BEST_CONFIG, to_toml(config).encode())
        except OSError as error:
            raise cannot_write(self.folder, error) from None

    def _config(self, values: Mapping[str, Any], folder: str = "") -> Config:
        """The configuration of a trial, without values that have no effect beside the others."""
        left = self.budget.left_minutes()
        fixed = {"data.test_file": "", "output.dir": folder or str(self.folder)}
        return effective(with_options(self.config, {**values, **fixed, "train.max_minutes": left}))


class _Pruner(Listener):
    """Reports each epoch's score to Optuna, and stops the trial if the pruner says so."""

    def __init__(self, trial: optuna.Trial, search: _Search) -> None:
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
        self.trial.report(epoch.score, epoch.number)
        if self.trial.should_prune():
            raise optuna.TrialPruned


def _suggest(trial: optuna.Trial, name: str, space: Space) -> None:
    """Have Optuna's sampler draw a value from a space."""
    if not isinstance(space, Range):
        trial.suggest_categorical(name, space.values)
    elif space.whole:
        trial.suggest_int(name, int(space.low), int(space.high), log=space.log)
    else:
        trial.suggest_float(name, space.low, space.high, log=space.log)


def _as_trial(frozen: FrozenTrial, number: int) -> Trial:
    """Optuna's record of a trial as ours."""
    # A pruned trial has no value in Optuna: the table shows its last reported score.
    dev = frozen.value if frozen.state == TrialState.COMPLETE else None
    if frozen.state == TrialState.PRUNED and frozen.intermediate_values:
        dev = frozen.intermediate_values[max(frozen.intermediate_values)]
    seconds = frozen.duration.total_seconds() if frozen.duration else 0.0
    return Trial(number, frozen.params, dev, _STATES[frozen.state], seconds)
