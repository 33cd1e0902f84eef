"""Predictions for a text -> records, which the writers of the formats take."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from tagkit.corpus.formats.table import Format
from tagkit.corpus.source.options import Item, silent
from tagkit.corpus.source.pieces import Writing, cannot_hold
from tagkit.errors import FormatError
from tagkit.inference.write.style import Origin, Style, selected
from tagkit.text.records import Document, Sentence, TaggedText
from tagkit.wording import quoted


def to_items(
    answer: TaggedText, format: Format, style: Style, origin: Origin
) -> Iterator[Item | TaggedText]:
    """The sentences of a text, or the text as a document, as a format's writer takes them.

    A format that holds all gets the answer, with the classes that are to be written.

    Raises:
        FormatError: a table cannot hold a class.
    """
    if format.holds == "all":
        shown = tuple(selected(answer, style)) if style.gives.classes else ()
        labels = tuple(score.label for score in shown)
        has_probabilities = style.confidence or style.top > 0
        yield replace(answer, labels=labels, scores=shown if has_probabilities else ())
        return
    labels = answer.labels if format.has_classes else ()
    extra = origin.extra
    if format.holds == "tags":
        yield from sentences_of(answer, origin, tagged=style.gives.tags, labels=labels)
        return
    if format.has_named_columns:
        label, *_ = cells = class_cells(answer, style, origin, each=True)
        found = dict(zip(_names(style), cells[1:], strict=True))
        # A name stands once: a probability is worth more than what the input had under its name.
        extra = tuple({**found, **dict(extra), **found}.items())
        labels = (label,) if label else ()
    places = tuple((token.start, token.end) for token in answer.tokens)
    yield Document(
        text=answer.text,
        spans=answer.spans if format.holds == "spans" else None,
        labels=labels,
        # Words of one multiword token of CoNLL-U share a place: these are no tokens of the text.
        tokens=places if all(a[1] <= b[0] for a, b in pairwise(places)) else None,
        name=origin.name,
        source=origin.file,
        line=origin.line,
        extra=extra,
    )


def writing_of(style: Style, *, single: bool, note: Callable[[str], None]) -> Writing:
    """The options of the writer of the style's format; `single` and `note` are two of them."""
    return Writing(
        plain=not style.spans,
        single=single,
        note=note,
        blank_labels=True,
        several_classes=style.multi_label,
    )


def require_written(
    items: Sequence[Item | TaggedText], format: Format, style: Style, origin: Origin
) -> None:
    """Make sure that the format can hold a record, by writing it to nowhere.

    Raises:
        FormatError: it cannot.
    """
    try:
        for _ in format.write(iter(items), writing_of(style, single=True, note=silent)):
            pass
    except FormatError as error:  # a sentence does not know its file
        raise FormatError(origin.file, error.line, error.problem) from None


def sentences_of(
    answer: TaggedText, origin: Origin, *, tagged: bool, labels: tuple[str, ...] = ()
) -> Iterator[Sentence]:
    """The sentences of a text; their texts, laid end to end, are the text.

    Args:
        answer: the predictions for the text.
        origin: of the text.
        tagged: whether they get the predicted tags.
        labels: classes that each of them gets.
    """
    begin = 0
    for number, tokens in enumerate(answer.sentences, 1):
        # White space belongs to the sentence before it.
        following = answer.sentences[number] if number < len(answer.sentences) else ()
        end = following[0].start if following else len(answer.text)
        yield Sentence(
            words=tuple(token.text for token in tokens),
            tags=tuple(token.tag or "" for token in tokens) if tagged else None,
            labels=labels,
            text=answer.text[begin:end],
            places=tuple((token.start - begin, token.end - begin) for token in tokens),
            lines=(origin.line,) * len(tokens),
            extra=origin.extra,
        )
        begin = end


def class_cells(
    answer: TaggedText, style: Style, origin: Origin, *, each: bool = False
) -> list[str]:
    """A cell with the text's classes, and cells with probabilities if these are written.

    Several classes are separated by commas, and so are their probabilities. With `style.top` there
    are two cells for each of that many classes, empty if there are fewer. A model without classes
    has no cells.

    Args:
        answer: the predictions for the text.
        style: says what is written.
        origin: of the text, for messages.
        each: whether each class of the model has a cell for its probability, in the order of
            `style.classes`, as in a table.

    Raises:
        FormatError: a cell cannot hold a class.
    """
    if not style.gives.classes:
        return []
    shown = selected(answer, style)
    # A class comes from a corpus, whose format may allow what a cell does not (JSON: anything).
    for score in shown:
        if any(char in score.label for char in "\t\n\r"):
            raise cannot_hold_cells(answer, origin, f"the class {quoted(score.label)}")
        if "," in score.label and len(shown) > 1 and not style.top:
            what = f"the class {quoted(score.label)} beside others, which commas separate"
            raise cannot_hold_cells(answer, origin, what)
    if style.top:
        cells = [cell for score in shown for cell in (score.label, f"{score.probability:.4f}")]
        # Every line has as many cells as the header.
        return cells + [""] * (2 * style.top - len(cells))
    labels = ",".join(score.label for score in shown)
    if style.confidence and each:
        by_label = {score.label: score.probability for score in answer.scores}
        return [labels, *(f"{by_label[label]:.4f}" for label in style.classes)]
    probabilities = ",".join(f"{score.probability:.4f}" for score in shown)
    return [labels, probabilities] if style.confidence else [labels]


def _names(style: Style) -> Sequence[str]:
    """Names of the cells that a table has after the one with the classes."""
    if style.top:
        # probability, label2, probability2, ...: "label", the first, is what readers look for
        numbers = ["", *map(str, range(2, style.top + 1))]
        return [f"{name}{n}" for n in numbers for name in ("label", "probability")][1:]
    return [f"p({label})" for label in style.classes] if style.confidence else []


def cannot_hold_cells(answer: TaggedText, origin: Origin, what: str) -> FormatError:
    """The error of a text with something that a line of cells has no way to write."""
    document = Document(answer.text, source=origin.file, line=origin.line)
    return cannot_hold(document, "a line of cells", what)
