"""The interface behind which everything lies that depends on what is predicted.

A task is one object without state, a row of `task_table.TASKS`. Setup, the training loop, resuming,
seeds, search, streaming, workers, scoring and the console know this interface alone, so that a
new task is one module and one row:

    read, resolve, examples     files         -> sentences to learn from
    labels, targets             sentences     -> the vocabulary's labels, and ids of what is learnt
    batches, state              an epoch      -> steps, and what is carried from one to the next
    build, check                configuration -> the network
    loss                        a batch       -> (sum, count)
    decode, join                a batch       -> predictions
    score                       predictions   -> a report with one headline
    describe                    configuration -> what the console and `tagkit info` say
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from torch import Tensor

from tagkit.config import Config
from tagkit.corpus.dataset import LabelKinds, Split
from tagkit.corpus.splits import Corpus, load_corpus
from tagkit.evaluation.report import Report
from tagkit.features.batch import Batch, Tokens
from tagkit.features.bucketing import Ids, batches_at_random
from tagkit.features.encoding import Encoded, Target
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.description import Description
from tagkit.models.model import Model
from tagkit.nn.inference import CachedWords
from tagkit.text.records import Alternative, Prediction, Sentence


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels that a model can predict, each kind in the order of its ids.

    Attributes:
        tags: of tokens, in the training scheme.
        classes: of texts.
    """

    tags: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrainingData:
    """What a network may be fitted to before its first step, such as counts of tags.

    Attributes:
        encoded: the training corpus.
        path: of its file, for messages.
    """

    encoded: Encoded
    path: str


@dataclass(frozen=True, slots=True)
class ModelContext:
    """A trained network, with what is needed to read its output.

    Attributes:
        model: the network.
        vocabulary: of the model.
        config: the resolved configuration of the model.
        checked: whether probabilities that are not numbers are an error. While a model is trained
            they are not: its score shows it.
    """

    model: Model
    vocabulary: Vocabulary
    config: Config
    checked: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of a prediction.

    Attributes:
        confidence: whether to compute probabilities of tags and spans.
        threshold: probability from which on a class is among the labels; None for the
            configured one.
    """

    confidence: bool = False
    threshold: float | None = None


class Task(ABC):
    """Everything that depends on what is predicted.

    Attributes:
        needs: labels that a corpus must have to be learnt from, or to be scored on.
        gives: labels that a prediction has.
        is_whole: whether a text is one sequence, which is never cut, as something is said of the
            whole of it. Otherwise long sentences are read in windows.
    """

    # `needs` and `gives` differ where targets follow from the words alone.
    needs: ClassVar[LabelKinds]
    gives: ClassVar[LabelKinds]
    is_whole: ClassVar[bool]

    def read(self, config: Config) -> Corpus:
        """The corpora that a configuration names.

        Raises:
            DataError: one cannot be read, or holds nothing to learn.
        """
        # Dev is scored in the scheme that it is in, which may differ from that of train.
        return load_corpus(config, self.needs)

    @abstractmethod
    def resolve(self, config: Config, corpus: Corpus) -> Config:
        """The configuration with what follows from the corpus in place of "auto"."""

    @abstractmethod
    def examples(self, config: Config, corpus: Corpus) -> list[Sentence]:
        """The training corpus as the model learns it: in the training scheme, in windows."""

    @abstractmethod
    def labels(self, config: Config, sentences: Sequence[Sentence]) -> Labels:
        """The labels of what `examples` gave, for the vocabulary."""

    @abstractmethod
    def targets(
        self, sentences: Sequence[Sentence], vocabulary: Vocabulary
    ) -> Mapping[str, Target]:
        """What is learnt of each token or sentence, as ids, by name."""

    def batches(
        self, encoded: Encoded, config: Config, generator: np.random.Generator
    ) -> list[list[Ids]]:
        """One epoch: the batches of each step, as sentences of the corpus.

        Args:
            encoded: the training corpus.
            config: has the batches' size, and the number of them in a step.
            generator: of random numbers; its state before the call decides the whole epoch.
        """
        # Sentences are drawn without regard to their labels. A task whose examples continue each
        # other, such as a language model, has another order, and keeps it in `state`.
        train = config.train
        batches = batches_at_random(
            encoded.lengths, train.batch_size, train.batch_tokens, generator
        )
        size = train.accumulate
        return [batches[start : start + size] for start in range(0, len(batches), size)]

    def state(self, model: Model) -> Mapping[str, Tensor]:
        """What is carried from one step to the next besides weights; a checkpoint holds it."""
        return {}  # each batch is learnt by itself

    def restore(self, model: Model, state: Mapping[str, Tensor]) -> None:  # noqa: B027 - optional
        """Take over what `state` gave."""

    @abstractmethod
    def build(self, config: Config, vocabulary: Vocabulary, data: TrainingData | None) -> Model:
        """The network, with fresh weights.

        Args:
            config: resolved.
            vocabulary: with the labels.
            data: the training corpus; None where weights are loaded next.

        Raises:
            DataError: an option names a label that the training corpus lacks.
        """

    @abstractmethod
    def check(self, config: Config, vocabulary: Vocabulary, settings: Path, words: Path) -> None:
        """Raise where a saved configuration and a saved vocabulary do not belong together.

        Args:
            config: resolved, as training writes it.
            vocabulary: of the model.
            settings: file of the configuration, for messages.
            words: file of the vocabulary, for messages.

        Raises:
            BundleError: a part of one is not in the other.
        """

    def loss(self, model: Model, batch: Batch) -> tuple[Tensor, Tensor]:
        """Negative log-likelihood in nats, summed, and the number of targets."""
        # Not model.forward: wrappers that spread a model over processes hook into the call.
        found: tuple[Tensor, Tensor] = model(batch)
        return found

    @abstractmethod
    def decode(
        self,
        context: ModelContext,
        tokens: Tokens,
        table: CachedWords,
        sentences: Sequence[Sentence],
        wanted: Wanted,
    ) -> list[Prediction]:
        """Predictions for the sentences of a batch.

        Args:
            context: the model.
            tokens: of the batch, whose rows are those of `table`.
            table: the distinct words.
            sentences: in the order of the batch.
            wanted: what is asked for.

        Raises:
            BundleError: the model's probabilities are not numbers.
        """

    def join(
        self, config: Config, words: tuple[str, ...], parts: Sequence[tuple[int, Prediction]]
    ) -> Prediction:
        """One prediction for a sentence that was read in windows: start and prediction of each."""
        raise NotImplementedError("a text is read whole")

    def n_best(
        self,
        context: ModelContext,
        tokens: Tokens,
        table: CachedWords,
        lengths: Sequence[int],
        count: int,
    ) -> list[list[Alternative]]:
        """The likeliest sequences of tags of each sentence, the likeliest first."""
        raise NotImplementedError("there are no sequences of tags")

    @abstractmethod
    def score(
        self,
        context: ModelContext,
        split: Split,
        predictions: Sequence[Prediction],
        *,
        strict: bool,
    ) -> Report:
        """A report of predictions against a corpus's gold labels.

        Args:
            context: the model.
            split: the corpus.
            predictions: for its sentences, in order.
            strict: count well-formed spans only.
        """

    @abstractmethod
    def describe(self, config: Config) -> Description:
        """What the console and `tagkit info` say of the model."""
