"""A search with Optuna: each trial trains a model, and the best on dev is kept.

    study.db     all trials, from which a search that was stopped is resumed
    best.toml    the best configuration, complete
    best/        its model

Optuna's TPE sampler chooses the next values (Bergstra et al. 2011, "Algorithms for Hyper-Parameter
Optimization"). Its median pruner stops a trial whose dev score is below the median of the earlier
trials at the same epoch.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
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
    to_toml,
    with_options,
)
from tagkit.config.search_space import Range, Space
from tagkit.errors import CheckpointError, ConfigError, Interrupted, TrainingError
from tagkit.evaluation.reports.criterion import LOSS, rank
from tagkit.models.folder.parts import copy_bundle
from tagkit.models.task_table import ranking_metric
from tagkit.storage import BEST, cannot_write, write_remedy, write_whole
from tagkit.training.events.callbacks import Epoch, Listener, listener_of
from tagkit.training.folder.run_folder import RunFolder, discard_run
from tagkit.training.folder.run_identity import output_folder, with_former_defaults
from tagkit.training.folder.start_checks import check_beforehand
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
from tagkit.training.several.search_identity import (
    failures_of,
    former_options,
    record_of,
    what_differs,
)
from tagkit.training.trainer import train
from tagkit.wording import ANOTHER_FOLDER, ANOTHER_OR_FORCE, plural

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


def search_options(
    config: Config,
    spaces: Mapping[str, Space],
    digests: Sequence[str | None],
    *,
    trials: int,
    listener: TuneListener | None,
    force: bool,
    stop: threading.Event | None,
    started_s: float | None,
) -> Tuned:
    """Search for good values of some options; a search in the output folder is resumed.

    Args:
        config: as `tagkit.training.several.tune.tune` has read it.
        spaces: likewise, by dotted name.
        digests: of the corpora, as `check_search` returned them.
        trials: as for `tune`; so are all others.
        listener: called after each trial.
        force: whether the search that is there is removed.
        stop: set to end the search.
        started_s: from which time counts.

    Raises:
        TagkitError: a trial cannot begin, or the folder cannot be used.
        Interrupted: `stop` was set.
    """
    budget = TimeBudget(config.train.max_minutes, 1, started_s)
    folder, listener = output_folder(config), listener_of(listener, TuneListener, stop)
    run_folder = RunFolder(folder, writes=True)
    with run_folder.locked(listener.on_note), write_remedy(_AGAIN):
        # A folder of `tagkit train` is no search to resume, and its model must not be replaced.
        found = run_folder.contents()
        is_search = STUDY in found.ours
        if not is_search and found.ours:
            raise CheckpointError(f"{folder}: is not empty, and holds no search; {ANOTHER_FOLDER}")
        run_folder.check(resume=is_search and not force, force=force)
        if is_search and not force:
            run_folder.repair()
        else:
            if is_search:  # whose best model is removed
                check_beforehand(effective(config))
            run_folder.clear()
        run_folder.claim(*STUDY_FILES)  # SQLite creates the files beside it when it needs them
        try:
            search = _StudySearch(
                config, spaces, digests, run_folder, listener, budget, stop or threading.Event()
            )
            return search.run(trials)
        except (SQLAlchemyError, optuna.exceptions.StorageInternalError) as error:
            first = str(error).partition("\n")[0]
            raise CheckpointError(
                f"{folder / STUDY}: cannot be read or written: {first}; {_AGAIN}"
            ) from None


class _StudySearch:
    """An Optuna study, and the models that are trained for it."""

    def __init__(
        self,
        config: Config,
        spaces: Mapping[str, Space],
        digests: Sequence[str | None],
        run_folder: RunFolder,
        listener: TuneListener,
        budget: TimeBudget,
        stop: threading.Event,
    ) -> None:
        self.config = config
        self.spaces = spaces
        self.digests = digests
        self.run_folder = run_folder
        self.folder = run_folder.path
        self.listener = listener
        self.stop = stop
        self.budget = budget
        self.metric = ranking_metric(config)
        self.failures = failures_of(spaces)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.study = _open_study(self.folder, self.metric)

    def run(self, trials: int) -> Tuned:
        """Run trials until there are `trials`, the time is over, or all values seem to be tried.

        Raises:
            TrainingError: no trial was completed.
        """
        self._require_same_search()
        self._requeue_interrupted()
        self.listener.on_start()
        if measure := self.study.user_attrs.get("measure"):
            self.listener.on_measure(measure)
        while len(self._ended()) < trials and not self.budget.is_over(0):
            drawn = self._draw()
            if drawn is None:
                tried = plural(len(self._ended()), "trial")
                self.listener.on_note(
                    f"the search ends after {tried}: {_MAX_DRAWS} draws in a row had values that "
                    "were tried before"
                )
                break
            self._run_trial(*drawn)
        if not (ended := self._trials()) and self.budget.is_over(0):
            raise TrainingError(
                f"{self.folder}: the time limit "
                f"(train.max_minutes={self.config.train.max_minutes:g}) was over before the first "
                "trial began; allow more"
            )
        done = [trial for trial in ended if trial.state == "done"]
        if not done:
            raise TrainingError(f"{self.folder}: no trial was completed")
        # max takes the first of several equals, and trials are in the order of their numbers.
        best = max(done, key=lambda trial: self._rank(trial.dev or 0.0))
        return Tuned(tuple(ended), best, load_config(self.folder / BEST_CONFIG), self.folder)

    def _require_same_search(self) -> None:
        """Compare options, corpora and values with those of the search here, or record them.

        Raises:
            CheckpointError: it differs.
        """
        before = self.study.user_attrs.get("search")
        # Options left unset are as in the search here, of a version with other defaults perhaps.
        config = (
            with_former_defaults(self.config, former_options(before)) if before else self.config
        )
        search = record_of(config, self.digests, self.spaces)
        difference = what_differs(before, search) if before else ""
        if difference and not self._ended():
            # No trial of that search has ended: the first one failed at once, for instance because
            # a corpus was missing. There is nothing to keep.
            _delete_study(self.folder)
            self.study = _open_study(self.folder, self.metric)
            search["config"] = to_toml(self.config)
        elif difference:
            raise CheckpointError(
                f"{self.folder}: the search there {difference}; {ANOTHER_OR_FORCE}"
            )
        else:
            self.config = config
        self.study.set_user_attr("search", search)

    def _requeue_interrupted(self) -> None:
        """Queue the trials again that were running when the search was stopped."""
        # "again" is recorded before Optuna records the failure: after a kill in between, the trial
        # is still RUNNING and found here; in the reverse order it would count as ended.
        again = list(self.study.user_attrs.get("again", []))
        for frozen in self.study.get_trials(states=(TrialState.RUNNING,)):
            self._discard(frozen.number)
            again.append(frozen.number)
            self.study.enqueue_trial(frozen.params)
            self.study.set_user_attr("again", again)
            self.study.tell(frozen.number, state=TrialState.FAIL)

    def _ended(self) -> list[FrozenTrial]:
        """All trials that have ended, and were neither interrupted nor tried before."""
        attributes = self.study.user_attrs
        left_out = {*attributes.get("again", ()), *attributes.get("repeated", ())}
        ended = self.study.get_trials(deepcopy=False, states=tuple(_STATES))
        return [frozen for frozen in ended if frozen.number not in left_out]

    def _trials(self) -> list[Trial]:
        """The same as ours, numbered without gaps."""
        return [_as_trial(frozen, number) for number, frozen in enumerate(self._ended(), start=1)]

    def _draw(self) -> tuple[optuna.Trial, dict[str, Any]] | None:
        """A trial with values that none has had; None if none was found."""
        tried = [self._options(frozen.params) for frozen in self._ended()]
        for draw in range(_MAX_DRAWS):
            repeated = list(self.study.user_attrs.get("repeated", []))
            # The seed depends on the number of trials and draws: a resumed search draws what an
            # uninterrupted one would have drawn next, and not its first values again. (Optuna takes
            # seeds of 32 bits.)
            seed = (self.config.train.seed + len(tried) + len(repeated)) % 2**32
            sampler = TPESampler if draw < _MAX_DRAWS // 2 else RandomSampler
            self.study.sampler = sampler(seed=seed)
            trial = self.study.ask()
            values = {name: _suggest(trial, name, space) for name, space in self.spaces.items()}
            if self._options(values) not in tried:
                return trial, values
            # Recorded first, as in `_requeue_interrupted`.
            self.study.set_user_attr("repeated", [*repeated, trial.number])
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

    def _run_trial(self, trial: optuna.Trial, values: Mapping[str, Any]) -> None:
        """Train and score a model with the values that were drawn.

        Raises:
            Interrupted: `stop` was set.
        """
        number = len(self._ended()) + 1
        path = self._trial_path(trial.number)
        self.run_folder.claim(f"{path.name}/")
        try:
            trained = train(
                self._config(values, str(path)), _Pruner(trial, self._name_measure), force=True,
                stop=self.stop,
            )  # fmt: skip
        except optuna.TrialPruned:
            self.study.tell(trial, state=TrialState.PRUNED)
        except self.failures as error:
            self.listener.on_note(f"trial {number}: {error}")
            self.study.tell(trial, state=TrialState.FAIL)
        except Interrupted:
            raise Interrupted(f"stopped in trial {number}, which will be started again") from None
        else:
            score = trained.best.score
            # The model is kept before Optuna learns the score: after a kill in between, the trial
            # is started again, and a score without its model never wins.
            done = [t for t in self._ended() if t.state == TrialState.COMPLETE]
            is_best = all(self._rank(score) > self._rank(t.value or 0.0) for t in done)
            if is_best:
                self._keep(path / BEST, values)
            self.study.tell(trial, score)
            self.listener.on_trial(self._trials()[-1], is_best=is_best)
            return
        finally:
            self._discard(trial.number)
        self.listener.on_trial(self._trials()[-1], is_best=False)

    def _name_measure(self, name: str) -> None:
        """Say what the score on dev is called, once a search."""
        if "measure" not in self.study.user_attrs:
            self.study.set_user_attr("measure", name)
            self.listener.on_measure(name)

    def _rank(self, score: float) -> float:
        return rank(self.metric, score)

    def _trial_path(self, number: int) -> Path:
        """The folder of a trial's run; Optuna counts trials from 0, their names from 1."""
        return self.folder / trial_folder(number + 1)

    def _discard(self, number: int) -> None:
        """Remove what a trial has written; if its folder holds foreign files, all of it stays."""
        discard_run(self._trial_path(number), self.listener.on_note)

    def _keep(self, model: Path, values: Mapping[str, Any]) -> None:
        """Write the best model so far, and its configuration.

        Raises:
            CheckpointError: they cannot be written.
        """
        # With it `tagkit train` repeats the trial, with the test corpus, without the time limit of
        # the search, and in a folder of its own.
        config = with_options(
            self._config(values),
            {"data.test_file": self.config.data.test_file, "output.dir": f"{self.folder}-best",
             "train.max_minutes": 0.0},
        )  # fmt: skip
        try:
            self.run_folder.claim(BEST, BEST_CONFIG)
            copy_bundle(model, self.folder / BEST)
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

    def __init__(self, trial: optuna.Trial, on_measure: Callable[[str], None]) -> None:
        """`trial` is the one that is trained; `on_measure` learns what its scores are called."""
        self.trial = trial
        self._on_measure = on_measure

    def on_start(self, prepared: Prepared, threads: int) -> None:
        """Pass on what ranks the epochs."""
        self._on_measure(prepared.criterion.name)

    def on_epoch(self, epoch: Epoch) -> None:
        """Report the score on dev.

        Raises:
            TrialPruned: the trial is below the median; it passes through `train`, which stops.
        """
        self.trial.report(epoch.score, epoch.number)
        if self.trial.should_prune():
            raise optuna.TrialPruned


