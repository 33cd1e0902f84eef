"""Texts from a language model: a prompt is continued, piece by piece."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from tagkit.errors import DataError
from tagkit.evaluation.reports.language_report import perplexity
from tagkit.inference.generate.generation_options import GenerationOptions, check_options
from tagkit.inference.generate.language_model_reader import (
    LanguageModelReader,
    PlanningReader,
    TextPieces,
)
from tagkit.nn.generation.choice import METHODS, Choice
from tagkit.nn.generation.ended import Ended
from tagkit.nn.generation.generate import Ending, generate
from tagkit.nn.generation.row_random import RowRandom
from tagkit.nn.generation.step import State, select_rows
from tagkit.nn.search.strings import Search, Unconditional, search
from tagkit.text.json_text import Record
from tagkit.text.pairs import DELIMITER, prefix_problem
from tagkit.wording import plural

# Lengths of the line that a prompt begins: those that are compared at least, and read together.
_COMPARED, _LENGTHS_AT_ONCE = 200, 256


@dataclass(frozen=True, slots=True)
class Generated(Record):
    """A text that a model has generated.

    Attributes:
        text: without the prompt, and without the end of the line that ended it.
        units: its number of units, with the end of the line that ended it.
        log_probability: natural logarithm, in the model, of the units after the prompt and of the
            end; not of the changed distribution that they were sampled from.
        ended: "symbol": by the end of a line; "halt": by the model's halting probability;
            "length": by `max_units`, or by the number of units that the model has predicted, where
            `units` counts the end too.
    """

    text: str
    units: int
    log_probability: float
    ended: Ended

    @property
    def perplexity(self) -> float:
        """Exponential of the mean negative log probability of a unit, or of halting."""
        return perplexity(-self.log_probability / (self.units + (self.ended == "halt")))


@dataclass(frozen=True, slots=True)
class GeneratedPiece:
    """A part of a text as it comes.

    Attributes:
        sample: number of the text, from 0.
        text: what is added.
        done: the whole text, with its last piece; None before.
    """

    sample: int
    text: str
    done: Generated | None


def generate_texts(
    reader: LanguageModelReader, prompt: str, options: GenerationOptions
) -> list[Generated]:
    """Texts that continue a prompt: samples in their order, or the results of a beam, best first.

    Raises:
        DataError: an option, or a prompt that the model cannot read.
    """
    done = [piece.done for piece in stream_texts(reader, prompt, options)]
    return [text for text in done if text is not None]


def stream_texts(
    reader: LanguageModelReader, prompt: str, options: GenerationOptions
) -> Iterator[GeneratedPiece]:
    """The texts of `generate_texts` as they come, one text after another.

    All texts are generated at the same time: the pieces of one wait for those before it to end.

    Raises:
        DataError: an option, or a prompt that the model cannot read.
    """
    check_options(options)
    ending = _ending(reader, options.end)
    units = reader.cut(whole_prompt(reader, prompt))
    if not reader.spans_lines and reader.end in units:
        raise DataError(
            "expected a prompt of one line, as the model reads each line by itself, found "
            f"{plural(units.count(reader.end) + 1, 'line')}"
        )
    run = _beam if options.beam else _sample
    return run(reader, units, ending, options)


def whole_prompt(reader: LanguageModelReader, prompt: str) -> str:
    """The prompt as the model reads it: with a tab where it has learnt continuations alone.

    Raises:
        DataError: the model has learnt pairs, and the prompt does not begin one that it continues.
    """
    if reader.delimiter is None:
        return prompt
    if problem := prefix_problem(prompt):
        raise DataError(problem)
    if reader.counts_prefix:
        return prompt
    if not prompt.strip():  # it has not learnt how a prefix begins
        raise DataError(
            "expected a prompt, as the model has learnt to continue a prefix, found an empty one"
        )
    return prompt if DELIMITER in prompt else prompt + DELIMITER


def _ending(reader: LanguageModelReader, end: Ended | None) -> Ending:
    if end == "halt" and not reader.has_halt:
        raise DataError("end=halt: the model has no halting probability; expected symbol or length")
    if end == "symbol" and reader.end in reader.banned:
        raise DataError(
            "end=symbol: the model has no unit for the end of a line; expected halt or length"
        )
    if isinstance(reader, PlanningReader):
        if end == "symbol":
            raise DataError("end=symbol: the model predicts the length of a line; expected length")
        return Ending(reader.end, by_halt=False)
    end = end or ("halt" if reader.has_halt else "symbol")
    return Ending(reader.end if end == "symbol" else None, by_halt=end == "halt")


def _read_prompt(
    reader: LanguageModelReader, units: list[int], state: State, rows: int
) -> tuple[Tensor, State]:
    """The last input before the first new unit, (rows,), and the state before it."""
    inputs = torch.tensor([[reader.end, *units]], device=reader.device).expand(rows, -1)
    if units:
        with torch.no_grad():
            state = reader.read(inputs[:, :-1], state)
    return inputs[:, -1], state


@torch.no_grad()
def planned(reader: PlanningReader, prompt: list[int], most: int) -> Tensor:
    """Log probability of each number of units that a prompt may go on for.

    p(n | prompt) is p(n) p(prompt | n) over its sum: a prompt says how long its line may be.

    Args:
        reader: the model.
        prompt: its units.
        most: the largest number.

    Returns:
        (most + 1,) float64; what is missing from 1 is the probability of more units.
    """
    begun = len(prompt)
    last = begun + max(most, _COMPARED)
    of_lengths = reader.length_log_probs(last)
    if not prompt:
        return of_lengths[: most + 1]
    lengths = torch.arange(begun, last + 1, device=reader.device)
    found = []
    for some in torch.split(lengths, _LENGTHS_AT_ONCE):
        ids = torch.tensor([[reader.end, *prompt[:-1]]], device=reader.device)
        wanted = torch.tensor([prompt], device=reader.device)
        rows = (len(some), -1)
        state = reader.begin_lines(some)
        found.append(reader.score(ids.expand(rows), wanted.expand(rows), state)[0])
    of_prompt = torch.cat(found)
    joint = of_lengths[begun:] + of_prompt
    # Of longer lines all is much alike, so that the last one stands for them.
    longer = torch.log1p(-of_lengths.exp().sum().clamp(max=1 - 1e-12)) + of_prompt[-1]
    return joint[: most + 1] - torch.cat((joint, longer.unsqueeze(0))).logsumexp(0)


def _banned(
    reader: LanguageModelReader, prompt: list[int], ending: Ending, options: GenerationOptions
) -> tuple[int, ...]:
    banned = [*reader.banned] if options.allow_unknown else [*reader.banned, reader.unknown]
    # A model that reads each line by itself has never seen what follows its end.
    if ending.symbol is None and not reader.spans_lines:
        banned.append(reader.end)
    if reader.delimiter is not None and reader.delimiter in prompt:
        banned.append(reader.delimiter)
    if len(set(banned)) == reader.vocabulary_size:  # as where training knew no word
        raise DataError(
            "there is nothing to generate: the model knows no unit but the unknown one "
            "(allow_unknown=True generates it)"
        )
    return tuple(banned)


def _once(reader: LanguageModelReader) -> tuple[int, ...]:
    """What a text has once at most: a pair its delimiter."""
    return () if reader.delimiter is None else (reader.delimiter,)


def _sample(
    reader: LanguageModelReader,
    prompt: list[int],
    ending: Ending,
    options: GenerationOptions,
) -> Iterator[GeneratedPiece]:
    rows = torch.zeros(options.samples, dtype=torch.int64, device=reader.device)
    seen = torch.zeros(len(rows), reader.vocabulary_size, dtype=torch.bool, device=reader.device)
    seen[:, prompt] = True
    is_greedy = options.greedy or options.temperature == 0
    choice = Choice(
        method="greedy" if is_greedy else "sample",
        temperature=options.temperature or 1,
        top_k=options.top_k,
        top_p=options.top_p,
        repetition_penalty=options.repetition_penalty,
        banned=_banned(reader, prompt, ending, options),
        once=_once(reader),
        unpenalised=(reader.end,),  # or texts of several lines would never end one
    )
    random = RowRandom(options.seed, range(len(rows)))
    lengths, of_lengths = torch.full_like(rows, options.max_units), [0.0] * len(rows)
    if isinstance(reader, PlanningReader):
        log_probs = planned(reader, prompt, options.max_units)
        chosen = METHODS[choice.method].choose(log_probs.expand(len(rows), -1), random)
        begun = reader.begin_lines(len(prompt) + chosen)
        start, state = _read_prompt(reader, prompt, begun, len(rows))
        lengths, of_lengths = chosen + 1, log_probs[chosen].tolist()  # and the end
    else:
        start, state = _read_prompt(reader, prompt, reader.begin(), 1)
        start, state = start[rows], select_rows(state, rows)
    steps = generate(reader.step, start, state, choice, ending, lengths, random, seen)
    texts = [_Text(reader, prompt, ending, log_prob) for log_prob in of_lengths]
    yield from in_order(
        GeneratedPiece(event.row, *texts[event.row].add(event.unit, event.log_prob, event.ended))
        for events in steps
        for event in events
    )


class _Text:
    """A text that is being generated."""

    def __init__(
        self, reader: LanguageModelReader, prompt: list[int], ending: Ending, log_prob: float
    ) -> None:
        self._is_planned = isinstance(reader, PlanningReader)
        self._pieces = TextPieces(reader, prompt)
        self._ending = ending
        self._parts: list[str] = []
        self._units = 0
        self._log_prob = log_prob

    def add(
        self, unit: int | None, log_prob: float, ended: Ended | None
    ) -> tuple[str, Generated | None]:
        """The piece of one more unit, and the whole text if it ends."""
        self._log_prob += log_prob
        self._units += unit is not None
        text = "" if unit is None or unit == self._ending.symbol else self._pieces.add(unit)
        text += self._pieces.finish() if ended else ""
        self._parts.append(text)
        if not ended:
            return text, None
        ended = "length" if self._is_planned else ended
        return text, Generated("".join(self._parts), self._units, self._log_prob, ended)


def in_order(pieces: Iterable[GeneratedPiece]) -> Iterator[GeneratedPiece]:
    """Pieces of texts that come at the same time, one text after another; empty ones left out.

    Args:
        pieces: of each text in their order; the last of each text has it whole.
    """
    current = 0
    waiting: dict[int, list[GeneratedPiece]] = {}
    for piece in pieces:
        waiting.setdefault(piece.sample, []).append(piece)
        while found := waiting.pop(current, None):
            yield from (each for each in found if each.text or each.done)
            if found[-1].done is None:
                break
            current += 1


def _beam(
    reader: LanguageModelReader,
    prompt: list[int],
    ending: Ending,
    options: GenerationOptions,
) -> Iterator[GeneratedPiece]:
    wanted = Search(
        beam=options.beam, count=options.samples, length_penalty=options.length_penalty,
        banned=_banned(reader, prompt, ending, options), once=_once(reader),
    )  # fmt: skip
    most, begun = options.max_units, None
    if isinstance(reader, PlanningReader):
        log_probs = planned(reader, prompt, most)
        found, lengths = log_probs.topk(min(options.beam, len(log_probs)))
        rows = len(lengths)
        start, state = _read_prompt(reader, prompt, reader.begin_lines(len(prompt) + lengths), rows)
        start, most, begun = start[:1], most + 1, found.unsqueeze(0)  # with the end
    else:
        start, state = _read_prompt(reader, prompt, reader.begin(), 1)
    (best,) = search(Unconditional(reader.step), start, state, ending, [most], wanted, begun)
    for number, hypothesis in enumerate(best):
        units = hypothesis.units
        shown = units[:-1] if hypothesis.ended == "symbol" else units
        pieces = TextPieces(reader, prompt)
        text = "".join(map(pieces.add, shown)) + pieces.finish()
        ended = "length" if begun is not None else hypothesis.ended
        done = Generated(text, len(units), hypothesis.log_prob, ended)
        yield GeneratedPiece(number, text, done)
