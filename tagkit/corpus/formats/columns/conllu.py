"""Sentences written as CoNLL-U, the format of universaldependencies.org/format.html."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from tagkit.corpus.formats.columns.conllu_text import ESCAPES, SENT_ID, TEXT
from tagkit.corpus.source.layout import CONLLU, DOCSTART, KEYED, is_cell
from tagkit.corpus.source.pieces import OutputPiece, Writing, cannot_hold, note_left_out
from tagkit.text.documents import begins_marked
from tagkit.text.records import Sentence
from tagkit.wording import quoted

_ESCAPE_OF = {char: escape for escape, char in ESCAPES.items()}
KEY = "NER"  # of the tags of spans in MISC; CoNLL-U has no column for them


def write_conllu(items: Iterable[Sentence], writing: Writing) -> Iterator[OutputPiece]:
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
            writing.note(f"the tags are in MISC; read them with data.tag_column=MISC.{KEY}")
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
        yield OutputPiece(
            "", mark + "".join(f"{line}\n" for line in _lines(item, writing.plain, name))
        )


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
        yield f"{SENT_ID}{name}"
    # UD requires `# text`; a text with a line end inside cannot be given in a comment.
    if item.text is not None and "\n" not in item.text.strip():
        yield f"{TEXT}{item.text.strip()}"
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
