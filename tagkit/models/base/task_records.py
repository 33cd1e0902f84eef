"""What passes between a task and its callers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tagkit.config import Config
from tagkit.features.batching.examples import Examples
from tagkit.features.column_labels import ColumnLabels
from tagkit.features.vocabulary import Vocabulary
from tagkit.text.records import Sentence

if TYPE_CHECKING:  # records can be known without torch
    from tagkit.models.base.model import Model


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels that a model can predict, each kind in the order of its ids.

    Attributes:
        tags: of tokens, in the training scheme.
        classes: of texts.
        columns: of each tag column, where there are several; then there are no `tags`.
    """

    tags: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    columns: tuple[ColumnLabels, ...] = ()


@dataclass(frozen=True, slots=True)
class TrainingData:
    """The training corpus, for networks that need it before their first step, as counts of tags.

    Attributes:
        encoded: the training corpus.
        path: name of its file, for messages.
    """

    encoded: Examples
    path: str


@dataclass(frozen=True, slots=True)
class FitCorpus:
    """The training corpus, for weights that are found at once, before the first step.

    Attributes:
        sentences: as the model learns them.
        encoded: the same sentences.
        vocabulary: of the model.
        max_seconds: of a search for weights; infinite in a run without a limit of time.
        on_pass: called before each pass over the corpus that may take seconds, with its number
            from 1.
    """

    sentences: Sequence[Sentence]
    encoded: Examples
    vocabulary: Vocabulary
    max_seconds: float
    on_pass: Callable[[int], None]


@dataclass(frozen=True, slots=True)
class ModelContext:
    """A trained network, with what is needed to read its output.

    Attributes:
        model: the network.
        vocabulary: of the model.
        config: the resolved configuration of the model.
        checked: whether probabilities that are not numbers raise an error. They do not while a
            model is trained: there a low score shows the problem.
    """

    model: "Model"
    vocabulary: Vocabulary
    config: Config
    checked: bool
