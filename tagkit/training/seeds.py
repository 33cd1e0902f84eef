"""One configuration, several seeds: a model of each, and mean and deviation of their scores."""

import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tagkit.config import Config
from tagkit.corpus.splits import require_files
from tagkit.errors import CheckpointError, ConfigError
from tagkit.models.bundle import copy_bundle
from tagkit.models.task_table import task_of
from tagkit.storage import cannot_write, write_whole
from tagkit.text.json_text import to_json
from tagkit.training.callbacks import Listener
from tagkit.training.distributed import is_first
from tagkit.training.run_contents import CHECKPOINTS, SUMMARY
from tagkit.training.run_folder import RunFolder
from tagkit.training.run_identity import output_folder, refuse_unfit
from tagkit.training.trainer import Trained, train
from tagkit.wording import ANOTHER_OR_FORCE, Message


@dataclass(frozen=True, slots=True)
class SeedScores:
    """What one seed gave.

    Attributes:
        seed: of all that is random.
        epoch: the best one.
        dev: headline on dev, 0 to 1.
        test: headline on test; None without a test corpus.
    """

    seed: int
    epoch: int
    dev: float
    test: float | None


@dataclass(frozen=True, slots=True)
class TrainedSeeds:
    """What the runs of several seeds end with.

    Attributes:
        scores: of each seed, in the order in which they were given.
        best: the run with the highest score on dev, the first of those that have it; its model is
            the folder's `best`.
        folder: with a folder for each seed in it.
    """

    scores: tuple[SeedScores, ...]
    best: Trained
    folder: Path


def train_seeds(
    config: Config,
    listener: Listener | None = None,
    *,
    resume: bool = False,
    force: bool = False,
    stop: threading.Event | None = None,
) -> TrainedSeeds:
    """Train a model for each of `train.seeds`, in `seed-N` of the output folder; keep the best.

    Arguments are those of `train`. `train.max_minutes` are for all seeds together. A run that goes
    on takes no further step of the seeds that are done.

    Raises:
        TagkitError: as `train` does; or no seeds are given.
    """
    seeds, listener = config.train.seeds, listener or Listener()
    if not seeds:
        raise ConfigError("train.seeds", ["expected at least one seed, found none"])
    require_files(config, "several seeds")
    folder = output_folder(config)
    place = RunFolder(folder, writes=is_first())
    with place.locked(listener.on_note):
        if place.writes:
            _prepare(config, place, resume=resume, force=force)
        return _train_each(config, place, listener, resume=resume, force=force, stop=stop)


def _prepare(config: Config, place: RunFolder, *, resume: bool, force: bool) -> None:
    """Make the folder ready, and lose nothing of what is there.

    Raises:
        TagkitError: there is something that may not be removed; or no corpus to learn from.
    """
    place.check(resume=resume, force=force)
    if resume and (place.path / CHECKPOINTS).exists():
        raise CheckpointError(Message(f"{place.path}: holds a run of one seed; ", ANOTHER_OR_FORCE))
    if force:
        refuse_unfit(config, resume=resume)
        task_of(config).read(config)  # before anything is removed: is there something to learn?
    if resume:
        place.tidy()
    else:
        place.clear()


def _train_each(
    config: Config,
    place: RunFolder,
    listener: Listener,
    *,
    resume: bool,
    force: bool,
    stop: threading.Event | None,
) -> TrainedSeeds:
    """A run for each seed; the best one's model, and all scores."""
    seeds = config.train.seeds
    began = time.monotonic()
    scores: list[SeedScores] = []
    best: Trained | None = None
    for number, seed in enumerate(seeds):
        listener.on_note(f"seed {seed} ({number + 1} of {len(seeds)})")
        gone = (time.monotonic() - began) / 60
        one = _with_seed(config, seed, gone, len(seeds) - number)
        place.claim(f"seed-{seed}/")
        trained = train(one, listener, resume=resume, force=force, stop=stop)
        test = trained.test.headline if trained.test else None
        scores.append(SeedScores(seed, trained.best.number, trained.best.score, test))
        if best is None or trained.best.score > best.best.score:
            best = trained
    assert best is not None
    if place.writes:
        place.claim("best", SUMMARY)
        _write(place.path, best, scores)
    return TrainedSeeds(tuple(scores), best, place.path)


def _write(folder: Path, best: Trained, scores: Sequence[SeedScores]) -> None:
    """The best model, and all scores.

    Raises:
        CheckpointError: they cannot be written.
    """
    try:
        copy_bundle(best.folder / "best", folder / "best")
        summary = [asdict(score) for score in scores]
        write_whole(folder / SUMMARY, (to_json(summary, indent=2) + "\n").encode())
    except OSError as error:
        raise cannot_write(folder, error) from None


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Mean, and standard deviation of a sample; that of one value is 0."""
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def _with_seed(config: Config, seed: int, gone: float, left: int) -> Config:
    """The configuration of one seed's run, with its part of the minutes that are left."""
    minutes = config.train.max_minutes
    if minutes:
        minutes = max(minutes - gone, 1e-6) / left
    changes = {"seed": seed, "seeds": (), "max_minutes": minutes}
    return config.model_copy(
        update={
            "train": config.train.model_copy(update=changes),
            "output": config.output.model_copy(
                update={"dir": str(Path(config.output.dir) / f"seed-{seed}")}
            ),
        }
    )
