"""Records with tags in another notation than the usual one -> the same records in the usual one.

Which notation it is shows in the first records, before any of them is handed on; so memory does not
grow with the corpus, and every command reads it in the same way.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Generic, TypeVar

from tagkit.config import DataConfig
from tagkit.corpus.source.layout import NO_TAGS
from tagkit.corpus.source.options import Item
from tagkit.errors import TagkitError
from tagkit.text.notation import USUAL, Notation, notation_named
from tagkit.text.records import Sentence
from tagkit.text.scheme_detection import notation_of
from tagkit.text.scheme_names import PLAIN
from tagkit.wording import clipped

_Record = TypeVar("_Record", bound=Item)
_LOOKED_AT = 1000  # records; more, up to twenty times as many, while all tags are the same
_MOST_LOOKED_AT = 20_000


@dataclass(frozen=True, slots=True)
class Respelled(Generic[_Record]):
    """Records with tags in the usual notation.

    Attributes:
        items: the records, which are read as they are taken, but for the first ones.
        notation: that they were read in.
    """

    items: Iterator[_Record]
    notation: Notation


def respelled(
    items: Iterator[_Record], source: str, data: DataConfig, note: Callable[[str], None]
) -> Respelled[_Record]:
    """The records with their tags in the usual notation; a note says where they were in another.

    Errors of reading are raised behind the records that come before them.

    Args:
        items: the records. Several tag columns, lemmas and features stay as they are.
        source: name of their file, for the note.
        data: names the scheme and the notation, perhaps.
        note: called with what was found.
    """
    if data.tag_columns or data.first_tag_column in NO_TAGS:
        return Respelled(items, USUAL)
    held, tags, rest = _beginning(items)
    notation = notation_of(tags, data.scheme, notation_named(data.notation))
    whole = chain(held, rest)
    if notation == USUAL:
        return Respelled(whole, USUAL)
    outside = clipped(notation.outside)
    said = f"{source}: tags are spelled {notation.example} and {outside}, and read as "
    said += f"{USUAL.example} and {USUAL.outside}"
    if not notation.separator:
        said = f"{source}: tags are types of spans, of which neighbours of one type are one span"
    note(f"{said} (data.notation)")
    memo: dict[str, str] = {}

    def usual(tag: str) -> str:
        return memo.get(tag) or memo.setdefault(tag, notation.read(tag))

    return Respelled(
        (
            replace(item, tags=tuple(map(usual, item.tags)))
            if isinstance(item, Sentence) and item.tags
            else item
            for item in whole
        ),
        notation,
    )


def expecting(data: DataConfig, scheme: str | None, notation: Notation = USUAL) -> DataConfig:
    """How a corpus is read that belongs to another one, whose tags have this scheme and notation.

    What is compared with plain labels is read as such, however its tags are spelled.
    """
    if scheme == PLAIN:
        return data.model_copy(update={"scheme": PLAIN})
    if notation == USUAL or data.notation != "auto":
        return data
    return data.model_copy(update={"notation": str(notation)})


def _beginning(items: Iterator[_Record]) -> tuple[list[_Record], Counter[str], Iterator[_Record]]:
    """The first records, how often each tag occurs in them, and the other records."""
    held: list[_Record] = []
    tags: Counter[str] = Counter()
    try:
        for item in items:
            held.append(item)
            if not isinstance(item, Sentence) or item.tags is None:
                break  # texts, with spans or classes
            tags.update(item.tags)
            if len(held) >= (_LOOKED_AT if len(tags) > 1 else _MOST_LOOKED_AT):
                break
    except TagkitError as error:
        return held, tags, _raising(error)
    return held, tags, items


def _raising(error: TagkitError) -> Iterator[_Record]:
    yield from ()
    raise error
