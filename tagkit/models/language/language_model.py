"""The task "language-model": the probability of each unit of a text, given those before it.

    p(x[1..N]) = product over t of p(x[t] | x[1..t-1])

(Jurafsky and Martin, "RNNs and LSTMs", section on RNNs as language models, trained with teacher
forcing; Goodfellow, Bengio and Courville, section 10.2.3.) A unit is a word, a character or a byte
pair, and the end of a line is one too. The text is read in segments whose states go on from those
before: truncated back-propagation through time. With `data.context = "line"` each line is a text
by itself. With `data.pairs` a line is a prefix and its continuation (text/pairs.py).

    lines -> corpus/source/text_lines.py -> features/batching/unit_stream.py -> language_network.py
    -> nn/softmax
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
from torch import Tensor

from tagkit.config import Config, DataConfig, fixed
from tagkit.corpus.records.dataset import LabelKinds, Split
from tagkit.corpus.records.objects import NONE_GIVEN, Given
from tagkit.corpus.records.unit_lines import UnitLines
from tagkit.corpus.splits.splits import Corpus
from tagkit.corpus.splits.texts import (
    read_labelled_text,
    read_labelled_texts,
    read_text,
    read_texts,
    refuse_inside,
)
from tagkit.errors import BundleError, ConfigError, DataError, TagkitError
from tagkit.evaluation.reports.criterion import AUTO, LOSS, Criterion
from tagkit.evaluation.reports.report import Report
from tagkit.features import Ids
from tagkit.features.batching.examples import Examples
from tagkit.features.batching.targets import Target
from tagkit.features.batching.unit_stream import (
    UnitStream,
    continuations_of,
    lines_of,
    steps_of,
    streams_of,
)
from tagkit.features.unit_reading import UnitReading
from tagkit.features.vocabulary import RESERVED, Vocabulary, most_frequent
from tagkit.limits import MAX_UNITS
from tagkit.models.answers.kind import AnswerKind, PredictionOptions
from tagkit.models.base.building import build_encoder, sampling_of
from tagkit.models.base.description import ENDS, Description, encoder_name
from tagkit.models.base.model import Model, SentenceBatch
from tagkit.models.base.task import InBatches, Task
from tagkit.models.base.task_records import Labels, ModelContext, TrainingData
from tagkit.models.language.continuation import (
    NO_LABELS,
    NO_LABELS_OF_PAIRS,
    Continuation,
    NoAnswers,
    PrefixAnswers,
    PrefixReader,
)
from tagkit.models.language.language_network import LanguageModel, mapped, tensors_of
from tagkit.models.language.language_scoring import language_report
from tagkit.models.language.text_scoring import class_ids, ids_of, units_of
from tagkit.nn.layers.embedding import TokenEmbedding, WordEmbedding
from tagkit.nn.layers.encoder import LAYERS
from tagkit.nn.softmax import SOFTMAXES
from tagkit.nn.softmax.endless import EndlessSoftmax
from tagkit.nn.softmax.halting import HaltingSoftmax
from tagkit.nn.softmax.layer import SoftmaxOptions
from tagkit.nn.softmax.length import LengthEnd
from tagkit.text.byte_pairs import BytePairs
from tagkit.text.pairs import DELIMITER, within
from tagkit.text.records import Prediction, Sentence
from tagkit.text.units import END, UNKNOWN, WordUnits
from tagkit.wording import clipped

_MOST_UNITS = 50_000  # that a softmax over all of them predicts by default


class LanguageTask(Task):
    """The next unit of a text."""

    needs = LabelKinds(tags=False, classes=False)
    is_whole = True
    annotates = False
    reads_itself = True

    def read(self, config: Config, given: Given = NONE_GIVEN) -> Corpus:
        """The texts; without `data.dev_file`, the last lines of the training text are dev.

        Raises:
            ConfigError: the run would write into a folder of texts.
            DataError: a text cannot be read, or is too short.
        """
        refuse_inside(config.output.dir, config.data)
        if config.data.condition == "label":
            if config.data.pairs:
                _check_pairs(config)
            return read_labelled_texts(config, given)
        return read_texts(config.data, given)

    def read_text(
        self, vocabulary: Vocabulary, path: str, data: DataConfig, given: Given = NONE_GIVEN
    ) -> Split:
        """A text in the units of the model.

        Raises:
            DataError: it cannot be read, or has no lines.
        """
        if data.condition == "label":
            return read_labelled_text(path, data, units_of(vocabulary), given)
        return read_text(path, data, units_of(vocabulary), given)

    def resolve(self, config: Config, corpus: Corpus) -> Config:
        """One direction, and positions that a text without end has.

        Raises:
            ConfigError: two are asked for, other positions, or pairs without what they need.
        """
        encoder = config.encoder
        counts = not LAYERS[encoder.cell].recurrent and encoder.positions != "rotary"
        if counts and config.data.context == "stream":
            raise ConfigError(
                f"encoder.positions={encoder.positions}",
                [
                    "positions count from the beginning of a text, which a stream does not have; "
                    "expected rotary, or lines by themselves (data.context = 'line')"
                ],
            )
        if config.data.pairs:
            _check_pairs(config)
        if config.data.condition == "label":
            config = _of_labels(config)
        if "bidirectional" in config.encoder.model_fields_set and config.encoder.bidirectional:
            raise ConfigError(
                "encoder.bidirectional",
                ["true reads what a language model has to predict; leave it out"],
            )
        encoder = config.encoder.model_copy(update={"bidirectional": False})
        return config.model_copy(update={"encoder": encoder})

    def examples(self, config: Config, split: Split) -> Sequence[Sentence]:
        """The lines."""
        return split.sentences

    def labels(self, config: Config, sentences: Sequence[Sentence]) -> Labels:
        """There are none."""
        return Labels()

    def targets(
        self, sentences: Sequence[Sentence], vocabulary: Vocabulary
    ) -> Mapping[str, Target]:
        """There are none besides the units, which `encode` gives."""
        return {}

    def vocabulary(self, config: Config, sentences: Sequence[Sentence]) -> Vocabulary:
        """The units of the training text, the most frequent first.

        Where no unit is written as the unknown one, units that occur once are unknown: else the
        model could not know how probable an unknown unit is.
        """
        counts: Counter[str] = Counter()
        for line in sentences:
            counts.update(line.words)
        least = config.embeddings.min_count
        if not counts.pop(UNKNOWN, 0):
            least = max(least, 2)
        counts[END] = len(sentences)
        always = {END, DELIMITER} if config.data.pairs else {END}

        def rank(unit: str) -> tuple[bool, int, str]:
            # Where no unit is predicted for the end, the rows of the others stand together.
            return config.head.end != "symbol" and unit == END, -counts[unit], unit

        units = sorted(
            (unit for unit, count in counts.items() if count >= least or unit in always), key=rank
        )
        assert isinstance(sentences, UnitLines)  # as `read` gives them
        cut_by = within(sentences.cut_by)
        if isinstance(cut_by, BytePairs):
            # All of them, as new text has others.
            units = sorted({*cut_by.names, *always}, key=rank)
        classes = most_frequent(Counter(sentences.own_classes))
        return Vocabulary(
            units=None if isinstance(cut_by, WordUnits) else UnitReading(cut_by, "words"),
            words=tuple(units), vector_words=(), only_vectors=False, chars=(), affixes=(),
            tags=(), classes=classes, features=(), lowercase=False, normalize_digits=False,
        )  # fmt: skip

    def encode(
        self,
        config: Config,
        sentences: Sequence[Sentence],
        vocabulary: Vocabulary,
        weights: Sequence[float] | None,
        beside: Mapping[str, Target] = MappingProxyType({}),
    ) -> UnitStream:
        """The text as streams of segments, or as independent lines."""
        return examples_of(config, sentences, vocabulary)

    def batches(
        self, encoded: Examples, config: Config, generator: np.random.Generator
    ) -> list[Ids]:
        """The next segment of each stream; lines at random where they are independent."""
        assert isinstance(encoded, UnitStream)
        if encoded.streams is None:
            return super().batches(encoded, config, generator)
        return steps_of(encoded)

    def begin_step(self, model: Model, step: int) -> None:
        """Remember what is carried."""
        assert isinstance(model, LanguageModel)
        model.begin_step(step)

    def state(self, model: Model) -> Mapping[str, Tensor]:
        """What the next step carries on, by layer and number."""
        assert isinstance(model, LanguageModel)
        return {
            f"{layer}.{number}": tensor
            for layer, state in enumerate(model.to_carry())
            for number, tensor in enumerate(tensors_of(state))
        }

    def restore(self, model: Model, state: Mapping[str, Tensor]) -> None:
        """Carry what `state` returned."""
        assert isinstance(model, LanguageModel)
        rest = iter(state.values())
        model.carry_on(
            tuple(mapped(each, lambda one: next(rest).to(one.device)) for each in model.carried)
        )

    def build(
        self, config: Config, vocabulary: Vocabulary, data: TrainingData | None
    ) -> LanguageModel:
        """Embedding of units, encoder of one direction, softmax over units."""
        words = WordEmbedding(
            words=len(vocabulary.words) + RESERVED,
            dim=config.embeddings.word_dim,
            vectors=0,
            by_row=not config.embeddings.tied,  # the softmax changes every row
        )
        words.dropout = config.embeddings.dropout
        embed = TokenEmbedding(words=words, chars=None, affixes=None, features=(), dim=0)
        encoder = build_encoder(config, embed.outputs)
        end = config.head.end
        # And the unknown one, but not that of the end where something else decides on it.
        units = len(vocabulary.words) + (end == "symbol")
        head = SOFTMAXES[softmax_of(config, units)](
            SoftmaxOptions(
                units=units,
                hidden=encoder.outputs,
                dim=config.embeddings.word_dim,
                tied=config.embeddings.tied,
            )
        )
        place = vocabulary.words.index(END) + 1  # after the unknown one
        if end == "halt":
            head = HaltingSoftmax(head, hidden=encoder.outputs, end=place)
        elif end == "length":
            head = EndlessSoftmax(head, end=place)
        length = None
        dim = embed.outputs
        if end == "length":
            length = LengthEnd(given=dim if vocabulary.classes else 0, dim=dim)
        model = LanguageModel(
            embed=embed, encoder=encoder, head=head, tied=config.embeddings.tied, length=length,
            sampling=sampling_of(config.head),
        )  # fmt: skip
        if vocabulary.classes:
            count = len(vocabulary.classes)
            model.add_condition(count, config.decoder.context, config.encoder.hidden)
            if data is not None:
                assert isinstance(data.encoded, UnitStream)
                model.count_classes(data.encoded.classes)
        if data is not None and config.data.context == "stream":
            model.begin_streams(fixed(config.train.batch_size))
        return model

    def check(
        self, config: Config, vocabulary: Vocabulary, config_file: Path, vocabulary_file: Path
    ) -> None:
        """The vocabulary has the end of a line, and no labels."""
        if END not in vocabulary.words:
            raise BundleError(
                f"{vocabulary_file}: expected the unit {END}, as task = 'language-model', found "
                "none"
            )
        if config.data.pairs and DELIMITER not in vocabulary.words:
            raise BundleError(
                f"{vocabulary_file}: expected a tab among the units, as data.pairs = true, found "
                "none"
            )
        has_classes = bool(vocabulary.classes) != (config.data.condition == "label")
        if vocabulary.tags or has_classes or vocabulary.columns:
            raise BundleError(
                f"{vocabulary_file}: expected no labels, as task = 'language-model', found some"
            )
        if config.encoder.bidirectional:
            raise BundleError(
                f"{config_file}: encoder.bidirectional = true: expected false, as task = "
                "'language-model'"
            )

    def answers(self, config: Config, vocabulary: Vocabulary) -> AnswerKind:
        """The continuation of a prefix; nothing where lines are no pairs."""
        return PrefixAnswers() if config.data.pairs else NoAnswers()

    def require_answers(self, config: Config, error: TagkitError | None = None) -> None:
        """There are none."""
        raise error or DataError(NO_LABELS_OF_PAIRS if config.data.pairs else NO_LABELS)

    def dev_examples(self, config: Config, split: Split) -> Sequence[Sentence]:
        """None: the headline of the report is the loss."""
        return ()

    def size(self, split: Split) -> int:
        """Number of its units."""
        return split.tokens

    def to_predict(self, split: Split) -> Sequence[Sentence]:
        """None: a text is scored as it is."""
        return ()

    def predict(
        self,
        context: ModelContext,
        sentences: Sequence[Sentence],
        options: PredictionOptions,
        in_batches: InBatches,
    ) -> list[Continuation]:
        """The continuations of prefixes, each the words of a sentence."""
        reader = PrefixReader(
            context, beam=options.beam or 0, max_units=options.max_units or MAX_UNITS,
            batch_size=options.batch_size,
        )  # fmt: skip
        return reader.continued([" ".join(sentence.words) for sentence in sentences])

    def decode(
        self, context: ModelContext, batch: SentenceBatch, options: PredictionOptions
    ) -> list[Prediction]:
        """Not used: prefixes of one length are read together, and nothing is padded."""
        raise NotImplementedError("a language model reads no batches of sentences")

    def score(
        self,
        context: ModelContext,
        split: Split,
        predictions: Sequence[Prediction],
        *,
        strict: bool,
    ) -> Report:
        """Cross-entropy and what follows from it, of the whole text."""
        return language_report(context, split)

    def dev_loss(self, report: Report) -> float:
        """The headline."""
        return report.headline

    def criterion(self, config: Config) -> Criterion:
        """The loss, whatever its name.

        Raises:
            DataError: `train.metric` names another number.
        """
        if config.train.metric not in (AUTO, LOSS):
            raise DataError(
                f"train.metric={clipped(config.train.metric)}: no such metric of this model; there "
                f"are: {AUTO}, {LOSS}"
            )
        return Criterion(LOSS, LOSS, lambda report: report.headline)

    def describe(self, config: Config) -> Description:
        """Its softmax; dev is scored by cross-entropy."""
        return Description(
            encoder=encoder_name(config),
            heads=(_head_name(config), *ENDS[config.head.end]),
            unit="line",
            measure=LOSS,
            columns={
                "perplexity": "ppl.",
                "bits_per_character": "bpc",
                **({"exact_match": "exact"} if config.data.pairs else {}),
                **({"class_accuracy": "acc."} if config.data.condition == "label" else {}),
            },
            reads_columns=False,
            use=_use_of(config),
            shares=False,
        )


def softmax_of(config: Config, units: int) -> str:
    """The row of `SOFTMAXES` for so many units."""
    kind = config.head.softmax
    if kind != "auto":
        return kind
    return "full" if units <= _MOST_UNITS else "adaptive"


def _check_pairs(config: Config) -> None:
    """Raise `ConfigError` where pairs of prefix and continuation lack what they need."""
    for name, needed, found in (
        ("data.context", "line", config.data.context),
        ("data.direction", "forward", config.data.direction),
        # A prefix has no end of its own that could be learnt.
        ("head.end", "symbol", config.head.end),
        ("data.condition", "none", config.data.condition),
    ):
        if found != needed:
            problem = f"needs {name}={needed}, found {found}".lower()
            raise ConfigError("data.pairs", [problem])


def _of_labels(config: Config) -> Config:
    """A model of texts with labels, each a line by itself.

    Raises:
        ConfigError: lines are not by themselves, or a state is wanted that there is none of.
    """
    data, decoder, cell = config.data, config.decoder, config.encoder.cell
    if data.direction != "forward":
        raise ConfigError("data.condition=label", ["needs data.direction=forward, found backward"])
    if "context" in data.model_fields_set and data.context != "line":
        raise ConfigError("data.condition=label", ["needs data.context=line, found stream"])
    if not LAYERS[cell].recurrent:
        if "context" in decoder.model_fields_set and decoder.context != "every-step":
            raise ConfigError(
                f"decoder.context={decoder.context}",
                [f"a {cell} has no initial state; expected every-step"],
            )
        decoder = decoder.model_copy(update={"context": "every-step"})
    data = data.model_copy(update={"context": "line"})
    return config.model_copy(update={"data": data, "decoder": decoder})


def _use_of(config: Config) -> str:
    """The command that uses such a model."""
    if config.data.pairs:
        return "predict"
    return "eval" if config.data.direction == "backward" else "generate"


def _head_name(config: Config) -> str:
    kind = config.head.softmax
    names = ("tied" if config.embeddings.tied else "", "" if kind in ("auto", "full") else kind)
    return " ".join([*filter(None, names), "softmax"])


def examples_of(config: Config, lines: Iterable[Sentence], vocabulary: Vocabulary) -> UnitStream:
    """The text as an epoch reads it."""
    ids = ids_of(config, lines, vocabulary)
    if vocabulary.classes:
        assert isinstance(lines, UnitLines)
        return lines_of(ids, class_ids(lines, vocabulary))
    if config.data.loss_on == "continuation":
        return continuations_of(ids, RESERVED + vocabulary.words.index(DELIMITER))
    if config.data.context == "line":
        return lines_of(ids)
    return streams_of(ids, fixed(config.train.batch_size), fixed(config.train.bptt))
