"""A trained language model, ready to read texts and to predict units."""

from collections.abc import Sequence
from itertools import chain
from typing import cast

import torch
from torch import Tensor

from tagkit.config import DataConfig
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.language.language_network import Carried, LanguageModel
from tagkit.models.language.language_scoring import units_with
from tagkit.models.language.text_scoring import units_of
from tagkit.nn.generation.path_score import NOT_ASKED
from tagkit.nn.generation.step import State, StepOutput
from tagkit.nn.softmax.halting import HaltingSoftmax
from tagkit.text.pairs import DELIMITER
from tagkit.text.units import END, UNKNOWN


class Reader:
    """A language model as `LanguageModelReader` describes it."""

    unknown = 0

    def __init__(self, model: LanguageModel, vocabulary: Vocabulary, data: DataConfig) -> None:
        """`model` is on its device, has the units of the vocabulary, and was trained on `data`."""
        self.model = model.eval()
        self.device = next(model.parameters()).device
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

    def begin(self) -> State:
        """The state of one row before the first input."""
        return self.model.zero_state(1)

    @torch.inference_mode()
    def read(self, ids: Tensor, state: State) -> State:
        """The state after further inputs, (rows, time) int64."""
        _, after = self.model.read_on(ids, cast(Carried, state))
        return after

    @torch.inference_mode()
    def step(self, ids: Tensor, state: State, /) -> StepOutput:
        """Read one unit in each row, and predict the next."""
        states, after = self.model.read_on(ids[:, None], cast(Carried, state))
        last = states[:, 0]
        return StepOutput(self.model.log_probs(last), after, self.model.halt_probs(last))

    @torch.inference_mode()
    def score(self, ids: Tensor, wanted: Tensor, state: State, /) -> tuple[Tensor, State]:
        """Read units, (rows, time), and say how probable those that follow are, (rows,)."""
        states, after = self.model.read_on(ids, cast(Carried, state))
        asked = wanted != NOT_ASKED
        found = torch.zeros(wanted.shape, dtype=torch.float64, device=wanted.device)
        found[asked] = self.model.log_prob_of(states[asked], wanted[asked]).double()
        return found.sum(1), after
