"""Predictions for a text -> lines of output: columns, tab-separated values, JSON Lines.

| | columns | tsv | jsonl |
| --- | --- | --- | --- |
| tags | one token a line: token, tag | - | tokens and spans with offsets |
| classes | one text a line: class | one text a line: class, text | class, probabilities |
| both | one token a line: token, tag, class | - | tokens, spans, class, probabilities |
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Literal

from tagkit.corpus.dataset import LabelKinds
from tagkit.corpus.formats.columns.layout import DOCSTART, is_cell
from tagkit.corpus.formats.pieces import cannot_hold, require_line
from tagkit.errors import FormatError, shorten
from tagkit.inference.tag_cells import tag_cells
from tagkit.storage import replace_lone_surrogates
from tagkit.text.json_text import to_json as dumps
from tagkit.text.records import Document, LabelScore, TaggedText, TaggedToken, TextSpan


@dataclass(frozen=True, slots=True)
class Style:
    """How predictions are written.

    Attributes:
        format: "columns", "tsv" or "jsonl".
        confidence: whether probabilities are written.
        gives: the kinds of labels that the model predicts.
        classes: names of the classes, where the model has a vocabulary of them.
        multi_label: whether a text may have several classes.
        top: number of classes to write, the most probable, each with its probability; 0 to write
            the text's labels.
        threshold: minimum probability of those `top` classes.
    """

    format: Literal["columns", "tsv", "jsonl"]
    confidence: bool
    gives: LabelKinds
    classes: tuple[str, ...]
    multi_label: bool
    top: int
    threshold: float


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a text comes from.

    Attributes:
        file: name of the file.
        line: number of the text's first line in the file, from 1.
        offset: of the text's first code point in the file's text; None if the text is not a
            substring of it.
    """

    file: str
    line: int
    offset: int | None = None


def header(style: Style) -> Iterator[str]:
    """The header line, if the format has one."""
    # Column files have none, and JSON names its values itself.
    if style.format != "tsv":
        return
    names = ["label"]
    if style.top:
        # label, probability, label2, probability2, ...: the first name is that which readers expect
        pairs = (
            "label{0}\tprobability{0}".format(n if n > 1 else "") for n in range(1, style.top + 1)
        )
        names = list(pairs)
    elif style.confidence:
        names += [f"p({label})" for label in style.classes]
    yield "\t".join([*names, "text"])


def answer_lines(answer: TaggedText, style: Style, origin: Origin) -> Iterator[str]:
    """The lines for one text, without line ends.

    Raises:
        FormatError: the format cannot hold the text or a class.
    """
    if style.format == "jsonl":
        yield to_json(answer, style, origin)
    elif style.format == "tsv":
        # Nothing is escaped in tsv: a tab in a text would begin a new cell.
        if "\t" in answer.text:
            raise _cannot_hold(answer, origin, "a tab in the text")
        require_line(_document(answer, origin), answer.text, "tsv")
        yield "\t".join([*class_cells(answer, style, origin), answer.text])
    elif not style.gives.tags:
        yield "\t".join(class_cells(answer, style, origin)).rstrip("\t")  # empty cells of `top`
    else:
        suffix = "".join(f"\t{cell}" for cell in class_cells(answer, style, origin))
        for sentence in answer.sentences:
            _check_words([token.text for token in sentence], answer, origin)
            for token in sentence:
                cells = "\t".join(tag_cells(token, confidence=style.confidence))
                yield f"{token.text}\t{cells}{suffix}"
            yield ""  # a blank line ends a sentence


