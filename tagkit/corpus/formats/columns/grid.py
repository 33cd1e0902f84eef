"""Lines as rows of columns: what distinguishes column files, raw text and tables of texts."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice

import regex

from tagkit.corpus.formats.tables.text_columns import names_both
from tagkit.corpus.source.layout import BLANK, is_conllu_id, is_docstart, split_line
from tagkit.corpus.source.look import (
    CERTAIN,
    FAINT,
    LIKELY,
    NOTHING,
    POSSIBLE,
    SHAPE,
    Beginning,
    Sureness,
)
from tagkit.text.notation import Notation
from tagkit.text.scheme_detection import count_steps, judge, notation_of, outside_of
from tagkit.text.schemes import DISPLAY, OUTSIDE, is_span_tag
from tagkit.wording import listed, plural

_SENTENCE_ENDS = ".?!"
# The tags of a sentence this long repeat each other, in the finest of usual tag sets as well.
_ENOUGH_LINES = 30
# Punctuation behind a word. "Mr." is one as well, but few words of a text are.
_ENDS = frozenset(".?!,;:…।。！？，；：")
# Of the scripts without blanks between words, more than a word: nine of ten Chinese and Japanese
# words have four letters at most. Of the others marks count too, as there are many.
_SEVERAL_WORDS = regex.compile(
    r"[。！？，；：]\w|[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}ー]{5}"
    r"|[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]{13}"
)


def looks_like_prose(lines: Sequence[str]) -> bool:
    """Whether the last words of these lines are no tags.

    Nine of ten end as a sentence does; or most are in lower case, and more than half of them are
    different. In doubt they are tags.
    """
    last = [words[-1] for line in lines if (words := line.split())]
    ends = sum(word[-1] in _SENTENCE_ENDS for word in last)
    if len(last) > 1 and 10 * ends >= 9 * len(last):
        return True
    lower = sum(word.islower() for word in last)
    return len(last) >= _ENOUGH_LINES and 2 * len(set(last)) > len(last) and 2 * lower > len(last)


def are_words(cells: Sequence[str]) -> bool:
    """Whether lines without blanks are words, but for a few, and not texts."""
    ended = sum(cell[-1:] in _ENDS and any(map(str.isalnum, cell)) for cell in cells)
    several = sum(_SEVERAL_WORDS.search(cell) is not None for cell in cells)
    # Of a few tokens, abbreviations and initials may be a good part.
    return 10 * several <= len(cells) >= 3 * ended


def are_tagged(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a column behind the first holds tags: at most every second one is new.

    Tags repeat each other more than the words do. In doubt there are none.
    """
    kinds = [len({*column}) for column in zip(*rows, strict=True)]
    return any(1 < of_tags < max(kinds) and 2 * of_tags <= len(rows) for of_tags in kinds[1:])


# Lines without a blank one that may well be one sentence. More of them are a table, or a corpus
# without sentences, and a wrong guess would train on one sentence of a million words.
_LONGEST_SENTENCE = 100
_LABELLED = re.compile(r".+-.*\D")  # a tag of a span; I-95 and B-52 are names
_TOKENS = 2000  # lines by which it is decided where the words are
_FEW_TAGS = 50  # that a column may hold of them, however few they are
_SPANS = "spans"  # in place of a scheme where some tags are of none


