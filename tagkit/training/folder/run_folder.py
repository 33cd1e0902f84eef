"""The folder of a training run.

    best/  last/       models: of the best epoch, and of the last one
    checkpoints/       states to resume from
    history.jsonl      one line per evaluation
    train.log          one line per event, with the time
    curves.svg         loss and dev score as a picture
    dev.pred test.pred the corpora with the best model's predictions
    dev.gold           the gold labels of a dev corpus that was split off, if dev.pred lacks them
    report.txt .json   reports on dev and test
    tensorboard/       with train.tracker = "tensorboard"
    tagkit-run.json    the names of all these files: see `tagkit.training.folder.manifest`

A run writes here and nowhere else, and removes only files that its manifest lists:

- A new run needs a folder without foreign files, with or without `force`, and names those it
  finds.
- `resume` leaves foreign files alone. It refuses those at paths that the run writes, and those in
  `best` and `last`, which are replaced as whole folders.
- What somebody puts into a folder while a run is replacing it is moved into the new one.

Each function looks first and removes afterwards, so a refusal leaves the folder as it was.
"""

import errno
import glob
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from tagkit.config import Config
from tagkit.errors import BundleError, CheckpointError, WriteError
from tagkit.models.bundle.bundle import save_bundle
from tagkit.models.folder.parts import read_metadata
from tagkit.storage import (
    BEST,
    HISTORY,
    MANIFEST,
    RESUME_AFTER,
    restore_set_aside,
    write_of_run,
)
from tagkit.storage.lock import locked
from tagkit.training.events.callbacks import LOG, Epoch, Listener, TrainLog, history
from tagkit.training.folder.checkpoint import (
    CHECKPOINT_FILES,
    Checkpoint,
    checkpoint_name,
    newest_checkpoint,
    remove_after,
    save_checkpoint,
)
from tagkit.training.folder.manifest import (
    HALF_MANIFEST,
    Contents,
    Manifest,
    canonical,
    refuse_other_commands,
)
from tagkit.training.folder.run_files import (
    CHECKPOINTS,
    MODEL_FILES,
    MODELS,
    RESULTS,
    SUBRUN,
    TRACKED,
)
from tagkit.training.folder.run_identity import differences, with_former_defaults
from tagkit.training.setup.setup import Prepared
from tagkit.wording import ANOTHER_OR_FORCE, listed, reason

# Checkpoints: the newest, and the one before it in case the newest turns out to be unreadable.
_KEEP = 2


