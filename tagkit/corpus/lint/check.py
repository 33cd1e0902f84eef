"""`tagkit check`: all checks of all files of a corpus."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from tagkit.config import Column, DataConfig
from tagkit.corpus.files import data_options, path_text
from tagkit.corpus.lint.characters import (
    check_characters,
    check_composed,
    check_lengths,
    check_twice_encoded,
)
from tagkit.corpus.lint.file_contents import ReadFile, line_number, read_file
from tagkit.corpus.lint.findings import CheckReport, CorpusFinding, FileFacts, Search, Severity
from tagkit.corpus.lint.labels import (
    check_joined,
    check_labels,
    check_tags,
    check_unknown_labels,
    scheme_text,
)
from tagkit.corpus.lint.line_ends import check_encoding, check_lines
from tagkit.corpus.lint.repetition import (
    check_duplicates,
    check_entities,
    check_overlap,
    check_surfaces,
)
from tagkit.corpus.source.options import silent
from tagkit.corpus.source.source import source_name
from tagkit.corpus.splits.counts import LOOKED_AT, are_counted
from tagkit.corpus.splits.expected_labels import refuse_unread_columns
from tagkit.errors import DataError, FormatError, TagkitError
from tagkit.text.records import Sentence
from tagkit.text.schemes import DISPLAY
from tagkit.wording import clipped

TEXT = "text"  # the format of plain lines
_Numbered = tuple[int, Search]  # with the number of the file whose sentences it looks at
_ORDER = {"error": 0, "warning": 1, "note": 2}


def check(
    paths: str | Path | Sequence[str | Path],
    *,
    note: Callable[[str], None] = silent,
    **options: Any,
) -> CheckReport:
    """Check corpora for errors and describe them, as `tagkit check` does; nothing is written.

    Args:
        paths: of the training corpus first, then those of dev and test; or of one corpus.
        note: called with a sentence on what each file was recognised as and why.
        options: those of [data] in the configuration, such as format, encoding or tag_column.

    Returns:
        Facts of each file, and what is wrong in them: a line that cannot be read is a finding.

    Raises:
        DataError: a column is named, and no file is in a format that has such columns; or a file
            was changed between its two readings.
        ConfigError: an option is unknown or has a wrong value.
    """
    several = [paths] if isinstance(paths, str | Path) else paths
    if not isinstance(several, Sequence) or not several:
        raise DataError(f"paths: expected some of files or folders, found {clipped(repr(paths))}")
    data = data_options(options)
    return check_files([path_text(path, "paths") for path in several], data, note)


def check_files(
    paths: Sequence[str], data: DataConfig, note: Callable[[str], None] = silent
) -> CheckReport:
    """Contents of the files of a corpus, and what looks wrong in them, which is never raised.

    Args:
        paths: the training file first, then those of dev and test.
        data: how they are read.
        note: called with a sentence on what each file was recognised as and why.

    Raises:
        DataError: a column is named, and no file is in a format that has such columns; or a file
            was changed between its two readings.
    """
    reads: list[ReadFile] = []
    for path in paths:
        # Few tags may fit several schemes: as in training, that of train is preferred.
        scheme = reads[0].judged.scheme if reads and reads[0].judged else None
        reads.append(read_file(path, data, scheme))
    if whole := [read for read in reads if read.counts.number and not read.refusal]:
        formats = [read.format for read in whole]
        refuse_unread_columns(data, source_name(whole[0].path), formats)
    for read in reads:
        if read.recognised and (read.counts.number or read.errors):
            note(read.recognised)
    # In the order of the report; each with the number of its file.
    searches = [
        (place, search)
        for place, read in enumerate(reads)
        for search in _of_one(read, place == 0, data)
    ]
    searches += _of_several(reads)
    searches += _of_further_columns(reads, data)
    for place, read in enumerate(reads):
        wanted = [search.see for of, search in searches if of == place and search.see]
        if wanted:
            for sentence in read.sentences:
                for see in wanted:
                    see(sentence)
    findings = [finding for _, search in searches for finding in search.findings()]
    # 0 is the line of what comes from no line of the file: from another one in a folder.
    findings = [
        each if all(each.lines) else replace(each, lines=tuple(filter(None, each.lines)))
        for each in findings
    ]
    return CheckReport(
        files=tuple(_facts(read) for read in reads if read.counts.number),
        # sorted() is stable: of one severity, findings keep the order of files and checks.
        findings=tuple(sorted(findings, key=lambda finding: _ORDER[finding.severity])),
    )


def _of_further_columns(reads: Sequence[ReadFile], data: DataConfig) -> Iterator[_Numbered]:
    """Checks of the tags of each further tag column, where several are read."""
    train: list[ReadFile] = []
    for place, read in enumerate(reads):
        for number, (index, counts) in enumerate(read.counts.further.items()):
            column = replace(read, column=counts, named_scheme="auto", expected_scheme=None)
            if place == 0:
                train.append(column)
            found = [*check_tags(column), check_labels(column, place == 0)]
            if place and number < len(train):
                found += check_unknown_labels(train[number], column)
            name = data.tag_columns[index]
            for search in found:
                yield place, _of_column(search, index, name, len(data.tag_columns))


def _of_column(search: Search, place: int, name: Column, columns: int) -> Search:
    """The search of the tags of a further column."""

    def findings() -> Iterator[CorpusFinding]:
        for each in search.findings():
            yield replace(each, message=f"column {name}: {each.message}")

    see_tags = search.see
    if see_tags is None:
        return Search(findings)

    def see(sentence: Sentence) -> None:
        if len(sentence.columns) == columns:
            see_tags(replace(sentence, tags=sentence.columns[place].values))

    return Search(findings, see)


def _of_one(read: ReadFile, is_train: bool, data: DataConfig) -> Iterator[Search]:
    yield _found(_of_reading(read))
    if read.counts.number:
        if read.scheme is None:
            yield _found([_without_labels(read, is_asked=data.format == TEXT)])
        # From the labels to the sentences to the words: the order in which people correct a corpus.
        yield from check_tags(read)
        yield check_labels(read, is_train)
        yield check_joined(read)
        yield check_lengths(read)
        yield _check_counted(read)
        yield check_characters(read)
        yield check_composed(read)
        yield check_twice_encoded(read)
        yield check_duplicates(read)
        yield check_surfaces(read)
    if read.refusal is None:  # else the file's end has not been seen
        if read.format.is_grid:
            yield _found(check_lines(read.path, read.line_ends, read.facts))
        if read.counts.number:
            yield _found(check_encoding(read.path, data.encoding, read.facts))


def _check_counted(read: ReadFile) -> Search:
    """Words that are the numbers of a sentence's words."""
    first: list[Sentence] = []

    def see(sentence: Sentence) -> None:
        if len(first) < LOOKED_AT:
            first.append(sentence)

    def findings() -> Iterator[CorpusFinding]:
        if are_counted(first):
            said = "the words are numbers that count up in each sentence. Name the column of its "
            message = f"{said}words: data.token_column=1 for one"
            yield CorpusFinding("error", "counted-words", read.path, message)

    # A word with a letter is enough for most files.
    may_be = read.format.is_grid and not any(map(str.isalpha, read.counts.words))
    return Search(findings, see if may_be else None)


