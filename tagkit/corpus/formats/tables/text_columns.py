"""Which column of a TSV or CSV file is the text, and which the label.

The configuration says so, else a header or, of two columns, what they hold. Where nothing decides,
the file is refused: a wrong guess would train a model to predict texts from labels.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tagkit.config import Column, DataConfig
from tagkit.corpus.source.options import ReaderOptions
from tagkit.errors import FileError
from tagkit.wording import plural, quoted

Row = tuple[int, list[str]]  # the number of its first line, and its cells

# Names of columns in corpora that people download (Kaggle, Hugging Face datasets, GLUE). The first
# of each is preferred where a header has several of them.
TEXT_NAMES = (
    "text", "texts", "sentence", "review", "utterance", "query", "question", "content", "title",
    "body", "document", "message", "comment", "tweet", "headline", "description", "abstract",
)  # fmt: skip
LABEL_NAMES = (
    "label", "labels", "class", "category", "intent", "sentiment", "topic", "target", "y",
    "polarity", "emotion", "rating", "tag",
)  # fmt: skip
# What tagkit writes; the two names are a header wherever they stand.
LABEL, TEXT = "label", "text"


@dataclass(frozen=True, slots=True)
class TextLayout:
    """Where things are in the rows of one file.

    Attributes:
        width: number of columns.
        text: index of the text's column.
        label: index of the label's column; None where there is none.
        header: whether the first row is one.
    """

    width: int
    text: int
    label: int | None
    header: bool


def find_text_layout(rows: Sequence[Row], source: str, reading: ReaderOptions) -> TextLayout:
    """What the columns are, by the configuration and the first rows.

    Raises:
        FileError: a column is named that is not there, or nothing tells which is which.
    """
    data = reading.data
    number, first = rows[0]
    if reading.own_columns and (own := _as_written(first, data)) != data:
        data = own
        reading.note(f"{source}: its columns {TEXT} and {LABEL} are read")
    # Broken rows are refused later, with their numbers; they must not decide about columns.
    same = [cells for _, cells in rows if len(cells) == len(first)]
    header = data.header == "yes" or (data.header == "auto" and _has_header(same, data))
    if data.header == "auto" and not header and (odd := _odd_label(same, data)) is not None:
        alone = f"{source}:{number}: {_only_line(odd)} If it names the columns, say so: "
        # Commands that read labels have a flag for it; one word is typed as it stands.
        named = f"data.label_column={odd}" if odd.isidentifier() else None
        reading.note(f"{alone}{named or 'data.header=yes'}")
    try:
        text = _named(data.text_column, "data.text_column", first, header)
        label, problem = None, None
        try:
            label = _named(data.label_column, "data.label_column", first, header)
        except ValueError as error:  # new texts need no labels
            problem = error
        if header:
            text = _known(first, TEXT_NAMES, label) if text is None else text
            label = _known(first, LABEL_NAMES, text) if label is None else label
        # Without the name of a text the first row may be one itself.
        if problem is not None and (reading.with_tags or text is None):
            raise problem
        if reading.with_tags or (text is None and len(first) > 1):
            below = same[1:] if header else same
            text, label = _settle(text, label, below, len(first), reading)
    except ValueError as error:
        raise FileError(source, number, str(error)) from None
    # In prediction labels are not wanted, and a file of one column is a file of texts.
    text = text or 0
    if not (reading.with_tags or header) and len(first) > 1 and data.text_column is None:
        others = "has no header: the texts are in column"
        reading.note(f"{source}: {others} {text} of {len(first)} (data.text_column)")
    return TextLayout(len(first), text, None if label == text else label, header)


def _as_written(first: Sequence[str], data: DataConfig) -> DataConfig:
    """The configuration for a table that may be tagkit's own: with the columns that it writes.

    Args:
        first: the first row.
        data: names the columns of the corpus, perhaps.
    """
    names = [plain_name(cell) for cell in first]
    is_own = names[0] == LABEL and names[-1] == TEXT  # where numbers are those of another table
    changed = {
        option: own
        for option, own in (("text_column", TEXT), ("label_column", LABEL))
        if (column := getattr(data, option)) is not None
        and (is_own if isinstance(column, int) else plain_name(column) not in names)
        and own in names
    }
    return data.model_copy(update=changed)


def _only_line(label: str) -> str:
    return f"the only line with the label {quoted(label)}."


def is_noted(label: str, notes: Iterable[str]) -> bool:
    """Whether one of the notes says that this label is perhaps the name of its column."""
    return any(_only_line(label) in note for note in notes)


def _has_header(rows: Sequence[Sequence[str]], data: DataConfig) -> bool:
    """Whether the first row names the columns.

    It does if it has a known name of a text and one of a label. With one of them alone, all of its
    cells need to look like names, and none of them may come again in its column.
    """
    if isinstance(data.text_column, str) or isinstance(data.label_column, str):
        return True
    names = [plain_name(cell) for cell in rows[0]]
    # "text,label" may be a row of texts about labels, but nobody has ever seen one.
    if names_both(names):
        return True
    if len(rows) == 1 or len({*names}) < len(names) or any(" " in name for name in names):
        return False
    # A first row such as "sentiment<TAB>good" may be an example: of the class "sentiment", or of
    # the class "good", which then comes again further down. A name of a column does not.
    again = any(name and row[i] == rows[0][i] for row in rows[1:] for i, name in enumerate(names))
    return bool(set(names) & {*TEXT_NAMES, *LABEL_NAMES}) and not again


def _labels(rows: Sequence[Sequence[str]], data: DataConfig) -> list[str] | None:
    """The first row's label and all others; None where they are in no known column."""
    width, column = len(rows[0]), data.label_column
    if column is None and width == 2:
        column = 1 - data.text_column % 2 if isinstance(data.text_column, int) else None
        column = _label_column(rows[1:]) if column is None else column
    if not isinstance(column, int) or not -width <= column < width:
        return None
    return [row[column].strip() for row in rows]


