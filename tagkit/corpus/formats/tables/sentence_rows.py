"""A sentence a row of TSV or CSV, with a tag for each of its words in another cell.

    Ana flew to Rome .<TAB>B-PER O O B-LOC O<TAB>travel

Words and tags are separated by blanks, or are a list: of JSON, of Python (Kaggle's `ner.csv`) or of
numpy, as pandas writes them. A class of the sentence has a cell of its own, or stands behind the
tags, as in the ATIS files with BOS and EOS. Columns are known by their names in a header, else by
what they hold: a column of tags has as many in each row as that of the words has words.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, product

from tagkit.corpus.formats.tables.csv_rows import csv_rows, first_rows
from tagkit.corpus.formats.tables.text_columns import LABEL_NAMES, TEXT_NAMES, Row, plain_name
from tagkit.corpus.formats.tables.token_rows import MOST_COLUMNS, called, holds_span_tags
from tagkit.corpus.source.layout import BLANK, row_cell, split_row
from tagkit.corpus.source.look import NOTHING, TABLE, Beginning, Sureness
from tagkit.corpus.source.options import ReaderOptions
from tagkit.corpus.source.pieces import OutputPiece, Writing, cannot_hold, one_file
from tagkit.corpus.source.source import Source
from tagkit.errors import FileError
from tagkit.text.records import Sentence
from tagkit.text.schemes import is_span_tag
from tagkit.wording import quoted

_WORDS = ("words", "tokens", *TEXT_NAMES)
_TAGS = ("tags", "ner_tags", "tag", "ner", "slots", "slot", "iob", "bio", "labels", "label",
         "pos_tags", "pos")  # fmt: skip
# A text or a number in a list: numpy leaves out the commas between them.
_ELEMENT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|-?[0-9]+")


@dataclass(frozen=True, slots=True)
class _Columns:
    """What the columns of a table are, by their indices; None of what it has not."""

    separator: str
    names: tuple[str, ...]
    words: int
    tags: int
    label: int | None
    has_class_behind: bool

    def sentence(self, cells: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
        """Words, tags and classes of a row."""
        words, tags = pieces(cells[self.words]), pieces(cells[self.tags])
        labels = [cells[self.label]] * bool(cells[self.label]) if self.label is not None else []
        if self.has_class_behind and tags:
            *tags, label = tags
            labels = [label]
            if words[:1] == ["BOS"] and words[-1:] == ["EOS"]:
                words, tags = words[1:-1], tags[1:]
        return words, tags, labels


def pieces(cell: str) -> list[str]:
    """The elements of a list, or what blanks separate."""
    inner = cell[1:-1]
    if cell[:1] == "[" and cell[-1:] == "]" and not _ELEMENT.sub("", inner).strip(" ,\n\r\t"):
        return [_element(piece) for piece in _ELEMENT.findall(inner)]
    return [piece for piece in re.split("[ \t\n\r]", cell) if piece]


def _element(piece: str) -> str:
    if "\\" in piece:
        try:
            return str(ast.literal_eval(piece))  # a quoted text, as the pattern says
        except (SyntaxError, ValueError):
            pass
    return piece[1:-1] if piece[0] in "'\"" else piece


def _find(lines: Sequence[str], is_named: bool = False) -> _Columns | None:
    """What the columns are; `is_named`: whether this format was chosen, and so a header decides."""
    for separator in "\t,;":
        if sum(separator in line for line in lines) * 2 < len(lines) or not lines:
            continue
        rows = first_rows(lines, separator)
        if separator == "\t":
            rows = [split_row(line, separator) for line in lines if line.strip(BLANK)]
        (width, count), *_ = Counter(map(len, rows)).most_common(1) or [(0, 0)]
        same = [row for row in rows if len(row) == width]
        if not 2 <= width <= MOST_COLUMNS or 10 * count < 9 * len(rows) or same[0] is not rows[0]:
            continue
        if not is_named and 2 * sum(" " in "".join(row) for row in same) < len(same):
            continue  # single words in all cells
        names = [plain_name(cell) for cell in same[0]]
        texts, tagged = (
            [names.index(name) for name in known if name in names] for known in (_WORDS, _TAGS)
        )
        has_header = bool(texts and tagged)
        is_sure = is_named and bool({"words", "tokens"} & {*names})
        rows, names = same[has_header:], names * has_header
        columns = [[pieces(cell) for cell in column] for column in zip(*rows, strict=True)]
        places = range(len(columns))
        if not has_header:
            texts, tagged = [*places], [*reversed(places)]
        for tags, words, behind in product(tagged, texts, (True, False)):
            if columns and tags != words and _fit(columns[words], columns[tags], behind, is_sure):
                header = tuple(same[0]) if has_header else ()
                label = _label(width, names, words, tags)
                return _Columns(separator, header, words, tags, label, behind)
    return None


def _fit(
    words: Sequence[Sequence[str]], tags: Sequence[Sequence[str]], behind: bool, is_sure: bool
) -> bool:
    """Whether there is a tag for each word, and perhaps a class behind the tags."""
    bare = [row[:-1] if behind else row for row in tags]
    flat = [*chain.from_iterable(bare)]
    fitting = sum(
        len(own) in (len(row), len(row) - 1 if behind else -1)
        and not (behind and (is_span_tag(full[-1]) or (len(own) < len(row)) != (row[0] == "BOS")))
        for row, own, full in zip(words, bare, tags, strict=True)
        if row and full
    )
    if 10 * fitting < 9 * len(words) or (len(flat) < 2 * len(words) and not is_sure):
        return False
    if is_sure or holds_span_tags(flat):
        return True
    # Other tags come again more than words do; two texts are not of one length in each row.
    kinds, of_words = len({*flat}), len({*chain.from_iterable(words)})
    return not behind and 2 * kinds <= len(flat) and kinds < of_words and len({*map(len, tags)}) > 1


def _label(width: int, names: Sequence[str], words: int, tags: int) -> int | None:
    """The column of the class, if there is one: named so, or the only other one behind the tags."""
    others = [i for i in range(width) if i not in (words, tags)]
    if names:
        return next((i for i in others if names[i] in LABEL_NAMES), None)
    return others[0] if len(others) == 1 and others[0] > max(words, tags) else None


def look_at_sentence_rows(beginning: Beginning) -> Sureness:
    """Two cells of each row have as many words as tags."""
    found = beginning.once(_find)
    if found is None:
        return NOTHING
    places = {"words in": found.words, "tags in": found.tags, "classes in": found.label}
    parts = [f"{what} {called(found.names, at)}" for what, at in places.items() if at is not None]
    parts += ["classes behind the tags"] * found.has_class_behind
    return Sureness(TABLE, f"a sentence a row, {', '.join(parts)}")


def read_sentence_rows(source: Source, reading: ReaderOptions) -> Iterator[Sentence]:
    """The sentences of a table."""
    found = _find(source.beginning(waiting=False), is_named=True)
    if found is None:
        for number, line in source.numbered():
            if line.strip():
                problem = "expected rows with a sentence and a tag for each of its words, found"
                raise FileError(source.name, number, f"{problem} {quoted(line)}")
        return
    rows: Iterator[Row] = csv_rows(source, reading)
    if found.separator == "\t":
        rows = ((number, split_row(line, "\t")) for number, line in source.numbered())
    filled = ((n, cells) for n, cells in rows if any(cell.strip(BLANK) for cell in cells))
    for number, cells in islice(filled, bool(found.names), None):
        last = max(found.words, found.tags, found.label or 0)
        words, tags, labels = found.sentence(cells) if len(cells) > last else ([], [], [])
        if (names := reading.data.label_names) and all(map(str.isdecimal, tags)):
            tags = [names[int(tag)] if int(tag) < len(names) else tag for tag in tags]
        if not words or (reading.with_tags and len(words) != len(tags)):
            problem = f"expected a sentence and as many tags ({len(words)}), found {len(tags)}"
            reading.refuse(source.name, number, f"{problem}: {quoted(found.separator.join(cells))}")
            continue
        yield Sentence(
            words=tuple(words),
            tags=tuple(tags) if reading.with_tags else None,
            labels=tuple(labels),
            lines=(number,) * len(words),
            extra=tuple(
                (name, cell)
                for i, (name, cell) in enumerate(zip(found.names, cells, strict=False))
                if reading.with_extra and name and i not in (found.words, found.tags, found.label)
            ),
        )


def write_sentence_rows(items: Iterable[Sentence], writing: Writing) -> Iterator[OutputPiece]:
    """TSV with a header: words, tags and, where sentences have one, the class."""
    return one_file("\t".join(cells) for cells in _written(items, writing))


def _written(items: Iterable[Sentence], writing: Writing) -> Iterator[Sequence[str]]:
    names: list[str] = []
    for item in items:
        if item.features:
            writing.note("sentence-rows have no place for feature columns: they are left out")
        own = ["words", "tags", *["label"] * len(item.labels)]
        if not names:
            names = own
            yield own
        cells = [" ".join(item.words), " ".join(item.tags or ()), *item.labels]
        line = [row_cell(cell, "\t") for cell in cells]
        kept = [pieces(cells[0]), pieces(cells[1])] == [[*item.words], [*(item.tags or ())]]
        odd = "" in cells[1:] or any(char in cell for cell in cells for char in "\n\r")
        odd |= len(item.labels) > 1  # a row has a place for one
        if odd or not kept or own != names or split_row("\t".join(line), "\t") != cells:
            raise cannot_hold(item, "sentence-rows", "such words, tags or classes")
        yield line
    if not names:
        yield ["words", "tags"]
