"""The trials of a search for good options: what each was, and what the search ends with."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tagkit.config import Config


@dataclass(frozen=True, slots=True)
class Trial:
    """One model of a search.

    Attributes:
        number: from 1.
        values: of the options that are searched, by dotted name.
        dev: the best epoch's score on dev, 0 to 1; of one that was given up its last one's, of one
            that failed None.
        state: "done", "given up" or "failed".
        seconds: that it took.
    """

    number: int
    values: Mapping[str, Any]
    dev: float | None
    state: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Tuned:
    """What a search ends with.

    Attributes:
        trials: all that have ended, those of earlier runs too.
        best: the one with the highest score on dev of those that are done, the first of those that
            have it.
        config: its configuration, as in `best.toml`.
        folder: of the search.
    """

    trials: tuple[Trial, ...]
    best: Trial
    config: Config
    folder: Path


class TuneListener:
    """Told what happens during a search; this one is silent."""

    def on_trial(self, trial: Trial, *, is_best: bool) -> None:
        """A trial has ended."""

    def on_note(self, text: str) -> None:
        """Something that a person should know, in a sentence."""
