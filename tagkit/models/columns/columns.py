"""Several tag columns at once: one encoder, and a head for each column.

    vectors -> encoder -> hidden states -> a head of UPOS, one of FEATS, one of LEMMA

One encoder for several annotations of the same words is multi-task learning with hard parameter
sharing (Caruana 1997); UDPipe 2 (Straka 2018) and Stanza (Qi et al. 2020) tag treebanks so. The
loss is the sum of the heads' losses. How a column's values are learnt is said by its codec
(`codecs/`). A configuration names the columns in `data.tag_column`, with task = "tag".
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tagkit.config import Config
from tagkit.corpus.records.dataset import LabelKinds, Split
from tagkit.corpus.splits.splits import Corpus
from tagkit.errors import BundleError
from tagkit.evaluation.reports.column_report import ColumnsReport, column_key
from tagkit.evaluation.reports.criterion import Criterion, find_column_criterion
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.scores.metrics import MEAN
from tagkit.evaluation.scores.outcomes import Outcomes
from tagkit.features.batching.batch import Batch, Tokens
from tagkit.features.batching.targets import Target
from tagkit.features.column_labels import ColumnLabels
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.answers.kind import AnswerKind, PredictionOptions
from tagkit.models.base.building import build_embedding, build_encoder, locked_dropout
from tagkit.models.base.description import Description, encoder_name
from tagkit.models.base.model import Model, SentenceBatch
from tagkit.models.base.output import ModelOutput
from tagkit.models.base.task import Task
from tagkit.models.base.task_records import Labels, ModelContext, TrainingData
from tagkit.models.columns.codecs import CODECS, codec_of
from tagkit.models.columns.codecs.codec import ColumnText
from tagkit.models.folder.parts import check_features, check_no_classes
from tagkit.models.tagging.tag_outcomes import judged_column
from tagkit.models.tagging.tagger import resolved_columns, tag_answers
from tagkit.nn.heads.tagging import Head
from tagkit.nn.layers.dropout import LockedDropout
from tagkit.nn.layers.embedding import TokenEmbedding
from tagkit.nn.layers.encoder import Encoder
from tagkit.nn.layers.inference import CachedWords
from tagkit.text.records import Alternative, Prediction, Sentence, Span, TagColumn
from tagkit.text.scheme_detection import count_steps, judge, scheme_of
from tagkit.text.schemes import PLAIN, has_spans, to_spans
from tagkit.text.windows import cut, join, windows
from tagkit.wording import quoted

# Metrics of every column, beside those of its codec.
_OF_WORDS = {
    "known_accuracy": "accuracy on known words",
    "unknown_accuracy": "accuracy on unknown words",
}


class ColumnTagger(Model):
    """Hidden states -> the values of several columns.

    A head reads the encoder's state of a token beside the token's own vector. A lemma or a feature
    often follows from the form alone, above all from its ending, which the state, made of the whole
    sentence, shows less exactly: UDPipe 2 gives its heads of lemmas the word's characters for that
    (Straka 2018).
    """

    reads_final = False

    def __init__(
        self,
        *,
        embed: TokenEmbedding,
        encoder: Encoder,
        heads: Sequence[nn.Module],
        columns: Sequence[ColumnLabels],
        dropout: float,
        weights: Sequence[float],
    ) -> None:
        """A model with several heads.

        Args:
            embed: gives vectors of words.
            encoder: gives hidden states.
            heads: of the columns, made by their codecs, over states and vectors side by side.
            columns: the labels of each.
            dropout: of the vectors that the heads read, the same features at all tokens.
            weights: of the columns' losses.
        """
        super().__init__(embed=embed, encoder=encoder)
        # By number: names of columns such as MISC.NER hold a dot, which names of modules may not.
        self.heads = nn.ModuleList(heads)
        self.columns = tuple(columns)
        self.dropout = LockedDropout(probability=dropout)
        self.weights = tuple(weights)

    def forward(self, batch: Batch[Tensor]) -> tuple[Tensor, Tensor]:
        """As in `Model`, with the vectors of the tokens beside their states."""
        inputs = self.inputs(batch)
        with self._watched() as penalties:
            topmost, last = self.read_layers(inputs, batch.tokens)
        states, final = self.encoder.output(
            topmost, last, batch.tokens.mask, final_is_read=self.reads_final
        )
        # In mixed precision too: sums over all paths need all digits.
        with torch.autocast(states.device.type, enabled=False):
            total, count = self.loss_of(self._beside(states, inputs), final.float(), batch)
        return self._regularised(total, penalties), count

    def read(self, tokens: Tokens[Tensor], words: CachedWords) -> tuple[Tensor, Tensor]:
        """As in `Model`, with the vectors of the tokens beside their states."""
        states, final = super().read(tokens, words)
        inputs = self.token_inputs(words.vectors, tokens)
        return self._beside(states, inputs), final

    def _beside(self, states: Tensor, inputs: Tensor) -> Tensor:
        # (batch, time, hidden) and (batch, time, features) -> (batch, time, hidden + features)
        return torch.cat((states.float(), self.dropout(inputs.float())), dim=2)

    def loss_of(self, states: Tensor, final: Tensor, batch: Batch[Tensor]) -> tuple[Tensor, Tensor]:
        """As described in `Model`: the weighted sum of all columns; each token is one target."""
        mask = batch.tokens.mask
        losses = [
            weight * head(states, mask, batch.target(labels.name), batch.weights)[0]
            for head, labels, weight in zip(self.heads, self.columns, self.weights, strict=True)
        ]
        return torch.stack(losses).sum(), mask.sum()

    def output_of(
        self, states: Tensor, final: Tensor, mask: Tensor, *, confidence: bool
    ) -> ModelOutput:
        """As described in `Model`: the output of every head."""
        return ModelOutput(
            columns=tuple(
                CODECS[labels.codec].output(head, states, mask, confidence=confidence)
                for head, labels in zip(self.heads, self.columns, strict=True)
            )
        )

    def heads_by_name(self) -> Mapping[str, Any]:
        """The head of each column, by the column's name."""
        return {labels.name: head for labels, head in zip(self.columns, self.heads, strict=True)}

    def set_constants(self, config: Config, vocabulary: Vocabulary) -> None:
        """Those of every head."""
        for head, labels in zip(self.heads, self.columns, strict=True):
            CODECS[labels.codec].set_constants(head, config, labels)

    def head_labels(self, vocabulary: Vocabulary) -> Mapping[str, tuple[str, ...]]:
        """The rows of each head; they begin with the column's name, which is not the head's."""
        return {
            f"heads.{number}.": tuple(
                f"{labels.name} {row}" for row in CODECS[labels.codec].rows(labels)
            )
            for number, labels in enumerate(vocabulary.columns)
        }


