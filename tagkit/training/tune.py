"""A search for good options with Optuna: each trial trains a model, and the best on dev is kept.

    study.db     all trials: a search that was stopped goes on
    best.toml    the best configuration, complete
    best/        its model

Which values are tried next is up to Optuna's TPE sampler (Bergstra et al. 2011). A trial whose dev
score is under the median of earlier trials at the same epoch is given up.
"""

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from tagkit.config import (
    Config,
    effective,
    load_config,
    option_values,
    options_of,
    parse_config,
    parse_toml,
    refuse_without_effect,
    to_toml,
    with_options,
)
from tagkit.config.search_space import Range, Space
from tagkit.corpus.splits import require_files
from tagkit.errors import CheckpointError, ConfigError, Interrupted, TrainingError
from tagkit.models.bundle import copy_bundle
from tagkit.storage import cannot_write, digest_of, write_whole
from tagkit.training.callbacks import Epoch, Listener
from tagkit.training.run_contents import BEST_CONFIG, STUDY, STUDY_FILES
from tagkit.training.run_folder import RunFolder
from tagkit.training.run_identity import output_folder
from tagkit.training.time_budget import TimeBudget
from tagkit.training.trainer import train
from tagkit.training.trials import Trial, Tuned, TuneListener
from tagkit.wording import ANOTHER_FOLDER, ANOTHER_OR_FORCE, FORCE, Message

BEST = "best"
_NAME = "tagkit"  # of the study in its file
_STATES = {
    TrialState.COMPLETE: "done",
    TrialState.PRUNED: "given up",
    TrialState.FAIL: "failed",
}


def tune(
    config: Config,
    spaces: Mapping[str, Space],
    *,
    trials: int,
    listener: TuneListener | None = None,
    force: bool = False,
    stop: threading.Event | None = None,
) -> Tuned:
    """Search for good values of some options; go on with the search in the output folder.

    Args:
        config: all other options. `train.max_minutes` are for the whole search; test is not scored.
        spaces: what to try, by dotted name.
        trials: in all, those of earlier runs among them.
        listener: told of each trial.
        force: remove the search that is there.
        stop: when it is set, the search ends after a step; the trial at work is begun again later.

    Raises:
        TagkitError: a corpus cannot be used, an option has a value that it cannot have.
        Interrupted: `stop` was set.
    """
    folder = output_folder(config)
    listener = listener or TuneListener()
    if os.environ.get("WORLD_SIZE", "1") != "1":
        raise ConfigError("tagkit tune", ["a search is one process; start it without a launcher"])
    if config.train.seeds:
        raise ConfigError("train.seeds", ["a trial trains one model; leave them out of a search"])
    for name, space in spaces.items():
        for value in space.samples():
            with_options(config, {name: value})
    searched = {name: space.samples() for name, space in spaces.items()}
    refuse_without_effect(config, "tagkit tune", searched)
    require_files(config, "the trials of a search")
    place = RunFolder(folder, writes=True)
    with place.locked(listener.on_note):
        found = place.contents()
        is_search = STUDY in found.ours
        if not is_search and found.ours:
            raise CheckpointError(
                Message(f"{folder}: is not empty, and holds no search; ", ANOTHER_FOLDER)
            )
        place.check(resume=is_search and not force, force=force)
        if is_search and not force:
            place.tidy()
        else:
            place.clear()
        place.claim(*STUDY_FILES)
        try:
            return _Search(config, spaces, place, listener, stop or threading.Event()).run(trials)
        except (SQLAlchemyError, optuna.exceptions.StorageInternalError) as error:
            first = str(error).partition("\n")[0]
            raise CheckpointError(
                Message(
                    f"{folder / STUDY}: cannot be read or written: {first}; when that is mended, "
                    "start the search again to continue it; ",
                    FORCE,
                    " starts anew",
                )
            ) from None


