"""Prefixes -> their continuations: what a language model of pairs predicts, `tagkit predict`.

A prefix is read with the delimiter behind it, and the units after that are its continuation, up to
the end of the line. Without a beam the most probable unit is taken each time.

`annotator_of` gives what answers chunks of input with a model of any kind: continuations, or
labels of a text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from tagkit.errors import DataError, FormatError
from tagkit.inference.generate.generation import Generated
from tagkit.inference.generate.generation_options import GenerationOptions, check_options
from tagkit.inference.generate.language_model import Reader
from tagkit.inference.predict.arguments import check_annotates
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.stream.annotate import Annotator, AnswerOptions
from tagkit.inference.stream.chunks import Chunk, Lines, Output, Refused
from tagkit.inference.write.style import AUTO, COLUMNS, JSONL, Style
from tagkit.limits import MAX_UNITS
from tagkit.models.language.language_network import LanguageModel
from tagkit.models.language.language_scoring import never_continued
from tagkit.nn.generation.beam_search import beam_search
from tagkit.nn.generation.choice import Choice
from tagkit.nn.generation.ended import Ended
from tagkit.nn.generation.generate import Ending, generate
from tagkit.nn.generation.row_random import RowRandom
from tagkit.nn.generation.step import State, select_rows
from tagkit.text.json_text import to_json
from tagkit.text.pairs import DELIMITER, prefix_problem

TEXT = "text"  # the format of plain lines, in which a tab has no meaning


@dataclass(frozen=True, slots=True)
class Continuation:
    """A prefix with what a model adds to it.

    Attributes:
        prefix: as it was given.
        generated: the continuation.
    """

    prefix: str
    generated: Generated

    def line(self) -> str:
        """The two as a line of pairs."""
        return f"{self.prefix}{DELIMITER}{self.generated.text}"

    def json(self) -> str:
        """The two as a JSON object."""
        facts = self.generated.to_dict()
        both = {"prefix": self.prefix, "continuation": facts.pop("text")}
        return to_json({**both, **facts, "perplexity": self.generated.perplexity})


class PrefixReader:
    """Continues prefixes with a language model of pairs."""

    def __init__(self, predictor: Predictor, *, beam: int, max_units: int, batch_size: int) -> None:
        """A reader of a model's.

        Args:
            predictor: the model.
            beam: hypotheses of a beam search; 0 for a greedy search.
            max_units: most units of a continuation, its end included.
            batch_size: prefixes that are continued together.

        Raises:
            DataError: the model has not learnt pairs, or a number is out of its range.
        """
        if not (isinstance(predictor.model, LanguageModel) and predictor.config.data.pairs):
            raise DataError(
                "expected a language model of data.pairs=true, which continues prefixes"
            )
        check_options(GenerationOptions(beam=beam, max_units=max_units))
        self._reader = Reader(predictor.model, predictor.vocabulary, predictor.config.data)
        self._banned = tuple(never_continued(predictor.vocabulary))
        self._ending = Ending(self._reader.end, by_halt=False)
        self._beam, self._max_units, self._batch_size = beam, max_units, batch_size

    def continued(self, prefixes: Sequence[str]) -> list[Continuation]:
        """The continuation of each prefix, in their order."""
        end = self._reader.end
        units = [[end, *self._reader.cut(prefix + DELIMITER)] for prefix in prefixes]
        found: dict[int, Generated] = {}
        # Prefixes of one length are read together, so that nothing is padded.
        order = sorted(range(len(units)), key=lambda number: len(units[number]))
        rows: list[int] = []
        for number in order:
            if rows and (
                len(rows) == self._size or len(units[rows[0]]) != len(units[number])
            ):  # fmt: skip
                found.update(self._of_one_length(rows, units))
                rows = []
            rows.append(number)
        found.update(self._of_one_length(rows, units))
        return [Continuation(prefix, found[number]) for number, prefix in enumerate(prefixes)]

    @property
    def _size(self) -> int:
        return 1 if self._beam else self._batch_size

    def _of_one_length(self, rows: list[int], units: list[list[int]]) -> dict[int, Generated]:
        """The continuations of some prefixes by their numbers."""
        if not rows:
            return {}
        reader = self._reader
        inputs = torch.tensor([units[row] for row in rows], device=reader.device)
        state = select_rows(reader.begin(), torch.zeros_like(inputs[:, 0]))
        state = reader.read(inputs[:, :-1], state)
        search = self._best_of_beam if self._beam else self._greedy
        return dict(zip(rows, search(inputs[:, -1], state), strict=True))

    def _greedy(self, start: Tensor, state: State) -> list[Generated]:
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

    def _best_of_beam(self, start: Tensor, state: State) -> list[Generated]:
        best, *_ = beam_search(
            self._reader.step, start, state, self._ending, self._max_units,
            beam=self._beam, length_penalty=1, banned=self._banned,
        )  # fmt: skip
        return [self._generated(best.units, best.log_prob, best.ended)]

    def _generated(self, units: Sequence[int], log_prob: float, ended: Ended) -> Generated:
        shown = units[:-1] if ended == "symbol" else units
        return Generated(self._reader.text(shown), len(units), log_prob, ended)


class PrefixAnnotator:
    """Continues and renders chunks of input; as `Annotator`, of a language model of pairs."""

    def __init__(self, predictor: Predictor, options: AnswerOptions) -> None:
        """`options` apply to all chunks.

        Raises:
            DataError: an option is for models that annotate.
        """
        _refuse_others(predictor, options)
        self._as_json = options.output_format == JSONL
        self._prefixes = PrefixReader(
            predictor,
            beam=options.beam or 0,
            max_units=options.max_units or MAX_UNITS,
            batch_size=options.batch_size,
        )
        gives = predictor.task.gives
        self.style = Style(
            options.output_format, confidence=False, gives=gives, classes=(), multi_label=False,
            top=0, threshold=0,
        )  # fmt: skip

    def input_format(self, given: str) -> str:
        """The format to read inputs in, where `given` is asked for: lines.

        Raises:
            DataError: another one is asked for.
        """
        if given not in (AUTO, TEXT):
            raise DataError(
                f"this model continues prefixes, one a line: leave out data.format={given}"
            )
        return TEXT

    def annotate(self, chunk: Chunk) -> Output:
        """The output for a chunk of lines, each a prefix or a pair whose prefix is continued."""
        assert isinstance(chunk, Lines)  # as `stream` reads text
        prefixes: list[str] = []
        places: list[bool] = []  # whether each line of the output has a continuation
        refused: list[Refused] = []
        for line in chunk.lines:
            if problem := prefix_problem(line.text):
                error = FormatError(chunk.file, line.number, problem)
                refused.append(Refused(error, len(places)))
                continue
            places.append(bool(line.text.strip()))
            if places[-1]:
                prefixes.append(line.text.partition(DELIMITER)[0])
        found = iter(self._prefixes.continued(prefixes))
        lines, units = [], 0
        for has_one in places:
            if not has_one:  # so that line n of the output belongs to line n of the input
                lines.append("")
                continue
            one = next(found)
            units += one.generated.units
            lines.append(one.json() if self._as_json else one.line())
        text = "".join(f"{line}\n" for line in lines)
        return Output(chunk.file, text, (), 0, units, tuple(refused))


def _refuse_others(predictor: Predictor, options: AnswerOptions) -> None:
    """Refuse options that have a meaning for labels alone.

    Raises:
        DataError: one is given.
    """
    given = {
        "confidence=True": options.confidence,
        "top=...": bool(options.top),
        "threshold=...": options.threshold is not None,
        "max_length": options.max_length is not None,
        "min_confidence": options.min_confidence is not None,
        "coverage=...": options.coverage is not None,
        "precision=...": predictor.precision != "fp32",
    }
    for option, is_given in given.items():
        if is_given:
            raise DataError(f"this model continues prefixes: {option} is for labels")
    if options.output_format not in (AUTO, COLUMNS, JSONL):
        raise DataError(
            f"this model continues prefixes: expected output_format={JSONL} or {COLUMNS}, found "
            f"{options.output_format}"
        )


class ChunkAnnotator(Protocol):
    """Answers chunks of input with one model.

    Attributes:
        style: in which the answers are written.
    """

    style: Style

    def annotate(self, chunk: Chunk) -> Output:
        """The output for a chunk."""

    def input_format(self, given: str) -> str:
        """The format to read inputs in, where `given` is asked for."""


def annotator_of(predictor: Predictor, options: AnswerOptions) -> ChunkAnnotator:
    """The one for a model.

    Raises:
        DataError: an option has no meaning for the model, or the model annotates nothing.
    """
    if predictor.config.data.pairs:
        return PrefixAnnotator(predictor, options)
    for option, value in (
        ("beam=...", options.beam),
        ("max_units", options.max_units),
    ):
        if value is not None:
            raise DataError(f"{option} is for language models of data.pairs=true")
    check_annotates(predictor.task, predictor.config)  # before anything is read
    return Annotator(predictor, options)
