"""How a file is to be read, and what its reader returns and reports."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tagkit.config import DataConfig
from tagkit.corpus.source.decoding import ByteFacts
from tagkit.corpus.source.digests import Digests
from tagkit.corpus.source.layout import Layout
from tagkit.corpus.source.source import Source, read_text
from tagkit.errors import FormatError
from tagkit.text.notation import USUAL, Notation
from tagkit.text.records import Document, Sentence

Item = Sentence | Document


_LOGGER = logging.getLogger("tagkit")
_LOGGER.addHandler(logging.NullHandler())  # so that Python shows nothing where nobody listens


def log_note(text: str) -> None:
    """Hands a note to `logging`: what public functions do with notes unless they are told."""
    _LOGGER.info("%s", text)


def silent(_: str) -> None:
    """Ignores a note."""


def source_of(path: str, data: DataConfig, digests: Digests | None = None) -> Source:
    """A file, a folder or standard input, to be read as a configuration says."""
    return Source(path, data.encoding, data.max_line_chars, digests)


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """Options of the readers of all formats.

    Attributes:
        data: the configuration of the corpus.
        with_tags: whether tags are wanted; without, column files need none.
        all_features: whether all that words have beside their tags is wanted as features, rather
            than the columns that the configuration names.
        with_text: whether the text that a sentence's words come from is wanted, where a format
            knows it.
        with_refused: whether records that an annotator refused are wanted: they are no examples to
            learn from, but texts to predict.
        with_extra: whether what records have beside text and annotation, such as an id, is wanted.
        with_probabilities: whether the probabilities of spans and of tags are wanted, where a
            record of JSON Lines has them; those of a sentence's tags are in `columns`.
        blank_labels: whether a text of a table may have a blank label, as a model that found none
            leaves it.
        own_columns: whether a table may be one that tagkit wrote, whose columns `text` and `label`
            then stand for those that the configuration has of the corpus.
        require_keys: whether a key of a tag column, such as NER of MISC, must be there for some
            token: gold labels of which there is none are a misspelt key.
        column: name of the tag column that is wanted of tokens that have tags of several, in JSON
            Lines; None for the first one.
        whole: whether a document is one sequence of tokens, however many sentences it has.
        compared_with: path of the gold labels that predictions are compared with. Of a folder of
            files with names, texts that have labels there are wanted alone. Empty for all.
        digests: which take note of all that is read, of further files too.
        note: called with a sentence on what the records cannot hold.
        on_error: called with each line that cannot be read, which is then skipped; where it is
            None, the first such line is raised.
    """

    # All flags are off or neutral by default, as in training; convert and check ask for more.
    data: DataConfig
    with_tags: bool = True
    all_features: bool = False
    with_text: bool = False
    with_refused: bool = False
    with_extra: bool = False
    with_probabilities: bool = False
    blank_labels: bool = False
    own_columns: bool = False
    require_keys: bool = False
    column: str | None = None
    whole: bool = False
    compared_with: str = ""
    digests: Digests | None = None
    note: Callable[[str], None] = silent
    on_error: Callable[[FormatError], None] | None = None

    def refuse(self, source: str, line: int, problem: str) -> None:
        """Raise what is wrong with a line, or report it to `on_error`.

        Raises:
            FormatError: there is no `on_error`.
        """
        # One way for all readers, so that `check` can list every broken line of any format.
        error = FormatError(source, line, problem)
        if self.on_error is None:
            raise error
        self.on_error(error)

    def text_of(
        self, path: str, facts: ByteFacts | None = None, *, may_be_blank: bool = False
    ) -> str | None:
        """The whole of a file that holds one text; None where it is refused.

        Args:
            path: of the file.
            facts: where what its bytes show is kept.
            may_be_blank: whether white space alone is a text too.

        Raises:
            DataError: the file cannot be read.
            FormatError: it is blank or not of this encoding, and there is no `on_error`.
        """
        try:
            text = read_text(
                path, self.data.encoding, self.data.max_line_chars, facts, self.digests
            )
        except FormatError as error:  # other texts of the folder may be as they should
            self.refuse(error.source, error.line, error.problem)
            return None
        if not may_be_blank and not text.strip():
            self.refuse(path, 1, "expected a text, found a blank file")
            return None
        return text


@dataclass(frozen=True, slots=True)
class ReadRecords:
    """What a reader returns.

    Both come from one pass over the source: a pipe could not be read again for the layout.

    Attributes:
        items: the records, in order, as they are read.
        layout: where things are in the lines of a column file; None for other formats, and where no
            line has a token.
        notation: that the tags were read in; those of the records are in the usual one.
    """

    items: Iterator[Item]
    layout: Layout | None = None
    notation: Notation = USUAL