class _Search:
    """A study of Optuna, and the models that are trained for it."""

    def __init__(
        self,
        config: Config,
        spaces: Mapping[str, Space],
        place: RunFolder,
        listener: TuneListener,
        stop: threading.Event,
    ) -> None:
        self.config = config
        self.spaces = spaces
        self.place = place
        self.folder = place.path
        self.listener = listener
        self.stop = stop
        self.clock = TimeBudget(config.train.max_minutes, 1)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.study = self._study()

    def run(self, trials: int) -> Tuned:
        """Trials until there are so many, or time is over.

        Raises:
            TrainingError: all of them failed.
        """
        self._recognise()
        self._take_up()
        while len(self._ended()) < trials and not self.clock.is_over(0):
            self._one()
        ended = [_trial(frozen) for frozen in self._ended()]
        done = [trial for trial in ended if trial.state == "done"]
        if not done:
            raise TrainingError(f"{self.folder}: no trial came to its end")
        best = max(done, key=lambda trial: trial.dev or 0.0)
        return Tuned(tuple(ended), best, load_config(self.folder / BEST_CONFIG), self.folder)

    def _study(self) -> optuna.Study:
        return optuna.create_study(
            storage=f"sqlite:///{self.folder / STUDY}",
            study_name=_NAME,
            direction="maximize",
            load_if_exists=True,
            pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=2),
        )

    def _recognise(self) -> None:
        """Note what is searched, or check that it is what was searched here before.

        Raises:
            CheckpointError: it is something else.
        """
        data = self.config.data
        search = {
            "config": to_toml(self.config),
            "corpora": [digest_of(Path(path)) for path in (data.train_file, data.dev_file) if path],
            "spaces": {name: str(space) for name, space in self.spaces.items()},
        }
        before = self.study.user_attrs.get("search", search)
        names = {"config": "options", "corpora": "corpora", "spaces": "values"}
        others = [
            what
            for key, what in names.items()
            if _of_search(before, key) != _of_search(search, key)
        ]
        if others and not self._ended():  # a search that never came to anything
            optuna.delete_study(study_name=_NAME, storage=f"sqlite:///{self.folder / STUDY}")
            self.study = self._study()
        elif others:
            raise CheckpointError(
                Message(
                    f"{self.folder}: the search there tried other {others[0]}; ", ANOTHER_OR_FORCE
                )
            )
        self.study.set_user_attr("search", search)

    def _take_up(self) -> None:
        """Line up the trials again that were at work when the search was stopped."""
        again = list(self.study.user_attrs.get("again", []))
        for frozen in self.study.get_trials(states=(TrialState.RUNNING,)):
            self._discard(frozen.number)
            again.append(frozen.number)
            self.study.enqueue_trial(frozen.params)
            self.study.set_user_attr("again", again)
            self.study.tell(frozen.number, state=TrialState.FAIL)

    def _ended(self) -> list[FrozenTrial]:
        """All trials that have ended by themselves."""
        again = self.study.user_attrs.get("again", [])
        ended = self.study.get_trials(deepcopy=False, states=tuple(_STATES))
        return [frozen for frozen in ended if frozen.number not in again]

    def _one(self) -> None:
        """Draw values, and train and score a model with them.

        Raises:
            Interrupted: the search was asked to end.
        """
        # A search that goes on is not to draw the same values again.
        seed = self.config.train.seed + len(self._ended())
        self.study.sampler = optuna.samplers.TPESampler(seed=seed % 2**32)
        trial = self.study.ask()
        values = {name: _suggest(trial, name, space) for name, space in self.spaces.items()}
        place = self._place(trial.number)
        self.place.claim(f"{place.name}/")
        try:
            trained = train(
                self._config(values, str(place)), _Reports(trial), force=True, stop=self.stop
            )
        except optuna.TrialPruned:
            self.study.tell(trial, state=TrialState.PRUNED)
        except (TrainingError, ConfigError) as error:
            self.listener.on_note(Message(f"trial {trial.number + 1}: ", str(error)))
            self.study.tell(trial, state=TrialState.FAIL)
        except Interrupted:
            raise Interrupted(
                f"stopped in trial {trial.number + 1}, which will be begun again"
            ) from None
        else:
            score = trained.best.score
            done = [t for t in self._ended() if t.state == TrialState.COMPLETE]
            is_best = all(score > (t.value or 0.0) for t in done)
            if is_best:
                self._keep(place / BEST, values)
            self.study.tell(trial, score)
            self._tell(trial.number, is_best=is_best)
            return
        finally:
            self._discard(trial.number)
        self._tell(trial.number, is_best=False)

    def _place(self, number: int) -> Path:
        """Where a trial's model is trained."""
        return self.folder / f"trial-{number + 1}"

    def _discard(self, number: int) -> None:
        """Remove what a trial has written; if something else is there too, all of it stays."""
        place = self._place(number)
        if place.is_dir():
            try:
                trial = RunFolder(place, writes=True)
                with trial.locked(self.listener.on_note):  # which removes a killed run's lock file
                    trial.clear()
                place.rmdir()
            except (CheckpointError, OSError) as error:
                self.listener.on_note(f"trial {number + 1}: its folder is left as it is: {error}")

    def _tell(self, number: int, *, is_best: bool) -> None:
        frozen = next(frozen for frozen in self._ended() if frozen.number == number)
        self.listener.on_trial(_trial(frozen), is_best=is_best)

    def _keep(self, model: Path, values: Mapping[str, Any]) -> None:
        """Write the best model so far, and its configuration.

        Raises:
            CheckpointError: they cannot be written.
        """
        config = with_options(
            self._config(values),
            {"data.test_file": self.config.data.test_file, "output.dir": f"{self.folder}-best",
             "train.max_minutes": 0.0},
        )  # fmt: skip
        try:
            self.place.claim(BEST, BEST_CONFIG)
            copy_bundle(model, self.folder / BEST)
            write_whole(self.folder / BEST_CONFIG, to_toml(config).encode())
        except OSError as error:
            raise cannot_write(self.folder, error) from None

    def _config(self, values: Mapping[str, Any], folder: str = "") -> Config:
        """The configuration with a trial's values; without those that have no effect."""
        left = self.clock.left_minutes()
        fixed = {"data.test_file": "", "output.dir": folder or str(self.folder)}
        return effective(with_options(self.config, {**values, **fixed, "train.max_minutes": left}))


