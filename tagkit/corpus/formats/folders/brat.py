r"""brat standoff: a text in NAME.txt and, in NAME.ann, `T1<TAB>LABEL 16 20<TAB>Oslo`.

The format is described on brat's page "Standoff format" (brat.nlplab.org/standoff.html). Offsets
count code points of the text as it is in its file: \r\n is two of them; a byte order mark is none,
as it is no part of the text. Tools count in several ways: one that _fits every line of a file, as
the copies of the spans' texts in .ann show, is that of the file, and its offsets are converted.

Where labels are wanted, a text needs its .ann. Where they are not, as in prediction, texts alone
are read, and no .ann is opened.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tagkit.corpus.source.decoding import ByteFacts
from tagkit.corpus.source.look import CERTAIN, Beginning, Sureness
from tagkit.corpus.source.options import ReaderOptions, source_of
from tagkit.corpus.source.pieces import OutputPiece, Writing, cannot_hold, note_changed_name
from tagkit.corpus.source.source import Source, unpacked_name
from tagkit.errors import DataError, FileError, FormatError
from tagkit.storage import PACKED
from tagkit.text.records import Document, TextSpan
from tagkit.wording import listed, plural, quoted, reason, shown_name

ANNOTATION, TEXT = ".ann", ".txt"
PAIR = (TEXT, ANNOTATION)
_LONGEST_NAME = 200  # bytes
# Lines of other kinds, by their first letter. They annotate spans further, and a tagger cannot
# learn them; they are counted and reported, so that nobody believes that they were used.
_OTHER = {
    "R": "relations", "E": "events", "A": "attributes", "M": "attributes", "N": "normalizations",
    "#": "notes", "*": "equivalences",
}  # fmt: skip

Place = Callable[[int], int | None]  # an offset -> a place in the text; None where there is none


def annotated_files(path: Path) -> list[Path]:
    """The .ann files of a folder, or the one of a pair, in order; none where there are none.

    Raises:
        DataError: the folder cannot be read, or has an .ann both plain and packed.
    """
    if os.path.isdir(path):
        files = [file for file in _files_in(path) if _stem(file) and _ending(file) == ANNOTATION]
        plain = {*files}
        for file in files:
            name = unpacked_name(file.name)
            if name != file.name and file.with_name(name) in plain:
                problem = f"expected one .ann a text, found {name} and {file.name}"
                raise DataError(f"{path}: {problem}: remove one of the two")
        return files
    if _ending(path) not in PAIR:
        return []
    if _ending(path) == ANNOTATION and path.is_file():  # whatever lies beside it
        return [path]
    # Given one file of a pair, the other one is looked up beside it.
    return [found] if (found := _other_of(path, ANNOTATION)) else []


def look_at_brat(beginning: Beginning) -> Sureness | None:
    """A pair of files, or a folder with one or more."""
    if not annotated_files(beginning.path):
        return None
    is_folder = os.path.isdir(beginning.path)
    why = "a folder with .ann files" if is_folder else "a pair of files, .txt and .ann"
    return Sureness(CERTAIN, why)


def _files_in(folder: Path) -> list[Path]:
    """The files of a folder and of the folders in it that are not hidden, in order."""
    found: list[Path] = []

    def refuse(error: OSError) -> None:
        raise DataError(f"{folder}: cannot be read as a folder: {reason(error)}") from None

    for place, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(place, name) for name in names]
    return sorted(found)


def _other_of(file: Path, ending: str) -> Path | None:
    """The file of a pair that has this ending, plain or packed; None where there is none."""
    beside = [file.with_name(f"{_stem(file)}{ending}{gz}") for gz in ("", PACKED)]
    return next((path for path in beside if os.path.isfile(path)), None)


def _without_annotation(path: Path, annotated: Sequence[Path]) -> list[Path]:
    """The .txt files of a folder that have no .ann, in order, or the one that the path names."""
    files = _files_in(path) if os.path.isdir(path) else [path]
    names = {_name(path, file) for file in annotated}
    return [
        file
        for file in files
        if _ending(file) == TEXT
        and _name(path, file) not in names
        and not file.name.startswith(".")
        and _other_of(file, TEXT) == file  # a.txt rather than a.txt.gz, where both are there
    ]


def _ending(path: Path) -> str:
    return Path(unpacked_name(path.name)).suffix


def _stem(path: Path) -> str:
    return Path(unpacked_name(path.name)).stem


def _name(path: Path, file: Path) -> str:
    """What a text is called: its file's name without the ending, in its folder within `path`."""
    folder = file.parent.relative_to(path).as_posix() if path in file.parents else "."
    return _stem(file) if folder == "." else f"{folder}/{_stem(file)}"


