"""From a configuration to what the training loop needs: corpus, vocabulary, model, ids."""

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from tagkit.config import Config, fixed
from tagkit.corpus.dataset import Split
from tagkit.corpus.splits import Corpus
from tagkit.evaluation.criterion import Criterion, check_label
from tagkit.features.affixes import frequent_affixes
from tagkit.features.encoding import Encoded, encode
from tagkit.features.vocabulary import (
    RESERVED,
    Vocabulary,
    count_chars,
    count_surfaces,
    count_words,
    first_known,
    most_frequent,
)
from tagkit.features.word_vectors import Vectors, load_vectors
from tagkit.models.bundle import Bundle, load_bundle
from tagkit.models.model import Model
from tagkit.models.task import Task
from tagkit.models.task_records import Labels, TrainingData
from tagkit.models.task_table import task_of
from tagkit.models.transfer import (
    copy_weights,
    extend_vocabulary,
    inherit_options,
    pretrained_vectors,
)
from tagkit.text.records import Sentence
from tagkit.training.defaults import choose_by_size


@dataclass(frozen=True)
class Prepared:
    """What the training loop needs.

    Attributes:
        task: what is predicted.
        config: resolved from the corpus.
        criterion: what ranks epochs, as `train.metric` says.
        corpus: the splits as they were read.
        vocabulary: of the training corpus, and of the vectors.
        model: on `device`, with fresh weights and pretrained vectors, or with the weights of
            `train.init_from`.
        encoded: the training corpus as ids, in the training scheme.
        singletons: (word ids,) bool, True of words that occur once in the training corpus.
        device: where to train.
        vectors: how many distinct words of the training corpus have a pretrained vector, and how
            many there are; None without vectors.
        by_size: what was chosen from the size of the corpus, in a sentence; empty if nothing was.
        cut: number of training sentences longer than data.max_length, which are read in windows.
    """

    task: Task
    config: Config
    criterion: Criterion
    corpus: Corpus
    vocabulary: Vocabulary
    model: Model
    encoded: Encoded
    singletons: torch.Tensor
    device: torch.device
    vectors: tuple[int, int] | None
    by_size: str
    cut: int


@dataclass(frozen=True)
class Resolved:
    """A configuration in which everything follows from the corpus that can.

    Attributes:
        task: what is predicted.
        config: without "auto", except for what the network and the machine decide.
        criterion: what ranks epochs, as `train.metric` says.
        corpus: the splits as they were read.
        sentences: the training corpus as the model learns it.
        base: the model of `train.init_from`; None without one.
        vectors: pretrained; None without them.
        by_size: as in `Prepared`.
    """

    task: Task
    config: Config
    criterion: Criterion
    corpus: Corpus
    sentences: list[Sentence]
    base: Bundle | None
    vectors: Vectors | None
    by_size: str


def resolve(config: Config, corpus: Corpus | None = None) -> Resolved:
    """Read the vectors, and the corpora if none are given, and decide what follows from them.

    Raises:
        BundleError: the model of `train.init_from` cannot be read.
        ConfigError: an option contradicts the sizes of that model.
        DataError: a corpus cannot be used, or `train.metric` does not fit it.
        VectorsError: the vectors cannot be read.
    """
    task = task_of(config)
    base = load_bundle(Path(config.train.init_from)) if config.train.init_from else None
    if base:
        config = inherit_options(config, base, config.train.init_from)
    corpus = corpus or task.read(config)
    config = task.resolve(config, corpus)
    criterion = chosen_criterion(task, config, corpus)
    config, vectors = _with_vectors(config, base)
    sentences = task.examples(config, corpus.train)
    tokens, unit = sum(map(len, sentences)), task.describe(config).unit
    chosen = choose_by_size(config, len(sentences), tokens, unit)
    return Resolved(
        task=task,
        config=chosen.config,
        criterion=criterion,
        corpus=corpus,
        sentences=sentences,
        base=base,
        vectors=vectors,
        by_size=chosen.reason,
    )


