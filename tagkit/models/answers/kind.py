"""The interface of a kind of answer: everything that depends on what a model predicts of a text.

A model has one object of a kind. Predicting, streaming, writing, showing and scoring use this
interface alone and never ask what a task gives:

    check              options     -> an error where one has no meaning
    read               an input    -> a text with its sentences
    assemble           predictions of the sentences -> the answer
    unlikely_removed   predictions -> without what is less probable than a minimum
    formats            the names of those that hold such answers
    lines, fill        an answer   -> its lines; the lines of its input, each with what is predicted
    records            an answer   -> records for the writer of a format
    to_dict, shown     an answer   -> plain values for JSON; pieces for people

To add a kind, write one module beside this one with a subclass (`strings.py` is the shortest), and
return it from `Task.answers`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, ClassVar

from tagkit.corpus.formats.columns.reader import LineBlock
from tagkit.corpus.formats.json.jsonl_writers import with_extra
from tagkit.corpus.formats.table import Format, by_ending, targets
from tagkit.corpus.source.layout import CONLLU, DOCSTART, Layout
from tagkit.corpus.source.options import Item, silent
from tagkit.corpus.source.pieces import Writing
from tagkit.errors import DataError, FormatError
from tagkit.limits import BATCH_SIZE, MAX_LENGTH, check_count, check_probability
from tagkit.models.answers.pieces import Highlighted
from tagkit.models.answers.texts import Input, Text, as_text
from tagkit.storage import replace_lone_surrogates
from tagkit.text.json_text import to_json
from tagkit.text.records import Document, Extra, Prediction
from tagkit.wording import plural


@dataclass(slots=True)
class Removed:
    """How many predictions were removed, of how many.

    Attributes:
        counts: removed ones and all, of each unit: span, label and class.
    """

    counts: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, unit: str, removed: int, total: int) -> None:
        """Count some more of a unit."""
        before = self.counts.get(unit, (0, 0))
        self.counts[unit] = (before[0] + removed, before[1] + total)

    def merge(self, counts: Mapping[str, tuple[int, int]]) -> None:
        """Count those of another one."""
        for unit, (removed, total) in counts.items():
            self.add(unit, removed, total)

    def text(self, minimum: float) -> str:
        """'removed 3 of 20 spans and 1 of 8 classes below 0.8'."""
        parts = (
            f"{removed:,} of {plural(total, unit)}"
            for unit, (removed, total) in self.counts.items()
        )
        return f"removed {' and '.join(parts) or 'nothing'} below {minimum:g}"


def ignore(_: object) -> None:
    """The default of `on_long` and `on_removed`; does nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionOptions:
    """What is predicted for each text, and how.

    Attributes:
        batch_size: maximum number of sentences in a batch, or of documents.
        confidence: whether to compute probabilities.
        max_length: maximum number of words in a sentence; a tagger reads longer ones in overlapping
            windows, whose tags are joined as described in `tagkit.text.windows`.
        threshold: minimum class probability for a label; None for the configured one, or, if each
            text has one class, for the most probable class whatever its probability.
        min_confidence: probability from which on a predicted span, label or class is kept; None to
            keep all. Tags of spans that are not kept become O, plain labels "_".
        beam: hypotheses of the search for a string; None for a greedy search.
        max_units: most units of a string; None for the default.
        min_units: least units of a string, where it may end by a symbol.
        length_penalty: power of its length that the log probability of a string is divided by,
            where a beam compares strings.
        coverage_penalty: factor of what a beam adds for symbols of the source that a string did not
            look at.
        no_repeat: units of a stretch that no string has twice; 0 for none.
        n_best: strings that are wanted, the most probable ones.
        alignment: whether it is wanted what each unit of a string looked at.
        on_long: called with the number of words of each longer sentence.
        on_removed: called with what was not kept; its `counts` are removed ones and all.
    """

    batch_size: int = BATCH_SIZE
    confidence: bool = False
    max_length: int = MAX_LENGTH
    threshold: float | None = None
    min_confidence: float | None = None
    beam: int | None = None
    max_units: int | None = None
    min_units: int = 0
    length_penalty: float = 0.0
    coverage_penalty: float = 0.0
    no_repeat: int = 0
    n_best: int = 1
    alignment: bool = False
    on_long: Callable[[int], None] = ignore
    on_removed: Callable[[Removed], None] = ignore

    def check(self) -> None:
        """Refuse numbers that are out of range.

        Raises:
            DataError: there is one; the message has its name.
        """
        check_count("batch_size", self.batch_size)
        check_count("max_length", self.max_length)
        check_count("n_best", self.n_best)
        for name in ("threshold", "min_confidence"):
            value = getattr(self, name)
            if value is not None:
                check_probability(name, value)


