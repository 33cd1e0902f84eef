"""A repaired copy of a column file: no line is lost, and each repair is reported.

Repaired are, in each tag column, tags that its scheme forbids or that are in another scheme (read
as conlleval does), and labels that differ from a far more frequent one in case or punctuation
alone; byte order marks, CRLF, blanks at the ends of lines and in the lines between sentences, and a
last line without its end. Copies are in UTF-8. What a person has to decide, such as a line with too
few columns or a tag of no scheme that resembles no other one, stays as it is.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from tagkit.config import DataConfig
from tagkit.corpus.formats.columns.filling import ColumnValues, filled
from tagkit.corpus.formats.columns.reader import ColumnReader, LineBlock
from tagkit.corpus.formats.folders.file_sets import files_of
from tagkit.corpus.formats.recognition import recognise
from tagkit.corpus.lint.spelling import corrections, variants
from tagkit.corpus.source.decoding import is_utf_8
from tagkit.corpus.source.layout import BLANK, NO_TAGS, Layout, column_options
from tagkit.corpus.source.options import source_of
from tagkit.corpus.source.source import STDIN, Source, is_regular
from tagkit.errors import DataError, FormatError
from tagkit.storage import BYTE_ORDER_MARK, make_folder, open_output
from tagkit.storage.places import refuse_input, require_place
from tagkit.text.records import Sentence
from tagkit.text.scheme_detection import Judgement, count_steps, judge, steps_of
from tagkit.text.schemes import convert, has_spans, is_span_tag, join_tag, split_tag, to_spans
from tagkit.wording import quoted, shown_name

# A spelling must be so many times as frequent as its variant to replace it: at 4 to 1 it is hardly
# the variant that was meant, and what was written is in the report.
_SURE = 4


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
        self.layout = reader.layout
        # Lines by kind and message: one entry in the report for a thousand lines with CRLF.
        self.done: dict[tuple[str, str], list[int]] = {}
        self.columns = _tag_columns(self.layout, self.blocks, data)

    def repaired(self) -> Repaired:
        """The file's lines with all repairs."""
        self._note_file()
        unread = {error.line for error in self.left}
        lines: list[str] = []
        for block in self.blocks:
            if self.layout is not None and block.sentence is not None:
                block = self._with_tags(block, block.sentence, self.layout)
            lines += self._clean(block, unread)
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
        if facts.has_mark and not self._begins_with_mark():
            self._say("byte-order-mark", "left out the byte order mark", 1)
        if self.blocks and not facts.ends_last_line:
            last = self.blocks[-1]
            number = last.first_line + len(last.lines) - 1
            self._say("last-line", "ended the last line", number)

    def _begins_with_mark(self) -> bool:
        """Whether a mark is left for the repair of lines, which reports it."""
        return bool(self.blocks) and self.blocks[0].lines[0].startswith(BYTE_ORDER_MARK)

    def _with_tags(self, block: LineBlock, sentence: Sentence, layout: Layout) -> LineBlock:
        changed = []
        for column in self.columns:
            old = column.tags_of(sentence)
            spelt = tuple(column.spelling.get(tag, tag) for tag in old)
            new = _mended(spelt, column.judged)
            for row, before, named, after in zip(block.rows, old, spelt, new, strict=True):
                for kind, one, other in (
                    ("label-spelling", before, named), ("illegal-transition", named, after)
                ):  # fmt: skip
                    if one != other:
                        message = f"{column.said}{shown_name(one)} is now {shown_name(other)}"
                        self._say(kind, message, block.first_line + row)
                if after in column.judged.odd:
                    odd = f"{column.said}tag {quoted(after)} is of no scheme"
                    self.left.append(FormatError(self.source.name, block.first_line + row, odd))
            # I-per behind I-PER: another span of the label that was meant would begin with B.
            for at in _joined(old, new):
                message = f"{column.said}joined a span to the one before it, now of the same label"
                self._say("joined-spans", message, block.first_line + block.rows[at])
            if new != old:
                changed.append(ColumnValues(column.index, column.key, new))
        if not changed:
            return block
        return replace(block, lines=tuple(filled(block, layout.tabs, changed)))

    def _clean(self, block: LineBlock, unread: set[int]) -> Iterator[str]:
        for number, line in enumerate(block.lines, block.first_line):
            if number == 1 and line.startswith(BYTE_ORDER_MARK):  # one more than the decoder drops
                line = line.lstrip(BYTE_ORDER_MARK)
                self._say("byte-order-mark", "left out the byte order mark", number)
            clean = body = line.rstrip("\r")
            if body != line:
                self._say("crlf", "ended lines with LF alone", number)
            # In a line that could not be read a tab at the end may show which cell is missing.
            if number not in unread:
                clean = body.rstrip(BLANK)
            if body != clean:
                what = "at the end of lines" if clean else "in lines between sentences"
                self._say("blanks", f"left out blanks {what}", number)
            yield clean

    def _say(self, kind: str, message: str, line: int) -> None:
        self.done.setdefault((kind, message), []).append(line)