def read_brat(source: Source, reading: ReaderOptions) -> Iterator[Document]:
    """A document for each text of a folder, or for one pair of files."""
    path = Path(source.path)
    files = annotated_files(path)
    alone = _without_annotation(path, files)
    if not reading.with_tags:
        order = [(f"{_name(path, file)}{ANNOTATION}", file) for file in (*files, *alone)]
        texts = _texts(path, [file for _, file in sorted(order)], reading)
        yield from _without_blank(path, texts, reading)
        return
    if not files:
        raise DataError(f"{path}: expected a file NAME.ann beside NAME.txt, found none")
    if alone:
        names, are = listed([file.name for file in alone]), "is" if len(alone) == 1 else "are"
        reading.note(f"{path}: {plural(len(alone), 'text')} without .ann {are} left out: {names}")
    if os.path.isdir(path) and os.path.isdir(reading.compared_with):
        files = _with_gold(path, files, reading)
    others: Counter[str] = Counter()
    found = (_document(file, _name(path, file), reading, others) for file in files)
    yield from _without_blank(path, (each for each in found if each is not None), reading)
    if others:
        skipped = ", ".join(f"{name} ({count:,})" for name, count in others.items())
        reading.note(f"{path}: only spans are read; skipped: {skipped}")


def _without_blank(
    path: Path, documents: Iterable[Document], reading: ReaderOptions
) -> Iterator[Document]:
    """The documents that have a text; blank ones, in which nothing can be marked, are noted."""
    blank: list[str] = []
    for document in documents:
        if document.text.strip():
            yield document
        else:
            blank.append(f"{document.name}{TEXT}")
    if blank:
        are = "is" if len(blank) == 1 else "are"
        reading.note(f"{path}: {plural(len(blank), 'blank text')} {are} left out: {listed(blank)}")


def _with_gold(path: Path, files: Sequence[Path], reading: ReaderOptions) -> list[Path]:
    """The files of texts that have an .ann among the gold labels; others are noted.

    Whoever predicts for a folder that is annotated in part predicts for all of its texts.
    """
    compared = Path(reading.compared_with)
    gold = {_name(compared, file) for file in annotated_files(compared)}
    if not gold:  # they are in another format
        return [*files]
    if others := [file.name for file in files if _name(path, file) not in gold]:
        which = f"{plural(len(others), 'file')} of texts without .ann in {reading.compared_with}"
        are = "is" if len(others) == 1 else "are"
        reading.note(f"{path}: {which} {are} left out: {listed(others)}")
    return [file for file in files if _name(path, file) in gold]


def _texts(path: Path, files: Sequence[Path], reading: ReaderOptions) -> Iterator[Document]:
    """The texts of these files, each of them an .ann or a text without one."""
    if not files:
        raise DataError(f"{path}: expected a file NAME.txt, found none")
    for file in files:
        text_file = _text_file(file, reading)
        text = None
        if text_file is not None:
            text = reading.text_of(str(text_file), may_be_blank=True)
        if text is not None:
            yield Document(text, name=_name(path, file), source=str(file))


def _text_file(file: Path, reading: ReaderOptions) -> Path | None:
    """The text of a pair; None where it is missing, which is refused."""
    found = _other_of(file, TEXT)
    if found is None:
        missing = file.with_name(f"{_stem(file)}{TEXT}")
        reading.refuse(str(file), 1, f"expected its text in {missing}, found no such file")
    return found


