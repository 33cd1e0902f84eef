r"""Slash tags: a sentence a line, `word/TAG` separated by blanks, as in the Brown corpus.

The tag begins after the last slash (NLTK's str2tuple does the same). A slash inside a word may be
written `\/`, as the Penn Treebank does; a plain one is read too.
"""

import re
from collections.abc import Iterable, Iterator

from tagkit.corpus.source.look import each_line
from tagkit.corpus.source.options import ReaderOptions
from tagkit.corpus.source.pieces import OutputPiece, Writing, cannot_hold, note_left_out, one_file
from tagkit.corpus.source.source import Source
from tagkit.text.records import Sentence, unmarked_document
from tagkit.wording import quoted

_BLANKS = " \t"


def read_slash(source: Source, reading: ReaderOptions) -> Iterator[Sentence]:
    """The sentences of a file with slash tags."""
    document = unmarked_document()  # the format has no mark between two of them
    for number, line in source.numbered():
        cells = [cell for cell in line.replace("\t", " ").split(" ") if cell]
        if not cells:
            continue
        pairs = [cell.rpartition("/") for cell in cells]
        # Without tags being wanted, a word without one is a word: "either" is as good as "and/CC".
        if reading.with_tags:
            bad = next((c for c, p in zip(cells, pairs, strict=True) if not (p[0] and p[2])), None)
            if bad is not None:
                reading.refuse(source.name, number, f"expected word/TAG, found {quoted(bad)}")
                continue
        yield Sentence(
            words=tuple((word or tag or slash).replace("\\/", "/") for word, slash, tag in pairs),
            tags=tuple(tag for _, _, tag in pairs) if reading.with_tags else None,
            lines=(number,) * len(cells),
            document=document,
        )


def write_slash(items: Iterable[Sentence], writing: Writing) -> Iterator[OutputPiece]:
    """A line a sentence."""
    return one_file(_line(item, writing) for item in items)


def _line(item: Sentence, writing: Writing) -> str:
    note_left_out(item, "slash tags have", writing)
    if item.tags is None:
        raise cannot_hold(item, "slash", "words without tags")
    for cell in (*item.words, *item.tags):
        if not cell or any(char in cell for char in " \t\n\r"):
            raise cannot_hold(item, "slash", f"white space inside a word or tag ({quoted(cell)})")
    if any("/" in tag for tag in item.tags):  # read again, its first part would go to the word
        raise cannot_hold(item, "slash", "a tag with a slash")
    pairs = zip(item.words, item.tags, strict=True)
    return " ".join(f"{word.replace('/', chr(92) + '/')}/{tag}" for word, tag in pairs)


# Every word of a line: prose with "and/or" or "km/h" in it has other words as well. The end of an
# HTML element is no tag: a page on one line has no blanks.
_TAGGED = re.compile(r"(?:[ \t]*[^ ]+/[^ /\r]*[^ />\r](?: |\Z|\r\Z))+[ \t]*\Z")
look_at_slash = each_line(_TAGGED.match, "every word has a tag after a slash", in_prose=True)
