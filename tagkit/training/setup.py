"""From a configuration to all that the training loop needs: corpus, vocabulary, model, ids."""

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from tagkit.config import Config, training_scheme
from tagkit.corpus.splits import Corpus, for_training, load_corpus, several_classes
from tagkit.errors import DataError, shorten
from tagkit.features.batch import Encoded, encode
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
from tagkit.models.bundle import load_bundle
from tagkit.models.label_kinds import kinds_of
from tagkit.models.model import Model, build_model
from tagkit.models.transfer import extended, inherit, inherited, vectors_of
from tagkit.nn.heads.classification import balanced_weights
from tagkit.nn.heads.tagging import estimate_bigrams
from tagkit.text.records import Sentence
from tagkit.text.schemes import OUTSIDE, split_tag
from tagkit.wording import listed


@dataclass(frozen=True)
class Prepared:
    """All that the training loop needs.

    Attributes:
        config: with what the corpus has told.
        corpus: the splits as they were read.
        vocabulary: of the training corpus, and of the vectors.
        model: with fresh weights and pretrained vectors, on `device`.
        encoded: the training corpus as ids, in the training scheme.
        singletons: (word ids,) bool, True of words that occur once in the training corpus.
        device: where to train.
        vectors: how many of the training corpus's words have a pretrained vector, of how many;
            None without vectors.
        cut: how many training sentences were over data.max_length and cut into pieces.
    """

    config: Config
    corpus: Corpus
    vocabulary: Vocabulary
    model: Model
    encoded: Encoded
    singletons: torch.Tensor
    device: torch.device
    vectors: tuple[int, int] | None
    cut: int


def prepare(config: Config, device: torch.device) -> Prepared:
    """Read the corpora and the vectors, and build a model with fresh weights.

    Weights are drawn from torch's random state.

    Raises:
        BundleError: the model to begin with cannot be read.
        ConfigError: an option asks for other sizes than it has.
        DataError: a corpus cannot be used.
        VectorsError: the vectors cannot be read.
    """
    base = load_bundle(Path(config.train.init_from)) if config.train.init_from else None
    if base:
        config = inherited(config, base, config.train.init_from)
    corpus = load_corpus(config, kinds_of(config))
    config = _resolved(config, corpus)
    vectors = vectors_of(base) if base else None
    if config.embeddings.vectors and not base:
        vectors = load_vectors(Path(config.embeddings.vectors), config.embeddings.max_vectors)
        config = _with(config, "embeddings", word_dim=vectors.dim)
    sentences = _examples(config, corpus)
    surfaces = count_surfaces(sentences)
    counts = count_words(surfaces, config.embeddings.lowercase, config.embeddings.normalize_digits)
    chars = most_frequent(count_chars(surfaces))
    vocabulary = _vocabulary(config, sentences, counts, chars, vectors)
    if base:
        vocabulary = extended(vocabulary, config, base)
    encoded = encode(sentences, vocabulary, chars=config.embeddings.char_cell != "none")
    bigrams = None
    if config.head.kind == "viterbi" and config.task != "classify":
        bigrams = estimate_bigrams(encoded.paths(), len(vocabulary.tags))
    weights = _class_weights(config, vocabulary, encoded, corpus.train.path)
    model = build_model(config, vocabulary, bigrams, weights)
    if model.head is not None and config.head.label_weights:
        model.head.tag_weights = _tag_weights(config, vocabulary, corpus.train.path)
    covered = None
    if vectors:
        _place_vectors(model, vocabulary, vectors)
    if base:
        inherit(model, base, vocabulary)
    if vectors:
        covered = (sum(vocabulary.vector_row(word) > 0 for word in counts), len(counts))
    return Prepared(
        config=config,
        corpus=corpus,
        vocabulary=vocabulary,
        model=model.to(device),
        encoded=encoded,
        singletons=_singletons(vocabulary, counts),
        device=device,
        vectors=covered,
        cut=sum(len(s) > config.data.max_length for s in corpus.train.sentences)
        if config.task == "tag"
        else 0,
    )


def _examples(config: Config, corpus: Corpus) -> list[Sentence]:
    """What the model learns from: sentences in the training scheme, or whole texts."""
    sentences = list(corpus.train.sentences)
    if config.task == "classify":
        return sentences
    # A class is of the whole text: with one, no text is cut.
    longest = config.data.max_length if config.task == "tag" else None
    return for_training(sentences, training_scheme(config), longest)


