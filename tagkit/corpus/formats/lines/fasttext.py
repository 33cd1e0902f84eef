"""fastText: `__label__x __label__y text`, a text a line, its labels before it.

The format is described in fastText's tutorial on text classification (fasttext.cc).

A label ends at a blank or a tab. The text begins after the one blank that follows the last of the
leading labels; `__label__` further on is part of it.
"""

import re
from collections.abc import Iterable, Iterator

from tagkit.corpus.source.look import each_line
from tagkit.corpus.source.options import ReaderOptions
from tagkit.corpus.source.pieces import (
    OutputPiece,
    Writing,
    cannot_hold,
    noting_spans,
    one_file,
    require_line,
)
from tagkit.corpus.source.source import Source
from tagkit.text.records import Document
from tagkit.wording import quoted

_PREFIX = "__label__"  # fastText's own default; its option -label could choose another
# [^ \t], as \S would end a label at \x85 or U+2028.
_LABEL = re.compile(rf"{_PREFIX}([^ \t]*)[ \t]?")


def read_fasttext(source: Source, reading: ReaderOptions) -> Iterator[Document]:
    """A document a line. Labels are not needed where they are not wanted."""
    for number, line in source.numbered():
        if not line.strip():
            continue
        labels, text = _split(line)
        if "" in labels or not text.strip() or (reading.with_tags and not labels):
            reading.refuse(
                source.name, number, f"expected {_PREFIX}NAME and a text, found {quoted(line)}"
            )
            continue
        yield Document(text, labels=labels, source=source.name, line=number)


def _split(line: str) -> tuple[tuple[str, ...], str]:
    """The leading labels, each once, and what follows them."""
    labels = []
    start = 0
    # match() from `start`, not findall: a label further on is a word of the text.
    while found := _LABEL.match(line, start):
        labels.append(found[1])
        start = found.end()
    return tuple(dict.fromkeys(labels)), line[start:]


def write_fasttext(items: Iterable[Document], writing: Writing) -> Iterator[OutputPiece]:
    """A line a document."""
    return one_file(_line(item) for item in noting_spans(items, "fasttext", writing))


def _line(item: Document) -> str:
    require_line(item, item.text, "fasttext")
    if not item.labels:
        raise cannot_hold(item, "fasttext", "a text without a label")
    for label in item.labels:
        if not label or any(char in label for char in " \t\n\r"):
            raise cannot_hold(
                item, "fasttext", f"white space in a label, or none ({quoted(label)})"
            )
    if item.text.startswith(_PREFIX):  # read again, it would be one more label
        raise cannot_hold(item, "fasttext", f"a text that begins with {_PREFIX}")
    return " ".join([*(f"{_PREFIX}{label}" for label in item.labels), item.text])


look_at_fasttext = each_line(
    re.compile(f"{_PREFIX}[^ \t]").match, "every line begins with __label__"
)
