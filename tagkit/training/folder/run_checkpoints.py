"""The checkpoints of one run: which to resume from, which to go back to, which to keep."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tagkit.config import Config
from tagkit.errors import CheckpointError
from tagkit.training.folder.checkpoint import (
    CHECKPOINT_FILES,
    Checkpoint,
    checkpoint_name,
    newest_checkpoint,
    remove_after,
    save_checkpoint,
)
from tagkit.training.folder.manifest import Manifest
from tagkit.training.folder.run_files import CHECKPOINTS
from tagkit.training.folder.run_identity import differences, with_former_defaults
from tagkit.wording import FORCE, Message

# The newest, and the one before it in case the newest turns out to be unreadable.
_KEEP = 2


def resumed_config(folder: Path, config: Config) -> Config:
    """The configuration, with the defaults of the run in `folder` if that is of version 0.1.0.

    Raises:
        CheckpointError: no checkpoint can be read.
    """
    # Damaged ones are reported when the run is resumed; here they would be reported twice.
    checkpoint = newest_checkpoint(folder / CHECKPOINTS, lambda _: None, lambda _: None)
    return with_former_defaults(config, checkpoint.state.get("run")) if checkpoint else config


def checkpoint_to_resume(
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
            Message(
                f"{folder}: the run there had {'; '.join(problems)}. Resume it with what it had, "
                "or start a new one with ",
                FORCE,
            )
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
