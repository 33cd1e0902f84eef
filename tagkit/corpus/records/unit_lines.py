"""Lines of plain text as sentences of units, cut whenever they are needed.

A file may be larger than memory: its lines are read and cut again by whoever goes through them.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import overload

from tagkit.corpus.source.text_lines import TextLines
from tagkit.text.records import Sentence
from tagkit.text.units import Units


class UnitLines(Sequence[Sentence]):
    """Lines of a text from one to another, each a sentence whose words are its units.

    Attributes:
        lines: the whole text.
        cut_by: the units.
        classes: of the whole text, one for each line; empty where lines have none.
    """

    def __init__(
        self,
        lines: TextLines,
        cut_by: Units,
        start: int = 0,
        stop: int | None = None,
        classes: Sequence[str] = (),
    ) -> None:
        """The lines from `start` on and before `stop`; None for all."""
        self.lines, self.cut_by, self.classes = lines, cut_by, classes
        self._start, self._stop = start, len(lines) if stop is None else stop

    # Counted when they are asked for: units that byte pairs of another model replace never are.
    @cached_property
    def units(self) -> int:
        """Number of all units, the ends of lines not counted."""
        return sum(len(self.cut_by.strings(line)) for line in self.texts())

    @cached_property
    def characters(self) -> int:
        """Number of all characters (code points), one for each end of a line included."""
        return sum(len(line) + 1 for line in self.texts())

    @property
    def own_classes(self) -> Sequence[str]:
        """The class of each line; empty where lines have none."""
        return self.classes[self._start : self._stop]

    def files(self) -> list["UnitLines"]:
        """The lines of each file by themselves."""
        return [
            UnitLines(self.lines, self.cut_by, start, stop, self.classes)
            for start, stop in self.lines.files(self._start, self._stop)
        ]

    def cut_again(self, cut_by: Units) -> "UnitLines":
        """The same lines in other units."""
        return UnitLines(self.lines, cut_by, self._start, self._stop, self.classes)

    def texts(self) -> Iterator[str]:
        """The lines as they are written."""
        return self.lines.lines(self._start, self._stop)

    def __len__(self) -> int:
        """Number of lines."""
        return self._stop - self._start

    def __iter__(self) -> Iterator[Sentence]:
        """The lines in their order."""
        return (
            self._sentence(number, line) for number, line in enumerate(self.texts(), self._start)
        )

    def _sentence(self, number: int, line: str) -> Sentence:
        classes = self.classes[number : number + 1]
        return Sentence(tuple(self.cut_by.strings(line)), labels=tuple(classes))

    @overload
    def __getitem__(self, place: int) -> Sentence: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Sentence, ...]: ...

    def __getitem__(self, place: int | slice) -> Sentence | tuple[Sentence, ...]:
        """A line, or some of them."""
        if isinstance(place, slice):
            return tuple(self[number] for number in range(len(self))[place])
        number = range(len(self))[place]  # raises IndexError, and counts from the end below 0
        return self._sentence(self._start + number, self.lines[self._start + number])
