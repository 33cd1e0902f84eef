"""Train one configuration with several seeds, and keep the model that is best on dev.

A difference between two configurations means little if it is smaller than that between two seeds of
one: see Reimers and Gurevych 2017, "Reporting Score Distributions Makes a Difference: Performance
Study of LSTM-networks for Sequence Tagging" (arXiv:1707.09861).
"""

import statistics
import threading
from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tagkit.config import Config, as_config, with_options
from tagkit.corpus.source.pipes import require_files
from tagkit.errors import BundleError, CheckpointError, ConfigError, Interrupted
from tagkit.evaluation.reports.class_report import scores_by_label
from tagkit.evaluation.reports.criterion import rank
from tagkit.evaluation.scores.scores import Score
from tagkit.models.folder.parts import copy_bundle
from tagkit.models.folder.seed_folders import SEED_RUN, SUMMARY, seed_folder, seeds_of
from tagkit.storage import BEST, cannot_write, write_whole
from tagkit.text.json_text import Record, plain, to_json
from tagkit.training.events.callbacks import Finding, Forwarding, Listener, listener_of
from tagkit.training.folder.manifest import refuse_other_commands
from tagkit.training.folder.run_files import CHECKPOINTS
from tagkit.training.folder.run_folder import RunFolder, is_finished
from tagkit.training.folder.run_identity import output_folder, refuse_unfit
from tagkit.training.loop.time_budget import TimeBudget
from tagkit.training.processes.launcher import is_first
from tagkit.training.run_end import Trained
from tagkit.training.setup.setup import Prepared
from tagkit.training.several.fits import Fits, check_beforehand
from tagkit.wording import ANOTHER_OR_FORCE, listed

_NO_TIME = 1e-6  # minutes: 0 means no limit


@dataclass(frozen=True, slots=True)
class SeedScores(Record):
    """The scores of one seed, a row of seeds.json.

    Attributes:
        seed: the random seed.
        epoch: number of the best epoch.
        dev: score on dev by `train.metric`.
        test: likewise on test, or its headline where the metric is the loss; None without a test
            corpus.
        by_label: scores on test, or on dev without a test corpus, by "types" of spans (or plain
            labels) and "classes" of texts, or by the name of a tag column, and then by label.
    """

    seed: int
    epoch: int
    dev: float
    test: float | None
    by_label: Mapping[str, Mapping[str, Score]]


@dataclass(frozen=True, slots=True)
class LabelSpread:
    """Mean and deviation over seeds of the scores of one label, each 0 to 1.

    Attributes:
        label: the type of a span, the tag or the class.
        precision: its mean and deviation.
        recall: likewise.
        f1: likewise.
        support: gold spans, tokens or texts.
    """

    label: str
    precision: tuple[float, float]
    recall: tuple[float, float]
    f1: tuple[float, float]
    support: int


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
    config, listener = as_config(config), listener_of(listener, Listener, stop)
    budget = TimeBudget(config.train.max_minutes, 1, started_s)
    if not config.train.seeds:
        raise ConfigError("train.seeds", ["expected at least one seed, found none"])
    require_files(config, "several seeds")
    folder = RunFolder(output_folder(config), writes=is_first())
    # The lock of the outer folder is held throughout. Each seed's run also takes the lock of its
    # own folder, so that a `tagkit train` into FOLDER/seed-1 is kept apart too.
    with folder.locked(listener.on_note):
        if folder.writes:
            _prepare_folder(config, folder, resume=resume, force=force)
        fits = Fits("trainings with several seeds", folder, listener.on_note, stop)
        return _train_each(config, fits, listener, budget, resume=resume)


def _prepare_folder(config: Config, folder: RunFolder, *, resume: bool, force: bool) -> None:
    """Check the folder, and make it ready.

    Raises:
        TagkitError: something is there that must not be removed, or no training can begin.
    """
    folder.check(resume=resume, force=force, of_seeds=True)
    refuse_unfit(config, resume=resume)
    if resume:
        found = folder.contents()
        # The best model of all seeds would replace that of another command.
        if found.artifacts() and not any(SEED_RUN.match(name) for name in found.folders):
            refuse_other_commands(folder.path, found, of_seeds=True)
            what = "a run of one seed" if (folder.path / CHECKPOINTS).exists() else "a model"
            raise CheckpointError(
                f"{folder.path}: holds {what}, but no trainings with several seeds; "
                f"{ANOTHER_OR_FORCE}"
            )
        _refuse_fewer(config.train.seeds, folder.path)
        folder.repair()
        return
    if force:  # before the old models are removed
        check_beforehand(config)
    folder.clear()


