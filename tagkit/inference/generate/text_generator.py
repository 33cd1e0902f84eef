"""A language model for programs: `load_language_model(path).generate("It was a dark")`."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from tagkit.errors import DataError
from tagkit.inference.generate.generation import Generated, GeneratedPiece, stream_texts
from tagkit.inference.generate.generation_options import options_of
from tagkit.inference.generate.language_model_reader import LanguageModelReader
from tagkit.inference.generate.line_scores import LineScore, score_lines
from tagkit.limits import BATCH_SIZE, check_count
from tagkit.models.base.device import choose_device
from tagkit.models.bundle.bundle import load_bundle
from tagkit.models.language.language_network import LanguageModel
from tagkit.models.language.reader import Reader, reader_of
from tagkit.wording import clipped


def load_reader(path: str | Path, device: str = "auto", label: str | None = None) -> Reader:
    """Load a language model.

    Args:
        path: folder of the model, or of the training run that wrote it.
        device: "auto", "cpu", "cuda" or "cuda:N".
        label: of the texts, of a model that was trained with labels.

    Raises:
        BundleError: the folder holds no complete model.
        DataError: it is no language model, or one that reads a text from its end; or the label is
            not one that it needs.
        DeviceError: the device does not exist.
    """
    chosen = choose_device(device)  # before the model is read, as in `predictor.load`
    bundle = load_bundle(Path(path))
    if not isinstance(bundle.model, LanguageModel):
        raise DataError(
            f"{path}: expected a language model, found one of task = '{bundle.config.task}'"
        )
    data = bundle.config.data
    if data.direction == "backward":
        raise DataError(
            f"{path}: this model reads a text from its end (data.direction = 'backward'): expected "
            "one that reads forward"
        )
    model = bundle.model.to(chosen)
    return reader_of(model, bundle.vocabulary, data, label)


def load_language_model(
    path: str | Path, device: str = "auto", label: str | None = None
) -> "TextGenerator":
    """Load a language model, ready to generate texts and to score lines.

    Args:
        path: folder of the model, or of the training run that wrote it.
        device: "auto", "cpu", "cuda" or "cuda:N"; it need not be the one of training.
        label: of the texts, of a model that was trained with labels.

    Raises:
        BundleError: the folder holds no complete model, or one of a newer format.
        DataError: it is no language model, or one that reads a text from its end; or the label is
            not one that it needs.
        DeviceError: the device does not exist.
    """
    return TextGenerator(load_reader(path, device, label))


class TextGenerator:
    """A language model, ready to generate texts and to score lines.

    Attributes:
        reader: its units and steps, the inside of the library.
    """

    def __init__(self, reader: LanguageModelReader) -> None:
        """`reader` is the model."""
        self.reader = reader

    def generate(self, prompt: str = "", **options: Any) -> list[Generated]:
        """Generate texts that continue a prompt, as `tagkit generate` does.

        Args:
            prompt: text to continue; the texts do not repeat it. A model that has learnt the
                continuations of pairs reads a tab behind a prompt without one.
            options: fields of `GenerationOptions`, such as samples, temperature, beam or seed.

        Returns:
            Samples in their order, or the results of a beam search, best first.

        Raises:
            DataError: an option is unknown or has a wrong value, or the model cannot read the
                prompt.
        """
        pieces = self.stream(prompt, **options)
        return [piece.done for piece in pieces if piece.done is not None]

    def stream(self, prompt: str = "", **options: Any) -> Iterator[GeneratedPiece]:
        """Generate the texts of `generate` in pieces, each as soon as it is final.

        Args:
            prompt: as for `generate`.
            options: as for `generate`.

        Returns:
            An iterator over pieces, one text after another. Each has `sample`, the number of its
            text, from 0; `text`, what it adds; and `done`, which is None before the last piece of a
            text, and there the whole text.

        Raises:
            DataError: as for `generate`.
        """
        return stream_texts(self.reader, prompt, options_of(options))

    def score(self, lines: Iterable[str], *, batch_size: int = BATCH_SIZE) -> Iterator[LineScore]:
        """Score how probable lines are, each by itself, as they are read.

        Args:
            lines: without their line ends; of a model of pairs, each a prefix, a tab and its
                continuation.
            batch_size: number of lines that are read together; with 1 each is scored before the
                next is taken, which is slow.

        Returns:
            An iterator over the scores, in the order of the lines.

        Raises:
            DataError: a line holds a line end, or the model has learnt pairs, and a line is none.
        """
        if isinstance(lines, str):  # each character would be a line
            raise DataError(f"lines: expected several lines, found {clipped(repr(lines))}")
        check_count("batch_size", batch_size)
        batches = _batches(map(_line, lines), batch_size)
        return (score for scores in score_lines(self.reader, batches) for score in scores)


def _batches(lines: Iterator[str], size: int) -> Iterator[list[str]]:
    while batch := [*islice(lines, size)]:
        yield batch


def _line(value: str) -> str:
    """The line; several lines are refused.

    Raises:
        DataError: it holds the end of a line.
    """
    if "\n" in value:
        raise DataError(
            f"lines: expected each without a line end, found {clipped(repr(value))}; "
            "split the text by its lines"
        )
    return value
