"""Lines as rows of columns: what distinguishes column files, raw text and tables of texts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice

from tagkit.corpus.formats.columns.prose import are_tagged, are_words
from tagkit.corpus.source.layout import BLANK, is_conllu_id, is_docstart, split_line
from tagkit.text.scheme_detection import count_steps, judge
from tagkit.text.schemes import DISPLAY, OUTSIDE, is_span_tag
from tagkit.wording import plural

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
        scheme: of the tags of spans in one of the columns; empty where there are none.
        tag: index of that column; 0 where there is none.
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
    scheme: str
    tag: int
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
    scheme, tag = _scheme(split, groups, width, first_tag) if width > 1 else ("", 0)
    return Grid(
        width=width,
        tabs=tabs,
        lines=len(rows),
        is_regular=count == len(rows),
        has_groups=has_groups,
        has_blank_lines=not all(filled),
        has_inner_blank_lines=len(groups) > 1,
        has_texts=2 * texts > len(rows),
        scheme=scheme,
        tag=tag,
        is_certain=tabs or is_marked or _are_tokens(rows, width, groups),
    )


def _are_tokens(rows: Sequence[Sequence[str]], width: int, groups: Sequence[int]) -> bool:
    """Whether rows of cells without blanks are words or, with several columns, have tags."""
    rows = [row for row in rows if len(row) == width]
    if width > 1:
        # Where a row stands alone, any word of it would be a column by itself, "O" one of tags.
        # Two sentences, as a group of lines between some that stand alone is found in texts too.
        sentences = sum(size > 1 for size in groups)
        return sentences > 0 and are_tagged(rows, in_groups=sentences > 1)
    return len(groups) > 1 and max(groups) > 1 and are_words([cell for (cell,) in rows])


def _scheme(
    rows: Sequence[Sequence[str]], groups: Sequence[int], width: int, first: int
) -> tuple[str, int]:
    """The scheme of the last column that holds tags of spans, and its index; ("", 0) of none.

    Args:
        rows: the cells of all lines that are not blank.
        groups: numbers of rows without a blank line between them, in order.
        width: number of cells of the rows to look at.
        first: index of the leftmost column that may hold tags; not 0, which holds the words.
    """
    following = iter(rows)
    sentences = [[row for row in islice(following, size) if len(row) == width] for size in groups]
    # From the right, where tags stand.
    for column in range(width - 1, first - 1, -1):
        tags = [[cells[column] for cells in sentence] for sentence in sentences]
        seen = Counter(chain.from_iterable(tags))
        of_spans = sum(count for tag, count in seen.items() if is_span_tag(tag))
        # A bare prefix, such as B or S, may be any label: a grade, a unit, a part of speech.
        labelled = any("-" in tag[1:-1] and is_span_tag(tag) for tag in seen if tag != OUTSIDE)
        if labelled and 10 * of_spans >= 9 * seen.total():
            judged = judge(count_steps(tags))
            return (judged.scheme if not judged.odd else _SPANS), column
    return "", 0


def looks_like_conllu(lines: Sequence[str]) -> bool:
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
