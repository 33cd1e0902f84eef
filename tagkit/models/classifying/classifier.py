"""The task "classify": one class, or several, of a whole text.

    vectors -> encoder -> hidden states -> pooling -> vector -> feed-forward layers -> classes

(Jurafsky and Martin, "RNNs and LSTMs", section on RNNs for sequence classification; Goodfellow,
Bengio and Courville, section 10.2 and figure 10.5.)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, chain, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tagkit.config import Config
from tagkit.corpus.records.dataset import LabelKinds, Split
from tagkit.corpus.splits.counts import several_classes
from tagkit.corpus.splits.splits import Corpus
from tagkit.evaluation.reports.class_report import ClassReport, make_class_report, with_areas
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.scores.metrics import Kind
from tagkit.evaluation.scores.node_scores import score_nodes
from tagkit.evaluation.scores.outcomes import Outcomes
from tagkit.features.batching.batch import Batch
from tagkit.features.batching.encoding import Encoded
from tagkit.features.batching.examples import Examples
from tagkit.features.batching.targets import Target, class_target
from tagkit.features.vocabulary import Vocabulary, most_frequent
from tagkit.models.answers.classes import ClassAnswers
from tagkit.models.answers.kind import CLASSES, AnswerKind, PredictionOptions
from tagkit.models.base.building import (
    build_embedding,
    build_encoder,
    build_others,
)
from tagkit.models.base.description import class_heads
from tagkit.models.base.model import Fitted, Member, Model, SentenceBatch
from tagkit.models.base.output import ModelOutput, require_number
from tagkit.models.base.readout import ClassReadout, Readout
from tagkit.models.base.task import Task
from tagkit.models.base.task_records import (
    FitCorpus,
    Labels,
    ModelContext,
    TrainingData,
)
from tagkit.models.classifying.class_head import build_class_head, fit_bag
from tagkit.models.classifying.trees import (
    NODES,
    node_labels,
    node_loss,
    node_probabilities,
    node_targets,
    resolved_tree,
    with_trees,
)
from tagkit.models.folder.parts import check_classes, check_features, check_no_tags
from tagkit.models.tagging.tag_outcomes import judged_classes
from tagkit.nn.heads.bag_of_words import log_scores
from tagkit.nn.heads.classification import ClassHead
from tagkit.nn.heads.temperature import UNCALIBRATED
from tagkit.nn.layers.embedding import TokenEmbedding
from tagkit.nn.layers.encoder import Encoder
from tagkit.nn.trees.encoder import TreeEncoder
from tagkit.text.records import LabelScore, Prediction, Sentence

# From this probability on a class is more probable than not. It is the default where a text may
# have several classes; where it has one, the most probable is taken, whatever its probability.
_EVEN = 0.5


class Classifier(Model):
    """Hidden states -> classes of the whole text."""

    text_targets = True

    def __init__(
        self,
        *,
        embed: TokenEmbedding,
        encoder: Encoder,
        class_head: ClassHead,
        others: Sequence[Member] = (),
    ) -> None:
        """`class_head` pools the states of `encoder` over the vectors of `embed`."""
        super().__init__(embed=embed, encoder=encoder, others=others)
        self.class_head = class_head

    def loss_of(self, states: Tensor, final: Tensor, batch: Batch[Tensor]) -> tuple[Tensor, Tensor]:
        """As described in `Model`: the loss of the classes; each text is one target."""
        if NODES in batch.targets:
            return node_loss(self.class_head, states, batch)
        classes = batch.target("classes")
        return self.class_head.loss(states, final, batch.tokens.mask, classes, batch.weights)

    def output_of(
        self, states: Tensor, final: Tensor, mask: Tensor, *, confidence: bool
    ) -> ModelOutput:
        """As described in `Model`: probabilities of the classes.

        `confidence` changes nothing: they cost nothing extra.
        """
        output = class_output(self.class_head, states, final, mask)
        if isinstance(self.encoder, TreeEncoder):
            return replace(output, node_probs=node_probabilities(self.class_head, states))
        return output

    def readouts(self, data: Encoded) -> Sequence[Readout]:
        """That of the classes."""
        return (ClassReadout(self.class_head),)

    def heads_by_name(self) -> Mapping[str, Any]:
        """The head of classes."""
        return {CLASSES: self.class_head}

    def fitted_parts(self) -> dict[str, Fitted]:
        """The linear model of words, where there is one."""
        return {"bag.": self.class_head.bag} if self.class_head.bag else {}

    def set_constants(self, config: Config, vocabulary: Vocabulary) -> None:
        """Equal weights of all classes: only the loss of training has others."""
        self.class_head.class_weights = torch.ones(len(vocabulary.classes))

    def head_labels(self, vocabulary: Vocabulary) -> Mapping[str, tuple[str, ...]]:
        """The classes."""
        return {"class_head.": vocabulary.classes}


def class_output(head: ClassHead, states: Tensor, final: Tensor, mask: Tensor) -> ModelOutput:
    """The output of a head of classes, on the CPU; see `Model.output_of`."""
    scores, attention = head.scores(states, final, mask)  # (batch, classes), (batch, time)
    raw = calibrated = head.probabilities(scores)
    if head.temperature != UNCALIBRATED:
        calibrated = head.probabilities(scores / head.temperature)
    return ModelOutput(
        class_probs=calibrated.cpu(),
        raw_class_probs=raw.cpu(),
        attention=None if attention is None else attention.cpu(),
    )


def resolved_classes(config: Config, corpus: Corpus) -> Config:
    """The configuration with whether a text may have several classes."""
    several = "yes" if several_classes(config, corpus.train) else "no"
    head = config.head.model_copy(update={"multi_label": several})
    return config.model_copy(update={"head": head})


def classes_of(sentences: Sequence[Sentence], others: Iterable[str] = ()) -> tuple[str, ...]:
    """The classes of texts, and of what else has some, the most frequent first."""
    return most_frequent(chain((each for s in sentences for each in s.labels), others))


def with_classes(
    predictions: Sequence[Prediction],
    context: ModelContext,
    output: ModelOutput,
    threshold: float | None,
) -> list[Prediction]:
    """Predictions with the classes of their texts.

    Args:
        predictions: of a batch's texts.
        context: the model.
        output: of the batch.
        threshold: probability from which on a class is among the labels, as it is shown; None for
            the configured one, which is of probabilities without a temperature.
    """
    output = _with_bag(context, output, predictions)
    assert output.class_probs is not None
    assert output.raw_class_probs is not None
    several = context.config.head.several_classes
    # Softmax or sigmoids were applied by the head: these are probabilities, (batch, classes).
    names, thresholds = context.vocabulary.classes, _thresholds(context, threshold)
    # A temperature changes no prediction: rank, and the model's own thresholds, are by what the
    # network gives. A threshold that a user gives is about the probabilities that a user sees.
    deciding = output.raw_class_probs if threshold is None else output.class_probs
    found = []
    for row, (prediction, probs) in enumerate(
        zip(predictions, output.class_probs.tolist(), strict=True)
    ):
        if context.checked:
            require_number(float(output.class_probs[row].sum()))
        raw, likely = output.raw_class_probs[row].tolist(), deciding[row].tolist()
        # Sorting is stable: classes with equal probabilities keep the order of their frequency.
        order = sorted(range(len(names)), key=lambda number: -raw[number])
        candidates = order if several else order[:1]
        attention = None  # (time,) shares that add up to 1 over the text's tokens
        if output.attention is not None:
            attention = _by_word(output.attention[row], prediction.words, context.vocabulary)
        found.append(
            replace(
                prediction,
                labels=tuple(names[at] for at in candidates if likely[at] >= thresholds[at]),
                scores=tuple(LabelScore(names[at], probs[at]) for at in order),
                attention=attention,
            )
        )
    return found


def _with_bag(
    context: ModelContext, output: ModelOutput, predictions: Sequence[Prediction]
) -> ModelOutput:
    """The output, where the head has a linear model of words, with the probabilities of both."""
    head = context.model.heads_by_name()[CLASSES]
    if head.bag is None:
        return output
    assert output.raw_class_probs is not None
    word_id = context.vocabulary.word_id
    texts = [
        np.fromiter(map(word_id, each.words), np.int64, len(each.words)) for each in predictions
    ]
    raw = calibrated = head.bag.multiplied(output.raw_class_probs, texts).cpu()
    if head.temperature != UNCALIBRATED:
        calibrated = head.probabilities(log_scores(raw, head.several) / head.temperature)
    return replace(output, class_probs=calibrated, raw_class_probs=raw)


def _by_word(
    attention: Tensor, words: tuple[str, ...], vocabulary: Vocabulary
) -> tuple[float, ...]:
    """The weight of each word: that of all its units, where the model reads units.

    Args:
        attention: (time,) weights of what the encoder reads, padding at the end.
        words: of the text.
        vocabulary: of the model.
    """
    weights = attention.tolist()
    if not vocabulary.reads_units:
        return tuple(weights[: len(words)])
    ends = [*accumulate(len(vocabulary.units_of(word)) for word in words)]
    return tuple(sum(weights[start:end]) for start, end in pairwise([0, *ends]))


def _thresholds(context: ModelContext, given: float | None) -> list[float]:
    """The probability from which on a text has each class."""
    head, classes = context.config.head, context.vocabulary.classes
    usual = _EVEN if head.several_classes else 0.0
    chosen = head.threshold if given is None else given
    if isinstance(chosen, dict):
        return [chosen.get(label, usual) for label in classes]
    return [usual if chosen is None else chosen] * len(classes)


def score_classes(
    context: ModelContext, split: Split, predictions: Sequence[Prediction]
) -> ClassReport:
    """A report of predicted classes."""
    gold = [sentence.labels for sentence in split.sentences]
    report = make_class_report(
        gold,
        [prediction.labels for prediction in predictions],
        several=context.config.head.several_classes,
        known=frozenset(context.vocabulary.classes),
    )
    report = with_areas(report, gold, (prediction.scores for prediction in predictions))
    trees = [prediction.tree for prediction in predictions]
    if all(tree is None for tree in trees):
        return report
    return replace(report, nodes=score_nodes([each.tree for each in split.sentences], trees))


def class_kind(config: Config) -> Kind:
    """What the classes of a resolved configuration are scored as."""
    return Kind.CLASSES if config.head.several_classes else Kind.CLASS


def class_answers(config: Config, vocabulary: Vocabulary) -> ClassAnswers:
    """The classes of a model."""
    # Sorted: columns of a table are the same in each process.
    return ClassAnswers(tuple(sorted(vocabulary.classes)), config.head.several_classes)


class ClassifyTask(Task):
    """Classes of whole texts."""

    needs = LabelKinds(tags=False, classes=True)
    is_whole = True
    unit = "text"
    reads_columns = False

    def resolve(self, config: Config, corpus: Corpus) -> Config:
        """Whether a text may have several classes, and which tree is read of it."""
        return resolved_tree(resolved_classes(config, corpus), corpus)

    def examples(self, config: Config, split: Split) -> list[Sentence]:
        """The texts as they are."""
        # However long: the encoder reads a text in segments of train.bptt tokens.
        return list(split.sentences)

    def labels(self, config: Config, sentences: Sequence[Sentence]) -> Labels:
        """The classes."""
        return Labels(classes=classes_of(sentences, node_labels(config, sentences)))

    def targets(
        self, sentences: Sequence[Sentence], vocabulary: Vocabulary
    ) -> Mapping[str, Target]:
        """The classes of each text."""
        return {"classes": class_target(sentences, vocabulary)}

    def encode(
        self,
        config: Config,
        sentences: Sequence[Sentence],
        vocabulary: Vocabulary,
        weights: Sequence[float] | None,
        beside: Mapping[str, Target] = MappingProxyType({}),
    ) -> Examples:
        """As described in `Task`; with the classes of nodes, where these are learnt."""
        beside = {**beside, **node_targets(config, sentences, vocabulary)}
        return super().encode(config, sentences, vocabulary, weights, beside)

    def build(
        self, config: Config, vocabulary: Vocabulary, data: TrainingData | None
    ) -> Classifier:
        """Embedding, encoder and a head of classes."""
        embed = build_embedding(config, vocabulary)
        encoder = build_encoder(config, embed.outputs)
        head = build_class_head(config, vocabulary, encoder.outputs, data)
        others = build_others(config, vocabulary, embed)
        return Classifier(embed=embed, encoder=encoder, class_head=head, others=others)

    def fit(self, model: Model, corpus: FitCorpus) -> None:
        """The linear model of words, where there is one."""
        assert isinstance(model, Classifier)
        fit_bag(model.class_head, corpus)

    def check(
        self, config: Config, vocabulary: Vocabulary, config_file: Path, vocabulary_file: Path
    ) -> None:
        """There are classes and no tags."""
        check_no_tags(config, vocabulary, vocabulary_file)
        check_classes(config, vocabulary.classes, config_file, vocabulary_file)
        check_features(config, vocabulary, vocabulary_file)

    def answers(self, config: Config, vocabulary: Vocabulary) -> AnswerKind:
        """Classes."""
        return class_answers(config, vocabulary)

    def decode(
        self,
        context: ModelContext,
        batch: SentenceBatch,
        options: PredictionOptions,
    ) -> list[Prediction]:
        """Classes with their probabilities."""
        # `confidence` asks for probabilities of tags; those of classes cost nothing extra.
        output = context.model.output(batch.tokens, batch.words, confidence=False)
        bare = [Prediction(sentence.words, ()) for sentence in batch.sentences]
        found = with_classes(bare, context, output, options.threshold)
        if not (shape := context.config.encoder.read_tree):
            return found
        classes = context.vocabulary.classes
        return with_trees(found, batch.sentences, shape, output, classes)

    def score(
        self,
        context: ModelContext,
        split: Split,
        predictions: Sequence[Prediction],
        *,
        strict: bool,
    ) -> Report:
        """Accuracy, and scores by class; `strict` is for spans."""
        return score_classes(context, split, predictions)

    def judged(
        self,
        context: ModelContext,
        split: Split,
        predictions: Sequence[Prediction],
        *,
        strict: bool,
    ) -> Mapping[str, Outcomes]:
        """The most probable class, or each class where a text may have several."""
        several = context.config.head.several_classes
        return {CLASSES: judged_classes(split, predictions, several=several)}

    def kinds(self, config: Config) -> Sequence[Kind]:
        """One class of each text, or several."""
        return [class_kind(config)]

    def heads(self, config: Config) -> tuple[str, ...]:
        """That of classes; dev is scored by accuracy, or F1 of texts with several classes."""
        return class_heads(config)
