"""A repaired copy of a column file, of which each repair is reported.

Repaired is what takes no judgement: in each tag column, tags that its scheme forbids or that are
in another scheme (read as conlleval does); odd lines (`ODDITIES`); and long sentences that are
equal to an earlier one in all columns, which are left out. Copies are in UTF-8. What a person has
to decide, such as a line with too few columns or a tag of no scheme, stays as it is.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from tagkit.config import DataConfig
from tagkit.corpus.formats.columns.filling import ColumnValues, filled
from tagkit.corpus.formats.columns.reader import ColumnReader, LineBlock
from tagkit.corpus.formats.folders.file_sets import files_of
from tagkit.corpus.formats.recognition import recognise
from tagkit.corpus.lint.odd_lines import ODDITIES, oddities_of
from tagkit.corpus.lint.summary import LabelSummary, tag_columns
from tagkit.corpus.source.decoding import is_utf_8
from tagkit.corpus.source.layout import BLANK, Layout, column_options
from tagkit.corpus.source.notations import respelled
from tagkit.corpus.source.options import silent, source_of
from tagkit.corpus.source.source import STDIN, Source, is_regular
from tagkit.corpus.splits.counts import is_long
from tagkit.errors import DataError, FormatError
from tagkit.storage import BYTE_ORDER_MARK, make_folder, open_output
from tagkit.storage.places import refuse_input, require_place
from tagkit.text.notation import USUAL
from tagkit.text.scheme_detection import Judgement, steps_of
from tagkit.text.schemes import convert
from tagkit.wording import quoted, shown_name


@dataclass(frozen=True, slots=True)
class Repair:
    """One kind of repair of one file.

    Attributes:
        kind: a name for programs.
        message: what was done, for people.
        lines: where.
    """

    kind: str
    message: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Repaired:
    """A repaired file.

    Attributes:
        lines: without their ends.
        repairs: what was done.
        left: lines that cannot be read, and tags of no scheme; they are as they were.
    """

    lines: tuple[str, ...]
    repairs: tuple[Repair, ...]
    left: tuple[FormatError, ...]

    def to_dict(self) -> dict[str, Any]:
        """For JSON, without the lines."""
        return {
            "repairs": [asdict(repair) for repair in self.repairs],
            "left": [str(error) for error in self.left],
        }


def copies_of(paths: Sequence[str], out: Path, *, force: bool) -> dict[str, Path]:
    """The place of each file's copy: of one file `out` itself, of several a file in the folder.

    Args:
        paths: of the files, none of which is ever written.
        out: a file, or a folder for several.
        force: whether copies may replace files that exist.

    Raises:
        DataError: a copy would replace a file, or cannot be written.
    """
    places = [out] if len(paths) == 1 else [out / Path(path).name for path in paths]
    if len(paths) > 1 and out.exists() and not out.is_dir():
        raise DataError(f"{out}: is a file, and the copies of several files go into a folder")
    # Everything is looked at before anything is written.
    for place in places:
        refuse_input(place, (file for path in paths for file in files_of(path)))
        if places.count(place) > 1:
            raise DataError(
                f"{place}: two files of this name would be written. Repair them separately"
            )
        if len(paths) == 1 or out.exists():
            require_place(place, replace=force)
    if len(paths) > 1:
        require_place(out, replace=False)
    return dict(zip(paths, places, strict=True))


def write_repaired(
    copies: Mapping[str, Path], data: DataConfig, *, force: bool
) -> dict[str, Repaired]:
    """Write repaired copies.

    Args:
        copies: the place of each file's copy, as `copies_of` gives it.
        data: how the files are read.
        force: whether copies may replace files that exist.

    Returns:
        The place of each copy, and what was done.

    Raises:
        DataError: a file is no column file, cannot be read, or its copy cannot be written.
    """
    done = {place: repair_file(path, data) for path, place in copies.items()}
    if len(copies) > 1:
        make_folder(next(iter(done)).parent)
    for place, repaired in done.items():
        with open_output(place, replace=force) as write:
            write("".join(f"{line}\n" for line in repaired.lines))
    return {str(place): repaired for place, repaired in done.items()}


def repair_file(path: str, data: DataConfig) -> Repaired:
    """A repaired copy of a column file.

    Raises:
        DataError: it is no column file, or cannot be read.
    """
    if path == STDIN or (os.path.exists(path) and not os.path.isdir(path)
                         and not is_regular(path)):  # fmt: skip
        name = "standard input" if path == STDIN else path
        raise DataError(f"{name}: a repair reads the file twice: name a file, and not a pipe")
    source = source_of(path, data)
    format = recognise(source, data.format)
    if not format.is_grid:
        remedy = "; `tagkit convert` makes one of it"
        if format.holds == "classes":  # of which columns would hold nothing
            remedy = ""
        elif format.holds == "text":
            remedy = "; data.format=columns says that it is meant to be one"
        raise DataError(
            f"{path}: only column files can be repaired, and this is {format.name}{remedy}"
        )
    # As the check reads it: in a .conllu file ten columns are wanted, whatever it begins with.
    return _Repair(source, data.model_copy(update={"format": format.name})).repaired()


class _Repair:
    """One file on its way."""

    def __init__(self, source: Source, data: DataConfig) -> None:
        self.source = source
        self.left: list[FormatError] = []
        options = column_options(data, with_tags=True)
        reader = ColumnReader(source.name, options, self.left.append)
        self.blocks = list(reader.blocks(source.pieces()))
        self.unread = {error.line for error in self.left}
        self.layout = reader.layout
        self.columns = tag_columns(data)
        found = (block.sentence for block in self.blocks if block.sentence)
        read = respelled(found, source.name, data, silent)
        self.notation, sentences = read.notation, [*read.items]
        for column in self.columns:
            column.see(sentences)
        # Lines by kind and message: one entry in the report for a thousand lines with CRLF.
        self.done: dict[tuple[str, str], list[int]] = {}

    def repaired(self) -> Repaired:
        """The file's lines with all repairs."""
        self._note_file()
        lines: list[str] = []
        seen: set[tuple[str, ...]] = set()
        for block in self.blocks:
            mended = self._with_tags(block, self.layout) if self.layout else block
            clean = tuple(self._clean(mended))
            if block.sentence and is_long(block.sentence.words):
                # The last sentence of a file often lacks its blank line.
                key = tuple(filter(None, clean))
                own = range(block.first_line, block.first_line + len(clean))
                if key in seen and self.unread.isdisjoint(own):
                    message = "left out a sentence that is equal to an earlier one in all columns"
                    self._say("repeated-sentence", message, block.first_line)
                    continue
                seen.add(key)
            lines += clean
        return Repaired(
            tuple(lines),
            tuple(Repair(kind, message, tuple(at)) for (kind, message), at in self.done.items()),
            tuple(sorted(self.left, key=lambda error: error.line)),
        )

    def _note_file(self) -> None:
        encoding, facts = self.source.encoding, self.source.facts
        # One encoding for all copies; UTF-8 can write whatever could be read.
        if not is_utf_8(encoding):
            self.done["encoding", f"wrote it in UTF-8, no longer in {encoding}"] = []
        if facts.has_mark:  # which the decoder has left out
            self._say("byte-order-mark", ODDITIES["byte-order-mark"].mended, 1)
        if self.blocks and not facts.ends_last_line:
            last = self.blocks[-1]
            number = last.first_line + len(last.lines) - 1
            self._say("last-line", ODDITIES["last-line"].mended, number)

    def _with_tags(self, block: LineBlock, layout: Layout) -> LineBlock:
        sentence, changed = block.sentence, []
        for column in self.columns if sentence else ():
            judged = column.spans
            if judged is None or sentence is None:
                continue
            old = column.tags_in(sentence)
            own = self.notation if column.place is None else USUAL
            new = own.written_all(_mended(own.read_all(old), judged))
            for row, before, after in zip(block.rows, old, new, strict=True):
                line = block.first_line + row
                if before != after:
                    message = f"{column.said}{shown_name(before)} is now {shown_name(after)}"
                    self._say("illegal-transition", message, line)
                if own.read(after) in judged.odd:
                    odd = f"{column.said}tag {quoted(after)} is of no scheme"
                    self.left.append(FormatError(self.source.name, line, odd))
            if new != old:
                changed.append(ColumnValues(*_place(column, layout), new))
        return replace(block, lines=tuple(filled(block, layout, changed)))

    def _clean(self, block: LineBlock) -> Iterator[str]:
        for number, line in enumerate(block.lines, block.first_line):
            if number == 1:  # there may be one mark more than the decoder leaves out
                line = line.lstrip(BYTE_ORDER_MARK)
            # In a line that could not be read a tab at the end may show which cell is missing.
            is_read = number not in self.unread
            clean = line.rstrip(BLANK if is_read else "\r")
            for kind in oddities_of(line) if clean != line else ():
                if ODDITIES[kind].mended and (is_read or kind == "crlf"):
                    self._say(kind, ODDITIES[kind].mended, number)
            yield clean

    def _say(self, kind: str, message: str, line: int) -> None:
        self.done.setdefault((kind, message), []).append(line)


def _place(column: LabelSummary, layout: Layout) -> tuple[int, str]:
    """The index of a column of tags, and the key of the pair in it whose value is the tag."""
    if layout.columns:
        named = layout.columns[column.place or 0]
        return named.index, named.key
    assert layout.tag is not None
    return layout.tag, layout.tag_key


def _mended(tags: Sequence[str], judged: Judgement) -> tuple[str, ...]:
    """The tags in the file's scheme, those of no scheme as they are."""
    if not any(map(judged.forbids, steps_of(tags))):
        return tuple(tags)
    mended: list[str] = []
    # Odd tags stay for a person to correct; the tags on either side are converted apart.
    for is_odd, some in groupby(tags, judged.odd.__contains__):
        part = tuple(some)
        mended += part if is_odd else convert(part, judged.scheme)
    return tuple(mended)