# Options of strings for strings, with what they are for everything else.
OF_STRINGS = {"n_best": 1, "alignment": False, "min_units": 0, "length_penalty": 0.0,
              "coverage_penalty": 0.0, "no_repeat": 0}  # fmt: skip
# Parts of an answer, by which a calibration names the heads that give them.
TAGS, CLASSES = "tags", "classes"
COLUMNS, JSONL, AUTO = "columns", "jsonl", "auto"
SHOW = "show"  # for people, not for programs
# A kind of answer writes these itself, with all that a model says; all others are written from
# records.
RENDERED = (COLUMNS, CONLLU, JSONL)


@dataclass(frozen=True, slots=True)
class Style:
    """How answers are written.

    Attributes:
        format: name of a row of `targets`; "jsonl" for all that is known of a text in one object;
            or "auto": CoNLL-U where the input is CoNLL-U and the answers fill its columns, else
            columns; or "show", for people.
        answers: the kind of them.
        confidence: whether probabilities are written.
        top: number of classes to write, the most probable, each with its probability; 0 to write
            the text's labels.
        threshold: minimum probability of those `top` classes.
    """

    format: str
    answers: "AnswerKind"
    confidence: bool = False
    top: int = 0
    threshold: float = 0.0

    def of_input(self, *, conllu: bool) -> "Style":
        """The style for an input, which may be CoNLL-U: with a format in place of "auto"."""
        if self.format != AUTO:
            return self
        fills = conllu and self.answers.by_token
        return replace(self, format=CONLLU if fills else COLUMNS)

    def keeps_lines(self, *, conllu: bool) -> bool:
        """Whether the lines of a column file are written again, with what is predicted."""
        kept = (COLUMNS, CONLLU) if conllu else (COLUMNS,)
        return self.answers.by_token and self.of_input(conllu=conllu).format in kept

    def document_mark(self, name: str) -> Sequence[str]:
        """The lines before a document; none where its name stands in its records."""
        if not self.answers.by_token or self.format not in (COLUMNS, CONLLU):
            return ()
        return (f"# newdoc id = {name}",) if self.format == CONLLU else (f"{DOCSTART}\tO", "")

    @property
    def keeps_blank(self) -> bool:
        """Whether a blank line of raw text stays one, so that line numbers agree."""
        return not self.answers.by_token and self.format in (COLUMNS, AUTO)

    @property
    def apart(self) -> int:
        """Ends of lines between the last record of an input and the first one of the next."""
        # A sentence ends with a blank line, which the last one of a file may lack: without it, it
        # would be one with the first sentence of the next file.
        return 2 if self.answers.by_token and self.format not in (JSONL, SHOW) else 1

    @property
    def row(self) -> Format | None:
        """The format that is written from records; None for those that the answers write."""
        return None if self.format in (AUTO, SHOW, *RENDERED) else targets()[self.format]

    @property
    def probabilities(self) -> bool:
        """Whether probabilities of some kind are written."""
        return self.confidence or self.top > 0


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a text comes from.

    Attributes:
        file: name of the file.
        line: number of the text's first line in the file, from 1.
        offset: of the text's first code point in the file's text; None if the text is not a
            substring of it.
        name: of the text in its corpus; empty where it has none.
        extra: what else its record has, such as an id, without what another model has said of it.
    """

    file: str
    line: int
    offset: int | None = None
    name: str = ""
    extra: Extra = ()


def origin_of(item: Item, file: str) -> Origin:
    """Where a record comes from, in an input of this name."""
    names = {name for name, _ in item.extra}
    extra = tuple((name, value) for name, value in item.extra if not _is_said(name, value, names))
    # A folder of documents is one input of many files, so a document names its own.
    if isinstance(item, Document):
        return Origin(item.source or file, item.line, name=item.name, extra=extra)
    return Origin(file, item.lines[0] if item.lines else 1, extra=extra)


def _is_said(name: str, value: Any, names: Set[str]) -> bool:
    """Whether a value is what a model has said of a record beside labels and spans, in JSON.

    Kept, it would be taken for what another model says now. Other values of such names are the
    user's own.
    """
    match name:
        case "probabilities":
            return isinstance(value, dict)
        case "sets" | "class_set":
            key = "taggings" if name == "sets" else "label"
            return isinstance(value, list) and all(_has(each, key) for each in value)
        case "coverage":
            return isinstance(value, float) and bool(names & {"sets", "class_set"})
        case "offset":  # in the document that the record came from then
            return isinstance(value, int) and names >= {"document", "line"}
    return False


def _has(value: Any, key: str) -> bool:
    return isinstance(value, dict) and key in value


class AnswerKind(ABC):
    """What a model predicts of a text.

    Attributes:
        model: what has such answers, as messages begin: "this model classifies texts".
        by_token: whether it stands beside the tokens of a text, one a line; else a text is a line.
        searches: whether a search finds it, which may have a beam.
        alternates: whether it can have alternatives, as `PredictionOptions.n_best` asks.
        sets: the parts that can be predicted as sets; empty for none.
        lacks_sets: why there is none, in words.
    """

    model: str
    by_token: ClassVar[bool] = False
    searches: ClassVar[bool] = False
    alternates: ClassVar[bool] = False
    sets: tuple[str, ...] = ()
    lacks_sets: str = "predicts no labels"

    def check(
        self,
        options: PredictionOptions,
        *,
        top: int = 0,
        coverage: float | None = None,
        precision: str = "fp32",
    ) -> None:
        """Refuse options that have no effect on such answers; overridden with those of a kind.

        Args:
            options: of the prediction.
            top: number of classes that are asked for.
            coverage: of sets of answers; None for none.
            precision: of the network.

        Raises:
            DataError: there is one.
        """
        for option in ("beam", "max_units"):
            if getattr(options, option) is not None and not self.searches:
                raise DataError(f"{option}=... is for models that write strings")
        for option, usual in OF_STRINGS.items():
            if getattr(options, option) != usual and not self.alternates:
                raise DataError(f"{option}=... is for models of the task transduce")

    def input_format(self, given: str) -> str:
        """The format to read inputs in, where `given` is asked for.

        Raises:
            DataError: these answers are not for texts of that format.
        """
        return given

    def problem_of(self, line: str) -> str | None:
        """Why there is no answer to a line of raw text; None where there is one."""
        return None

    def read(self, item: Input, tokenizer: str, *, whole: bool) -> Text:
        """An input as `texts.as_text` reads it."""
        return as_text(item, tokenizer, whole=whole)

    @abstractmethod
    def assemble(self, text: Text, predictions: Sequence[Any]) -> Any:
        """The answer to a text, of the predictions for its sentences."""

    @abstractmethod
    def size(self, answer: Any) -> int:
        """How many tokens or units an answer has been worked out for."""

    @abstractmethod
    def probability(self, answer: Any) -> float:
        """How sure an answer with probabilities is, 0 to 1; by it answers are put in order."""

    def without_probability(self, answer: Any) -> Any:
        """An answer as it is where probabilities were not asked for."""
        return answer

    def unlikely_removed(
        self,
        predictions: Sequence[Prediction],
        minimum: float,
        on_removed: Callable[[Removed], None],
    ) -> list[Prediction]:
        """Predictions without what is less probable than a minimum, where they have parts."""
        return [*predictions]

    @abstractmethod
    def formats(self, *, probabilities: bool) -> list[str]:
        """Names of the formats that hold these answers, with `probabilities` also these."""

    def require_format(self, style: Style) -> None:
        """Make sure that a format can hold these answers.

        Raises:
            DataError: it cannot; the message names those that can.
        """
        if style.format in (AUTO, SHOW):
            return
        fitting = self.formats(probabilities=style.probabilities)
        if style.format in fitting:
            return
        first, *others = fitting
        expected = ", ".join([f"output_format={first}", *others]) + f" or {SHOW}"
        raise DataError(f"{self.format_problem(style)}: expected {expected}, found {style.format}")

    @abstractmethod
    def format_problem(self, style: Style) -> str:
        """Why a format that is none of `formats` does not hold these answers, in words."""

    def remark(self, format: str) -> str | None:
        """What a person should know of such answers in a format; None for nothing."""
        return None

    def writing(self, *, single: bool, note: Callable[[str], None]) -> Writing:
        """The options of a format's writer; `single` and `note` are two of them."""
        return Writing(plain=True, single=single, note=note, blank_labels=True)

    @abstractmethod
    def lines(self, answer: Any, style: Style, origin: Origin) -> Iterator[str]:
        """The lines of a text in columns, or in CoNLL-U, without their ends.

        Raises:
            FormatError: the format cannot hold the text or a label.
        """

    def fill(
        self, block: LineBlock, layout: Layout, prediction: Any, style: Style, file: str
    ) -> Iterator[str]:
        """The lines of a sentence of a column file, with what is predicted; where `by_token`.

        Args:
            block: the lines.
            layout: of them.
            prediction: for the sentence.
            style: of the output: columns, or CoNLL-U.
            file: name of the input.

        Raises:
            FormatError: a column cannot hold a label.
        """
        raise NotImplementedError("these answers are of texts")

    def names(self, style: Style) -> Sequence[str]:
        """Of the cells that `fill` adds, in the header of a table."""
        raise NotImplementedError("these answers are of texts")

    @abstractmethod
    def records(self, answer: Any, format: Format, style: Style, origin: Origin) -> Iterator[Any]:
        """The records of a text, as a format's writer takes them.

        Raises:
            FormatError: a table cannot hold a class.
        """

    @abstractmethod
    def values(self, answer: Any, style: Style) -> dict[str, Any]:
        """What is known of a text beside its origin, as plain values."""

    def cells_of(self, answer: Any, options: PredictionOptions) -> dict[str, Any]:
        """What is predicted of a text as the cells of a table, by the names of its columns.

        Lists are arrays, which have a type also where they are empty: tables ask for one.
        """
        values = self.values(answer, Style(JSONL, self, confidence=options.confidence))
        return {f"pred_{name}": value for name, value in values.items() if name != "text"}

    def to_dict(self, answer: Any, style: Style, origin: Origin) -> dict[str, Any]:
        """The origin of a text and all that is predicted of it, as JSON has it."""
        # A file name may hold bytes that are no text; JSON must be valid UTF-8 all the same.
        record: dict[str, Any] = {
            "document": replace_lone_surrogates(origin.file), "line": origin.line
        }  # fmt: skip
        if origin.offset is not None:
            record["offset"] = origin.offset
        record |= self.values(answer, style)
        # A key of its own, such as "line", is not replaced by one of the input's record.
        return with_extra(record, origin.extra)

    @abstractmethod
    def shown(self, answer: Any, style: Style) -> Highlighted:
        """A text in pieces, for people."""


