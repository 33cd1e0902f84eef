"""Which format a corpus is in: by what its lines hold; by its name where they leave that open.

Every command recognises a file by these rules alone. What a reading rests on is said with it, so
that a person can see why a file was read as it was.
"""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tagkit.corpus.formats.brat import annotated_files
from tagkit.corpus.formats.delimited import looks_like_csv, looks_like_tsv
from tagkit.corpus.formats.fasttext import looks_like_fasttext
from tagkit.corpus.formats.folder import looks_like_folder
from tagkit.corpus.formats.grid import Grid, grid_of, looks_like_conllu
from tagkit.corpus.formats.jsonl import is_record, kind_of_lines, looks_like_jsonl
from tagkit.corpus.formats.parallel import WORDS
from tagkit.corpus.formats.slash import looks_like_slash
from tagkit.corpus.formats.source import STDIN, Source
from tagkit.corpus.formats.trec import looks_like_trec
from tagkit.corpus.formats.trees import looks_like_trees
from tagkit.errors import DataError
from tagkit.wording import Message, Setting


@dataclass(frozen=True, slots=True)
class Recognised:
    """A format that fits, and what shows it.

    Attributes:
        name: of the format.
        why: what was found, in a few words.
    """

    name: str
    why: str


JSONL = (".jsonl", ".ndjson", ".json")
_BY_ENDING = {
    **dict.fromkeys(JSONL, "jsonl"),
    ".tsv": "tsv", ".csv": "csv", ".conllu": "conllu",
    **dict.fromkeys((".conll", ".iob", ".iob2", ".bio", ".bioes", ".bilou"), "columns"),
}  # fmt: skip
_PAIR = (".ann", ".txt")
# In this order: a line of one format may also look like one of a later one.
_LOOKS: tuple[tuple[str, Callable[[Sequence[str]], bool], str], ...] = (
    ("trees", looks_like_trees, "every line is a tree in brackets"),
    ("fasttext", looks_like_fasttext, "every line begins with __label__"),
    ("trec", looks_like_trec, "every line begins with COARSE:fine"),
    ("slash", looks_like_slash, "every word has a tag behind a slash"),
    ("csv", looks_like_csv, "a header with the names of a text and a label"),
    ("tsv", looks_like_tsv, "columns parted by tabs, one of them texts of several words"),
)
_LIKE_RAW_TEXT = ("slash", "trec", "tsv")
_TABLES = ("tsv", "csv")  # names of files that are not raw text
_LOOKED_AT = 2000  # lines: enough sentences to tell, and few milliseconds
_LONGEST_SENTENCE = 100  # lines without a blank one that may well be one sentence


def recognise_source(source: Source, *, raw: bool) -> Recognised:
    """The format of a file, a folder or standard input.

    Args:
        source: to be looked at; no line of it is lost.
        raw: whether raw text is to be expected, so that lines that it may well hold (and/or, a
            tab, a word and a colon) do not make it a corpus, however many there are.

    Raises:
        DataError: it cannot be read, is a folder of no known kind, or fits two formats alike.
    """
    path = Path(source.path)
    if source.is_folder():
        return _folder(path)
    name = path.name.lower().removesuffix(".gz")
    if name == WORDS:
        return Recognised("parallel", f"the name is {WORDS}")
    if name.endswith(_PAIR) and source.path != STDIN and annotated_files(path):
        return Recognised("brat", "a pair of files, .txt and .ann")
    return recognise_lines(name, source.beginning(waiting=not raw), source.name, raw=raw)


def _folder(path: Path) -> Recognised:
    if (path / WORDS).is_file() or (path / f"{WORDS}.gz").is_file():
        return Recognised("parallel", f"a folder with {WORDS}")
    if annotated_files(path):
        return Recognised("brat", "a folder with .ann files")
    if looks_like_folder(path):
        return Recognised("folder", "a folder with a folder or a file for each class")
    raise DataError(
        f"{path}: expected a folder with {WORDS}, with .ann files, or with a folder or file for "
        "each class, found none of these"
    )


