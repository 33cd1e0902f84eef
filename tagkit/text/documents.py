"""Documents: sentences that follow each other, which the encoder of a tagger may read as one.

A document of more words than are read at a time is read in parts. A part ends with a sentence, and
begins where the next one would make it too long, so that where parts begin depends on nothing but
the document: neither on how its file is read nor on what is predicted together.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import groupby

from tagkit.text.records import Sentence


class DocumentParts:
    """Finds where a part of a document begins, given sentences in their order."""

    def __init__(
        self, limit: int, max_length: int | None = None, *, marked_only: bool = False
    ) -> None:
        """The parts of any documents.

        Args:
            limit: maximum number of words in a part; a longer sentence is a part of its own.
            max_length: number of words of the longest sentence that is not read in windows, which
                are no part of a document; None where all are read whole.
            marked_only: whether sentences of a document that nothing marks stand by themselves.
        """
        self.limit = limit
        self.marked_only = marked_only
        self.max_length = max_length
        self.cut = False  # whether a document was longer than the limit
        self._document: int | None = None
        self._words = 0

    @property
    def may_continue(self) -> bool:
        """Whether the sentence after the last one that was seen may be of the same part."""
        return self._document is not None

    def end(self) -> None:
        """End the part: something else than a sentence follows."""
        self._document = None

    def begins(self, sentence: Sentence) -> bool:
        """Whether a part begins with this sentence, which is then the last one that was seen."""
        document, words = _document_of(sentence, self.marked_only), len(sentence)
        if self.max_length is not None and words > self.max_length:
            document = None
        continues = document is not None and document == self._document
        fits = self._words + words <= self.limit
        self.cut = self.cut or (continues and not fits)
        begins = not (continues and fits)
        self._document, self._words = document, words if begins else self._words + words
        return begins


def parts_of(sentences: Iterable[Sentence], limit: int, *, marked_only: bool = False) -> list[int]:
    """The number of each sentence's part, from 0; sentences of one part follow each other."""
    parts, number, found = DocumentParts(limit, marked_only=marked_only), -1, []
    for sentence in sentences:
        number += parts.begins(sentence)
        found.append(number)
    return found


def whole_documents(
    sentences: Sequence[Sentence], chosen: Collection[int], *, marked_only: bool = False
) -> list[int]:
    """The chosen sentences, by number, with all others of their documents, in their order.

    Read without the other documents, they have the parts that they have among all of them.

    Args:
        sentences: of any documents.
        chosen: numbers of sentences, from 0.
        marked_only: as of `DocumentParts`.
    """
    own, found, last = {*chosen}, list[int](), None
    for document, group in groupby(
        range(len(sentences)), lambda number: _document_of(sentences[number], marked_only)
    ):
        numbers = [*group]
        asked = [number for number in numbers if number in own]
        if not asked:
            continue
        if document is None:  # each is read by itself
            found += asked
        elif document == last:  # side by side they would be one document, and are two
            return [*range(len(sentences))]
        else:
            found += numbers
        last = document
    return found


def _document_of(sentence: Sentence, marked_only: bool) -> int | None:
    document = sentence.document
    return None if marked_only and document is not None and document < 0 else document


def begins_marked(sentence: Sentence, before: Sentence | None) -> bool:
    """Whether a document that its file marks begins with a sentence, given the one before it."""
    own = sentence.document
    return own is not None and own > 0 and (before is None or own != before.document)
