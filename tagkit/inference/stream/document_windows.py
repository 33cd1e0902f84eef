"""Items of an input -> windows that are predicted together, none of which cuts a document.

Where the model reads documents, an item waits until its document ends, or the part of it that is
read as one sequence: `text/documents.py`. Without, no item waits.
"""

from collections.abc import Iterator
from typing import Generic, TypeVar

from tagkit.text.documents import DocumentParts
from tagkit.text.records import Sentence

_Item = TypeVar("_Item")


class DocumentWindows(Generic[_Item]):
    """Gathers items, and gives them back in windows of some words, each of at least one item."""

    def __init__(
        self, window_words: int, document_words: int, max_length: int, *, marked_only: bool = False
    ) -> None:
        """A window ends before it has more than `window_words`; the others as `DocumentParts`.

        With `document_words` of 0 each item is a document.
        """
        self._window_words = window_words
        self._parts = (
            DocumentParts(document_words, max_length, marked_only=marked_only)
            if document_words
            else None
        )
        self._window: list[_Item] = []
        self._words = 0  # of the window
        self._open: list[_Item] = []  # of a document that may go on
        self._open_words = 0

    @property
    def cut(self) -> bool:
        """Whether a document was longer than is read as one sequence."""
        return self._parts is not None and self._parts.cut

    def add(self, item: _Item, words: int, sentence: Sentence | None) -> Iterator[list[_Item]]:
        """Take an item; yields the windows that are complete.

        Args:
            item: the next one.
            words: number of them in it.
            sentence: that it is; None where it is something else, such as lines between sentences
                or a text that is a document of its own.
        """
        parts = self._parts
        if parts is not None and sentence is not None and parts.begins(sentence):
            yield from self._close()
        self._open.append(item)
        self._open_words += words
        if parts is not None and sentence is None and words:  # lines between sentences have none
            parts.end()
        if parts is None or not parts.may_continue:
            yield from self._close()

    def end(self) -> Iterator[list[_Item]]:
        """End the document: a mark has come. Yields the windows that are complete."""
        if self._parts is not None:
            self._parts.end()
        yield from self._close()

    def ready(self) -> Iterator[list[_Item]]:
        """The items that wait for no other one, as a window."""
        if self._window:
            yield self._window
        self._window, self._words = [], 0

    def rest(self) -> list[_Item]:
        """All items that have not been given back: the input has ended."""
        found = [*self._window, *self._open]
        self._window, self._open, self._words, self._open_words = [], [], 0, 0
        return found

    def _close(self) -> Iterator[list[_Item]]:
        """Move what is open, and complete now, into the window."""
        if self._words + self._open_words > self._window_words:
            yield from self.ready()
        self._window += self._open
        self._words += self._open_words
        self._open, self._open_words = [], 0
