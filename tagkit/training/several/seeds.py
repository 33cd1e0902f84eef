"""Train one configuration with several seeds, and keep the model that is best on dev.

A difference between two configurations means little if it is smaller than that between two seeds of
one: see Reimers and Gurevych 2017, "Reporting Score Distributions Makes a Difference: Performance
Study of LSTM-networks for Sequence Tagging" (arXiv:1707.09861).
"""

import threading
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tagkit.config import Config, as_config, with_options
from tagkit.corpus.source.pipes import require_files
from tagkit.errors import BundleError, CheckpointError, ConfigError, Interrupted
from tagkit.evaluation.reports.class_report import scores_by_label
from tagkit.evaluation.reports.criterion import rank
from tagkit.models.folder.parts import copy_bundle
from tagkit.models.folder.seed_folders import SEED_RUN, SUMMARY, seed_folder, seeds_of
from tagkit.storage import BEST, cannot_write
from tagkit.text.json_text import plain
from tagkit.training.events.callbacks import Forwarding, Listener, listener_of
from tagkit.training.events.finding import Finding
from tagkit.training.folder.manifest import refuse_other_commands
from tagkit.training.folder.run_files import CHECKPOINTS
from tagkit.training.folder.run_folder import RunFolder, is_finished
from tagkit.training.folder.run_identity import output_folder, refuse_unfit
from tagkit.training.folder.seed_scores import SeedScores, write_summary
from tagkit.training.folder.start_checks import check_beforehand
from tagkit.training.loop.time_budget import TimeBudget
from tagkit.training.processes.launcher import is_first
from tagkit.training.run_end import Trained
from tagkit.training.setup.setup import Prepared
from tagkit.training.trainer import train
from tagkit.wording import ANOTHER_OR_FORCE, listed

_NO_TIME = 1e-6  # minutes: 0 means no limit


class SeedListener(Forwarding):
    """Calls another listener, with the findings alone that no earlier seed had."""

    def __init__(self, listener: Listener, seed: int, reported: Set[str]) -> None:
        """`reported`: names of the findings of earlier seeds."""
        super().__init__(listener)
        self.seed = seed
        self.reported = reported
        self.found: set[str] = set()
        self.started = False

    def on_start(self, prepared: Prepared, threads: int) -> None:
        """Pass it on."""
        self.started = True
        self.listener.on_start(prepared, threads)

    def on_finding(self, finding: Finding) -> None:
        """Pass it on, if it is new; one about the model with the seed that it is of."""
        self.found.add(finding.name)
        if finding.name in self.reported:
            return
        if self.started:  # before that, findings are about the corpora, which seeds share
            finding = replace(finding, sentence=f"seed {self.seed}: {finding.sentence}")
        self.listener.on_finding(finding)


@dataclass(frozen=True, slots=True)
class TrainedSeeds:
    """The result of training with several seeds.

    Attributes:
        scores: of each seed, in the order of `train.seeds`.
        best: the run with the best score on dev; of several with the same score, the first. Its
            model is the folder's `best`.
        folder: holds a folder for each seed.
    """

    scores: tuple[SeedScores, ...]
    best: Trained
    folder: Path

    def to_dict(self) -> dict[str, Any]:
        """The scores of each seed and the best run, as values that JSON has."""
        return {
            "folder": str(self.folder),
            "scores": plain(self.scores),
            "best": self.best.to_dict(),
        }


def train_seeds(
    config: Config | Path | str | Mapping[str, Any],
    listener: Listener | None = None,
    *,
    resume: bool = False,
    force: bool = False,
    stop: threading.Event | None = None,
    started_s: float | None = None,
) -> TrainedSeeds:
    """Train a model for each of `train.seeds`, in `seed-N` of the output folder; keep the best.

    The arguments are those of `train`. `train.max_minutes` limits all seeds together. With it and
    `resume`, seeds that are done are scored again, but not trained further, which a note says;
    without it each goes on as `train` does.

    Raises:
        TagkitError: as `train` does; or `train.seeds` is empty.
    """
    config = as_config(config)
    budget = TimeBudget(config.train.max_minutes, 1, started_s)
    seeds, listener = config.train.seeds, listener_of(listener, Listener, stop)
    if not seeds:
        raise ConfigError("train.seeds", ["expected at least one seed, found none"])
    require_files(config, "several seeds")
    folder = output_folder(config)
    run_folder = RunFolder(folder, writes=is_first())
    # The lock of the outer folder is held throughout. Each seed's run also takes the lock of its
    # own folder, so that a `tagkit train` into FOLDER/seed-1 is kept apart too.
    with run_folder.locked(listener.on_note):
        if run_folder.writes:
            _prepare_folder(config, run_folder, resume=resume, force=force)
        return _train_each(
            config, run_folder, listener, budget, resume=resume, force=force, stop=stop
        )


