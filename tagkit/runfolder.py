"""The folder of a training run.

    best/  last/       models: of the best epoch, and of the last
    checkpoints/       all that it takes to go on
    history.jsonl      a line an evaluation
    train.log          a line an event, with the time
    curves.svg         loss and dev score, where matplotlib is there
    tensorboard/       if train.tracker has it so

A run writes here and nowhere else.
"""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tagkit.bundle import METADATA, read_metadata, save_bundle
from tagkit.checkpoint import Checkpoint, newest_checkpoint, remove_after, save_checkpoint
from tagkit.config import FORMER_TOKENIZER, Config, refuse_without_effect, with_options
from tagkit.errors import BundleError, CheckpointError, ConfigError
from tagkit.history import CURVES, HISTORY, LOG, Epoch, write_history
from tagkit.preparation import Prepared
from tagkit.storage import digest_of, set_aside
from tagkit.wording import clipped

_MODELS, _CHECKPOINTS, TRACKED = ("best", "last"), "checkpoints", "tensorboard"
SUMMARY = "seeds.json"
_KEEP = 2  # checkpoints
_CONTENT = "content of "
_HALF = ".*.writing"  # what a run was writing when it was killed
# States to go on from, of this run or of those of several seeds.
_RESUMABLE = f"**/{_CHECKPOINTS}/step-*"
# What may differ in a run that goes on. Most of it changes no weight; max_epochs does where the
# learning rate falls towards the last step, threads by rounding.
_FREE = {
    "train.max_epochs", "train.patience", "train.max_minutes", "train.checkpoint_every",
    "train.threads", "train.device", "train.tracker", "output.dir", "data.train_file",
    "data.dev_file", "data.test_file", "data.max_line_chars",
}  # fmt: skip


