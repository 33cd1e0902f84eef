"""`tagkit predict`."""

import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Literal, Self

import typer

from tagkit.cli.program.completion import complete_output_format, output_formats
from tagkit.cli.program.option_fields import flags_of, takes_options
from tagkit.cli.program.options import (
    BatchSize,
    Device,
    Encoding,
    InputFormat,
    Model,
    Quiet,
    TextColumn,
    Threads,
    TokenColumn,
)
from tagkit.errors import FileError, FormatError, TagkitError
from tagkit.limits import BATCH_SIZE, MAX_LENGTH, MAX_THREADS, MAX_UNITS
from tagkit.wording import plural

if TYPE_CHECKING:  # their modules import torch, or rich
    from tagkit.cli.program.console import PredictionProgress
    from tagkit.config import DataConfig
    from tagkit.inference.stream.annotate import Annotator, AnswerOptions
    from tagkit.inference.stream.chunks import Output
    from tagkit.inference.stream.stream import StreamOptions, Workers
    from tagkit.models.answers.kind import Removed, Style


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
            help="File to write; one that exists is replaced. - is standard output. A new folder "
            "for brat, parallel and folder.",
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
            "for people: labels in the text. auto: CoNLL-U for CoNLL-U, else columns.",
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
    beam: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Search for the most probable string with a beam of N hypotheses; for models that "
            "write strings.",
            metavar="N",
            show_default="the most probable unit each time",
        ),
    ] = None
    max_units: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Most units (words, characters or byte pairs) of a continuation.",
            metavar="N",
            show_default=f"{MAX_UNITS}",
        ),
    ] = None
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
    from tagkit.cli.program.console import note
    from tagkit.cli.shown.highlighting import shown_by
    from tagkit.config import load_config
    from tagkit.corpus.source.source import is_regular, source_name
    from tagkit.inference.predict.predictor import load
    from tagkit.inference.stream.annotate import Annotator, AnswerOptions
    from tagkit.inference.stream.stream import annotate_file
    from tagkit.models.answers.kind import PredictionOptions, Removed
    from tagkit.models.base.device import set_threads

    data = load_config(flags=flags_of(options)).data
    asked = PredictionOptions(
        batch_size=options.batch_size, confidence=options.confidence,
        max_length=options.max_length or MAX_LENGTH, threshold=options.threshold,
        min_confidence=options.min_confidence, beam=options.beam, max_units=options.max_units,
    )  # fmt: skip
    answers = AnswerOptions(
        options.output_format, asked, options.top, checked=options.skips, coverage=options.coverage
    )
    paths = options.files or ["-"]
    place = _place_of(options, paths)
    with ExitStack() as stack:
        # The output is opened before the model is loaded: a missing folder is reported at once.
        write = _opened(stack, place, options)
        threads = set_threads(options.threads)
        # Also with several workers: the style needs the model's classes, and a model that cannot be
        # loaded is reported before any process starts.
        predictor = load(options.model, options.device, options.precision)
        # Python's collector would visit millions of vocabulary entries again and again; whatever
        # exists now is needed to the end.
        gc.freeze()
        annotator = Annotator(predictor, answers)
        if options.output_format == "show" and write:
            write = shown_by(write, place, [*predictor.labels(), *predictor.classes()])
        remark = predictor.answers.remark(options.output_format)
        if remark and not (options.top or options.quiet):
            note(remark)
        pool = _pool(stack, annotator, options, answers, threads)
        sizes = [os.path.getsize(path) if is_regular(path) else 0 for path in paths]
        shown = None if options.quiet else _progress(stack, paths, sizes, place)
        skipped, removed = SkippedRecords(), Removed()
        reading = _stream_options(options, data, annotator, place, shown, skipped, removed)

        def read(path: str, size: int) -> Iterator["Output"]:
            if shown:
                shown.start_file(Path(source_name(path)).name, size)
            return annotate_file(pool, predictor.config, annotator.style, path, reading)

        # One by one, as each is read and written before the next.
        _write(map(read, paths, sizes), annotator.style, place, write, reading.note)
        if options.min_confidence is not None:
            reading.note(removed.text(options.min_confidence))
        skipped.finish()


