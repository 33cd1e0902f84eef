"""Options that are "auto": what follows from the size of the training corpus.

A step learns little, however many sentences it reads: what counts is the number of steps. A hundred
sentences in batches of 32 make 4 steps an epoch, and 20 epochs end before the first entity is
found. So a small corpus is read in small batches, for more epochs, and at a higher learning rate,
which learns what generalises before the model memorises the corpus. Affixes of words help where
there are no pretrained vectors, or very few sentences. The numbers were chosen on the dev sets of
several corpora (benchmarks/BENCHMARKS.md, "Learning curves").
"""

import math
from dataclasses import dataclass
from typing import Any

from tagkit.config import (
    BY_GRADIENT,
    DEFAULT_BPTT,
    DEFAULT_LOCKED_DROPOUT,
    DEFAULT_WORD_DROPOUT,
    Config,
    has_effect,
    options_of,
    with_options,
)
from tagkit.errors import ConfigError
from tagkit.text.unit_kinds import UNIT_KINDS
from tagkit.wording import plural

# The largest corpora, in sentences, that are read in batches of these sizes.
_BATCH_SIZES = ((500, 4), (1_000, 8), (4_000, 16))
_LARGEST_BATCH = 32
# Up to so many spans a batch has at most so many sentences: most of them may be without any.
_SPARSE_SPANS, _SPARSE_BATCH = 2_000, 8
# The learning rate of large corpora; of smaller ones it rises with a power of the sentences.
_LR = 0.003
_LR_SENTENCES, _LR_POWER = 3_000, 0.4  # from this size on it is `_LR`
# The largest, and that of more than so many sentences: at 200 and 400 a rate over 0.005 scores less
# on the rest of dev, which selects no epoch, and differs more between seeds.
_MAX_LR, _TINY, _MAX_LR_ABOVE = 0.012, 100, 0.005
# Beside pretrained vectors, affixes help corpora of up to so many sentences.
_AFFIX_DIM, _MAX_AFFIX_SENTENCES = 50, 200
# Epochs of a corpus with enough steps, and the steps that a smaller one gets.
_EPOCHS, _MIN_STEPS = 20, 600
# Likewise without a better score: epochs, and steps.
_PATIENCE, _MIN_PATIENCE_STEPS = 8, 250

# The most texts whose attention is scaled: without that a small corpus is soon learnt by heart.
_FEW_TEXTS = 1_000
# A linear model of words helps a network up to so many texts, and one with pretrained vectors or a
# head of tags, which learns from each token, up to fewer. Whatever their number it does so where
# texts have so many tokens each that a network needs more texts to learn what to look at.
_BAG_TEXTS, _BAG_TEXTS_BESIDE_TAGS, _BAG_TEXTS_BESIDE_VECTORS = 10_000, 1_000, 200
_LONG_TEXT = 100
# Of more tokens, or with more classes, it would take long to fit and much memory.
_MAX_BAG_TOKENS, _MAX_TOKENS_TIMES_CLASSES = 2_000_000, 20_000_000
# Bounds of its rows for pairs of words, of which there are two for each token, and of its weights
# for these: 32 MB.
_MIN_PAIRS, _MAX_PAIRS, _MAX_PAIR_WEIGHTS = 2**10, 2**17, 2**23

# Up to as many sentences a CRF of word features helps a tagger, and one with pretrained vectors up
# to fewer. Names are rare, so that without vectors it helps taggers of names up to so many spans,
# whatever the number of sentences. Of more tokens the features would take much memory.
_FEW_SENTENCES, _FEW_SENTENCES_BESIDE_VECTORS = 4_000, 1_000
_FEW_SPANS, _MAX_TOKENS = 30_000, 500_000
# The most steps from one label to another in a pass over the corpus, of which its fit takes some
# 35: tokens x labels^2. 1,500 sentences of Greek with 284 labels have 3.2e9, and take 2.3 s a pass;
# as many with 1,500 labels have 3.4e10 and take 12.6 s.
_MAX_FITTED_STEPS = 2**32
# The most sentences with spans whose tags share scores.
_FEW_SENTENCES_SHARED = 1_000
# The CRF has so many weights for each token, and at most so many: 1,000 sentences of seven corpora
# had 16,000 to 88,000.
_FEATURES_PER_TOKEN, _MAX_FEATURES = 10, 2**17
_VECTOR_CLUSTERS = 500

# Of the way of a name's scores to their mean in its document, with 0.3 to 0.7 much the same.
_LABEL_CONSISTENCY = 0.5
# The least share of mentions with one label; in CoNLL-2003 and CoNLL-2002 it is 0.92 to 0.95.
_ALIKE = 0.85

