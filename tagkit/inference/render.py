"""What a model says of a text -> lines: columns, tab-separated values, JSON Lines.

| | columns | tsv | jsonl |
| --- | --- | --- | --- |
| tags | a token a line, its tag behind it | - | tokens and spans with offsets |
| classes | a text a line: its class | a text a line: class, text | class, probabilities |
| both | a token a line: token, tag, class | - | all of it |
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Literal

from tagkit.corpus.formats.columns.layout import DOCSTART, is_cell
from tagkit.corpus.formats.pieces import cannot_hold, require_line
from tagkit.errors import FormatError, shorten
from tagkit.storage import replace_lone_surrogates
from tagkit.text.json_text import to_json as dumps
from tagkit.text.records import Document, LabelScore, TaggedText, TaggedToken, TextSpan


@dataclass(frozen=True, slots=True)
class Style:
    """How answers are written.

    Attributes:
        format: "columns", "tsv" or "jsonl".
        confidence: whether probabilities are written.
        tags: whether the model gives tags.
        classes: that the model gives; empty where it gives none.
        several: whether a text may have several of them.
        top: so many classes, the likeliest, each with its probability; 0 for those that are the
            text's.
        threshold: of these only the classes that are as likely.
    """

    format: Literal["columns", "tsv", "jsonl"]
    confidence: bool
    tags: bool
    classes: tuple[str, ...]
    several: bool
    top: int
    threshold: float


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a text comes from.

    Attributes:
        file: its name.
        line: number of its first line there, from 1.
        offset: where it begins in the file's text, in code points; None where it is not a stretch
            of it.
    """

    file: str
    line: int
    offset: int | None = None


def header(style: Style) -> Iterator[str]:
    """The line before all answers, where there is one."""
    if style.format != "tsv":
        return
    names = ["label"]
    if style.top:
        pairs = (
            "label{0}\tprobability{0}".format(n if n > 1 else "") for n in range(1, style.top + 1)
        )
        names = list(pairs)
    elif style.confidence:
        names += [f"p({label})" for label in style.classes]
    yield "\t".join([*names, "text"])


def answer_lines(answer: TaggedText, style: Style, origin: Origin) -> Iterator[str]:
    """The lines of one answer, without their ends.

    Raises:
        FormatError: a text or class that the format cannot hold.
    """
    if style.format == "jsonl":
        yield to_json(answer, style, origin)
    elif style.format == "tsv":
        if "\t" in answer.text:
            raise _cannot_hold(answer, origin, "a tab in the text")
        require_line(_document(answer, origin), answer.text, "tsv")
        yield "\t".join([*class_cells(answer, style, origin), answer.text])
    elif not style.tags:
        yield "\t".join(class_cells(answer, style, origin)).rstrip("\t")
    else:
        behind = "".join(f"\t{cell}" for cell in class_cells(answer, style, origin))
        for sentence in answer.sentences:
            _check_words([token.text for token in sentence], answer, origin)
            for token in sentence:
                sure = f"\t{token.probability:.4f}" if style.confidence else ""
                yield f"{token.text}\t{token.tag}{sure}{behind}"
            yield ""


def class_cells(answer: TaggedText, style: Style, origin: Origin) -> list[str]:
    """A cell with the text's classes, and cells with probabilities where these are written.

    Several classes are parted by commas, and so are their probabilities; in TSV each class of the
    model has a cell of its own. With `style.top` there are two cells for each of so many classes,
    empty where there are fewer. No cell of a model without classes.

    Raises:
        FormatError: a class that a cell cannot hold.
    """
    if not style.classes:
        return []
    shown = _shown(answer, style)
    for score in shown:
        if any(char in score.label for char in "\t\n\r"):
            raise _cannot_hold(answer, origin, f"the class {shorten(score.label)}")
    if style.top:
        cells = [cell for score in shown for cell in (score.label, f"{score.probability:.4f}")]
        return cells + [""] * (2 * style.top - len(cells))
    labels = ",".join(score.label for score in shown)
    if style.confidence and style.format == "tsv":
        by_label = {score.label: score.probability for score in answer.scores}
        return [labels, *(f"{by_label[label]:.4f}" for label in style.classes)]
    sure = ",".join(f"{score.probability:.4f}" for score in shown)
    return [labels, sure] if style.confidence else [labels]


def to_json(answer: TaggedText, style: Style, origin: Origin) -> str:
    """One line of JSON, without the line's end: where the text is from, and all that is said."""
    record: dict[str, Any] = {"document": replace_lone_surrogates(origin.file), "line": origin.line}
    if origin.offset is not None:
        record["offset"] = origin.offset
    record["text"] = answer.text
    if style.classes:
        record |= _classes(answer, style)
    if style.tags or any(token.attention is not None for token in answer.tokens):
        record["tokens"] = [_without_none(token) for token in answer.tokens]
    if style.tags:
        record["spans"] = [_without_none(span) for span in answer.spans]
    return dumps(record)


def _shown(answer: TaggedText, style: Style) -> list[LabelScore]:
    """The classes to be written, the likeliest first."""
    if not style.top:
        return [score for score in answer.scores if score.label in answer.labels]
    likely = (score for score in answer.scores if score.probability >= style.threshold)
    return list(islice(likely, style.top))


def _classes(answer: TaggedText, style: Style) -> dict[str, Any]:
    """The keys that `jsonl` reads: label for one class, labels for several."""
    record: dict[str, Any] = {"labels": list(answer.labels)}
    if not style.several:
        record = {"label": answer.labels[0] if answer.labels else None}
    if style.top or style.confidence:
        shown = _shown(answer, style) if style.top else answer.scores
        record["probabilities"] = {score.label: round(score.probability, 6) for score in shown}
    return record


def _without_none(part: TaggedToken | TextSpan) -> dict[str, Any]:
    """Its values that are there; probabilities to six places."""
    return {
        name: round(value, 6) if isinstance(value, float) else value
        for name, value in asdict(part).items()
        if value is not None
    }


def _document(answer: TaggedText, origin: Origin) -> Document:
    return Document(answer.text, source=origin.file, line=origin.line)


def _check_words(words: Sequence[str], answer: TaggedText, origin: Origin) -> None:
    """Make sure that the column reader finds these words again: tokens of JSON may be anything.

    Raises:
        FormatError: it would not.
    """
    text = "\n".join(["", *words, ""])
    odd = any(pair in text for pair in ("\t", "\r\n", "\n\r", " \n", "\n ", "\n\n"))
    if odd or text.count("\n") != len(words) + 1 or f"\n{DOCSTART}\n" in text:
        word = next(word for word in words if not is_cell(word) or word == DOCSTART)
        raise _cannot_hold(answer, origin, f"the word {shorten(word)}")


def _cannot_hold(answer: TaggedText, origin: Origin, what: str) -> FormatError:
    return cannot_hold(_document(answer, origin), "a line of cells", what)