def _open_study(folder: Path, metric: str) -> optuna.Study:
    """The study in a folder, or a new one; `metric` is the value of `train.metric`."""
    return optuna.create_study(
        storage=_storage(folder),
        study_name=STUDY_NAME,
        direction="minimize" if metric == LOSS else "maximize",
        load_if_exists=True,
        # The median of fewer than 5 trials says little, and so do the first 2 epochs.
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=2),
    )


def _delete_study(folder: Path) -> None:
    """Delete the study in a folder, of which no trial is worth keeping."""
    optuna.delete_study(study_name=STUDY_NAME, storage=_storage(folder))


def _storage(folder: Path) -> str:
    return f"sqlite:///{folder / STUDY}"


def _suggest(trial: optuna.Trial, name: str, space: Space) -> Any:
    """A value that Optuna's sampler draws from a space."""
    if not isinstance(space, Range):
        return trial.suggest_categorical(name, space.values)
    if space.whole:
        return trial.suggest_int(name, int(space.low), int(space.high), log=space.log)
    return trial.suggest_float(name, space.low, space.high, log=space.log)


def _as_trial(frozen: FrozenTrial, number: int) -> Trial:
    """Optuna's record of a trial as ours, which counts no trial that was drawn or run twice."""
    # A pruned trial has no value in Optuna: the table shows its last reported score.
    dev = frozen.value if frozen.state == TrialState.COMPLETE else None
    if frozen.state == TrialState.PRUNED and frozen.intermediate_values:
        dev = frozen.intermediate_values[max(frozen.intermediate_values)]
    seconds = frozen.duration.total_seconds() if frozen.duration else 0.0
    return Trial(number, frozen.params, dev, _STATES[frozen.state], seconds)
