"""Tables of a program, and files of Parquet and Arrow, as rows; a row as a line of JSON.

Frames of pandas and Polars, data sets of Hugging Face, tables of pyarrow and dictionaries of
columns are known by what they can do: none of these packages is imported for them. Where a table
says what its numbers stand for (`ClassLabel`), a row has the names.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from tagkit.errors import DataError
from tagkit.wording import listed

# How files begin: Parquet, Arrow's file (Feather 2 too), and Arrow's stream, as `save_to_disk` of
# a Hugging Face data set writes it.
_PARQUET, _ARROW, _STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
TABLES = (_PARQUET, _ARROW, _STREAM)
LONGEST_START = len(_ARROW)
_ROWS, _READ = 1000, 50  # rows of a Parquet file that are held at a time; and lines of a read
_MISSING = ("NAType", "NaTType")  # of pandas, in place of None


def as_rows(table: Any, name: str) -> Iterator[Any]:
    """The rows of a table, each a dictionary, or the elements of anything else.

    Args:
        table: any of those above, or an iterable.
        name: of the table in messages.

    Raises:
        DataError: it is neither, or a dictionary of something other than columns.
    """
    if isinstance(table, Mapping):
        return _rows_of_columns(table, name)
    if hasattr(table, "to_batches") and hasattr(table, "schema"):  # of pyarrow
        return _rows_of_batches(table.to_batches(), table.schema)
    if hasattr(table, "columns") and hasattr(table, "__getitem__"):  # of pandas or Polars
        columns = {str(each): table[each].to_list() for each in column_names(table)}
        return _rows_of_columns(columns, name)
    if isinstance(table, str | bytes) or not hasattr(table, "__iter__"):
        raise DataError(f"{name}: expected records or a table, found {type(table).__name__}")
    features: Any = getattr(table, "features", None)
    return _named_rows(table, features.to_dict() if hasattr(features, "to_dict") else {})


def column_names(table: Any) -> list[Any]:
    """The names of the columns of a frame, or of a dictionary of columns."""
    return [*table] if isinstance(table, Mapping) else [*table.columns]


def _rows_of_columns(columns: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
    sizes = {len(column) for column in columns.values() if hasattr(column, "__len__")}
    # A dictionary of data sets, as `load_dataset` gives, has an item for each split.
    odd = [key for key, column in columns.items()
           if isinstance(column, str) or hasattr(column, "column_names")]  # fmt: skip
    if odd or len(sizes) != 1:
        found = f"found a dictionary of {listed([*columns])}"
        raise DataError(f"{name}: expected columns of the same length, {found}")
    return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))


def _named_rows(rows: Iterable[Any], features: Mapping[str, Any]) -> Iterator[Any]:
    """Rows with the names of classes in place of their numbers."""
    named = {key: each for key, each in features.items() if "ClassLabel" in json.dumps(each)}
    if not named:
        return iter(rows)
    return (
        {key: _named(value, named[key]) if key in named else value for key, value in row.items()}
        for row in rows
    )


def _named(value: Any, feature: Mapping[str, Any]) -> Any:
    """A value, whose numbers of classes become names; the number of no class becomes None.

    Args:
        value: of one row.
        feature: what it is, as `Features.to_dict` of the package `datasets` describes it.
    """
    if feature.get("_type") == "ClassLabel":
        names = feature["names"]
        return names[value] if isinstance(value, int) and 0 <= value < len(names) else None
    if isinstance(value, Mapping):  # an object, or a list of objects by their keys
        parts = feature.get("feature", feature)
        return {key: _named(each, parts[key]) for key, each in value.items()}
    if isinstance(value, list) and isinstance(feature.get("feature"), Mapping):
        return [_named(each, feature["feature"]) for each in value]
    return value


def as_line(row: Any) -> str:
    """A row as a line of JSON, in ASCII, which nearly every encoding of a file has."""
    return json.dumps(row, default=_plain)


def _plain(value: Any) -> Any:
    """A value of Python's own for one of another package; None for one that is missing."""
    for convert in ("tolist", "as_py", "to_dict"):  # of NumPy and torch; of pyarrow; of tagkit
        if hasattr(value, convert):
            return getattr(value, convert)()
    if isinstance(value, Mapping):
        return dict(value)
    if type(value).__name__ in _MISSING:
        return None
    return [*value] if hasattr(value, "__iter__") else str(value)


def is_table_file(path: str) -> bool:
    """Whether a path is that of such a file, and not of a pipe, which would lose its beginning."""
    if not os.path.isfile(path):
        return False
    with suppress(OSError), Path(path).open("rb") as file:
        return file.read(LONGEST_START).startswith(TABLES)
    return False


def rows_of_file(path: str) -> Iterator[dict[str, Any]]:
    """The rows of such a file; raises as `table_rows` does."""
    with Path(path).open("rb") as file:
        yield from chain.from_iterable(table_rows(file, path))


def lines_of_table(file: BinaryIO, name: str) -> BinaryIO:
    """A file of Parquet or Arrow, to be read as JSON Lines; its rows are read as they are taken.

    Args:
        file: that can be read in any order.
        name: in messages.

    Raises:
        DataError: the package pyarrow is missing, or the file is damaged.
    """
    return cast(BinaryIO, _Lines(file, chain.from_iterable(table_rows(file, name))))


def table_rows(file: BinaryIO, name: str) -> Iterator[Iterator[dict[str, Any]]]:
    """Rows of a file of Parquet or Arrow, some at a time; arguments as of `lines_of_table`."""
    try:
        import pyarrow
        from pyarrow import ipc, parquet
    except ImportError:
        problem = "a file of Parquet or Arrow needs pyarrow; pip install 'tagkit[arrow]'"
        raise DataError(f"{name}: {problem}") from None
    start = file.read(LONGEST_START)
    file.seek(0)
    try:
        if start.startswith(_PARQUET):
            of_parquet = parquet.ParquetFile(file)
            schema, batches = of_parquet.schema_arrow, of_parquet.iter_batches(_ROWS)
        elif start.startswith(_STREAM):
            batches = ipc.open_stream(file)
            schema = batches.schema
        else:
            of_arrow = ipc.open_file(file)
            schema = of_arrow.schema
            batches = map(of_arrow.get_batch, range(of_arrow.num_record_batches))
        for batch in batches:
            yield _rows_of_batches([batch], schema)
    except (pyarrow.ArrowException, OSError) as error:
        problem = str(error).partition("\n")[0]
        raise DataError(f"{name}: the file of Parquet or Arrow is damaged: {problem}") from None


def _rows_of_batches(batches: Iterable[Any], schema: Any) -> Iterator[dict[str, Any]]:
    stored = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
    features = stored.get("info", {}).get("features", {})
    return _named_rows(chain.from_iterable(batch.to_pylist() for batch in batches), features)


class _Lines:
    """Rows as the bytes of JSON Lines, some of them a read."""

    def __init__(self, file: BinaryIO, rows: Iterator[Any]) -> None:
        self._rows, self.fileno = rows, file.fileno

    def read(self, size: int = -1) -> bytes:
        return "".join(f"{as_line(row)}\n" for row in islice(self._rows, _READ)).encode()
