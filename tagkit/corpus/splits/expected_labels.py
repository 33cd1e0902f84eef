"""The labels that a corpus must have, and the remedy where its format or its tags are others."""

from collections.abc import Callable, Sequence

from tagkit.config import DataConfig
from tagkit.corpus.formats.columns.conllu import KEY
from tagkit.corpus.formats.recognition import find_format
from tagkit.corpus.formats.table import Format
from tagkit.corpus.records.dataset import LabelKinds
from tagkit.corpus.source.layout import CONLLU, TOKEN_ROWS
from tagkit.corpus.source.source import Source
from tagkit.errors import DataError


def holds_nothing(name: str, kinds: LabelKinds) -> DataError:
    """The error of a file without a record."""
    return DataError(f"{name}: holds no {'text' if kinds.classes else 'sentence'}")


def _is_blank(source: Source) -> bool:
    return not any(line.strip() for lines in source.pieces() for line in lines)


def format_with_labels(
    source: Source,
    data: DataConfig,
    kinds: LabelKinds,
    note: Callable[[str], None],
    *,
    of_model: bool,
) -> Format:
    """The format of a corpus; a note says what it was recognised as.

    Args:
        source: the corpus.
        data: how it is read.
        kinds: of labels that it must have.
        note: called with what it was recognised as.
        of_model: whether these are the labels of a model that is there already, which cannot be
            given another task.

    Raises:
        DataError: the source is blank, or files of its format never have labels of these kinds.
    """
    found = find_format(source, data.format)
    format = found.format
    lacks_tags = kinds.tags and format.holds not in ("tags", "spans")
    if lacks_tags or (kinds.classes and not kinds.tags and not format.has_classes):
        # A file without a word looks like raw text; that it is empty is the better message.
        if format.holds == "text" and not source.is_folder() and _is_blank(source):
            raise holds_nothing(source.name, kinds)
        expected = f"{source.name}: expected {_WANTED[kinds]}"
        found_instead = f"found {format.about} (read as {format.name}"
        if of_model:
            raise DataError(
                f"{expected}, as the model {_DOES[kinds]}; {found_instead}). "
                f"{_remedy_of_model(format, kinds)}"
            )
        remedy = _remedy(source, format, kinds)
        raise DataError(f"{expected}, {found_instead}; {remedy})")
    if found.note:
        note(found.note)
    return format


def _remedy(source: Source, format: Format, kinds: LabelKinds) -> str:
    """What to do about a format without the labels that were expected."""
    remedy = "data.format chooses another format"
    if kinds.tags and not kinds.classes and format.holds == "classes":
        return f"task=classify trains on classes; {remedy}"
    if kinds.tags and not kinds.classes and format.holds == "text" and not source.is_folder():
        # A column file with one broken line may look like raw text.
        remedy = f"data.format=columns names the first line that does not fit; {remedy}"
    if format.holds == "text":
        return f"task=language-model trains on plain text; {remedy}"
    return remedy


def _remedy_of_model(format: Format, kinds: LabelKinds) -> str:
    """Which file, or which model, would fit where a model and a file do not."""
    remedy = f"Name a file with {_LABELS[kinds]}"
    if format.holds != "text":
        task = "classify" if format.holds == "classes" else "tag"
        remedy = f"{remedy}, or a model trained with task={task}"
    return f"{remedy}; data.format chooses another format"


def other_column(format: str, data: DataConfig) -> str:
    """The end of a message on tags that are not the expected ones: how to read another column.

    Args:
        format: of the corpus.
        data: how it was read.
    """
    if format == CONLLU and data.first_tag_column is None:
        return f" in UPOS. Name the column of the tags, for example with data.tag_column=MISC.{KEY}"
    if format in (CONLLU, TOKEN_ROWS, "columns"):
        return ". data.tag_column names another column"
    return ""


# What a corpus must be, by the kinds of its labels; any corpus will do where none are asked for.
_WANTED = {
    LabelKinds(tags=True, classes=False): "tokens with tags or texts with spans",
    LabelKinds(tags=False, classes=True): "texts with classes",
    LabelKinds(tags=True, classes=True): "tokens with tags and a class of the whole",
}
_LABELS = {
    LabelKinds(tags=True, classes=False): "tags",
    LabelKinds(tags=False, classes=True): "classes",
    LabelKinds(tags=True, classes=True): "tags and classes",
}
_DOES = {
    LabelKinds(tags=True, classes=False): "tags",
    LabelKinds(tags=False, classes=True): "classifies",
    LabelKinds(tags=True, classes=True): "tags and classifies",
}


def refuse_unread_columns(data: DataConfig, name: str, formats: Sequence[Format]) -> None:
    """Refuse a column that none of a corpus's files has, where it would have no effect.

    Args:
        data: which names columns, perhaps.
        name: of the first file.
        formats: of all files; none where they are not known.

    Raises:
        DataError: one is named.
    """
    if not formats:
        return
    holds = f"{name}: holds {formats[0].about} (read as {formats[0].name}): "
    is_grid = any(format.is_grid for format in formats)
    is_table = any(format.has_named_columns for format in formats)
    for value, named, is_read, what in (
        (data.token_column, "data.token_column", is_grid, "column files and CoNLL-U"),
        (data.tag_column, "data.tag_column", is_grid, "column files and CoNLL-U"),
        (data.text_column, "data.text_column", is_table, "TSV and CSV"),
        (data.label_column, "data.label_column", is_table, "TSV and CSV"),
    ):
        if value is not None and not is_read:
            raise DataError(f"{holds}{named} is for {what}")
