"""Answers of tags: one a token, or one of each of several columns, and the spans that they mean.

In CoNLL-U the predicted columns are filled, and nothing else changes:

    the model's column (UPOS, FEATS, MISC.NER, ...)   the tag
    MISC, key UPOSProb, NERProb, ...                  its probability, where that is wanted
    MISC of the first word, Class and ClassProb       the class of the whole, and its probability

The lines are those of the input where that is CoNLL-U; else they are made of the text's tokens.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tagkit.config import Column, DataConfig
from tagkit.corpus.formats.columns.conllu import KEY, write_conllu
from tagkit.corpus.formats.columns.filling import fill_columns
from tagkit.corpus.formats.columns.reader import LineBlock
from tagkit.corpus.formats.columns.writer import append_column
from tagkit.corpus.formats.table import Format
from tagkit.corpus.source.layout import (
    CONLLU,
    CONLLU_COLUMNS,
    DOCSTART,
    KEYED,
    PREDICTED,
    Layout,
    is_cell,
    is_whole,
)
from tagkit.corpus.source.options import silent
from tagkit.corpus.source.pieces import Writing
from tagkit.errors import DataError, FormatError
from tagkit.features.column_labels import ColumnLabels
from tagkit.models.answers.classes import ClassAnswers
from tagkit.models.answers.kind import TAGS, Origin, PredictionOptions, Style, origin_of
from tagkit.models.answers.labels import (
    LabelAnswers,
    cannot_hold_cells,
    sentences_of,
    without_none,
)
from tagkit.models.answers.pieces import Highlighted, span_pieces, token_pieces
from tagkit.text.notation import USUAL, Notation, notation_named
from tagkit.text.records import (
    LabelScore,
    Prediction,
    Sentence,
    TagColumn,
    TaggedText,
    TaggedToken,
    TextSpan,
)
from tagkit.wording import quoted


@dataclass(frozen=True)
class TagAnswers(LabelAnswers):
    """Tags of tokens.

    Attributes:
        data: how the corpus of training is read, with its scheme.
        spans: whether the tags mean spans.
        columns: labels of each tag column, where there are several.
    """

    data: DataConfig
    spans: bool
    columns: tuple[ColumnLabels, ...]
    classes = ()
    several = False
    by_token = True
    does = "tags"
    model = "this model tags tokens"

    @property
    def scheme(self) -> str:  # type: ignore[override]
        """That of training."""
        return self.data.scheme

    @cached_property
    def notation(self) -> Notation:
        """That of the training corpus, in which lines are written; answers have the usual one."""
        return notation_named(self.data.notation) or USUAL

    def _own(self, answer: TaggedText) -> TaggedText:
        """The answer with its tags as the training corpus spells them."""
        if self.notation == USUAL:
            return answer
        sentences = (
            tuple(replace(token, tag=self.notation.written(str(token.tag))) for token in sentence)
            for sentence in answer.sentences
        )
        return replace(answer, sentences=tuple(sentences))

    @property
    def filled(self) -> tuple[str, ...]:
        """Columns of CoNLL-U that get the tags, such as UPOS or MISC.NER: one for each column."""
        return conllu_columns(self.data, spans=self.spans)

    @property
    def sets(self) -> tuple[str, ...]:  # type: ignore[override]
        """That of the tags of one column."""
        return () if self.columns else (TAGS,)

    lacks_sets = "predicts several columns"

    def check(self, options: PredictionOptions, *, top: int = 0, **others: Any) -> None:
        """There are no classes."""
        super().check(options, top=top, **others)
        for name, is_given in (("top", bool(top)), ("threshold", options.threshold is not None)):
            if is_given:
                raise DataError(f"this model tags: {name}=... is for classes of texts")

    def holds(self, row: Format) -> bool:
        """Sentences, or texts where the tags mean spans."""
        return self.spans if row.holds == "spans" else row.holds == "tags"

    def misfit(self, format: str) -> str:
        """As described in `LabelAnswers`."""
        if format in replace(self, spans=True).formats(probabilities=False):
            return "this model predicts plain labels, which are no spans"
        return super().misfit(format)

    def writing(self, *, single: bool, note: Callable[[str], None]) -> Writing:
        """As described in `AnswerKind`."""
        return replace(super().writing(single=single, note=note), plain=not self.spans)

    def lines(self, answer: TaggedText, style: Style, origin: Origin) -> Iterator[str]:
        """A line for each token: its text, its tags, and the classes of the text."""
        answer, classes = self._own(answer), self.cells(answer, style, origin)
        if style.format == CONLLU:
            confidence = style.confidence
            yield from conllu_lines(answer, classes, self.filled, origin, confidence=confidence)
            return
        suffix = "".join(f"\t{cell}" for cell in classes)
        for sentence in answer.sentences:
            _check_words([token.text for token in sentence], answer, origin)
            for token in sentence:
                cells = "\t".join(_tag_cells(token, confidence=style.confidence))
                yield f"{token.text}\t{cells}{suffix}"
            yield ""  # a blank line ends a sentence

    def fill(
        self, block: LineBlock, layout: Layout, prediction: Prediction, style: Style, file: str
    ) -> Iterator[str]:
        """The lines with a cell more for each tag; those of CoNLL-U with their columns filled."""
        assert block.sentence is not None
        origin = origin_of(block.sentence, file)
        classes = self.cells(_as_text(prediction), style, origin)
        if self.notation != USUAL:
            prediction = replace(prediction, tags=self.notation.written_all(prediction.tags))
        if style.format != CONLLU:
            # The separator of the input, so that the output is read as the input was.
            yield from append_column(
                block, layout, self._appended(prediction, classes, layout, origin)
            )
            return
        columns = prediction.columns or (TagColumn("", prediction.tags, prediction.probabilities),)
        values = column_values(columns, classes, self.filled)
        yield from fill_columns(block, layout, values, file)

    def names(self, style: Style) -> list[str]:
        """Of the cells that a row of a table gets, in its header."""
        found = [f"{PREDICTED} {column.name}" for column in self.columns[1:]]
        found = [name for each in (PREDICTED, *found)
                 for name in (each, "probability")[: 1 + style.confidence]]  # fmt: skip
        if self.classes and style.top:
            return found + ["class", "probability"] * style.top
        return found + ["class", "probability"][: 1 + style.confidence] * bool(self.classes)

    def _appended(
        self, prediction: Prediction, classes: Sequence[str], layout: Layout, origin: Origin
    ) -> Sequence[str]:
        """The text to append to each token's line."""
        separator = layout.separator
        # A class may contain spaces ("New York"), and would then be read back as two columns.
        if any(" " in cell for cell in classes) and separator == " ":
            problem = f"columns separated by blanks cannot hold the class {quoted(classes[0])}"
            raise FormatError(origin.file, origin.line, f"{problem}; try output_format=jsonl")
        suffix = "".join(f"{separator}{layout.cell(cell)}" for cell in classes)
        if prediction.columns:
            rows = (map(layout.cell, row) for row in _rows_of(prediction.columns))
            return [f"{separator.join(row)}{suffix}" for row in rows]
        if layout.rows:
            prediction = replace(prediction, tags=tuple(map(layout.cell, prediction.tags)))
        if prediction.probabilities is None:
            # The usual case without a copy of every tag.
            return [f"{tag}{suffix}" for tag in prediction.tags] if suffix else prediction.tags
        return [
            f"{tag}{separator}{probability:.4f}{suffix}"
            for tag, probability in zip(prediction.tags, prediction.probabilities, strict=True)
        ]

    def cells(self, answer: TaggedText, style: Style, origin: Origin) -> list[str]:
        """None: there are no classes."""
        return []

    def sentences(
        self, answer: TaggedText, origin: Origin, labels: tuple[str, ...]
    ) -> Iterator[Sentence]:
        """As described in `LabelAnswers`."""
        return sentences_of(self._own(answer), origin, tagged=True, labels=labels)

    def labels(self, answer: TaggedText, style: Style) -> dict[str, Any]:
        """Tokens and spans with their offsets."""
        return {
            "tokens": [without_none(token) for token in answer.tokens],
            "spans": [without_none(span) for span in answer.spans],
        }

    def cells_of(self, answer: TaggedText, options: PredictionOptions) -> dict[str, Any]:
        """Tokens, the tags of each column, and spans by the places of their characters."""
        tokens, spans = answer.tokens, answer.spans
        found = {"pred_tokens": _texts(token.text for token in tokens)}
        names = [column.name for column in self.columns]
        for name in names:
            found[f"pred_{name}"] = _texts((token.tags or {})[name] for token in tokens)
        if not names:
            found["pred_tags"] = _texts(token.tag for token in tokens)
        if self.spans:
            found["pred_starts"] = np.array([span.start for span in spans], np.int64)
            found["pred_ends"] = np.array([span.end for span in spans], np.int64)
            found["pred_types"] = _texts(span.label for span in spans)
        if options.confidence and not names:
            parts: Sequence[TaggedToken | TextSpan] = spans if self.spans else tokens
            found["pred_probabilities"] = np.array([part.probability for part in parts], float)
        return found

    def shown(self, answer: TaggedText, style: Style) -> Highlighted:
        """The text with its spans, or its tokens with their tags."""
        pieces = span_pieces(answer) if self.spans else token_pieces(answer)
        return Highlighted(
            tuple(piece for piece in pieces if piece.text), self.spans, None, style.probabilities
        )


