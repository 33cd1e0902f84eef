"""Answers of classes: one or several of a text as a whole, with the probability of each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from tagkit.corpus.formats.table import Format
from tagkit.corpus.source.layout import CONLLU
from tagkit.corpus.source.pieces import Writing
from tagkit.errors import DataError
from tagkit.limits import MAX_LENGTH
from tagkit.models.answers.kind import CLASSES, RENDERED, Origin, PredictionOptions, Style
from tagkit.models.answers.labels import (
    LabelAnswers,
    cannot_hold_cells,
    sentences_of,
    without_none,
)
from tagkit.models.answers.pieces import Highlighted, TextPiece, tree_pieces
from tagkit.text.records import Extra, LabelScore, Sentence, TaggedText, node_spans
from tagkit.text.schemes import PLAIN
from tagkit.wording import quoted


@dataclass(frozen=True)
class ClassAnswers(LabelAnswers):
    """Classes of texts.

    Attributes:
        classes: names of them, sorted, where the model has a vocabulary of them.
        several: whether a text may have several.
    """

    classes: tuple[str, ...]
    several: bool
    scheme = PLAIN
    spans = False
    columns = ()
    does = "classifies"
    model = "this model classifies texts"

    @property
    def sets(self) -> tuple[str, ...]:  # type: ignore[override]
        """That of the class, where a text has one."""
        return () if self.several else (CLASSES,)

    lacks_sets = "gives a text several classes"

    def check(self, options: PredictionOptions, **others: Any) -> None:
        """A text is read whole."""
        super().check(options, **others)
        if options.max_length != MAX_LENGTH:
            raise DataError("this model classifies: max_length is for tags, a text is read whole")

    def holds(self, row: Format) -> bool:
        """Tokens may have a class alone, but for formats where each of them needs a tag."""
        return row.has_classes and row.holds in ("tags", "classes") and not row.needs_tags

    @property
    def rendered(self) -> Sequence[str]:
        """CoNLL-U has no line for a text without tags."""
        return [name for name in RENDERED if name != CONLLU]

    def remark(self, format: str) -> str | None:
        """Tables join several classes."""
        if not self.several or format not in ("csv", "tsv"):
            return None
        return (
            f"{format} joins the classes of a text with commas, and has an empty cell where there "
            "is none. Commands read such a cell as one class: output_format=jsonl-texts keeps the "
            "classes apart"
        )

    def writing(self, *, single: bool, note: Callable[[str], None]) -> Writing:
        """As described in `AnswerKind`."""
        return replace(super().writing(single=single, note=note), several_classes=self.several)

    def selected(self, answer: TaggedText, style: Style) -> list[LabelScore]:
        """The text's labels; with `style.top` the most probable classes."""
        if not style.top:
            return [score for score in answer.scores if score.label in answer.labels]
        likely = (score for score in answer.scores if score.probability >= style.threshold)
        return list(islice(likely, style.top))

    def cells(
        self, answer: TaggedText, style: Style, origin: Origin, *, each: bool = False
    ) -> list[str]:
        """A cell with the text's classes, and cells with probabilities if these are written.

        Several classes are separated by commas, and so are their probabilities. With `style.top`
        there are two cells for each of that many classes, empty if there are fewer.

        Args:
            answer: the predictions for the text.
            style: says what is written.
            origin: of the text, for messages.
            each: whether each class of the model has a cell for its probability, in their order,
                as in a table.

        Raises:
            FormatError: a cell cannot hold a class.
        """
        shown = self.selected(answer, style)
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
            return [labels, *(f"{by_label[label]:.4f}" for label in self.classes)]
        probabilities = ",".join(f"{score.probability:.4f}" for score in shown)
        return [labels, probabilities] if style.confidence else [labels]

    def beside(
        self, answer: TaggedText, format: Format, style: Style, origin: Origin
    ) -> tuple[tuple[str, ...], Extra]:
        """As described in `LabelAnswers`; a table has the classes in cells with names."""
        if not format.has_named_columns:
            return super().beside(answer, format, style, origin)
        label, *others = self.cells(answer, style, origin, each=True)
        found = dict(zip(self._names(style), others, strict=True))
        # A name stands once: a probability is worth more than what the input had under its name.
        extra = tuple({**found, **dict(origin.extra), **found}.items())
        return (label,) if label else (), extra

    def _names(self, style: Style) -> Sequence[str]:
        """Names of the cells that a table has after the one with the classes."""
        if style.top:
            # probability, label2, probability2, ...: "label", the first, is what readers look for
            numbers = ["", *map(str, range(2, style.top + 1))]
            return [f"{name}{n}" for n in numbers for name in ("label", "probability")][1:]
        return [f"p({label})" for label in self.classes] if style.confidence else []

    def lines(self, answer: TaggedText, style: Style, origin: Origin) -> Iterator[str]:
        """One line: the cells of the classes."""
        yield "\t".join(self.cells(answer, style, origin)).rstrip("\t")  # empty cells of `top`

    def sentences(
        self, answer: TaggedText, origin: Origin, labels: tuple[str, ...]
    ) -> Iterator[Sentence]:
        """As described in `LabelAnswers`."""
        return sentences_of(answer, origin, tagged=False, labels=labels)

    def with_selected(self, answer: TaggedText, style: Style) -> TaggedText:
        """As described in `LabelAnswers`."""
        shown = tuple(self.selected(answer, style))
        labels = tuple(score.label for score in shown)
        return replace(answer, labels=labels, scores=shown if style.probabilities else ())

    def labels(self, answer: TaggedText, style: Style) -> dict[str, Any]:
        """The keys that the reader of `jsonl` knows: label for one class, labels for several."""
        record: dict[str, Any] = {"labels": list(answer.labels)}
        if not self.several:
            record = {"label": answer.labels[0] if answer.labels else None}
        if style.probabilities:
            # JSON has room for all classes, not only the text's labels as in columns.
            shown = self.selected(answer, style) if style.top else answer.scores
            record["probabilities"] = {score.label: round(score.probability, 6) for score in shown}
        if any(token.attention is not None for token in answer.tokens):
            record["tokens"] = [without_none(token) for token in answer.tokens]
        if answer.tree is not None:
            nodes = node_spans(answer)
            if not style.probabilities:
                nodes = [replace(node, probability=None) for node in nodes]
            record["nodes"] = [without_none(node) for node in nodes]
        return record

    def cells_of(self, answer: TaggedText, options: PredictionOptions) -> dict[str, Any]:
        """The class, or an array of several, and with them the probability of each class."""
        found: dict[str, Any] = {"pred_labels": np.array(answer.labels, dtype=str)}
        if not self.several:
            found = {"pred_label": next(iter(answer.labels), None)}
        if options.confidence:
            probabilities = {score.label: score.probability for score in answer.scores}
            found |= {f"pred_p({name})": probabilities.get(name, 0.0) for name in self.classes}
        return found

    def shown(self, answer: TaggedText, style: Style) -> Highlighted:
        """The text, and its classes; below it the nodes of its tree with theirs."""
        pieces = [TextPiece(answer.text)] if answer.text else []
        pieces += tree_pieces(answer, confidence=style.probabilities)
        classes = tuple(self.selected(answer, style))
        return Highlighted(tuple(pieces), False, classes, style.probabilities)
