"""`tagkit predict`."""

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Literal, Self

import typer

from tagkit.cli.program.completion import complete_output_format, output_formats
from tagkit.cli.program.option_fields import flags_of, takes_options
from tagkit.cli.program.options import (
    BatchSize,
    Beam,
    CoveragePenalty,
    Device,
    Encoding,
    InputFormat,
    LengthPenalty,
    MinUnits,
    Model,
    NoRepeat,
    Quiet,
    TextColumn,
    Threads,
    TokenColumn,
)
from tagkit.errors import DataError, FileError, FormatError, TagkitError
from tagkit.limits import BATCH_SIZE, MAX_LENGTH, MAX_THREADS, MAX_UNITS
from tagkit.wording import plural

if TYPE_CHECKING:  # their modules import torch, or rich
    from tagkit.cli.program.console import PredictionProgress
    from tagkit.inference.stream.annotate import Annotator, AnswerOptions
    from tagkit.inference.stream.chunks import Output
    from tagkit.inference.stream.journal import Journal
    from tagkit.inference.stream.stream import StreamOptions, Workers


def _known_format(name: str) -> str:
    """The name of a format of the output.

    Raises:
        typer.BadParameter: there is none of this name.
    """
    if name != "auto" and name not in (known := output_formats()):
        expected = ", ".join(map(repr, known))
        raise typer.BadParameter(f"{name!r} is not one of {expected}.")
    return name


EXAMPLES = """\
Examples:
  echo "Any flight from Oslo to Rome?" | tagkit predict models/travel - --format jsonl
  tagkit predict models/mine test.conll -o tagged.conll
  tagkit predict models/intent texts.txt --top 3
  tagkit predict models/mine export.jsonl --on-bad-record skip -o tagged.conll
  tagkit predict models/mine test.conll --format html --confidence -o page.html
  tagkit predict models/calibrated test.conll --coverage 0.9 --format jsonl
"""


@dataclass(frozen=True, kw_only=True)
class PredictOptions:
    """The options of `tagkit predict`."""

    model: Model
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Inputs; - is standard input.", metavar="FILE", show_default="-"),
    ] = None
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write; one that exists is replaced. - is standard output. A folder that "
            "exists, or a name that ends in a slash: a file for each input. A new folder for brat, "
            "parallel and folder.",
            metavar="FILE",
            show_default="-",
        ),
    ] = None
    input_format: InputFormat = None
    token_column: TokenColumn = None
    text_column: TextColumn = None
    output_format: Annotated[
        str,
        typer.Option(
            "--format",
            callback=_known_format,
            autocompletion=complete_output_format,
            help="Format of the output, such as jsonl (a JSON object per text), or html or show, "
            "for people: labels in the text. auto: by the name of the output, else CoNLL-U for "
            "CoNLL-U and columns for all others.",
            metavar="FORMAT",
        ),
    ] = "auto"
    confidence: Annotated[
        bool, typer.Option(help="Write the probability of each tag, span and class.")
    ] = False
    top: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of most probable classes of each text.",
            metavar="N",
            show_default="the predicted ones",
        ),
    ] = 0
    n_best: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of most probable taggings of each text, with their probabilities, for "
            "--format jsonl; or of most probable strings.",
            metavar="K",
            show_default="the most probable one",
        ),
    ] = 0
    order: Annotated[
        Literal["input", "uncertain"],
        typer.Option(
            help="Order of the output; uncertain: the least sure answers first, for whoever labels "
            "next. All of them are held in memory.",
        ),
    ] = "input"
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Minimum class probability.", metavar="P", show_default="the model's"
        ),
    ] = None
    min_confidence: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Leave out spans, labels and classes that are less probable.",
            metavar="P",
            show_default="all are kept",
        ),
    ] = None
    coverage: Annotated[
        float | None,
        typer.Option(
            help="Share of sentences whose set of answers holds the right one, 0.5 to 0.99; for a "
            "calibrated model and --format jsonl.",
            metavar="P",
            show_default="no sets",
        ),
    ] = None
    beam: Beam = None
    max_units: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Most units (words, characters or byte pairs) of a continuation.",
            metavar="N",
            show_default=f"{MAX_UNITS}",
        ),
    ] = None
    min_units: MinUnits = 0
    length_penalty: LengthPenalty = 0.0
    coverage_penalty: CoveragePenalty = 0.0
    no_repeat: NoRepeat = 0
    batch_size: BatchSize = BATCH_SIZE
    max_length: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Maximum length of a sentence in words; longer ones are tagged in windows.",
            metavar="N",
            show_default=f"{MAX_LENGTH}",
        ),
    ] = None
    encoding: Encoding = None
    device: Device = "auto"
    precision: Annotated[
        Literal["fp32", "bf16", "int8"],
        typer.Option(help="Precision of the recurrent layers on a CPU; fewer bits are faster."),
    ] = "fp32"
    threads: Threads = None
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            max=MAX_THREADS,
            help="Number of processes that predict, each with a copy of the model.",
            metavar="N",
        ),
    ] = 1
    on_bad_record: Annotated[
        Literal["error", "skip"],
        typer.Option(
            help="What to do with a record or sentence that cannot be read or written: error ends "
            "the command, skip leaves it out and lists it.",
        ),
    ] = "error"
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with what an error, a signal or a kill has left of the same command: "
            "FILE.partial.",
        ),
    ] = False
    quiet: Quiet = False

    @property
    def skips(self) -> bool:
        """Whether records that cannot be used are left out."""
        return self.on_bad_record == "skip"


