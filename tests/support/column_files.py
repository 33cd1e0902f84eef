"""Column files as lines, blocks and sentences."""

from collections.abc import Iterable, Sequence

import pytest

from tagkit.config import Column
from tagkit.corpus.formats.columns.reader import ColumnReader, LineBlock
from tagkit.corpus.formats.columns.writer import append_column
from tagkit.corpus.source.layout import ColumnOptions
from tagkit.errors import FormatError
from tagkit.text.records import Sentence


def options(
    format: str = "columns",
    token: Column | None = None,
    tag: Column | None = None,
    features: tuple[Column, ...] = (),
    with_tags: bool = True,
) -> ColumnOptions:
    return ColumnOptions(format == "conllu", token, tag, features, with_tags)


def blocks_of(lines: Iterable[str], given: ColumnOptions | None = None) -> list[LineBlock]:
    reader = ColumnReader("file", given or options())
    return [*reader.feed(lines), *reader.close()]


def read(text: str, given: ColumnOptions | None = None) -> list[Sentence]:
    lines = text.removesuffix("\n").split("\n")
    return [block.sentence for block in blocks_of(lines, given) if block.sentence]


def pairs(text: str, given: ColumnOptions | None = None) -> list[str]:
    """Each sentence as 'word/tag word/tag'."""
    return [
        " ".join(f"{word}/{tag}" for word, tag in zip(s.words, s.tags or (), strict=True))
        for s in read(text, given)
    ]


def refusal(text: str, given: ColumnOptions | None = None) -> str:
    with pytest.raises(FormatError) as caught:
        read(text, given)
    return str(caught.value)


def conllu(*rows: str) -> str:
    """Rows of 'ID FORM UPOS' as lines of ten columns."""
    lines = []
    for row in rows:
        if row.startswith("#") or not row:
            lines.append(row)
            continue
        identifier, form, upos = row.split(" ")
        lines.append("\t".join([identifier, form, form.lower(), upos, *["_"] * 6]))
    return "\n".join(lines) + "\n"


def longer(text: str, values: Sequence[str], given: ColumnOptions) -> str:
    reader = ColumnReader("file", given)
    blocks = [*reader.feed(text.split("\n")), *reader.close()]
    rest = iter(values)
    lines = [
        line
        for block in blocks
        for line in append_column(block, reader.layout, [next(rest) for _ in block.rows])
    ]
    assert list(rest) == []
    return "\n".join(lines)