def _refuse_fewer(seeds: Sequence[int], folder: Path) -> None:
    """Refuse to resume fewer seeds than have ended: the scores of the others would be lost.

    Raises:
        CheckpointError: the folder has scores of a seed that is not to be trained.
    """
    try:
        others = [str(seed) for seed in seeds_of(folder) if seed not in seeds]
    except BundleError:  # a table that somebody has changed, which is written anew
        return
    if others:
        which = f"seed {others[0]}" if len(others) == 1 else f"seeds {listed(others)}"
        wanted = ",".join([*map(str, seeds), *others])
        raise CheckpointError(
            f"{folder}: holds the scores of {which} too, which would be lost; name all of them "
            f"(train.seeds={wanted}), or another folder (output.dir)"
        )


def _train_each(
    config: Config, fits: Fits, listener: Listener, budget: TimeBudget, *, resume: bool
) -> TrainedSeeds:
    """Train each seed; then write the best model and all scores."""
    seeds, folder = config.train.seeds, fits.folder
    scores: list[SeedScores] = []
    reported: set[str] = set()
    best: Trained | None = None
    done = [seed for seed in seeds if resume and is_finished(folder.path / seed_folder(seed))]
    waiting = {*seeds} - {*done}
    if config.train.max_minutes and done:
        names = listed([str(seed) for seed in done])
        which = f"seed {names} is" if len(done) == 1 else f"seeds {names} are"
        rest = "; the other seeds share the time limit" if waiting else ""
        listener.on_note(f"{which} done, and only scored again{rest}")
    for number, seed in enumerate(seeds, 1):
        listener.on_seed(seed, number, len(seeds))
        minutes = budget.left_minutes()  # 0 without a limit, and never 0 with one
        if minutes:  # one that is done has no time left: it is scored again, and takes no step
            minutes = minutes / len(waiting) if seed in waiting else _NO_TIME
        waiting.discard(seed)
        own = {"train.seeds": (), "train.seed": seed, "train.max_minutes": minutes}
        of_seed = SeedListener(listener, seed, reported)
        try:
            trained = fits.fit(seed_folder(seed), with_options(config, own), of_seed, resume=resume)
        except Interrupted as error:
            error.is_saved = True  # by the folder of all seeds, which is ready
            raise
        reported |= of_seed.found
        test = trained.criterion.of_report(trained.test) if trained.test else None
        by_label = scores_by_label(trained.test or trained.dev)
        scores.append(SeedScores(seed, trained.best.number, trained.best.score, test, by_label))
        # Chosen on dev alone: test scores chosen among seeds would be too high.
        if best is None or _score(trained) > _score(best):
            best = trained
    assert best is not None
    if folder.writes:
        folder.claim(BEST, SUMMARY)
        table = to_json([asdict(score) for score in scores], indent=2) + "\n"
        try:
            copy_bundle(best.folder / BEST, folder.path / BEST)
            write_whole(folder.path / SUMMARY, table.encode())
        except OSError as error:
            raise cannot_write(folder.path, error) from None
        folder.write_results(best.results, listener.on_note)
    return TrainedSeeds(tuple(scores), best, folder.path)


def _score(trained: Trained) -> float:
    """The score on dev on a scale on which larger is better."""
    return rank(trained.criterion.key, trained.best.score)


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


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Mean and sample standard deviation (divisor n - 1); the deviation of one value is 0."""
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def label_spreads(scores: Sequence[SeedScores]) -> dict[str, list[LabelSpread]]:
    """Mean and deviation of each label's scores, by what the labels are of."""
    # A label that is in no gold answer is scored only by seeds that predict it, with 0: it counts
    # as 0 for the others too.
    none = Score(0.0, 0.0, 0.0, 0)
    spreads: dict[str, list[LabelSpread]] = {}
    for kind in scores[0].by_label:
        tables = [each.by_label[kind] for each in scores]
        for label in sorted({label for table in tables for label in table}):
            found = [table.get(label, none) for table in tables]
            spread = LabelSpread(
                label,
                mean_and_deviation([score.precision for score in found]),
                mean_and_deviation([score.recall for score in found]),
                mean_and_deviation([score.f1 for score in found]),
                max(score.support for score in found),
            )
            spreads.setdefault(kind, []).append(spread)
    return spreads