@takes_options
def predict_command(options: PredictOptions) -> None:
    """Predict tags or classes of texts, or continue prefixes.

    The inputs are raw text, column files, or corpora in any other format. A language model that has
    learnt pairs reads a prefix a line, and writes it with its continuation.
    """
    options = _with_named_folder(options)
    jobs = _jobs(options, options.files or ["-"])
    session: _Session | None = None
    with ExitStack() as stack:
        for place, inputs in jobs:
            # The first output is opened before the model is loaded: a missing folder is reported at
            # once.
            journal = _journal(options, place, inputs)
            kept = PartialOutput(place, journal, skips=options.skips)
            with kept, ExitStack() as opened:
                write = _opened(opened, place, options, kept, journal)
                session = session or _Session(stack, options, jobs, alone=bool(journal.digests))
                session.predict(inputs, place, journal, write)
        if session is not None:
            session.finish()


# An output, None for standard output, and the inputs whose predictions it gets, in order.
Job = tuple[Path | None, Sequence[str]]


def _with_named_folder(options: PredictOptions) -> PredictOptions:
    """The options with the format of the output where its name is that of a pair of files."""
    from tagkit.corpus.formats.table import by_ending

    named = by_ending(options.output or "") if options.output_format == "auto" else []
    several = [row.name for row in named if row.many_files]
    return replace(options, output_format=several[0]) if several else options


def _jobs(options: PredictOptions, inputs: Sequence[str]) -> list[Job]:
    """The output of all inputs or, in a folder, one for each file.

    Raises:
        DataError: one cannot be written, or would take the place of an input or of the model.
    """
    from tagkit.inference.stream.record_output import check_output, fills_files, output_files
    from tagkit.storage.places import refuse_inside, require_file_name

    # As for inputs; a file of this name is ./-
    output = None if options.output == "-" else options.output
    place = None if output is None else Path(output)
    if place is not None:
        # Opening the output later truncates nothing, but its commit would replace an input that is
        # still being read, or a part of the model.
        refuse_inside(place, options.model)
    fills = fills_files(options.output_format)
    if output and not fills and (output.endswith(("/", os.sep)) or os.path.isdir(output)):
        return output_files(Path(output), inputs, options.input_format or "auto")
    if output and not fills:
        require_file_name(output)
    check_output(place, options.output_format, inputs)
    return [(place, inputs)]