def _document(
    file: Path, name: str, reading: ReaderOptions, others: Counter[str]
) -> Document | None:
    """A text with its spans; None where it is refused."""
    text_file = _text_file(file, reading)
    if text_file is None:
        return None
    facts = ByteFacts(reading.data.encoding)
    text = reading.text_of(str(text_file), facts, may_be_blank=True)
    if text is None:
        return None
    try:
        marks = list(_marks(file, reading, others))
    except FileError as error:  # not of this encoding, or with a line that is too long
        reading.refuse(error.source, error.line, error.problem)
        return None
    if marks and not text.strip():
        reading.refuse(str(text_file), 1, f"expected a text, as {file} has spans, found none")
        return None
    names = Counter(mark.name for mark in marks)
    if twice := [name for name, count in names.items() if count > 1]:
        reading.note(f"{file}: ids that come twice, of which both spans are kept: {listed(twice)}")
    place = counting(text, facts.has_mark, marks)
    found: list[tuple[TextSpan, int]] = []
    for mark in marks:
        span = _span(text, mark, place, str(file), reading)
        if span is not None:
            found.append((span, mark.line))
    # brat numbers spans as they were drawn; everything here takes them in the order of the text.
    found.sort(key=lambda pair: (pair[0].start, pair[0].end))
    return Document(
        text=text,
        spans=tuple(span for span, _ in found),
        name=name,
        source=str(file),
        span_lines=tuple(line for _, line in found),
    )


@dataclass(frozen=True, slots=True)
class BratMark:
    """A T line ("text-bound annotation"): a label, stretches of the text, and a copy of these.

    Attributes:
        line: its number, from 1.
        name: T1, T2 and so on.
        label: of the span.
        pieces: start and end of each stretch; several where the annotation is discontinuous.
        repeated: the text at these places; may be empty, as some tools leave it out.
    """

    line: int
    name: str
    label: str
    pieces: tuple[tuple[int, int], ...]
    repeated: str


def mark_of(line: str, number: int) -> BratMark:
    """A T line.

    Raises:
        ValueError: it is none.
    """
    name, middle, *repeated = line.split("\t", 2)  # the copy may hold tabs itself
    label, _, offsets = middle.partition(" ")
    pieces = tuple(_stretch(pair) for pair in offsets.split(";"))  # "0 5;16 23" is discontinuous
    ordered = all(a[1] <= b[0] for a, b in pairwise(pieces))
    if not name.startswith("T") or not label or not ordered:
        raise ValueError
    return BratMark(number, name, label, pieces, repeated[0] if repeated else "")


def _stretch(text: str) -> tuple[int, int]:
    first, second = text.split()
    # isdecimal, as int() also takes signs and underscores.
    if not (first.isdecimal() and second.isdecimal() and int(first) < int(second)):
        raise ValueError
    return int(first), int(second)


def _marks(file: Path, reading: ReaderOptions, others: Counter[str]) -> Iterator[BratMark]:
    for number, line in source_of(str(file), reading.data, reading.digests).numbered():
        if not line.strip():
            continue
        if line[0] in _OTHER:
            others[_OTHER[line[0]]] += 1
            continue
        try:
            yield mark_of(line, number)
        except ValueError:
            reading.refuse(
                str(file),
                number,
                f"expected T1<TAB>LABEL START END<TAB>TEXT, found {quoted(line)}",
            )


def _span(
    text: str,
    mark: BratMark,
    place: Callable[[int], int | None],
    source: str,
    reading: ReaderOptions,
) -> TextSpan | None:
    """The span of a mark; None where it is refused or left out, which is reported."""
    where = f"{mark.pieces[0][0]} {mark.pieces[-1][1]}"
    shown = f"{shown_name(mark.name)} ({shown_name(mark.label)} {where})"
    start, end = place(mark.pieces[0][0]), place(mark.pieces[-1][1])
    if start is None or end is None:
        reading.refuse(
            source, mark.line, f"expected a place in the text's {len(text):,} characters, "
            f"found {shown}"
        )  # fmt: skip
        return None
    if not _fits(text, mark, place):
        reading.refuse(
            source, mark.line, f"{shown}: expected {quoted(mark.repeated)} there, found "
            f"{quoted(text[start:end])}"
        )  # fmt: skip
        return None
    if len(mark.pieces) > 1:
        how = reading.data.on_misaligned
        problem = f"{shown} is in {len(mark.pieces)} pieces, and a span is one stretch"
        # One tag a token has no way to say that words between two stretches are not part of a span.
        if how == "error":
            remedy = f"{problem}: see data.on_misaligned"
            reading.refuse(source, mark.line, remedy)
            return None
        done = "made one stretch" if how == "expand" else "left out"
        reading.note(f"{FormatError(source, mark.line, problem)}: {done}")
        if how != "expand":
            return None
    return TextSpan(text[start:end], start, end, mark.label)


