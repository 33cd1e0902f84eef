"""The task "tag": a tag of each token, and the spans that the tags mean.

    vectors -> encoder -> hidden states -> nn/heads -> emissions -> nn/crf -> path of tags

(Jurafsky and Martin, "Sequence Labeling for Parts of Speech and Named Entities" and "RNNs and
LSTMs", section on sequence labeling; Huang et al. 2015; Lample et al. 2016.)
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tagkit.config import Config, training_scheme
from tagkit.corpus.records.dataset import LabelKinds, Split
from tagkit.corpus.splits.splits import Corpus, for_training
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.scores.metrics import Kind
from tagkit.evaluation.scores.outcomes import Outcomes
from tagkit.features.batching.batch import Batch
from tagkit.features.batching.encoding import Encoded
from tagkit.features.batching.targets import Target, tag_target
from tagkit.features.vocabulary import Vocabulary, most_frequent
from tagkit.models.answers.kind import TAGS, AnswerKind, PredictionOptions
from tagkit.models.answers.tags import TagAnswers
from tagkit.models.base.building import (
    build_embedding,
    build_encoder,
    build_feature_crf,
    build_others,
)
from tagkit.models.base.description import tag_heads
from tagkit.models.base.model import Member, Model, SentenceBatch
from tagkit.models.base.output import ModelOutput
from tagkit.models.base.readout import Readout, TagReadout
from tagkit.models.base.task import Task
from tagkit.models.base.task_records import (
    FitCorpus,
    Labels,
    ModelContext,
    TrainingData,
)
from tagkit.models.folder.parts import check_features, check_no_classes, check_tags
from tagkit.models.tagging.feature_crf import fit_feature_crf
from tagkit.models.tagging.tag_head import (
    build_tag_head,
    continuations,
    gold_paths,
    set_head_constants,
    stretch_probabilities,
    tag_alternatives,
    tag_predictions,
)
from tagkit.models.tagging.tag_outcomes import judged_tags
from tagkit.models.tagging.tag_scoring import known_labels, score_tags, tag_kind
from tagkit.nn.crf.chain import Chain
from tagkit.nn.feature_crf.feature_crf import FeatureCrf
from tagkit.nn.heads.tagging import ChainHead, Head, ProductHead
from tagkit.nn.heads.viterbi import estimate_bigrams
from tagkit.nn.layers.embedding import TokenEmbedding
from tagkit.nn.layers.encoder import Encoder
from tagkit.text.notation import USUAL
from tagkit.text.records import Alternative, Prediction, Sentence
from tagkit.text.schemes import OUTSIDE, has_spans
from tagkit.text.windows import join


class Tagger(Model):
    """Hidden states -> tags."""

    reads_final = False
    continuation: Tensor

    def __init__(
        self,
        *,
        embed: TokenEmbedding,
        encoder: Encoder,
        head: Head,
        continuation: Tensor,
        feature_crf: FeatureCrf | None = None,
        others: Sequence[Member] = (),
    ) -> None:
        """A model with one head.

        Args:
            embed: gives vectors of words.
            encoder: gives hidden states.
            head: of tags.
            continuation: (tags,) id of the tag that continues each tag's span, or -1.
            feature_crf: whose scores are added in prediction; None in most models.
            others: further members of an ensemble.
        """
        super().__init__(embed=embed, encoder=encoder, others=others)
        self.head = head
        self.feature_crf = feature_crf
        # Not saved: it follows from the tags.
        self.register_buffer("continuation", continuation, persistent=False)

    def loss_of(self, states: Tensor, final: Tensor, batch: Batch[Tensor]) -> tuple[Tensor, Tensor]:
        """As described in `Model`: the loss of the tags; each token is one target."""
        # Called as a module, not by `loss`: a batch's own mask needs no check.
        found: tuple[Tensor, Tensor] = self.head(
            states, batch.tokens.mask, batch.target("tags"), batch.weights
        )
        return found

    def output_of(
        self,
        states: Tensor,
        final: Tensor,
        mask: Tensor,
        *,
        confidence: bool,
        beside: Chain | None = None,
    ) -> ModelOutput:
        """The best paths, and with `confidence` the probabilities of their tags and spans.

        As described in `Model`; `beside` is what `feature_crf` gives of the same sentences.
        """
        head = self.head_beside(beside)
        tag_ids = head.decode(states, mask)  # (batch, time)
        if not confidence:
            return ModelOutput(tag_ids=tag_ids.cpu())
        found = head.confidence(states, mask, tag_ids, self.continuation)
        return ModelOutput(tag_ids=tag_ids.cpu(), confidence=found)

    def head_beside(self, beside: Chain | None) -> Head | ProductHead:
        """What predicts: the head, or its product with what `feature_crf` gives."""
        if beside is None:
            return self.head
        assert isinstance(self.head, ChainHead)
        assert self.feature_crf is not None
        return ProductHead(self.head, beside, float(self.feature_crf.share))

    def readouts(self, data: Encoded) -> Sequence[Readout]:
        """That of the tags; none of a head whose scores are not linear in the states."""
        if not isinstance(self.head, ChainHead):
            return ()
        bigrams = estimate_bigrams(data.paths("tags"), self.head.linear.out_features)
        return (TagReadout(self.head, bigrams),)

    def heads_by_name(self) -> Mapping[str, Any]:
        """The head of tags."""
        return {TAGS: self.head}

    def set_constants(self, config: Config, vocabulary: Vocabulary) -> None:
        """Forbidden steps, and the tags that continue a span."""
        self.continuation = continuations(vocabulary.tags, training_scheme(config))
        set_head_constants(self.head, config, vocabulary.tags)

    def head_labels(self, vocabulary: Vocabulary) -> Mapping[str, tuple[str, ...]]:
        """The tags."""
        return {"head.": vocabulary.tags}


def resolved_columns(config: Config, corpus: Corpus) -> Config:
    """The configuration with the corpus's scheme, and its columns counted from the left."""
    data: dict[str, object] = {"scheme": corpus.scheme}
    if config.data.notation != "auto" or corpus.train.notation != USUAL:
        data["notation"] = str(corpus.train.notation)
    if corpus.layout is not None:
        # -1 is another column in a file with more of them, such as one without tags.
        width = corpus.layout.width
        given = config.data.token_column
        data["token_column"] = given % width if isinstance(given, int) else given
        for name in ("feature_columns", "vector_columns"):
            data[name] = tuple(
                column % width if isinstance(column, int) else column
                for column in getattr(config.data, name)
            )
    return config.model_copy(update={"data": config.data.model_copy(update=data)})


