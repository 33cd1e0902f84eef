"""The table of formats: one row each, with how it is read, written and recognised.

A new format is one file in this folder and one row here (and its name in `config.Format`).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tagkit.corpus.formats.columns.conllu import write_conllu
from tagkit.corpus.formats.columns.grid import look_at_columns, look_at_conllu, look_at_tsv
from tagkit.corpus.formats.columns.sentences import read_columns
from tagkit.corpus.formats.columns.writer import write_columns
from tagkit.corpus.formats.folders.brat import ANNOTATION, look_at_brat, read_brat, write_brat
from tagkit.corpus.formats.folders.folder import look_at_folder, read_folder, write_folder
from tagkit.corpus.formats.folders.parallel import look_at_parallel, read_parallel, write_parallel
from tagkit.corpus.formats.json.jsonl import read_jsonl
from tagkit.corpus.formats.json.jsonl_keys import look_at_jsonl
from tagkit.corpus.formats.json.jsonl_writers import (
    write_jsonl_spans,
    write_jsonl_texts,
    write_jsonl_tokens,
)
from tagkit.corpus.formats.lines.fasttext import look_at_fasttext, read_fasttext, write_fasttext
from tagkit.corpus.formats.lines.html import write_html
from tagkit.corpus.formats.lines.raw_text import read_text_lines, write_text_lines
from tagkit.corpus.formats.lines.slash import look_at_slash, read_slash, write_slash
from tagkit.corpus.formats.lines.trec import is_trec_class, look_at_trec, read_trec, write_trec
from tagkit.corpus.formats.lines.trees import (
    is_tree_class,
    look_at_trees,
    read_trees,
    write_trees,
)
from tagkit.corpus.formats.tables.csv_rows import look_at_csv
from tagkit.corpus.formats.tables.delimited import (
    read_csv,
    read_tsv,
    write_csv,
    write_tsv,
)
from tagkit.corpus.formats.tables.sentence_rows import (
    look_at_sentence_rows,
    read_sentence_rows,
    write_sentence_rows,
)
from tagkit.corpus.formats.tables.token_rows import look_at_token_rows, write_token_rows
from tagkit.corpus.source.look import Look, look_at_text
from tagkit.corpus.source.notations import respelled
from tagkit.corpus.source.options import Item, ReaderOptions, ReadRecords
from tagkit.corpus.source.pieces import OutputPiece, Writing
from tagkit.corpus.source.source import Source, unpacked_name
from tagkit.errors import DataError
from tagkit.wording import shown_name

Holds = Literal["tags", "spans", "classes", "text", "all"]


# Rows hold functions, and no class inherits from another: what a format can do is read in its row.
@dataclass(frozen=True, slots=True)
class Format:
    """A way to lay out a corpus.

    Attributes:
        name: as options have it.
        about: in a few words, for people.
        holds: what it is for: tags (its records are sentences), or spans, classes or nothing
            beside texts (they are documents), or all of these, in records of any kind.
        read: a source's records; called through `records` alone. None where it is only written.
        write: records, all of them sentences or all of them documents, as pieces of files.
        endings: of the names of its files, the first one preferred where one is written.
        look: how sure it is of the beginning of a source.
        many_files: whether it fills a folder, or a pair of files.
        is_grid: whether each line is a token with its columns, so that every line can be kept.
        has_classes: whether a sentence or text of it may have a class as a whole.
        needs_tags: whether it may have one only beside a tag for each of its tokens.
        has_named_columns: whether a header names its columns, so that records may have further
            ones, such as a probability.
        keeps_tokens: whether texts of it say where their tokens are.
        keeps_values: what it keeps of the names and values that records have beside text and
            annotation: all of them, their ids, ids as names of files, or nothing.
        may_lack_classes: whether a text of it may have no class, where others have several.
        is_ordered: whether its records are in the corpus's order, and not in that of their labels
            or of the names of files.
        family: a name in options that stands for several formats, whichever fits; empty for none.
        holds_class: whether it can hold a class of this name; None if it can hold all.
        options: those of [data] that have an effect on corpora of this format alone.
    """

    name: str
    about: str
    holds: Holds
    read: Callable[[Source, ReaderOptions], ReadRecords | Iterator[Item]] | None
    write: Callable[[Iterable[Any], Writing], Iterator[OutputPiece]]
    look: Look
    endings: tuple[str, ...] = ()
    many_files: bool = False
    is_grid: bool = False
    has_classes: bool = False
    needs_tags: bool = False
    has_named_columns: bool = False
    keeps_tokens: bool = False
    keeps_values: Literal["all", "id", "file names", "nothing"] = "nothing"
    may_lack_classes: bool = False
    is_ordered: bool = True
    family: str = ""
    holds_class: Callable[[str], bool] | None = None
    options: tuple[str, ...] = ()

    def records(self, source: Source, reading: ReaderOptions) -> ReadRecords:
        """The records of a source that is in this format.

        Raises:
            DataError: it cannot be read.
            FormatError: a line of it cannot be, and there is no `reading.on_error` to report to.
        """
        assert self.read is not None  # `FORMATS` has only such rows
        found = self.read(source, settled(reading, self))
        read = found if isinstance(found, ReadRecords) else ReadRecords(found)
        if not reading.with_tags:
            return read
        usual = respelled(read.items, source.name, reading.data, reading.note)
        return replace(read, items=usual.items, notation=usual.notation)


# All three are distinguished by their keys (`jsonl_keys.kind_of`), so they share the endings.
_JSONL = (".jsonl", ".ndjson", ".json")

_ALL = (
    # The endings are those of public corpora: .conll (OntoNotes), .iob and .bio (many of the rest).
    Format("columns", "a token a line, its tag in a column", "tags", read_columns, write_columns,
           look_at_columns, (".conll", ".iob", ".iob2", ".bio", ".bioes", ".bilou"), is_grid=True),
    Format("conllu", "CoNLL-U, ten columns with names", "tags", read_columns, write_conllu,
           look_at_conllu, (".conllu",), is_grid=True, keeps_values="id"),
    Format("token-rows", "CSV or TSV with a token a row", "tags", read_columns, write_token_rows,
           look_at_token_rows, is_grid=True),
    Format("sentence-rows", "CSV or TSV with a sentence and its tags a row", "tags",
           read_sentence_rows, write_sentence_rows, look_at_sentence_rows, has_classes=True,
           needs_tags=True),
    Format("jsonl-tokens", "JSON Lines of tokens and tags", "tags", read_jsonl,
           write_jsonl_tokens, look_at_jsonl("jsonl-tokens"), _JSONL, has_classes=True,
           keeps_values="all", family="jsonl"),
    Format("jsonl-spans", "JSON Lines of texts and spans of characters", "spans", read_jsonl,
           write_jsonl_spans, look_at_jsonl("jsonl-spans"), _JSONL, has_classes=True,
           keeps_tokens=True, keeps_values="all", family="jsonl"),
    Format("jsonl-texts", "JSON Lines of texts and classes", "classes", read_jsonl,
           write_jsonl_texts, look_at_jsonl("jsonl-texts"), _JSONL, has_classes=True,
           keeps_values="all", may_lack_classes=True, family="jsonl"),
    Format("brat", "brat standoff, .txt with .ann", "spans", read_brat, write_brat, look_at_brat,
           (ANNOTATION,), many_files=True, keeps_values="file names", is_ordered=False),
    Format("parallel", "seq.in, seq.out and label, as ATIS has them", "tags", read_parallel,
           write_parallel, look_at_parallel, many_files=True, has_classes=True),
    Format("trees", "labelled trees of the Stanford Sentiment Treebank", "classes", read_trees,
           write_trees, look_at_trees, (".trees",), has_classes=True, holds_class=is_tree_class,
           options=("tree_labels", "tree_phrases")),
    Format("fasttext", "__label__x and a text a line", "classes", read_fasttext, write_fasttext,
           look_at_fasttext, (".ft", ".fasttext"), has_classes=True),
    Format("trec", "COARSE:fine and a question a line", "classes", read_trec, write_trec,
           look_at_trec, (".trec",), has_classes=True, holds_class=is_trec_class,
           options=("label_level",)),
    Format("slash", "a sentence a line, word/TAG", "tags", read_slash, write_slash, look_at_slash),
    Format("csv", "comma-separated texts and classes", "classes", read_csv, write_csv, look_at_csv,
           (".csv",), has_classes=True, has_named_columns=True, keeps_values="all"),
    Format("tsv", "tab-separated texts and classes", "classes", read_tsv, write_tsv, look_at_tsv,
           (".tsv",), has_classes=True, has_named_columns=True, keeps_values="all"),
    Format("folder", "a folder a class, a file a text", "classes", read_folder, write_folder,
           look_at_folder, many_files=True, has_classes=True, keeps_values="file names",
           is_ordered=False),
    # Without an ending: .txt is the name of corpora in every format, and says nothing.
    Format("text", "raw text, a line a text", "text", read_text_lines, write_text_lines,
           look_at_text),
)  # fmt: skip
FORMATS = {format.name: format for format in _ALL}
# For people: what is only written is no format of a corpus, and is never recognised.
_PAGE = Format("html", "a page that draws labels in the texts", "all", None, write_html,
               lambda _: None, (".html", ".htm"), has_classes=True)  # fmt: skip


def targets() -> dict[str, Format]:
    """The formats that can be written, by name: all, and those that cannot be read."""
    return {**FORMATS, _PAGE.name: _PAGE}


def settled(reading: ReaderOptions, format: Format) -> ReaderOptions:
    """The reading with the format that was recognised in place of "auto"."""
    return replace(reading, data=reading.data.model_copy(update={"format": format.name}))


def by_ending(name: str, *, written: bool = False) -> list[Format]:
    """The formats whose files have this name's ending; several of one family, or none.

    Args:
        name: of a file; that it is packed, as in a.conll.gz, does not matter.
        written: whether formats that are only written count too.
    """
    # Windows knows no case in endings: DATA.CONLL is a column file too.
    name = unpacked_name(name.lower())
    rows = targets() if written else FORMATS
    return [row for row in rows.values() if row.endings and name.endswith(row.endings)]


def by_name(named: str, *, written: bool = False) -> list[Format]:
    """The format of this name, or those of the family of this name; `written` as above."""
    rows = targets() if written else FORMATS
    return [row for row in rows.values() if named and named in (row.name, row.family)]


def target_format(path: str, named: str | None, read: Format) -> Format:
    """The format to write: the one that is named, or that the output's name tells.

    Args:
        path: of the output.
        named: a format's name, or that of a family for the member that fits; may be None.
        read: the format of what is to be written, which decides between members of a family.

    Raises:
        DataError: there is no such format, or the name tells none.
    """
    if named is None:
        found = by_ending(Path(path).name, written=True)
    else:
        found = by_name(named, written=True) if isinstance(named, str) else []
    if not found:
        if named is not None:
            expected = f"{', '.join(targets())} or jsonl"
            raise DataError(f"to={shown_name(str(named))}: expected one of {expected}")
        raise DataError(
            f"{path}: its name does not tell the format. Name one with to=...: "
            f"{', '.join(targets())}"
        )
    # Spans of characters hold all that a text has; without a better fit they lose the least.
    fitting = [row for row in found if row.holds == read.holds]
    fitting = fitting or [row for row in found if row.holds == "spans"]
    return (fitting or found)[0]