def _of_search(search: Mapping[str, Any], key: str) -> Any:
    """One part of what a search is; of its options those that it must keep when it is resumed."""
    if key != "config":
        return search[key]
    try:
        config = parse_config(parse_toml(search[key].encode()), STUDY)
    except (ValueError, ConfigError):  # of another version, whose options are not ours
        return None
    values = option_values(config)
    return {
        name: values[name]
        for name, option in options_of(Config).items()
        if not option.resume_search
    }


class _Reports(Listener):
    """Tells Optuna of each epoch, and gives up where that says so."""

    def __init__(self, trial: optuna.Trial) -> None:
        self.trial = trial

    def on_epoch(self, epoch: Epoch) -> None:
        """Report dev's score.

        Raises:
            TrialPruned: the trial is not worth its time.
        """
        self.trial.report(epoch.score, epoch.number)
        if self.trial.should_prune():
            raise optuna.TrialPruned


def _suggest(trial: optuna.Trial, name: str, space: Space) -> Any:
    if not isinstance(space, Range):
        return trial.suggest_categorical(name, space.values)
    if space.whole:
        return trial.suggest_int(name, int(space.low), int(space.high), log=space.log)
    return trial.suggest_float(name, space.low, space.high, log=space.log)


def _trial(frozen: FrozenTrial) -> Trial:
    """A trial as ours."""
    dev = frozen.value if frozen.state == TrialState.COMPLETE else None
    if frozen.state == TrialState.PRUNED and frozen.intermediate_values:
        dev = frozen.intermediate_values[max(frozen.intermediate_values)]
    seconds = frozen.duration.total_seconds() if frozen.duration else 0.0
    return Trial(frozen.number + 1, frozen.params, dev, _STATES[frozen.state], seconds)