def counting(text: str, has_mark: bool, marks: Sequence[BratMark]) -> Place:
    """How a file's offsets become places in its text: the first way that _fits every mark.

    A way of counting is that of a whole file, so one that _fits some marks alone is no evidence.

    Args:
        text: of the file, line ends as they are, without a byte order mark.
        has_mark: whether the file begins with one.
        marks: all of its annotations.
    """
    ways = list(_ways(text, has_mark))
    return next((way for way in ways if all(_fits(text, mark, way) for mark in marks)), ways[0])


def _ways(text: str, has_mark: bool) -> Iterator[Place]:
    numbers = [[*range(len(text) + 1)]]
    if "\r\n" in text:
        # Tools that read in text mode count \r\n as one. Its place is that of the \r: a span that
        # ends with a line then does not take the \r in.
        starts = [at for at in numbers[0] if text[max(at - 1, 0) : at + 1] != "\r\n"]
        numbers.append(starts)
    if any(char > "\uffff" for char in text):
        # Tools in JavaScript count units of UTF-16, of which such a character has two. What begins
        # within one has no place.
        units: list[int] = []
        for at, char in enumerate(text):
            units += [at, -1] if char > "\uffff" else [at]
        numbers.append([*units, len(text)])
    for places in numbers:
        yield _way(places, 0)
        if has_mark:  # some count the byte order mark too
            yield _way(places, 1)


def _way(places: Sequence[int], begin: int) -> Place:
    """The places of offsets from `begin` on; -1 for an offset that has none."""

    def place(at: int) -> int | None:
        inside = 0 <= at - begin < len(places) and places[at - begin] >= 0
        return places[at - begin] if inside else None

    return place


def _fits(text: str, mark: BratMark, place: Place) -> bool:
    """Whether the text at a mark's places is the one that it repeats, apart from line ends.

    White space is normalised: brat writes a blank for a line end inside a span, and between the
    stretches of a discontinuous one.
    """
    found = []
    for start, end in mark.pieces:
        begin, behind = place(start), place(end)
        if begin is None or behind is None:
            return False
        found.append(text[begin:behind])
    return not mark.repeated or " ".join(mark.repeated.split()) == " ".join(" ".join(found).split())


def write_brat(items: Iterable[Document], writing: Writing) -> Iterator[OutputPiece]:
    """A pair of files a document or, where the output is one pair, the documents line by line."""
    names: set[str] = set()
    offset, count, number = 0, 0, 0
    for number, item in enumerate(items, 1):
        if item.labels:
            writing.note("brat has no place for the class of a text: classes are left out")
        name = "" if writing.single else _file_name(item.name, number, names)
        if not writing.single:
            note_changed_name(item, name, "brat", writing)
        # A line end separates the documents of one file; the text of a single one stays as it is.
        text = f"\n{item.text}" if writing.single and number > 1 else item.text
        yield OutputPiece(f"{name}{TEXT}", text)
        if not item.text.strip():
            raise cannot_hold(item, "brat", "a blank text")
        offset += len(text) - len(item.text)  # offsets count from the start of the file
        lines = []
        for span in item.spans or ():
            if not span.label or any(char.isspace() for char in span.label):
                what = f"white space in a label, or none ({quoted(span.label)})"
                raise cannot_hold(item, "brat", what)
            if span.start >= span.end:
                raise cannot_hold(item, "brat", "a span without a character")
            count += 1
            # A line end would end the annotation; brat writes a blank too.
            repeated = span.text.replace("\n", " ").replace("\r", " ")
            place = f"{span.start + offset} {span.end + offset}"
            lines.append(f"T{count}\t{span.label} {place}\t{repeated}\n")
        yield OutputPiece(f"{name}{ANNOTATION}", "".join(lines))
        if writing.single:
            offset += len(item.text)
        else:
            count, offset = 0, 0
    if writing.single and number > 1:
        yield OutputPiece(TEXT, "\n")


def _file_name(name: str, number: int, taken: set[str]) -> str:
    """A safe name that no document before has."""
    # Names come from a corpus: "../x" or "/etc/x" must not leave the folder that is written.
    # File systems allow 255 bytes, of which one such character may have four.
    safe = all(
        part[:1] not in ("", ".")
        and len(part.encode(errors="replace")) <= _LONGEST_NAME
        and all(char.isalnum() or char in "-_." for char in part)
        for part in name.split("/")
    )
    chosen = name if safe and name not in taken else f"{number:05d}"
    while chosen in taken:
        chosen += "-"
    taken.add(chosen)
    return chosen