def _odd_label(rows: Sequence[Sequence[str]], data: DataConfig) -> str | None:
    """The first label, where it is that of no other row, and all others are of several rows."""
    first, *others = _labels(rows, data) or [""]
    counts = Counter(others)
    return first if others and first not in counts and min(counts.values()) > 1 else None


def names_both(cells: Iterable[str]) -> bool:
    """Whether these cells are the names of a text and of a label, among others."""
    names = {*map(plain_name, cells)}
    return bool(names & {*TEXT_NAMES} and names & {*LABEL_NAMES})


def plain_name(name: str) -> str:
    """A name of a column without what people vary: blanks around it, and case."""
    return name.strip(" ").lower()


def _named(column: Column | None, option: str, first: Sequence[str], header: bool) -> int | None:
    """Index of a column that the configuration names.

    Raises:
        ValueError: there is no such column.
    """
    width = len(first)
    if isinstance(column, int):
        if not -width <= column < width:
            raise ValueError(
                f"{option}={column}: expected -{width} to {width - 1}, as the file has "
                f"{plural(width, 'column')}"
            )
        return column % width
    if column is None:
        return None
    if not header:
        raise ValueError(f"{option}={quoted(column)}: expected a number, as data.header is 'no'")
    # As written first: a header may have both "Label" and "label".
    found = [i for i, name in enumerate(first) if name == column]
    found = found or [i for i, name in enumerate(first) if plain_name(name) == plain_name(column)]
    if len(found) != 1:
        how = "several of this name" if found else "none of this name"
        raise ValueError(
            f"{option}={quoted(column)}: expected one of the header's columns, found {how} in "
            f"{quoted(', '.join(first), 400)}"
        )
    return found[0]


def _known(first: Sequence[str], known: Sequence[str], taken: int | None) -> int | None:
    """The column, other than `taken`, whose name is known; the preferred name settles a tie."""
    names = {i: plain_name(name) for i, name in enumerate(first) if i != taken}
    found = [i for i, name in names.items() if name in known]
    if len(found) > 1:
        found = [i for i in found if names[i] == known[0]]
        # As written: a header may have both "Label" and "label".
        found = [i for i in found if first[i] == known[0]] or found
    return found[0] if len(found) == 1 else None


def _settle(
    text: int | None,
    label: int | None,
    rows: Sequence[Sequence[str]],
    width: int,
    reading: ReaderOptions,
) -> tuple[int, int]:
    """The columns of text and label, where one or both are not known yet.

    Args:
        text: column of the text; None where it is not known.
        label: likewise.
        rows: those that hold texts.
        width: number of columns.
        reading: whether labels are wanted: else the columns are those of a model.

    Raises:
        ValueError: nothing shows which is which.
    """
    # Of two columns, one known settles the other; of three, what is left may be an ID.
    if width == 2:
        if text is None and label is None:
            label = _label_column(rows)
        if label is None and text is not None:
            label = 1 - text
        if text is None and label is not None:
            text = 1 - label
    if text is not None and label is not None and text != label:
        return text, label
    found = f"{plural(width, 'column')} and nothing that tells which is which"
    if text is not None and text == label:
        found = f"both in column {text}"
    problem = f"expected a label and a text, found {found}. "
    if not reading.with_tags:  # the options are those of a model
        raise ValueError(f'{problem}Name the column of the texts "{TEXT}" in the first row')
    named = "data.label_column and data.text_column, by name or by number from 0"
    strings = "; task=transduce learns strings for strings"
    raise ValueError(f"{problem}Name both with {named}{strings}")


def _label_column(rows: Sequence[Sequence[str]]) -> int | None:
    """Of two columns the one with fewer words and fewer different cells; None for neither."""
    words, kinds = (
        [sum(len(row[i].split()) for row in rows) for i in (0, 1)],
        [len({row[i] for row in rows}) for i in (0, 1)],
    )
    # Labels are short and come again. A column that wins on one count and loses on the other, such
    # as long names of classes beside one-word texts, is left to the user.
    for this, other in ((0, 1), (1, 0)):
        no_more = words[this] <= words[other] and kinds[this] <= kinds[other]
        if no_more and (words[this] < words[other] or kinds[this] < kinds[other]):
            return this
    return None