def recognise_lines(name: str, lines: Sequence[str], source: str, *, raw: bool) -> Recognised:
    """The format of a file that begins with these lines.

    Args:
        name: of the file, in lower case and without .gz.
        lines: the first ones, without their line feeds.
        source: names the file in messages.
        raw: as for `recognise_source`.

    Raises:
        DataError: two formats fit alike.
    """
    lines = lines[:_LOOKED_AT]
    by_name = next((kind for end, kind in _BY_ENDING.items() if name.endswith(end)), None)
    found = _by_content(by_name, lines, source, raw)
    if found is not None:
        return found
    if by_name == "jsonl":
        return Recognised(kind_of_lines(lines), "its name")
    if by_name is not None:
        return Recognised(by_name, "its name; its lines look like no other format")
    if not any(line.strip() for line in lines):
        return Recognised("text", "its lines are blank" if lines else "it is empty")
    return Recognised("text", "nothing in its lines looks like labels")


def _by_content(
    by_name: str | None, lines: Sequence[str], source: str, raw: bool
) -> Recognised | None:
    if looks_like_jsonl(lines) and (by_name not in ("csv", "tsv") or is_record(lines)):
        return Recognised(kind_of_lines(lines), "every line is a JSON object")
    if looks_like_conllu(lines):
        return Recognised("conllu", "the 10 columns of CoNLL-U, parted by tabs")
    grid = grid_of(lines)
    if grid is not None and grid.has_tags and not (grid.has_texts and not grid.has_groups):
        return Recognised("columns", str(grid))
    if by_name == "csv" and _are_rows_of_csv(lines):
        return Recognised("csv", "rows of as many columns, parted by commas")
    if by_name == "tsv" and grid is not None and grid.tabs and grid.is_regular:
        return _tsv_or_columns(grid, source)
    if by_name == "columns" and grid is not None and grid.is_corpus and not grid.has_texts:
        return Recognised("columns", str(grid))
    for kind, look, why in _LOOKS:
        is_expected = not raw or kind not in _LIKE_RAW_TEXT
        if look(lines) and (is_expected or (kind == "tsv" and by_name in _TABLES)):
            return Recognised(kind, why)
    if grid is None or not grid.is_corpus or by_name == "conllu":
        return None
    if grid.tabs and grid.has_texts and not raw:
        return Recognised("tsv", f"{grid.shape}, one of them texts of several words")
    if grid.has_texts and grid.tabs:
        return None
    if grid.tabs and not grid.has_blank_lines and grid.lines > _LONGEST_SENTENCE and not raw:
        raise _ambiguous(source, f"{grid.shape}, single words in all of them, no blank line")
    return Recognised("columns", str(grid))


def _tsv_or_columns(grid: Grid, source: str) -> Recognised:
    """What a file is that is named as TSV and has no tags of spans."""
    if grid.has_texts or not grid.has_inner_blank_lines:
        what = ", one of them texts of several words" if grid.has_texts else ""
        return Recognised("tsv", f"{grid.shape}{what}")
    if grid.has_groups:
        return Recognised("columns", str(grid))
    raise _ambiguous(source, f"{grid.shape}, single words, and a blank line behind each")


def _ambiguous(source: str, found: str) -> DataError:
    return DataError(
        Message(
            f"{source}: may be a column file, a token a line, or texts with classes: found "
            f"{found}. Choose with ",
            Setting("data.format", "columns"),
            " or ",
            Setting("data.format", "tsv"),
        )
    )


def _are_rows_of_csv(lines: Sequence[str]) -> bool:
    """Whether nine of ten rows have as many cells, two or more."""
    widths: list[int] = []
    try:
        for row in csv.reader(f"{line}\n" for line in lines[:1000]):
            if row:
                widths.append(len(row))
    except csv.Error:
        pass
    common = max(set(widths), key=widths.count, default=0)
    return common > 1 and 10 * widths.count(common) >= 9 * len(widths)


def explain(found: Recognised, source: str) -> str:
    """What a file was read as and why, in a sentence."""
    return Message(
        f"{source}: read as {found.name}: {found.why} (",
        Setting("data.format"),
        " chooses another format)",
    )