# Of pairs: the fewest steps, without a better score likewise, and locked dropout. A decoder has
# more to learn than a tagger: where to look, and what to write.
_PAIR_STEPS, _PAIR_PATIENCE_STEPS, _PAIR_DROPOUT = 4_000, 1_000, 0.3

# Of language models: units of a segment, streams of a batch, the fewest segments of a stream.
_SEGMENTS = {"word": 35, "character": 100, "bpe": 50}
_STREAMS, _MIN_SEGMENTS = 20, 10
_TEXT_EPOCHS, _TEXT_PATIENCE = 20, 3
# The longest text of characters that is learnt by heart, and its locked dropout.
_SHORT_TEXT, _SHORT_TEXT_DROPOUT = 1_000_000, 0.1


@dataclass(frozen=True, slots=True)
class Chosen:
    """A configuration without "auto", and what was chosen.

    Attributes:
        config: resolved.
        reason: a sentence for the console; empty where nothing was chosen.
    """

    config: Config
    reason: str


@dataclass(frozen=True, slots=True)
class CorpusSize:
    """What the options of a task with labels follow from: facts of the training corpus.

    Attributes:
        sentences: their number, long ones cut into windows.
        tokens: their number.
        unit: what the task calls an example.
        alike: share of a name's mentions in a document with one label (`setup.alike_in_documents`).
        uncut: number of sentences before long ones are cut; 0 where none is.
        spans: their number; 0 where the labels are not those of spans alone.
        classes: that its texts have; 0 where they have none.
        labels: that its tokens have, in the training scheme; 0 where they have none.
    """

    sentences: int
    tokens: int
    unit: str = "sentence"
    alike: float = 0.0
    uncut: int = 0
    spans: int = 0
    classes: int = 0
    labels: int = 0

    def text(self) -> str:
        """The number of examples, in words."""
        if self.uncut and self.uncut != self.sentences:
            return f"{plural(self.uncut, self.unit)} in {plural(self.sentences, 'window')}"
        return plural(self.sentences, self.unit)


def choose_by_size(config: Config, corpus: CorpusSize) -> Chosen:
    """Replace each "auto" by a number."""
    train = config.train
    chosen: dict[str, Any] = {}
    parts = []
    size = corpus.text()
    # Without gradients epochs and learning rate have no effect, and stay "auto".
    follows_gradient = BY_GRADIENT.are_met_by(train.readout)
    batch_size = train.batch_size
    if batch_size == "auto":
        # For sums over the whole corpus the size of a batch matters for the speed alone.
        batch_size = _LARGEST_BATCH
        if follows_gradient:
            batch_size = batch_size_for(corpus.sentences, corpus.spans)
        chosen["train.batch_size"] = batch_size
        if follows_gradient and batch_size < batch_size_for(corpus.sentences):
            size += f" with {plural(corpus.spans, 'span')}"
        if not train.batch_tokens:  # which else decides
            parts.append(f"batches of {batch_size}")
    # With batches measured in tokens an epoch's steps are an estimate.
    per_batch = train.batch_tokens * corpus.sentences / max(1, corpus.tokens) or float(batch_size)
    steps = math.ceil(corpus.sentences / max(1.0, per_batch))  # of an epoch
    are_pairs = corpus.unit == "pair"
    if follows_gradient and train.max_epochs == "auto":
        epochs = max(_EPOCHS, math.ceil((_PAIR_STEPS if are_pairs else _MIN_STEPS) / steps))
        chosen["train.max_epochs"] = epochs
        parts.append(f"at most {plural(epochs, 'epoch')} of {plural(steps, 'step')}")
    if follows_gradient and train.patience == "auto":
        waits = _PAIR_PATIENCE_STEPS if are_pairs else _MIN_PATIENCE_STEPS
        chosen["train.patience"] = max(_PATIENCE, math.ceil(waits / steps))
    if follows_gradient and train.lr == "auto":
        # A high rate would undo the weights that training starts from.
        lr = _LR if train.init_from else _lr(config, corpus.sentences, corpus.unit)
        chosen["train.lr"] = lr
        parts.append(f"learning rate {lr:g}")
    if config.embeddings.affix_dim == "auto":
        chosen["embeddings.affix_dim"] = dim = _affix_dim(config, corpus.sentences)
        if config.embeddings.vectors:
            parts.append(f"{'affixes' if dim else 'no affixes'} beside the vectors")
    if config.head.label_consistency == "auto":
        agrees = corpus.alike >= _ALIKE and not config.data.tag_columns and _reads_words(config)
        chosen["head.label_consistency"] = _LABEL_CONSISTENCY if agrees else 0.0
        if agrees:
            parts.append(f"label consistency {_LABEL_CONSISTENCY:g}")
            size += f", whose documents label {100 * corpus.alike:.0f} % of recurring names alike"
    # The run's header describes the heads: nothing to be said here.
    chosen |= _heads(config, corpus, follows_gradient=follows_gradient)
    # The same for every corpus: nothing to be said of its size.
    if train.bptt == "auto":
        chosen["train.bptt"] = DEFAULT_BPTT
    if config.encoder.locked_dropout == "auto":
        chosen["encoder.locked_dropout"] = _PAIR_DROPOUT if are_pairs else DEFAULT_LOCKED_DROPOUT
    if config.encoder.word_dropout == "auto":
        # A symbol that is dropped cannot be copied.
        chosen["encoder.word_dropout"] = 0.0 if are_pairs else DEFAULT_WORD_DROPOUT
    reason = f"{', '.join(parts)}: train has {size}" if parts else ""
    return Chosen(with_options(config, chosen) if chosen else config, reason)


