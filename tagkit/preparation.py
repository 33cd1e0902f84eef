"""From a configuration to all that the training loop needs: corpus, vocabulary, model, ids."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tagkit.batch import Encoded, encode
from tagkit.config import Config
from tagkit.corpus import Corpus, for_training, load_corpus, training_scheme
from tagkit.model import Tagger, build_tagger
from tagkit.nn.taggers import estimate_bigrams
from tagkit.schemes import OUTSIDE
from tagkit.sentence import Sentence
from tagkit.vectors import Vectors, load_vectors
from tagkit.vocab import RESERVED, Vocabulary, count_words, first_known, most_frequent


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
    model: Tagger
    encoded: Encoded
    singletons: torch.Tensor
    device: torch.device
    vectors: tuple[int, int] | None
    cut: int


def prepare(config: Config, device: torch.device) -> Prepared:
    """Read the corpora and the vectors, and build a model with fresh weights.

    Weights are drawn from torch's random state.

    Raises:
        DataError: a corpus cannot be used.
        VectorsError: the vectors cannot be read.
    """
    corpus = load_corpus(config)
    config = _resolved(config, corpus)
    vectors = None
    if config.embeddings.vectors:
        vectors = load_vectors(Path(config.embeddings.vectors), config.embeddings.max_vectors)
        config = _with(config, "embeddings", word_dim=vectors.dim)
    scheme = training_scheme(config)
    sentences = for_training(corpus.train.sentences, scheme, config.data.max_length)
    counts = count_words(sentences, config.embeddings.lowercase, config.embeddings.normalize_digits)
    vocabulary = _vocabulary(config, sentences, counts, vectors)
    encoded = encode(sentences, vocabulary, chars=config.embeddings.char_cell != "none")
    paths = [ids.tolist() for ids in encoded.tag_ids or ()]
    model = build_tagger(config, vocabulary, estimate_bigrams(paths, len(vocabulary.tags)))
    covered = None
    if vectors:
        _place_vectors(model, vocabulary, vectors)
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
        cut=sum(len(s) > config.data.max_length for s in corpus.train.sentences),
    )


def _resolved(config: Config, corpus: Corpus) -> Config:
    """The configuration with what the corpus has told: its scheme, columns from the left."""
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
    config: Config, sentences: list[Sentence], counts: Counter[str], vectors: Vectors | None
) -> Vocabulary:
    """Words, characters, tags and feature values of the training corpus; words of the vectors."""
    options = config.embeddings
    by_frequency = sorted(counts, key=lambda word: (-counts[word], word))
    keys = [word for word in by_frequency if counts[word] >= options.min_count]
    vector_words = vectors.words if vectors else ()
    if options.freeze_vectors:  # what has a vector has nothing else
        rows = dict.fromkeys(vector_words, 1)
        keys = [key for key in keys if first_known(key, rows.get) is None]
    tags = most_frequent(tag for sentence in sentences for tag in sentence.tags or ())
    if training_scheme(config) != "labels" and OUTSIDE not in tags:
        tags = (OUTSIDE, *tags)  # without it a scheme may leave short sentences no legal path
    return Vocabulary(
        words=tuple(keys),
        vector_words=vector_words,
        only_vectors=options.freeze_vectors,
        chars=most_frequent(char for s in sentences for word in s.words for char in word),
        tags=tags,
        features=tuple(
            most_frequent(value for s in sentences for value in s.features[column])
            for column in range(len(config.data.feature_columns))
        ),
        lowercase=options.lowercase,
        normalize_digits=options.normalize_digits,
    )


def _place_vectors(model: Tagger, vocabulary: Vocabulary, vectors: Vectors) -> None:
    rows = [0] * RESERVED + [vocabulary.vector_row(word) for word in vocabulary.words]
    model.embed.words.place(torch.from_numpy(vectors.matrix), torch.tensor(rows))


def _singletons(vocabulary: Vocabulary, counts: Counter[str]) -> torch.Tensor:
    """(word ids,) bool, True of trained words that occur once."""
    once = torch.zeros(len(vocabulary.words) + RESERVED, dtype=torch.bool)
    for number, word in enumerate(vocabulary.words, RESERVED):
        once[number] = counts[word] == 1
    return once
