"""A token a row of a table, its tag, and what says which sentence it is of.

    Sentence #,Word,POS,Tag        Kaggle's `ner_dataset.csv`: the number in the first row alone
    Sentence: 1,Ana,NNP,B-PER
    ,sleeps,VBZ,O

Cells are separated by commas, semicolons, tabs or blanks. Columns are known by the names in a
header, else by what they hold: ids are equal in neighbouring rows and come once, or stand in the
first row of a sentence; a counter begins again in each sentence. Rows without a cell part sentences
too. The lines are those of a column file, and are read and written as such (`columns/reader`).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise

from tagkit.corpus.source.layout import (
    BLANK,
    DOCSTART,
    PREDICTED,
    RowLayout,
    is_cell,
    row_cell,
    split_row,
)
from tagkit.corpus.source.look import NOTHING, TABLE, Beginning, Sureness
from tagkit.corpus.source.pieces import OutputPiece, Writing, cannot_hold, one_file
from tagkit.text.documents import begins_marked
from tagkit.text.records import Sentence
from tagkit.text.schemes import is_span_tag
from tagkit.wording import plural, quoted

LOOKED_AT = 2000  # lines, at most, that show what the columns are
MOST_COLUMNS = 50  # a line of JSON would be a row of thousands
_SEPARATORS = {"\t": "tabs", ",": "commas", ";": "semicolons", " ": "blanks"}
# Names of columns, without what is no letter, the preferred ones first.
_TOKENS = ("word", "token", "words", "tokens", "form")
_TAGS = (
    "tag", "tags", "nertag", "nertags", "ner", "entity", "iob", "bio", "slot", "label", "labels",
    "chunk", "chunktag", "pos", "postag", "upos", "xpos",
)  # fmt: skip
_IDS = ("sentence", "sentenceid", "sentenceidx", "sentenceindex", "sentencenumber", "sentenceno",
        "sent", "sentid", "sentidx", "sid")  # fmt: skip
_LABELLED = re.compile(r".+-.*\D")  # a tag of a span; I-95 and B-52 are names
_WHOLE = re.compile(r"([0-9]{1,9})(?:\.0)?")  # pandas writes 1.0 where a column has gaps


def find_rows(lines: Sequence[str], is_chosen: bool = False) -> RowLayout | None:
    """What the columns of a table with a token a row are; None where it is none.

    Args:
        lines: the first ones of a file.
        is_chosen: whether it was said to be one, so that its header decides.
    """
    lines = lines[:LOOKED_AT]
    filled = [line for line in lines if line.strip(BLANK)]
    for separator in _SEPARATORS:
        if 10 * sum(separator in line for line in filled) < 9 * len(filled) or not filled:
            continue
        rows = [cells for line in lines if (cells := _cells(line, separator)) is not None]
        full = [row for row in rows if any(row)]
        (width, count), *_ = Counter(map(len, full)).most_common(1) or [(0, 0)]
        if not 2 <= width <= MOST_COLUMNS or len(full[0]) != width or 10 * count < 9 * len(filled):
            continue
        groups = [len([*group]) for is_full, group in groupby(rows, any) if is_full]
        is_parted = len(groups) > 1 and max(groups) > 1
        same = [row for row in full if len(row) == width]
        if found := _find(same, separator, is_parted, is_chosen):
            return found
    return None


def _cells(line: str, separator: str) -> list[str] | None:
    """The cells of a line, none of a blank one; None where a quote in it is not closed."""
    try:
        return split_row(line, separator) if line.strip(BLANK) else []
    except ValueError:
        return None


def _find(
    rows: Sequence[Sequence[str]], separator: str, is_parted: bool, is_chosen: bool
) -> RowLayout | None:
    names = [re.sub(r"[^a-z]", "", cell.lower()) for cell in rows[0]]
    token, named_tag = _known(names, _TOKENS), _known(names, _TAGS)
    named_ids = [i for i, name in enumerate(names) if name in _IDS and i != token]
    columns = [*zip(*rows[1:], strict=True)] or [()] * len(names)
    spans = [i for i, cells in enumerate(columns) if i != token and holds_span_tags(cells)]
    # Of names between blanks prose may have all.
    is_named = bool(spans) or (separator != " " and bool(named_ids or (is_parted and named_tag)))
    is_named = token is not None and is_named and len({*rows[0]}) == len(rows[0])
    has_header = is_named
    if not is_named:
        if is_parted and separator in "\t ":  # a column file: its blank lines part the sentences
            return None
        # A header in another language: no tag stands above the tags.
        has_header = bool(spans) and not holds_span_tags([rows[0][spans[-1]]])
        has_header = has_header and rows[0][spans[-1]] not in ("O", *columns[spans[-1]])
        token, named_tag, named_ids = None, None, []
        columns = columns if has_header else [*zip(*rows, strict=True)]
        spans = [i for i, cells in enumerate(columns) if holds_span_tags(cells)]
    added = [i for i in spans if has_header and names[i].startswith(PREDICTED)]
    spans = [i for i in spans if i not in added] or spans
    tag = spans[-1] if spans and named_tag not in spans else named_tag
    ids, counter, other = [*named_ids], None, {*named_ids, *added, token, tag}
    for i, cells in enumerate(columns):
        if i in other or (tag is None and not has_header and i == len(columns) - 1):
            continue
        kind = _kind(cells, [columns[each] for each in ids])
        if kind == "id" and (token is None or i < token or _numbers(cells)):
            ids.append(i)
        elif kind == "counter" and counter is None:
            counter = i
        if kind:
            other.add(i)
        elif token is None:
            token = i
            other.add(i)
    if token is None or not (_are_words(columns[token]) or (is_chosen and is_named)):
        return None
    if not has_header and not spans:  # tags of parts of speech, say
        tag = len(columns) - 1
        if tag == token or not (ids and _are_sentences(columns[token], columns[tag])):
            return None
    if not (ids or counter is not None or is_named or separator in ",;"):
        return None
    header = tuple(rows[0]) if has_header else ()
    return RowLayout(separator, len(rows[0]), header, token, tag, tuple(sorted(ids)), counter)


def _known(names: Sequence[str], known: Sequence[str]) -> int | None:
    return next((names.index(name) for name in known if name in names), None)


def holds_span_tags(cells: Sequence[str]) -> bool:
    """Whether nine of ten cells are tags of spans, and some have a label."""
    seen = Counter(cells)
    of_spans = sum(count for tag, count in seen.items() if is_span_tag(tag))
    labelled = any(_LABELLED.match(tag) and is_span_tag(tag) for tag in seen)
    return labelled and 10 * of_spans >= 9 * len(cells)


def _numbers(cells: Iterable[str]) -> list[int]:
    """The numbers in cells; none where one is no number."""
    found = [_WHOLE.fullmatch(cell) for cell in cells]
    return [int(each[1]) for each in found if each] if all(found) else []


def _kind(cells: Sequence[str], ids: Sequence[Sequence[str]]) -> str:
    """Whether a column holds ids of sentences ("id"), or numbers tokens ("counter") or rows.

    Args:
        cells: of the column.
        ids: cells of the columns of ids before it: a number may be one of each document.
    """
    filled = [cell for cell in cells if cell]
    if len(filled) < len(cells):
        is_id = bool(cells[0]) and len(filled) == len({*filled}) and 2 * len(filled) <= len(cells)
        return "id" if is_id and all(any(map(str.isdigit, cell)) for cell in filled) else ""
    if numbers := _numbers(cells):
        steps = [*pairwise(numbers)]
        if all(after == before + 1 for before, after in steps):
            return "row"
        if all(after in (before + 1, numbers[0]) for before, after in steps) and numbers[0] < 2:
            return "counter"
    runs = [key for key, _ in groupby(zip(cells, *ids, strict=True))]
    return "id" if 1 < len(runs) == len({*runs}) and 2 * len(runs) <= len(cells) else ""


def _are_words(cells: Sequence[str]) -> bool:
    """Whether they are single words, but for a few."""
    odd = sum(not cell or " " in cell for cell in cells)
    return 10 * odd <= len(cells)


def _are_sentences(tokens: Sequence[str], tags: Sequence[str]) -> bool:
    """Whether tokens are those of sentences, with tags that come again."""
    marks = any(token and not any(map(str.isalnum, token)) for token in tokens)
    kinds = len({*tags})
    return marks and kinds < len({*tokens}) and 2 * kinds <= len(tags) and not _numbers(tags)


def look_at_token_rows(beginning: Beginning) -> Sureness:
    """A token a row, with the id of its sentence or a header that names it."""
    rows = beginning.once(find_rows)
    if rows is None or "conllu" in beginning.named:
        return NOTHING
    by = rows.ids[-1] if rows.ids else rows.counter
    places = {"tokens in": rows.token, "sentences by": by, "tags in": rows.tag}
    parts = [f"{what} {called(rows.names, at)}" for what, at in places.items() if at is not None]
    shape = f"{plural(rows.width, 'column')} separated by {_SEPARATORS[rows.separator]}"
    return Sureness(TABLE, ", ".join([shape, *parts]))


def called(names: Sequence[str], column: int) -> str:
    """How messages call a column: by its name in a header, if there is one."""
    return quoted(names[column]) if names else f"column {column}"


def write_token_rows(items: Iterable[Sentence], writing: Writing) -> Iterator[OutputPiece]:
    """CSV with the number of its sentence, the token, its features and its tag in each row."""
    return one_file(
        ",".join(row_cell(cell, ",") for cell in row) for row in _written(items, writing)
    )


def _written(items: Iterable[Sentence], writing: Writing) -> Iterator[Sequence[str]]:
    first: Sentence | None = None
    before: Sentence | None = None
    for number, item in enumerate(items, 1):
        features = [f"feature {n}" for n, _ in enumerate(item.features, 1)]
        names = ["sentence", "word", *features, *["tag"] * (item.tags is not None)]
        if first is None:
            first = item
            yield names
        if item.labels:
            writing.note("token-rows have no place for the class of a sentence: it is left out")
        if (len(item.features), item.tags is None) != (len(first.features), first.tags is None):
            raise cannot_hold(item, "token-rows", "other columns than those of the first sentence")
        columns = [item.words, *item.features, *([item.tags] if item.tags is not None else [])]
        for cell in (cell for column in columns for cell in column):
            if not is_cell(cell) or cell == DOCSTART or "\r" in cell:
                raise cannot_hold(item, "token-rows", f"the cell {quoted(cell)}")
        if begins_marked(item, before):
            mark = [DOCSTART, *["-X-"] * len(features), *["O"] * (item.tags is not None)]
            yield [f"{number}d", *mark]
        before = item
        for cells in zip(*columns, strict=True):
            yield [str(number), *cells]
    if first is None:
        yield ["sentence", "word", "tag"]