def _resolved(config: Config, corpus: Corpus) -> Config:
    """The configuration with what the corpus has told: its scheme, columns from the left."""
    if config.task != "tag":
        several = "yes" if several_classes(config, corpus.train) else "no"
        config = _with(config, "head", multi_label=several)
    if corpus.scheme is None:
        return config
    if corpus.layout is None:
        return _with(config, "data", scheme=corpus.scheme)
    width = corpus.layout.width
    columns = tuple(
        column % width if isinstance(column, int) else column
        for column in config.data.feature_columns
    )
    token = config.data.token_column
    token = token % width if isinstance(token, int) else token
    return _with(config, "data", scheme=corpus.scheme, feature_columns=columns, token_column=token)


def _with(config: Config, section: str, **values: Any) -> Config:
    changed = getattr(config, section).model_copy(update=values)
    return config.model_copy(update={section: changed})


def _vocabulary(
    config: Config,
    sentences: list[Sentence],
    counts: Counter[str],
    chars: tuple[str, ...],
    vectors: Vectors | None,
) -> Vocabulary:
    """Words, characters, tags and feature values of the training corpus; words of the vectors."""
    options = config.embeddings
    by_frequency = sorted(counts, key=lambda word: (-counts[word], word))
    keys = [word for word in by_frequency if counts[word] >= options.min_count]
    vector_words = vectors.words if vectors else ()
    if options.freeze_vectors:  # what has a vector has nothing else
        rows = dict.fromkeys(vector_words, 1)
        keys = [key for key in keys if first_known(key, rows.get) is None]
    tags = most_frequent(chain.from_iterable(sentence.tags or () for sentence in sentences))
    if config.task != "classify" and training_scheme(config) != "labels" and OUTSIDE not in tags:
        tags = (OUTSIDE, *tags)  # without it a scheme may leave short sentences no legal path
    return Vocabulary(
        words=tuple(keys),
        vector_words=vector_words,
        only_vectors=options.freeze_vectors,
        chars=chars,
        tags=tags,
        classes=most_frequent(label for sentence in sentences for label in sentence.labels)
        if config.task != "tag"
        else (),
        features=tuple(
            most_frequent(value for s in sentences for value in s.features[column])
            for column in range(len(config.data.feature_columns))
        ),
        lowercase=options.lowercase,
        normalize_digits=options.normalize_digits,
    )


def _class_weights(
    config: Config, vocabulary: Vocabulary, encoded: Encoded, path: str
) -> torch.Tensor | None:
    """(classes,) weights of the classes in the loss; None where all weigh the same.

    Raises:
        DataError: an option names a class that the training corpus lacks.
    """
    if config.task == "tag":
        return None
    for option in ("class_weights", "threshold"):
        for label in named if isinstance(named := getattr(config.head, option), dict) else ():
            if vocabulary.class_id(label) is None:
                known = listed(vocabulary.classes)
                raise DataError(
                    f"head.{option}: no text of {path} has the class {shorten(label)}; there are: "
                    f"{known}"
                )
    weights = config.head.class_weights
    if isinstance(weights, dict):
        return torch.tensor([weights.get(label, 1.0) for label in vocabulary.classes])
    if weights == "balanced" and encoded.classes is not None:
        return balanced_weights(torch.from_numpy(encoded.classes))
    return None


def _tag_weights(config: Config, vocabulary: Vocabulary, path: str) -> torch.Tensor:
    """(tags,) weights of the tags in the loss, those of their labels.

    Raises:
        DataError: an option names a label that the training corpus lacks.
    """
    plain = training_scheme(config) == "labels"
    labels = [tag if plain or tag == OUTSIDE else split_tag(tag)[1] for tag in vocabulary.tags]
    for label in config.head.label_weights:
        if label not in labels:
            known = listed([*dict.fromkeys(labels)])
            raise DataError(
                f"head.label_weights: no token of {path} has the label {shorten(label)}; there "
                f"are: {known}"
            )
    return torch.tensor([config.head.label_weights.get(label, 1.0) for label in labels])


def _place_vectors(model: Model, vocabulary: Vocabulary, vectors: Vectors) -> None:
    rows = [0] * RESERVED + [vocabulary.vector_row(word) for word in vocabulary.words]
    model.embed.words.place(torch.from_numpy(vectors.matrix), torch.tensor(rows))


def _singletons(vocabulary: Vocabulary, counts: Counter[str]) -> torch.Tensor:
    """(word ids,) bool, True of trained words that occur once."""
    once = [counts[word] == 1 for word in vocabulary.words]
    return torch.tensor([False] * RESERVED + once)