class RunFolder:
    """The files of one run. Every name is listed in the manifest before it is first written."""

    def __init__(self, path: Path, *, writes: bool) -> None:
        """`writes`: whether this process writes; of several that train together, one does."""
        self.path = path
        self.writes = writes

    @cached_property
    def manifest(self) -> Manifest:
        """The names of this run's files.

        Raises:
            CheckpointError: it cannot be read.
        """
        # Read on first use, which is after the lock is taken: another run may be changing it.
        return Manifest(self.path)

    @contextmanager
    def locked(self, note: Callable[[str], None]) -> Iterator[None]:
        """Keep other commands from writing here. Creates the folder.

        Raises:
            CheckpointError: another command is writing here.
        """
        with locked(self.path, note) if self.writes else nullcontext():
            yield

    def contents(self) -> Contents:
        """What is here: the run's own files, and foreign ones.

        Raises:
            CheckpointError: it cannot be read.
        """
        return self.manifest.contents()

    def check(self, *, resume: bool, force: bool, of_seeds: bool = False) -> None:
        """Refuse to begin a run where it would destroy something.

        Args:
            resume: whether the run here is resumed.
            force: whether it is replaced.
            of_seeds: whether the folder is to hold a run for each of several seeds.

        Raises:
            CheckpointError: the folder holds a run that is neither resumed nor replaced, or foreign
                files.
        """
        if not self.writes:
            return
        if resume and not self.manifest.exists:
            self.manifest.adopt()
        found = self.contents()
        if resume:  # the run's own files stay: only foreign ones that it would overwrite matter
            _refuse_foreign(self.path, found.conflicts())
        elif force or not found.artifacts():
            _refuse_foreign(self.path, found.foreign)
        else:
            refuse_other_commands(self.path, found, of_seeds=of_seeds)
            finished = is_finished(self.path)
            what = f"{self.path}: holds a {'finished ' if finished else ''}model; "
            problem = f"{what}{ANOTHER_OR_FORCE}"
            if not finished and any(f"{CHECKPOINTS}/" in name for name in found.artifacts()):
                what = f"{self.path}: holds a run that was stopped; "
                problem = f"{what}resume=True continues it, force=True starts a new one"
            raise CheckpointError(problem)

    def clear(self) -> None:
        """Remove what runs have left here, and nothing else.

        Raises:
            CheckpointError: it cannot be removed, the folder holds foreign files, or another
                command is writing into the folder of one of several seeds or trials.
        """
        found = self.contents()
        _refuse_foreign(self.path, found.foreign)
        for name in found.folders:
            if SUBRUN.fullmatch(name):  # it has a lock of its own: a run may be writing there
                with locked(self.path / name, lambda text: None):
                    pass
        _remove(self.path, found.ours, found.folders)
        # The manifest goes last: a kill before that leaves every remaining file still listed.
        _remove(self.path, (MANIFEST, HALF_MANIFEST), ())
        del self.manifest

    def repair(self) -> None:
        """Remove what a killed run left incomplete, and write the manifest of a run of 0.1.0.

        Raises:
            CheckpointError: the folder cannot be written.
        """
        found = self.contents()
        self.manifest.record(())
        try:
            for model in MODELS:
                restore_set_aside(self.path / model)
        except OSError as error:
            raise _cannot_change(self.path, error) from None
        # A seed's or trial's own run repairs its folder when it is resumed.
        own = [name for name in found.ours if not SUBRUN.fullmatch(name.partition("/")[0])]
        temporary = [name for name in (*own, HALF_MANIFEST) if canonical(name) != name]
        _remove(self.path, temporary, [name for name in found.folders if canonical(name) != name])

    def resumed_config(self, config: Config) -> Config:
        """The configuration, with the defaults of the run here if that is of version 0.1.0.

        Raises:
            CheckpointError: no checkpoint can be read.
        """
        # Damaged ones are reported when the run is resumed; here they would be reported twice.
        place = self.path / CHECKPOINTS
        checkpoint = newest_checkpoint(place, lambda _: None, lambda _: None)
        return with_former_defaults(config, checkpoint.state.get("run")) if checkpoint else config

    def open(
        self,
        run: Mapping[str, Any],
        check: Callable[[Checkpoint], object],
        note: Callable[[str], None],
        *,
        resume: bool,
    ) -> Checkpoint | None:
        """Make the folder ready; the checkpoint to resume from, None for a new run.

        Args:
            run: what a run that is resumed must have in common with the one that wrote the
                checkpoint; see `run_identity.identity`.
            check: raises ValueError for a checkpoint that the run cannot restore.
            note: called with damaged checkpoints, and with the step from which the run is resumed.
            resume: whether to resume; otherwise what a run left here is removed.

        Raises:
            CheckpointError: the folder cannot be written, or the run there had other options.
        """
        checkpoint = self._checkpoint_to_resume(run, check, note) if resume else None
        if checkpoint:
            note(f"resuming after step {checkpoint.step}")
            epoch = read_metadata(self.path / BEST).get("epoch") if is_finished(self.path) else 0
            if isinstance(epoch, int) and epoch > len(checkpoint.state["epochs"]):
                note(
                    f"{self.path / BEST} holds the model of epoch {epoch}, in which the time limit "
                    "fell: that of the best whole epoch will replace it"
                )
        elif resume and not (found := self.contents()).artifacts():
            # So that a script can always pass `resume`, also the first time.
            note(f"{self.path}: no run to resume; starting a new one")
        elif resume:
            refuse_other_commands(self.path, found)
            raise CheckpointError(
                f"{self.path}: holds a model, but no checkpoint to resume from; {ANOTHER_OR_FORCE}"
            )
        # Only here, after corpora and vectors have been read without an error, is anything removed.
        if self.writes and checkpoint:
            self.repair()
        elif self.writes:
            self.clear()
        return checkpoint

    def _checkpoint_to_resume(
        self,
        run: Mapping[str, Any],
        check: Callable[[Checkpoint], object],
        note: Callable[[str], None],
    ) -> Checkpoint | None:
        def checked(checkpoint: Checkpoint) -> None:
            before = checkpoint.state.get("run")
            if not isinstance(before, Mapping):
                raise ValueError("state.run is missing")
            # A checkpoint of another run fails `check` too (another number of tags has other
            # shapes), and would be skipped as damaged. The difference of the options is the better
            # message.
            if not differences(before, run):
                check(checkpoint)

        checkpoint = newest_checkpoint(self.path / CHECKPOINTS, note, checked)
        if checkpoint and (problems := differences(checkpoint.state["run"], run)):
            raise CheckpointError(
                f"{self.path}: the run there had {'; '.join(problems)}. Resume it with what it "
                "had, or start a new one with force=True"
            )
        return checkpoint

    def save_checkpoint(self, checkpoint: Checkpoint) -> Path:
        """Add a checkpoint, and remove old ones; the folder that the first process writes.

        Raises:
            CheckpointError: it cannot be written.
        """
        place = f"{CHECKPOINTS}/{checkpoint_name(checkpoint.step)}"
        if self.writes:
            # `record`, not `claim`: a damaged checkpoint of this step may be there. It was skipped
            # when the run was resumed, and is replaced now.
            self.manifest.record(f"{place}/{name}" for name in CHECKPOINT_FILES)
            save_checkpoint(self.path / CHECKPOINTS, checkpoint, _KEEP, self._owns_checkpoint)
        return self.path / place

    def sound_checkpoint(
        self, check: Callable[[Checkpoint], object], note: Callable[[str], None]
    ) -> Checkpoint:
        """The newest checkpoint to which a run may go back; later ones are removed.

        Args:
            check: raises ValueError for a checkpoint that the run cannot restore.
            note: called with each damaged checkpoint.

        Raises:
            CheckpointError: there is none.
        """
        place = self.path / CHECKPOINTS
        checkpoint = newest_checkpoint(place, note, check, sound=True)
        if checkpoint is None:
            raise CheckpointError(f"{place}: no checkpoint to go back to can be used")
        # All processes read it, one removes: else a kill now would resume from the steps that went
        # wrong.
        if self.writes:
            remove_after(place, checkpoint.step, self._owns_checkpoint)
        return checkpoint

    def _owns_checkpoint(self, name: str) -> bool:
        return self.manifest.owns(f"{CHECKPOINTS}/{name}/{CHECKPOINT_FILES[0]}")

    def claim(self, *names: str) -> None:
        """List files in the manifest that are about to be written: a file of ours, or a model.

        Raises:
            CheckpointError: a foreign file is there, or the manifest cannot be written.
        """
        if self.writes:
            for name in names:
                parts = [f"{name}/{part}" for part in MODEL_FILES] if name in MODELS else [name]
                self.manifest.claim(parts)

    def claim_tracked(self, tracker: str) -> None:
        """List the files that TensorBoard writes in this process, as a pattern."""
        # TensorBoard names its files events.out.tfevents.TIME.HOST.PROCESS.NUMBER.
        host, process = glob.escape(platform.node()), os.getpid()
        if tracker != "none":
            self.claim(f"{TRACKED}/events.out.tfevents.*.{host}.{process}.*")

    def save_model(self, name: str, prepared: Prepared, facts: dict[str, Any]) -> None:
        """Write `best` or `last`.

        Raises:
            CheckpointError: it cannot be written, or foreign files are in its place.
        """
        if not self.writes:
            return
        self.claim(name)
        model, vocabulary = prepared.model, prepared.vocabulary
        try:
            save_bundle(self.path / name, model, vocabulary, prepared.config, facts)
        except BundleError as error:
            raise WriteError(str(error), RESUME_AFTER) from None

    def write_history(self, epochs: Sequence[Epoch]) -> None:
        """Write history.jsonl.

        Raises:
            CheckpointError: it cannot be written.
        """
        # The whole file each time: a resumed run repeats epochs after its checkpoint, which must
        # not be in it twice, and a crash must not leave half a line.
        if self.writes:
            self.claim(HISTORY)
            write_of_run(self.path / HISTORY, history(epochs))

    def remove_results(self) -> None:
        """Remove the predictions and reports of a model that is about to be replaced.

        Raises:
            CheckpointError: they cannot be removed.
        """
        if self.writes:
            _remove(self.path, [name for name in RESULTS if self.manifest.owns(name)], ())

    def write_results(self, results: Mapping[str, bytes], note: Callable[[str], None]) -> None:
        """Write predictions, reports, curves; where a foreign file has a name of them, note that.

        Args:
            results: contents by name.
            note: called with a message for the user.

        Raises:
            CheckpointError: they cannot be written.
        """
        for name, content in results.items() if self.writes else ():
            try:
                self.claim(name)
            except CheckpointError as error:
                # The model is complete and scored: a missing record must not make the run fail.
                note(str(error))
            else:
                write_of_run(self.path / name, content)

    def logged(self, listener: Listener) -> Listener:
        """A listener that writes train.log and calls `listener`.

        Raises:
            CheckpointError: a foreign train.log is there.
        """
        if not self.writes:
            return listener
        self.claim(LOG)
        return TrainLog(self.path, listener)


def is_finished(folder: Path) -> bool:
    """Whether a run here has come to its end."""
    # The scores of dev and test are written at the very end, so a model without them belongs to a
    # run that was stopped.
    try:
        return bool(read_metadata(folder / BEST).get("scores"))
    except BundleError:
        return False


def discard_run(path: Path, note: Callable[[str], None]) -> None:
    """Remove a run of its own that another command has started, such as a trial.

    A folder with foreign files stays whole, with a note.
    """
    if path.is_dir():
        try:
            run = RunFolder(path, writes=True)
            with run.locked(note):  # also removes a killed run's lock file
                run.clear()
            path.rmdir()
        except (CheckpointError, OSError) as error:
            note(f"{path}: is not removed: {error}")


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
            raise _cannot_change(place, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
    for path in (folder / name for name in files):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise _cannot_change(path.parent, error) from None
    for name in reversed(folders):  # inner ones first
        with suppress(OSError):  # not empty: a file has appeared since we looked, and stays
            (folder / name).rmdir()


def _cannot_change(folder: Path, error: OSError) -> CheckpointError:
    return CheckpointError(f"{folder}: cannot be written: {reason(error)}")