# Options that may be others where a prediction is resumed.
_FREE = ("model", "files", "output", "workers", "quiet", "resume", "on_bad_record")


def _journal(options: PredictOptions, place: Path | None, inputs: Sequence[str]) -> "Journal":
    """What says how far an output is done, and how far an earlier command came.

    Raises:
        DataError: it cannot be gone on with, or was that of another prediction.
    """
    from tagkit.inference.stream.journal import Journal, identity, why_not

    asked = {field.name: getattr(options, field.name) for field in fields(options)}
    asked = {name: value for name, value in asked.items() if name not in _FREE}
    reason = why_not(place, options.output_format, inputs, options.order)
    if options.resume and reason:
        raise DataError(f"{reason}: leave out resume=True")
    journal = Journal(None if reason else partial(identity, options.model, asked, inputs))
    if options.resume and place:
        journal.find(place)
    return journal


def _opened(
    stack: ExitStack,
    place: Path | None,
    options: PredictOptions,
    kept: "PartialOutput",
    journal: "Journal",
) -> Callable[[str], None] | None:
    """What writes to the output; None of a format that makes a folder when it is written."""
    from tagkit.inference.stream.record_output import fills_files
    from tagkit.storage import open_output

    if fills_files(options.output_format):
        return None
    write = stack.enter_context(
        open_output(place, on_partial=kept.keep, unfinished=journal.unfinished)
    )
    journal.opened(write)
    return kept.counting(write)


