"""The formats: what each is called, how it is recognised, read and written."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tagkit.corpus.formats.brat import read_brat, write_brat
from tagkit.corpus.formats.columns.writer import write_columns
from tagkit.corpus.formats.conllu import read_columns, write_conllu
from tagkit.corpus.formats.delimited import (
    read_csv,
    read_tsv,
    write_csv,
    write_tsv,
)
from tagkit.corpus.formats.fasttext import read_fasttext, write_fasttext
from tagkit.corpus.formats.folder import read_folder, write_folder
from tagkit.corpus.formats.jsonl import (
    kind_of_lines,
    read_jsonl,
    write_jsonl_spans,
    write_jsonl_texts,
    write_jsonl_tokens,
)
from tagkit.corpus.formats.options import Item, Reading
from tagkit.corpus.formats.parallel import read_parallel, write_parallel
from tagkit.corpus.formats.pieces import Piece, Writing
from tagkit.corpus.formats.recognition import JSONL, explain, recognise_source
from tagkit.corpus.formats.slash import read_slash, write_slash
from tagkit.corpus.formats.source import Source
from tagkit.corpus.formats.text import read_text_lines, write_text_lines
from tagkit.corpus.formats.trec import read_trec, write_trec
from tagkit.corpus.formats.trees import read_trees, write_trees
from tagkit.errors import DataError
from tagkit.wording import Message, Setting, shown_name

Holds = Literal["tags", "spans", "classes", "text"]


@dataclass(frozen=True, slots=True)
class Format:
    """A way to lay out a corpus.

    Attributes:
        name: as options have it.
        about: in a few words, for people.
        holds: what it is for: tags (its records are sentences), or spans, classes or nothing
            beside texts (they are documents).
        read: a source's records.
        write: records, all of them sentences or all of them documents, as pieces of files.
        endings: of the names of files that are to be written in it, the first one preferred.
        many_files: whether it fills a folder.
    """

    name: str
    about: str
    holds: Holds
    read: Callable[[Source, Reading], Iterator[Item]]
    write: Callable[[Iterable[Any], Writing], Iterator[Piece]]
    endings: tuple[str, ...]
    many_files: bool = False


_ALL = (
    Format("columns", "a token a line, its tag in a column", "tags", read_columns, write_columns,
           (".conll", ".iob", ".iob2", ".bio", ".bioes", ".bilou")),
    Format("conllu", "CoNLL-U, ten columns with names", "tags", read_columns, write_conllu,
           (".conllu",)),
    Format("jsonl-tokens", "JSON Lines of tokens and tags", "tags", read_jsonl,
           write_jsonl_tokens, ()),
    Format("jsonl-spans", "JSON Lines of texts and spans of characters", "spans", read_jsonl,
           write_jsonl_spans, ()),
    Format("jsonl-texts", "JSON Lines of texts and classes", "classes", read_jsonl,
           write_jsonl_texts, ()),
    Format("brat", "brat standoff, .txt with .ann", "spans", read_brat, write_brat, (".ann",),
           many_files=True),
    Format("slash", "a sentence a line, word/TAG", "tags", read_slash, write_slash, ()),
    Format("parallel", "seq.in, seq.out and label, as ATIS has them", "tags", read_parallel,
           write_parallel, (), many_files=True),
    Format("tsv", "tab-separated texts and classes", "classes", read_tsv, write_tsv, (".tsv",)),
    Format("csv", "comma-separated texts and classes", "classes", read_csv, write_csv, (".csv",)),
    Format("fasttext", "__label__x and a text a line", "classes", read_fasttext, write_fasttext,
           (".ft", ".fasttext")),
    Format("trec", "COARSE:fine and a question a line", "classes", read_trec, write_trec,
           (".trec",)),
    Format("trees", "labelled trees of the Stanford Sentiment Treebank", "classes", read_trees,
           write_trees, (".trees",)),
    Format("folder", "a folder a class, a file a text", "classes", read_folder, write_folder, (),
           many_files=True),
    Format("text", "raw text, a line a text", "text", read_text_lines, write_text_lines, ()),
)  # fmt: skip
FORMATS = {format.name: format for format in _ALL}


def read_items(source: Source, reading: Reading) -> Iterator[Item]:
    """The records of a file, a folder or standard input, in the format that it is recognised as.

    Raises:
        DataError: it cannot be read.
        FormatError: a line of it cannot be, and there is no `reading.on_error` to be told.
    """
    format = recognise(source, reading.data.format)
    return format.read(source, settled(reading, format))


def settled(reading: Reading, format: Format) -> Reading:
    """The reading with the format that was recognised."""
    return replace(reading, data=reading.data.model_copy(update={"format": format.name}))


@dataclass(frozen=True, slots=True)
class Found:
    """The format of a source.

    Attributes:
        format: a row of the table.
        note: what it was recognised as and why, in a sentence; empty where it was named.
    """

    format: Format
    note: str


def find_format(source: Source, named: str, *, raw: bool = False) -> Found:
    """The format of a source: the one that is named or, for 'auto', the one that it looks like.

    This is the one place where commands learn it, so that all of them read a file alike.

    Args:
        source: to be looked at.
        named: a format's name, or "auto".
        raw: as for `recognise_source`.

    Raises:
        DataError: it cannot be read, is a folder of no known kind, or fits two formats alike.
    """
    if named == "auto":
        found = recognise_source(source, raw=raw)
        return Found(FORMATS[found.name], explain(found, source.name))
    if source.is_folder() and not (named in FORMATS and FORMATS[named].many_files):
        raise DataError(
            Message(
                f"{source.name}: is a folder, and the format {named} is that of a file. Name a "
                "file in it, or another format with ",
                Setting("data.format"),
            )
        )
    if named == "jsonl":
        return Found(FORMATS[kind_of_lines(source.beginning())], "")
    return Found(FORMATS[named], "")


def recognise(source: Source, named: str, *, raw: bool = False) -> Format:
    """As `find_format`, without what it rests on."""
    return find_format(source, named, raw=raw).format


def target_format(path: str, named: str | None, read: Format) -> Format:
    """The format to write: the one that is named, or that the output's name tells.

    Args:
        path: of the output.
        named: a format's name, or "jsonl" for the format of JSON Lines that fits; may be None.
        read: the format of what is to be written, which tells the formats of JSON Lines apart.

    Raises:
        DataError: there is no such format, or the name tells none.
    """
    name = Path(path).name.lower().removesuffix(".gz")
    if named == "jsonl" or (named is None and name.endswith(JSONL)):
        return FORMATS[
            {"tags": "jsonl-tokens", "classes": "jsonl-texts"}.get(read.holds, "jsonl-spans")
        ]
    if named is not None:
        if named not in FORMATS:
            raise DataError(
                Message(
                    Setting("to", shown_name(named)),
                    f": expected one of {', '.join(FORMATS)} or jsonl",
                )
            )
        return FORMATS[named]
    found = next((f for f in _ALL if f.endings and name.endswith(f.endings)), None)
    if found is None:
        raise DataError(
            Message(
                f"{path}: its name does not tell the format. Name one with ",
                Setting("to"),
                f": {', '.join(FORMATS)}",
            )
        )
    return found
