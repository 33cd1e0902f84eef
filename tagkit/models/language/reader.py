"""A trained language model, ready to read texts and to predict units."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import cast

import torch
from torch import Tensor

from tagkit.config import DataConfig
from tagkit.errors import DataError
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.language.language_network import Carried, LanguageModel
from tagkit.models.language.language_scoring import units_with
from tagkit.models.language.text_scoring import units_of
from tagkit.nn.generation.path_score import NOT_ASKED
from tagkit.nn.generation.step import State, StepOutput
from tagkit.nn.softmax.halting import HaltingSoftmax
from tagkit.nn.softmax.length import ended
from tagkit.text.pairs import DELIMITER
from tagkit.text.units import END, UNKNOWN
from tagkit.wording import clipped, listed


class Reader:
    """A language model as `LanguageModelReader` describes it."""

    unknown = 0

    def __init__(
        self,
        model: LanguageModel,
        vocabulary: Vocabulary,
        data: DataConfig,
        label: str | None = None,
    ) -> None:
        """Read with a model that is on its device.

        Args:
            model: to read with.
            vocabulary: of the model.
            data: as it was trained.
            label: of the texts, of a model that is given one.

        Raises:
            DataError: a label is missing, unknown, or of no use.
        """
        self.model = model.eval()
        self.device = next(model.parameters()).device
        self.classes = vocabulary.classes
        number = None
        if label is not None or self.classes:
            number = torch.tensor([self._number_of(label)], device=self.device)
        with torch.no_grad():
            self._known = model.known(number, 1)  # (1, values)
        self.units = (UNKNOWN, *vocabulary.words)
        self.vocabulary_size = len(self.units)
        self.spans_lines = data.context == "stream"
        self._numbers = {unit: number for number, unit in enumerate(self.units)}
        # A word that is written like it in a text is an unknown one.
        self.end = self._numbers.pop(END)
        self.delimiter = self._numbers[DELIMITER] if data.pairs else None
        self.counts_prefix = data.loss_on == "all"
        self._cut_by = units_of(vocabulary)
        self.has_halt = isinstance(model.head, HaltingSoftmax)
        # No text has a line end within a line, and no pair a tab but for its delimiter.
        unwanted = units_with(vocabulary, "\n\r" + (DELIMITER if data.pairs else ""))
        banned = [number for number in unwanted if number != self.delimiter]
        if self.has_halt:  # the unit of the end is its first input, and never comes after another
            banned.append(self.end)
        self.banned = tuple(banned)

    def cut(self, text: str) -> list[int]:
        """The units of a text; each line feed in it is the end of a line."""
        lines = [
            [self._numbers.get(one, 0) for one in self._cut_by.strings(line)]
            for line in text.split("\n")
        ]
        ended = [[*line, self.end] for line in lines[:-1]]
        return [*chain.from_iterable(ended), *lines[-1]]

    def text(self, ids: Sequence[int]) -> str:
        """The text of units, the end of a line as a line feed."""
        lines: list[list[str]] = [[]]
        for number in ids:
            if number == self.end:
                lines.append([])
            else:
                lines[-1].append(self.units[number])
        return "\n".join(map(self._cut_by.join, lines))

    def _number_of(self, label: str | None) -> int:
        if label in self.classes:
            return self.classes.index(label)
        if not self.classes:
            raise DataError("label=...: the model was trained without labels; leave it out")
        found = "none" if label is None else clipped(repr(label))
        raise DataError(
            f"label=...: expected that of the texts, one of {listed(self.classes)}; found {found}"
        )

    @torch.inference_mode()
    def begin(self) -> State:
        """The state of one row before the first input: of layers, and units that remain."""
        return self._begin(1), None

    def _begin(self, rows: int) -> Carried:
        begun = self.model.begin(self._known.expand(rows, -1))
        return self.model.zero_state(rows) if begun is None else begun

    @torch.inference_mode()
    def read(self, ids: Tensor, state: State) -> State:
        """The state after further inputs, (rows, time) int64."""
        return self._read_on(ids, state)[1]

    def _read_on(self, ids: Tensor, state: State) -> tuple[Tensor, State]:
        """States after inputs, (rows, time, hidden), and what to go on from."""
        assert isinstance(state, tuple)
        carried, remaining = state
        rows, steps = ids.shape
        left = ids[:, 0] if remaining is None else cast(Tensor, remaining)[0, :, 0]
        given = self.model.given(self._known.expand(rows, -1), left, steps)
        states, after = self.model.read_on(ids, cast(Carried, carried), given)
        return states, (after, None if remaining is None else cast(Tensor, remaining) - steps)

    @torch.inference_mode()
    def step(self, ids: Tensor, state: State, /) -> StepOutput:
        """Read one unit in each row, and predict the next."""
        states, after = self._read_on(ids[:, None], state)
        last = states[:, 0]
        return StepOutput(self.model.log_probs(last), after, self.model.halt_probs(last))

    @torch.inference_mode()
    def score(self, ids: Tensor, wanted: Tensor, state: State, /) -> tuple[Tensor, State]:
        """Read units, (rows, time), and say how probable those that follow are, (rows,)."""
        states, after = self._read_on(ids, state)
        asked = wanted != NOT_ASKED
        found = torch.zeros(wanted.shape, dtype=torch.float64, device=wanted.device)
        found[asked] = self.model.log_prob_of(states[asked], wanted[asked]).double()
        return found.sum(1), after


class LengthReader(Reader):
    """A language model whose lines end after a length, as `PlanningReader` describes it."""

    @torch.inference_mode()
    def length_log_probs(self, most: int) -> Tensor:
        """(most + 1,) log probability of each number of units of a line."""
        assert self.model.length is not None
        return self.model.length.log_probs(self._known, most)[0].double()

    @torch.inference_mode()
    def begin_lines(self, lengths: Tensor) -> State:
        """The state before the first input of lines of so many units, (rows,)."""
        return self._begin(len(lengths)), lengths.view(1, -1, 1)

    @torch.inference_mode()
    def step(self, ids: Tensor, state: State, /) -> StepOutput:
        """Read one unit in each row, and predict the next: the end where none remains."""
        assert isinstance(state, tuple)
        is_over = cast(Tensor, state[1])[0] <= 0
        output = super().step(ids, state)
        return replace(output, log_probs=ended(output.log_probs, is_over, self.end))


def reader_of(
    model: LanguageModel, vocabulary: Vocabulary, data: DataConfig, label: str | None = None
) -> Reader:
    """A language model, ready to read; arguments and errors as of `Reader`."""
    kind = Reader if model.length is None else LengthReader
    return kind(model, vocabulary, data, label)
