r"""Lines of column files as they are on disk: ends, blanks, byte order marks; a wrong encoding.

Nothing of it hinders tagkit, which reads all of it. Other programs stumble: a CR at the line's end
becomes a part of the tag (`O\r`), a byte order mark a part of the first word.
"""

from collections.abc import Callable, Iterator, Sequence

from tagkit.corpus.lint.findings import CorpusFinding, Severity
from tagkit.corpus.source.decoding import ByteFacts
from tagkit.corpus.source.layout import BLANK
from tagkit.wording import plural

# Kind, severity, what such lines are like, whether a line is one.
_ODD: tuple[tuple[str, Severity, str, Callable[[str], bool]], ...] = (
    ("crlf", "note", "with the line end of Windows (CRLF)",
     lambda line: line.endswith("\r")),
    ("cr-inside", "warning", "with a carriage return inside (the line end of an old Mac?)",
     lambda line: "\r" in line.rstrip("\r")),
    ("blank-separator", "note", "between sentences with nothing but blanks or tabs",
     lambda line: not line.strip(BLANK) and bool(line.strip("\r"))),
    ("trailing-blank", "note", "with blanks or tabs at the end",
     lambda line: line.rstrip("\r").endswith((" ", "\t")) and bool(line.strip(BLANK))),
)  # fmt: skip


class LineEnds:
    """Numbers of odd lines by kind, gathered while a file is read for its sentences.

    Attributes:
        odd: numbers of lines, from 1, by kind.
        last: number of the last line that was seen.
    """

    def __init__(self) -> None:
        """No line has been seen yet."""
        self.odd: dict[str, list[int]] = {}
        self.last = 0

    def see(self, lines: Sequence[str]) -> None:
        """Take note of the next lines, without their line feeds."""
        # Numbers are those of the whole file: a reader hands out its lines piece by piece.
        for number, line in enumerate(lines, self.last + 1):
            # Most lines are plain tokens: one look at the last character settles these.
            if line and (line[-1] in BLANK or "\r" in line):
                for kind, _, _, holds in _ODD:
                    if holds(line):
                        self.odd.setdefault(kind, []).append(number)
        self.last += len(lines)


def check_lines(path: str, seen: LineEnds, facts: ByteFacts) -> Iterator[CorpusFinding]:
    """Line ends, blanks and the byte order mark of a column file that has been read to its end."""
    if facts.has_mark:
        message = "begins with a byte order mark"
        yield CorpusFinding("note", "byte-order-mark", path, message, 1, (1,))
    for kind, severity, what, _ in _ODD:
        found = seen.odd.get(kind, [])
        if kind == "crlf" and not facts.ends_last_line:  # its carriage return stands alone
            found = [number for number in found if number != seen.last]
        if found:
            message = f"{plural(len(found), 'line')} {what}"
            yield CorpusFinding(severity, kind, path, message, len(found), tuple(found))
    if not facts.ends_last_line:
        message = "the last line has no line end"
        yield CorpusFinding("note", "last-line", path, message, 1, (seen.last,))


def check_encoding(path: str, encoding: str, facts: ByteFacts) -> Iterator[CorpusFinding]:
    """Whether a file that is read in another encoding is UTF-8, which hardly happens by chance."""
    if facts.is_other_utf_8:
        message = f"it is read in {encoding}, and all of it is UTF-8 too: is that its encoding?"
        yield CorpusFinding("warning", "encoding", path, message)
