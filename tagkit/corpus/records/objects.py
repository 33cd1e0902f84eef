"""Records of a program, in the place of a file: read as the lines of JSON that say the same.

| a program has | which is read as |
| --- | --- |
| `Sentence`, `Document`, and answers of a model | it is |
| rows of a table (`rows.as_rows`), dictionaries | a record with these keys |
| `(text, spans)`, spans as lists or dictionaries | `{"text", "labels": spans}` |
| `(text, {"entities": ...})`, as spaCy has it | `{"text", "entities": ...}` |
| `(text, class)`, `(text, [classes])` | `{"text", "label"}`, `{"text", "labels"}` |
| `[(word, tag), ...]`, also with features between | `{"tokens", "tags"}` |
| `([words], [tags])` | the same |
| a string; a list of strings | `{"text"}`; `{"tokens"}` |

So the keys that are known, and what is refused, are those of JSON Lines (`jsonl_keys`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import chain
from typing import Any

from tagkit.config import DataConfig
from tagkit.corpus.formats.json.jsonl import read_jsonl
from tagkit.corpus.formats.json.jsonl_keys import CLASSES, TEXT, TOKENS, any_of
from tagkit.corpus.formats.recognition import find_format
from tagkit.corpus.formats.tables.text_columns import LABEL_NAMES, TEXT_NAMES, plain_name
from tagkit.corpus.records.answers import as_items
from tagkit.corpus.source.options import Item, ReaderOptions
from tagkit.corpus.source.rows import as_line, as_rows, column_names
from tagkit.corpus.source.source import Source
from tagkit.errors import DataError
from tagkit.text.pairs import DELIMITER
from tagkit.text.records import Document, Prediction, Sentence, TaggedText
from tagkit.wording import clipped, listed

# Records of a program by the path that stands for them in a configuration: `path_of`.
Given = Mapping[str, Any]
NONE_GIVEN: Given = {}

_RECORDS = (Sentence, Document, Prediction, TaggedText)
_INPUTS = "inputs"  # of a model, in messages
# Keys of JSON Lines, the options that name them in a table, and names that tables have for them.
_NAMED = (
    ("text", "text_column", (*TEXT, *TOKENS), TEXT_NAMES),
    ("label", "label_column", CLASSES, LABEL_NAMES),
    ("tokens", "token_column", TOKENS, ()),
    ("tags", "tag_column", (), ()),
)


def path_of(split: str) -> str:
    """What stands for the records of a split where a file has its path, also in messages."""
    return f"<{split}>"


def option_of(path: str) -> str:
    """The option of the configuration that a path of `path_of` is a value of."""
    return f"data.{path.strip('<>')}_file"


def items_of(records: Any, reading: ReaderOptions, name: str, *, tags: bool) -> Iterator[Item]:
    """The records, as those of a file are read.

    Args:
        records: any of those above.
        reading: how they are read; `data.format` has no meaning here.
        name: of them in messages.
        tags: whether they must have tags or spans, those of a text beside its sentences.

    Raises:
        DataError: there is something that is no record.
        FormatError: a record cannot be read; its line is the record's number.
    """
    first, rows = _begun(as_rows(records, name))
    if first is None or isinstance(first, _RECORDS):
        return as_items(rows, split=tags)
    source = _Rows(_lines(rows, reading.data, name), name)
    # As of a file: where one text has spans, the others have none.
    format = find_format(source, "jsonl").format
    if tags and format.holds == "classes":
        keys = listed([*map(str, _record(first, reading.data) or ())])
        expected = "expected tokens with tags or texts with spans"
        raise DataError(f"{name}: {expected}, found the keys {keys}")
    return format.records(source, reading).items


def read_records(records: Any, data: DataConfig, name: str) -> Iterator[Any]:
    """The same of labels that are compared: answers of a model stay as they are."""
    first, rows = _begun(as_rows(records, name))
    if first is None or isinstance(first, _RECORDS):
        return rows
    return items_of(rows, ReaderOptions(data), name, tags=False)


def _begun(rows: Iterator[Any]) -> tuple[Any, Iterator[Any]]:
    """The first row, None if there is none, and all rows."""
    first = next(rows, None)
    return first, rows if first is None else chain([first], rows)


def records_to_predict(inputs: Any, data: DataConfig) -> Iterator[Any]:
    """What is to be predicted, as it is taken: records are read, texts and words are as they are.

    Args:
        inputs: several, the first of which says what all of them are; or one dictionary.
        data: of the model.

    Raises:
        DataError: as for `items_of`.
    """
    is_one = isinstance(inputs, Mapping)
    first, rows = _begun(iter([inputs]) if is_one else as_rows(inputs, _INPUTS))
    is_list = isinstance(first, list | tuple) and not all(isinstance(each, str) for each in first)
    if not (is_list or isinstance(first, Mapping)):
        yield from rows
        return
    data = data.model_copy(update={"format": "auto"})
    reading = ReaderOptions(data, with_tags=False, with_text=True, with_refused=True)
    yield from read_jsonl(_Rows(_lines(rows, data, _INPUTS), _INPUTS), reading)


def read_column(batch: Any, data: DataConfig, *, by_token: bool) -> list[Any]:
    """The texts of a batch, or the words of each; empty ones where a cell holds nothing.

    Args:
        batch: columns by name, or a frame.
        data: of the model.
        by_token: whether its answers stand beside tokens, so that words are preferred.

    Raises:
        DataError: no column has a name that texts or words have.
    """
    texts = (data.text_column, *TEXT, *TEXT_NAMES)
    tokens = (data.token_column, *TOKENS)
    names = column_names(batch)
    wanted = (*tokens, *texts) if by_token else (*texts, *tokens)
    name = next((each for each in wanted if each in names), None)
    if name is None:
        expected = f"a column of {any_of(TEXT)} or {any_of(TOKENS)}"
        raise DataError(f"batch: expected {expected}, found {listed([*map(str, names)])}")
    cells = (each.tolist() if hasattr(each, "tolist") else each for each in batch[name])
    return [each if isinstance(each, str | list | tuple) else "" for each in cells]


def texts_of(records: Any, data: DataConfig, name: str) -> Iterator[str]:
    """The lines of plain text that records are, as a file of them has them; some may be blank."""
    for row in as_rows(records, name):
        text: Any = row
        if isinstance(row, Sentence | Prediction):
            text = " ".join(row.words)
        elif isinstance(row, Document | TaggedText):
            text = row.text
        elif data.pairs and isinstance(row, tuple):
            text = DELIMITER.join(row)
        elif not isinstance(row, str):
            found = _record(row, data) or {}
            words = found.get("tokens")
            text = next((found[key] for key in TEXT if key in found), words and " ".join(words))
        if not isinstance(text, str):
            raise DataError(f"{name}: expected texts, found {clipped(repr(row))}")
        yield from text.removesuffix("\n").split("\n")


class RecordDigest:
    """SHA-256 of the records that go through it: the same of a list as of a frame.

    Attributes:
        hash: of those that have gone through.
    """

    def __init__(self) -> None:
        """Nothing has gone through yet."""
        self.hash = sha256()
        self._documents: dict[int, int] = {}

    def watched(self, items: Iterable[Item]) -> Iterator[Item]:
        """The records, each noted before it is given."""
        for item in items:
            if isinstance(item, Sentence):
                # Numbers of documents are those of a process; which sentences share one is kept.
                number = item.document
                rank = self._documents.setdefault(number or 0, len(self._documents))
                document = (
                    None if number is None else (number < 0, rank)
                )  # unmarked ones, and which
                of: Any = item.words, item.tags, item.features, item.labels, item.columns, document
                of += (item.vectors,) if item.vectors else ()
            else:
                of = (item.text, item.spans, item.labels, item.tokens)
            self.hash.update(f"{as_line(of)}\n".encode())
            yield item


class _Rows(Source):
    """Lines of JSON that no file holds."""

    def __init__(self, lines: Iterator[str], name: str) -> None:
        super().__init__(name, "utf-8")
        self._lines = lines

    def _read(self) -> Iterator[list[str]]:
        return ([line] for line in self._lines)


def _lines(rows: Iterable[Any], data: DataConfig, name: str) -> Iterator[str]:
    for number, row in enumerate(rows, 1):
        record = _record(row, data)
        if record is None:
            expected = "a Sentence, a Document, a dictionary, or a text with its labels"
            raise DataError(
                f"{name}: record {number:,}: expected {expected}, found {clipped(repr(row))}"
            )
        yield as_line(record)


def _record(row: Any, data: DataConfig) -> dict[str, Any] | None:
    """A record with the keys of JSON Lines; None of anything else."""
    if isinstance(row, Mapping):
        return _with_known_keys(dict(row), data)
    if isinstance(row, str):
        return {"text": row}
    if not isinstance(row, Sequence) and hasattr(row, "tolist"):  # an array of words
        row = row.tolist()
    match row:
        case [str(text), Mapping() as others]:
            return {**others, "text": text}
        # doccano's key, under which spans and classes are told apart.
        case [str(text), list() | tuple() as labels]:
            return {"text": text, "labels": labels}
        case (str(text), str() | int() as label) if isinstance(row, tuple):
            return {"text": text, "label": label}
        case [list() as words, list() as tags] if isinstance(row, tuple):
            return {"tokens": words, "tags": tags}
        case [[str(), *_, str()], *_] if {*map(_size, row)} == {len(row[0])}:
            words, *features, tags = map(list, zip(*row, strict=True))
            return {"tokens": words, "tags": tags, "features": features}
        case [str(), *_]:
            return {"tokens": [*row]}
    return None


def _size(part: Any) -> int:
    return len(part) if isinstance(part, list | tuple) else 0


def _with_known_keys(row: dict[str, Any], data: DataConfig) -> dict[str, Any]:
    """A row, whose columns have the keys of JSON Lines in place of other names of tables."""
    for key, option, others, names in _NAMED:
        column = getattr(data, option)
        if column not in row and not any(each in row for each in (key, *others)):
            column = next((each for each in row if plain_name(str(each)) in names), None)
        if isinstance(column, str) and column in row and column != key:
            row[key] = row.pop(column)
    return row