@dataclass(frozen=True, slots=True)
class Grid:
    """The rows and columns that some lines have.

    Attributes:
        width: columns of at least nine of ten lines.
        tabs: whether tabs separate them, rather than blanks.
        lines: number of lines that are not blank.
        is_regular: whether all of these have that width.
        has_groups: whether there are two lines or more without a blank one between them.
        has_blank_lines: whether there are blank lines at all.
        has_inner_blank_lines: whether there are some between other lines.
        has_texts: whether more than half of the lines have a column of several words.
        has_names: whether the first line names a text and a label, and all others are rows below
            it.
        scheme: of the tags of spans in one of the columns; empty where there are none.
        tag: index of that column, the rightmost of several; 0 where there is none.
        other_tags: indices of the other ones.
        is_certain: whether it is no raw text: there are tabs, a -DOCSTART-, a column of tags, or
            groups of single words.
    """

    width: int
    tabs: bool
    lines: int
    is_regular: bool
    has_groups: bool
    has_blank_lines: bool
    has_inner_blank_lines: bool
    has_texts: bool
    has_names: bool
    scheme: str
    tag: int
    other_tags: tuple[int, ...]
    is_certain: bool

    @property
    def has_tags(self) -> bool:
        """Whether one of several columns holds tags of spans."""
        return bool(self.scheme)

    @property
    def is_corpus(self) -> bool:
        """Whether it is that of a column file or of TSV, rather than of raw text.

        Lines of as many words without a blank line between them are text: requests, names, verse.
        Some broken lines do not make text of a file with tabs.
        """
        if not self.is_regular:
            sentences = self.has_groups and self.has_inner_blank_lines
            return self.tabs and sentences and not self.has_texts
        return self.tabs or (self.has_groups and self.has_blank_lines)

    @property
    def shape(self) -> str:
        """Number of columns and what separates them."""
        columns = plural(self.width, "column")
        return (
            f"{columns} separated by {'tabs' if self.tabs else 'blanks'}"
            if self.width > 1
            else columns
        )

    def __str__(self) -> str:
        """What was found, for people."""
        parts = [self.shape]
        if self.has_inner_blank_lines:
            parts.append("blank lines between sentences")
        if self.has_tags:
            kind = "spans" if self.scheme == _SPANS else DISPLAY[self.scheme]
            other = (
                f" in column {self.tag}, which is not the last" if self.tag + 1 < self.width else ""
            )
            parts.append(f"tags of {kind}{other}")
        if self.other_tags:
            more = listed([str(column) for column in reversed(self.other_tags)])
            columns = "column" if len(self.other_tags) == 1 else "columns"
            parts.append(f"tags of spans in {columns} {more} too")
        if not self.is_regular:
            parts.append("some lines have another number of columns")
        return ", ".join(parts)


def grid_of(lines: Sequence[str]) -> Grid | None:
    """The rows and columns of lines; None where fewer than nine of ten have as many columns.

    Lines with # and with -DOCSTART- are not looked at.
    """
    # The first look is the cheap one: a call for each line would take longer than all splitting.
    given = len(lines)
    lines = [line for line in lines if line[:1] != "-" or not is_docstart(line)]
    is_marked = len(lines) < given
    filled = [bool(line.strip(BLANK)) for line in lines]
    full = [line for line, is_filled in zip(lines, filled, strict=True) if is_filled]
    counted = [line for line in full if line[0] != "#"]
    if not counted:
        return None
    # By majority: one line of prose with a tab makes no table. A tab at the end separates nothing.
    with_tabs = [line for line in counted if "\t" in line and "\t" in line.rstrip(BLANK)]
    tabs = 2 * len(with_tabs) > len(counted)
    # Each line is split once: this runs on thousands of lines before the first sentence is read.
    split = [split_line(line, tabs) for line in full]
    rows = split
    if len(counted) < len(full):
        rows = [row for line, row in zip(full, split, strict=True) if line[0] != "#"]
    # Nine of ten, so that a broken line is reported with its number rather than read as text.
    (width, count), *_ = Counter(map(len, rows)).most_common(1)
    if 10 * count < 9 * len(rows):
        return None
    # A blank line or two lines in a row are what distinguishes a token a line from a text a line.
    groups = [len(list(group)) for is_filled, group in groupby(filled) if is_filled]
    # Without tabs a blank separates columns, so that no cell has one.
    texts = sum(" " in "".join(row) for row in rows) if tabs else 0
    has_groups = any(length > 1 for length in groups)
    # Of a text a line, any word may look like a tag: there it has to be the last one.
    first_tag = 1 if tabs or has_groups else width - 1
    tags = _schemes(split, groups, width, first_tag) if width > 1 else []
    (tag, scheme), *others = tags or [(0, "")]
    is_table = tabs and count == len(rows) and not (has_groups and len(groups) > 1)
    return Grid(
        width=width,
        tabs=tabs,
        lines=len(rows),
        is_regular=count == len(rows),
        has_groups=has_groups,
        has_blank_lines=not all(filled),
        has_inner_blank_lines=len(groups) > 1,
        has_texts=2 * texts > len(rows),
        has_names=is_table and names_both(split[0]),
        scheme=scheme,
        tag=tag,
        other_tags=tuple(column for column, _ in others),
        is_certain=tabs
        or is_marked
        or (scheme != "" and has_groups)
        or _are_tokens(rows, width, groups),
    )