def _prepare_folder(config: Config, run_folder: RunFolder, *, resume: bool, force: bool) -> None:
    """Check the folder, and make it ready.

    Raises:
        TagkitError: something is there that must not be removed, or no training can begin.
    """
    run_folder.check(resume=resume, force=force, of_seeds=True)
    refuse_unfit(config, resume=resume)
    if resume:
        found = run_folder.contents()
        # The best model of all seeds would replace that of another command.
        if found.artifacts() and not any(SEED_RUN.match(name) for name in found.folders):
            refuse_other_commands(run_folder.path, found, of_seeds=True)
            what = "a run of one seed" if (run_folder.path / CHECKPOINTS).exists() else "a model"
            raise CheckpointError(
                f"{run_folder.path}: holds {what}, but no trainings with several seeds; "
                f"{ANOTHER_OR_FORCE}"
            )
        _refuse_fewer(config.train.seeds, run_folder.path)
        run_folder.repair()
        return
    if force:  # before the old models are removed
        check_beforehand(config)
    run_folder.clear()


def _refuse_fewer(seeds: Sequence[int], folder: Path) -> None:
    """Refuse to resume fewer seeds than have ended: the scores of the others would be lost.

    Raises:
        CheckpointError: the folder has scores of a seed that is not to be trained.
    """
    try:
        done = seeds_of(folder)
    except BundleError:  # a table that somebody has changed, which is written anew
        return
    others = [str(seed) for seed in done if seed not in seeds]
    if not others:
        return
    which = f"seed {others[0]}" if len(others) == 1 else f"seeds {listed(others)}"
    wanted = ",".join([*map(str, seeds), *others])
    raise CheckpointError(
        f"{folder}: holds the scores of {which} too, which would be lost; name all of them "
        f"(train.seeds={wanted}), or another folder (output.dir)"
    )


def _train_each(
    config: Config,
    run_folder: RunFolder,
    listener: Listener,
    budget: TimeBudget,
    *,
    resume: bool,
    force: bool,
    stop: threading.Event | None,
) -> TrainedSeeds:
    """Train each seed; then write the best model and all scores."""
    seeds = config.train.seeds
    scores: list[SeedScores] = []
    reported: set[str] = set()
    best: Trained | None = None
    waiting = {
        seed for seed in seeds if not (resume and is_finished(run_folder.path / seed_folder(seed)))
    }
    if config.train.max_minutes and (done := [seed for seed in seeds if seed not in waiting]):
        names = listed([str(seed) for seed in done])
        which = f"seed {names} is" if len(done) == 1 else f"seeds {names} are"
        rest = "; the other seeds share the time limit" if waiting else ""
        listener.on_note(f"{which} done, and only scored again{rest}")
    for number, seed in enumerate(seeds, 1):
        listener.on_seed(seed, number, len(seeds))
        # One that is done has no time left, so that it is scored again and takes no step.
        shares = len(waiting) if seed in waiting else None
        waiting.discard(seed)
        one = _with_seed(config, seed, budget, shares)
        run_folder.claim(f"{seed_folder(seed)}/")
        of_seed = SeedListener(listener, seed, reported)
        try:
            trained = train(one, of_seed, resume=resume, force=force, stop=stop)
        except Interrupted as error:
            error.is_saved = True  # by the folder of all seeds, which is ready
            raise
        reported |= of_seed.found
        criterion = trained.criterion
        test = criterion.of_report(trained.test) if trained.test else None
        by_label = scores_by_label(trained.test or trained.dev)
        scores.append(SeedScores(seed, trained.best.number, trained.best.score, test, by_label))
        # Chosen on dev alone: test scores chosen among seeds would be too high.
        if best is None or _score(trained) > _score(best):
            best = trained
    assert best is not None
    if run_folder.writes:
        run_folder.claim(BEST, SUMMARY)
        _write(run_folder.path, best, scores)
        run_folder.write_results(best.results, listener.on_note)
    return TrainedSeeds(tuple(scores), best, run_folder.path)


def _score(trained: Trained) -> float:
    """The score on dev on a scale on which larger is better."""
    return rank(trained.criterion.key, trained.best.score)


def _write(folder: Path, best: Trained, scores: Sequence[SeedScores]) -> None:
    """Write the best model and all scores.

    Raises:
        CheckpointError: they cannot be written.
    """
    try:
        copy_bundle(best.folder / BEST, folder / BEST)
        write_summary(folder, scores)
    except OSError as error:
        raise cannot_write(folder, error) from None


def _with_seed(config: Config, seed: int, budget: TimeBudget, shares: int | None) -> Config:
    """The configuration of one seed's run, with its share of the remaining minutes, or none."""
    left = budget.left_minutes()  # 0 without a limit, and never 0 with one
    own = {
        "train.seeds": (),
        "train.seed": seed,
        "train.max_minutes": left and (left / shares if shares else _NO_TIME),
        "output.dir": str(Path(config.output.dir) / seed_folder(seed)),
    }
    return with_options(config, own)