@dataclass(frozen=True)
class JointAnswers(TagAnswers):
    """Tags of tokens, and classes of the texts that they make up.

    Attributes:
        of_text: the classes.
    """

    of_text: ClassAnswers
    does = "tags and classifies"

    @property
    def classes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the classes."""
        return self.of_text.classes

    @property
    def several(self) -> bool:  # type: ignore[override]
        """Whether a text may have several of them."""
        return self.of_text.several

    @property
    def sets(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those of both."""
        return (*super().sets, *self.of_text.sets)

    def check(self, options: PredictionOptions, **others: Any) -> None:
        """As for classes: a text is read whole."""
        self.of_text.check(options, **others)

    def holds(self, row: Format) -> bool:
        """There is a place for both."""
        return row.has_classes and super().holds(row)

    def remark(self, format: str) -> str | None:
        """As of classes."""
        return self.of_text.remark(format)

    def writing(self, *, single: bool, note: Callable[[str], None]) -> Writing:
        """As described in `AnswerKind`."""
        writing = super().writing(single=single, note=note)
        return replace(writing, several_classes=self.of_text.several)

    def cells(self, answer: TaggedText, style: Style, origin: Origin) -> list[str]:
        """As described in `LabelAnswers`."""
        return self.of_text.cells(answer, style, origin)

    def with_selected(self, answer: TaggedText, style: Style) -> TaggedText:
        """As described in `LabelAnswers`."""
        return self.of_text.with_selected(answer, style)

    def labels(self, answer: TaggedText, style: Style) -> dict[str, Any]:
        """Classes, tokens and spans."""
        return {**self.of_text.labels(answer, style), **super().labels(answer, style)}

    def cells_of(self, answer: TaggedText, options: PredictionOptions) -> dict[str, Any]:
        """As described in `AnswerKind`."""
        return {**super().cells_of(answer, options), **self.of_text.cells_of(answer, options)}

    def shown(self, answer: TaggedText, style: Style) -> Highlighted:
        """The text with its labels, and its classes."""
        classes: tuple[LabelScore, ...] = tuple(self.of_text.selected(answer, style))
        return replace(super().shown(answer, style), classes=classes)


