"""Strings that a model writes for sources, each a line of text or a record."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tagkit.corpus.splits.pairs import features_in, sentence_word
from tagkit.errors import DataError
from tagkit.limits import MAX_BEAM, MAX_UNITS, check_count
from tagkit.models.answers.kind import AUTO, Origin, PredictionOptions, Style
from tagkit.models.answers.pieces import Highlighted, TextPiece, alignment_lines
from tagkit.models.answers.strings import StringAnswers
from tagkit.models.answers.texts import Input, Text, words_of
from tagkit.text.pairs import DELIMITER
from tagkit.text.records import Document, Sentence, StringAnswer

TEXT = "text"  # the format of plain lines


class TransducerAnswers(StringAnswers):
    """A string for each source, which is a line, with its features behind a tab where it has any.

    A line of three cells has a target between the two, as corpora of pairs do, which is not read.
    """

    searches = True
    alternates = True

    def __init__(self, *, features: bool, attends: bool) -> None:
        """`features`: whether the model reads some beside sources; `attends`: looks at symbols."""
        self._features, self._attends = features, attends

    def check(self, options: PredictionOptions, **others: Any) -> None:
        """There are no labels, and a search has numbers of its own."""
        super().check(options, **others)
        check_count("max_units", options.max_units or MAX_UNITS)
        check_count("beam=...", options.beam or 1, 1, MAX_BEAM)
        check_count("min_units", options.min_units, 0, options.max_units or MAX_UNITS)
        check_count("no_repeat", options.no_repeat, 0)
        for name in ("length_penalty", "coverage_penalty"):
            if not 0 <= (value := getattr(options, name)) < math.inf:
                raise DataError(f"{name}: expected a number from 0 on, found {value!r}")
            if value and not self._attends and name == "coverage_penalty":
                raise DataError(f"{name}=... has no effect on a model without attention")
            if value and options.beam in (None, 1) and options.n_best == 1:
                raise DataError(f"{name}=... compares the strings of a beam: give beam=...")

    def input_format(self, given: str) -> str:
        """Lines of plain text, unless another format is asked for."""
        return TEXT if given == AUTO else given

    def read(self, item: Input, tokenizer: str, *, whole: bool) -> Text:
        """The source, as a single word: its units are the model's own.

        Raises:
            DataError: it is no text.
        """
        if isinstance(item, Sentence) and len(item.words) == 1:
            return Text(item.text or "", [item], [((0, len(item.text or "")),)])
        if isinstance(item, Document):
            features = dict(item.extra).get("features", "")
            text, found = item.text, features_in({"features": features})
        else:
            words = [item] if isinstance(item, str) else words_of(item)
            text, found = self._parts(" ".join(words))
        sentence = Sentence((sentence_word(text, found),), text=text)
        return Text(text, [sentence], [((0, len(text)),)])

    def assemble(self, text: Text, predictions: Sequence[StringAnswer]) -> StringAnswer:
        """The string."""
        return predictions[0]

    def lines(self, answer: StringAnswer, style: Style, origin: Origin) -> Iterator[str]:
        """A line of a pair; one for each alternative, where there are several."""
        if not answer.alternatives:
            yield from super().lines(answer, style, origin)
            return
        for each in answer.alternatives:
            one = StringAnswer(answer.source, each.text, each.log_probability)
            yield from super().lines(one, style, origin)

    def values(self, answer: StringAnswer, style: Style) -> dict[str, Any]:
        """The source and the string, with what else was asked for."""
        found: dict[str, Any] = {"source": answer.source, "target": answer.text}
        if style.confidence and answer.log_probability is not None:
            found["log_probability"] = answer.log_probability
        if answer.alternatives:
            found["n_best"] = [
                {"target": each.text, "log_probability": each.log_probability}
                for each in answer.alternatives
            ]
        if answer.alignment is not None:
            found["alignment"] = answer.alignment.to_dict()
        return found

    def shown(self, answer: StringAnswer, style: Style) -> Highlighted:
        """The source, the string behind an arrow, and below them what was looked at."""
        shown = super().shown(answer, style)
        if answer.alignment is None:
            return shown
        lines = "".join(f"\n{line}" for line in alignment_lines(answer.alignment))
        return replace(shown, pieces=(*shown.pieces, TextPiece(lines)))

    def _parts(self, line: str) -> tuple[str, str]:
        """The source and the features of a line.

        Raises:
            DataError: it has too many cells.
        """
        text, *others = line.split(DELIMITER)
        if len(others) > 1 + self._features:
            known = "a source, a target that is not read" + ", features" * self._features
            raise DataError(
                f"expected {known}, with tabs between them; found {len(others) + 1} cells"
            )
        return text, others[-1] if others and self._features else ""
