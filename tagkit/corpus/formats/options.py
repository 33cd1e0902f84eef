"""How a file is to be read, and what its reader reports besides its records."""

from collections.abc import Callable
from dataclasses import dataclass

from tagkit.config import DataConfig
from tagkit.corpus.formats.columns.layout import Layout
from tagkit.corpus.formats.source import Source
from tagkit.errors import FormatError
from tagkit.text.records import Document, Sentence

Item = Sentence | Document


def silent(_: str) -> None:
    """Hears a note and does nothing."""


def no_layout(_: Layout) -> None:
    """Ignores where things are in a file's lines."""


def source_of(path: str, data: DataConfig) -> Source:
    """A file, a folder or standard input, to be read as a configuration says."""
    return Source(path, data.encoding, data.max_line_chars)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the readers of all formats are given.

    Attributes:
        data: the configuration of the corpus.
        with_tags: whether tags are wanted; without, column files need none.
        all_features: whether all that words have beside their tags is wanted as features, rather
            than the columns that the configuration names.
        with_text: whether the text behind a sentence's words is wanted, where a format knows it.
        whole: whether a document is one sequence of tokens, however many sentences it has.
        note: told, in a sentence, what the records that are read cannot hold.
        on_layout: given where things are in the lines of a column file, once, before its records.
        on_error: told of each line that cannot be read, which is then passed over; where it is
            None, the first such line is raised.
    """

    data: DataConfig
    with_tags: bool = True
    all_features: bool = False
    with_text: bool = False
    whole: bool = False
    note: Callable[[str], None] = silent
    on_layout: Callable[[Layout], None] = no_layout
    on_error: Callable[[FormatError], None] | None = None

    def refuse(self, source: str, line: int, problem: str) -> None:
        """Raise what is wrong with a line, or tell of it.

        Raises:
            FormatError: nobody is there to be told.
        """
        error = FormatError(source, line, problem)
        if self.on_error is None:
            raise error
        self.on_error(error)