def _place_of(options: PredictOptions, inputs: Sequence[str]) -> Path | None:
    """Where to write; None for standard output.

    Raises:
        DataError: it cannot be written, or would take the place of an input or of the model.
    """
    from tagkit.inference.stream.record_output import check_output, fills_files
    from tagkit.storage.places import refuse_inside, require_file_name

    output = options.output
    # As for inputs; a file of this name is ./-
    place = None if output is None or output == "-" else Path(output)
    if place is not None:
        # Opening the output later truncates nothing, but its commit would replace an input that is
        # still being read, or a part of the model.
        refuse_inside(place, options.model)
    if output and output != "-" and not fills_files(options.output_format):
        require_file_name(output)
    check_output(place, options.output_format, inputs)
    return place


def _opened(
    stack: ExitStack, place: Path | None, options: PredictOptions
) -> Callable[[str], None] | None:
    """What writes to the output; None of a format that makes a folder when it is written."""
    from tagkit.inference.stream.record_output import fills_files
    from tagkit.storage import open_output

    if fills_files(options.output_format):
        return None
    partial = stack.enter_context(PartialOutput(place, skips=options.skips))
    opened = stack.enter_context(open_output(place, on_partial=partial.keep))
    return partial.counting(opened)


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
    # On the stack after the output: the processes are gone before the output is committed.
    return stack.enter_context(WorkerPool(options.workers, config, annotator.annotate))


def _stream_options(
    options: PredictOptions,
    data: "DataConfig",
    annotator: "Annotator",
    place: Path | None,
    shown: "PredictionProgress | None",
    skipped: "SkippedRecords",
    removed: "Removed",
) -> "StreamOptions":
    """How the inputs are read, and what is told meanwhile."""
    from tagkit.cli.program.console import note
    from tagkit.inference.stream.stream import StreamOptions
    from tagkit.wording import once

    columns = {"token_column": data.token_column, "text_column": data.text_column}
    return StreamOptions(
        input_format=annotator.style.answers.input_format(data.format),
        encoding=data.encoding,
        max_length=options.max_length or MAX_LENGTH,
        note=(lambda _: None) if options.quiet else once(note),
        progress=shown.add if shown else lambda *_: None,
        on_bad_record=skipped.add if options.skips else None,
        on_removed=removed.merge,
        columns={option: value for option, value in columns.items() if value is not None},
        output=str(place or ""),
    )


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


def _write(
    outputs: Iterable[Iterator["Output"]],
    style: "Style",
    place: Path | None,
    write: Callable[[str], None] | None,
    note: Callable[[str], None],
) -> None:
    """Write the outputs of all inputs, as they come."""
    from tagkit.inference.stream.record_output import write_records
    from tagkit.inference.stream.stream import joined_texts

    if style.row:
        # One writer for all inputs: a table has one header.
        write_records(chain.from_iterable(outputs), style, place, write, note)
        return
    for lines in joined_texts(outputs, style):
        if lines and write:
            write(lines)


# What `predict` says and keeps where records cannot be read: a list of them, a partial output.

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
    """What an error leaves of the output: the error's message says so.

    To be entered before the output is opened.
    """

    def __init__(self, output: Path | None, *, skips: bool) -> None:
        """What is written, and how.

        Args:
            output: the file; None for standard output.
            skips: whether records that cannot be used are skipped already.
        """
        self._output = output
        self._skips = skips
        self._kept: Path | None = None
        self._lines = 0

    def keep(self, path: Path) -> None:
        """The unfinished output has got this name."""
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
        """Add what was kept, and how to go on, to the message of the error."""
        if not isinstance(error, TagkitError):
            return
        parts: list[str] = []
        if self._kept is not None:
            parts += [
                f"{self._kept}: has what was predicted before the error, "
                f"{plural(self._lines, 'line')}; {self._output} was not written"
            ]
        is_record = isinstance(error, FormatError) and not isinstance(error, FileError)
        if is_record and not self._skips:
            parts += [". "] if parts else []
            parts += ["on_bad_record=skip leaves out records that cannot be used, and lists them"]
        if parts:
            error.add_line("".join(parts))
