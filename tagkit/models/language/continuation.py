"""Prefixes -> their continuations: what a language model of pairs predicts, `tagkit predict`.

A prefix is read with the delimiter behind it, and the units after that are its continuation, up to
the end of the line. Without a beam the most probable unit is taken each time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from tagkit.errors import DataError
from tagkit.evaluation.reports.language_report import perplexity
from tagkit.limits import MAX_BEAM, MAX_UNITS, check_count
from tagkit.models.answers.kind import AUTO, AnswerKind, Origin, PredictionOptions, Style
from tagkit.models.answers.strings import StringAnswers
from tagkit.models.answers.texts import Input, Text
from tagkit.models.base.task_records import ModelContext
from tagkit.models.language.language_network import LanguageModel
from tagkit.models.language.language_scoring import never_continued
from tagkit.models.language.reader import Reader
from tagkit.nn.generation.choice import Choice
from tagkit.nn.generation.ended import Ended
from tagkit.nn.generation.generate import Ending, generate
from tagkit.nn.generation.row_random import RowRandom
from tagkit.nn.generation.step import State, select_rows
from tagkit.nn.search.strings import Search, Unconditional, search
from tagkit.text.pairs import DELIMITER, prefix_problem
from tagkit.text.records import Sentence, StringAnswer

LANGUAGE_MODEL = "this is a language model"
_NO_LABELS = f"{LANGUAGE_MODEL}, which annotates nothing: "
NO_LABELS = (
    f"{_NO_LABELS}tagkit generate continues a text, and tagkit eval scores one (in Python, "
    "tagkit.load_language_model loads it, and tagkit.evaluate scores a text)"
)
NO_LABELS_OF_PAIRS = f"{_NO_LABELS}tagkit predict continues prefixes, and tagkit eval scores pairs"
TEXT = "text"  # the format of plain lines, in which a tab has no meaning


@dataclass(frozen=True, slots=True)
class Continuation(StringAnswer):
    """A prefix with what a model adds to it.

    Attributes:
        source: the prefix.
        text: the continuation, without the end of the line.
        log_probability: natural logarithm, of its units and of the end.
        units: number of them, with the end of the line.
        ended: "symbol": by the end of a line; "length": by the most units that were asked for.
    """

    units: int = 0
    ended: Ended = "length"

    @property
    def perplexity(self) -> float:
        """Exponential of the mean negative log probability of a unit."""
        return perplexity(-(self.log_probability or 0.0) / max(1, self.units))


class PrefixAnswers(StringAnswers):
    """The continuation of each prefix, one a line."""

    does = "continues prefixes"
    model = LANGUAGE_MODEL
    of_labels = (*StringAnswers.of_labels, "confidence", "precision")
    searches = True

    def check(self, options: PredictionOptions, **others: Any) -> None:
        """There are no labels, and a search has numbers of its own."""
        super().check(options, **others)
        check_count("max_units", options.max_units or MAX_UNITS)
        check_count("beam=...", options.beam or 0, 0, MAX_BEAM)

    def input_format(self, given: str) -> str:
        """Lines of plain text."""
        if given not in (AUTO, TEXT):
            raise DataError(
                f"this model continues prefixes, one a line: leave out data.format={given}"
            )
        return TEXT

    def problem_of(self, line: str) -> str | None:
        """As described in `text.pairs`."""
        return prefix_problem(line)

    def read(self, item: Input, tokenizer: str, *, whole: bool) -> Text:
        """The prefix, as a single word: its units are the model's own.

        Raises:
            DataError: nothing of it can be continued.
        """
        line = item if isinstance(item, str) else super().read(item, tokenizer, whole=whole).text
        if problem := prefix_problem(line):
            raise DataError(problem)
        prefix = line.partition(DELIMITER)[0]
        words = [prefix] if prefix.strip() else []
        return Text(prefix, [Sentence((word,)) for word in words], [((0, len(w)),) for w in words])

    def assemble(self, text: Text, predictions: Sequence[StringAnswer]) -> StringAnswer:
        """The continuation; an empty one of a blank line."""
        return predictions[0] if predictions else Continuation(text.text, "", 0.0)

    def size(self, answer: StringAnswer) -> int:
        """The units of the continuation."""
        assert isinstance(answer, Continuation)
        return answer.units

    def lines(self, answer: StringAnswer, style: Style, origin: Origin) -> Iterator[str]:
        """A line of pairs."""
        yield f"{answer.source}{DELIMITER}{answer.text}"

    def to_dict(self, answer: StringAnswer, style: Style, origin: Origin) -> dict[str, Any]:
        """The two, with what is known of the continuation."""
        assert isinstance(answer, Continuation)
        return {
            "prefix": answer.source,
            "continuation": answer.text,
            "units": answer.units,
            "log_probability": answer.log_probability,
            "ended": answer.ended,
            "perplexity": answer.perplexity,
        }


class NoAnswers(StringAnswers):
    """Nothing: a language model of texts continues what `tagkit generate` gives it."""

    model = LANGUAGE_MODEL

    def check(self, options: PredictionOptions, **others: Any) -> None:
        """Refuse every text.

        Raises:
            DataError: always.
        """
        AnswerKind.check(self, options, **others)
        raise DataError(NO_LABELS)


class PrefixReader:
    """Continues prefixes with a language model of pairs."""

    def __init__(
        self, context: ModelContext, *, beam: int, max_units: int, batch_size: int
    ) -> None:
        """A reader of a model's.

        Args:
            context: the model.
            beam: hypotheses of a beam search; 0 for a greedy search.
            max_units: most units of a continuation, its end included.
            batch_size: prefixes that are continued together.
        """
        assert isinstance(context.model, LanguageModel)
        self._reader = Reader(context.model, context.vocabulary, context.config.data)
        self._banned = tuple(never_continued(context.vocabulary))
        self._ending = Ending(self._reader.end, by_halt=False)
        self._beam, self._max_units, self._batch_size = beam, max_units, batch_size

    def continued(self, prefixes: Sequence[str]) -> list[Continuation]:
        """The continuation of each prefix, in their order."""
        end = self._reader.end
        units = [[end, *self._reader.cut(prefix + DELIMITER)] for prefix in prefixes]
        found: dict[int, Continuation] = {}
        # Prefixes of one length are read together, so that nothing is padded.
        order = sorted(range(len(units)), key=lambda number: len(units[number]))
        rows: list[int] = []
        for number in order:
            if rows and (
                len(rows) == self._batch_size or len(units[rows[0]]) != len(units[number])
            ):  # fmt: skip
                found.update(self._of_one_length(rows, units))
                rows = []
            rows.append(number)
        found.update(self._of_one_length(rows, units))
        return [replace(found[number], source=prefix) for number, prefix in enumerate(prefixes)]

    def _of_one_length(self, rows: list[int], units: list[list[int]]) -> dict[int, Continuation]:
        """The continuations of some prefixes by their numbers."""
        if not rows:
            return {}
        reader = self._reader
        inputs = torch.tensor([units[row] for row in rows], device=reader.device)
        state = select_rows(reader.begin(), torch.zeros_like(inputs[:, 0]))
        state = reader.read(inputs[:, :-1], state)
        search = self._best_of_beam if self._beam else self._greedy
        return dict(zip(rows, search(inputs[:, -1], state), strict=True))

    def _greedy(self, start: Tensor, state: State) -> list[Continuation]:
        reader, count = self._reader, len(start)
        choice = Choice(
            method="greedy", temperature=1, top_k=0, top_p=1, repetition_penalty=1,
            banned=self._banned, unpenalised=(),
        )  # fmt: skip
        seen = torch.zeros(count, reader.vocabulary_size, dtype=torch.bool, device=reader.device)
        paths: list[list[int]] = [[] for _ in range(count)]
        log_probs, ended = [0.0] * count, ["length"] * count
        for events in generate(
            reader.step, start, state, choice, self._ending,
            torch.full_like(start, self._max_units), RowRandom(0, range(count)), seen,
        ):  # fmt: skip
            for event in events:
                assert event.unit is not None  # no model of pairs halts
                paths[event.row].append(event.unit)
                log_probs[event.row] += event.log_prob
                ended[event.row] = event.ended or "length"
        return [
            self._generated(path, log_prob, "symbol" if why == "symbol" else "length")
            for path, log_prob, why in zip(paths, log_probs, ended, strict=True)
        ]

    def _best_of_beam(self, start: Tensor, state: State) -> list[Continuation]:
        wanted = Search(beam=self._beam, count=1, length_penalty=1, banned=self._banned)
        lengths = [self._max_units] * len(start)
        found = search(
            Unconditional(self._reader.step), start, state, self._ending, lengths, wanted
        )
        return [self._generated(best.units, best.log_prob, best.ended) for best, *_ in found]

    def _generated(self, units: Sequence[int], log_prob: float, ended: Ended) -> Continuation:
        shown = units[:-1] if ended == "symbol" else units
        text = self._reader.text(shown)
        return Continuation("", text, log_prob, units=len(units), ended=ended)