def _affix_dim(config: Config, sentences: int) -> int:
    few = sentences <= _MAX_AFFIX_SENTENCES
    # Byte pairs and characters have no affixes: they are affixes themselves.
    without = config.reads_units or (config.embeddings.vectors and not few)
    return _AFFIX_DIM if _reads_words(config) and not without else 0


def _reads_words(config: Config) -> bool:
    """Whether no columns of numbers stand in place of the words."""
    return config.embeddings.word_dim > 0


def _heads(config: Config, corpus: CorpusSize, *, follows_gradient: bool) -> dict[str, Any]:
    """The options of [head] that are "auto", each with its value."""
    head = config.head
    chosen: dict[str, Any] = {}
    if _serves(config, "head.feature_crf") and head.feature_crf == "auto":
        usable = follows_gradient and has_effect(config, "head.feature_crf")
        helps = usable and _feature_crf_helps(config, corpus)
        weights = min(_FEATURES_PER_TOKEN * corpus.tokens, _MAX_FEATURES)
        chosen["head.feature_crf"] = weights if helps else 0
    if _serves(config, "head.vector_clusters") and head.vector_clusters == "auto":
        weights = chosen.get("head.feature_crf", head.feature_crf)
        reads = config.embeddings.vectors and weights
        chosen["head.vector_clusters"] = _VECTOR_CLUSTERS if reads else 0
    if _serves(config, "head.tag_sharing") and head.tag_sharing == "auto":
        helps = has_effect(config, "head.tag_sharing") and corpus.spans > 0
        chosen["head.tag_sharing"] = helps and corpus.sentences <= _FEW_SENTENCES_SHARED
    if _serves(config, "head.pooling") and head.pooling == "auto":
        few = corpus.sentences <= _FEW_TEXTS
        attention = "scaled-attention" if few else "attention"
        chosen["head.pooling"] = attention if follows_gradient else "mean"
        if config.encoder.read_tree:
            chosen["head.pooling"] = "last"
    if _serves(config, "head.pooling") and head.bag_of_words == "auto":
        helps = follows_gradient and _bag_of_words_helps(config, corpus)
        chosen["head.bag_of_words"] = _pairs_for(corpus.tokens, corpus.classes) if helps else 0
    return chosen


def _serves(config: Config, option: str) -> bool:
    """Whether an option is one of the task."""
    return options_of(Config)[option].serves(config.task)


def _knows_language(config: Config) -> bool:
    """Whether weights of another model say what the words of a small corpus do not."""
    return bool(config.embeddings.contextual or config.train.init_from)


def _feature_crf_helps(config: Config, corpus: CorpusSize) -> bool:
    if _knows_language(config) or config.data.tag_columns or not _reads_words(config):
        return False
    if corpus.tokens * corpus.labels**2 > _MAX_FITTED_STEPS:
        return False
    if config.embeddings.vectors:
        return corpus.sentences <= _FEW_SENTENCES_BESIDE_VECTORS
    names = 0 < corpus.spans <= _FEW_SPANS and corpus.tokens <= _MAX_TOKENS
    return corpus.sentences <= _FEW_SENTENCES or names


def _bag_of_words_helps(config: Config, corpus: CorpusSize) -> bool:
    if _knows_language(config) or not has_effect(config, "head.bag_of_words"):
        return False
    if not _reads_words(config):
        return False
    weights = corpus.tokens * corpus.classes
    if corpus.tokens > _MAX_BAG_TOKENS or weights > _MAX_TOKENS_TIMES_CLASSES:
        return False
    limit = _BAG_TEXTS_BESIDE_TAGS if _serves(config, "head.kind") else _BAG_TEXTS
    limit = _BAG_TEXTS_BESIDE_VECTORS if config.embeddings.vectors else limit
    return corpus.sentences <= limit or corpus.tokens >= _LONG_TEXT * corpus.sentences


