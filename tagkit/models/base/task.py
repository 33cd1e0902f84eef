"""The interface of a task: everything that depends on what is predicted.

A task is one object without state. Setup, training, resuming, seeds, search, streaming, workers,
scoring and the console use this interface alone and never ask which task it is:

    needs, is_whole             (attributes)     labels that it reads; windows or not
    answers, size               (attributes)     what a model of it predicts of a text; examples
    read, resolve, examples     files         -> sentences to learn from
    labels, targets             sentences     -> the vocabulary's labels, and ids of what is learnt
    build, fit                  configuration -> the network; weights that no step changes
    batches, state, restore     an epoch      -> steps, and what is carried from one to the next
    begin_step                  a step's number -> a model whose training changes over time
    loss                        a batch       -> (sum, count)
    predict, decode             sentences     -> predictions, all at once; those of a batch
    join, n_best                windows       -> one prediction; alternative taggings
    stretch_probabilities       a batch       -> how probable the tags are that its sentences have
    to_predict, score           a corpus      -> what is predicted of it; a report on that
    judged                      predictions   -> each with its probability, right or wrong
    kinds, criterion            configuration -> what is scored; the number that ranks epochs
    describe                    configuration -> what the console and `tagkit info` say
    check                       a saved model -> an error if its parts do not belong together

To add a task, write one module beside this one with a subclass of `Task` and, for its network, one
of `model.Model` (`tagger.py` is the shortest example), then add one row to `task_table.TASKS` and
one name to the `Literal` of `task` in `config/sections.py`. Methods that have a body below may be
left as they are.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tagkit.config import Config, DataConfig, fixed
from tagkit.corpus.records.dataset import LabelKinds, Split
from tagkit.corpus.records.objects import NONE_GIVEN, Given
from tagkit.corpus.splits.splits import Corpus, load_corpus
from tagkit.errors import TagkitError
from tagkit.evaluation.reports.criterion import Criterion, find_criterion
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.scores.metrics import Kind
from tagkit.evaluation.scores.outcomes import Outcomes
from tagkit.features import Ids
from tagkit.features.batching.document_batches import batches_of_documents
from tagkit.features.batching.encoding import encode
from tagkit.features.batching.examples import Examples
from tagkit.features.batching.targets import Target
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.answers.kind import AnswerKind, PredictionOptions
from tagkit.models.base.description import Description, encoder_name, metric_columns
from tagkit.models.base.task_records import (
    FitCorpus,
    Labels,
    ModelContext,
    TrainingData,
)
from tagkit.text.records import Alternative, Prediction, Sentence

if TYPE_CHECKING:  # a task's networks need torch, what is said of its labels does not
    from torch import Tensor

    from tagkit.features.batching.batch import Batch
    from tagkit.models.base.model import Model, SentenceBatch


# `SentenceBatches.answers`.
InBatches = Callable[
    [Sequence[Sentence], int, "Callable[[Ids, SentenceBatch], Sequence[Any]]"], list[Any]
]


class Task(ABC):
    """Everything that depends on what is predicted.

    Attributes:
        needs: labels that a corpus must have to be learnt from, or to be scored on.
        is_whole: whether a text is one sequence that is never cut, because something is predicted
            of the whole of it. Otherwise long sentences are read in windows.
        annotates: whether sentences get labels. Otherwise a text is scored as it is, and its loss
            is what ranks epochs.
        unit: what an example is, for people: "sentence" or "text".
        reads_columns: whether words and features are read from columns of a file.
        reads_itself: whether corpora are read by `read` and `read_text`, and by no format.
    """

    needs: ClassVar[LabelKinds]
    is_whole: ClassVar[bool]
    annotates: ClassVar[bool] = True
    unit: ClassVar[str] = "sentence"
    reads_columns: ClassVar[bool] = True
    reads_itself: ClassVar[bool] = False

    def read(self, config: Config, given: Given = NONE_GIVEN) -> Corpus:
        """The corpora that a configuration names.

        Args:
            config: of the run.
            given: records of a program, by the paths that stand for them in the configuration.

        Raises:
            DataError: one cannot be read, or holds nothing to learn.
        """
        return load_corpus(config, self.needs, given)

    def read_text(
        self, vocabulary: Vocabulary, path: str, data: DataConfig, given: Given = NONE_GIVEN
    ) -> Split:
        """A text to be scored as it is, read as `data` says, of a task that annotates nothing.

        Raises:
            DataError: it cannot be read.
        """
        raise NotImplementedError("this task scores annotated corpora")

    @abstractmethod
    def resolve(self, config: Config, corpus: Corpus) -> Config:
        """The configuration with what follows from the corpus in place of "auto"."""

    @abstractmethod
    def examples(self, config: Config, split: Split) -> Sequence[Sentence]:
        """A corpus as the model learns it: in the training scheme, in windows.

        Args:
            config: resolved.
            split: the training corpus, or dev, whose loss is that of what the model would learn.
        """

    @abstractmethod
    def labels(self, config: Config, sentences: Sequence[Sentence]) -> Labels:
        """The labels of what `examples` gave, for the vocabulary."""

    @abstractmethod
    def targets(
        self, sentences: Sequence[Sentence], vocabulary: Vocabulary
    ) -> Mapping[str, Target]:
        """What is learnt of each token or sentence, as ids, by name.

        Raises:
            KeyError: a label that is not in the vocabulary.
        """

    def vocabulary(self, config: Config, sentences: Sequence[Sentence]) -> Vocabulary | None:
        """The vocabulary of `examples`; None for the words, characters and labels of them."""
        return None

    def encode(
        self,
        config: Config,
        sentences: Sequence[Sentence],
        vocabulary: Vocabulary,
        weights: Sequence[float] | None,
        beside: Mapping[str, Target] = MappingProxyType({}),
    ) -> Examples:
        """What `examples` gave, as ids.

        Args:
            config: resolved.
            sentences: to learn from, or of dev.
            vocabulary: with the labels.
            weights: of the sentences in the loss; None where all weigh the same.
            beside: targets that are not the task's own.

        Raises:
            KeyError: a label that is not in the vocabulary.
        """
        targets = {**self.targets(sentences, vocabulary), **beside}
        reads_chars = config.embeddings.char_cell != "none"
        return encode(
            sentences,
            vocabulary,
            targets,
            chars=reads_chars,
            weights=weights,
            document_words=config.encoder.document_words,
            tree=config.encoder.read_tree,
        )

    def batches(
        self, encoded: Examples, config: Config, generator: np.random.Generator
    ) -> list[Ids]:
        """One epoch: the batch of each step, as sentences of the corpus.

        Args:
            encoded: the training corpus.
            config: has the batches' size.
            generator: of random numbers; its state before the call decides the whole epoch, so
                that a resumed run can plan the same epoch again.
        """
        # Sentences are shuffled. A task whose examples continue each other, such as a language
        # model, overrides this with their order in the corpus.
        train, documents = config.train, encoded.documents
        size, tokens = fixed(train.batch_size), train.batch_tokens
        return batches_of_documents(encoded.lengths, documents, size, tokens, generator)

    def begin_step(self, model: "Model", step: int) -> None:  # noqa: B027 - optional
        """Prepare the model for a step of training; also called when a step is tried again.

        Args:
            model: that is trained.
            step: of the run, from 0; a resumed run counts on.
        """

    def state(self, model: "Model") -> "Mapping[str, Tensor]":
        """What is carried from one step to the next besides the weights, for the checkpoint."""
        return {}  # no batch depends on the one before

    def restore(self, model: "Model", state: "Mapping[str, Tensor]") -> None:  # noqa: B027 - optional
        """Restore what `state` returned."""

    @abstractmethod
    def build(self, config: Config, vocabulary: Vocabulary, data: TrainingData | None) -> "Model":
        """The network, with fresh weights.

        Args:
            config: resolved.
            vocabulary: with the labels.
            data: the training corpus; None where weights are loaded next.

        Raises:
            DataError: an option names a label that the training corpus lacks.
        """

    def fit(self, model: "Model", corpus: FitCorpus) -> None:  # noqa: B027 - optional
        """Find the weights that no gradient step changes; called once before the first one.

        Args:
            model: with its pretrained vectors, on the CPU.
            corpus: of training.
        """

    @abstractmethod
    def check(
        self, config: Config, vocabulary: Vocabulary, config_file: Path, vocabulary_file: Path
    ) -> None:
        """Raise unless a saved configuration and a saved vocabulary belong together.

        Args:
            config: resolved, as training writes it.
            vocabulary: of the model.
            config_file: where the configuration is, for messages.
            vocabulary_file: where the vocabulary is, for messages.

        Raises:
            BundleError: one of them asks for something that the other does not have.
        """

    def loss(self, model: "Model", batch: "Batch[Tensor]") -> "tuple[Tensor, Tensor]":
        """Negative log-likelihood in nats, summed, and the number of targets."""
        # Not model.forward: hooks of modules run only when the module itself is called.
        total, count = model(batch)
        return total, count

    @abstractmethod
    def answers(self, config: Config, vocabulary: Vocabulary) -> AnswerKind:
        """What a model predicts of a text.

        Args:
            config: resolved.
            vocabulary: of the model.
        """

    def require_answers(  # noqa: B027 - optional
        self, config: Config, error: TagkitError | None = None
    ) -> None:
        """Refuse what compares answers with a corpus, of a task that scores a text as it is.

        Args:
            config: of the model.
            error: to be raised then; None for one that names what is for such models.

        Raises:
            TagkitError: it does.
        """

    def require_labels(self, config: Config, error: TagkitError | None = None) -> None:
        """Likewise what is for labels, of a task whose answers are none."""
        self.require_answers(config, error)

    def dev_examples(self, config: Config, split: Split) -> Sequence[Sentence]:
        """The examples of dev whose loss is computed beside the report; none where that says it."""
        return self.examples(config, split)

    def longest(self, max_length: int) -> int:
        """Words of the longest sentence that is read as one, where `max_length` are asked for."""
        return sys.maxsize if self.is_whole else max_length

    def size(self, split: Split) -> int:
        """Number of a corpus's examples."""
        return len(split.sentences)

    def to_predict(self, split: Split) -> Sequence[Sentence]:
        """The sentences of a corpus for which `score` needs predictions."""
        return split.sentences

    def predict(
        self,
        context: ModelContext,
        sentences: Sequence[Sentence],
        options: PredictionOptions,
        in_batches: InBatches,
    ) -> list[Any]:
        """Predictions for sentences, in their order.

        Args:
            context: the model.
            sentences: none is longer than `longest`.
            options: what the predictions are to contain.
            in_batches: gives what a function says of each sentence of a batch.
        """
        return in_batches(
            sentences, options.batch_size, lambda _, batch: self.decode(context, batch, options)
        )

    @abstractmethod
    def decode(
        self, context: ModelContext, batch: "SentenceBatch", options: PredictionOptions
    ) -> list[Any]:
        """Predictions for the sentences of a batch.

        Args:
            context: the model.
            batch: the sentences.
            options: what the predictions are to contain.

        Raises:
            BundleError: the model's probabilities are not numbers.
        """

    def join(
        self, context: ModelContext, words: tuple[str, ...], parts: Sequence[tuple[int, Prediction]]
    ) -> Prediction:
        """One prediction for a sentence that was read in windows.

        Args:
            context: the model.
            words: of the whole sentence.
            parts: of each window the number of its first word in the sentence, and its prediction.
        """
        raise NotImplementedError("this task reads each text whole")

    def n_best(
        self, context: ModelContext, batch: "SentenceBatch", count: int
    ) -> list[list[Alternative]]:
        """The `count` most probable taggings of each sentence, the most probable first.

        Args:
            context: the model.
            batch: the sentences.
            count: how many; a short sentence may have fewer.
        """
        raise NotImplementedError("this task predicts no tags")

    def stretch_probabilities(
        self,
        context: ModelContext,
        batch: "SentenceBatch",
        stretches: Sequence[Sequence[tuple[int, int]]],
    ) -> list[list[float]]:
        """How probable the tags that the sentences have are, in some stretches of them; exact.

        Args:
            context: the model.
            batch: sentences with tags; a tag that the model does not know has the probability 0.
            stretches: of each sentence the first word and the word after the last one of each.
        """
        raise NotImplementedError("this task predicts no tags")

    def known_labels(self, context: ModelContext) -> frozenset[str]:
        """Types of spans, or plain labels, that the model can predict; "" of a bare prefix."""
        return frozenset()  # this task predicts no tags

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
            strict: whether only well-formed spans count.
        """

    def dev_loss(self, report: Report) -> float | None:
        """The loss that a report on dev says; None where it is computed beside the report."""
        return None

    def judged(
        self,
        context: ModelContext,
        split: Split,
        predictions: Sequence[Prediction],
        *,
        strict: bool,
    ) -> Mapping[str, Outcomes]:
        """What calibration is measured on, by the name of the head that gives the probabilities.

        Args:
            context: the model.
            split: the corpus.
            predictions: for its sentences, in order, with probabilities.
            strict: whether only well-formed spans count.
        """
        return {}  # nothing that is predicted has a probability

    def kinds(self, config: Config) -> Sequence[Kind]:
        """What the labels of a resolved configuration are scored as, those of tags first."""
        return ()  # a report of a kind of its own has no metrics of `evaluation.metrics`

    def criterion(self, config: Config) -> Criterion:
        """What ranks epochs, seeds and trials, as `train.metric` names it.

        Args:
            config: resolved.

        Raises:
            DataError: `train.metric` names no metric of this model.
        """
        usual = self.describe(config).measure
        return find_criterion(config.train.metric, self.kinds(config), usual)

    def heads(self, config: Config) -> tuple[str, ...]:
        """What reads the encoder's states, for people."""
        return ()

    def describe(self, config: Config) -> Description:
        """What the console and `tagkit info` say of the model."""
        measure, columns = metric_columns(self.kinds(config))
        return Description(
            encoder_name(config),
            self.heads(config),
            self.unit,
            measure,
            columns,
            self.reads_columns,
        )
