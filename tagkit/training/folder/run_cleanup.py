"""Files that earlier runs left in a folder: refusal to lose them, removal, repair.

A run removes only what `tagkit.training.folder.run_contents` shows to be a run's own. Each
function looks first and removes afterwards, so a refusal leaves the folder as it was.
"""

import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tagkit.errors import BundleError, CheckpointError
from tagkit.models.folder.parts import read_metadata
from tagkit.models.folder.seed_folders import SEED_RUN
from tagkit.storage import BEST, CURVE, restore_set_aside
from tagkit.storage.lock import locked
from tagkit.training.folder.manifest import HALF_MANIFEST, Manifest, canonical
from tagkit.training.folder.run_contents import Contents, contents_of, is_subrun
from tagkit.training.folder.run_files import CHECKPOINTS, MODELS, RESULTS
from tagkit.training.folder.trials import STUDY
from tagkit.wording import ANOTHER_FOLDER, ANOTHER_OR_FORCE, listed, reason


def refuse_to_lose(
    folder: Path, manifest: Manifest, *, resume: bool, force: bool, of_seeds: bool = False
) -> None:
    """Refuse to begin a run where it would destroy something.

    Args:
        folder: of the run.
        manifest: of the folder.
        resume: whether the run there is resumed.
        force: whether it is replaced.
        of_seeds: whether the folder is to hold a run for each of several seeds.

    Raises:
        CheckpointError: the folder holds a run that is neither resumed nor replaced, or foreign
            files.
    """
    found = contents_of(folder, manifest)
    if resume:  # the files of the run stay, so only foreign ones that it would overwrite matter
        _refuse_foreign(folder, found.conflicts())
        return
    existing_artifacts = found.artifacts()
    if force or not existing_artifacts:
        _refuse_foreign(folder, found.foreign)
        return
    refuse_other_commands(folder, found, resume=False, of_seeds=of_seeds)
    finished = is_finished(folder)
    if not finished and any(f"{CHECKPOINTS}/" in name for name in existing_artifacts):
        raise CheckpointError(
            f"{folder}: holds a run that was stopped; resume=True continues it, force=True starts "
            "a new one"
        )
    raise CheckpointError(
        f"{folder}: holds a {'finished ' if finished else ''}model; {ANOTHER_OR_FORCE}"
    )


def refuse_other_commands(
    folder: Path, found: Contents, *, resume: bool, of_seeds: bool = False
) -> None:
    """Refuse a folder that holds trainings with several seeds, a learning curve or a search.

    `force` would remove all of it, and is not named. The arguments are those of `refuse_to_lose`.

    Raises:
        CheckpointError: it does.
    """
    runs = {name for name in found.folders if SEED_RUN.fullmatch(name)}
    if any(name.startswith(f"{CHECKPOINTS}/") for name in found.ours):
        return  # a run of its own
    if runs and not of_seeds:
        seeds = sorted(int(name.partition("-")[2]) for name in runs)
        again = "" if resume else " and resume=True"
        raise CheckpointError(
            f"{folder}: holds trainings with several seeds; give "
            f"train.seeds={','.join(map(str, seeds))}{again} to resume them, or "
            f"{ANOTHER_FOLDER}"
        )
    for name, what in ((CURVE, "a learning curve"), (STUDY, "a search")):
        if name in found.ours:
            raise CheckpointError(f"{folder}: holds {what}; {ANOTHER_FOLDER}")


def is_finished(folder: Path) -> bool:
    """Whether a run here has come to its end."""
    # The scores of dev and test are written at the very end, so a model without them belongs to a
    # run that was stopped.
    try:
        return bool(read_metadata(folder / BEST).get("scores"))
    except BundleError:
        return False


def cut_epoch(folder: Path, whole: int) -> int | None:
    """The epoch whose model is kept here, if a time limit ended the run in the midst of it.

    Args:
        folder: of the run.
        whole: number of epochs that were completed.
    """
    epoch = read_metadata(folder / BEST).get("epoch") if is_finished(folder) else None
    return epoch if isinstance(epoch, int) and epoch > whole else None


def clear(folder: Path, manifest: Manifest) -> None:
    """Remove what runs have left, and nothing else.

    Raises:
        CheckpointError: it cannot be removed, the folder holds foreign files, or another command is
            writing into the folder of one of several seeds or trials.
    """
    found = contents_of(folder, manifest)
    _refuse_foreign(folder, found.foreign)
    for name in found.folders:
        if is_subrun(name):  # it has a lock of its own: a run may be writing there
            with locked(folder / name, lambda text: None):
                pass
    _remove(folder, found.ours, found.folders)
    # The manifest goes last: a kill before that leaves every remaining file still listed.
    try:
        manifest.clear()
    except OSError as error:
        raise _cannot_write(folder, error) from None


def repair(folder: Path, manifest: Manifest) -> None:
    """Remove what a killed run left incomplete, and give a run without a manifest one.

    Raises:
        CheckpointError: the folder cannot be written.
    """
    found = contents_of(folder, manifest)
    if not manifest.exists:  # a run of 0.1.0, whose files `contents_of` has recognised
        manifest.record(manifest.names)
    try:
        for model in MODELS:
            restore_set_aside(folder / model)
    except OSError as error:
        raise _cannot_write(folder, error) from None
    # A seed's or trial's own run repairs its folder when it is resumed.
    own = [name for name in found.ours if not is_subrun(name.partition("/")[0])]
    temporary = [name for name in (*own, HALF_MANIFEST) if canonical(name) != name]
    folders = [name for name in found.folders if canonical(name) != name]
    _remove(folder, temporary, folders)


def remove_results(folder: Path, manifest: Manifest) -> None:
    """Remove the run's predictions and reports, as those of a model that is about to be replaced.

    Raises:
        CheckpointError: they cannot be removed.
    """
    own = [name for name in RESULTS if manifest.owns(name) and (folder / name).exists()]
    if own:
        _remove(folder, own, ())


def _refuse_foreign(folder: Path, names: Sequence[str]) -> None:
    if names:
        raise CheckpointError(
            f"{folder}: holds what no run of tagkit is known to have written: {listed(names)}. "
            "Name another folder (output.dir), or move these away"
        )


def _remove(folder: Path, files: Sequence[str], folders: Sequence[str]) -> None:
    """Remove files, and those folders that are empty afterwards.

    Raises:
        CheckpointError: one cannot be removed. If that is seen beforehand, nothing is.
    """
    for place in sorted({(folder / name).parent for name in (*files, *folders)}):
        if place.is_dir() and not os.access(place, os.W_OK | os.X_OK):
            raise _cannot_write(place, OSError(errno.EACCES, os.strerror(errno.EACCES)))
    for name in files:
        try:
            (folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise _cannot_write((folder / name).parent, error) from None
    for name in reversed(folders):  # inner ones first
        with suppress(OSError):  # not empty: a file has appeared since we looked, and stays
            (folder / name).rmdir()


def _cannot_write(folder: Path, error: OSError) -> CheckpointError:
    return CheckpointError(f"{folder}: cannot be written: {reason(error)}")
