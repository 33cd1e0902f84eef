r"""The text that CoNLL-U's words come from.

The format is described at universaldependencies.org/format.html. The text is that of `# text`, or
is put together by SpaceAfter=No and UDPipe's SpacesBefore and SpacesAfter (\s a blank, \t a tab,
\r, \n, \p a bar, \\ itself). Words of a multiword token (1-2) share its place unless their forms,
end to end, are the token: "don't" is "do" and "n't", but the French "du" is "de" and "le".
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from tagkit.corpus.formats.columns.reader import LineBlock
from tagkit.corpus.source.layout import BLANK, Layout, is_conllu_id, split_line, value_of
from tagkit.errors import FormatError
from tagkit.text.records import Sentence
from tagkit.wording import quoted

TEXT = "# text = "
SENT_ID = "# sent_id = "
_FORM = 1  # index of its column
# What stands in MISC for white space, a bar and itself.
ESCAPES = {"\\s": " ", "\\t": "\t", "\\r": "\r", "\\n": "\n", "\\p": "|", "\\\\": "\\"}


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


def with_text(block: LineBlock, source: str, layout: Layout) -> Sentence:
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
    said = next((line for line in block.lines if line.startswith(TEXT)), None)
    text = None if said is None else said.removeprefix(TEXT).rstrip(BLANK)
    places = None
    if text is not None and layout.token == _FORM and _is_words_alone(block):
        places = _in_text(text, sentence.words)  # of most sentences: no line has to be split
    if text is None or places is None:
        text, places = _of_units(text, list(_units(block, source, layout.tabs)))
    name = next((line for line in block.lines if line.startswith(SENT_ID)), "")
    extra = (("id", name.removeprefix(SENT_ID).rstrip(BLANK)),) if name else ()
    return replace(sentence, text=text, places=tuple(places), extra=extra)


def has_other_text(block: LineBlock, sentence: Sentence) -> bool:
    """Whether `# text` differs from the text that its words give, in more than white space."""
    said = next((line for line in block.lines if line.startswith(TEXT)), None)
    if said is None or sentence.text is None:
        return False
    text = said.removeprefix(TEXT).rstrip(BLANK)
    # Most are equal, and the white space of the others has to be taken out.
    return text != sentence.text and "".join(text.split()) != "".join(sentence.text.split())


def _is_words_alone(block: LineBlock) -> bool:
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


def _units(block: LineBlock, source: str, tabs: bool) -> Iterator[_Unit]:
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
    return re.sub(r"\\[strnp\\]", lambda found: ESCAPES[found.group()], text)