@dataclass(frozen=True, slots=True)
class _TagColumn:
    """A column of tags, and what is repaired in it.

    Attributes:
        index: of the column, from 0.
        key: of the pair in it whose value is the tag; empty for the whole cell.
        place: among several tag columns; None where there is one.
        said: what a message begins with.
        spelling: for each tag that is spelt as no other one, the tag that it becomes.
        judged: the scheme of the tags, once their spelling is corrected.
    """

    index: int
    key: str
    place: int | None
    said: str
    spelling: Mapping[str, str]
    judged: Judgement

    def tags_of(self, sentence: Sentence) -> tuple[str, ...]:
        """The column's tags, one a word."""
        return _tags_of(sentence, self.place)


def _tags_of(sentence: Sentence, place: int | None) -> tuple[str, ...]:
    return (sentence.tags or ()) if place is None else sentence.columns[place].values


def _tag_columns(
    layout: Layout | None, blocks: Sequence[LineBlock], data: DataConfig
) -> list[_TagColumn]:
    """The columns that are repaired: all of those that the configuration names, if they have tags.

    Args:
        layout: of the file; None where it has no token.
        blocks: all of the file.
        data: how it is read.
    """
    if layout is None or layout.tag is None:
        return []
    # As the check names them: the first without its name.
    places: list[tuple[int, str, int | None, str]] = [
        (column.index, column.key, place, f"column {column.name}: " if place else "")
        for place, column in enumerate(layout.columns)
        if column.name not in NO_TAGS
    ]
    if not layout.columns:
        places = [(layout.tag, layout.tag_key, None, "")]
    found = []
    for index, key, place, said in places:
        tags = [_tags_of(block.sentence, place) for block in blocks if block.sentence]
        spelling = _spelling(tags, judge(count_steps(tags), data.scheme))
        # With their spelling corrected, tags may be in another scheme, and no longer odd.
        steps = count_steps(tuple(spelling.get(tag, tag) for tag in each) for each in tags)
        judged = judge(steps, data.scheme)
        found.append(_TagColumn(index, key, place, said, spelling, judged))
    return found


def _spelling(sentences: Sequence[Sequence[str]], judged: Judgement) -> dict[str, str]:
    """For each tag that is spelt as no other one, the tag that it becomes."""
    tags = Counter(tag for sentence in sentences for tag in sentence)
    if not has_spans(judged.scheme):
        return _far_more_frequent(tags)
    spans = (to_spans(judged.without_odd(sentence)) for sentence in sentences)
    labels = _far_more_frequent(Counter(span.label for each in spans for span in each))
    spelling = {}
    for tag in set(tags) - judged.odd:
        prefix, label = split_tag(tag)
        if label in labels:
            spelling[tag] = join_tag(prefix, labels[label])
    mended = (_mended(sentence, judged) for sentence in sentences)  # as frequent as they will be
    for tag, known in corrections(judged.odd, Counter(chain.from_iterable(mended)), _SURE).items():
        spelling[tag] = spelling.get(known, known)
    return spelling


def _far_more_frequent(counts: Counter[str]) -> dict[str, str]:
    return {
        other: one
        for one, other in variants(counts, plain=True)
        if counts[one] >= _SURE * counts[other]
    }


def _joined(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """Where a span began that is part of the one before it once the labels are spelt alike."""
    # A tag of no scheme began none.
    old = [one if is_span_tag(one) else other for one, other in zip(old, new, strict=True)]
    begun, begins = ({span.start for span in to_spans(tags)} for tags in (old, new))
    return sorted(begun - begins)


def _mended(tags: Sequence[str], judged: Judgement) -> tuple[str, ...]:
    """The tags in the file's scheme, those of no scheme as they are."""
    if not has_spans(judged.scheme) or not any(map(judged.forbids, steps_of(tags))):
        return tuple(tags)
    mended: list[str] = []
    # Odd tags stay for a person to correct; the tags on either side are converted apart.
    for is_odd, some in groupby(tags, judged.odd.__contains__):
        part = tuple(some)
        mended += part if is_odd else convert(part, judged.scheme)
    return tuple(mended)
