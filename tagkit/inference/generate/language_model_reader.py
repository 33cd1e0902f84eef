"""A language model as generation and scoring see it: texts, units, and the model's steps."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from tagkit.nn.generation.step import State, StepOutput

# Units before a new one that decide how it is written: a character of UTF-8 has four bytes at most,
# and a unit at least one.
_CONTEXT = 4
# What decoders put in place of bytes that are no character.
_REPLACEMENT = "\ufffd"


class LanguageModelReader(Protocol):
    """A trained language model.

    Attributes:
        device: where its tensors are.
        vocabulary_size: number of units.
        end: id of the end of a line, which is also the model's first input.
        unknown: id of the unknown unit.
        banned: ids that no text has, such as padding or a line end within a line.
        has_halt: whether its steps give the probability that the text ends.
        spans_lines: whether it reads on from one line to the next; else each line by itself.
        delimiter: id of the unit between a prefix and its continuation; None where lines are no
            such pairs.
        counts_prefix: whether it has learnt to predict a prefix too; False of some pairs alone.
    """

    device: torch.device
    vocabulary_size: int
    end: int
    unknown: int
    banned: tuple[int, ...]
    has_halt: bool
    spans_lines: bool
    delimiter: int | None
    counts_prefix: bool

    def cut(self, text: str) -> list[int]:
        """The units of a text; each line feed in it is `end`, and nothing is added at its end."""

    def text(self, ids: Sequence[int]) -> str:
        r"""The text of units, `end` as a line feed.

        A unit changes nothing of what stands before it, but that bytes which are not yet a whole
        character may become one: until then they are one U+FFFD.
        """

    def begin(self) -> State:
        """The state of one row before the first input."""

    def read(self, ids: Tensor, state: State) -> State:
        """The state after further inputs, (rows, time) int64, at least one in each row."""

    def step(self, ids: Tensor, state: State, /) -> StepOutput:
        """Read one unit in each row, and predict the next."""


@runtime_checkable
class ScoringReader(LanguageModelReader, Protocol):
    """A language model that scores known units many at once; others are read step by step."""

    def score(self, ids: Tensor, wanted: Tensor, state: State, /) -> tuple[Tensor, State]:
        """As `nn.generation.path_score.PathScorer`; where it has a halt, `end` is halting."""


@runtime_checkable
class PlanningReader(ScoringReader, Protocol):
    """A language model that predicts the number of a line's units before the first of them.

    Its steps give the end once so many units are written, and never before.
    """

    def length_log_probs(self, most: int) -> Tensor:
        """(most + 1,) float64 log probability of each number of units of a line, from 0 on."""

    def begin_lines(self, lengths: Tensor) -> State:
        """The state before the first input of lines of so many units, (rows,) int64."""


class TextPieces:
    """The text of units as they come, each piece once it is final."""

    def __init__(self, reader: LanguageModelReader, before: Sequence[int]) -> None:
        """`before` has the units that the text continues."""
        self._reader = reader
        self._recent = [*before[-_CONTEXT:]]
        self._held = ""

    def add(self, unit: int) -> str:
        """What one more unit adds, without bytes that are not yet a whole character."""
        # Not the unit alone: a blank may stand between two words, and a character in two units.
        before = self._reader.text(self._recent).removesuffix(_REPLACEMENT)
        text = self._reader.text([*self._recent, unit])
        whole = text.removesuffix(_REPLACEMENT)
        self._held = text[len(whole) :]
        self._recent = [*self._recent, unit][-_CONTEXT:]
        return whole[len(before) :]

    def finish(self) -> str:
        """What was held back: U+FFFD for bytes that have not become a character."""
        held, self._held = self._held, ""
        return held
