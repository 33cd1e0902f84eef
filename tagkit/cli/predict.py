"""`tagkit predict`."""

import gc
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Literal

import typer

from tagkit.cli.options import Device, Encoding, InputFormat, Model, Precision, Quiet, Threads
from tagkit.limits import BATCH_SIZE, MAX_LENGTH

# \b (a backspace, on a line of its own) keeps click from joining the lines below it.
EXAMPLES = """\b
Examples:
  echo "Any flight from Oslo to Rome?" | tagkit predict models/travel - --format jsonl
  tagkit predict models/mine test.conll -o tagged.conll
  tagkit predict models/intent texts.txt --top 3
  tagkit predict models/mine export.jsonl --on-bad-record skip -o tagged.conll
"""


def predict_command(
    model: Model,
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Inputs; - is standard input.", metavar="FILE", show_default="-"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write; one that exists is replaced. - is standard output.",
            metavar="FILE",
            show_default="-",
        ),
    ] = None,
    input_format: InputFormat = None,
    output_format: Annotated[
        Literal["columns", "tsv", "jsonl", "show"],
        typer.Option(
            "--format",
            help="Format of the output: columns, tsv (class and text), jsonl (an object per text), "
            "or show, for people: labels in the text.",
        ),
    ] = "columns",
    confidence: Annotated[
        bool,
        typer.Option("--confidence", help="Write the probability of each tag, span and class."),
    ] = False,
    top: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of most probable classes of each text.",
            metavar="N",
            show_default="the predicted ones",
        ),
    ] = 0,
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Minimum class probability.", metavar="P", show_default="the model's"
        ),
    ] = None,
    batch_size: Annotated[
        int, typer.Option(min=1, help="Sentences per batch.", metavar="N")
    ] = BATCH_SIZE,
    max_length: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Maximum length of a sentence in words; longer ones are tagged in windows.",
            metavar="N",
            show_default=f"{MAX_LENGTH}",
        ),
    ] = None,
    encoding: Encoding = None,
    device: Device = "auto",
    precision: Precision = "fp32",
    threads: Threads = None,
    workers: Annotated[
        int,
        typer.Option(
            min=1, help="Number of worker processes, each with a copy of the model.", metavar="N"
        ),
    ] = 1,
    on_bad_record: Annotated[
        Literal["error", "skip"],
        typer.Option(
            help="What to do with a record or sentence that cannot be read or written: error ends "
            "the command, skip leaves it out and lists it.",
        ),
    ] = "error",
    quiet: Quiet = False,
) -> None:
    """Predict tags or classes of texts.

    The inputs are raw text, column files, or corpora in any other format.
    """
    from tagkit.cli.bad_records import PartialOutput, SkippedRecords
    from tagkit.cli.console import PredictionProgress, note
    from tagkit.cli.highlighting import shown_by
    from tagkit.cli.terminal import is_terminal
    from tagkit.config import load_config
    from tagkit.corpus.formats.file_sets import files_of
    from tagkit.corpus.formats.source import is_regular, source_name
    from tagkit.inference.annotate import Annotator, AnswerOptions
    from tagkit.inference.predictor import load
    from tagkit.inference.render import header
    from tagkit.inference.stream import StreamOptions, annotate_file
    from tagkit.inference.workers import SerialWorker, WorkerConfig, WorkerPool
    from tagkit.models.device import set_threads
    from tagkit.storage import open_output
    from tagkit.storage.places import refuse_input, refuse_inside

    data = load_config(flags={"data.format": input_format, "data.encoding": encoding}).data
    options = AnswerOptions(output_format, confidence, top, threshold, batch_size, max_length)
    paths = files or ["-"]
    if output == Path("-"):  # as for inputs; a file of this name is ./-
        output = None
    if output is not None:
        # Opening the output later truncates nothing, but its commit would replace an input that is
        # still being read, or a part of the model.
        refuse_inside(output, model)
        refuse_input(output, (file for path in paths for file in files_of(path)))
    with ExitStack() as stack:
        # The output is opened before the model is loaded: a missing folder is reported at once.
        partial = stack.enter_context(PartialOutput(output))
        write = partial.counting(stack.enter_context(open_output(output, on_partial=partial.keep)))
        each = set_threads(threads)
        # Also with several workers: the style needs the model's classes, and a model that cannot be
        # loaded is reported before any process starts.
        predictor = load(model, device, precision)
        # Python's collector would visit millions of vocabulary entries again and again; whatever
        # exists now is needed to the end.
        gc.freeze()
        annotator = Annotator(predictor, options)
        if output_format == "show":
            write = shown_by(write, output, [*predictor.labels(), *predictor.classes()])
        pool: SerialWorker | WorkerPool = SerialWorker(annotator)
        if workers > 1:
            config = WorkerConfig(model, device, precision, each, options)
            # On the stack after the output: the processes are gone before the output is committed.
            pool = stack.enter_context(WorkerPool(workers, config))
        sizes = [os.path.getsize(path) if is_regular(path) else 0 for path in paths]
        # Text that is typed or printed on the same terminal would be mixed with the line.
        typed = "-" in paths and is_terminal(sys.stdin)
        printed = output is None and is_terminal(sys.stdout)
        shown = None
        if is_terminal(sys.stderr) and not (quiet or typed or printed):
            shown = stack.enter_context(PredictionProgress(sum(sizes) if all(sizes) else None))
        skipped = SkippedRecords()
        reading = StreamOptions(
            input_format=data.format,
            encoding=data.encoding,
            max_length=max_length or MAX_LENGTH,
            note=(lambda _: None) if quiet else note,
            progress=shown.add if shown else lambda *_: None,
            on_bad_record=skipped.add if on_bad_record == "skip" else None,
        )
        for line in header(annotator.style):
            write(f"{line}\n")
        for path, size in zip(paths, sizes, strict=True):
            if shown:
                shown.start_file(Path(source_name(path)).name, size)
            for piece in annotate_file(pool, predictor.config, annotator.style, path, reading):
                write(piece)
        skipped.finish()
