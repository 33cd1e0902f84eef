"""How predictions are written: which formats can hold them, and what goes where in these."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath
from typing import Any

from tagkit.config import Column, DataConfig
from tagkit.corpus.formats.columns.conllu import KEY
from tagkit.corpus.formats.table import FORMATS, Format, by_ending, targets
from tagkit.corpus.records.dataset import LabelKinds
from tagkit.corpus.source.layout import CONLLU, CONLLU_COLUMNS
from tagkit.corpus.source.options import Item
from tagkit.errors import DataError
from tagkit.text.records import Document, Extra, LabelScore, TaggedText
from tagkit.wording import quoted

COLUMNS, JSONL, AUTO = "columns", "jsonl", "auto"
SHOW = "show"  # for people, not for programs
# `render.py` writes these, with all that a model says; all others are written from records.
RENDERED = (COLUMNS, CONLLU, JSONL)
_NO_ANNOTATION = ("ID", "FORM")  # columns of CoNLL-U that say which word it is


@dataclass(frozen=True, slots=True)
class Style:
    """How predictions are written.

    Attributes:
        format: name of a row of `targets`; "jsonl" for tokens, spans and classes in one object; or
            "auto": CoNLL-U where the input is CoNLL-U and the model tags, else columns; or "show",
            for people.
        confidence: whether probabilities are written.
        gives: the kinds of labels that the model predicts.
        classes: names of the classes, where the model has a vocabulary of them.
        multi_label: whether a text may have several classes.
        top: number of classes to write, the most probable, each with its probability; 0 to write
            the text's labels.
        threshold: minimum probability of those `top` classes.
        spans: whether the predicted tags mean spans.
        columns: of CoNLL-U that get the predicted tags, such as UPOS or MISC.NER: one for each tag
            column of the model.
    """

    format: str
    confidence: bool
    gives: LabelKinds
    classes: tuple[str, ...]
    multi_label: bool
    top: int
    threshold: float
    spans: bool = False
    columns: tuple[str, ...] = ("UPOS",)

    @property
    def row(self) -> Format | None:
        """The format that is written from records; None for those that `render.py` writes."""
        return None if self.format in (AUTO, SHOW, *RENDERED) else targets()[self.format]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a text comes from.

    Attributes:
        file: name of the file.
        line: number of the text's first line in the file, from 1.
        offset: of the text's first code point in the file's text; None if the text is not a
            substring of it.
        name: of the text in its corpus; empty where it has none.
        extra: what else its record has, such as an id, without what another model has said of it.
    """

    file: str
    line: int
    offset: int | None = None
    name: str = ""
    extra: Extra = ()


def origin_of(item: Item, file: str) -> Origin:
    """Where a record comes from, in an input of this name."""
    names = {name for name, _ in item.extra}
    extra = tuple((name, value) for name, value in item.extra if not _is_said(name, value, names))
    # A folder of documents is one input of many files, so a document names its own.
    if isinstance(item, Document):
        return Origin(item.source or file, item.line, name=item.name, extra=extra)
    return Origin(file, item.lines[0] if item.lines else 1, extra=extra)


def _is_said(name: str, value: Any, names: Set[str]) -> bool:
    """Whether a value is what a model has said of a record beside labels and spans, in JSON.

    Kept, it would be taken for what another model says now. Other values of such names are the
    user's own.
    """
    match name:
        case "probabilities":
            return isinstance(value, dict)
        case "sets" | "class_set":
            key = "taggings" if name == "sets" else "label"
            return isinstance(value, list) and all(_has(each, key) for each in value)
        case "coverage":
            return isinstance(value, float) and bool(names & {"sets", "class_set"})
        case "offset":  # in the document that the record came from then
            return isinstance(value, int) and names >= {"document", "line"}
    return False


def _has(value: Any, key: str) -> bool:
    return isinstance(value, dict) and key in value


def selected(answer: TaggedText, style: Style) -> list[LabelScore]:
    """The classes to be written, the most probable first."""
    if not style.top:
        return [score for score in answer.scores if score.label in answer.labels]
    likely = (score for score in answer.scores if score.probability >= style.threshold)
    return list(islice(likely, style.top))


