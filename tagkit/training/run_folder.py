"""The folder of a training run.

    best/  last/       models: of the best epoch, and of the last
    checkpoints/       states to resume from
    history.jsonl      a line an evaluation
    train.log          a line an event, with the time
    curves.svg         loss and dev score, where matplotlib is installed
    tensorboard/       with train.tracker = "tensorboard"
    tagkit-run.json    the names of all these files: see `tagkit.training.manifest`

A run writes here and nowhere else, and removes only files of which its manifest, or without one
their content, proves that a run has written them (`tagkit.training.run_contents`):

- A new run wants a folder with nothing foreign in it, with or without `force`, and names what is.
- A resumed run leaves foreign files alone. It refuses those that stand where the run writes, and
  those in `best` and `last`, which are replaced as a whole.
- What somebody puts into a folder while a run is replacing it is moved into the new one.
"""

import glob
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from tagkit.config import Config
from tagkit.errors import BundleError, CheckpointError
from tagkit.models.bundle import read_metadata, save_bundle
from tagkit.storage import set_aside
from tagkit.storage.lock import locked
from tagkit.training.callbacks import CURVES, HISTORY, LOG, Epoch, Listener, TrainLog, write_history
from tagkit.training.checkpoint import (
    CHECKPOINT_FILES,
    Checkpoint,
    newest_checkpoint,
    place_of,
    remove_after,
    save_checkpoint,
)
from tagkit.training.manifest import HALF_MANIFEST, Manifest, canonical
from tagkit.training.plots import write_curves
from tagkit.training.run_contents import (
    CHECKPOINTS,
    MODEL_FILES,
    MODELS,
    RUNS,
    TRACKED,
    Contents,
    contents_of,
    named,
)
from tagkit.training.run_identity import differences, with_former_tokenizer
from tagkit.training.setup import Prepared
from tagkit.wording import ANOTHER_OR_FORCE, FORCE, OUTPUT, RESUME, Message

_KEEP = 2  # checkpoints
_RESUME_OR_FORCE = Message(RESUME, " continues it, ", FORCE, " starts anew")