def _found(findings: Iterable[CorpusFinding]) -> Search:
    """The search for what has been found already."""
    return Search(lambda: findings)


def _of_reading(read: ReadFile) -> Iterator[CorpusFinding]:
    """What could not be read, and notes of the reader."""
    for error in read.errors:
        yield _unreadable(read.path, error)
    if read.refusal is not None:
        yield _unreadable(read.path, read.refusal)
        if read.may_be_pairs and not read.counts.number:
            yield CorpusFinding(
                "note",
                "pairs",
                read.path,
                (
                    "its lines may be pairs of a prefix and a continuation, of a language model: "
                    f"data.format={TEXT} reads them as such"
                ),
            )
    elif not read.counts.number and not read.errors:
        yield CorpusFinding("error", "empty", read.path, "holds no sentence")
    for note in dict.fromkeys(read.notes):  # each once, as readers repeat themselves
        yield _of_reader(read.path, note)


def _without_labels(read: ReadFile, *, is_asked: bool) -> CorpusFinding:
    """A corpus of no labels: an error, unless it was named as plain text, as that is."""
    holds = "holds no tags, spans or classes, without which only a language model can be trained"
    if is_asked:
        return CorpusFinding("note", "no-labels", read.path, holds)
    message = (
        f"{holds}: it is read as {read.format.name} (data.format={TEXT} is for the text of a "
        "language model; data.format chooses another format)"
    )
    return CorpusFinding("error", "no-labels", read.path, message)