def _are_tokens(rows: Sequence[Sequence[str]], width: int, groups: Sequence[int]) -> bool:
    """Whether rows of cells without blanks are words or, with several columns, have tags."""
    rows = [row for row in rows if len(row) == width]
    if width == 1:
        return len(groups) > 1 and max(groups) > 1 and are_words([cell for (cell,) in rows])
    sentences = sum(size > 1 for size in groups)
    if sentences and any({*column} == {OUTSIDE} for column in zip(*rows, strict=True)):
        return True
    # Two sentences, as a group of lines between some that stand alone is found in texts too.
    return sentences > 1 and are_tagged(rows)


def _schemes(
    rows: Sequence[Sequence[str]], groups: Sequence[int], width: int, first: int
) -> list[tuple[int, str]]:
    """The columns that hold tags of spans, from the right, where tags stand, with their schemes.

    Args:
        rows: the cells of all lines that are not blank.
        groups: numbers of rows without a blank line between them, in order.
        width: number of cells of the rows to look at.
        first: index of the leftmost column that may hold tags; before it are words, as a rule.
    """
    following = iter(rows)
    sentences = [[row for row in islice(following, size) if len(row) == width] for size in groups]
    found: list[tuple[int, str]] = []
    for column in range(width - 1, -1, -1):
        # Tags before their words, as MIT's queries have them: never of lines that may be texts.
        if column < first and (column or found or first > 1):
            continue
        tags = [[cells[column] for cells in sentence] for sentence in sentences]
        seen = Counter(chain.from_iterable(tags))
        if (notation := _notation_of_spans(seen)) is not None:
            judged = judge(count_steps(map(notation.read_all, tags)))
            found.append((column, judged.scheme if not judged.odd else _SPANS))
    return found


def _notation_of_spans(counts: Counter[str]) -> Notation | None:
    """The notation of tags that are nearly all those of spans; None of other cells."""
    notation = notation_of(counts)
    usual = {tag: notation.read(tag) for tag in counts}
    of_spans = sum(count for tag, count in counts.items() if is_span_tag(usual[tag]))
    # A bare prefix, such as B or S, may be any label: a grade, a unit, a part of speech.
    labelled = any(_LABELLED.match(tag) and is_span_tag(tag) for tag in usual.values())
    return notation if labelled and 10 * of_spans >= 9 * counts.total() else None


def tags_before_words(lines: Sequence[str]) -> tuple[int, int | None] | None:
    """The columns of words and tags where tags of spans stand in the first one, words behind it.

    Returns:
        Their indices, None for that of the tags where further ones stand behind the words, such as
        predictions; None altogether where words come first.
    """
    filled = (line for line in lines[:_TOKENS] if line.strip(BLANK) and line[0] != "#")
    rows = [
        split_line(each, "\t" in each.rstrip(BLANK)) for each in filled if not is_docstart(each)
    ]
    if not rows or min(map(len, rows)) < 2:
        return None
    first, second, *others = (Counter(column) for column in zip(*rows, strict=False))
    if _FEW_TAGS < len(first) > len(rows) // 4:  # words, nearly always: seen without a closer look
        return None
    notation = _notation_of_spans(first)
    # Lines to tag may have no other tag yet.
    if notation is None and len(first) == 1 < len(second) and (outside := outside_of(first)):
        notation = Notation(outside)
    if notation is None or _notation_of_spans(second) or all(map(is_span_tag, second)):
        return None
    behind = (map(is_span_tag, map(notation.read, cells)) for cells in others)
    return 1, None if any(map(all, behind)) else 0


