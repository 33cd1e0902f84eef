"""Predictions for a text -> lines of output, in the three formats that are more than a corpus.

For people there is "show", whose lines are those of `highlight`, to be rendered by what shows them.

| | columns | conllu | jsonl |
| --- | --- | --- | --- |
| tags | one token a line: token, tag | the column of the model | tokens and spans with offsets |
| classes | one text a line: class | - | class, probabilities |
| both | one token a line: token, tag, class | as for tags, class in MISC | all of these |

Every other format is written from records by its own writer: see `answers.py`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from tagkit.corpus.formats.json.jsonl_writers import with_extra
from tagkit.corpus.source.layout import CONLLU, DOCSTART, is_cell
from tagkit.inference.predict.prediction_sets import TextSets
from tagkit.inference.write.answers import cannot_hold_cells, class_cells
from tagkit.inference.write.conllu_lines import conllu_lines
from tagkit.inference.write.highlight import highlight
from tagkit.inference.write.style import JSONL, SHOW, Origin, Style, selected
from tagkit.inference.write.tag_cells import tag_cells
from tagkit.storage import replace_lone_surrogates
from tagkit.text.json_text import to_json as dumps
from tagkit.text.records import Alternative, LabelScore, TaggedText, TaggedToken, TextSpan
from tagkit.wording import quoted


def answer_lines(answer: TaggedText, style: Style, origin: Origin) -> Iterator[str]:
    """The lines for one text, without line ends, in the format of the style: one of four.

    Raises:
        FormatError: the format cannot hold the text or a label.
    """
    if style.format == JSONL:
        yield to_json(answer, style, origin)
    elif style.format == SHOW:
        yield highlight(
            answer,
            selected(answer, style) if style.gives.classes else None,
            tags=style.gives.tags,
            spans=style.spans,
            confidence=style.confidence or style.top > 0,
        ).to_line()
    elif style.format == CONLLU:
        yield from conllu_lines(answer, style, origin)
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
    if isinstance(answer, TextSets):
        record |= _sets(answer, style)
    # A key of its own, such as "line", is not replaced by one of the input's record.
    return dumps(with_extra(record, origin.extra))


def _classes(answer: TaggedText, style: Style) -> dict[str, Any]:
    """The keys that the reader of `jsonl` knows: label for one class, labels for several."""
    record: dict[str, Any] = {"labels": list(answer.labels)}
    if not style.multi_label:
        record = {"label": answer.labels[0] if answer.labels else None}
    if style.top or style.confidence:
        # JSON has room for all classes, not only the text's labels as in columns.
        shown = selected(answer, style) if style.top else answer.scores
        record["probabilities"] = {score.label: round(score.probability, 6) for score in shown}
    return record


def _sets(answer: TextSets, style: Style) -> dict[str, Any]:
    """The keys of sets: that of each sentence, that of the text's class, or both."""
    record: dict[str, Any] = {"coverage": answer.coverage}
    if answer.tag_sets:
        record["sets"] = [
            {
                "size": len(each.taggings),
                "reached_limit": each.reached_limit,
                "taggings": [_tagging(tagging, style) for tagging in each.taggings],
            }
            for each in answer.tag_sets
        ]
    if answer.class_set:
        record["class_set"] = [_without_none(score) for score in answer.class_set]
    return record


def _tagging(tagging: Alternative, style: Style) -> dict[str, Any]:
    record: dict[str, Any] = {
        "probability": _rounded(tagging.probability), "tags": tagging.tags
    }  # fmt: skip
    if style.spans and tagging.tagged is not None:
        record["spans"] = [_without_none(span) for span in tagging.tagged.spans]
    return record


def _without_none(part: TaggedToken | TextSpan | LabelScore) -> dict[str, Any]:
    """The values that are not None; probabilities rounded to six decimals."""
    # Six decimals are about the precision of float32.
    return {name: _rounded(value) for name, value in asdict(part).items() if value is not None}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):  # of each tag column
        return {name: _rounded(each) for name, each in value.items()}
    return round(value, 6) if isinstance(value, float) else value


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
        raise cannot_hold_cells(answer, origin, f"the word {quoted(word)}")