def _of_reader(path: str, note: str) -> CorpusFinding:
    """A note as a finding, whose file and line stand apart from its message."""
    line = re.match(re.escape(path) + r":(\d+): ", note)
    if line is None:
        return CorpusFinding("note", "reader", path, note.removeprefix(f"{path}: "))
    return CorpusFinding("note", "reader", path, note.removeprefix(line[0]), 1, (int(line[1]),))


def _unreadable(path: str, error: TagkitError) -> CorpusFinding:
    """An error as a finding, whose file and line stand apart from its message."""
    line = line_number(error)
    name = source_name(path)
    source = error.source if isinstance(error, FormatError) else name
    message = str(error).removeprefix(f"{source}:{line}: ").removeprefix(f"{source}: ")
    file = path if source == name else source  # in a folder, one of its files
    return CorpusFinding("error", "unreadable", file, message, 1, (line,) if line else ())


def _of_several(reads: Sequence[ReadFile]) -> Iterator[_Numbered]:
    full = [place for place, read in enumerate(reads) if read.counts.number]
    for first, place in combinations(full, 2):
        one, other = reads[first], reads[place]
        # The first file is train; where it cannot be read, nothing is known of the rest of it.
        if first == 0 and one.refusal is None:
            yield place, _found(_other_scheme(one, other))
            for search in check_unknown_labels(one, other):
                yield place, search
            yield place, check_entities(one, other)
        yield place, check_overlap(one, other, is_train=first == 0)


def _other_scheme(train: ReadFile, other: ReadFile) -> Iterator[CorpusFinding]:
    if None in (train.scheme, other.scheme) or train.scheme == other.scheme:
        return
    # Training converts one span scheme to another. Plain labels, classes and spans are different
    # tasks, and such files do not belong together.
    severity: Severity = "note" if train.has_spans and other.has_spans else "error"
    message = f"it holds {_held(other)}, and {train.path} holds {_held(train)}"
    yield CorpusFinding(severity, "other-scheme", other.path, message)


def _held(read: ReadFile) -> str:
    if read.scheme == "classes":
        return "classes of texts"
    return f"spans in {DISPLAY[str(read.scheme)]}" if read.has_spans else "plain labels"


def _facts(read: ReadFile) -> FileFacts:
    counts = read.counts
    quantiles = {
        name: counts.length_at(round(share * (counts.number - 1)))
        # Nearest rank: each is the length of a real sentence, without interpolation.
        for name, share in (("min", 0), ("50%", 0.5), ("90%", 0.9), ("99%", 0.99), ("max", 1))
    }
    return FileFacts(
        file=read.path,
        format=read.format.name,
        scheme=read.scheme,
        scheme_told=scheme_text(read),
        sentences=counts.number,
        tokens=counts.tokens(),
        labels=dict(read.labels.most_common()),
        # Where texts have classes alone, `labels` has them already.
        classes=dict(read.column.classes.most_common()) if read.has_tags else {},
        lengths=quantiles,
    )
