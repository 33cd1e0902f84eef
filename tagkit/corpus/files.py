"""Corpora as files: read into records, written from records, converted from one to another.

`read`, `write` and `convert` are functions of the library for programs; `tagkit convert` calls
`convert_file`.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tagkit.config import DataConfig, load_config, parse_span_scheme
from tagkit.corpus.convert.convert import Converted, convert_corpus, convert_records
from tagkit.corpus.formats.folders.brat import PAIR
from tagkit.corpus.formats.folders.file_sets import (
    files_of,
    pair_of,
    require_plain_name,
    write_folder,
    write_pair,
)
from tagkit.corpus.formats.recognition import find_format
from tagkit.corpus.formats.table import Format, target_format
from tagkit.corpus.formats.tables.delimited import with_safe_cells
from tagkit.corpus.source.options import ReaderOptions, log_note, source_of
from tagkit.corpus.source.pieces import OutputPiece, Writing
from tagkit.corpus.source.source import STDIN
from tagkit.errors import ConfigError, DataError, FormatError
from tagkit.storage import open_output
from tagkit.storage.places import (
    refuse_folder_of_input,
    refuse_input,
    refuse_input_as_standard_output,
    require_file_name,
    require_name,
    require_new_folder,
    require_place,
)
from tagkit.text.records import Document, Prediction, Sentence, TaggedText
from tagkit.wording import reason

# Options of [data] that say what is learnt from a corpus, not how it is read.
_OF_TRAINING = frozenset(
    {
        "train_file", "dev_file", "test_file", "train_sentences", "dev_fraction", "weights",
        "train_scheme", "bpe_size",
    }
)  # fmt: skip

_CHUNK = 1 << 16  # characters that are written at a time


def read(
    path: str | Path,
    *,
    labels: bool = True,
    all_features: bool = False,
    on_error: Callable[[FormatError], None] | None = None,
    note: Callable[[str], None] = log_note,
    **options: Any,
) -> Iterator[Sentence | Document]:
    """Records of a corpus in any format, as they are read: sentences with tags, or documents.

    The file is opened and its format found at once; the records are read as they are taken, in
    constant memory where the format allows it.

    Args:
        path: of a file or folder; "-" is standard input.
        labels: whether its labels are wanted. Without, files need none, and tags are left out.
        all_features: whether all columns of a column file are features, and not only those of
            `feature_columns`.
        on_error: called with each line that cannot be read, which is then skipped; None to raise
            the first one.
        note: called with a sentence on the format that was recognised, and on what is left out.
        options: those of [data] in the configuration, such as format, encoding or tag_column.

    Raises:
        DataError: the file cannot be read.
        FormatError: a line of it cannot be, and there is no `on_error`. With one it is raised as
            FileError where no further line could be read either, as after a byte that is no text.
        ConfigError: an option is unknown or has a wrong value.
    """
    data = data_options(options)
    source = source_of(path_text(path, "path"), data)
    found = find_format(source, data.format, raw=not labels)
    if found.note:
        note(found.note)
    reading = ReaderOptions(
        data,
        with_tags=labels,
        all_features=all_features,
        with_text=True,
        with_extra=True,
        note=note,
        on_error=on_error,
    )
    return found.format.records(source, reading).items


def write(
    records: Iterable[Sentence | Document | Prediction | TaggedText],
    path: str | Path,
    *,
    to: str | None = None,
    scheme: str | None = None,
    force: bool = False,
    note: Callable[[str], None] = log_note,
) -> int:
    """Write records, or the answers of a model, to a file or folder in any format.

    The output is complete or not there: it is written beside its place, and renamed at the end.
    Of answers it has what records of a corpus have: tags, spans and classes. To keep probabilities,
    weights of attention and prediction sets too, write `json.dumps(answer.to_dict())` for each.

    Args:
        records: all of them are held in memory.
        path: of the output; "-" is standard output.
        to: a format's name; None for the one that the name of the output tells.
        scheme: of the tags; None for the one that they are in.
        force: replace a file that exists; a folder is never replaced.
        note: called with a sentence on what is left out: what the format cannot hold, and what of
            answers records do not have.

    Returns:
        The number of sentences or texts that were written.

    Raises:
        DataError: the output exists or cannot be written, or there are no records.
        FormatError: a record that the format cannot hold.
        ConfigError: there is no such scheme.
    """
    output = path_text(path, "path")
    _check_place(output, (), force=force)
    converted = convert_records(
        records,
        lambda like: target_format(output, to, like),
        parse_span_scheme(scheme),
        single=output.endswith(PAIR),
        note=note,
    )
    _write(converted, output, (), force=force)
    return converted.records


def convert(
    path: str | Path,
    output: str | Path,
    *,
    to: str | None = None,
    scheme: str | None = None,
    force: bool = False,
    safe_cells: bool = False,
    note: Callable[[str], None] = log_note,
    **options: Any,
) -> int:
    """Convert a corpus to another format or tag scheme, as `tagkit convert` does.

    Args:
        path: of the corpus, a file or folder; "-" is standard input.
        output: of the same corpus in its new format; "-" is standard output.
        to: a format's name; None for the one that the name of the output tells.
        scheme: of the tags that are written; None for that of the corpus.
        force: replace a file that exists; a folder, and a file that is read, is never replaced.
        safe_cells: put an apostrophe before cells of CSV or TSV that a spreadsheet would run.
        note: called with a sentence on what the new format cannot hold.
        options: those of [data] in the configuration, such as format, encoding or tag_column.

    Returns:
        The number of sentences or texts that were written.

    Raises:
        DataError: the corpus cannot be read, or the output exists or cannot be written.
        FormatError: a line cannot be read or written.
        ConfigError: an option is unknown or has a wrong value.
    """
    data, place = data_options(options), path_text(output, "output")
    corpus = path_text(path, "path")
    return convert_file(
        corpus, place, data, to=to, scheme=scheme, force=force, safe_cells=safe_cells, note=note
    ).records


def convert_file(
    path: str,
    output: str,
    data: DataConfig,
    *,
    to: str | None,
    scheme: str | None,
    force: bool,
    safe_cells: bool = False,
    note: Callable[[str], None],
) -> Converted:
    """Convert a corpus; the arguments are those of `convert`.

    Returns:
        What was written; all of its pieces have been taken.
    """
    # Before anything is read: an output that is an input would be lost.
    inputs = list(files_of(path))
    _check_place(output, inputs, force=force)
    converted = convert_corpus(
        path,
        data,
        # Which kind of JSON Lines is written depends on what the input holds.
        lambda read: _with_safe_cells(target_format(output, to, read), wanted=safe_cells),
        parse_span_scheme(scheme),
        # brat keeps a text and its annotation in two files; either name stands for the pair.
        single=output.endswith(PAIR),
        note=note,
    )
    _write(converted, output, inputs, force=force)
    return converted


def _with_safe_cells(target: Format, *, wanted: bool) -> Format:
    """The format, whose cells are safe where that is `wanted`.

    Raises:
        DataError: it is wanted, and the format is no table.
    """
    if not wanted:
        return target
    if target.name not in ("csv", "tsv"):
        raise DataError(f"safe_cells=True is for csv and tsv; {target.name} is written")

    def write(items: Iterable[Any], writing: Writing) -> Iterator[OutputPiece]:
        return target.write(map(with_safe_cells, items), writing)

    return replace(target, write=write)


def _check_place(output: str, inputs: Iterable[Path], *, force: bool) -> None:
    """Refuse an output that is an input, or that cannot be written.

    Raises:
        DataError: it is.
    """
    require_name(output, "OUT")
    if output != STDIN:
        refuse_input(Path(output), inputs)
        require_place(Path(output), replace=force)
    else:
        refuse_input_as_standard_output(inputs)


def _write(converted: Converted, output: str, inputs: Iterable[Path], *, force: bool) -> None:
    """Write all pieces to a file, a pair of files or a folder.

    Raises:
        DataError: it is there already, or cannot be written.
    """
    place, target = Path(output), converted.target
    if target.many_files and output == STDIN:
        raise DataError(f"{target.name} fills files: name a file or folder, and not -")
    if not target.many_files:
        if output != STDIN:
            require_file_name(output)
        # Renamed into place at the end: a full disk leaves the old file.
        with open_output(None if output == STDIN else place, replace=force) as write:
            for text in _chunks(converted.pieces, whole=output == STDIN):
                write(text)
    elif target.name == "brat" and output.endswith(PAIR):
        for file in pair_of(place):
            refuse_input(file, inputs)
        write_pair(place, converted.pieces, replace=force)
    else:
        # A folder as output: folders are filled, never replaced.
        require_plain_name(place, target.name)
        refuse_folder_of_input(place, inputs)
        require_new_folder(place)
        write_folder(place, converted.pieces)


def _chunks(pieces: Iterable[OutputPiece], *, whole: bool) -> Iterator[str]:
    """The texts of pieces, many of them at a time: each write to a file is a call of the system.

    Args:
        pieces: of one file.
        whole: whether all pieces are taken before the first text is given, on the disk.
    """
    if not whole:
        texts = (piece.text for piece in pieces)
        while text := "".join(_up_to(_CHUNK, texts)):
            yield text
        return
    options: Any = {"encoding": "utf-8", "errors": "surrogatepass", "newline": ""}
    try:
        with tempfile.TemporaryFile("w+", **options) as file:
            for piece in pieces:
                file.write(piece.text)
            file.seek(0)
            while text := file.read(_CHUNK):
                yield text
    except OSError as error:  # of the file: what cannot be read of a corpus is a DataError
        raise DataError(
            f"{tempfile.gettempdir()}: cannot be written: {reason(error)}. The output is held "
            "there until it is complete; free some space, or name another folder in TMPDIR"
        ) from None


def _up_to(size: int, texts: Iterator[str]) -> Iterator[str]:
    """The next texts, until they have `size` characters together."""
    for text in texts:
        yield text
        size -= len(text)
        if size <= 0:
            return


def data_options(options: dict[str, Any]) -> DataConfig:
    """The configuration of a corpus from options of [data].

    Raises:
        ConfigError: an option is unknown, has a wrong value, or is for training alone.
    """
    defaults = DataConfig()
    given = (name for name, value in options.items()
             if name in _OF_TRAINING and value != getattr(defaults, name))  # fmt: skip
    if unused := sorted(given):
        problem = "is for training, and has no effect here; leave it out"
        raise ConfigError("options", [f"data.{name}: {problem}" for name in unused])
    return load_config(flags={f"data.{name}": value for name, value in options.items()}).data


def path_text(path: str | Path, name: str) -> str:
    """The path of a file or folder; `name` is that of the parameter.

    Raises:
        DataError: it is empty.
    """
    text = os.fspath(path)  # str() would make a name of anything, such as "None"
    require_name(text, name)
    return text
