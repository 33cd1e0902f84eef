"""Answers that are strings: a text for each text."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tagkit.corpus.formats.table import Format, targets
from tagkit.errors import DataError, FormatError
from tagkit.limits import MAX_LENGTH
from tagkit.models.answers.kind import COLUMNS, JSONL, AnswerKind, Origin, PredictionOptions, Style
from tagkit.models.answers.pieces import Highlighted, TextPiece
from tagkit.models.answers.texts import Text
from tagkit.text.pairs import DELIMITER
from tagkit.text.records import StringAnswer
from tagkit.wording import quoted


class StringAnswers(AnswerKind):
    """A string for each text.

    Attributes:
        does: what a model with such answers does, in a few words.
        of_labels: options that have a meaning for labels alone.
    """

    does = "writes strings"
    of_labels: tuple[str, ...] = ("top", "threshold", "max_length", "min_confidence", "coverage")
    model = "this model writes strings"

    def check(
        self,
        options: PredictionOptions,
        *,
        top: int = 0,
        coverage: float | None = None,
        precision: str = "fp32",
    ) -> None:
        """There are no labels."""
        super().check(options, top=top, coverage=coverage, precision=precision)
        given = {
            "confidence": options.confidence, "top": bool(top),
            "threshold": options.threshold is not None,
            "max_length": options.max_length != MAX_LENGTH,
            "min_confidence": options.min_confidence is not None, "coverage": coverage is not None,
            "precision": precision != "fp32",
        }  # fmt: skip
        for name, is_given in given.items():
            if is_given and name in self.of_labels:
                raise DataError(f"this model {self.does}: {name}=... is for labels")

    def assemble(self, text: Text, predictions: Sequence[StringAnswer]) -> StringAnswer:
        """The string; an empty one for a text without words."""
        if not predictions:
            return StringAnswer(text.text, "")
        return replace(predictions[0], source=text.text)

    def probability(self, answer: StringAnswer) -> float:
        """Of the string; 1 where it is not known."""
        return 1.0 if answer.probability is None else answer.probability

    def size(self, answer: StringAnswer) -> int:
        """The words of its source."""
        return len(answer.source.split())

    def formats(self, *, probabilities: bool) -> list[str]:
        """As described in `AnswerKind`."""
        return [COLUMNS, JSONL, *(row.name for row in targets().values() if row.holds == "all")]

    def format_problem(self, style: Style) -> str:
        """As described in `AnswerKind`."""
        return f"this model {self.does}"

    def lines(self, answer: StringAnswer, style: Style, origin: Origin) -> Iterator[str]:
        """One line: the text, a tab, and the string, with its probability where that is wanted.

        Raises:
            FormatError: one of the two holds a tab or the end of a line.
        """
        cells = [answer.source, answer.text]
        for cell in cells:
            if any(char in cell for char in "\t\n\r"):
                raise FormatError(
                    origin.file,
                    origin.line,
                    f"a line of two cells cannot hold {quoted(cell)}; try output_format={JSONL}",
                )
        if style.confidence and answer.probability is not None:
            cells.append(f"{answer.probability:.4f}")
        yield DELIMITER.join(cells)

    def records(
        self, answer: StringAnswer, format: Format, style: Style, origin: Origin
    ) -> Iterator[StringAnswer]:
        """The answer itself, which the formats that hold all can show."""
        yield answer

    def values(self, answer: StringAnswer, style: Style) -> dict[str, Any]:
        """The text and the string, with its log probability where there is one."""
        found: dict[str, Any] = {"text": answer.source, "string": answer.text}
        if style.confidence and answer.log_probability is not None:
            found["log_probability"] = answer.log_probability
        return found

    def shown(self, answer: StringAnswer, style: Style) -> Highlighted:
        """The text, and the string behind an arrow."""
        pieces = (TextPiece(f"{answer.source} \u2192 {answer.text}"),)
        return Highlighted(pieces, False, None, style.confidence)
