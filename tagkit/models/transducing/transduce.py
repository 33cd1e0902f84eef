"""The task "transduce": a string for a string, in units of their own.

    p(y | x) = product over i of p(y[i] | y[1..i-1], x)

(Jurafsky and Martin 2024, eq. 13.31, sections 13.7 and 13.8; Goodfellow, Bengio and Courville,
section 10.4.) A corpus is read by `corpus/splits/pairs.py` and cut into units by
`features/pair_reading.py`; `nn/decoder` is the network, and `nn/search/strings.py` finds the most
probable string.

    pairs -> symbols of the source -> encoder -> states -> decoder -> units of the target
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from tagkit.config import Config, DataConfig
from tagkit.corpus.records.dataset import LabelKinds, Split
from tagkit.corpus.records.objects import NONE_GIVEN, Given
from tagkit.corpus.splits.pairs import read_pair_file, read_pairs, share_of_sources
from tagkit.corpus.splits.splits import Corpus
from tagkit.errors import BundleError, ConfigError, DataError, TagkitError
from tagkit.evaluation.reports.criterion import Criterion, find_criterion
from tagkit.evaluation.reports.string_report import MEASURE, PARTS, StringReport, string_report
from tagkit.features.batching.pair_examples import PairExamples, encode_pairs
from tagkit.features.batching.targets import Target
from tagkit.features.pair_reading import learn_pairs
from tagkit.features.vocabulary import RESERVED, Vocabulary, most_frequent
from tagkit.limits import MAX_UNITS
from tagkit.models.answers.kind import AnswerKind, PredictionOptions
from tagkit.models.base.building import build_encoder, cell_options, sampling_of
from tagkit.models.base.description import ENDS, LAYER_NAMES, Description, encoder_name
from tagkit.models.base.model import Member, Model, SentenceBatch
from tagkit.models.base.task import InBatches, Task
from tagkit.models.base.task_records import Labels, ModelContext, TrainingData
from tagkit.models.transducing.answers import TransducerAnswers
from tagkit.models.transducing.transducer import Transducer
from tagkit.nn.decoder import END_ID, RESERVED_UNITS, UNKNOWN_ID
from tagkit.nn.decoder.decoder import Decoder, DecoderOptions
from tagkit.nn.generation.generate import Ending
from tagkit.nn.layers.embedding import TokenEmbedding, WordEmbedding
from tagkit.nn.layers.encoder import LAYERS, Encoder
from tagkit.nn.search.strings import Hypothesis, Search, search
from tagkit.text.pairs import DELIMITER
from tagkit.text.records import Alignment, Sentence, StringAlternative, StringAnswer
from tagkit.text.units import END

# The most units of a target: so many for each symbol of its source, and so many more.
_UNITS_A_SYMBOL, _MORE_UNITS = 3, 50
# The least share of what targets have that is in their sources, where it is worth copying.
_ALIKE = 0.5


class TransduceTask(Task):
    """Strings for strings."""

    needs = LabelKinds(tags=False, classes=False)
    is_whole = True
    reads_itself = True
    unit = "pair"
    reads_columns = False

    def read(self, config: Config, given: Given = NONE_GIVEN) -> Corpus:
        """The pairs.

        Raises:
            DataError: a file is missing or has no pairs.
            FormatError: a line is no pair.
        """
        return read_pairs(config, given)

    def read_text(
        self, vocabulary: Vocabulary, path: str, data: DataConfig, given: Given = NONE_GIVEN
    ) -> Split:
        """Pairs to be scored on.

        Raises:
            DataError: the file cannot be read, or has no pairs.
        """
        return read_pair_file(path, data, given)

    def resolve(self, config: Config, corpus: Corpus) -> Config:
        """What is "auto" of the decoder, and no attention by products of states of two sizes.

        Raises:
            ConfigError: there are two sizes.
        """
        encoder, decoder, data = config.encoder, config.decoder, config.data
        kinds = (data.source_unit, data.target_unit)
        chosen: dict[str, Any] = {}
        attention = decoder.attention
        if attention == "auto":
            # Words change their order.
            attention = "location" if {*kinds} <= {"character", "tokens"} else "additive"
            chosen["attention"] = attention
        if decoder.copy == "auto":
            alike = kinds[0] == kinds[1] and share_of_sources(corpus.train.sentences) >= _ALIKE
            chosen["copy"] = alike and attention != "none"
        recurrent = LAYERS[encoder.cell].recurrent
        both = recurrent and encoder.bidirectional and encoder.merge == "concat"
        states = encoder.hidden * (2 if both else 1)
        if decoder.hidden == "auto":
            chosen["hidden"] = states if "dot" in attention else encoder.hidden
        elif "dot" in attention and decoder.hidden != states:
            raise ConfigError(
                f"decoder.attention={attention}",
                [
                    f"multiplies states of one size, and the encoder's have {states} values: "
                    f"expected decoder.hidden={states}, found {decoder.hidden}; or "
                    "decoder.attention=bilinear"
                ],
            )
        return config.model_copy(update={"decoder": decoder.model_copy(update=chosen)})

    def examples(self, config: Config, split: Split) -> Sequence[Sentence]:
        """The pairs, whose sources are one word each: the vocabulary cuts them."""
        return split.sentences

    def labels(self, config: Config, sentences: Sequence[Sentence]) -> Labels:
        """There are none."""
        return Labels()

    def targets(
        self, sentences: Sequence[Sentence], vocabulary: Vocabulary
    ) -> Mapping[str, Target]:
        """Those of `encode`."""
        return {}

    def vocabulary(self, config: Config, sentences: Sequence[Sentence]) -> Vocabulary:
        """The units of targets, and the symbols of sources, the most frequent first."""
        least, data = config.embeddings.min_count, config.data
        pairs = learn_pairs(
            [sentence.words[0] for sentence in sentences],
            [sentence.targets[0] for sentence in sentences],
            kinds=(data.source_unit, data.target_unit),
            tokenizer=data.tokenizer,
            bpe_size=data.bpe_size,
            min_count=least,
        )
        symbols = [symbol for each in sentences for symbol in pairs.symbols(each.words[0])]
        return Vocabulary(
            words=most_frequent(symbols), vector_words=(), only_vectors=False, chars=(),
            affixes=(), tags=(), classes=(), features=(), lowercase=False,
            normalize_digits=False, pairs=pairs,
        )  # fmt: skip

    def encode(
        self,
        config: Config,
        sentences: Sequence[Sentence],
        vocabulary: Vocabulary,
        weights: Sequence[float] | None,
        beside: Mapping[str, Target] = MappingProxyType({}),
    ) -> PairExamples:
        """Pairs as ids."""
        cut = _cut(sentences, vocabulary)
        return encode_pairs(cut, vocabulary, weights, copies=config.decoder.copy is True)

    def build(
        self, config: Config, vocabulary: Vocabulary, data: TrainingData | None
    ) -> Transducer:
        """Embedding of symbols, encoder, and decoder."""
        members = [self._member(config, vocabulary) for _ in range(config.encoder.ensemble_size)]
        (embed, encoder, decoder), *others = members
        return Transducer(
            embed=embed,
            encoder=encoder,
            decoder=decoder,
            label_smoothing=config.head.label_smoothing,
            sampling=sampling_of(config.head),
            others=[Member(embed=embed, encoder=encoder) for embed, encoder, _ in others],
            other_decoders=[decoder for *_, decoder in others],
        )

    def _member(
        self, config: Config, vocabulary: Vocabulary
    ) -> tuple[TokenEmbedding, Encoder, Decoder]:
        dim, options = config.embeddings.word_dim, config.decoder
        words = WordEmbedding(words=len(vocabulary.words) + RESERVED, dim=dim, vectors=0)
        words.dropout = config.embeddings.dropout
        embed = TokenEmbedding(words=words, chars=None, affixes=None, features=(), dim=0)
        encoder = build_encoder(config, embed.outputs)
        assert vocabulary.pairs is not None
        assert options.hidden != "auto"
        assert options.copy != "auto"
        decoder = Decoder(
            DecoderOptions(
                cell=options.cell,
                cell_options=cell_options(config.encoder),
                units=RESERVED_UNITS + len(vocabulary.pairs.units),
                dim=dim,
                memory=encoder.outputs,
                hidden=options.hidden,
                layers=options.layers,
                context=options.context,
                attention=options.attention,
                input_feeding=options.input_feeding,
                copy=options.copy,
                end=config.head.end,
                tied=config.embeddings.tied,
                dropout=encoder.locked_dropout.probability,
            )
        )
        return embed, encoder, decoder

    def begin_step(self, model: Model, step: int) -> None:
        """Tell the step on which scheduled sampling depends."""
        assert isinstance(model, Transducer)
        model.step = step

    def check(
        self, config: Config, vocabulary: Vocabulary, config_file: Path, vocabulary_file: Path
    ) -> None:
        """There are units, and a decoder of a size.

        Raises:
            BundleError: there are none.
        """
        if vocabulary.pairs is None:
            raise BundleError(
                f"{vocabulary_file}: expected pairs, as task = '{config.task}', found none"
            )
        for name in ("hidden", "attention", "copy"):
            if getattr(config.decoder, name) == "auto":
                raise BundleError(f"{config_file}: decoder.{name}: expected a value, found auto")

    def answers(self, config: Config, vocabulary: Vocabulary) -> AnswerKind:
        """Strings."""
        has_features = any(each.startswith(DELIMITER) for each in vocabulary.words)
        attends = config.decoder.attention != "none"
        return TransducerAnswers(features=has_features, attends=attends)

    def predict(
        self,
        context: ModelContext,
        sentences: Sequence[Sentence],
        options: PredictionOptions,
        in_batches: InBatches,
    ) -> list[Any]:
        """The string of each source."""
        return super().predict(context, _cut(sentences, context.vocabulary), options, in_batches)

    @torch.inference_mode()
    def decode(
        self, context: ModelContext, batch: SentenceBatch, options: PredictionOptions
    ) -> list[StringAnswer]:
        """The most probable string of each source that a beam finds."""
        model, reading = context.model, context.vocabulary.pairs
        assert isinstance(model, Transducer)
        assert reading is not None
        states, final = batch.read(model)
        mask = batch.tokens.mask
        copies = None
        if model.decoder.options.copy:
            copies = torch.full(mask.shape, UNKNOWN_ID)
            for row, sentence in enumerate(batch.sentences):
                found = reading.copies(sentence.words)
                copies[row, : len(found)] = torch.tensor(found)
            copies = copies.to(mask.device)
        steps = model.steps(states, final, mask, copies)
        most = options.max_units
        lengths = [
            most
            or min(MAX_UNITS, max(_UNITS_A_SYMBOL * len(sentence) + _MORE_UNITS, options.min_units))
            for sentence in batch.sentences
        ]
        count = max(1, options.n_best)
        wanted = Search(
            beam=max(options.beam or 1, count), count=count, min_units=options.min_units,
            length_penalty=options.length_penalty, coverage_penalty=options.coverage_penalty,
            no_repeat=options.no_repeat, banned=(UNKNOWN_ID,), keeps_weights=options.alignment,
        )  # fmt: skip
        start = torch.full((len(lengths),), END_ID, device=mask.device)
        least = [options.min_units] * len(lengths)
        state, begun, lengths = steps.begin(least, lengths, wanted.beam)
        ending = Ending(END_ID, by_halt=False)
        strings = search(steps, start, state, ending, lengths, wanted, begun)
        return [
            _answer(sentence, hypotheses, context, options.length_penalty)
            for sentence, hypotheses in zip(batch.sentences, strings, strict=True)
        ]

    def require_labels(self, config: Config, error: TagkitError | None = None) -> None:
        """Strings are none."""
        raise error or DataError("this model writes strings, which have no labels")

    def score(
        self,
        context: ModelContext,
        split: Split,
        predictions: Sequence[Any],
        *,
        strict: bool,
    ) -> StringReport:
        """Exact matches, edit distances, and scores of translation."""
        reading = context.vocabulary.pairs
        assert reading is not None
        return string_report(
            [sentence.targets for sentence in split.sentences],
            [each.text for each in predictions],
            reading.target,
        )

    def criterion(self, config: Config) -> Criterion:
        """Exact matches, or another part of the report.

        Raises:
            DataError: `train.metric` names no number of the report.
        """
        metric = config.train.metric
        if metric in PARTS:
            return Criterion(metric, PARTS[metric], lambda report: report.parts()[metric], metric)
        return find_criterion(metric, (), MEASURE)

    def heads(self, config: Config) -> tuple[str, ...]:
        """The decoder, and its attention."""
        decoder = config.decoder
        name = LAYER_NAMES.get(decoder.cell, decoder.cell)
        layers = f"{decoder.layers}-layer " if decoder.layers > 1 else ""
        attention = "" if decoder.attention == "none" else f"{decoder.attention} attention"
        return (f"{layers}{name} decoder", *filter(None, [attention]), *ENDS[config.head.end])

    def describe(self, config: Config) -> Description:
        """Dev is scored by exact matches."""
        return Description(
            encoder_name(config), self.heads(config), self.unit, "exact",
            {"unit_error_rate": "UER"}, self.reads_columns,
        )  # fmt: skip


def _cut(sentences: Sequence[Sentence], vocabulary: Vocabulary) -> list[Sentence]:
    """Sources as the symbols that the encoder reads."""
    reading = vocabulary.pairs
    assert reading is not None
    return [replace(sentence, words=reading.symbols(sentence.words[0])) for sentence in sentences]


def _answer(
    sentence: Sentence, hypotheses: Sequence[Hypothesis], context: ModelContext, penalty: float
) -> StringAnswer:
    """What was found for a source."""
    reading = context.vocabulary.pairs
    assert reading is not None

    def units_of(one: Hypothesis) -> list[str]:
        ids = one.units[:-1] if one.ended == "symbol" else one.units
        return reading.strings(ids, sentence.words)

    alternatives = tuple(
        StringAlternative(reading.target.join(units_of(one)), one.log_prob, one.score(penalty))
        for one in hypotheses
    )
    best = hypotheses[0]
    alignment = None
    if best.weights is not None:
        units = units_of(best) + [END] * (best.ended == "symbol")
        weights = best.weights[:, : len(sentence)].tolist()
        alignment = Alignment(sentence.words, tuple(units), tuple(map(tuple, weights)))
    return StringAnswer(
        sentence.text or "", alternatives[0].text, best.log_prob,
        alternatives if len(alternatives) > 1 else (), alignment,
    )  # fmt: skip
