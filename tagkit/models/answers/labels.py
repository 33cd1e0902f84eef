"""What answers of tags, of classes and of both have in common: records, JSON and formats."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

from tagkit.corpus.formats.table import FORMATS, Format, targets
from tagkit.corpus.source.options import Item
from tagkit.corpus.source.pieces import cannot_hold
from tagkit.errors import FormatError
from tagkit.features.column_labels import ColumnLabels
from tagkit.models.answers.kind import RENDERED, AnswerKind, Origin, Removed, Style
from tagkit.models.answers.min_confidence import without_probabilities, without_unlikely
from tagkit.models.answers.texts import Text, as_tagged
from tagkit.text.records import (
    Alternative,
    Document,
    Extra,
    LabelScore,
    Prediction,
    Sentence,
    TagColumn,
    TaggedText,
    TaggedToken,
    TextAlternatives,
    TextSets,
    TextSpan,
)
from tagkit.wording import quoted


class LabelAnswers(AnswerKind):
    """Labels of a text: `TagAnswers`, `ClassAnswers` or `JointAnswers`.

    Attributes:
        does: what a model with such answers does, in a word.
        scheme: of the tags; that of plain labels where there are none.
        spans: whether the tags mean spans.
        columns: labels of each tag column, where there are several; records have no place for them.
        classes: of texts, sorted.
        several: whether a text may have several classes.
    """

    does: str
    scheme: str
    spans: bool
    columns: tuple[ColumnLabels, ...]
    classes: tuple[str, ...]
    several: bool

    def assemble(self, text: Text, predictions: Sequence[Prediction]) -> TaggedText:
        """The text with the offsets of each token and span, and its classes."""
        return as_tagged(text, predictions)

    def size(self, answer: TaggedText) -> int:
        """Its tokens."""
        return sum(map(len, answer.sentences))

    def probability(self, answer: TaggedText | Prediction) -> float:
        """Of the least probable tag, or of the most probable class if that is less."""
        found = [score.probability for score in answer.scores[:1]]
        if self.several:  # how sure it is of having each, or of not having it
            found = [max(each.probability, 1 - each.probability) for each in answer.scores]
        if isinstance(answer, Prediction):
            for column in answer.columns or (TagColumn("", answer.tags, answer.probabilities),):
                found += column.probabilities or ()
            return min(found, default=1.0)
        for token in answer.tokens:
            found += (token.probabilities or {}).values()
            found += [] if token.probability is None else [token.probability]
        return min(found, default=1.0)

    def without_probability(self, answer: TaggedText | Prediction) -> TaggedText | Prediction:
        """The answer as it is where no probabilities of tags were asked for."""
        if isinstance(answer, Prediction):
            return without_probabilities(answer)
        return replace(
            answer,
            sentences=tuple(
                tuple(replace(token, probability=None, probabilities=None) for token in sentence)
                for sentence in answer.sentences
            ),
            spans=tuple(replace(span, probability=None) for span in answer.spans),
        )

    def unlikely_removed(
        self,
        predictions: Sequence[Prediction],
        minimum: float,
        on_removed: Callable[[Removed], None],
    ) -> list[Prediction]:
        """As described in `min_confidence`."""
        return without_unlikely(predictions, minimum, self.scheme, self.columns, on_removed)

    @abstractmethod
    def holds(self, row: Format) -> bool:
        """Whether records of a format have a place for these labels."""

    def formats(self, *, probabilities: bool) -> list[str]:
        """As described in `AnswerKind`."""
        return [*self.rendered, *(row.name for row in self._rows(probabilities=probabilities))]

    @property
    def rendered(self) -> Sequence[str]:
        """Those of `RENDERED` that have a place for these labels."""
        return RENDERED

    def _rows(self, *, probabilities: bool) -> Iterator[Format]:
        for row in targets().values():
            if row.name in RENDERED:
                continue
            if row.holds == "all" or (
                not self.columns
                and self.holds(row)
                and (row.holds_class is None or all(map(row.holds_class, self.classes)))
                and (row.has_named_columns or not probabilities)
            ):
                yield row

    def format_problem(self, style: Style) -> str:
        """As described in `AnswerKind`."""
        name = style.format
        holds_class = FORMATS[name].holds_class if name in FORMATS else None
        if self.columns:
            return "this model predicts several tag columns"
        if holds_class and (others := [each for each in self.classes if not holds_class(each)]):
            return f"{name} cannot hold the class {quoted(others[0])} of this model"
        if name in self.formats(probabilities=False):
            option = "confidence=True" if style.confidence else "top=..."
            return f"{name} has no place for the probabilities of {option}"
        return self.misfit(name)

    def misfit(self, format: str) -> str:
        """Why records of a format have no place for these labels, in words."""
        return f"this model {self.does}"

    @abstractmethod
    def cells(self, answer: TaggedText, style: Style, origin: Origin) -> list[str]:
        """The cells with a text's classes; none of a model without them.

        Raises:
            FormatError: a cell cannot hold a class.
        """

    @abstractmethod
    def sentences(
        self, answer: TaggedText, origin: Origin, labels: tuple[str, ...]
    ) -> Iterator[Sentence]:
        """The sentences of a text, for a format of tokens; each gets the classes `labels`."""

    def records(
        self, answer: TaggedText, format: Format, style: Style, origin: Origin
    ) -> Iterator[Item | TaggedText]:
        """The sentences of a text, or the text as a document.

        A format that holds all gets the answer, with the classes that are to be written.

        Raises:
            FormatError: a table cannot hold a class.
        """
        if format.holds == "all":
            yield self.with_selected(answer, style)
            return
        labels, extra = self.beside(answer, format, style, origin)
        if format.holds == "tags":
            yield from self.sentences(answer, origin, labels)
            return
        places = tuple((token.start, token.end) for token in answer.tokens)
        yield Document(
            text=answer.text,
            spans=answer.spans if format.holds == "spans" else None,
            labels=labels,
            # Words of one multiword token of CoNLL-U share a place: these are no tokens of the
            # text.
            tokens=places if all(a[1] <= b[0] for a, b in pairwise(places)) else None,
            name=origin.name,
            source=origin.file,
            line=origin.line,
            extra=extra,
            tree=answer.tree,
        )

    def with_selected(self, answer: TaggedText, style: Style) -> TaggedText:
        """The answer with the classes that are to be written."""
        return answer

    def beside(
        self, answer: TaggedText, format: Format, style: Style, origin: Origin
    ) -> tuple[tuple[str, ...], Extra]:
        """The classes of a text's records, and their other names and values.

        Raises:
            FormatError: a table cannot hold a class.
        """
        return answer.labels if format.has_classes else (), origin.extra

    @abstractmethod
    def labels(self, answer: TaggedText, style: Style) -> dict[str, Any]:
        """The labels of a text as plain values."""

    def values(self, answer: TaggedText, style: Style) -> dict[str, Any]:
        """The text, its labels, and its sets or the ways to tag it."""
        record = {"text": answer.text, **self.labels(answer, style)}
        if isinstance(answer, TextAlternatives):
            ways = answer.alternatives
            return record | {
                "n_best": [
                    {"log_probability": rounded(way.log_probability), **self._tagging(way)}
                    for way in ways
                ]
            }
        return record | self._sets(answer) if isinstance(answer, TextSets) else record

    def _sets(self, answer: TextSets) -> dict[str, Any]:
        """The keys of sets: that of each sentence, that of the text's class, or both."""
        record: dict[str, Any] = {"coverage": answer.coverage}
        if answer.tag_sets:
            record["sets"] = [
                {
                    "size": len(each.taggings),
                    "reached_limit": each.reached_limit,
                    "taggings": [self._tagging(tagging) for tagging in each.taggings],
                }
                for each in answer.tag_sets
            ]
        if answer.class_set:
            record["class_set"] = [without_none(score) for score in answer.class_set]
        return record

    def _tagging(self, tagging: Alternative) -> dict[str, Any]:
        record: dict[str, Any] = {
            "probability": rounded(tagging.probability), "tags": tagging.tags
        }  # fmt: skip
        if self.spans and tagging.tagged is not None:
            record["spans"] = [without_none(span) for span in tagging.tagged.spans]
        return record


def without_none(part: TaggedToken | TextSpan | LabelScore) -> dict[str, Any]:
    """The values that are not None; probabilities rounded to six decimals."""
    # Six decimals are about the precision of float32.
    return {name: rounded(value) for name, value in asdict(part).items() if value is not None}


def rounded(value: Any) -> Any:
    """A probability, or those of each tag column, with six decimals; anything else as it is."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return round(value, 6) if isinstance(value, float) else value


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


def cannot_hold_cells(answer: TaggedText, origin: Origin, what: str) -> FormatError:
    """The error of a text with something that a line of cells has no way to write."""
    document = Document(answer.text, source=origin.file, line=origin.line)
    return cannot_hold(document, "a line of cells", what)
