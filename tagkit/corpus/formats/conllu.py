r"""The text that CoNLL-U's words come from, and sentences written as CoNLL-U.

The format is described at universaldependencies.org/format.html. The text is that of `# text`, or
is put together by SpaceAfter=No and UDPipe's SpacesBefore and SpacesAfter (\s a blank, \t a tab,
\r, \n, \p a bar, \\ itself). Words of a multiword token (1-2) share its place unless their forms,
end to end, are the token: "don't" is "do" and "n't", but the French "du" is "de" and "le".
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, pairwise

from tagkit.corpus.formats.columns.layout import (
    BLANK,
    CONLLU,
    DOCSTART,
    KEYED,
    Layout,
    is_cell,
    is_conllu_id,
    split_line,
    value_of,
)
from tagkit.corpus.formats.columns.reader import Block
from tagkit.corpus.formats.pieces import Piece, Writing, cannot_hold, note_left_out
from tagkit.errors import FormatError
from tagkit.text.documents import begins_marked
from tagkit.text.records import Sentence
from tagkit.wording import Message, Setting, quoted

_TEXT = "# text = "
_SENT_ID = "# sent_id = "
_FORM = 1  # index of its column
_ESCAPES = {"\\s": " ", "\\t": "\t", "\\r": "\r", "\\n": "\n", "\\p": "|", "\\\\": "\\"}
_ESCAPE_OF = {char: escape for escape, char in _ESCAPES.items()}
KEY = "NER"  # of the tags of spans in MISC; CoNLL-U has no column for them


@dataclass(frozen=True, slots=True)
class _Unit:
    """A surface token: a word, or a multiword token with its words.

    Attributes:
        form: as it stands in the text.
        words: the syntactic words of it; `form` alone where it is one word.
        line: of it in the file.
        tabs: whether tabs separate the line's columns, rather than blanks.
    """

    form: str
    words: tuple[str, ...]
    line: str
    tabs: bool

    @property
    def misc(self) -> str:
        """The MISC column, which says what white space follows: few units are asked for it."""
        return split_line(self.line, self.tabs)[9].strip(BLANK)


def with_text(block: Block, source: str, layout: Layout) -> Sentence:
    """The sentence of a CoNLL-U block with its text, the places of its words, and its id.

    Args:
        block: lines with a sentence.
        source: names the file in messages.
        layout: of the file: whether tabs separate its columns, as they should, rather than blanks,
            and which column has the sentence's words.

    Raises:
        FormatError: a multiword range that is not one of words of the sentence.
    """
    sentence = block.sentence
    assert sentence is not None  # callers have looked
    said = next((line for line in block.lines if line.startswith(_TEXT)), None)
    text = None if said is None else said.removeprefix(_TEXT).rstrip(BLANK)
    places = None
    if text is not None and layout.token == _FORM and _is_words_alone(block):
        places = _in_text(text, sentence.words)  # of most sentences: no line has to be split
    if text is None or places is None:
        text, places = _of_units(text, list(_units(block, source, layout.tabs)))
    name = next((line for line in block.lines if line.startswith(_SENT_ID)), "")
    extra = (("id", name.removeprefix(_SENT_ID).rstrip(BLANK)),) if name else ()
    return replace(sentence, text=text, places=tuple(places), extra=extra)


def _is_words_alone(block: Block) -> bool:
    """Whether no line is a range or an empty node, and none says what white space there is."""
    first, last = block.rows[0], block.rows[-1]
    others = (*block.lines[:first], *block.lines[last + 1 :])
    return (
        last - first + 1 == len(block.rows)
        and all(line.startswith("#") or not line.strip(BLANK) for line in others)
        and "Spaces" not in "".join(block.lines[first : last + 1])
    )


def _of_units(text: str | None, units: Sequence[_Unit]) -> tuple[str, list[tuple[int, int]]]:
    """The text that the units stand in, which may be known, and the places of their words."""
    found = None
    # SpacesAfter is exact; `# text` has lost line ends and double blanks. So it is looked at first.
    if text is not None and not any(
        "Spaces" in unit.line and "Spaces" in unit.misc for unit in units
    ):
        found = _in_text(text, [unit.form for unit in units])
    if text is None or found is None:
        text, found = _laid_out(units)
    return text, [each for unit, at in zip(units, found, strict=True) for each in _places(unit, at)]


def _units(block: Block, source: str, tabs: bool) -> Iterator[_Unit]:
    """Multiword tokens and single words, in order.

    Raises:
        FormatError: a range whose words do not follow it.
    """
    rows = set(block.rows)
    pending: tuple[int, _Unit, str, list[int]] | None = None  # its line, the numbers of its words
    words: list[str] = []
    for place, line in enumerate(block.lines):
        if place in rows:
            # Ten columns, as the reader has seen: those that are not wanted are not looked at.
            cells = line.split("\t", 2) if tabs else split_line(line, tabs)
            form = cells[_FORM].strip(BLANK)
            if pending is None:
                yield _Unit(form, (form,), line, tabs)
                continue
            _, unit, _, numbers = pending
            if int(cells[0]) != numbers[0]:
                break
            words.append(form)
            del numbers[0]
            if not numbers:
                yield replace(unit, words=tuple(words))
                pending = None
        elif not line.startswith("#") and _is_range(cells := split_line(line, tabs)):
            first, _, end = cells[0].partition("-")
            # No more numbers than the sentence has words: the end of a range is whatever a file
            # says, and 1-999999999 must not fill the memory.
            numbers = list(range(int(first), min(int(end), int(first) + len(rows)) + 1))
            if pending is not None or len(numbers) < 2:
                pending = pending or (place, _Unit("", (), line, tabs), cells[0], numbers)
                break
            pending = place, _Unit(cells[_FORM], (), line, tabs), cells[0], numbers
            words = []
    if pending is not None:
        place, _, shown, _ = pending
        problem = (
            f"expected the multiword range {quoted(shown)} to be that of two words or more that "
            "follow it, one by one"
        )
        raise FormatError(source, block.first_line + place, problem)


def _is_range(cells: Sequence[str]) -> bool:
    return len(cells) == 10 and "-" in cells[0] and is_conllu_id(cells[0])


def _in_text(text: str, forms: Iterable[str]) -> list[tuple[int, int]] | None:
    """Where the forms stand in a text that is known; None where the text does not match them."""
    places: list[tuple[int, int]] = []
    end = 0
    for form in forms:
        # A form may begin with white space itself: numbers such as "1 000" do in some treebanks.
        start = text.find(form, end)
        if start != end and (start < 0 or not text[end:start].isspace()):
            return None
        end = start + len(form)
        places.append((start, end))
    return places


def _laid_out(units: Sequence[_Unit]) -> tuple[str, list[tuple[int, int]]]:
    """A text made of the units, with the white space that their MISC names between them."""
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    at = 0
    for index, unit in enumerate(units):
        before = _unescape(value_of(unit.misc, "SpacesBefore", ""))
        after = _unescape(value_of(unit.misc, "SpacesAfter", ""))
        # A blank is the default between two tokens; after the last one there is nothing.
        if not after and "SpaceAfter=No" not in unit.misc.split("|") and index < len(units) - 1:
            after = " "
        start = at + len(before)
        places.append((start, start + len(unit.form)))
        parts += [before, unit.form, after]
        at = start + len(unit.form) + len(after)
    return "".join(parts), places


def _places(unit: _Unit, at: tuple[int, int]) -> list[tuple[int, int]]:
    """The place of each word of a unit that is at a place."""
    # "du" is not "de" + "le": where the words are not in the text, they share its place. So does a
    # single word.
    if len(unit.words) == 1 or "".join(unit.words) != unit.form:
        return [at] * len(unit.words)
    ends = [*accumulate(map(len, unit.words), initial=at[0])]
    return [*pairwise(ends)]


def _unescape(text: str) -> str:
    return re.sub(r"\\[strnp\\]", lambda found: _ESCAPES[found.group()], text)


def write_conllu(items: Iterable[Sentence], writing: Writing) -> Iterator[Piece]:
    """Sentences as CoNLL-U: plain labels in UPOS, tags of spans in MISC as NER=B-X."""
    noted = False
    first: Sentence | None = None
    before: Sentence | None = None
    ids = _Ids()
    for item in items:
        first = first or item
        # A missing tag and the label "_" would be the same cell.
        if (item.tags is None) != (first.tags is None):
            raise cannot_hold(item, CONLLU, "tags in some sentences alone")
        note_left_out(item, f"{CONLLU} has", writing)
        if not writing.plain and item.tags and not noted:
            noted = True
            column = Setting("data.tag_column", f"MISC.{KEY}")
            writing.note(Message("the tags are in MISC; read them with ", column))
        name = ids.unique(given := _name(item))
        if not given and dict(item.extra).get("id") not in (None, ""):
            writing.note(
                f"{CONLLU} has no place for an id that is neither a text of one line nor a number: "
                "it is left out"
            )
        if name != given:
            writing.note(
                f"{CONLLU} needs another sent_id for each sentence: to ids that come again a "
                "number is added"
            )
        mark = "# newdoc\n" if begins_marked(item, before) else ""
        before = item
        yield Piece("", mark + "".join(f"{line}\n" for line in _lines(item, writing.plain, name)))


class _Ids:
    """The ids that a file has so far: each `sent_id` has to be another one."""

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self.counts: Counter[str] = Counter()  # how often an id was asked for

    def unique(self, name: str) -> str:
        """The name, with a number behind it where it is taken; an empty one as it is."""
        found = name
        while found and found in self.taken:
            # Sentences of one text share its id: they are numbered from 2, in their order.
            self.counts[name] += 1
            found = f"{name}-{self.counts[name] + 1}"
        self.taken.add(found)
        return found


def _name(item: Sentence) -> str:
    """What stands in `# sent_id`; empty where the sentence has no id that fits a comment."""
    name = dict(item.extra).get("id")
    return str(name) if isinstance(name, (str, int, float)) and is_cell(str(name)) else ""


def _lines(item: Sentence, plain: bool, name: str) -> Iterator[str]:
    tags: Sequence[str | None] = item.tags or [None] * len(item)
    if name:
        yield f"{_SENT_ID}{name}"
    # UD requires `# text`; a text with a line end inside cannot be given in a comment.
    if item.text is not None and "\n" not in item.text.strip():
        yield f"{_TEXT}{item.text.strip()}"
    spaces = _spaces(item)
    ranges = _ranges(item)
    for number, (word, tag) in enumerate(zip(item.words, tags, strict=True), 1):
        _check(item, word, "a word with a tab, a line end, or a blank at its edge")
        if word == DOCSTART:
            raise cannot_hold(item, CONLLU, f"{DOCSTART} as a word")
        if tag is not None:
            _check(item, tag, "such a tag")
        if number - 1 in ranges:
            end, form = ranges[number - 1]
            _check(item, form, "a token with a tab, a line end, or a blank at its edge")
            misc = spaces[end - 1] or "_"
            yield "\t".join([f"{number}-{end}", form, *"_" * 7, misc])
        # White space belongs to the multiword token, so its words have none in their MISC.
        inside = any(start < number <= end for start, (end, _) in ranges.items())
        pairs = [] if inside or spaces[number - 1] is None else [str(spaces[number - 1])]
        if tag not in (None, KEYED["MISC"]) and not plain:
            if "|" in str(tag):  # a bar separates the pairs of MISC
                raise cannot_hold(item, CONLLU, f"a tag with a bar ({quoted(str(tag))}) in MISC")
            pairs.append(f"{KEY}={tag}")
        upos = tag if plain and tag is not None else "_"
        yield "\t".join([str(number), word, "_", upos, *"_" * 5, "|".join(pairs) or "_"])
    yield ""


def _ranges(item: Sentence) -> dict[int, tuple[int, str]]:
    """Words that share a place, by the first of them: the word after the last, and their token.

    Raises:
        FormatError: a word that the sentence's text has in another way, or in another order.
    """
    if item.text is None:
        return {}
    found: dict[int, tuple[int, str]] = {}
    start = behind = 0  # index of the group's first word; end of the text that is done
    for (begin, end), group in groupby(item.places):
        count = len(list(group))
        form = item.text[begin:end]
        words = item.words[start : start + count]
        if begin < behind or (count == 1 and words[0] != form):
            raise cannot_hold(item, CONLLU, "a word that is not what the sentence's text has there")
        if count > 1:
            # Read again, such words would get places of their own: another sentence.
            if "".join(words) == form:
                raise cannot_hold(item, CONLLU, "words that share a place and make up its text")
            found[start] = (start + count, form)
        start, behind = start + count, end
    return found


def _check(item: Sentence, cell: str, what: str) -> None:
    if not is_cell(cell):
        raise cannot_hold(item, CONLLU, what)


def _spaces(item: Sentence) -> list[str | None]:
    """What MISC says of the white space around each word; None where it is a single blank.

    Of words that share a place, the last one has what follows the place.
    """
    if item.text is None:
        return [None] * len(item)
    ends = [*(start for start, _ in item.places[1:]), len(item.text)]
    found: list[str | None] = []
    first = item.places.count(item.places[0]) - 1  # the word that has what stands before the text
    for number, ((_, end), following) in enumerate(zip(item.places, ends, strict=True)):
        between = item.text[end:following]
        last = number == len(item) - 1
        # Defaults are not written: a blank between words, nothing at the sentence's end.
        if between == ("" if last else " "):
            value = None
        elif not between:
            value = "SpaceAfter=No"
        else:
            value = f"SpacesAfter={_escape(between)}"
        if number == first and item.places[0][0]:
            before = f"SpacesBefore={_escape(item.text[: item.places[0][0]])}"
            value = f"{before}|{value}" if value else before
        found.append(value)
    return found


def _escape(text: str) -> str:
    return "".join(_ESCAPE_OF.get(char, char) for char in text)
