"""The interface of a codec: how the values of one tag column are learnt, predicted and scored.

A codec is one object without state. What it learns from a corpus is a `ColumnLabels`, which is
saved with the model; what it learns by gradients is a head over the encoder's states.

    labels      values        -> the labels of each part of a value
    target      values        -> ids
    build       labels        -> a head: called as a module it is its loss, a sum and a count
    output      hidden states -> ids
    decode      ids           -> values
    score       values        -> a report

To add a codec, write one module beside this one and add one row to `CODECS`. Methods that have a
body below may be left as they are.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy.typing as npt
from torch import Tensor, nn

from tagkit.config import Config
from tagkit.errors import BundleError, DataError
from tagkit.evaluation.reports.column_report import ColumnReport
from tagkit.features.column_labels import ColumnLabels
from tagkit.models.base.output import ColumnOutput
from tagkit.models.base.task_records import TrainingData
from tagkit.text.records import Alternative, Sentence, Span, TagColumn
from tagkit.wording import quoted


@dataclass(frozen=True, slots=True)
class ColumnText:
    """The values of one column in some sentences.

    Attributes:
        words: of each sentence.
        values: of each sentence, one a word.
    """

    words: Sequence[tuple[str, ...]]
    values: Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Decoded:
    """The values of a column that were predicted for a sentence.

    Attributes:
        column: the values.
        spans: that they mean; empty for plain labels.
    """

    column: TagColumn
    spans: tuple[Span, ...] = ()


class Codec(ABC):
    """How the values of one tag column are learnt, predicted and scored.

    Attributes:
        columns: names of the columns of CoNLL-U that it is for.
        metrics: keys of its report's scores by their names for people, the headline first.
    """

    columns: ClassVar[frozenset[str]] = frozenset()
    metrics: ClassVar[Mapping[str, str]]

    def metric_names(self) -> Mapping[str, str]:
        """`metrics`, and those that have become rows of `evaluation.metrics.METRICS`."""
        return self.metrics

    @abstractmethod
    def head_name(self, config: Config) -> str:
        """What reads the states, for people, such as "softmax"."""

    @abstractmethod
    def labels(self, learnt: str, text: ColumnText) -> Mapping[str, tuple[str, ...]]:
        """The labels of each part of a value in the training corpus, by the part's name.

        Args:
            learnt: the scheme in which tags are learnt; `PLAIN` where values are no tags of spans.
            text: of the training corpus.
        """

    @abstractmethod
    def target(self, labels: ColumnLabels, text: ColumnText) -> npt.NDArray[Any]:
        """The values as ids: (tokens,), or (tokens, parts).

        Raises:
            KeyError: a value that the labels cannot express.
        """

    @abstractmethod
    def build(
        self, config: Config, labels: ColumnLabels, inputs: int, data: TrainingData | None
    ) -> nn.Module:
        """A head over `inputs` features of each token, with fresh weights.

        Called as a module with states, mask, targets and, where sentences have them, their weights,
        it gives the loss, summed, and the number of tokens. `data` is the training corpus; None
        where weights of parameters are loaded next.
        """

    def check(
        self, config: Config, labels: ColumnLabels, config_file: Path, vocabulary_file: Path
    ) -> None:
        """Raise a BundleError unless a saved configuration and saved labels belong together."""
        # Of labels that anybody may have edited only what `decode` relies on is checked.
        if not labels.parts:
            raise BundleError(f"{vocabulary_file}: expected labels of the column {labels.name}")

    def set_constants(self, head: nn.Module, config: Config, labels: ColumnLabels) -> None:  # noqa: B027 - optional
        """Fill the buffers of a head that are not saved."""

    def rows(self, labels: ColumnLabels) -> tuple[str, ...]:
        """What each row of the head's last layer stands for."""
        return tuple(f"{part}{each}" for part, strings in labels.parts.items() for each in strings)

    @abstractmethod
    def output(self, head: Any, states: Tensor, mask: Tensor, *, confidence: bool) -> ColumnOutput:
        """The head's output for hidden states, on the CPU; arguments as of `Model.output_of`."""

    @abstractmethod
    def decode(
        self, labels: ColumnLabels, output: ColumnOutput, sentences: Sequence[Sentence]
    ) -> list[Decoded]:
        """The predicted values of a batch's sentences."""

    @abstractmethod
    def score(
        self,
        labels: ColumnLabels,
        gold: ColumnText,
        predicted: Sequence[tuple[str, ...]],
        forms: Set[str],
        *,
        strict: bool,
    ) -> ColumnReport:
        """A report on predicted values.

        Args:
            labels: of the column.
            gold: words and gold values.
            predicted: of each sentence.
            forms: the words of the training corpus.
            strict: whether only well-formed spans count.
        """

    def known(self, labels: ColumnLabels) -> frozenset[str]:
        """Labels that a note on a corpus without any of them may compare; empty for no note."""
        return frozenset()

    def n_best(
        self, head: Any, labels: ColumnLabels, states: Tensor, mask: Tensor, count: int
    ) -> list[list[Alternative]]:
        """The most probable sequences of values of each sentence, the most probable first.

        Raises:
            DataError: the values are not decoded as sequences.
        """
        raise DataError(
            f"the column {quoted(labels.name)} has no alternatives: expected a column of tags"
        )
