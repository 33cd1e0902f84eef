"""Which format a corpus is in: by what its lines hold; by its name where they leave that open.

Every command asks `find_format`, so that all of them read a file in the same way. The order of
evidence is the same everywhere: a format that was named; the content; the ending of the name; else
raw text. The reason is reported, so that a person can see why a file was read as it was.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tagkit.corpus.formats.columns.grid import Grid, grid_of, looks_like_conllu
from tagkit.corpus.formats.folders.brat import PAIR, annotated_files
from tagkit.corpus.formats.folders.folder import looks_like_folder, nested_folder
from tagkit.corpus.formats.folders.parallel import WORDS
from tagkit.corpus.formats.json.jsonl_keys import is_record, kind_of_lines, looks_like_jsonl
from tagkit.corpus.formats.table import FORMATS, Format, by_ending, by_name
from tagkit.corpus.formats.tables.csv_rows import are_rows_of_csv, first_row, named_separator
from tagkit.corpus.formats.tables.text_columns import LABEL_NAMES, TEXT_NAMES, plain_name
from tagkit.corpus.source.options import Item, ReaderOptions
from tagkit.corpus.source.source import STDIN, Source, unpacked_name
from tagkit.errors import DataError
from tagkit.storage import PACKED, holds_model
from tagkit.wording import quoted, reason


@dataclass(frozen=True, slots=True)
class Recognised:
    """A format that fits, and what shows it.

    Attributes:
        name: of the format.
        why: what was found, in a few words.
    """

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Found:
    """The format of a source.

    Attributes:
        format: a row of the table.
        note: the format and why it was recognised, in a sentence; empty where it was named.
    """

    format: Format
    note: str


_TABLES = ("tsv", "csv")  # a file with such a name is not raw text, even where that is expected
_LOOKED_AT = 2000  # lines: enough sentences to decide, and few milliseconds
_ODD_LINES = 10  # one line of so many may be broken, and its format is still recognised
_ENOUGH = 20  # lines of a file of labels that cannot be read further
# Lines without a blank one that may well be one sentence. More of them are a table, or a corpus
# without sentences, and a wrong guess would train on one sentence of a million words.
_LONGEST_SENTENCE = 100


def find_format(source: Source, named: str, *, raw: bool = False, texts: bool = False) -> Found:
    """The format of a source: the one that is named or, for 'auto', the one that it looks like.

    Args:
        source: to be looked at.
        named: the name of a format or of a family, or "auto".
        raw: as for `recognise_source`.
        texts: likewise.

    Raises:
        DataError: it cannot be read, is a folder of no known kind, or fits two formats.
    """
    if named == "auto":
        found = recognise_source(source, raw=raw, texts=texts)
        return Found(FORMATS[found.name], _explain(found, source.name))
    formats = by_name(named)
    if source.is_folder() and not any(format.many_files for format in formats):
        raise DataError(
            f"{source.name}: is a folder, and the format {named} is that of a file. Name a file in "
            "it, or another format with data.format"
        )
    if len(formats) > 1:  # a family: its members are told apart by the keys of the records
        return Found(FORMATS[kind_of_lines(source.beginning())], "")
    return Found(formats[0], "")


def recognise(source: Source, named: str, *, raw: bool = False) -> Format:
    """As `find_format`, without the note on what it rests on."""
    return find_format(source, named, raw=raw).format


def read_items(source: Source, reading: ReaderOptions) -> Iterator[Item]:
    """The records of a file, a folder or standard input, in the format that it is recognised as.

    Raises:
        DataError: it cannot be read.
        FormatError: a line of it cannot be, and there is no `reading.on_error` to report to.
    """
    return recognise(source, reading.data.format).records(source, reading).items


def recognise_source(source: Source, *, raw: bool, texts: bool = False) -> Recognised:
    """The format of a file, a folder or standard input.

    Args:
        source: to be looked at; no line of it is lost.
        raw: whether raw text is to be expected, so that lines that it may well hold (and/or, a
            tab, a word and a colon) do not make it a corpus, however many there are.
        texts: whether each line is to be expected to be a text, so that short ones do not make it a
            column file, whatever blank lines stand between them.

    Raises:
        DataError: it cannot be read, is a folder of no known kind, or fits two formats.
    """
    path = Path(source.path)
    if source.is_folder():
        return _folder(path)
    name = unpacked_name(path.name.lower())
    # Names that say it all; the content of one file of several shows nothing.
    if name == WORDS:
        return Recognised("parallel", f"the name is {WORDS}")
    if name.endswith(PAIR) and source.path != STDIN and annotated_files(path):
        return Recognised("brat", "a pair of files, .txt and .ann")
    # With few lines a wrong format would be named in place of the error that follows them.
    lines = source.beginning(waiting=not raw, enough=1 if raw else _ENOUGH)
    return recognise_lines(name, lines, source.name, raw=raw, texts=texts)


def _folder(path: Path) -> Recognised:
    try:
        # Nothing can be looked up in a closed folder; a file in it that need not be there would be
        # named in its place. The dot as text, as a path drops it.
        os.stat(os.path.join(path, "."))
    except OSError as error:
        raise DataError(f"{path}: cannot be read as a folder: {reason(error)}") from None
    if (path / WORDS).is_file() or (path / f"{WORDS}{PACKED}").is_file():
        return Recognised("parallel", f"a folder with {WORDS}")
    # Before folders of texts: a folder of brat holds .txt files as well.
    if annotated_files(path):
        return Recognised("brat", "a folder with .ann files")
    # A model is no corpus, though the folder that holds its parts has a file for each of them.
    if holds_model(path):
        raise DataError(f"{path}: expected a corpus, found the folder of a model")
    if looks_like_folder(path):
        return Recognised("folder", "a folder with a folder or a file for each class")
    if (nested := nested_folder(path)) is not None:
        raise DataError(
            f"{nested}: expected a file with a text, found a folder; {path} has a folder for each "
            "class"
        )
    raise DataError(
        f"{path}: expected a folder with {WORDS}, with .ann files, or with a folder for each class "
        "or a file for each of several, found none of these"
    )


def recognise_lines(
    name: str, lines: Sequence[str], source: str, *, raw: bool, texts: bool = False
) -> Recognised:
    """The format of a file that begins with these lines.

    Args:
        name: of the file.
        lines: the first ones, without their line feeds.
        source: name of the file in messages.
        raw: as for `recognise_source`.
        texts: likewise.

    Raises:
        DataError: two formats fit equally well.
    """
    lines = lines[:_LOOKED_AT]
    named = by_ending(name)
    # A name of a family stands for any of its members, which only the content distinguishes.
    expected = named[0].family or named[0].name if named else None
    found = _by_own_look(named, lines, raw) or _by_content(expected, lines, source, raw, texts)
    if found is not None:
        return found
    if len(named) > 1:
        # Of a JSON file whose first record is none, or has other keys.
        return Recognised(kind_of_lines(lines), "its name; no text or tokens in its first record")
    if named:
        return Recognised(named[0].name, "its name; its lines look like no other format")
    if not any(line.strip() for line in lines):
        return Recognised("text", "its lines are blank" if lines else "it is empty")
    if (almost := _but_for_a_few(lines, raw)) is not None:
        return almost
    if _begins_page(lines):
        raise DataError(
            f"{source}: expected a corpus or text, found a page of HTML, whose tags are no text. "
            "Save it as text; or read it as it stands with data.format=text"
        )
    with suppress(DataError):  # which of two it might be else is all the same here
        if raw and (other := _by_content(expected, lines, source, False, texts)) is not None:
            why = f"raw text is expected, though its lines look like {other.name}"
            return Recognised("text", why)
    return Recognised("text", "nothing in its lines looks like labels")


def _but_for_a_few(lines: Sequence[str], raw: bool) -> Recognised | None:
    """A format that nearly all lines show, each by itself; None where there is none.

    Read as raw text, such a file would be refused, or its labels taken for words, and nothing would
    name the broken line.
    """
    filled = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    for format in FORMATS.values():
        look = format.look
        if look is None or not look.by_line or (raw and look.like_prose):
            continue
        odd = [number for number, line in filled if not look.matches([line])]
        if 0 < _ODD_LINES * len(odd) <= len(filled):
            return Recognised(format.name, f"{look.why}, but for line {odd[0]:,}")
    return None


def _by_own_look(named: Sequence[Format], lines: Sequence[str], raw: bool) -> Recognised | None:
    """The format that a name tells, where its own look fits, whatever else the lines may be."""
    # A name in .csv or .tsv says less: column files and texts have it too.
    look = named[0].look if len(named) == 1 and named[0].name not in _TABLES else None
    if look is None or (raw and look.like_prose) or not look.matches(lines):
        return None
    return Recognised(named[0].name, look.why)


def _begins_page(lines: Sequence[str]) -> bool:
    first = next((line for line in lines if line.strip()), "").strip().lower()
    return first.startswith(("<!doctype html", "<html"))


def _by_content(
    expected: str | None, lines: Sequence[str], source: str, raw: bool, texts: bool
) -> Recognised | None:
    """The format that the lines show, or show together with the name; None where they do not.

    Args:
        expected: the format, or the family, that the file's name tells; may be None.
        lines: the first ones of the file.
        source: name of the file in messages.
        raw: as for `recognise_source`.
        texts: likewise.
    """
    if named_separator(lines) and expected in (None, *_TABLES):
        line = quoted(lines[0].rstrip("\r"))
        return Recognised("csv", f"its first line says what separates its cells: {line}")
    # A cell of a table may begin with a brace: there the first line has to be a whole record.
    if looks_like_jsonl(lines) and (expected not in _TABLES or is_record(lines)):
        is_object = next(line for line in lines if line.strip()).lstrip().startswith("{")
        why = (
            "its lines begin as JSON objects do"
            if is_object
            else "its records are JSON, in brackets"
        )
        return Recognised(kind_of_lines(lines), why)
    # Before any table: CoNLL-U is one too, of ten columns.
    if looks_like_conllu(lines):
        return Recognised("conllu", "the 10 columns of CoNLL-U, separated by tabs")
    grid = grid_of(lines)
    # Lines of as many words, some with a blank line between them, may be texts as well.
    if raw and expected != "columns" and grid is not None and not grid.is_certain:
        grid = None
    # Tags of spans, such as B-PER, are the surest sign there is: prose never has a column of them.
    # Texts in cells without two lines in a row are rows of a table that mention such a tag.
    if grid is not None and grid.has_tags and not (grid.has_texts and not grid.has_groups):
        return Recognised("columns", str(grid))
    # From here on the lines alone are not enough, but lines and name together are.
    if expected == "csv" and are_rows_of_csv(lines):
        return Recognised("csv", "rows of as many columns, separated by commas")
    by_semicolons = expected == "csv" and not raw and are_rows_of_csv(lines, ";")
    if by_semicolons and "," not in first_row(lines):  # which the reader says, whatever shows CSV
        return Recognised("csv", "rows of as many columns")
    if expected == "tsv" and grid is not None and grid.tabs and grid.is_regular:
        return _tsv_or_columns(grid, source)
    if expected == "columns" and grid is not None and grid.is_corpus and not grid.has_texts:
        return Recognised("columns", str(grid))
    # Texts of one word, or of a script without blanks, have the shape of tokens.
    has_names = grid is not None and _has_names(grid, lines)
    for format in FORMATS.values():
        if (look := format.look) is None:
            continue
        # Where raw text is expected, "and/or" is no tag and a tab no column.
        may_be = not raw or not look.like_prose or (format.name == "tsv" and expected in _TABLES)
        if may_be and look.matches(lines):
            return Recognised(format.name, look.why)
    # What follows is a guess by the shape alone, which a name that says CoNLL-U outweighs.
    if grid is None or not grid.is_corpus or expected == "conllu":
        return None
    if texts and not grid.tabs:  # lines of a word each, or of two
        return None
    if grid.tabs and (grid.has_texts or has_names):
        texts_in = "one of them texts of several words"
        why = "a header with the names of a text and a label" if has_names else texts_in
        is_table = not raw or expected in _TABLES
        return Recognised("tsv", f"{grid.shape}, {why}") if is_table else None
    # Guessing would be wrong half of the time, and nobody would notice.
    if grid.tabs and not grid.has_blank_lines and grid.lines > _LONGEST_SENTENCE and not raw:
        raise _ambiguous(source, f"{grid.shape}, single words in all of them, no blank line")
    return Recognised("columns", str(grid))


def _has_names(grid: Grid, lines: Sequence[str]) -> bool:
    """Whether the first line names a text and a label, and all others are rows below it."""
    if not grid.tabs or not grid.is_regular or (grid.has_inner_blank_lines and grid.has_groups):
        return False
    names = {plain_name(cell) for cell in lines[0].removesuffix("\r").split("\t")}
    return bool(names & {*TEXT_NAMES} and names & {*LABEL_NAMES})


def _tsv_or_columns(grid: Grid, source: str) -> Recognised:
    """What a file is that is named .tsv and has no tags of spans.

    Column files are often named so too: UD and WNUT are distributed as such.
    """
    if grid.has_texts or not grid.has_inner_blank_lines:
        what = ", one of them texts of several words" if grid.has_texts else ""
        return Recognised("tsv", f"{grid.shape}{what}")
    if grid.has_groups:
        return Recognised("columns", str(grid))
    raise _ambiguous(source, f"{grid.shape}, single words, and a blank line after each")


def _ambiguous(source: str, found: str) -> DataError:
    return DataError(
        f"{source}: may be a column file, a token a line, or texts with classes: found {found}. "
        "Choose with data.format=columns or data.format=tsv"
    )


def _explain(found: Recognised, source: str) -> str:
    """What a file was read as and why, in a sentence."""
    return f"{source}: read as {found.name}: {found.why} (data.format chooses another format)"