def _texts(values: Iterable[str | None]) -> Any:
    return np.array([*values], dtype=str)


def _tag_cells(token: TaggedToken, *, confidence: bool) -> Iterator[str]:
    """The value of each tag column, with `confidence` each followed by its probability."""
    values = {"": str(token.tag)} if token.tags is None else token.tags
    probabilities = token.probabilities or {"": token.probability or 0.0}
    for name, value in values.items():
        yield value
        if confidence:
            yield f"{probabilities[name]:.4f}"


def _rows_of(columns: Sequence[TagColumn]) -> Iterator[Sequence[str]]:
    """For each token the cells of all tag columns, each with its probability where there is one."""
    cells: list[Sequence[str]] = []
    for column in columns:
        cells.append(column.values)
        if column.probabilities is not None:
            cells.append([f"{probability:.4f}" for probability in column.probabilities])
    return zip(*cells, strict=True)


def _as_text(prediction: Prediction) -> TaggedText:
    """A prediction with its classes alone."""
    return TaggedText(" ".join(prediction.words), (), (), prediction.labels, prediction.scores)


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


# Of lines that `write_conllu` writes.
_LAYOUT = Layout(width=len(CONLLU_COLUMNS), conllu=True, token=1, tag=None, features=(), tabs=True)
_WRITING = Writing(plain=True, single=True, note=silent)
_NO_ANNOTATION = ("ID", "FORM")  # columns of CoNLL-U that say which word it is
_CLASS, _PROBABILITY = "Class", "Prob"  # keys of MISC, the second one after the name of a column


