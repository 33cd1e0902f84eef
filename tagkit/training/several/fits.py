"""The trainings of a command that trains several models: seeds, sizes, folds or trials.

Each is a fit: one call of `train`, with a configuration of its own, in a folder of its own within
that of the command. What a command keeps of its fits is its table, which it writes after each, so
that those which have ended are not repeated.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from tagkit.config import Config, option_values, with_options
from tagkit.corpus.formats.folders.file_sets import digest_of_files
from tagkit.corpus.splits.splits import Corpus
from tagkit.errors import CheckpointError, ConfigError
from tagkit.text.json_text import plain
from tagkit.training.events.callbacks import Listener
from tagkit.training.folder.run_folder import RunFolder, discard_run
from tagkit.training.folder.run_identity import (
    differences,
    refuse_unreadable,
    with_former_defaults,
)
from tagkit.training.processes.launcher import is_alone
from tagkit.training.run_end import Trained
from tagkit.training.setup.language_models import load_contextual
from tagkit.training.setup.setup import resolve
from tagkit.training.trainer import device_of, train
from tagkit.wording import ANOTHER_FOLDER, ANOTHER_OR_FORCE


@dataclass(frozen=True, slots=True)
class Fits:
    """The trainings of a command, in its folder, which is locked.

    Attributes:
        what: the folder holds, as in "learning curve".
        folder: of the command.
        note: called with a message for the user.
        stop: once it is set, the current training ends.
    """

    what: str
    folder: RunFolder
    note: Callable[[str], None]
    stop: threading.Event | None

    def fit(
        self,
        name: str,
        config: Config,
        listener: Listener,
        *,
        resume: bool = False,
        corpus: Corpus | None = None,
    ) -> Trained:
        """Train in a folder of this name, which is listed as the command's own before.

        Raises:
            TagkitError: as `train` does.
        """
        self.folder.claim(f"{name}/")
        own = with_options(config, {"output.dir": str(self.folder.path / name)})
        return train(own, listener, resume=resume, force=not resume, stop=self.stop, corpus=corpus)

    def discard(self, name: str) -> None:
        """Remove the folder of a fit; with a foreign file in it all of it stays, with a note."""
        discard_run(self.folder.path / name, self.note)

    def open(self, config: Config, names: tuple[str, ...], *, resume: bool, force: bool) -> bool:
        """Make the folder ready; whether what is there is resumed.

        Args:
            config: of the fits; before anything is removed it is made sure that they can begin.
            names: of the command's own files, of which the first shows that the folder is one.
            resume: whether what is there is resumed.
            force: whether it is replaced.

        Raises:
            CheckpointError: it holds something else, or what is neither resumed nor replaced.
        """
        folder, found = self.folder.path, self.folder.contents().ours
        is_there = names[0] in found
        # A model of `tagkit train` must not be replaced, with `force` either.
        if found and not is_there:
            said = f"is not empty, and holds no {self.what}; {ANOTHER_FOLDER}"
            raise CheckpointError(f"{folder}: {said}")
        if is_there and not (resume or force):
            both = "resume=True continues it, force=True starts a new one"
            raise CheckpointError(f"{folder}: holds a {self.what}; {both}")
        is_resumed = is_there and resume
        self.folder.check(resume=is_resumed, force=force)
        if is_resumed:
            self.folder.repair()
            return True
        if is_there:
            check_beforehand(config)
        self.folder.clear()
        self.folder.claim(*names)
        return False

    def same_as_before(
        self,
        config: Config,
        before: Mapping[str, Any] | None,
        identity_of: Callable[[Config], dict[str, Any]],
    ) -> tuple[Config, dict[str, Any]]:
        """The options of the fits to come, and what they have in common with those before.

        Args:
            config: as it is given.
            before: what the fits there have in common, by name; None for a new folder.
            identity_of: the same of those to come.

        Raises:
            CheckpointError: they would have other options or corpora.
        """
        if before is not None:  # options left unset are as they were, of other defaults perhaps
            config = with_former_defaults(config, before)
        now: dict[str, Any] = plain(identity_of(config))
        if before is not None and (changed := differences(before, now)):
            had = f"the {self.what} there had {'; '.join(changed)}"
            raise CheckpointError(f"{self.folder.path}: {had}; {ANOTHER_OR_FORCE}")
        return config, now


def check_beforehand(config: Config) -> None:
    """Make sure that a training can begin, before its folder is cleared for several of them.

    A single run reads everything before it removes anything (`RunFolder.open`).

    Raises:
        TagkitError: it cannot, or it reads what lies in the folder that is replaced.
    """
    refuse_unreadable(config, resume=False)
    device_of(config)
    load_contextual(resolve(config).config, torch.device("cpu"))


def refuse_options(what: str, config: Config, problems: Mapping[str, str]) -> None:
    """Refuse a launcher of processes, and options that have no meaning in a command.

    Args:
        what: trains.
        config: of the models.
        problems: what to say where an option is set, by its dotted name.

    Raises:
        ConfigError: there is one.
    """
    if not is_alone():
        raise ConfigError(what, ["is one process; start it without a launcher"])
    values = option_values(config)
    for name, problem in problems.items():
        if values[name]:
            raise ConfigError(name, [problem])


def digests(files: Mapping[str, str]) -> dict[str, str | None]:
    """SHA-256 of files or sets of files, by name; None of an empty one.

    Raises:
        DataError: one does not exist or cannot be read.
    """
    return {name: digest_of_files(path) if path else None for name, path in files.items()}


def passing(listener: Any, names: Iterable[str]) -> Listener:
    """A listener of a training that calls these callbacks of a command's listener alone."""
    passed = Listener()
    for name in names:
        setattr(passed, name, getattr(listener, name))
    return passed