def tags_of(config: Config, sentences: Sequence[Sentence]) -> tuple[str, ...]:
    """The tags of sentences in the training scheme, the most frequent first."""
    tags = most_frequent(chain.from_iterable(sentence.tags or () for sentence in sentences))
    if has_spans(training_scheme(config)) and OUTSIDE not in tags:
        tags = (OUTSIDE, *tags)  # without it a scheme may leave short sentences no legal path
    return tags


def tag_output(
    context: ModelContext, batch: SentenceBatch, options: PredictionOptions
) -> ModelOutput:
    """What the heads of a tagger give of a batch's sentences."""
    model = context.model
    assert isinstance(model, Tagger)
    return model.output_of(
        *batch.read(model),
        batch.tokens.mask,
        confidence=options.confidence,
        beside=_beside(context, batch),
    )


def _beside(context: ModelContext, batch: SentenceBatch) -> Chain | None:
    model = context.model
    assert isinstance(model, Tagger)
    emissions = batch.score_features(model.feature_crf)
    if emissions is None:
        return None
    assert model.feature_crf is not None
    return model.feature_crf.chain(emissions, batch.tokens.mask)


def tag_answers(config: Config, vocabulary: Vocabulary) -> TagAnswers:
    """The tags of a model, and where they go."""
    return TagAnswers(config.data, has_spans(config.data.scheme), vocabulary.columns)


