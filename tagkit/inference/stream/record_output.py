"""Predicted records -> a file, a pair of files or a folder, by the writer of their format.

A pair is named by one of its files, and the other one may be a text of the user's: a pair that is
there is replaced only where its text stays as it is, as when a prediction is repeated.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tagkit.corpus.formats.folders.brat import PAIR, TEXT
from tagkit.corpus.formats.folders.file_sets import (
    files_of,
    pair_of,
    require_plain_name,
    write_folder,
    write_pair,
)
from tagkit.corpus.formats.table import FORMATS
from tagkit.corpus.source.look import Beginning
from tagkit.corpus.source.options import Item
from tagkit.corpus.source.pieces import OutputPiece, naming_file
from tagkit.corpus.source.source import STDIN, is_regular
from tagkit.errors import DataError, TagkitError
from tagkit.inference.stream.chunks import Output
from tagkit.models.answers.kind import Style
from tagkit.storage import encoded, holds_model, make_folder
from tagkit.storage.places import (
    refuse_folder_of_input,
    refuse_input,
    refuse_input_as_standard_output,
    require_new_folder,
    require_place,
)
from tagkit.text.records import TaggedText
from tagkit.wording import once, reason


def fills_files(format: str) -> bool:
    """Whether a format fills a folder or a pair of files, rather than one file."""
    return format in FORMATS and FORMATS[format].many_files


def texts_of(path: str, named: str) -> list[str]:
    """The files of a folder of texts, in the order of their names, and those of folders in it.

    Hidden ones are left out. Empty for a file, for a model, and for a folder of another layout,
    also where that is the format that is `named`.
    """
    folder = Path(path)
    if path == STDIN or not os.path.isdir(path) or holds_model(folder) or fills_files(named):
        return []
    others = (row for row in FORMATS.values() if row.many_files and row.holds != "classes")
    if any(row.look(Beginning(folder)) for row in others):
        return []
    inside = (each.relative_to(folder) for each in sorted(folder.rglob("*")) if each.is_file())
    return [str(folder / each) for each in inside if not any(part[0] == "." for part in each.parts)]


def output_files(
    output: Path, inputs: Iterable[str], named: str
) -> list[tuple[Path | None, Sequence[str]]]:
    """A file in a folder, with the name of its input, for each file of the inputs.

    Args:
        output: the folder.
        inputs: files and folders.
        named: the format of the inputs, or "auto".

    Raises:
        DataError: one has no name, two have the same, or an output would replace an input.
    """
    found: dict[Path, str] = {}
    for path in inputs:
        if path == STDIN:
            raise DataError(f"{output}: standard input has no name for a file in it; name a file")
        for file in texts_of(path, named) or [path]:
            inside = os.path.relpath(file, path) if file != path else os.path.basename(path)
            if (other := found.setdefault(output / inside, file)) != file:
                raise DataError(f"{output / inside}: would be that of {other} and of {file}")
    read = {os.path.realpath(file) for file in found.values()}
    for place in found:
        if os.path.realpath(place) in read:
            raise DataError(f"{place}: is an input, and would be lost; name another folder")
        make_folder(place.parent)
    return [(place, [file]) for place, file in found.items()]


def _is_pair(output: Path, format: str) -> bool:
    # brat keeps a text and its annotation in two files; either name stands for the pair.
    return fills_files(format) and FORMATS[format].endings[:1] == PAIR[1:] and output.suffix in PAIR


def check_output(output: Path | None, format: str, inputs: Iterable[str]) -> None:
    """Make sure that an output can be written, and that it is none of the inputs.

    Args:
        output: a file or a folder; None for standard output.
        format: that is written.
        inputs: paths of the inputs.

    Raises:
        DataError: the output is an input, or cannot be created, or one file of a pair is there
            without the other.
    """
    if output is None:
        if fills_files(format):
            raise DataError(f"{format} fills files: name a folder with output=...")
        refuse_input_as_standard_output(file for path in inputs for file in files_of(path))
        return
    read = [file for path in inputs for file in files_of(path)]
    if not fills_files(format):
        refuse_input(output, read)
    elif _is_pair(output, format):
        for file in pair_of(output):
            refuse_input(file, read)
            require_place(file, replace=True)
        _require_both_or_none(output)
    else:  # folders are filled, never replaced
        require_plain_name(output, format)
        refuse_folder_of_input(output, read)
        require_new_folder(output)


def _require_both_or_none(output: Path) -> None:
    """Refuse a pair of which one file is there: no prediction wrote it.

    Raises:
        DataError: it is.
    """
    there = [file for file in pair_of(output) if is_regular(str(file))]
    if len(there) == 1:
        (other,) = {*pair_of(output)} - {*there}
        raise DataError(
            f"{there[0]}: is there without {other.name}, and would be lost; name another file"
        )


def least_sure_first(outputs: Iterable[Output], style: Style) -> Iterator[Output]:
    """The records of all outputs, each by itself, ordered by how sure their answers are.

    All of them are held meanwhile, as the last one may be the first.
    """
    found: list[tuple[float, Output]] = []
    for output in outputs:
        parts: Sequence[Any] = output.items if style.row else output.text.split("\n")[:-1]
        ends = [start for _, start in output.starts[1:]] + [len(parts)]
        for (sureness, start), end in zip(output.starts, ends, strict=True):
            items = tuple(parts[start:end]) if style.row else ()
            text = "" if style.row else "".join(f"{line}\n" for line in parts[start:end])
            found.append((sureness, Output(output.file, text, items, 0, 0)))
    found.sort(key=lambda each: each[0])  # of equal ones the first of the input first
    return (output for _, output in found)


def write_records(
    outputs: Iterable[Output],
    style: Style,
    output: Path | None,
    write: Callable[[str], None] | None,
    note: Callable[[str], None],
) -> None:
    """Write the records of all chunks, of one input or several, as one output.

    Args:
        outputs: of the chunks, in order.
        style: of the output, in a format that is written from records.
        output: the folder, or one of the pair of files, of a format that fills such.
        write: writes text to the file of any other format; None where a folder is filled.
        note: called with a sentence on what the format cannot hold.

    Raises:
        DataError: an input cannot be read, or the output cannot be written.
        FormatError: the format cannot hold a record.
    """
    single = output is not None and _is_pair(output, style.format)
    if output is not None and write is None:
        pieces = _pieces(outputs, style, single=single, note=note, on_chunk=lambda: None)
        if single:
            _write_pair(output, pieces)
        else:
            write_folder(output, pieces)
        return
    ready: list[str] = []

    def flush() -> None:
        if write:
            write("".join(ready))
        ready.clear()

    try:
        for piece in _pieces(outputs, style, single=single, note=note, on_chunk=flush):
            ready.append(piece.text)
    except TagkitError:  # what was predicted before it is not lost
        flush()
        raise
    flush()


def _write_pair(output: Path, pieces: Iterable[OutputPiece]) -> None:
    """A new pair of files, or new annotation of the text of one that is there.

    Raises:
        DataError: the text that is there is another one, or nothing can be written.
    """
    text = next(file for file in pair_of(output) if file.suffix == TEXT)
    if is_regular(str(text)):
        write_pair(output, _with_text_of(text, pieces), replace=True)
    else:
        write_pair(output, pieces, replace=False)


def _with_text_of(file: Path, pieces: Iterable[OutputPiece]) -> Iterator[OutputPiece]:
    """The pieces, as long as their text is that of the file.

    Raises:
        DataError: it is another one, or cannot be read.
    """
    try:
        there = file.open("rb")
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {reason(error)}") from None
    with there:
        for piece in pieces:
            if piece.file == TEXT:
                text = encoded(piece.text, first=there.tell() == 0)
                if there.read(len(text)) != text:
                    raise _another_text(file)
            yield piece
        if there.read(1):
            raise _another_text(file)


def _another_text(file: Path) -> DataError:
    return DataError(
        f"{file}: holds another text than the predictions, and would be lost; name another file"
    )


def _pieces(
    outputs: Iterable[Output],
    style: Style,
    *,
    single: bool,
    note: Callable[[str], None],
    on_chunk: Callable[[], None],
) -> Iterator[OutputPiece]:
    """The pieces of an output.

    `on_chunk` is called when all pieces of a chunk have been taken, before the next chunk is
    asked for: whoever writes the input may be waiting for them.
    """
    format = style.row
    assert format is not None
    file = ""

    def items() -> Iterator[Item | TaggedText]:
        nonlocal file
        for output in outputs:
            file = output.file
            yield from output.items
            on_chunk()

    writing = style.answers.writing(single=single, note=once(note))
    yield from naming_file(format.write(items(), writing), lambda: file)
