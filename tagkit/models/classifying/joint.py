"""The task "both": tags of the tokens and classes of the whole text, from one encoder.

Intents and slots are the usual case (Hakkani-Tür et al. 2016; Liu and Lane 2016). The loss is that
of a text's tags and class together,

    -log p(tags | x) - log p(class | x)
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tagkit.config import Config, training_scheme
from tagkit.corpus.records.dataset import LabelKinds, Split
from tagkit.corpus.splits.splits import Corpus, for_training
from tagkit.evaluation.reports.class_report import JointReport, whole_accuracy
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.scores.metrics import Kind
from tagkit.evaluation.scores.outcomes import Outcomes
from tagkit.features.batching.batch import Batch
from tagkit.features.batching.encoding import Encoded
from tagkit.features.batching.targets import Target, class_target, tag_target
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.answers.kind import CLASSES, AnswerKind, PredictionOptions
from tagkit.models.answers.tags import JointAnswers
from tagkit.models.base.building import (
    build_embedding,
    build_encoder,
    build_feature_crf,
    build_others,
)
from tagkit.models.base.description import (
    class_heads,
    tag_heads,
)
from tagkit.models.base.model import Fitted, Member, Model, SentenceBatch
from tagkit.models.base.output import ModelOutput
from tagkit.models.base.readout import ClassReadout, Readout
from tagkit.models.base.task_records import (
    FitCorpus,
    Labels,
    ModelContext,
    TrainingData,
)
from tagkit.models.classifying.class_head import build_class_head, fit_bag
from tagkit.models.classifying.classifier import (
    class_answers,
    class_kind,
    class_output,
    classes_of,
    resolved_classes,
    score_classes,
    with_classes,
)
from tagkit.models.folder.parts import check_classes, check_features, check_tags
from tagkit.models.tagging.tag_head import build_tag_head, continuations, tag_predictions
from tagkit.models.tagging.tag_outcomes import judged_classes
from tagkit.models.tagging.tag_scoring import score_tags, tag_kind, tags_in
from tagkit.models.tagging.tagger import (
    Tagger,
    TagTask,
    resolved_columns,
    tag_answers,
    tag_output,
    tags_of,
)
from tagkit.nn.crf.chain import Chain
from tagkit.nn.feature_crf.feature_crf import FeatureCrf
from tagkit.nn.heads.classification import ClassHead
from tagkit.nn.heads.tagging import Head
from tagkit.nn.layers.embedding import TokenEmbedding
from tagkit.nn.layers.encoder import Encoder
from tagkit.text.records import Prediction, Sentence
from tagkit.text.schemes import PLAIN, has_spans


class JointModel(Tagger):
    """Hidden states -> tags, and classes of the whole text."""

    reads_final = True

    def __init__(
        self,
        *,
        embed: TokenEmbedding,
        encoder: Encoder,
        head: Head,
        class_head: ClassHead,
        continuation: Tensor,
        feature_crf: FeatureCrf | None = None,
        others: Sequence[Member] = (),
    ) -> None:
        """A model with two heads.

        Args:
            embed: gives vectors of words.
            encoder: gives hidden states.
            head: of tags.
            class_head: of classes.
            continuation: (tags,) id of the tag that continues each tag's span, or -1.
            feature_crf: as of `Tagger`.
            others: further members of an ensemble.
        """
        super().__init__(
            embed=embed,
            encoder=encoder,
            head=head,
            continuation=continuation,
            feature_crf=feature_crf,
            others=others,
        )
        self.class_head = class_head

    def loss_of(self, states: Tensor, final: Tensor, batch: Batch[Tensor]) -> tuple[Tensor, Tensor]:
        """As described in `Model`: the weighted sum of both losses; each token is one target."""
        # Both losses are sums over the batch. They are divided by the number of tokens, so that a
        # text's tags weigh as they do without classes.
        mask = batch.tokens.mask
        classes = batch.target("classes")
        of_classes, _ = self.class_head.loss(states, final, mask, classes, batch.weights)
        of_tags, tokens = super().loss_of(states, final, batch)
        return of_tags + of_classes, tokens

    def output_of(
        self,
        states: Tensor,
        final: Tensor,
        mask: Tensor,
        *,
        confidence: bool,
        beside: Chain | None = None,
    ) -> ModelOutput:
        """As described in `Model`: the output of both heads; `beside` as in `Tagger`."""
        tags = super().output_of(states, final, mask, confidence=confidence, beside=beside)
        classes = class_output(self.class_head, states, final, mask)
        return replace(
            tags,
            class_probs=classes.class_probs,
            raw_class_probs=classes.raw_class_probs,
            attention=classes.attention,
        )

    def readouts(self, data: Encoded) -> Sequence[Readout]:
        """Those of both heads."""
        return (*super().readouts(data), ClassReadout(self.class_head))

    def heads_by_name(self) -> Mapping[str, Any]:
        """Both heads."""
        return {**super().heads_by_name(), CLASSES: self.class_head}

    def fitted_parts(self) -> dict[str, Fitted]:
        """Those of a tagger, and the linear model of words."""
        own = {"bag.": self.class_head.bag} if self.class_head.bag else {}
        return {**super().fitted_parts(), **own}

    def set_constants(self, config: Config, vocabulary: Vocabulary) -> None:
        """Those of both heads."""
        super().set_constants(config, vocabulary)
        self.class_head.class_weights = torch.ones(len(vocabulary.classes))

    def head_labels(self, vocabulary: Vocabulary) -> Mapping[str, tuple[str, ...]]:
        """Tags and classes."""
        return {**super().head_labels(vocabulary), "class_head.": vocabulary.classes}


class JointTask(TagTask):
    """Tags of tokens and classes of the texts that they make up."""

    needs = LabelKinds(tags=True, classes=True)
    is_whole = True

    def resolve(self, config: Config, corpus: Corpus) -> Config:
        """Scheme, columns, and whether a text may have several classes."""
        # The scheme is that of the tags; classes have none.
        return resolved_columns(resolved_classes(config, corpus), corpus)

    def examples(self, config: Config, split: Split) -> list[Sentence]:
        """Texts in the training scheme. A class is of the whole text, so none is cut."""
        return for_training(split.sentences, training_scheme(config), None)

    def labels(self, config: Config, sentences: Sequence[Sentence]) -> Labels:
        """Tags and classes."""
        return Labels(tags_of(config, sentences), classes_of(sentences))

    def targets(
        self, sentences: Sequence[Sentence], vocabulary: Vocabulary
    ) -> Mapping[str, Target]:
        """The tag of each token and the classes of each text."""
        return {
            "tags": tag_target(sentences, vocabulary),
            "classes": class_target(sentences, vocabulary),
        }

    def build(
        self, config: Config, vocabulary: Vocabulary, data: TrainingData | None
    ) -> JointModel:
        """Embedding, encoder, a head of tags and one of classes."""
        embed = build_embedding(config, vocabulary)
        encoder = build_encoder(config, embed.outputs)
        return JointModel(
            embed=embed,
            encoder=encoder,
            # The head of tags draws its weights first; see `build_embedding`.
            head=build_tag_head(config, vocabulary, encoder.outputs, data),
            class_head=build_class_head(config, vocabulary, encoder.outputs, data),
            continuation=continuations(vocabulary.tags, training_scheme(config)),
            feature_crf=build_feature_crf(config, vocabulary),
            others=build_others(config, vocabulary, embed),
        )

    def fit(self, model: Model, corpus: FitCorpus) -> None:
        """The CRF of word features and the linear model of words, where they are there."""
        super().fit(model, corpus)
        assert isinstance(model, JointModel)
        fit_bag(model.class_head, corpus)

    def check(
        self, config: Config, vocabulary: Vocabulary, config_file: Path, vocabulary_file: Path
    ) -> None:
        """There are tags of the training scheme, and classes."""
        check_tags(config, vocabulary.tags, config_file, vocabulary_file)
        check_classes(config, vocabulary.classes, config_file, vocabulary_file)
        check_features(config, vocabulary, vocabulary_file)

    def answers(self, config: Config, vocabulary: Vocabulary) -> AnswerKind:
        """Tags and classes."""
        tags = tag_answers(config, vocabulary)
        of_text = class_answers(config, vocabulary)
        return JointAnswers(tags.data, tags.spans, tags.columns, of_text)

    @torch.inference_mode()
    def decode(
        self, context: ModelContext, batch: SentenceBatch, options: PredictionOptions
    ) -> list[Prediction]:
        """Tags, spans and classes."""
        output = tag_output(context, batch, options)
        tagged = tag_predictions(context, output, batch.sentences)
        return with_classes(tagged, context, output, options.threshold)

    def score(
        self,
        context: ModelContext,
        split: Split,
        predictions: Sequence[Prediction],
        *,
        strict: bool,
    ) -> Report:
        """Both reports, and the share of texts that are right as a whole."""
        # The last is called sentence-level semantic frame accuracy where slots are filled
        # (Goo et al. 2018).
        scheme = split.scheme or PLAIN
        whole = whole_accuracy(
            [sentence.tags or () for sentence in split.sentences],
            [tags_in(context.config, prediction, scheme) for prediction in predictions],
            [sentence.labels for sentence in split.sentences],
            [prediction.labels for prediction in predictions],
            plain=not has_spans(scheme),
        )
        tags = score_tags(context, split, predictions, strict=strict)
        return JointReport(tags, score_classes(context, split, predictions), whole)

    def judged(
        self,
        context: ModelContext,
        split: Split,
        predictions: Sequence[Prediction],
        *,
        strict: bool,
    ) -> Mapping[str, Outcomes]:
        """Those of both heads."""
        several = context.config.head.several_classes
        return {
            **super().judged(context, split, predictions, strict=strict),
            CLASSES: judged_classes(split, predictions, several=several),
        }

    def kinds(self, config: Config) -> Sequence[Kind]:
        """Those of the tags, then those of the classes."""
        return [tag_kind(config), class_kind(config)]

    def heads(self, config: Config) -> tuple[str, ...]:
        """Two; dev is scored by the mean of their headlines."""
        return (*tag_heads(config), *class_heads(config))