class TagTask(Task):
    """A tag of each token."""

    needs = LabelKinds(tags=True, classes=False)
    is_whole = False

    def resolve(self, config: Config, corpus: Corpus) -> Config:
        """Scheme and columns."""
        return resolved_columns(config, corpus)

    def examples(self, config: Config, split: Split) -> list[Sentence]:
        """Sentences in the training scheme; long ones in windows, as in prediction."""
        # Gradients and memory grow with the longest sentence of a batch.
        scheme, longest = training_scheme(config), config.data.max_length
        return for_training(split.sentences, scheme, longest)

    def labels(self, config: Config, sentences: Sequence[Sentence]) -> Labels:
        """The tags."""
        return Labels(tags=tags_of(config, sentences))

    def targets(
        self, sentences: Sequence[Sentence], vocabulary: Vocabulary
    ) -> Mapping[str, Target]:
        """The tag of each token."""
        return {"tags": tag_target(sentences, vocabulary)}

    def begin_step(self, model: Model, step: int) -> None:
        """The head's training may change from step to step."""
        assert isinstance(model, Tagger)
        model.head.step = step

    def build(self, config: Config, vocabulary: Vocabulary, data: TrainingData | None) -> Tagger:
        """Embedding, encoder and a head of tags."""
        embed = build_embedding(config, vocabulary)
        encoder = build_encoder(config, embed.outputs)
        return Tagger(
            embed=embed,
            encoder=encoder,
            head=build_tag_head(config, vocabulary, encoder.outputs, data),
            continuation=continuations(vocabulary.tags, training_scheme(config)),
            feature_crf=build_feature_crf(config, vocabulary),
            others=build_others(config, vocabulary, embed),
        )

    def fit(self, model: Model, corpus: FitCorpus) -> None:
        """The CRF of word features, where there is one."""
        assert isinstance(model, Tagger)
        if model.feature_crf is not None:
            fit_feature_crf(model.feature_crf, model, corpus, model.head.tag_weights)

    def check(
        self, config: Config, vocabulary: Vocabulary, config_file: Path, vocabulary_file: Path
    ) -> None:
        """There are tags of the training scheme, and no classes."""
        check_tags(config, vocabulary.tags, config_file, vocabulary_file)
        check_no_classes(config, vocabulary, vocabulary_file)
        check_features(config, vocabulary, vocabulary_file)

    def answers(self, config: Config, vocabulary: Vocabulary) -> AnswerKind:
        """Tags, and the spans that they mean."""
        return tag_answers(config, vocabulary)

    @torch.inference_mode()
    def decode(
        self, context: ModelContext, batch: SentenceBatch, options: PredictionOptions
    ) -> list[Prediction]:
        """Tags and spans."""
        output = tag_output(context, batch, options)
        return tag_predictions(context, output, batch.sentences)

    def join(
        self, context: ModelContext, words: tuple[str, ...], parts: Sequence[tuple[int, Prediction]]
    ) -> Prediction:
        """The tags of the windows, joined where no span is cut."""
        return join(words, parts, context.config.data.scheme)

    def known_labels(self, context: ModelContext) -> frozenset[str]:
        """Types of spans, or plain labels."""
        return known_labels(context)

    @torch.inference_mode()
    def n_best(
        self, context: ModelContext, batch: SentenceBatch, count: int
    ) -> list[list[Alternative]]:
        """The best paths of the head."""
        model = context.model
        assert isinstance(model, Tagger)
        states, _ = batch.read(model)  # (batch, time, hidden)
        lengths = [len(sentence) for sentence in batch.sentences]
        head = model.head_beside(_beside(context, batch))
        paths, log_probs = head.n_best(states, batch.tokens.mask, count)
        return tag_alternatives(context, paths, log_probs, lengths)

    @torch.inference_mode()
    def stretch_probabilities(
        self,
        context: ModelContext,
        batch: SentenceBatch,
        stretches: Sequence[Sequence[tuple[int, int]]],
    ) -> list[list[float]]:
        """From the factors of the tags' path, as the probabilities of predicted spans are."""
        model = context.model
        assert isinstance(model, Tagger)
        states, _ = batch.read(model)  # (batch, time, hidden)
        mask = batch.tokens.mask
        paths, learnt = gold_paths(context, batch.sentences, mask)
        head = model.head_beside(_beside(context, batch))
        found = head.confidence(states, mask, paths, model.continuation)
        return stretch_probabilities(found, learnt, stretches)

    def score(
        self,
        context: ModelContext,
        split: Split,
        predictions: Sequence[Prediction],
        *,
        strict: bool,
    ) -> Report:
        """Precision, recall and F1 of spans, or accuracy of plain labels."""
        return score_tags(context, split, predictions, strict=strict)

    def judged(
        self,
        context: ModelContext,
        split: Split,
        predictions: Sequence[Prediction],
        *,
        strict: bool,
    ) -> Mapping[str, Outcomes]:
        """Spans, or plain labels of tokens."""
        return {TAGS: judged_tags(split, predictions, strict=strict)}

    def kinds(self, config: Config) -> Sequence[Kind]:
        """Spans, or plain labels of tokens."""
        return [tag_kind(config)]

    def heads(self, config: Config) -> tuple[str, ...]:
        """One; dev is scored by the F1 of spans, or by accuracy."""
        return tag_heads(config)