class RunFolder:
    """Where a run writes."""

    def __init__(self, path: Path, *, writes: bool) -> None:
        """`writes`: whether this process is the one that does."""
        self.path = path
        self.writes = writes

    def check(self, *, resume: bool, force: bool) -> None:
        """Refuse to lose what is there.

        Raises:
            CheckpointError: a run is there, and is neither to go on nor to be removed.
        """
        if resume or force or not self._precious():
            return
        try:
            finished = bool(read_metadata(self.path / "best").get("scores"))
        except BundleError:
            finished = False
        if not finished and any(self.path.glob(_RESUMABLE)):
            raise CheckpointError(
                f"{self.path}: holds a run that was stopped; --resume goes on with it, --force "
                "starts anew"
            )
        raise CheckpointError(
            f"{self.path}: holds a {'finished ' if finished else ''}model; name another folder "
            "(-o), or replace it with --force"
        )

    def clear(self) -> None:
        """Remove what runs of any kind left here.

        Raises:
            CheckpointError: it cannot be removed.
        """
        try:
            for piece in [*self._precious(), *self._logs()]:
                shutil.rmtree(piece) if piece.is_dir() else piece.unlink()
        except OSError as error:
            raise self._cannot_write(error) from None

    def continued(self, config: Config) -> Config:
        """The configuration with the tokenizer of the run that is here, where none is named.

        Its default was another in earlier versions, whose runs can be resumed.

        Raises:
            CheckpointError: no checkpoint can be read.
        """
        checkpoint = newest_checkpoint(self.path / _CHECKPOINTS, lambda _: None)
        if checkpoint is None or "tokenizer" in config.data.model_fields_set:
            return config
        name = checkpoint.state["run"].get("data.tokenizer", FORMER_TOKENIZER)
        return with_options(config, {"data.tokenizer": name})

    def open(
        self, run: Mapping[str, Any], note: Callable[[str], None], *, resume: bool
    ) -> Checkpoint | None:
        """Make the folder ready; the state to go on from, None of a new run.

        Args:
            run: what a run that goes on must have in common with the one before; see `identity`.
            note: told of damaged checkpoints.
            resume: whether to go on; else what a run left here is removed.

        Raises:
            CheckpointError: the folder cannot be written, or the run there is another one.
        """
        checkpoint = newest_checkpoint(self.path / _CHECKPOINTS, note) if resume else None
        if checkpoint:
            problems = _differences(checkpoint.state["run"], run)
            if problems:
                raise CheckpointError(
                    f"{self.path}: the run there had {'; '.join(problems)}. Go on with what it "
                    "had, or start anew with --force"
                )
            note(f"going on after step {checkpoint.step}")
        elif resume and not self._precious():
            note(f"{self.path}: no run to go on with; a new one begins")
        elif resume:
            raise CheckpointError(
                f"{self.path}: holds a model, but no checkpoint to go on from; name another folder "
                "(-o), or replace it with --force"
            )
        if not self.writes:
            return checkpoint
        if not checkpoint:
            self.clear()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            for left in (*self.path.glob(_HALF), *(self.path / _CHECKPOINTS).glob(_HALF)):
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        except OSError as error:
            raise self._cannot_write(error) from None
        return checkpoint

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Add a checkpoint.

        Raises:
            CheckpointError: it cannot be written.
        """
        if self.writes:
            save_checkpoint(self.path / _CHECKPOINTS, checkpoint, _KEEP)

    def sound_checkpoint(self, note: Callable[[str], None]) -> Checkpoint:
        """The newest checkpoint to which a run may go back; later ones are removed.

        Raises:
            CheckpointError: none is whole.
        """
        folder = self.path / _CHECKPOINTS
        checkpoint = newest_checkpoint(folder, note, sound=True)
        if checkpoint is None:
            raise CheckpointError(f"{folder}: no checkpoint to go back to is whole")
        if self.writes:
            remove_after(folder, checkpoint.step)
        return checkpoint

    def save_model(self, name: str, prepared: Prepared, facts: dict[str, Any]) -> None:
        """Write `best` or `last`.

        Raises:
            BundleError: it cannot be written.
        """
        if self.writes:
            save_bundle(
                self.path / name, prepared.model, prepared.vocabulary, prepared.config, facts
            )

    def write_history(self, epochs: Sequence[Epoch]) -> None:
        """Write history.jsonl.

        Raises:
            CheckpointError: it cannot be written.
        """
        if self.writes:
            write_history(self.path, epochs)

    def _precious(self) -> list[Path]:
        """Models and states that runs and searches may have left here."""
        folders = [self.path / name for name in _MODELS]
        states = self.path / _CHECKPOINTS
        if any(states.glob("step-*")):  # else the run was killed when it wrote the first one
            folders.append(states)
        files = [self.path / name for name in (METADATA, SUMMARY, "study.db", "best.toml")]
        many = [*self.path.glob("seed-*"), *self.path.glob("trial-*")]
        return [p for p in (*folders, *map(set_aside, folders), *files, *many) if p.exists()]

    def _logs(self) -> list[Path]:
        """What tells of a run."""
        return [p for p in (self.path / name for name in (HISTORY, LOG, CURVES, TRACKED))
                if p.exists()]  # fmt: skip

    def _cannot_write(self, error: OSError) -> CheckpointError:
        return CheckpointError(f"{self.path}: cannot be written: {error.strerror or error}")


def refuse_unfit(config: Config, *, resume: bool) -> None:
    """Refuse options without effect, and to begin with a model that the run would replace.

    Raises:
        ConfigError: an option has no effect, or the model lies in the output folder.
    """
    if not resume:  # a run of an earlier version is resumed with the options that it had
        refuse_without_effect(config, "configuration")
    begins, output = Path(config.train.init_from), Path(config.output.dir)
    if config.train.init_from and _is_inside(begins, output):
        raise ConfigError(
            "train.init_from", [f"{begins} lies in {output}, which is replaced; name another (-o)"]
        )


def _is_inside(path: Path, folder: Path) -> bool:
    # Not Path.resolve, which raises where links form a loop.
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def identity(
    config: Config, digests: Mapping[str, str | None], device: str, processes: int
) -> dict[str, Any]:
    """What a run that goes on must have in common with the one before, by name.

    Args:
        config: as the corpus has resolved it.
        digests: of the corpora, by split.
        device: cpu or cuda.
        processes: that train together.
    """
    dumped = config.model_dump(mode="json")
    options = {"task": dumped.pop("task")}
    for section, values in dumped.items():
        options |= {f"{section}.{key}": value for key, value in values.items()}
    kept = {name: value for name, value in options.items() if name not in _FREE}
    corpora = {f"{split} corpus": digest for split, digest in digests.items()}
    for key, path in (("vectors", config.embeddings.vectors), ("model", config.train.init_from)):
        corpora[_CONTENT + key] = digest_of(Path(path)) if path else None
    return {**kept, **corpora, "kind of device": device, "number of processes": processes}


def facts_of(prepared: Prepared) -> dict[str, Any]:
    """What the model is made of, for its metadata."""
    corpus = prepared.corpus
    splits = {"train": corpus.train, "dev": corpus.dev, "test": corpus.test}
    return {
        "data": {
            name: {
                "file": split.path,
                "sentences": len(split.sentences),
                "tokens": split.tokens,
                "scheme": split.scheme,
                "sha256": digest_of(Path(split.path)),
            }
            for name, split in splits.items()
            if split
        },
        "labels": sorted(corpus.train.labels()) if corpus.scheme else [],
        "classes": sorted(corpus.train.classes()) if prepared.vocabulary.classes else [],
    }


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs, each in words."""
    found = []
    for name in sorted(before.keys() & now.keys()):  # a later tagkit has further options
        old, new = before[name], now[name]
        if old != new:
            other = name.endswith(" corpus") or name.startswith("content of ")
            found.append(
                f"another {name.removeprefix('content of ')}"
                if other
                else f"{name} = {clipped(repr(old))}, not {clipped(repr(new))}"
            )
    return found