def prepare(config: Config, device: torch.device, corpus: Corpus | None = None) -> Prepared:
    """Read the vectors, and the corpora if none are given, and build the model.

    Fresh weights are drawn from torch's random state.

    Raises:
        BundleError: the model of `train.init_from` cannot be read.
        ConfigError: an option contradicts the sizes of that model.
        DataError: a corpus cannot be used, or `train.metric` does not fit it.
        VectorsError: the vectors cannot be read.
    """
    resolved = resolve(config, corpus)
    task, config, corpus, base = resolved.task, resolved.config, resolved.corpus, resolved.base
    sentences, vectors = resolved.sentences, resolved.vectors
    surfaces = count_surfaces(sentences)
    counts = count_words(surfaces, config.embeddings.lowercase, config.embeddings.normalize_digits)
    labels = task.labels(config, sentences)
    # Characters are those of the words as written: lowercasing does not apply to them.
    chars = most_frequent(count_chars(surfaces))
    affixes = frequent_affixes(surfaces) if fixed(config.embeddings.affix_dim) else ()
    vocabulary = _vocabulary(config, sentences, counts, chars, affixes, labels, vectors)
    if base:
        vocabulary = extend_vocabulary(vocabulary, config, base)
    targets = task.targets(sentences, vocabulary)
    reads_chars = config.embeddings.char_cell != "none"
    weights = _weights(task, config, corpus.train)
    encoded = encode(
        sentences,
        vocabulary,
        targets,
        chars=reads_chars,
        weights=weights,
        document_words=config.encoder.document_words,
    )
    model = task.build(config, vocabulary, TrainingData(encoded, corpus.train.path))
    if vectors:
        _place_vectors(model, vocabulary, vectors)
    if base:
        copy_weights(model, base, vocabulary)
    longest = config.data.max_length
    return Prepared(
        task=task,
        config=config,
        criterion=resolved.criterion,
        corpus=corpus,
        vocabulary=vocabulary,
        model=model.to(device),
        encoded=encoded,
        singletons=_singletons(vocabulary, counts),
        device=device,
        vectors=_covered(vocabulary, counts) if vectors else None,
        by_size=resolved.by_size,
        cut=0 if task.is_whole else sum(len(s) > longest for s in corpus.train.sentences),
    )


def chosen_criterion(task: Task, config: Config, corpus: Corpus) -> Criterion:
    """What ranks epochs, as `train.metric` says.

    Args:
        task: of the configuration.
        config: resolved from the corpus.
        corpus: the splits.

    Raises:
        DataError: the task has no such metric, or the corpus no such label.
    """
    criterion = task.criterion(config)
    check_label(criterion, corpus)
    return criterion


def _with_vectors(config: Config, base: Bundle | None) -> tuple[Config, Vectors | None]:
    """The pretrained vectors, and the configuration with their number of dimensions."""
    if base:
        return config, pretrained_vectors(base)
    options = config.embeddings
    if not options.vectors:
        return config, None
    vectors = load_vectors(Path(options.vectors), options.max_vectors)
    embeddings = options.model_copy(update={"word_dim": vectors.dim})
    return config.model_copy(update={"embeddings": embeddings}), vectors


def _vocabulary(
    config: Config,
    sentences: list[Sentence],
    counts: Counter[str],
    chars: tuple[str, ...],
    affixes: tuple[str, ...],
    labels: Labels,
    vectors: Vectors | None,
) -> Vocabulary:
    """All strings of the training corpus that have ids, and the words of the vectors."""
    options = config.embeddings
    # Ties are broken by the alphabet, so that ids do not depend on the corpus's order.
    by_frequency = sorted(counts, key=lambda word: (-counts[word], word))
    keys = [word for word in by_frequency if counts[word] >= options.min_count]
    vector_words = vectors.words if vectors else ()
    if options.freeze_vectors:  # a word with a pretrained vector gets no trained one
        rows = dict.fromkeys(vector_words, 1)
        keys = [key for key in keys if first_known(key, rows.get) is None]
    return Vocabulary(
        words=tuple(keys),
        vector_words=vector_words,
        only_vectors=options.freeze_vectors,
        chars=chars,
        affixes=affixes,
        tags=labels.tags,
        classes=labels.classes,
        features=tuple(
            most_frequent(value for s in sentences for value in s.features[column])
            for column in range(len(config.data.feature_columns))
        ),
        lowercase=options.lowercase,
        normalize_digits=options.normalize_digits,
        columns=labels.columns,
        # In the order of the corpus, which is the same in every process.
        forms=tuple(dict.fromkeys(w for s in sentences for w in s.words)) if labels.columns else (),
    )


def _place_vectors(model: Model, vocabulary: Vocabulary, vectors: Vectors) -> None:
    rows = [0] * RESERVED + [vocabulary.vector_row(word) for word in vocabulary.words]
    model.embed.words.place(torch.from_numpy(vectors.table), torch.tensor(rows))


def _covered(vocabulary: Vocabulary, counts: Counter[str]) -> tuple[int, int]:
    """How many distinct words have a pretrained vector, and how many words there are."""
    return sum(vocabulary.vector_row(word) > 0 for word in counts), len(counts)


def _weights(task: Task, config: Config, train: Split) -> list[float] | None:
    """The weight of each example: every window of a long sentence has that of the sentence."""
    if train.weights is None:
        return None
    return [
        weight
        for sentence, weight in zip(train.sentences, train.weights, strict=True)
        for _ in task.examples(config, replace(train, sentences=(sentence,)))
    ]


def _singletons(vocabulary: Vocabulary, counts: Counter[str]) -> torch.Tensor:
    """(word ids,) bool, True of words that occur once in the training corpus."""
    once = [counts[word] == 1 for word in vocabulary.words]
    return torch.tensor([False] * RESERVED + once)