def look_at_conllu(beginning: Beginning) -> Sureness:
    """Words of CoNLL-U."""
    if beginning.once(_are_conllu):
        return Sureness(CERTAIN, "the 10 columns of CoNLL-U, separated by tabs")
    return NOTHING


def _are_conllu(lines: Sequence[str]) -> bool:
    """Whether most lines are words of CoNLL-U: ten columns, numbered in each sentence from 1."""
    full = starts = ones = fitting = 0
    begins = True
    for line in lines[:1000]:  # some dozen sentences: enough, and a few milliseconds
        if not line.strip(BLANK):
            begins = True
            continue
        if line.startswith("#"):
            continue
        full += 1
        if line.count("\t") != 9:
            continue
        cells = [cell.strip(BLANK) for cell in line.split("\t")]
        if not is_conllu_id(cells[0]):
            continue
        # A table of ten columns may begin with a number too; a HEAD that is one is rarer.
        head = cells[6]
        fitting += head in ("", "_") or head.isdecimal()
        if begins:
            starts += 1
            # 1, the range 1-2, or an empty node 0.1 before the first word
            ones += cells[0].partition("-")[0].partition(".")[0] in ("0", "1")
            begins = False
    return 2 * fitting > full and 2 * ones > starts


def _rows_and_columns(beginning: Beginning) -> Grid | None:
    # CoNLL-U is a table too, of ten columns.
    return None if beginning.once(_are_conllu) else beginning.once(grid_of)


def look_at_columns(beginning: Beginning) -> Sureness:
    """Rows of as many columns, in groups with blank lines between them, or with tags of spans."""
    grid = _rows_and_columns(beginning)
    if grid is None:
        return NOTHING
    # Texts in cells without two lines in a row are rows of a table that mention such a tag.
    if grid.has_tags and (grid.has_groups or not grid.has_texts):
        return Sureness(CERTAIN, str(grid), not grid.is_certain)
    # The ten columns of CoNLL-U, some of them broken, are those of the name.
    if not grid.is_corpus or grid.has_texts or grid.has_names or "conllu" in beginning.named:
        return NOTHING
    # Lines of a word each, or of two, may well be texts.
    in_prose = not grid.is_certain or (beginning.texts and not grid.tabs)
    is_one = not grid.has_blank_lines and grid.lines > _LONGEST_SENTENCE and not beginning.raw
    return Sureness(POSSIBLE if is_one else LIKELY, str(grid), in_prose)


def look_at_tsv(beginning: Beginning) -> Sureness | None:
    """Rows of as many cells between tabs: with texts, or with single words and no blank lines."""
    grid = _rows_and_columns(beginning)
    if grid is None or not (grid.tabs and grid.is_regular):
        return NOTHING
    if grid.has_texts or grid.has_names:
        why = "one of them texts of several words"
        if not grid.has_texts:  # as of a script without blanks
            why = "a header with the names of a text and a label"
        # Texts, too, may have tabs in them.
        return Sureness(SHAPE, f"{grid.shape}, {why}", not beginning.is_table)
    if not grid.has_inner_blank_lines:
        return Sureness(POSSIBLE, f"{grid.shape}, single words in all of them, no blank line")
    if grid.has_groups:
        return None
    return Sureness(FAINT, f"{grid.shape}, single words, and a blank line after each")