def column_values(
    columns: Sequence[TagColumn], classes: Sequence[str], names: Sequence[str]
) -> Mapping[Column, Sequence[str]]:
    """Values of columns of CoNLL-U, one a word.

    Args:
        columns: the predicted tags, those of each tag column; with probabilities if these are
            written.
        classes: cells of a class and its probability by turns, as `ClassAnswers.cells` has them.
        names: of the columns of CoNLL-U that get the tags.
    """
    values: dict[Column, Sequence[str]] = {}
    for name, column in zip(names, columns, strict=True):
        values[name] = column.values
        if column.probabilities is not None:
            # The name of a key, or of a column: MISC.NER gets NERProb, UPOS gets UPOSProb.
            key = f"{name.rpartition('.')[2]}{_PROBABILITY}"
            values[f"MISC.{key}"] = [f"{each:.4f}" for each in column.probabilities]
    absent = KEYED["MISC"]
    for index, cell in enumerate(classes):
        number = f"{index // 2 + 1}" if index > 1 else ""
        key = f"{_CLASS}{number}{_PROBABILITY if index % 2 else ''}"
        # At the first word alone: a class is of the whole sentence.
        values[f"MISC.{key}"] = [cell or absent, *[absent] * (len(columns[0].values) - 1)]
    return values


def conllu_lines(
    answer: TaggedText,
    classes: Sequence[str],
    names: Sequence[str],
    origin: Origin,
    *,
    confidence: bool,
) -> Iterator[str]:
    """The sentences of a text that is not CoNLL-U, with their predicted tags.

    Args:
        answer: the predictions for the text.
        classes: cells of the text's classes, as for `column_values`.
        names: of the columns that get the tags.
        origin: of the text.
        confidence: whether probabilities are written.

    Raises:
        FormatError: CoNLL-U cannot hold a word, a tag or a class.
    """
    try:
        pieces = write_conllu(sentences_of(answer, origin, tagged=False), _WRITING)
        for tokens, piece in zip(answer.sentences, pieces, strict=True):
            lines = tuple(piece.text.split("\n")[:-1])
            ids = (line.partition("\t")[0] for line in lines)
            rows = tuple(place for place, cell in enumerate(ids) if is_whole(cell))
            columns = _columns_of(tokens, confidence=confidence)
            values = column_values(columns, classes, names)
            block = LineBlock(lines, rows, None, origin.line)
            yield from fill_columns(block, _LAYOUT, values, origin.file)
    except FormatError as error:  # the lines are not those of the input
        raise FormatError(origin.file, origin.line, error.problem) from None


def _columns_of(tokens: Sequence[TaggedToken], *, confidence: bool) -> tuple[TagColumn, ...]:
    """The tag columns of a sentence, with `confidence` with probabilities; one without a name."""
    first = tokens[0].tags
    if first is None:
        probabilities = tuple(token.probability or 0.0 for token in tokens)
        tags = tuple(token.tag or "_" for token in tokens)
        return (TagColumn("", tags, probabilities if confidence else None),)
    return tuple(
        TagColumn(
            name,
            tuple((token.tags or {})[name] for token in tokens),
            tuple((token.probabilities or {})[name] for token in tokens) if confidence else None,
        )
        for name in first
    )


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
