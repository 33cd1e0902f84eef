"""A language model of bigram counts, over words, characters, or bytes."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from tagkit.nn.generation.step import State, StepOutput

PAD, UNKNOWN, END = 0, 1, 2
TEXT = "the cat sat\nthe dog sat\nthe cat ran\na dog ran off\n"


class ToyReader:
    """Counts how often a unit follows another; its state is the number of units it has read."""

    def __init__(
        self,
        text: str = TEXT,
        unit: Literal["word", "character", "byte"] = "word",
        *,
        halt: bool = False,
        spans_lines: bool = True,
    ) -> None:
        self.device = torch.device("cpu")
        self.unit = unit
        self.end, self.unknown, self.banned = END, UNKNOWN, (PAD,)
        self.has_halt, self.spans_lines = halt, spans_lines
        self.delimiter: int | None = None
        self.counts_prefix = True
        lines = text.splitlines()
        found = dict.fromkeys(each for line in lines for each in self._split(line))
        self.units: list[str | bytes] = ["<pad>", "<unk>", "</s>", *found]
        self.number = {each: at for at, each in enumerate(self.units)}
        self.vocabulary_size = len(self.units)
        # One for each pair that was never seen, so that nothing is impossible.
        counts = torch.full((self.vocabulary_size,) * 2, 0.05, dtype=torch.float64)
        before = END
        for line in lines:
            for after in [*self.cut(line), END]:
                counts[before, after] += 1
                before = after
        self.log_probs = (counts / counts.sum(1, keepdim=True)).log()
        self.read_units = 0  # in all steps, for tests

    def _split(self, text: str) -> list[str | bytes]:
        if self.unit == "word":
            return [*text.split()]
        if self.unit == "character":
            return [*text]
        return [bytes([byte]) for byte in text.encode()]

    def cut(self, text: str) -> list[int]:
        units: list[int] = []
        for number, line in enumerate(text.split("\n")):
            units += [END] * (number > 0)
            units += [self.number.get(each, UNKNOWN) for each in self._split(line)]
        return units

    def text(self, ids: Sequence[int]) -> str:
        found = [b"\n" if id == END else self.units[id] for id in ids]
        if self.unit == "byte":
            parts = [each if isinstance(each, bytes) else each.encode() for each in found]
            return b"".join(parts).decode("utf-8", "replace")
        parts = [each.decode() if isinstance(each, bytes) else each for each in found]
        if self.unit == "character":
            return "".join(parts)
        return " ".join(parts).replace(" \n", "\n").replace("\n ", "\n")

    def begin(self) -> State:
        return (torch.zeros(1, 1, 1),)

    def read(self, ids: Tensor, state: State) -> State:
        assert isinstance(state, tuple)
        (count,) = state
        assert isinstance(count, Tensor)
        return (count + ids.shape[1],)

    def step(self, ids: Tensor, state: State, /) -> StepOutput:
        state = self.read(ids.unsqueeze(1), state)
        assert isinstance(state, tuple)
        (count,) = state
        assert isinstance(count, Tensor)
        assert count.shape == (1, len(ids), 1)
        self.read_units += len(ids)
        # The longer the text, the more likely it halts.
        halt = count[0, :, 0].double() / (count[0, :, 0].double() + 6) if self.has_halt else None
        return StepOutput(self.log_probs[ids], state, halt)
