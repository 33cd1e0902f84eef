"""One chunk of input -> its lines of output; chunks are independent of each other."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from tagkit.corpus.formats.columns.conllu_text import with_text
from tagkit.corpus.formats.columns.writer import append_column
from tagkit.corpus.formats.table import Format
from tagkit.corpus.source.layout import CONLLU
from tagkit.corpus.source.options import Item
from tagkit.errors import DataError, FormatError
from tagkit.inference.predict.prediction_sets import refuse_removal, require_sets
from tagkit.inference.stream.chunks import Blocks, Chunk, Lines, Output, Records, Refused
from tagkit.models.answers.kind import (
    AUTO,
    JSONL,
    SHOW,
    TAGS,
    Origin,
    PredictionOptions,
    Removed,
    Style,
    answer_lines,
    origin_of,
    require_written,
)
from tagkit.text.records import Alternative, Sentence, TaggedText, TextAlternatives

if TYPE_CHECKING:  # whose module imports torch
    from tagkit.inference.predict.predictor import Predictor

_Part = TypeVar("_Part")


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """What is predicted for each text, and how it is written.

    Attributes:
        output_format: one of `AnswerKind.formats`; "auto": CoNLL-U where the input is CoNLL-U and
            the model tags, else columns; or "show", whose lines are those of `pieces.Highlighted`.
        predict: what is asked of the model.
        top: number of classes written for each text, the most probable; 0 for its labels.
        checked: whether each record is written once on trial, where its format is written from
            records: those that it cannot hold are then `Output.refused`, and its writer, which
            would end with the first of them, never gets them.
        coverage: share of sets of answers that are to hold the right one, where sets are written
            beside each answer; None for none.
        n_best: number of most probable ways to tag a text that are written beside each answer, or
            of most probable strings in its place.
        ordered: whether it is to be known how sure each answer is, by which they are put in order.
        alone: whether a chunk is answered as if it were the only one, so that no digit depends on
            those before it, nor on the process that has answered these.
    """

    output_format: str = AUTO
    predict: PredictionOptions = field(default_factory=PredictionOptions)
    top: int = 0
    checked: bool = False
    coverage: float | None = None
    n_best: int = 0
    ordered: bool = False
    alone: bool = False


def style_of(predictor: "Predictor", options: AnswerOptions) -> Style:
    """The style in which the model's predictions are written.

    Raises:
        DataError: the options need labels that the model does not predict.
    """
    # Before the first chunk, so that a wrong option does not show after an hour of reading.
    asked, coverage = options.predict, options.coverage
    predictor.answers.check(
        asked, top=options.top, coverage=coverage, precision=predictor.precision
    )
    style = Style(
        format=options.output_format,
        answers=predictor.answers,
        confidence=asked.confidence,
        top=options.top,
        # Of the classes that `top` lists, which need not be the labels of the text.
        threshold=max(asked.threshold or 0.0, asked.min_confidence or 0.0),
    )
    predictor.answers.require_format(style)
    if coverage is not None:
        require_sets(predictor, coverage)
        refuse_removal(asked.min_confidence)
        _require_room(options.output_format, "the sets of coverage=...")
    if options.n_best and not predictor.answers.alternates:
        if TAGS not in predictor.answers.sets or coverage is not None:
            found = predictor.answers.model if coverage is None else "coverage=... has sets of them"
            raise DataError(f"n_best=... is for a model of one tag column: {found}")
        _require_room(options.output_format, "the taggings of n_best=...")
    return style


def _require_room(output_format: str, what: str) -> None:
    """Refuse a format that holds one answer for each sentence.

    Raises:
        DataError: it is one.
    """
    if output_format != JSONL:
        found = "" if output_format == AUTO else f", found {output_format}"
        raise DataError(
            f"{what} need output_format={JSONL}{found}: other formats hold one "
            "answer for each sentence"
        )


class Annotator:
    """Predicts and renders chunks of input with one model."""

    def __init__(self, predictor: "Predictor", options: AnswerOptions) -> None:
        """`options` apply to all chunks.

        Raises:
            DataError: an option has no meaning for the model, or nothing can be predicted with it.
        """
        self.predictor = predictor
        self.options = options
        self.style = style_of(predictor, options)
        self._longest = self._tokens = 0
        self._removed = Removed()
        self._ready: list[Any] = []
        self._starts: list[tuple[float, int]] = []
        self._refused: list[Refused] = []
        self._predict_options = replace(
            options.predict,
            confidence=options.predict.confidence or options.ordered,
            on_long=self._note_long,
            on_removed=self._note_removed,
            n_best=self._strings(options),
            alignment=options.predict.alignment or self._draws_alignment(options),
        )

    def _draws_alignment(self, options: AnswerOptions) -> bool:
        """Whether what each unit of a string looked at has a place in the output."""
        is_whole = options.output_format == JSONL and options.predict.confidence
        is_drawn = options.output_format in (SHOW, "html")
        return self.style.answers.alternates and (is_whole or is_drawn)

    def _strings(self, options: AnswerOptions) -> int:
        """Strings that are wanted of each text; 1 of a model whose alternatives are taggings."""
        wanted = options.n_best if self.style.answers.alternates else 0
        return max(wanted, options.predict.n_best)

    def annotate(self, chunk: Chunk) -> Output:
        """The output for a chunk.

        Raises:
            DataError: the model cannot read it.
        """
        if self.options.alone:
            self.predictor._forget_words()
        # Counted while the lines below are consumed: they come from generators.
        self._longest = self._tokens = 0
        self._removed = Removed()
        self._ready, self._starts, self._refused = [], [], []
        for part in self._parts(chunk):  # one at a time: a refusal counts those before it
            self._ready.append(part)
        text, items = "", tuple[Any, ...]()
        if self.style.row is not None:
            items = tuple(self._ready)
        else:
            text = "".join(f"{line}\n" for line in self._ready)
            filled = self.style.of_input(conllu=_is_conllu(chunk)).format == CONLLU
            is_cut = isinstance(chunk, Blocks) and not chunk.ends_last_line
            if is_cut and filled and not self.options.ordered:
                text = text.removesuffix("\n")
        refused = tuple(self._refused)
        removed = self._removed.counts
        return Output(
            chunk.file, text, items, self._longest, self._tokens, refused, removed,
            tuple(self._starts),
        )  # fmt: skip

    def _parts(self, chunk: Chunk) -> Iterator[Any]:
        """The records of a format that is written from records; of any other the lines."""
        style = self.style
        if style.row is not None:
            for answer, origin in self._answers(chunk):
                if answer is not None:
                    yield from self._whole(self._items(self._begun(answer), style.row, origin))
            return
        is_conllu = _is_conllu(chunk)
        style = style.of_input(conllu=is_conllu)
        if isinstance(chunk, Lines) and chunk.begins:
            yield from style.document_mark(chunk.document)
        if isinstance(chunk, Blocks) and style.keeps_lines(conllu=is_conllu):
            yield from self._blocks(chunk, style)
            return
        for answer, origin in self._answers(chunk):
            if answer is None:  # so that line n of the output belongs to line n of the input
                yield from [] if self.options.ordered else [""]
            else:
                yield from self._whole(answer_lines(self._begun(answer), style, origin))

    def _begun(self, answer: Any) -> Any:
        """An answer whose lines or records come next."""
        if not self.options.ordered:
            return answer
        self._starts.append((self.style.answers.probability(answer), len(self._ready)))
        if self.options.predict.confidence:
            return answer
        return self.style.answers.without_probability(answer)

    def _items(self, answer: Any, format: Format, origin: Origin) -> Iterator[Any]:
        """The records of a text."""
        items = [*self.style.answers.records(answer, format, self.style, origin)]
        if self.options.checked:
            require_written(items, format, self.style, origin)
        yield from items

    def _whole(self, parts: Iterator[_Part]) -> Sequence[_Part]:
        """The parts of a record: all of them or, where the format cannot hold it, none."""
        try:
            return [*parts]
        except FormatError as error:
            self._refused.append(Refused(error, len(self._ready)))
            return ()

    def _answers(self, chunk: Chunk) -> Iterator[tuple[Any, Origin]]:
        """The answer to each text with its origin; None for a blank line."""
        match chunk:
            case Lines():
                yield from self._answers_to_lines(chunk)
                return
            case Records():
                items: Sequence[Item] = chunk.items
            case Blocks():
                items = _sentences(chunk)
        self.predictor.check_numbers(items, chunk.file)
        for item, answer in zip(items, self._predict(items), strict=True):
            yield answer, origin_of(item, chunk.file)

    def _answers_to_lines(self, chunk: Lines) -> Iterator[tuple[Any, Origin]]:
        """As `_answers`; lines to which there is no answer are refused."""
        problems = [self.style.answers.problem_of(line.text) for line in chunk.lines]
        # Blank lines as well: a text without sentences costs nothing.
        texts = [
            line.text
            for line, problem in zip(chunk.lines, problems, strict=True)
            if problem is None
        ]
        found = iter(self._predict(texts))
        # A name where there is no mark.
        marked = self.style.of_input(conllu=False).document_mark(chunk.document)
        extra = (("id", chunk.document),) if chunk.document and not marked else ()
        for line, problem in zip(chunk.lines, problems, strict=True):
            if problem is not None:
                error = FormatError(chunk.file, line.number, problem)
                self._refused.append(Refused(error, len(self._ready)))
                continue
            answer, origin = next(found), Origin(chunk.file, line.number, line.offset, extra=extra)
            yield answer if line.text.strip() else None, origin

    def _blocks(self, chunk: Blocks, style: Style) -> Iterator[str]:
        """The lines of a column file with the predicted tags."""
        sentences = [block.sentence for block in chunk.blocks if block.sentence]
        self.predictor.check_numbers(sentences, chunk.file)
        # Not `predict`: columns need no offsets of tokens, which cost as much time as the network.
        predictions = self.predictor.annotate(sentences, self._predict_options)
        self._tokens += sum(map(len, sentences))
        found = iter(predictions)
        for block in chunk.blocks:
            if block.sentence is None:  # copied unchanged, but for fillers
                if self.options.ordered:  # between sentences that come to lie elsewhere
                    continue
                if style.format == CONLLU:
                    yield from block.lines
                else:
                    names = style.answers.names(style)
                    yield from append_column(block, chunk.layout, (), names)
                continue
            assert chunk.layout is not None  # there is a sentence
            answer = self._begun(next(found))
            lines = style.answers.fill(block, chunk.layout, answer, style, chunk.file)
            yield from (whole := self._whole(lines))
            if self.options.ordered and whole and whole[-1].strip():
                yield ""

    def _predict(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """The answer to each input."""
        options, coverage = self._predict_options, self.options.coverage
        answers: Sequence[Any]
        if coverage is None:
            answers = self.predictor.predict(inputs, options)
            count = self.options.n_best
            if count and not self.style.answers.alternates:
                ways = self.predictor.n_best(inputs, count, batch_size=options.batch_size)
                answers = [*map(_with_alternatives, answers, ways)]
        else:
            answers = self.predictor.predict_sets(inputs, coverage, options)
        self._tokens += sum(map(self.style.answers.size, answers))
        return answers

    def _note_long(self, words: int) -> None:
        self._longest = max(self._longest, words)

    def _note_removed(self, removed: Removed) -> None:
        self._removed.merge(removed.counts)


def _with_alternatives(answer: TaggedText, ways: Sequence[Alternative]) -> TaggedText:
    return TextAlternatives(
        answer.text,
        answer.sentences,
        answer.spans,
        answer.labels,
        answer.scores,
        answer.tree,
        tuple(ways),
    )


def _is_conllu(chunk: Chunk) -> bool:
    return isinstance(chunk, Blocks) and chunk.layout is not None and chunk.layout.conllu


def _sentences(chunk: Blocks) -> list[Sentence]:
    """The sentences of a column file; those of CoNLL-U with their texts."""
    found = []
    for block in chunk.blocks:
        if block.sentence is None:
            continue
        found.append(block.sentence)
        if chunk.layout is not None and chunk.layout.conllu:
            # A range that is none says nothing of the words, which can be tagged without a text.
            with suppress(FormatError):
                found[-1] = with_text(block, chunk.file, chunk.layout)
    return found
