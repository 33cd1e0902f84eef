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

A run writes here and nowhere else, and removes only files of which its manifest, or without one
their content, proves that a run has written them (`tagkit.training.folder.run_contents`):

- A new run needs a folder without foreign files, with or without `force`, and names those it
  finds.
- `resume` leaves foreign files alone. It refuses those at paths that the run writes, and those in
  `best` and `last`, which are replaced as whole folders.
- What somebody puts into a folder while a run is replacing it is moved into the new one.

`RunFolder` has all that a run does here. Which of its checkpoints it resumes from, goes back to and
keeps is decided below it.
"""

import glob
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from tagkit.config import Config
from tagkit.errors import BundleError, CheckpointError, WriteError
from tagkit.evaluation.reports.criterion import Criterion
from tagkit.models.bundle.bundle import save_bundle
from tagkit.storage import BEST, HISTORY, RESUME_AFTER, cannot_write, write_whole
from tagkit.storage.lock import locked
from tagkit.training.events.callbacks import CURVES, LOG, Epoch, Listener, TrainLog, write_history
from tagkit.training.events.plots import write_curves
from tagkit.training.folder.checkpoint import (
    CHECKPOINT_FILES,
    Checkpoint,
    checkpoint_name,
    newest_checkpoint,
    remove_after,
    save_checkpoint,
)
from tagkit.training.folder.manifest import Manifest
from tagkit.training.folder.run_cleanup import (
    clear,
    cut_epoch,
    refuse_other_commands,
    refuse_to_lose,
    remove_results,
    repair,
)
from tagkit.training.folder.run_contents import Contents, contents_of
from tagkit.training.folder.run_files import CHECKPOINTS, MODEL_FILES, MODELS, TRACKED
from tagkit.training.folder.run_identity import differences, with_former_defaults
from tagkit.training.setup.setup import Prepared
from tagkit.wording import ANOTHER_OR_FORCE

# Checkpoints: the newest, and the one before it in case the newest turns out to be unreadable.
_KEEP = 2


class RunFolder:
    """The files of one run. Every name is listed in the manifest before it is first written."""

    def __init__(self, path: Path, *, writes: bool) -> None:
        """`writes`: whether this process writes; of several that train together, one does."""
        self.path = path
        self.writes = writes
        self._manifest: Manifest | None = None

    @property
    def manifest(self) -> Manifest:
        """The names of this run's files.

        Raises:
            CheckpointError: it cannot be read.
        """
        # Read on first use, which is after the lock is taken: another run may be changing it.
        if self._manifest is None:
            self._manifest = Manifest(self.path)
        return self._manifest

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
        return contents_of(self.path, self.manifest)

    def check(self, *, resume: bool, force: bool, of_seeds: bool = False) -> None:
        """Refuse to begin a run where it would destroy something; see `refuse_to_lose`."""
        if self.writes:
            refuse_to_lose(self.path, self.manifest, resume=resume, force=force, of_seeds=of_seeds)

    def clear(self) -> None:
        """Remove what runs have left here, and nothing else; see `run_cleanup.clear`."""
        clear(self.path, self.manifest)

    def repair(self) -> None:
        """Remove what a killed run left incomplete; see `run_cleanup.repair`."""
        repair(self.path, self.manifest)

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
        check: Callable[[Checkpoint], None],
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
        checkpoint = _checkpoint_to_resume(self.path, run, check, note) if resume else None
        if checkpoint:
            note(f"resuming after step {checkpoint.step}")
            if cut := cut_epoch(self.path, len(checkpoint.state["epochs"])):
                note(
                    f"{self.path / BEST} holds the model of epoch {cut}, in which the time limit "
                    "fell: that of the best whole epoch will replace it"
                )
        elif resume and not self.contents().artifacts():
            # So that a script can always pass `resume`, also the first time.
            note(f"{self.path}: no run to resume; starting a new one")
        elif resume:
            refuse_other_commands(self.path, self.contents(), resume=True)
            raise CheckpointError(
                f"{self.path}: holds a model, but no checkpoint to resume from; {ANOTHER_OR_FORCE}"
            )
        # Only here, after corpora and vectors have been read without an error, is anything removed.
        if self.writes and checkpoint:
            self.repair()
        elif self.writes:
            self.clear()
        return checkpoint

    def save_checkpoint(self, checkpoint: Checkpoint) -> Path:
        """Add a checkpoint, and remove old ones; the folder that the first process writes.

        Raises:
            CheckpointError: it cannot be written.
        """
        if self.writes:
            RunCheckpoints(self.path, self.manifest).save(checkpoint)
        return self.path / CHECKPOINTS / checkpoint_name(checkpoint.step)

    def sound_checkpoint(
        self, check: Callable[[Checkpoint], None], note: Callable[[str], None]
    ) -> Checkpoint:
        """The newest checkpoint to which a run may go back; later ones are removed.

        Raises:
            CheckpointError: there is none.
        """
        # All processes read it, one removes.
        return RunCheckpoints(self.path, self.manifest).sound(check, note, prune=self.writes)

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
        if self.writes:
            self.claim(HISTORY)
            write_history(self.path, epochs)

    def remove_results(self) -> None:
        """Remove predictions and reports of an earlier best model; see `run_cleanup`."""
        if self.writes:
            remove_results(self.path, self.manifest)

    def write_results(self, results: Mapping[str, bytes], note: Callable[[str], None]) -> None:
        """Write predictions and reports; where a foreign file has a name of them, note that.

        Args:
            results: contents by name, of `run_files.RESULTS`.
            note: called with a message for the user.

        Raises:
            CheckpointError: they cannot be written.
        """
        if not self.writes:
            return
        for name, content in results.items():
            try:
                self.claim(name)
            except CheckpointError as error:
                # The model is complete and scored: a missing record must not make the run fail.
                note(str(error))
                continue
            try:
                write_whole(self.path / name, content)
            except OSError as error:
                raise cannot_write(self.path / name, error) from None

    def write_curves(
        self, epochs: Sequence[Epoch], criterion: Criterion, note: Callable[[str], None]
    ) -> None:
        """Draw curves.svg; a foreign picture there is kept, with a note.

        Raises:
            CheckpointError: it cannot be written.
        """
        if not self.writes:
            return
        try:
            self.claim(CURVES)
        except CheckpointError as error:
            # The run is complete at this point; a missing picture must not make it fail.
            note(str(error))
        else:
            write_curves(self.path, epochs, criterion)

    def logged(self, listener: Listener) -> Listener:
        """A listener that writes train.log and calls `listener`.

        Raises:
            CheckpointError: a foreign train.log is there.
        """
        if not self.writes:
            return listener
        self.claim(LOG)
        return TrainLog(self.path, listener)


def _checkpoint_to_resume(
    folder: Path,
    run: Mapping[str, Any],
    check: Callable[[Checkpoint], None],
    note: Callable[[str], None],
) -> Checkpoint | None:
    """The checkpoint from which the run in `folder` is resumed; None if there is none.

    Args:
        folder: of the run.
        run: what the run must have in common with the one that wrote it; see `run_identity`.
        check: raises ValueError for a checkpoint that the run cannot restore.
        note: called with each damaged checkpoint.

    Raises:
        CheckpointError: the run there had other options or corpora.
    """

    def checked(checkpoint: Checkpoint) -> None:
        before = checkpoint.state.get("run")
        if not isinstance(before, Mapping):
            raise ValueError("state.run is missing")
        # A checkpoint of another run fails `check` too (another number of tags has other shapes),
        # and would be skipped as damaged. The difference of the options is the better message.
        if not differences(before, run):
            check(checkpoint)

    checkpoint = newest_checkpoint(folder / CHECKPOINTS, note, checked)
    problems = differences(checkpoint.state["run"], run) if checkpoint else []
    if problems:
        raise CheckpointError(
            f"{folder}: the run there had {'; '.join(problems)}. Resume it with what it had, or "
            "start a new one with force=True"
        )
    return checkpoint


class RunCheckpoints:
    """The checkpoints of the current run: which to save, and which to go back to."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        """`folder` of the run."""
        self._folder = folder / CHECKPOINTS
        self._manifest = manifest

    def save(self, checkpoint: Checkpoint) -> None:
        """Add a checkpoint, and remove old ones.

        Raises:
            CheckpointError: it cannot be written.
        """
        place = f"{CHECKPOINTS}/{checkpoint_name(checkpoint.step)}"
        # `record`, not `claim`: a damaged checkpoint of this step may be there. It was skipped when
        # the run was resumed, and is replaced now.
        self._manifest.record(f"{place}/{name}" for name in CHECKPOINT_FILES)
        save_checkpoint(self._folder, checkpoint, _KEEP, self._is_ours)

    def sound(
        self, check: Callable[[Checkpoint], None], note: Callable[[str], None], *, prune: bool
    ) -> Checkpoint:
        """The newest checkpoint to which a run may go back.

        Args:
            check: raises ValueError for a checkpoint that the run cannot restore.
            note: called with each damaged checkpoint.
            prune: whether to remove later checkpoints.

        Raises:
            CheckpointError: there is none.
        """
        checkpoint = newest_checkpoint(self._folder, note, check, sound=True)
        if checkpoint is None:
            raise CheckpointError(f"{self._folder}: no checkpoint to go back to can be used")
        if prune:  # else a kill now would resume from the steps that went wrong
            remove_after(self._folder, checkpoint.step, self._is_ours)
        return checkpoint

    def _is_ours(self, name: str) -> bool:
        return self._manifest.owns(f"{CHECKPOINTS}/{name}/{CHECKPOINT_FILES[0]}")


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