def choose_for_text(config: Config, lines: int, units: int) -> Chosen:
    """Replace each "auto" of a language model by a number.

    A batch is so many streams, each a stretch of the text, which is why a short text has few.

    Args:
        config: of the run.
        lines: of the training text.
        units: of the training text: characters, words or byte pairs, as `data.unit` says.

    Raises:
        ConfigError: `train.bptt` is 0, and the text is not read line by line.
    """
    train, data = config.train, config.data
    chosen: dict[str, Any] = {}
    parts: list[str] = []
    segment = _SEGMENTS[data.unit] if train.bptt == "auto" else train.bptt
    chosen["train.bptt"] = segment
    by_line = data.context == "line"
    if segment == 0 and not by_line:
        raise ConfigError(
            "train.bptt",
            ["expected 1 or more: each step of training reads so many units of a text"],
        )
    if train.batch_size != "auto":
        batch_size = train.batch_size
    else:
        streams = 0 if by_line else min(_STREAMS, max(1, units // (segment * _MIN_SEGMENTS)))
        batch_size = streams or batch_size_for(lines)
        chosen["train.batch_size"] = batch_size
        parts.append(plural(batch_size, "line" if by_line else "stream") + " a batch")
    per_step = batch_size * (units / lines if by_line else segment)
    steps = max(1, math.ceil(units / per_step))  # of an epoch
    if train.max_epochs == "auto":
        epochs = max(_TEXT_EPOCHS, math.ceil(_MIN_STEPS / steps))
        chosen["train.max_epochs"] = epochs
        parts.append(f"at most {plural(epochs, 'epoch')} of {plural(steps, 'step')}")
    if train.patience == "auto":
        chosen["train.patience"] = max(_TEXT_PATIENCE, math.ceil(_MIN_PATIENCE_STEPS / steps))
    if train.lr == "auto":
        chosen["train.lr"] = _LR
        parts.append(f"learning rate {_LR:g}")
    for name, dropout in text_dropouts(data.unit, units).items():
        if getattr(config.encoder, name) == "auto":
            chosen[f"encoder.{name}"] = dropout
            parts.append(f"{name.replace('_', ' ')} {dropout:g}")
    size = plural(units, UNIT_KINDS[data.unit].name)
    reason = f"{', '.join(parts)}: train has {size}" if parts else ""
    return Chosen(with_options(config, chosen) if chosen else config, reason)


def batch_size_for(sentences: int, spans: int = 0) -> int:
    """Sentences of a batch, for a training corpus of so many sentences and, unless 0, spans."""
    size = next((size for limit, size in _BATCH_SIZES if sentences <= limit), _LARGEST_BATCH)
    return min(size, _SPARSE_BATCH) if 0 < spans <= _SPARSE_SPANS else size


def _pairs_for(tokens: int, classes: int) -> int:
    """Rows for pairs of neighbouring words: the power of two from twice the tokens on."""
    most = min(_MAX_PAIRS, 1 << (_MAX_PAIR_WEIGHTS // max(1, classes)).bit_length() - 1)
    return max(min(1 << (2 * tokens - 1).bit_length(), most), _MIN_PAIRS)


def _lr(config: Config, examples: int, unit: str) -> float:
    """The maximum learning rate of a run that begins with fresh weights."""
    rate = lr_for(examples)
    # A text is one target, a sentence has many, and a high rate soon undoes what vectors say of
    # words: with 0.012 classifiers of 100 questions were right on 54 % of dev, with 0.005 on 62 %.
    return min(rate, _MAX_LR_ABOVE) if unit == "text" and config.embeddings.vectors else rate


def lr_for(sentences: int) -> float:
    """The maximum learning rate, for a training corpus of so many sentences."""
    rate = _LR * (_LR_SENTENCES / max(1, sentences)) ** _LR_POWER
    highest = _MAX_LR if sentences <= _TINY else _MAX_LR_ABOVE
    # Two digits: a sentence more or less should not show.
    return float(f"{min(max(rate, _LR), highest):.2g}")


def text_dropouts(unit: str, units: int) -> dict[str, float]:
    """Options of [encoder] for a language model, whose training text has so many units.

    Words and byte pairs are learnt by heart within a few epochs. Characters hardly are, and much
    dropout keeps their models from learning all that they could.
    """
    if unit != "character":
        return {"locked_dropout": DEFAULT_LOCKED_DROPOUT, "word_dropout": DEFAULT_WORD_DROPOUT}
    locked = _SHORT_TEXT_DROPOUT if units <= _SHORT_TEXT else 0.0
    return {"locked_dropout": locked, "word_dropout": 0.0}