class ColumnsTask(Task):
    """The values of several columns of each token."""

    needs = LabelKinds(tags=True, classes=False)
    is_whole = False

    def resolve(self, config: Config, corpus: Corpus) -> Config:
        """Places of the columns that are read, and the scheme of the first tag column.

        Raises:
            DataError: tags of a column are neither those of spans nor plain labels.
        """
        for split in (corpus.train, corpus.dev, corpus.test):
            if split is not None:
                check_schemes(split, config)
        return resolved_columns(config, corpus)

    def examples(self, config: Config, split: Split) -> list[Sentence]:
        """The sentences; long ones in windows, as in prediction."""
        # Values stay as they are read: each codec turns them into what it learns.
        longest = config.data.max_length
        return [
            sentence if len(sentence) <= longest else cut(sentence, window)
            for sentence in split.sentences
            for window in windows(len(sentence), longest)
        ]

    def labels(self, config: Config, sentences: Sequence[Sentence]) -> Labels:
        """Those of each column."""
        found = []
        for place, column in enumerate(config.data.tag_columns):
            text, codec = _text(sentences, place), codec_of(column)
            scheme = PLAIN
            if codec == "tags":
                # Of the first column it is known: the user may have named it.
                named = config.data.scheme if place == 0 else "auto"
                scheme = judge(count_steps(text.values), named).scheme
            learnt = config.data.train_scheme if has_spans(scheme) else PLAIN
            parts = CODECS[codec].labels(learnt, text)
            found.append(ColumnLabels(str(column), codec, scheme, learnt, parts))
        return Labels(columns=tuple(found))

    def targets(
        self, sentences: Sequence[Sentence], vocabulary: Vocabulary
    ) -> Mapping[str, Target]:
        """The value of each column at each token, by the column's name."""
        return {
            labels.name: Target(
                CODECS[labels.codec].target(labels, _text(sentences, place)), "token"
            )
            for place, labels in enumerate(vocabulary.columns)
        }

    def begin_step(self, model: Model, step: int) -> None:
        """The training of heads of tags may change from step to step."""
        assert isinstance(model, ColumnTagger)
        for head in model.heads:
            if isinstance(head, Head):
                head.step = step

    def build(
        self, config: Config, vocabulary: Vocabulary, data: TrainingData | None
    ) -> ColumnTagger:
        """Embedding, encoder and a head for each column."""
        embed = build_embedding(config, vocabulary)
        encoder = build_encoder(config, embed.outputs)
        inputs = encoder.outputs + embed.outputs
        # In the order of the columns, which is that in which weights are drawn.
        heads = [
            CODECS[labels.codec].build(config, labels, inputs, data)
            for labels in vocabulary.columns
        ]
        return ColumnTagger(
            embed=embed,
            encoder=encoder,
            heads=heads,
            columns=vocabulary.columns,
            dropout=locked_dropout(config),
            weights=[
                config.head.column_weights.get(labels.name, 1.0) for labels in vocabulary.columns
            ],
        )

    def check(
        self, config: Config, vocabulary: Vocabulary, config_file: Path, vocabulary_file: Path
    ) -> None:
        """There are labels of each column that the configuration names, and no classes."""
        named = [str(column) for column in config.data.tag_columns]
        found = [labels.name for labels in vocabulary.columns]
        if named != found:
            raise BundleError(
                f"{vocabulary_file}: expected labels of the columns {', '.join(named)}, as "
                f"data.tag_column has, found {', '.join(found) or 'none'}"
            )
        for labels in vocabulary.columns:
            if labels.codec not in CODECS:
                raise BundleError(
                    f"{vocabulary_file}: expected one of {', '.join(CODECS)} as codec of the "
                    f"column {labels.name}, found {quoted(labels.codec)}"
                )
            CODECS[labels.codec].check(config, labels, config_file, vocabulary_file)
        check_no_classes(config, vocabulary, vocabulary_file)
        check_features(config, vocabulary, vocabulary_file)

    def answers(self, config: Config, vocabulary: Vocabulary) -> AnswerKind:
        """The values of each column."""
        return tag_answers(config, vocabulary)

    def decode(
        self,
        context: ModelContext,
        batch: SentenceBatch,
        options: PredictionOptions,
    ) -> list[Prediction]:
        """The values of all columns; the spans are those of the first column that has spans."""
        output = context.model.output(batch.tokens, batch.words, confidence=options.confidence)
        columns = context.vocabulary.columns
        # For each column the values of each sentence.
        decoded = [
            CODECS[labels.codec].decode(labels, found, batch.sentences)
            for labels, found in zip(columns, output.columns, strict=True)
        ]
        spans = decoded[_spans_column(columns)]
        return [
            _prediction(sentence.words, tuple(each.column for each in found), of_spans.spans)
            for sentence, of_spans, *found in zip(batch.sentences, spans, *decoded, strict=True)
        ]

    def join(
        self, context: ModelContext, words: tuple[str, ...], parts: Sequence[tuple[int, Prediction]]
    ) -> Prediction:
        """Each column's values joined by themselves, where no span of that column is cut."""
        columns = context.vocabulary.columns
        with_spans = _spans_column(columns)
        joined = []
        for place, labels in enumerate(columns):
            of_column = []
            for start, part in parts:
                values, spans = part.columns[place].values, part.spans
                if place != with_spans:
                    spans = to_spans(values) if has_spans(labels.scheme) else ()
                probabilities = part.columns[place].probabilities
                of_column.append((start, Prediction(part.words, values, spans, probabilities)))
            joined.append(join(words, of_column, labels.scheme))
        found = tuple(
            TagColumn(labels.name, each.tags, each.probabilities)
            for labels, each in zip(columns, joined, strict=True)
        )
        return _prediction(words, found, joined[with_spans].spans)

    @torch.inference_mode()
    def n_best(
        self,
        context: ModelContext,
        batch: SentenceBatch,
        count: int,
    ) -> list[list[Alternative]]:
        """The best sequences of the first column.

        Raises:
            DataError: it is no column of tags.
        """
        model = context.model
        assert isinstance(model, ColumnTagger)
        states, _ = model.read(batch.tokens, batch.words)  # (batch, time, hidden)
        labels = context.vocabulary.columns[0]
        mask = batch.tokens.mask
        return CODECS[labels.codec].n_best(model.heads[0], labels, states, mask, count)

    def score(
        self,
        context: ModelContext,
        split: Split,
        predictions: Sequence[Prediction],
        *,
        strict: bool,
    ) -> Report:
        """A report on each column."""
        columns = context.vocabulary.columns
        forms = frozenset(context.vocabulary.forms)
        return ColumnsReport(
            tuple(
                CODECS[labels.codec].score(
                    labels,
                    _text(split.sentences, place),
                    [prediction.columns[place].values for prediction in predictions],
                    forms,
                    strict=strict,
                )
                for place, labels in enumerate(columns)
            )
        )

    def judged(
        self,
        context: ModelContext,
        split: Split,
        predictions: Sequence[Prediction],
        *,
        strict: bool,
    ) -> Mapping[str, Outcomes]:
        """Spans of the first column that has spans; of every other column its values."""
        columns = context.vocabulary.columns
        with_spans = _spans_column(columns)
        return {
            labels.name: judged_column(
                split,
                predictions,
                place,
                scheme=labels.scheme if place == with_spans else PLAIN,
                strict=strict,
            )
            for place, labels in enumerate(columns)
        }

    def known_labels(self, context: ModelContext) -> frozenset[str]:
        """Those of the first column, which is `tags` of a sentence."""
        labels = context.vocabulary.columns[0]
        return CODECS[labels.codec].known(labels)

    def criterion(self, config: Config) -> Criterion:
        """The mean of the columns' headlines, or a column's metric: UPOS_accuracy."""
        names = {
            column_key(str(column), key): f"{column} {name}"
            for column in config.data.tag_columns
            for key, name in {**CODECS[codec_of(column)].metric_names(), **_OF_WORDS}.items()
        }
        return find_column_criterion(config.train.metric, names, self.describe(config).measure)

    def describe(self, config: Config) -> Description:
        """A head for each column; dev is scored by the mean of their headlines."""
        columns = config.data.tag_columns
        codecs = {column: CODECS[codec_of(column)] for column in columns}
        return Description(
            encoder=encoder_name(config),
            heads=tuple(f"{codec.head_name(config)} of {name}" for name, codec in codecs.items()),
            unit="sentence",
            measure=MEAN,
            columns={
                column_key(str(name), next(iter(codec.metrics))): str(name)
                for name, codec in codecs.items()
            },
            reads_columns=True,
        )


def check_schemes(split: Split, config: Config) -> None:
    """Raise where the tags of a further column are neither those of spans nor plain labels.

    Raises:
        DataError: they are not. The first column was checked when it was read.
    """
    for place, column in enumerate(config.data.tag_columns[1:], 1):
        if codec_of(column) == "tags":
            tagged = (
                replace(sentence, tags=sentence.columns[place].values)
                for sentence in split.sentences
            )
            scheme_of(tuple(tagged), split.path)


def _text(sentences: Sequence[Sentence], place: int) -> ColumnText:
    """The values of the column at this place."""
    return ColumnText(
        [sentence.words for sentence in sentences],
        [sentence.columns[place].values for sentence in sentences],
    )


def _spans_column(columns: Sequence[ColumnLabels]) -> int:
    """The first column whose values are tags of spans; the first of all where none is."""
    return next((at for at, labels in enumerate(columns) if has_spans(labels.scheme)), 0)


def _prediction(
    words: tuple[str, ...], columns: tuple[TagColumn, ...], spans: tuple[Span, ...]
) -> Prediction:
    first = columns[0]
    return Prediction(words, first.values, spans, first.probabilities, columns=columns)
