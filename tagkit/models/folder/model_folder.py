"""The folder of a model: its files, and where it is in the folder of a run."""

from pathlib import Path

from tagkit.errors import BundleError
from tagkit.models.folder.seed_folders import SEED_RUN
from tagkit.storage import (
    BEST,
    CURVE,
    HISTORY,
    LAST,
    LOCK,
    MANIFEST,
    METADATA,
    WEIGHTS,
    set_aside,
)
from tagkit.wording import listed, reason

CONFIG, VOCABULARY = "config.toml", "vocabulary.json"


def find_bundle(path: Path) -> Path:
    """The folder of the model: `path` itself, or, in a training run's folder, `best` or `last`.

    Raises:
        BundleError: there is no model, or the run has lost its best one.
    """
    try:
        for folder in (path, path / BEST, path / LAST):
            # Not the last model in place of a best one that is missing as a whole.
            if folder == path / LAST and _is_scored(path):
                raise _lost_best(path)
            # The metadata is written last, so a folder that has it is whole.
            if (folder / METADATA).is_file():
                return folder
            # The old model, of a run that was stopped between the two renames that replace it.
            if (set_aside(folder) / METADATA).is_file():
                return set_aside(folder)
            # Nor in place of one that has lost a file.
            if (folder / METADATA).exists():
                raise BundleError(f"{folder / METADATA}: expected a file, found something else")
            if any((folder / name).exists() for name in (WEIGHTS, CONFIG, VOCABULARY)):
                raise BundleError(f"{folder}: {METADATA} is missing; this is not a whole model")
        if not path.exists():
            raise BundleError(f"{path}: no such folder; `tagkit train` makes one")
        runs = sorted(each.name for each in path.glob("*") if SEED_RUN.fullmatch(each.name))
    except OSError as error:
        raise BundleError(f"{path}: cannot be read: {reason(error)}") from None
    if runs:  # a folder whose trainings have all ended has a table of them, and is no model folder
        raise BundleError(
            f"{path}: holds trainings with several seeds, which have not all ended; name one of "
            f"them ({listed(runs, 5)})"
        )
    if (path / CURVE).exists():
        raise BundleError(
            f"{path}: holds a learning curve, whose models are not kept; `tagkit train` makes one"
        )
    if (path / LOCK).exists() or (path / MANIFEST).exists():
        raise BundleError(f"{path}: holds a run that has saved no model yet; resume it, or wait")
    if path.is_file():
        raise BundleError(f"{path}: expected the folder of a model, found a file")
    raise BundleError(f"{path}: not a model folder: expected one that holds {METADATA}")


def is_last(folder: Path, path: Path) -> bool:
    """Whether a folder that `find_bundle(path)` has found is that of the last model of a run."""
    last = path / LAST
    return folder in (last, set_aside(last))


def _is_scored(run: Path) -> bool:
    """Whether an epoch of a run has been scored, so that a best model has been saved.

    Raises:
        OSError: the folder cannot be read.
    """
    history = run / HISTORY
    return history.is_file() and history.stat().st_size > 0


def _lost_best(run: Path) -> BundleError:
    missing, last = f"{run}: its best model is missing ({BEST}/); restore it", run / LAST
    if not (last / METADATA).is_file():
        return BundleError(f"{missing}, or resume the run")
    return BundleError(f"{missing}, resume the run, or name {last} for that of the last epoch")
