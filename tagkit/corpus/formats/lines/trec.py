"""TREC questions: `COARSE:fine text`, a text a line (Li and Roth 2002).

The first colon separates the coarse class from the fine one: `NUM:dist` is NUM, or NUM:dist where
`data.label_level` is "fine". A label without a colon is none of TREC's: in a line without a label
it could not be distinguished from the first word of the text. So what was read with coarse labels
cannot be written again; read with fine ones, it can.
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
    require_label,
    require_line,
)
from tagkit.corpus.source.source import Source
from tagkit.text.records import Document
from tagkit.wording import quoted

_LABEL = re.compile(r"([^ \t\r\n:]+):[^ \t\r\n]+")
# As the TREC files have them; a line of prose seldom begins so, and several never all do.
_USUAL = re.compile(r"[A-Z]{2,}:[a-z]+ +[^ \r]")


def read_trec(source: Source, reading: ReaderOptions) -> Iterator[Document]:
    """A document a line."""
    fine = reading.data.label_level == "fine"
    for number, line in source.numbered():
        if not line.strip():
            continue
        label, _, text = line.partition(" ")  # the text itself may hold colons and blanks
        found = _LABEL.fullmatch(label)
        # In prediction a question without a label is a text as it stands.
        if not found and not reading.with_tags:
            yield Document(line, source=source.name, line=number)
            continue
        if not found or not text.strip():
            reading.refuse(
                source.name, number, f"expected COARSE:fine and a text, found {quoted(line)}"
            )
            continue
        labels = (label if fine else found[1],)
        yield Document(text, labels=labels, source=source.name, line=number)


def write_trec(items: Iterable[Document], writing: Writing) -> Iterator[OutputPiece]:
    """A line a document."""
    return one_file(_line(item) for item in noting_spans(items, "trec", writing))


def _line(item: Document) -> str:
    label = require_label(item, "trec")
    require_line(item, item.text, "trec")
    # Of a label read as coarse, the fine part is lost, and inventing one would be wrong.
    if ":" not in label:
        raise cannot_hold(
            item, "trec", f"a label without its fine class ({quoted(label)}; see data.label_level)"
        )
    if not is_trec_class(label):
        raise cannot_hold(item, "trec", f"a label that is not COARSE:fine ({quoted(label)})")
    return f"{label} {item.text}"


def is_trec_class(label: str) -> bool:
    """Whether a class is written as TREC's are, with its fine class: NUM:dist."""
    return _LABEL.fullmatch(label) is not None


look_at_trec = each_line(_USUAL.match, "every line begins with COARSE:fine", in_prose=True)