def class_cells(answer: TaggedText, style: Style, origin: Origin) -> list[str]:
    """A cell with the text's classes, and cells with probabilities if these are written.

    Several classes are separated by commas, and so are their probabilities; in TSV each class of
    the model has a cell for its probability. With `style.top` there are two cells for each of that
    many classes, empty if there are fewer. A model without classes has no cells.

    Raises:
        FormatError: a cell cannot hold a class.
    """
    if not style.gives.classes:
        return []
    shown = _selected(answer, style)
    # A class comes from a corpus, whose format may allow what a cell does not (JSON: anything).
    for score in shown:
        if any(char in score.label for char in "\t\n\r"):
            raise _cannot_hold(answer, origin, f"the class {shorten(score.label)}")
    if style.top:
        cells = [cell for score in shown for cell in (score.label, f"{score.probability:.4f}")]
        # Every line has as many cells as the header.
        return cells + [""] * (2 * style.top - len(cells))
    labels = ",".join(score.label for score in shown)
    if style.confidence and style.format == "tsv":
        by_label = {score.label: score.probability for score in answer.scores}
        return [labels, *(f"{by_label[label]:.4f}" for label in style.classes)]
    probabilities = ",".join(f"{score.probability:.4f}" for score in shown)
    return [labels, probabilities] if style.confidence else [labels]


def to_json(answer: TaggedText, style: Style, origin: Origin) -> str:
    """One line of JSON, without the line end: the origin of the text and all predictions."""
    # A file name may hold bytes that are no text; JSON must be valid UTF-8 all the same.
    record: dict[str, Any] = {"document": replace_lone_surrogates(origin.file), "line": origin.line}
    if origin.offset is not None:
        record["offset"] = origin.offset
    record["text"] = answer.text
    if style.gives.classes:
        record |= _classes(answer, style)
    if style.gives.tags or any(token.attention is not None for token in answer.tokens):
        record["tokens"] = [_without_none(token) for token in answer.tokens]
    if style.gives.tags:
        record["spans"] = [_without_none(span) for span in answer.spans]
    return dumps(record)


def _selected(answer: TaggedText, style: Style) -> list[LabelScore]:
    """The classes to be written, the most probable first."""
    if not style.top:
        return [score for score in answer.scores if score.label in answer.labels]
    likely = (score for score in answer.scores if score.probability >= style.threshold)
    return list(islice(likely, style.top))


def _classes(answer: TaggedText, style: Style) -> dict[str, Any]:
    """The keys that the reader of `jsonl` knows: label for one class, labels for several."""
    record: dict[str, Any] = {"labels": list(answer.labels)}
    if not style.multi_label:
        record = {"label": answer.labels[0] if answer.labels else None}
    if style.top or style.confidence:
        # JSON has room for all classes, not only the text's labels as in columns.
        shown = _selected(answer, style) if style.top else answer.scores
        record["probabilities"] = {score.label: round(score.probability, 6) for score in shown}
    return record


def _without_none(part: TaggedToken | TextSpan) -> dict[str, Any]:
    """The values that are not None; probabilities rounded to six decimals."""
    # Six decimals are about the precision of float32.
    return {name: _rounded(value) for name, value in asdict(part).items() if value is not None}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):  # of each tag column
        return {name: _rounded(each) for name, each in value.items()}
    return round(value, 6) if isinstance(value, float) else value


def _document(answer: TaggedText, origin: Origin) -> Document:
    return Document(answer.text, source=origin.file, line=origin.line)


def _check_words(words: Sequence[str], answer: TaggedText, origin: Origin) -> None:
    """Raise unless the column reader would read these words back as they are.

    Tokens of JSON input may hold any characters.

    Raises:
        FormatError: a word would be read differently.
    """
    # Searches in one joined string: a check of each word would be a Python call for each token.
    text = "\n".join(["", *words, ""])
    suspect = any(pair in text for pair in ("\t", "\r\n", "\n\r", " \n", "\n ", "\n\n"))
    if suspect or text.count("\n") != len(words) + 1 or f"\n{DOCSTART}\n" in text:
        word = next(word for word in words if not is_cell(word) or word == DOCSTART)
        raise _cannot_hold(answer, origin, f"the word {shorten(word)}")


def _cannot_hold(answer: TaggedText, origin: Origin, what: str) -> FormatError:
    return cannot_hold(_document(answer, origin), "a line of cells", what)
