r"""The text behind CoNLL-U's words, and sentences as CoNLL-U.

Words stand in the text as `# text` has it, or as SpaceAfter=No and UDPipe's SpacesBefore and
SpacesAfter (\s a blank, \t a tab, \r, \n, \p a bar, \\ itself) tell. The words of a multiword token
(1-2) share its place unless their forms, end to end, are the token.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tagkit.errors import shorten
from tagkit.formats.columns import Block, read_blocks
from tagkit.formats.layout import BLANK, KEYED, column_options, value_of
from tagkit.formats.lines import Source
from tagkit.formats.reading import Reading
from tagkit.formats.writing import Piece, Writing, cannot_hold
from tagkit.sentence import Sentence

_TEXT = "# text = "
_ESCAPES = {"\\s": " ", "\\t": "\t", "\\r": "\r", "\\n": "\n", "\\p": "|", "\\\\": "\\"}
_ESCAPE_OF = {char: escape for escape, char in _ESCAPES.items()}
NAME = "conllu"
KEY = "NER"  # of the tags of spans in MISC


@dataclass(frozen=True, slots=True)
class _Unit:
    """A stretch of the text that has no blank put in: a word, or a multiword token."""

    form: str
    words: tuple[str, ...]
    misc: str


def read_columns(source: Source, reading: Reading) -> Iterator[Sentence]:
    """Sentences of a column file, CoNLL-U among them; with their text where that is wanted."""
    options = column_options(reading.data, with_tags=reading.with_tags)
    if reading.all_features and not options.features:
        options = replace(options, features=None)
    for block in read_blocks(source, options, reading.on_error):
        if block.sentence is not None:
            wanted = reading.with_text and len(block.lines[block.rows[0]].split("\t")) == 10
            yield with_text(block) if wanted else block.sentence


def with_text(block: Block) -> Sentence:
    """The sentence of a CoNLL-U block with its text and the places of its words."""
    sentence = block.sentence
    assert sentence is not None  # callers have looked
    units = list(_units(block))
    said = next((line for line in block.lines if line.startswith(_TEXT)), None)
    found = None
    if said is not None and not any("Spaces" in unit.misc for unit in units):
        found = _in_text(said.removeprefix(_TEXT).rstrip(BLANK), units)
    text, places = found or _laid_out(units)
    return replace(sentence, text=text, places=tuple(places))


def _units(block: Block) -> Iterator[_Unit]:
    """Multiword tokens and single words, in order."""
    rows = set(block.rows)
    pending, words, last = _Unit("", (), "_"), list[str](), 0
    for place, line in enumerate(block.lines):
        cells = line.rstrip(BLANK).split("\t")
        if place in rows:
            number, form = int(cells[0]), cells[1].strip(BLANK)
            if number > last:
                yield _Unit(form, (form,), cells[9])
                continue
            words.append(form)
            if number == last:
                yield replace(pending, words=tuple(words))
        elif len(cells) == 10 and "-" in cells[0] and not line.startswith("#"):
            first, _, end = cells[0].partition("-")
            if first.isdecimal() and end.isdecimal() and int(first) < int(end):
                pending, words, last = _Unit(cells[1].strip(BLANK), (), cells[9]), [], int(end)


def _in_text(text: str, units: Sequence[_Unit]) -> tuple[str, list[tuple[int, int]]] | None:
    """The units' places in a text that is known; None where they do not stand in it so."""
    places: list[tuple[int, int]] = []
    at = 0
    for unit in units:
        while at < len(text) and text[at].isspace() and not text.startswith(unit.form, at):
            at += 1
        if not text.startswith(unit.form, at):
            return None
        places += _places(unit, at)
        at += len(unit.form)
    return text, places


def _laid_out(units: Sequence[_Unit]) -> tuple[str, list[tuple[int, int]]]:
    """A text made of the units, as their MISC tells what stands between them."""
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    at = 0
    for index, unit in enumerate(units):
        before = _unescape(value_of(unit.misc, "SpacesBefore", ""))
        after = _unescape(value_of(unit.misc, "SpacesAfter", ""))
        if not after and "SpaceAfter=No" not in unit.misc.split("|") and index < len(units) - 1:
            after = " "
        places += _places(unit, at + len(before))
        parts += [before, unit.form, after]
        at += len(before) + len(unit.form) + len(after)
    return "".join(parts), places


def _places(unit: _Unit, start: int) -> Iterator[tuple[int, int]]:
    """The place of each word of a unit that begins at `start`."""
    if "".join(unit.words) != unit.form:
        yield from ((start, start + len(unit.form)) for _ in unit.words)
        return
    for word in unit.words:
        yield start, start + len(word)
        start += len(word)


def _unescape(text: str) -> str:
    return re.sub(r"\\[strnp\\]", lambda found: _ESCAPES[found.group()], text)


def write_conllu(items: Iterable[Sentence], writing: Writing) -> Iterator[Piece]:
    """Sentences as CoNLL-U: plain labels in UPOS, tags of spans in MISC as NER=B-X."""
    told = False
    for item in items:
        if item.features or item.labels:
            writing.note(f"{NAME} has no place for feature columns and classes: they are left out")
        if not writing.plain and item.tags and not told:
            told = True
            writing.note(f"the tags are in MISC; read them with --tag-column MISC.{KEY}")
        yield Piece("", "".join(f"{line}\n" for line in _lines(item, writing.plain)))


def _lines(item: Sentence, plain: bool) -> Iterator[str]:
    tags: Sequence[str | None] = item.tags or [None] * len(item)
    spaces = _spaces(item)
    if item.text is not None and "\n" not in item.text.strip():
        yield f"{_TEXT}{item.text.strip()}"
    for number, (word, tag, space) in enumerate(zip(item.words, tags, spaces, strict=True), 1):
        _check(item, word, "a word with a tab, a line end, or a blank at its edge")
        if tag is not None:
            _check(item, tag, "such a tag")
        misc = [space] if space else []
        if tag not in (None, KEYED["MISC"]) and not plain:
            if "|" in str(tag):
                raise cannot_hold(item, NAME, f"a tag with a bar ({shorten(tag)}) in MISC")
            misc.append(f"{KEY}={tag}")
        upos = tag if plain and tag is not None else "_"
        yield "\t".join([str(number), word, "_", upos, *"_" * 5, "|".join(misc) or "_"])
    yield ""


def _check(item: Sentence, cell: str, what: str) -> None:
    if not cell or cell != cell.strip(BLANK) or "\t" in cell or "\n" in cell:
        raise cannot_hold(item, NAME, what)


def _spaces(item: Sentence) -> list[str | None]:
    """What MISC says of the white space around each word; None where it is a single blank."""
    if item.text is None:
        return [None] * len(item)
    ends = [*(start for start, _ in item.places[1:]), len(item.text)]
    found: list[str | None] = []
    for number, ((start, end), following) in enumerate(zip(item.places, ends, strict=True)):
        between = item.text[end:following]
        last = number == len(item) - 1
        if between == ("" if last else " "):
            value = None
        elif not between:
            value = "SpaceAfter=No"
        else:
            value = f"SpacesAfter={_escape(between)}"
        if number == 0 and start:
            before = f"SpacesBefore={_escape(item.text[:start])}"
            value = f"{before}|{value}" if value else before
        found.append(value)
    return found


def _escape(text: str) -> str:
    return "".join(_ESCAPE_OF.get(char, char) for char in text)