class _Session:
    """A model that is loaded, and what it predicts with: the same for all outputs."""

    def __init__(
        self, stack: ExitStack, options: PredictOptions, jobs: Sequence[Job], *, alone: bool
    ) -> None:
        """`stack` closes what is opened; `alone` as in `AnswerOptions`, for probabilities."""
        from tagkit.cli.program.console import note
        from tagkit.config import load_config
        from tagkit.inference.predict.predictor import load
        from tagkit.inference.stream.annotate import Annotator, AnswerOptions
        from tagkit.models.answers.kind import PredictionOptions, Removed, named_format
        from tagkit.models.base.device import set_threads
        from tagkit.wording import once

        self.options, self.skipped, self.removed = options, SkippedRecords(), Removed()
        self.noted_formats: set[tuple[str, str]] = set()
        self.data = load_config(flags=flags_of(options)).data
        self.note = (lambda _: None) if options.quiet else once(note)
        threads = set_threads(options.threads)
        # Also with several workers: the style needs the model's classes, and a model that cannot be
        # loaded is reported before any process starts.
        predictor = load(options.model, options.device, options.precision)
        # Python's collector would visit millions of vocabulary entries again and again; whatever
        # exists now is needed to the end.
        gc.freeze()
        asked = PredictionOptions(
            batch_size=options.batch_size, confidence=options.confidence,
            max_length=options.max_length or MAX_LENGTH, threshold=options.threshold,
            min_confidence=options.min_confidence, beam=options.beam, max_units=options.max_units,
            min_units=options.min_units, length_penalty=options.length_penalty,
            coverage_penalty=options.coverage_penalty, no_repeat=options.no_repeat,
        )  # fmt: skip
        format = options.output_format
        if format == "auto":
            likely = options.confidence or options.top > 0
            names = {
                named_format(predictor.answers, str(place or ""), probabilities=likely)
                for place, _ in jobs
            }
            format = names.pop() if len(names) == 1 else format
        answers = AnswerOptions(
            format, asked, options.top, checked=options.skips, coverage=options.coverage,
            n_best=options.n_best, ordered=options.order == "uncertain",
            alone=alone and any(
                (options.confidence, options.top, options.threshold, options.min_confidence,
                 options.coverage)
            ),
        )  # fmt: skip
        self.annotator = Annotator(predictor, answers)
        remark = predictor.answers.remark(format)
        if remark and not options.top:
            self.note(remark)
        self.pool = _pool(stack, self.annotator, options, answers, threads)
        files = [file for _, inputs in jobs for file, _ in self._files(inputs)]
        sizes = [*map(_size, files)]
        self.shown = None if options.quiet else _progress(stack, files, sizes, jobs[0][0])

    def _files(self, inputs: Sequence[str]) -> Iterator[tuple[str, str]]:
        """The inputs; of a folder of texts, for a tagger, each with the name of the document."""
        from tagkit.inference.stream.record_output import texts_of

        for path in inputs:
            by_token = self.annotator.style.answers.by_token
            inside = texts_of(path, self.data.format) if by_token else []
            yield from ((file, os.path.relpath(file, path)) for file in inside)
            yield from [] if inside else [(path, "")]

    def predict(
        self,
        inputs: Sequence[str],
        place: Path | None,
        journal: "Journal",
        write: Callable[[str], None] | None,
    ) -> None:
        """Predict the inputs of an output, and write it."""
        from tagkit.cli.shown.highlighting import shown_by
        from tagkit.inference.stream.record_output import least_sure_first, write_records
        from tagkit.inference.stream.stream import joined_texts

        predictor, style = self.annotator.predictor, self.annotator.style
        if style.format == "show" and write:
            write = shown_by(write, place, [*predictor.labels(), *predictor.classes()])
        if write:
            write = journal.gated(write)
        journal.begin()
        self.skipped.count += journal.start.refused
        self.removed.merge(journal.start.removed)
        reading = self._reading(journal)
        # One by one, as each is read and written before the next.
        outputs = self._outputs(inputs, reading)
        if self.options.order == "uncertain":
            outputs = iter([least_sure_first(chain.from_iterable(outputs), style)])
        if style.row:
            # One writer for all inputs: a table has one header.
            write_records(chain.from_iterable(outputs), style, place, write, reading.note)
        elif write:
            for lines in filter(None, joined_texts(outputs, style, journal.start.tail)):
                write(lines)
        journal.require_all()

    def _outputs(
        self, inputs: Sequence[str], reading: "StreamOptions"
    ) -> Iterator[Iterator["Output"]]:
        from tagkit.corpus.source.source import source_name
        from tagkit.inference.stream.stream import annotate_file

        predictor, style = self.annotator.predictor, self.annotator.style
        for file, document in self._files(inputs):
            if self.shown:
                self.shown.start_file(Path(source_name(file)).name, _size(file))
            options = replace(reading, document=document)
            yield annotate_file(self.pool, predictor.config, style, file, options)

    def _reading(self, journal: "Journal") -> "StreamOptions":
        """How the inputs are read, and what is told meanwhile."""
        from tagkit.inference.stream.stream import StreamOptions

        data, options = self.data, self.options
        columns = {"token_column": data.token_column, "text_column": data.text_column}
        return StreamOptions(
            input_format=self.annotator.style.answers.input_format(data.format),
            encoding=data.encoding,
            max_length=options.max_length or MAX_LENGTH,
            note=self.note,
            progress=self.shown.add if self.shown else lambda *_: None,
            on_bad_record=self.skipped.add if options.skips else None,
            on_removed=self.removed.merge,
            columns={option: value for option, value in columns.items() if value is not None},
            noted_formats=self.noted_formats,
            journal=journal,
        )

    def finish(self) -> None:
        """Say what was left out."""
        if self.options.min_confidence is not None:
            self.note(self.removed.text(self.options.min_confidence))
        self.skipped.finish()


def _size(path: str) -> int:
    from tagkit.corpus.source.source import is_regular

    return os.path.getsize(path) if is_regular(path) else 0


