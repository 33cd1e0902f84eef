"""Lines of plain text as sentences of units, read from the disk whenever they are needed.

A file may be larger than memory: it is read once to count and to check it, and again by whoever
goes through its lines.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import overload

from tagkit.corpus.formats.source import Source, is_pipe, source_name
from tagkit.errors import DataError
from tagkit.text.records import Sentence
from tagkit.text.units import Cut


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file of plain text, and how it is read.

    Attributes:
        path: of the file; what gzip has packed is unpacked.
        encoding: of the text.
        max_line_chars: a longer line is refused.
        cut: a line -> its units.
    """

    path: str
    encoding: str
    max_line_chars: int
    cut: Cut

    def lines(self) -> Iterator[tuple[int, str]]:
        """Each line that is not blank, with its number, from 1.

        Raises:
            DataError: the file cannot be read.
            FormatError: bytes that are not of its encoding.
        """
        for number, line in Source(self.path, self.encoding, self.max_line_chars).numbered():
            if line.strip():
                yield number, line


class UnitLines(Sequence[Sentence]):
    """Lines of a file from one to another, each a sentence whose words are its units.

    Attributes:
        units: number of all units, the ends of lines not counted.
        characters: number of all characters (code points), one for each end of a line included.
    """

    def __init__(self, file: TextFile, start: int = 0, stop: int | None = None) -> None:
        """The lines from `start` on and before `stop`, counted without blank ones; None for all.

        Raises:
            DataError: the file cannot be read a second time, or has no such lines.
            FormatError: bytes that are not of its encoding.
        """
        if is_pipe(file.path):
            raise DataError(
                f"{source_name(file.path)}: a language model reads its text several times: "
                "expected a file, found none that can be read again"
            )
        self.file = file
        self._start, self._stop = start, stop
        self._count = self.units = self.characters = 0
        for line in self._lines():
            self._count += 1
            self.units += len(file.cut(line))
            self.characters += len(line) + 1
        if not self._count:
            raise DataError(f"{source_name(file.path)}: expected lines of text, found none")

    def _lines(self) -> Iterator[str]:
        numbered = islice(self.file.lines(), self._start, self._stop)
        return (line for _, line in numbered)

    def __len__(self) -> int:
        """Number of lines."""
        return self._count

    def __iter__(self) -> Iterator[Sentence]:
        """The lines in their order."""
        numbered = islice(self.file.lines(), self._start, self._stop)
        return (Sentence(self.file.cut(line), lines=(number,)) for number, line in numbered)

    @overload
    def __getitem__(self, place: int) -> Sentence: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Sentence, ...]: ...

    def __getitem__(self, place: int | slice) -> Sentence | tuple[Sentence, ...]:
        """A line, or some of them; the file is read from its beginning."""
        if isinstance(place, slice):
            wanted = set(range(len(self))[place])
            found = {number: each for number, each in enumerate(self) if number in wanted}
            return tuple(found[number] for number in range(len(self))[place])
        number = range(len(self))[place]  # raises IndexError, and counts from the end below 0
        return next(islice(self, number, None))
