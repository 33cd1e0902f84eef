"""Train, dev and test of a language model: plain texts, or pairs, in the units of the model.

Each of them is a file, or a folder of files that are a text each; or texts with a class, in any
format of classifiers.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from tagkit.config import Config, DataConfig
from tagkit.corpus.formats.columns.grid import grid_of
from tagkit.corpus.records.dataset import LabelKinds, Split
from tagkit.corpus.records.objects import NONE_GIVEN, Given, texts_of
from tagkit.corpus.records.unit_lines import UnitLines
from tagkit.corpus.source.rows import is_table_file, rows_of_file
from tagkit.corpus.source.source import STDIN
from tagkit.corpus.source.text_lines import TextLines
from tagkit.corpus.splits.splits import Corpus, load_corpus, read_split, split_of_records
from tagkit.errors import ConfigError, DataError
from tagkit.text.pairs import DELIMITER, PairUnits, pair_problem
from tagkit.text.records import Sentence
from tagkit.text.unit_kinds import UNIT_KINDS
from tagkit.text.units import Units
from tagkit.wording import clipped, listed, reason

_CLASSES = LabelKinds(tags=False, classes=True)
# Lines, of which nine of ten show what a file is, up to the first one that is no token's. A text
# may have a book a line.
_LOOKED_AT, _LONGEST_LINE = 200, 1000


def read_texts(data: DataConfig, given: Given = NONE_GIVEN) -> Corpus:
    """The texts; without `data.dev_file`, the last lines of the training text are dev.

    Args:
        data: names the files and says how they are read.
        given: records of a program, by the paths that stand for them.

    Raises:
        ConfigError: byte pairs need a package that is missing.
        DataError: a text cannot be read, or is too short.
        FormatError: bytes that are not of the encoding, a line that is too long, or one that is not
            a pair, with `data.pairs`.
    """
    if not data.train_file:
        raise DataError("no training corpus: name one with data.train_file")
    lines = _read(data.train_file, data, given)
    stop = len(lines)
    if not data.dev_file:
        # The last ones, and not some of all: a text is learnt in its order.
        stop -= max(1, round(stop * data.dev_fraction))
    if not stop:
        raise DataError(
            f"{data.train_file}: one line is not enough to split off a dev corpus; name one with "
            "data.dev_file"
        )
    units = _units(data, lines.lines(0, stop))
    if data.dev_file:
        dev = read_text(data.dev_file, data, units, given)
    else:
        name = f"{Path(data.train_file).name} (split off)"
        dev = _split(name, UnitLines(lines, units, stop))
    test = None
    if data.test_file:
        test = read_text(data.test_file, data, units, given)
    train = _split(data.train_file, UnitLines(lines, units, 0, stop), lines)
    return Corpus(train, dev, test)


def read_labelled_texts(config: Config, given: Given = NONE_GIVEN) -> Corpus:
    """Texts with their classes, each a line; without `data.dev_file`, some of all are dev.

    Raises:
        ConfigError: byte pairs need a package that is missing.
        DataError: a file is missing, or a text has several classes.
        FormatError: a line cannot be read.
    """
    data = config.data
    found = load_corpus(_as_classifier(config), _CLASSES, given)
    units = UNIT_KINDS[data.unit].learn(map(_line_of(data), found.train.sentences), data.bpe_size)
    test = None if found.test is None else _labelled(found.test, data, units)
    return Corpus(_labelled(found.train, data, units), _labelled(found.dev, data, units), test)


def read_labelled_text(
    path: str, data: DataConfig, units: Units, given: Given = NONE_GIVEN
) -> Split:
    """Texts with their classes in units that are there already.

    Raises:
        DataError: the file cannot be read, or a text has several classes.
        FormatError: a line cannot be read.
    """
    as_words = data.model_copy(update={"unit": "word"})
    if path in given:
        split = split_of_records(given[path], as_words, _CLASSES, None, path)
    else:
        split = read_split(path, as_words, _CLASSES, None)
    return _labelled(split, data, units)


def _as_classifier(config: Config) -> Config:
    return config.model_copy(update={"data": config.data.model_copy(update={"unit": "word"})})


def _line_of(data: DataConfig) -> Callable[[Sentence], str]:
    """The line of a text: its words where they are the units, else as it is written."""
    if data.unit == "word":
        return lambda sentence: " ".join(sentence.words)
    return lambda sentence: " ".join((sentence.text or " ".join(sentence.words)).split("\n"))


def _labelled(split: Split, data: DataConfig, units: Units) -> Split:
    """The texts as lines of units."""
    texts = list(map(_line_of(data), split.sentences))
    for sentence, text in zip(split.sentences, texts, strict=True):
        if len(sentence.labels) != 1:
            raise DataError(
                f"{split.path}: expected one class of each text, found "
                f"{listed(sentence.labels) or 'none'} of {clipped(repr(text))}"
            )
    lines = TextLines(split.path, problem_of=None, given={split.path: texts})
    classes = [sentence.labels[0] for sentence, text in zip(split.sentences, texts, strict=True)
               if text.strip()]  # fmt: skip
    return replace(split, sentences=UnitLines(lines, units, classes=classes))


def refuse_inside(output: str, data: DataConfig) -> None:
    """Refuse an output that would be part of a corpus, which each file in its folder is.

    Raises:
        ConfigError: it lies in the folder of a corpus.
    """
    place = Path(os.path.realpath(output))
    for path in (data.train_file, data.dev_file, data.test_file):
        if os.path.isdir(path) and place.is_relative_to(os.path.realpath(path)):
            raise ConfigError(
                "output.dir",
                [
                    (
                        f"{output} lies in {path}, all of whose files are text to read; name "
                        "another (output.dir)"
                    )
                ],
            )


def read_text(path: str, data: DataConfig, units: Units, given: Given = NONE_GIVEN) -> Split:
    """A text in units that are there already.

    Raises:
        DataError: it cannot be read, or has no lines.
        FormatError: as for `read_texts`.
    """
    lines = _read(path, data, given)
    return _split(path, UnitLines(lines, units), lines)


def _read(path: str, data: DataConfig, given: Given) -> TextLines:
    problem_of = pair_problem if data.pairs else None
    files = [path] if path in given else text_files(path)
    lines = {
        each: texts_of(given[each] if each in given else rows_of_file(each), data, each)
        for each in files
        if each in given or is_table_file(each)
    }
    return TextLines(files, data.encoding, data.max_line_chars, problem_of, lines)


def text_files(path: str) -> list[str]:
    """A file alone; of a folder all files in it and in its folders, by the order of their names.

    Hidden files are left out.

    Raises:
        DataError: a folder cannot be read, is a link inside another, or has no file.
    """
    if path == STDIN or not os.path.isdir(path):
        return [path]
    found = list(_inside(Path(path)))
    if not found:
        raise DataError(f"{path}: expected files of text in this folder, found none")
    return found


def _inside(folder: Path) -> Iterator[str]:
    try:
        # Sorted, as the order of a file system differs between machines, and a text has its order.
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise DataError(f"{folder}: cannot be read as a folder: {reason(error)}") from None
    for entry in entries:
        if not entry.is_dir():
            yield str(entry)
        elif entry.is_symlink():
            # It may lead back to a folder that holds it, and no digest of a folder follows it.
            raise DataError(
                f"{entry}: is a link to a folder, which is not followed; move its files here"
            )
        else:
            yield from _inside(entry)


def _units(data: DataConfig, lines: Iterable[str]) -> Units:
    """The units that `data.unit` names; byte pairs are learnt from the lines."""
    # Either side of a pair is cut by itself.
    texts = (side for line in lines for side in line.split(DELIMITER)) if data.pairs else lines
    units = UNIT_KINDS[data.unit].learn(texts, data.bpe_size)
    return PairUnits(units) if data.pairs else units


def _split(path: str, units: UnitLines, lines: TextLines | None = None) -> Split:
    """A text as a corpus; with its `lines`, notes say what they look like."""
    first = iter(()) if lines is None else lines.lines(0, min(len(lines), _LOOKED_AT))
    grid = grid_of([*takewhile(lambda line: len(line) <= _LONGEST_LINE, first)])
    notes: tuple[str, ...] = ()
    if grid is not None and grid.has_tags and grid.has_groups:
        notes = (f"{path}: read as plain text, and looks like a column file ({grid.shape}): "
                 "tagkit convert makes plain text of it",)  # fmt: skip
    digest = lines.digest if lines is not None else None
    return Split(path=path, sentences=units, detection=None, notes=notes, digest=digest)
