"""The formats: what each is called, how it is recognised, read and written."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tagkit.errors import DataError
from tagkit.formats.brat import annotated_files, read_brat, write_brat
from tagkit.formats.columns_out import write_columns
from tagkit.formats.conllu import read_columns, write_conllu
from tagkit.formats.delimited import (
    looks_like_csv,
    looks_like_tsv,
    read_csv,
    read_tsv,
    write_csv,
    write_tsv,
)
from tagkit.formats.fasttext import looks_like_fasttext, read_fasttext, write_fasttext
from tagkit.formats.folder import looks_like_folder, read_folder, write_folder
from tagkit.formats.jsonl import (
    kind_of_lines,
    looks_like_jsonl,
    read_jsonl,
    write_jsonl_spans,
    write_jsonl_texts,
    write_jsonl_tokens,
)
from tagkit.formats.layout import looks_like_columns
from tagkit.formats.lines import STDIN, Source
from tagkit.formats.parallel import WORDS, read_parallel, write_parallel
from tagkit.formats.reading import Item, Reading
from tagkit.formats.slash import looks_like_slash, read_slash, write_slash
from tagkit.formats.text import read_text_lines, write_text_lines
from tagkit.formats.trec import looks_like_trec, read_trec, write_trec
from tagkit.formats.trees import looks_like_trees, read_trees, write_trees
from tagkit.formats.writing import Piece, Writing
from tagkit.wording import clipped

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
_JSONL = (".jsonl", ".ndjson", ".json")


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


def recognise(source: Source, named: str, *, raw: bool = False) -> Format:
    """The format of a source: the one that is named or, for 'auto', that its name and lines tell.

    Args:
        source: to be looked at.
        named: a format's name, or "auto".
        raw: whether raw text is to be expected, so that lines that it may well hold (and/or, a
            tab) do not make it a corpus.

    Raises:
        DataError: it cannot be read, or is a folder of no known kind.
    """
    path = Path(source.path)
    if named == "jsonl":
        return FORMATS[kind_of_lines(source.beginning())]
    if named != "auto":
        return FORMATS[named]
    if source.is_folder():
        return _folder(path)
    name = path.name.lower().removesuffix(".gz")
    if name == WORDS:
        return FORMATS["parallel"]
    if name.endswith(_ENDING_OF_PAIRS) and source.path != STDIN and annotated_files(path):
        return FORMATS["brat"]
    if name.endswith((".csv", ".tsv")):
        return FORMATS[name[-3:]]
    lines = source.beginning()
    if name.endswith(_JSONL) or looks_like_jsonl(lines):
        return FORMATS[kind_of_lines(lines)]
    looks = [(kind, look) for kind, look in _LOOKS if not raw or kind not in _LIKE_RAW_TEXT]
    by_content = next((kind for kind, look in looks if look(lines)), None)
    if by_content and not name.endswith(FORMATS["columns"].endings + FORMATS["conllu"].endings):
        return FORMATS[by_content]
    if name.endswith(".conllu") or any(_CONLLU.match(line) for line in lines[:100]):
        return FORMATS["conllu"]
    return FORMATS["columns" if looks_like_columns(name, lines) else "text"]


_ENDING_OF_PAIRS = (".ann", ".txt")
_CONLLU = re.compile(r"[0-9]+(?:[-.][0-9]+)?(?:\t[^\t]+){9}[ \r]*\Z")
# In this order: a line of one format may also look like one of a later one.
_LOOKS: tuple[tuple[str, Callable[[Sequence[str]], bool]], ...] = (
    ("trees", looks_like_trees),
    ("fasttext", looks_like_fasttext),
    ("trec", looks_like_trec),
    ("slash", looks_like_slash),
    ("csv", looks_like_csv),
    ("tsv", looks_like_tsv),
)
_LIKE_RAW_TEXT = ("slash", "trec", "tsv")


def _folder(path: Path) -> Format:
    if os.path.isfile(path / WORDS) or os.path.isfile(path / f"{WORDS}.gz"):
        return FORMATS["parallel"]
    if annotated_files(path):
        return FORMATS["brat"]
    if looks_like_folder(path):
        return FORMATS["folder"]
    raise DataError(
        f"{path}: expected a folder with {WORDS}, with .ann files, or with a folder or file for "
        "each class, found none of these"
    )


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
    if named == "jsonl" or (named is None and name.endswith(_JSONL)):
        return FORMATS[
            {"tags": "jsonl-tokens", "classes": "jsonl-texts"}.get(read.holds, "jsonl-spans")
        ]
    if named is not None:
        if named not in FORMATS:
            raise DataError(f"--to {clipped(named)}: expected one of {', '.join(FORMATS)} or jsonl")
        return FORMATS[named]
    found = next((f for f in _ALL if f.endings and name.endswith(f.endings)), None)
    if found is None:
        raise DataError(
            f"{path}: its name does not tell the format. Name one with --to: {', '.join(FORMATS)}"
        )
    return found
