r"""Lines of column files as they are on disk: ends, blanks, byte order marks.

Nothing of it hinders tagkit, which reads all of it. Other programs stumble: a CR at the line's end
becomes a part of the tag (`O\r`), a byte order mark a part of the first word.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tagkit.corpus.lint.findings import Severity
from tagkit.corpus.source.decoding import ByteFacts
from tagkit.corpus.source.layout import BLANK


@dataclass(frozen=True, slots=True)
class Oddity:
    """One kind of odd lines.

    Attributes:
        severity: of a finding.
        said: of such lines, behind their number; of a single line where it is one of the file.
        mended: what a repair says that it did; empty where a person has to decide.
        holds: whether a line without its line feed is one; None where the bytes of the file say so.
    """

    severity: Severity
    said: str
    mended: str
    holds: Callable[[str], bool] | None = None


ODDITIES: Mapping[str, Oddity] = {
    "byte-order-mark": Oddity(
        "note", "begins with a byte order mark", "left out the byte order mark"
    ),
    "crlf": Oddity(
        "note", "with the line end of Windows (CRLF)", "ended lines with LF alone",
        lambda line: line.endswith("\r"),
    ),
    "cr-inside": Oddity(
        "warning", "with a carriage return inside (the line end of an old Mac?)", "",
        lambda line: "\r" in line.rstrip("\r"),
    ),
    "blank-separator": Oddity(
        "note", "between sentences with nothing but blanks or tabs",
        "left out blanks in lines between sentences",
        lambda line: not line.strip(BLANK) and bool(line.strip("\r")),
    ),
    "trailing-blank": Oddity(
        "note", "with blanks or tabs at the end", "left out blanks at the end of lines",
        lambda line: line.rstrip("\r").endswith((" ", "\t")) and bool(line.strip(BLANK)),
    ),
    "last-line": Oddity("note", "the last line has no line end", "ended the last line"),
}  # fmt: skip


def oddities_of(line: str) -> list[str]:
    """The kinds of odd lines that a line is of."""
    return [kind for kind, odd in ODDITIES.items() if odd.holds and odd.holds(line)]


class OddLines:
    """Numbers of odd lines by kind, gathered while a file is read for its sentences.

    Attributes:
        last: number of the last line that was seen.
    """

    def __init__(self) -> None:
        """No line has been seen yet."""
        self.last = 0
        self._found: dict[str, list[int]] = {}

    def see(self, lines: Sequence[str]) -> None:
        """Take note of the next lines, without their line feeds."""
        # Numbers are those of the whole file: a reader hands out its lines piece by piece.
        for number, line in enumerate(lines, self.last + 1):
            # Most lines are plain tokens: one look at the last character settles these.
            if line and (line[-1] in BLANK or "\r" in line):
                for kind in oddities_of(line):
                    self._found.setdefault(kind, []).append(number)
        self.last += len(lines)

    def found(self, facts: ByteFacts) -> dict[str, list[int]]:
        """The numbers of the lines of each kind, of a file that has been read to its end."""
        found = {kind: [*self._found.get(kind, ())] for kind in ODDITIES}
        if facts.has_mark:
            found["byte-order-mark"] = [1]
        if not facts.ends_last_line:
            found["last-line"] = [self.last]
            # Its carriage return stands alone.
            found["crlf"] = [number for number in found["crlf"] if number != self.last]
        return found