class RunFolder:
    """Where a run writes. Every name is claimed in the manifest before it is first written."""

    def __init__(self, path: Path, *, writes: bool) -> None:
        """`writes`: whether this process is the one that does."""
        self.path = path
        self.writes = writes
        self._manifest: Manifest | None = None

    @property
    def manifest(self) -> Manifest:
        """The names of this run's files.

        Raises:
            CheckpointError: it cannot be read.
        """
        if self._manifest is None:
            self._manifest = Manifest(self.path)
        return self._manifest

    @contextmanager
    def locked(self, note: Callable[[str], None]) -> Iterator[None]:
        """Within this context no other command writes here. The folder is made.

        Raises:
            CheckpointError: another one does already.
        """
        with locked(self.path, note) if self.writes else nullcontext():
            yield

    def contents(self) -> Contents:
        """What is here: the runs' own files, and those of others.

        Raises:
            CheckpointError: it cannot be read.
        """
        return contents_of(self.path, self.manifest)

    def check(self, *, resume: bool, force: bool) -> None:
        """Refuse to lose what is there.

        Raises:
            CheckpointError: a run is there, and is neither to be resumed nor to be removed; or
                something that is not a run's.
        """
        if not self.writes:
            return
        found = self.contents()
        if resume:
            self._refuse(found.in_the_way())
            return
        artifacts = found.artifacts()
        if force or not artifacts:
            self._refuse(found.foreign)
            return
        try:
            finished = bool(read_metadata(self.path / "best").get("scores"))
        except BundleError:
            finished = False
        if not finished and any(f"{CHECKPOINTS}/" in name for name in artifacts):
            raise CheckpointError(
                Message(f"{self.path}: holds a run that was stopped; ", _RESUME_OR_FORCE)
            )
        raise CheckpointError(
            Message(f"{self.path}: holds a {'finished ' * finished}model; ", ANOTHER_OR_FORCE)
        )

    def _refuse(self, foreign: list[str]) -> None:
        if foreign:
            problem = f"{self.path}: holds what no run of tagkit is known to have written: "
            problem += f"{named(foreign)}. Name another folder ("
            raise CheckpointError(Message(problem, OUTPUT, "), or move these away"))

    def clear(self) -> None:
        """Remove what runs have left here, and nothing else.

        Raises:
            CheckpointError: it cannot be removed, something else is there, or another command is
                writing into the folder of one of several seeds or trials.
        """
        found = self.contents()
        self._refuse(found.foreign)
        for name in found.folders:
            if RUNS.fullmatch(name):
                with locked(self.path / name, lambda text: None):
                    pass
        self._remove(found.ours, found.folders)
        try:
            self.manifest.clear()
        except OSError as error:
            raise self._cannot_write(error) from None

    def tidy(self) -> None:
        """Remove what a run that was killed left half written; adopt a run without a manifest.

        Raises:
            CheckpointError: it cannot be removed.
        """
        found = self.contents()
        if not self.manifest.exists:
            self.manifest.record(self.manifest.names)
        mine = [name for name in found.ours if not RUNS.match(name)]
        try:
            for model in MODELS:
                place, old = self.path / model, set_aside(self.path / model)
                if old.is_dir() and not place.exists():  # killed between two renames
                    os.rename(old, place)
        except OSError as error:
            raise self._cannot_write(error) from None
        left = [name for name in (*mine, HALF_MANIFEST) if canonical(name) != name]
        folders = [name for name in found.folders if canonical(name) != name]
        self._remove(left, folders)

    def _remove(self, files: Sequence[str], folders: Sequence[str]) -> None:
        """Remove files, and those folders that are empty then."""
        try:
            for name in files:
                (self.path / name).unlink(missing_ok=True)
        except OSError as error:
            raise self._cannot_write(error) from None
        for name in reversed(folders):
            with suppress(OSError):  # it is not empty
                (self.path / name).rmdir()

    def continued(self, config: Config) -> Config:
        """The configuration with what the run that is here had, and only later became an option.

        Raises:
            CheckpointError: no checkpoint can be read.
        """
        checkpoint = newest_checkpoint(self.path / CHECKPOINTS, lambda _: None, lambda _: None)
        return with_former_tokenizer(config, checkpoint.state.get("run")) if checkpoint else config

    def open(
        self,
        run: Mapping[str, Any],
        check: Callable[[Checkpoint], None],
        note: Callable[[str], None],
        *,
        resume: bool,
    ) -> Checkpoint | None:
        """Make the folder ready; the state to resume from, None of a new run.

        Args:
            run: what a run that is resumed must have in common with the one before; see `identity`.
            check: raises ValueError for a checkpoint that the run cannot take over.
            note: called with damaged checkpoints.
            resume: whether to resume; else what a run left here is removed.

        Raises:
            CheckpointError: the folder cannot be written, or the run there is another one.
        """

        def checked(checkpoint: Checkpoint) -> None:
            before = checkpoint.state.get("run")
            if not isinstance(before, Mapping):
                raise ValueError("state.run is missing")
            if not differences(before, run):
                check(checkpoint)

        folder = self.path / CHECKPOINTS
        checkpoint = newest_checkpoint(folder, note, checked) if resume else None
        if checkpoint:
            problems = differences(checkpoint.state["run"], run)
            if problems:
                problem = f"{self.path}: the run there had {'; '.join(problems)}. "
                remedy = Message("Continue with what it had, or start anew with ", FORCE)
                raise CheckpointError(Message(problem, remedy))
            note(f"going on after step {checkpoint.step}")
        elif resume and not self.contents().artifacts():
            note(f"{self.path}: no run to go on with; a new one begins")
        elif resume:
            raise CheckpointError(
                Message(
                    f"{self.path}: holds a model, but no checkpoint to resume from; ",
                    ANOTHER_OR_FORCE,
                )
            )
        if self.writes and checkpoint:
            self.tidy()
        elif self.writes:
            self.clear()
        return checkpoint

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Add a checkpoint.

        Raises:
            CheckpointError: it cannot be written.
        """
        if self.writes:
            place = f"{CHECKPOINTS}/{place_of(checkpoint.step)}"
            # A checkpoint of this step may be there, damaged: it was passed over, and is replaced.
            self.manifest.record(f"{place}/{name}" for name in CHECKPOINT_FILES)
            save_checkpoint(self.path / CHECKPOINTS, checkpoint, _KEEP, self._owns_checkpoint)

    def _owns_checkpoint(self, name: str) -> bool:
        return self.manifest.owns(f"{CHECKPOINTS}/{name}/{CHECKPOINT_FILES[0]}")

    def sound_checkpoint(
        self, check: Callable[[Checkpoint], None], note: Callable[[str], None]
    ) -> Checkpoint:
        """The newest checkpoint to which a run may go back; later ones are removed.

        Raises:
            CheckpointError: none is whole.
        """
        folder = self.path / CHECKPOINTS
        checkpoint = newest_checkpoint(folder, note, check, sound=True)
        if checkpoint is None:
            raise CheckpointError(f"{folder}: no checkpoint to go back to is whole")
        if self.writes:
            remove_after(folder, checkpoint.step, self._owns_checkpoint)
        return checkpoint

    def claim(self, *names: str) -> None:
        """List files in the manifest that are about to be written: a file of ours, or a model.

        Raises:
            CheckpointError: somebody else's file is there, or the manifest cannot be written.
        """
        if self.writes:
            for name in names:
                parts = [f"{name}/{part}" for part in MODEL_FILES] if name in MODELS else [name]
                self.manifest.claim(parts)

    def claim_tracked(self, tracker: str) -> None:
        """List the files that TensorBoard writes in this process, as a pattern."""
        host, process = glob.escape(platform.node()), os.getpid()
        if tracker != "none":
            self.claim(f"{TRACKED}/events.out.tfevents.*.{host}.{process}.*")

    def save_model(self, name: str, prepared: Prepared, facts: dict[str, Any]) -> None:
        """Write `best` or `last`.

        Raises:
            BundleError: it cannot be written.
            CheckpointError: somebody else's files are in its place.
        """
        if self.writes:
            self.claim(name)
            save_bundle(
                self.path / name, prepared.model, prepared.vocabulary, prepared.config, facts
            )

    def write_history(self, epochs: Sequence[Epoch]) -> None:
        """Write history.jsonl.

        Raises:
            CheckpointError: it cannot be written.
        """
        if self.writes:
            self.claim(HISTORY)
            write_history(self.path, epochs)

    def write_curves(self, epochs: Sequence[Epoch], note: Callable[[str], None]) -> None:
        """Draw curves.svg; a picture there that is not this run's stays, with a note.

        Raises:
            CheckpointError: it cannot be written.
        """
        if not self.writes:
            return
        try:
            self.claim(CURVES)
        except CheckpointError as error:
            note(str(error))
        else:
            write_curves(self.path, epochs)

    def logged(self, listener: Listener) -> Listener:
        """The listener, and before it train.log.

        Raises:
            CheckpointError: somebody else's train.log is there.
        """
        if not self.writes:
            return listener
        self.claim(LOG)
        return TrainLog(self.path, listener)

    def _cannot_write(self, error: OSError) -> CheckpointError:
        return CheckpointError(f"{self.path}: cannot be written: {error.strerror or error}")
