"""Which format a corpus is in: the look of which row is surest of its beginning.

Every command asks `find_format`, so that all of them read a file in the same way. A format that was
named is taken as it is. The reason is reported, so that a person can see why a file was read as it
was.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tagkit.corpus.formats.folders.brat import PAIR
from tagkit.corpus.formats.folders.folder import nested_folder
from tagkit.corpus.formats.folders.parallel import WORDS
from tagkit.corpus.formats.json.jsonl_keys import kind_of_lines
from tagkit.corpus.formats.table import FORMATS, Format, by_ending, by_name
from tagkit.corpus.source.look import NAME, Beginning
from tagkit.corpus.source.options import Item, ReaderOptions
from tagkit.corpus.source.source import STDIN, Source, unpacked_name
from tagkit.errors import DataError
from tagkit.storage import holds_model
from tagkit.wording import reason


@dataclass(frozen=True, slots=True)
class Found:
    """The format of a source.

    Attributes:
        format: a row of the table.
        note: the format and why it was recognised, in a sentence; empty where it was named.
        why: what was found, in a few words; empty where it was named.
        is_doubtful: whether it is raw text because that is expected, and looks like another one.
    """

    format: Format
    note: str = ""
    why: str = ""
    is_doubtful: bool = False

    @property
    def name(self) -> str:
        """That of the format."""
        return self.format.name


_SEVERAL = (WORDS, *PAIR)  # how a file that is one of several is named
_LOOKED_AT = 2000  # lines: enough sentences to decide, and few milliseconds
_ENOUGH = 20  # lines of a file of labels that cannot be read further


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
        return recognise_source(source, raw=raw, texts=texts)
    formats = by_name(named)
    if source.is_folder() and not any(format.many_files for format in formats):
        raise DataError(
            f"{source.name}: is a folder, and the format {named} is that of a file. Name a file in "
            "it, or another format with data.format"
        )
    if len(formats) > 1:  # a family: its members are told apart by the keys of the records
        return Found(FORMATS[kind_of_lines(source.beginning())])
    return Found(formats[0])


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


def recognise_source(source: Source, *, raw: bool, texts: bool = False) -> Found:
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
    is_folder = source.is_folder()
    if is_folder:
        try:
            # Nothing can be looked up in a closed folder; a file in it that need not be there would
            # be named in its place. The dot as text, as a path drops it.
            os.stat(os.path.join(path, "."))
        except OSError as error:
            raise DataError(f"{path}: cannot be read as a folder: {reason(error)}") from None
    # The content of one file of several shows nothing, so these are asked before it is read.
    if is_folder or (source.path != STDIN and unpacked_name(path.name.lower()).endswith(_SEVERAL)):
        several = [format for format in FORMATS.values() if format.many_files]
        if (found := _surest(several, Beginning(path), source.name)) is not None:
            return found
    if is_folder:
        if holds_model(path):
            raise DataError(f"{path}: expected a corpus, found the folder of a model")
        if (nested := nested_folder(path)) is not None:
            raise DataError(f"{nested}: expected a file with a text of a class, found a folder")
        raise DataError(
            f"{path}: expected a folder with {WORDS}, with .ann files, or with a folder for each "
            "class or a file for each of several, found none of these"
        )
    # With few lines a wrong format would be named in place of the error that follows them.
    lines = source.beginning(waiting=not raw, enough=1 if raw else _ENOUGH)
    return recognise_lines(path.name, lines, source.name, raw=raw, texts=texts)


def recognise_lines(
    name: str, lines: Sequence[str], source: str, *, raw: bool, texts: bool = False
) -> Found:
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
    named = [format.name for format in by_ending(name)]
    of_files = [format for format in FORMATS.values() if not format.many_files]
    beginning = Beginning(Path(name), lines[:_LOOKED_AT], named, raw, texts)
    found = _surest(of_files, beginning, source)
    assert found is not None  # any line is raw text
    return found


def _surest(formats: Iterable[Format], beginning: Beginning, source: str) -> Found | None:
    """The format whose look is surest; None where none is sure of anything.

    Raises:
        DataError: two of them are as sure as each other.
    """
    sure: list[tuple[int, Format, str]] = []
    doubtful: list[tuple[int, str]] = []
    for format in formats:
        if (look := format.look(beginning)) is None:
            continue
        is_named = format.name in beginning.named
        score = look.score + NAME * is_named
        if beginning.raw and look.in_prose and not is_named:
            doubtful.append((score, format.name))
        elif score:
            why = look.why or "its name; its lines look like no other format"
            sure.append((score, format, why))
    if not sure:
        return None
    sure.sort(key=lambda each: -each[0])
    (score, best, why), *others = sure
    if others and others[0][0] == score:
        # A guess would be wrong half of the time, and nobody would notice.
        _, other, other_why = others[0]
        raise DataError(
            f"{source}: may be {best.name} ({why}) or {other.name} ({other_why}). Choose with "
            f"data.format={best.name} or data.format={other.name}"
        )
    is_doubtful = best.name == "text" and bool(doubtful)
    if is_doubtful:
        why = f"raw text is expected, though its lines look like {max(doubtful)[1]}"
    note = f"{source}: read as {best.name}: {why} (data.format chooses another format)"
    return Found(best, note, why, is_doubtful)
