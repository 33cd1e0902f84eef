"""What answers windows of input: labels of a text, or the continuation of a prefix."""

from typing import Protocol

from tagkit.errors import DataError
from tagkit.inference.predict.arguments import check_annotates
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.stream.annotate import Annotator, AnswerOptions
from tagkit.inference.stream.continuation import PrefixAnnotator
from tagkit.inference.stream.window import Output, Window
from tagkit.inference.write.style import Style
from tagkit.wording import Message, Setting


class WindowAnnotator(Protocol):
    """Answers windows of input with one model.

    Attributes:
        style: in which the answers are written.
    """

    style: Style

    def annotate(self, window: Window) -> Output:
        """The output for a window."""

    def input_format(self, given: str) -> str:
        """The format to read inputs in, where `given` is asked for."""


def annotator_of(predictor: Predictor, options: AnswerOptions) -> WindowAnnotator:
    """The one for a model.

    Raises:
        DataError: an option has no meaning for the model, or the model annotates nothing.
    """
    if predictor.config.data.pairs:
        return PrefixAnnotator(predictor, options)
    for option, value in (
        (Setting("beam"), options.beam),
        (Setting("max_units"), options.max_units),
    ):
        if value is not None:
            needed = Setting("data.pairs", True)
            raise DataError(Message(option, " is for language models of ", needed))
    check_annotates(predictor.task, predictor.config)  # before anything is read
    return Annotator(predictor, options)
