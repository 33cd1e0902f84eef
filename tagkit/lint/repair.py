"""A repaired copy of a column file: every line stays, each repair is told.

Mended are tags that the file's scheme forbids or that are in another scheme (read as conlleval
does), labels that differ from a far more frequent one in case or punctuation alone, byte order
marks, CRLF, blanks at the ends of lines and in the lines between sentences, and a last line without
its end. What a person has to decide, such as a line with too few columns, stays as it is.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tagkit.config import DataConfig
from tagkit.errors import DataError, FormatError, SchemeError
from tagkit.formats.columns import Block, ColumnReader
from tagkit.formats.columns_out import replace_tags
from tagkit.formats.layout import BLANK, Layout, column_options
from tagkit.formats.lines import STDIN, Source, has_mark, open_bytes
from tagkit.formats.table import recognise
from tagkit.lint.labels import variants
from tagkit.output import make_folder, open_output
from tagkit.schemes import (
    Detection,
    convert,
    detect,
    illegal_count,
    join_tag,
    split_tag,
    to_spans,
)

_SURE = 4  # times as frequent as its variant must a spelling be to replace it


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
        left: lines that cannot be read; they are as they were.
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


def write_repaired(paths: Sequence[str], out: Path, data: DataConfig) -> dict[str, Repaired]:
    """Write repaired copies: of one file to `out`, of several into the folder `out`.

    Returns:
        The place of each copy, and what was done.

    Raises:
        DataError: a file is no column file, cannot be read, or would be overwritten.
    """
    places = [out] if len(paths) == 1 else [out / Path(path).name for path in paths]
    taken = {Path(path).resolve() for path in paths}
    for place in places:
        if place.resolve() in taken or places.count(place) > 1:
            raise DataError(f"{place}: --fix writes copies. Name a file or folder that is not read")
    done = {str(place): repair_file(path, data) for path, place in zip(paths, places, strict=True)}
    if len(paths) > 1:
        make_folder(out)
    for name, repaired in done.items():
        with open_output(Path(name)) as write:
            write("".join(f"{line}\n" for line in repaired.lines))
    return done


def repair_file(path: str, data: DataConfig) -> Repaired:
    """A repaired copy of a column file.

    Raises:
        DataError: it is no column file, or cannot be read.
    """
    source = Source(path, data.encoding)
    format = recognise(source, data.format)
    # Raw text is a column file that is broken, or so it is meant to be.
    if format.name not in ("columns", "conllu", "text"):
        raise DataError(
            f"{path}: --fix writes column files, and this is {format.name}; `tagkit convert` makes "
            "one of it"
        )
    return _Repair(source, data).repaired()


class _Repair:
    """One file on its way."""

    def __init__(self, source: Source, data: DataConfig) -> None:
        self.source = source
        self.left: list[FormatError] = []
        options = column_options(data, with_tags=True)
        reader = ColumnReader(source.name, options, self.left.append)
        self.blocks = [block for lines in source.pieces() for block in reader.feed(lines)]
        self.blocks += list(reader.close())
        self.layout = reader.layout
        self.done: dict[tuple[str, str], list[int]] = {}

    def repaired(self) -> Repaired:
        """The file's lines with all repairs."""
        self._note_file_ends()
        sentences = [block.sentence for block in self.blocks if block.sentence]
        try:
            detection = detect([sentence.tags or () for sentence in sentences])
        except SchemeError:  # a person must say what is meant
            detection = Detection("labels", 0, 0)
        labels = self._labels(detection.scheme)
        spelling = {
            other: one
            for one, other in variants(labels, plain=True)
            if labels[one] >= _SURE * labels[other]
        }
        lines: list[str] = []
        for block in self.blocks:
            if self.layout is not None and block.sentence is not None:
                block = self._with_tags(block, self.layout, detection.scheme, spelling)
            lines += self._clean(block)
        return Repaired(
            tuple(lines),
            tuple(Repair(kind, told, tuple(at)) for (kind, told), at in self.done.items()),
            tuple(self.left),
        )

    def _note_file_ends(self) -> None:
        if self.source.path == STDIN:
            return
        with open_bytes(self.source.path) as file:
            content = file.read()
        if has_mark(self.source.path):
            self._say("byte-order-mark", "left out the byte order mark", 1)
        if content and not content.endswith(b"\n"):
            number = content.count(b"\n") + 1
            self._say("last-line", "ended the last line", number)

    def _labels(self, scheme: str) -> Counter[str]:
        tags = [block.sentence.tags or () for block in self.blocks if block.sentence]
        if scheme == "labels":
            return Counter(tag for sequence in tags for tag in sequence)
        return Counter(span.label for sequence in tags for span in to_spans(sequence))

    def _with_tags(
        self, block: Block, layout: Layout, scheme: str, spelling: dict[str, str]
    ) -> Block:
        assert block.sentence is not None  # callers have looked
        old = block.sentence.tags or ()
        spelt = tuple(self._spelt(tag, scheme, spelling) for tag in old)
        new = spelt
        if scheme != "labels" and illegal_count([spelt], scheme):
            new = convert(spelt, scheme)
        for row, before, named, after in zip(block.rows, old, spelt, new, strict=True):
            if before != named:
                self._say("label-spelling", f"{before} is now {named}", block.first_line + row)
            if named != after:
                self._say("illegal-transition", f"{named} is now {after}", block.first_line + row)
        if new == old:
            return block
        return replace(block, lines=tuple(replace_tags(block, layout, new)))

    def _spelt(self, tag: str, scheme: str, spelling: dict[str, str]) -> str:
        if scheme == "labels":
            return spelling.get(tag, tag)
        prefix, label = split_tag(tag)
        return join_tag(prefix, spelling[label]) if label in spelling else tag

    def _clean(self, block: Block) -> Iterator[str]:
        for number, line in enumerate(block.lines, block.first_line):
            clean = line.rstrip(BLANK)
            if line.endswith("\r"):
                self._say("crlf", "ended lines with LF alone", number)
            if line.removesuffix("\r") != clean:
                what = "at the end of lines" if clean else "in lines between sentences"
                self._say("blanks", f"left out blanks {what}", number)
            yield clean

    def _say(self, kind: str, message: str, line: int) -> None:
        self.done.setdefault((kind, message), []).append(line)