def _pool(
    stack: ExitStack,
    annotator: "Annotator",
    options: PredictOptions,
    answers: "AnswerOptions",
    threads: int,
) -> "Workers":
    """What annotates: this process, or several with `threads` each."""
    from tagkit.inference.stream.stream import SerialWorker

    if options.workers == 1:
        return SerialWorker(annotator)
    from tagkit.inference.stream.workers import WorkerConfig, WorkerPool

    config = WorkerConfig(options.model, options.device, options.precision, threads, answers)
    return stack.enter_context(WorkerPool(options.workers, config, annotator.annotate))


def _progress(
    stack: ExitStack, paths: Sequence[str], sizes: Sequence[int], place: Path | None
) -> "PredictionProgress | None":
    """The line on the terminal that says how far the inputs are read; None where it disturbs."""
    from tagkit.cli.program.console import PredictionProgress
    from tagkit.cli.program.messages import is_terminal

    # Text that is typed or printed on the same terminal would be mixed with the line.
    typed = "-" in paths and is_terminal(sys.stdin)
    printed = place is None and is_terminal(sys.stdout)
    if typed or printed or not is_terminal(sys.stderr):
        return None
    return stack.enter_context(PredictionProgress(sum(sizes) if all(sizes) else None))


# What `predict` says and keeps where records cannot be read, or where it is stopped.

# More of them are a file of another kind, and a terminal would scroll for minutes.
_LISTED = 1000


class SkippedRecords:
    """Lists records that are left out, on standard error, and counts them."""

    def __init__(self) -> None:
        """None so far."""
        self.count = 0

    def add(self, error: FormatError) -> None:
        """List one more, with its line and what is wrong with it."""
        from tagkit.cli.program.console import note

        self.count += 1
        if self.count <= _LISTED:
            note(f"warning: {error}; skipped")
        elif self.count == _LISTED + 1:
            note("warning: further records that cannot be used are skipped without being listed")

    def finish(self) -> None:
        """Say how many there are, if any."""
        if self.count:
            from tagkit.cli.program.console import note

            have = "was" if self.count == 1 else "were"
            note(f"warning: {plural(self.count, 'record')} {have} skipped")


class PartialOutput:
    """What an error or a signal leaves of an output: a message says so.

    To be entered before the output is opened.
    """

    def __init__(self, output: Path | None, journal: "Journal", *, skips: bool) -> None:
        """Nothing is written yet.

        Args:
            output: the file; None for standard output.
            journal: of it.
            skips: whether records that cannot be used are skipped already.
        """
        self._output, self._journal, self._skips = output, journal, skips
        self._kept: Path | None = None
        self._lines = 0

    def keep(self, path: Path) -> None:
        """The unfinished output stays under this name."""
        self._kept = path

    def counting(self, write: Callable[[str], None]) -> Callable[[str], None]:
        """The function, which counts the lines that it writes."""

        def counted(text: str) -> None:
            write(text)
            self._lines += text.count("\n")

        return counted

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        """Say what was kept and how to go on: in the message of the error, or after a signal."""
        from tagkit.cli.program.console import note

        is_error = isinstance(error, TagkitError)
        parts: list[str] = []
        if self._kept is None:
            self._journal.remove()
        elif self._lines or not (self._journal.unfinished and is_error):
            what, more = "error" if is_error else "signal", " more" * bool(self._journal.unfinished)
            parts += [
                f"{self._kept}: has what was predicted before the {what}, "
                f"{plural(self._lines, 'line')}{more}; {self._output} was not written"
            ]
            parts += [". resume=True goes on from it"] if self._journal.save() else []
        is_record = isinstance(error, FormatError) and not isinstance(error, FileError)
        if is_record and not self._skips:
            parts += [". "] if parts else []
            parts += ["on_bad_record=skip leaves out records that cannot be used, and lists them"]
        if parts and isinstance(error, TagkitError):
            error.add_line("".join(parts))
        elif parts:
            note("".join(parts))
