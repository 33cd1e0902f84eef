"""How a format is recognised: what its row of the table says of the beginning of a source.

A look is a function of the `Beginning` that says how sure it is, and what shows it. The surest wins
(`recognition`). The steps below are all that orders the formats; the name of a file adds `NAME` to
the format that its ending tells, and so decides between neighbouring steps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar, cast

_Found = TypeVar("_Found")

TABLE = 25  # rows are tokens or sentences, whatever a header and the name of the file say
CERTAIN = 20  # nothing else looks so: a record of JSON, tags of spans in a column
FORM = 17  # each line, or a header, has the form of this format
SHAPE = 12  # the same, of a form that texts may have as well
LIKELY = 9  # rows of columns, as sentences are
NAME = 7  # the ending of the name
POSSIBLE = 6  # such rows, where nothing parts them into sentences
FAINT = 2  # all but a few lines have the form; rows that would rather be another format's
TEXT = 1  # any line is raw text

_ODD_LINES = 10  # one line of so many may be broken, and its format is still recognised


@dataclass(frozen=True, slots=True)
class Sureness:
    """How sure a look is that a source is in its format.

    Attributes:
        score: one of the steps above; 0 where nothing shows the format, and its name alone may.
        why: what was found, in a few words, for people.
        in_prose: whether raw text may look so too: where that is expected, it counts for nothing.
    """

    score: int = 0
    why: str = ""
    in_prose: bool = False


NOTHING = Sureness()


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a source is recognised by.

    Attributes:
        path: of the file or folder.
        lines: the first ones of the file, without their line feeds.
        named: names of the formats that its ending tells.
        raw: whether raw text is expected.
        texts: whether each line is expected to be a text, however short.
    """

    path: Path
    lines: Sequence[str] = ()
    named: Sequence[str] = ()
    raw: bool = False
    texts: bool = False
    _known: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def is_table(self) -> bool:
        """Whether its name is that of a table."""
        return any(name in ("csv", "tsv") for name in self.named)

    def once(self, find: Callable[[Sequence[str]], _Found]) -> _Found:
        """What a function finds in the lines, which several looks ask for."""
        if find not in self._known:
            self._known[find] = find(self.lines)
        return cast(_Found, self._known[find])


# None where it cannot be the format, whatever the file's name says.
Look = Callable[[Beginning], Sureness | None]


def each_line(matches: Callable[[str], object], why: str, *, in_prose: bool = False) -> Look:
    """The look of a format that each line shows by itself.

    Read as raw text, a file with a few broken lines would be refused, or its labels taken for
    words, and nothing would name the broken line.

    Args:
        matches: whether a line that is not blank has the form.
        why: what shows the format, for people.
        in_prose: whether lines of raw text may have it too.
    """

    def look(beginning: Beginning) -> Sureness:
        filled = [(n, line) for n, line in enumerate(beginning.lines, 1) if line.strip()]
        most = len(filled) // _ODD_LINES
        odd = [*islice((n for n, line in filled if not matches(line)), most + 1)]
        if not filled or len(odd) > most:
            return NOTHING
        if odd:
            return Sureness(FAINT, f"{why}, but for line {odd[0]:,}", in_prose)
        return Sureness(SHAPE if in_prose else FORM, why, in_prose)

    return look


def look_at_text(beginning: Beginning) -> Sureness:
    """Any line is raw text."""
    if any(line.strip() for line in beginning.lines):
        return Sureness(TEXT, "nothing in its lines looks like labels")
    return Sureness(TEXT, "its lines are blank" if beginning.lines else "it is empty")