def formats_for(
    gives: LabelKinds,
    *,
    spans: bool,
    probabilities: bool,
    several: bool = False,
    classes: Sequence[str] = (),
) -> list[str]:
    """Names of the formats that can hold what a model predicts.

    Args:
        gives: the kinds of labels that it predicts.
        spans: whether its tags mean spans.
        probabilities: whether those of labels are to be written too.
        several: whether it predicts several tag columns, for which records have no place.
        classes: names of its classes.
    """
    rows = (row for row in targets().values() if row.name not in RENDERED)
    # CoNLL-U has no line for a text without tags.
    rendered = [name for name in RENDERED if name != CONLLU or gives.tags]
    return rendered + [
        row.name
        for row in rows
        if row.holds == "all"
        or (
            not several
            and _holds(row, gives, spans=spans)
            and (row.holds_class is None or all(map(row.holds_class, classes)))
            and (row.has_named_columns or not probabilities)
        )
    ]


def other_ending(style: Style, output: str, written: str) -> str | None:
    """A note where an output is named as one of another format, which the model can be asked for.

    Args:
        style: of the output, whose format nobody named.
        output: its path; empty for none.
        written: name of the format that is written.
    """
    fitting = formats_for(
        style.gives,
        spans=style.spans,
        probabilities=style.confidence or style.top > 0,
        several=len(style.columns) > 1,
        classes=style.classes,
    )
    if not (style.gives.tags or style.gives.classes):  # prefixes are continued
        fitting = [COLUMNS, JSONL]
    named = by_ending(PurePath(output).name, written=True)
    names = dict.fromkeys(row.family or row.name for row in named)
    other = next((name for name in names if name in fitting), None)
    if other is None or written in names:
        return None
    return f"{output}: is written as {written}; output_format={other} writes {other}"


def _holds(row: Format, gives: LabelKinds, *, spans: bool) -> bool:
    if gives.classes and not row.has_classes:
        return False
    if row.holds == "spans":
        return gives.tags and spans
    # Tokens may have a class alone; texts with classes have no place for tags.
    return row.holds == "tags" or (row.holds == "classes" and not gives.tags)


def require_format(
    name: str,
    gives: LabelKinds,
    *,
    spans: bool,
    confidence: bool,
    top: bool,
    several: bool,
    classes: Sequence[str] = (),
) -> None:
    """Make sure that a format can hold what a model predicts.

    Raises:
        DataError: it cannot; the message names those that can.
    """
    fitting = formats_for(
        gives, spans=spans, probabilities=confidence or top, several=several, classes=classes
    )
    if name in (AUTO, SHOW, *fitting):
        return
    holds_class = FORMATS[name].holds_class if name in FORMATS else None
    if several:
        problem = "this model predicts several tag columns"
    elif holds_class and (others := [each for each in classes if not holds_class(each)]):
        problem = f"{name} cannot hold the class {quoted(others[0])} of this model"
    elif name in formats_for(gives, spans=spans, probabilities=False):
        option = "confidence=True" if confidence else "top=..."
        problem = f"{name} has no place for the probabilities of {option}"
    elif gives.tags and name in formats_for(gives, spans=True, probabilities=False):
        problem = "this model predicts plain labels, which are no spans"
    else:
        does = "tags and classifies" if gives.tags and gives.classes else "classifies"
        problem = f"this model {does if gives.classes else 'tags'}"
    first, *others = fitting
    expected = ", ".join(["", *others]) + f" or {SHOW}"
    raise DataError(f"{problem}: expected output_format={first}{expected}, found {name}")


def conllu_columns(data: DataConfig, *, spans: bool) -> tuple[str, ...]:
    """The columns of CoNLL-U that get the predicted tags: those that the model was trained on.

    A model of another kind of corpus fills what `convert` would: UPOS with plain labels, the key
    NER of MISC with the tags of spans. Further columns without a name get the keys Tag2,
    Tag3 and so on there.

    Args:
        data: the resolved configuration of the model.
        spans: whether its tags mean spans.
    """
    usual = f"MISC.{KEY}" if spans else "UPOS"
    if not data.tag_columns:
        return (_conllu_column(data.first_tag_column, data.format) or usual,)
    return tuple(
        _conllu_column(column, data.format) or (f"MISC.Tag{number}" if number > 1 else usual)
        for number, column in enumerate(data.tag_columns, 1)
    )


def _conllu_column(named: Column | None, format: str) -> str | None:
    """The column of this name, or of this number in CoNLL-U; None where it names none."""
    if isinstance(named, int) and format == CONLLU:
        named = CONLLU_COLUMNS[named % len(CONLLU_COLUMNS)]
    if isinstance(named, str):
        name, dot, key = named.partition(".")
        if name.upper() in CONLLU_COLUMNS and name.upper() not in _NO_ANNOTATION:
            return f"{name.upper()}{dot}{key}"
    return None
