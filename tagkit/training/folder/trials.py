"""The trials of a search, its result, and the files that it adds to a folder.

    study.db     Optuna's database of all trials, and SQLite's files beside it
    best.toml    the best configuration, complete
    trial-N/     the run of the trial that is being trained; removed at its end

This module does not import Optuna: a run must recognise the files of a search where Optuna is not
installed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tagkit.config import Config
from tagkit.text.json_text import INTERNAL, Record

STUDY, BEST_CONFIG = "study.db", "best.toml"
# SQLite's rollback journal, and its log and index of write-ahead mode; a kill leaves them behind.
STUDY_FILES = (STUDY, *(f"{STUDY}-{end}" for end in ("journal", "wal", "shm")))
STUDY_NAME = "tagkit"  # of the study in its database
TRIAL_RUN = re.compile(r"trial-[0-9]+")  # folders that are runs of their own


def trial_folder(number: int) -> str:
    """The name of the folder in which a trial, counted from 1, is trained."""
    return f"trial-{number}"


@dataclass(frozen=True, slots=True)
class Trial(Record):
    """One model of a search.

    Attributes:
        number: from 1.
        values: of the searched options, by dotted name.
        dev: score on dev by `train.metric`: the best epoch's, or, if the trial was stopped early,
            the last epoch's. None if it failed.
        state: "done", "given up" (stopped early by the pruner) or "failed".
        seconds: duration.
    """

    number: int
    values: Mapping[str, Any]
    dev: float | None
    state: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Tuned(Record):
    """The result of a search.

    Attributes:
        trials: all that have ended, including those of earlier runs of the command.
        best: the trial with the best score on dev among those that are done; of several with
            the same score, the first.
        config: its configuration, as in `best.toml`.
        folder: of the search.
    """

    trials: tuple[Trial, ...]
    best: Trial
    config: Config = field(metadata={INTERNAL: True})
    folder: Path


class TuneListener:
    """Callbacks of a search; this one does nothing."""

    def on_start(self) -> None:
        """Called once, before the first trial."""

    def on_measure(self, name: str) -> None:
        """Called once it is known what the score on dev is called, such as "F1".

        That depends on the labels of the corpora: for a new search it is before the first step.
        """

    def on_trial(self, trial: Trial, *, is_best: bool) -> None:
        """Called when a trial has ended."""

    def on_note(self, text: str) -> None:
        """Called with a message for the user, one sentence."""