def answer_lines(answer: Any, style: Style, origin: Origin) -> Iterator[str]:
    """The lines for one text, without line ends, in the format of the style: no row of a table.

    Raises:
        FormatError: the format cannot hold the text or a label.
    """
    if style.format == JSONL:
        yield to_json(style.answers.to_dict(answer, style, origin))
    elif style.format == SHOW:
        yield style.answers.shown(answer, style).to_line()
    else:
        yield from style.answers.lines(answer, style, origin)


def require_written(items: Sequence[Any], format: Format, style: Style, origin: Origin) -> None:
    """Make sure that the format can hold a record, by writing it to nowhere.

    Raises:
        FormatError: it cannot.
    """
    try:
        for _ in format.write(iter(items), style.answers.writing(single=True, note=silent)):
            pass
    except FormatError as error:  # a sentence does not know its file
        raise FormatError(origin.file, error.line, error.problem) from None


def named_format(answers: AnswerKind, output: str, *, probabilities: bool) -> str:
    """The format that an output's name tells, if it can hold the answers; else "auto".

    Args:
        answers: what is to be written.
        output: path of the file.
        probabilities: whether these are written too.
    """
    named = by_ending(PurePath(output).name, written=True)
    fitting = answers.formats(probabilities=probabilities)
    names = (row.family or row.name for row in named)
    return next((name for name in names if name in fitting), AUTO)
