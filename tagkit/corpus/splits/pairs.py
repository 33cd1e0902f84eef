r"""Corpora of pairs: a source, and the string that stands for it.

    source<tab>target                     TSV; of SIGMORPHON with features in a third column
    source,target                         CSV, also with semicolons between cells
    {"source": "...", "target": "..."}    JSON Lines, also with "features" and several "references"
    word phone phone phone                where targets are tokens: what blanks separate
    train.en,train.fr                     two files whose lines belong together, named side by side

Which one it is shows in the content. Columns may have names in a first line. A pair is a sentence
whose only word is the source, with its features behind a tab: a model cuts it into its own units.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tagkit.config import Config, DataConfig
from tagkit.corpus.formats.tables.csv_rows import are_rows_of_csv, csv_rows
from tagkit.corpus.records.dataset import Split, draw, hold_out
from tagkit.corpus.records.objects import NONE_GIVEN, Given
from tagkit.corpus.source.digests import Digests
from tagkit.corpus.source.options import ReaderOptions, source_of
from tagkit.corpus.source.rows import as_line, as_rows
from tagkit.corpus.source.source import Source
from tagkit.corpus.splits.hallucination import share_with_stem, with_hallucinated
from tagkit.corpus.splits.splits import Corpus
from tagkit.errors import DataError, FormatError
from tagkit.storage import digest_of_bytes
from tagkit.text.json_text import from_json, kind_of
from tagkit.text.pairs import DELIMITER
from tagkit.text.records import Extra, Sentence
from tagkit.wording import plural, quoted

# What a column, or a key of a record, may be called.
SOURCES = ("source", "src", "input", "lemma", "word", "text")
TARGETS = ("target", "tgt", "output", "form", "pronunciation", "translation", "string")
FEATURES = ("features", "tags", "label")
REFERENCES = ("references", "targets")
_TOKENS = "tokens"

# Up to so many pairs, of which so many have a stem, so many more are made up, in "auto".
_FEW, _ALIKE, _MADE_UP = 2_000, 0.5, 5_000
# (number of the line, source, targets, features, what else a record has)
_Row = tuple[int, str, tuple[str, ...], str, Extra]


def read_pairs(config: Config, given: Given = NONE_GIVEN) -> Corpus:
    """Train, dev and test; without `data.dev_file` a part of train is held out as dev.

    Raises:
        DataError: a file is missing or has no pairs.
        FormatError: a line is no pair.
    """
    data = config.data
    if not data.train_file:
        raise DataError("no training corpus: name one with data.train_file")
    train = read_pair_file(data.train_file, data, given)
    if data.dev_file:
        dev = read_pair_file(data.dev_file, data, given)
    else:
        train, dev = hold_out(train, data.dev_fraction, config.train.seed)
    if data.train_sentences:
        train = draw(train, data.train_sentences, config.train.seed)
    if made := _made_up(train, data):
        train = with_hallucinated(train, made, config.train.seed)
    test = read_pair_file(data.test_file, data, given) if data.test_file else None
    return Corpus(train, dev, test)


def _made_up(train: Split, data: DataConfig) -> int:
    """How many pairs are made up."""
    if data.hallucinated != "auto":
        return data.hallucinated
    are_characters = data.source_unit == data.target_unit == "character"
    is_inflection = are_characters and all(DELIMITER in each.words[0] for each in train.sentences)
    if not is_inflection or len(train.sentences) > _FEW:
        return 0
    return _MADE_UP if share_with_stem(train.sentences) >= _ALIKE else 0


def read_pair_file(path: str, data: DataConfig, given: Given = NONE_GIVEN) -> Split:
    """One corpus of pairs: a file, or records that are given in its place.

    Raises:
        DataError: it cannot be read, or has no pairs.
        FormatError: a line is no pair.
    """
    digests = Digests()
    rows: Iterator[_Row]
    names = path.split(",")
    if path in given:
        rows = _given(given[path], path)
    elif len(names) == 2 and not os.path.exists(path):
        sources = [source_of(name, data, digests) for name in names]
        rows = _side_by_side(*sources)
    else:
        names = [path]
        rows = _rows(source_of(path, data, digests), data)
    sentences = tuple(
        Sentence((sentence_word(text, features),), text=text, lines=(number,), targets=targets,
                 extra=extra)
        for number, text, targets, features, extra in rows
    )  # fmt: skip
    if not sentences:
        raise DataError(f"{path}: expected pairs of a source and a target, found none")
    if path in given:
        lines = (as_line((each.words, each.targets)) for each in sentences)
        digest = digest_of_bytes("\n".join(lines).encode())
    else:
        read = [digests.of(name) or "" for name in names]
        digest = read[0] if len(read) == 1 else digest_of_bytes("\n".join(read).encode())
    return Split(path=path, sentences=sentences, detection=None, digest=digest)


def share_of_sources(sentences: Sequence[Sentence]) -> float:
    """Share of the characters of targets, blanks aside, that their sources have too."""
    shared, total = 0, 0
    for each in sentences:
        target = Counter("".join(each.targets[0].split()))
        shared += (target & Counter(each.text or "")).total()
        total += target.total()
    return shared / max(1, total)


def sentence_word(text: str, features: str) -> str:
    """A source and its features as one word, which is not empty."""
    return f"{text}{DELIMITER}{features}" if features or not text else text


def _rows(source: Source, data: DataConfig) -> Iterator[_Row]:
    """The pairs of one file."""
    lines = source.beginning()
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip().startswith("{"):
        yield from _records(source)
        return
    cells: Iterator[tuple[int, list[str]]]
    if DELIMITER in first:
        cells = (
            (number, line.split(DELIMITER)) for number, line in source.numbered() if line.strip()
        )
    elif source.path.endswith(".csv") or (
        data.target_unit != _TOKENS and any(are_rows_of_csv(lines, each) for each in ",;")
    ):
        cells = csv_rows(source, ReaderOptions(data))
    else:
        cells = (
            (number, line.split(maxsplit=1)) for number, line in source.numbered() if line.strip()
        )
        if data.target_unit != _TOKENS:
            raise FormatError(source.name, 1, f"{_EXPECTED}, found {quoted(first)}")
    yield from _cells(source, cells)


_EXPECTED = "expected a source and a target with a tab between them"


def _cells(source: Source, rows: Iterator[tuple[int, list[str]]]) -> Iterator[_Row]:
    """Pairs in columns: source, target, features, or as a first row names them."""
    places: list[int | None] = [0, 1, 2]
    for at, (number, cells) in enumerate(rows):
        if not at and (found := _named(cells)):
            places = found
            continue
        text, target, features = (
            cells[place] if place is not None and place < len(cells) else None for place in places
        )
        if text is None or target is None:
            problem = f"{_EXPECTED}, found {plural(len(cells), 'column')}"
            raise FormatError(source.name, number, problem)
        yield number, text, (target,), features or "", ()


def _named(cells: Sequence[str]) -> list[int | None]:
    """The places of the columns by their names; empty where the row is a pair."""
    names = [cell.strip().lower() for cell in cells]
    places = [next((names.index(name) for name in known if name in names), None)
              for known in (SOURCES, TARGETS, FEATURES)]  # fmt: skip
    return places if None not in places[:2] else []


def _side_by_side(sources: Source, targets: Source) -> Iterator[_Row]:
    """Lines of two files, blank ones too, which belong together."""
    others = targets.numbered()
    number = 0
    for number, text in sources.numbered():
        found = next(others, None)
        if found is None:
            problem = f"expected as many lines as {sources.name} has, found the end"
            raise FormatError(targets.name, number, problem)
        yield number, text, (found[1],), "", ()
    if (found := next(others, None)) is not None:
        problem = f"expected the end, as {sources.name} has {plural(number, 'line')}"
        raise FormatError(targets.name, found[0], problem)


def _records(source: Source) -> Iterator[_Row]:
    """JSON Lines."""
    for number, line in source.numbered():
        if not line.strip():
            continue
        try:
            record = from_json(line.encode())
        except ValueError as error:
            raise FormatError(source.name, number, f"expected JSON: {error}") from None
        yield _pair_in(record, source.name, number)


def _pair_in(record: Any, name: str, number: int) -> _Row:
    """The pair of a record."""
    if not isinstance(record, dict):
        raise FormatError(name, number, f"expected an object, found {kind_of(record)}")
    try:
        text = source_in(record)
        targets = _strings_in(record, REFERENCES) or _strings_in(record, TARGETS)
        if text is None or not targets:
            missing = "source" if text is None else "target"
            raise ValueError(f'expected a "{missing}", found {", ".join(record) or "none"}')
        known = {*SOURCES, *TARGETS, *FEATURES, *REFERENCES}
        extra = tuple((key, value) for key, value in record.items() if key not in known)
        return number, text, targets, features_in(record), extra
    except ValueError as error:
        raise FormatError(name, number, str(error)) from None


def _given(records: Any, name: str) -> Iterator[_Row]:
    """Records of a program: rows as JSON Lines has them, or tuples of strings."""
    for number, row in enumerate(as_rows(records, name), 1):
        if isinstance(row, tuple | list) and all(isinstance(each, str) for each in row):
            row = dict(zip((SOURCES[0], TARGETS[0], FEATURES[0]), row, strict=False))
        yield _pair_in(row, name, number)


def source_in(record: dict[str, Any]) -> str | None:
    """The source of a record; None where it has none.

    Raises:
        ValueError: it is no string.
    """
    found = _strings_in(record, SOURCES)
    return found[0] if found else None


def features_in(record: dict[str, Any]) -> str:
    """The features of a record: a string, or several.

    Raises:
        ValueError: they are something else.
    """
    return ";".join(_strings_in(record, FEATURES))


def _strings_in(record: dict[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    name = next((name for name in names if name in record), None)
    if name is None:
        return ()
    value = record[name]
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError(f"{name}: expected a string or a list of them, found {kind_of(value)}")
    return tuple(found)
