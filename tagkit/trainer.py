"""Training: epochs, clipping, schedules, early stopping; one loop, readable from top to bottom."""

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator

from tagkit.averaging import RunningMean
from tagkit.batch import Batch, Encoded, batches_at_random, encode
from tagkit.bundle import digest_of, save_bundle
from tagkit.config import Config, TrainConfig
from tagkit.corpus import Corpus, for_training, load_corpus, training_scheme
from tagkit.device import choose_device, set_threads
from tagkit.evaluation.report import Report
from tagkit.model import Tagger, build_tagger
from tagkit.nn.dropout import replace_at_random
from tagkit.nn.taggers import estimate_bigrams
from tagkit.predictor import Predictor
from tagkit.scoring import evaluate, headline
from tagkit.vectors import Vectors, load_vectors
from tagkit.vocab import (
    RESERVED,
    UNKNOWN_ID,
    Vocabulary,
    count_words,
    first_known,
    most_frequent,
    word_key,
)

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "nadam": torch.optim.NAdam,
    "sgd": torch.optim.SGD,
}


@dataclass(frozen=True, slots=True)
class Start:
    """What a run begins with, for whoever shows it.

    Attributes:
        corpus: the splits.
        config: the resolved configuration.
        parameters: numbers that are trained.
        device: for instance "cpu".
        threads: of the CPU.
        vectors: how many of the vocabulary's training words have a pretrained vector, of how many;
            None without vectors.
        cut: how many training sentences were over data.max_length and cut into pieces.
    """

    corpus: Corpus
    config: Config
    parameters: int
    device: str
    threads: int
    vectors: tuple[int, int] | None
    cut: int


@dataclass(frozen=True, slots=True)
class Epoch:
    """One pass over the training corpus.

    Attributes:
        number: from 1.
        loss: mean negative log-likelihood a token, in nats.
        score: of dev: micro F1 of spans, accuracy of plain labels; 0 to 1.
        lr: learning rate of its last step.
        tokens_per_s: of training, scoring dev not counted.
        seconds: of training and scoring.
        is_best: whether no earlier epoch was as good.
    """

    number: int
    loss: float
    score: float
    lr: float
    tokens_per_s: float
    seconds: float
    is_best: bool


@dataclass(frozen=True, slots=True)
class Trained:
    """What a run ends with.

    Attributes:
        predictor: the best epoch's model.
        epochs: all of them.
        best: the one whose model was kept.
        dev: report of the best model on dev.
        test: report on test; None without a test corpus.
        folder: where the model is.
        stopped_early: whether dev stopped getting better before the last epoch.
    """

    predictor: Predictor
    epochs: tuple[Epoch, ...]
    best: Epoch
    dev: Report
    test: Report | None
    folder: Path
    stopped_early: bool


class Listener:
    """Told what happens during a run; this one is silent."""

    def on_start(self, start: Start) -> None:
        """Data are read and the model is built."""

    def on_step(self, done: int, total: int) -> None:
        """One step of an epoch of `total` steps is done."""

    def on_epoch(self, epoch: Epoch) -> None:
        """An epoch is done and scored."""


@dataclass(frozen=True)
class _Setup:
    """All that the loop needs."""

    config: Config
    corpus: Corpus
    vocabulary: Vocabulary
    model: Tagger
    encoded: Encoded
    singletons: torch.Tensor
    device: torch.device


def train(config: Config, listener: Listener | None = None) -> Trained:
    """Train a model as the configuration says, save it, and score it.

    The best epoch's model goes to `best` in the output folder, the last epoch's to `last`.

    Raises:
        TagkitError: a corpus, a file of vectors or the device cannot be used.
    """
    listener = listener or Listener()
    threads = set_threads(config.train.threads)
    device = choose_device(config.train.device)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(config.train.seed)
        setup, start = _set_up(config, device, threads)
        listener.on_start(start)
        return _run(setup, listener)


def _run(setup: _Setup, listener: Listener) -> Trained:
    config, model = setup.config, setup.model
    settings = config.train
    accelerator = Accelerator(cpu=setup.device.type == "cpu")
    optimizer = accelerator.prepare(_optimizer(settings, model))
    model = accelerator.prepare(model)
    predictor = Predictor(model, setup.vocabulary, config, setup.device)
    shuffler = np.random.default_rng(settings.seed)
    dice = torch.Generator().manual_seed(settings.seed)
    folder = Path(config.output.dir)
    facts = _facts(setup.corpus)
    schedule = Schedule(settings, _steps_an_epoch(setup, settings) * settings.max_epochs)

    mean = RunningMean(model, decay=settings.average_decay)
    epochs: list[Epoch] = []
    best: Epoch | None = None
    best_weights: dict[str, torch.Tensor] = {}
    for number in range(1, settings.max_epochs + 1):
        began = time.perf_counter()
        loss_sum, tokens = 0.0, 0
        model.train()
        lengths = setup.encoded.lengths
        batches = batches_at_random(lengths, settings.batch_size, settings.batch_tokens, shuffler)
        for done, indices in enumerate(batches, 1):
            lr = schedule.next_step()
            for group in optimizer.param_groups:
                group["lr"] = lr
            batch = _noisy(setup, setup.encoded.batch(indices), dice).to(setup.device)
            total, count = model(batch)
            accelerator.backward(total / count)
            if settings.max_grad_norm:
                accelerator.clip_grad_norm_(model.parameters(), settings.max_grad_norm)
            optimizer.step()
            optimizer.zero_grad()
            mean.update()
            loss_sum += float(total.detach())
            tokens += int(lengths[indices].sum())
            listener.on_step(done, len(batches))
        trained_s = time.perf_counter() - began

        with mean.lent():
            score = headline(predictor, setup.corpus.dev, settings.batch_size)
            schedule.after_epoch(score)
            epoch = Epoch(
                number=number,
                loss=loss_sum / tokens,
                score=score,
                lr=lr,
                tokens_per_s=tokens / trained_s,
                seconds=time.perf_counter() - began,
                is_best=best is None or score > best.score,
            )
            epochs.append(epoch)
            if best is None or epoch.is_best:
                best = epoch
                best_weights = copy.deepcopy(model.state_dict())
                save_bundle(folder / "best", model, setup.vocabulary, config, _so_far(facts, epoch))
        listener.on_epoch(epoch)
        if settings.patience and number - best.number >= settings.patience:
            break

    assert best is not None
    with mean.lent():
        save_bundle(folder / "last", model, setup.vocabulary, config, _so_far(facts, epochs[-1]))
    model.load_state_dict(best_weights)
    dev = evaluate(predictor, setup.corpus.dev, batch_size=settings.batch_size)
    test = None
    if setup.corpus.test:
        test = evaluate(predictor, setup.corpus.test, batch_size=settings.batch_size)
    scores = {"dev": dev.to_dict(), "test": test.to_dict() if test else None}
    facts = {**_so_far(facts, best), "scores": scores}
    save_bundle(folder / "best", model, setup.vocabulary, config, facts)
    return Trained(
        predictor=predictor,
        epochs=tuple(epochs),
        best=best,
        dev=dev,
        test=test,
        folder=folder,
        stopped_early=len(epochs) < settings.max_epochs,
    )


class Schedule:
    """The learning rate of each step.

    It rises in a straight line from 0 over `warmup_steps`, then stays (constant), falls in a
    straight line to 0 (linear), along half a cosine to 0 (cosine; Loshchilov and Hutter 2017), or
    is cut whenever dev stops getting better (plateau). See Goodfellow, Bengio and Courville,
    section 8.3.1.
    """

    def __init__(self, settings: TrainConfig, total_steps: int) -> None:
        """`total_steps` of a run that is not stopped early."""
        self.settings = settings
        self.total_steps = total_steps
        self._step = 0
        self._factor = 1.0
        self._best = -math.inf
        self._waited = 0

    def next_step(self) -> float:
        """Learning rate of the next step."""
        settings, step = self.settings, self._step
        self._step += 1
        if step < settings.warmup_steps:
            return settings.lr * (step + 1) / settings.warmup_steps
        left = max(1, self.total_steps - settings.warmup_steps)
        progress = min(1.0, (step - settings.warmup_steps) / left)
        shape = {
            "linear": 1 - progress,
            "cosine": (1 + math.cos(math.pi * progress)) / 2,
        }.get(settings.schedule, 1.0)
        return settings.lr * self._factor * shape

    def after_epoch(self, score: float) -> None:
        """Hear dev's score: a plateau schedule anneals when it has not risen for long."""
        if score > self._best:
            self._best, self._waited = score, 0
            return
        self._waited += 1
        if self.settings.schedule == "plateau" and self._waited > self.settings.anneal_patience:
            self._factor *= self.settings.anneal_factor
            self._waited = 0


def _set_up(config: Config, device: torch.device, threads: int) -> tuple[_Setup, Start]:
    corpus = load_corpus(config)
    config = _resolved(config, corpus)
    scheme = training_scheme(config)
    sentences = for_training(corpus.train.sentences, scheme, config.data.max_length)
    vectors = None
    if config.embeddings.vectors:
        vectors = load_vectors(Path(config.embeddings.vectors), config.embeddings.max_vectors)
        config = _with(config, "embeddings", word_dim=vectors.dim)
    vocabulary, initial = _vocabulary(config, sentences, vectors)
    encoded = encode(sentences, vocabulary, chars=config.embeddings.char_cell != "none")
    paths = [ids.tolist() for ids in encoded.tag_ids or ()]
    bigrams = estimate_bigrams(paths, len(vocabulary.tags))
    model = build_tagger(config, vocabulary, bigrams)
    covered = _place_vectors(model, initial, vectors) if vectors else None
    setup = _Setup(
        config=config,
        corpus=corpus,
        vocabulary=vocabulary,
        model=model.to(device),
        encoded=encoded,
        singletons=_singletons(config, sentences, vocabulary),
        device=device,
    )
    start = Start(
        corpus=corpus,
        config=config,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        device=str(device),
        threads=threads,
        vectors=covered,
        cut=sum(len(s) > config.data.max_length for s in corpus.train.sentences),
    )
    return setup, start


def _resolved(config: Config, corpus: Corpus) -> Config:
    """The configuration with what the corpus has told: its scheme, columns from the left."""
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
    config: Config, sentences: list[Any], vectors: Vectors | None
) -> tuple[Vocabulary, list[int | None]]:
    """The vocabulary, and of each of its words the row of its pretrained vector."""
    options = config.embeddings
    form = (options.lowercase, options.normalize_digits)
    counts = count_words(sentences, *form)
    keys = [word for word, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            if n >= options.min_count]  # fmt: skip
    row_of: dict[str, int] = {}
    if vectors:
        row_of = {word: row for row, word in enumerate(vectors.words)}
    rows: list[int | None] = [first_known(key, row_of.get) for key in keys]
    if options.freeze_vectors and vectors:
        # What has a vector keeps it; only the others are trained.
        keys = [key for key, row in zip(keys, rows, strict=True) if row is None]
        rows = [None] * len(keys)
    known = set(keys)
    extra = [word for word in row_of if word_key(word, *form) not in known]
    extra = list(dict.fromkeys(extra))
    tags = most_frequent(tag for sentence in sentences for tag in sentence.tags or ())
    if training_scheme(config) != "labels" and "O" not in tags:
        tags = ("O", *tags)  # without it a scheme may leave short sentences no legal path
    vocabulary = Vocabulary(
        words=(*keys, *extra),
        trained_words=len(keys),
        chars=most_frequent(char for s in sentences for word in s.words for char in word),
        tags=tags,
        features=tuple(
            most_frequent(value for s in sentences for value in s.features[column])
            for column in range(len(config.data.feature_columns))
        ),
        lowercase=options.lowercase,
        normalize_digits=options.normalize_digits,
    )
    return vocabulary, [*rows, *(row_of[word] for word in extra)]


def _place_vectors(model: Tagger, rows: list[int | None], vectors: Vectors) -> tuple[int, int]:
    """Copy pretrained vectors to their rows; how many trained words have one, of how many."""
    words = model.embed.words
    matrix = torch.from_numpy(vectors.matrix)
    trained = words.trained.num_embeddings - RESERVED
    with torch.no_grad():
        for number, row in enumerate(rows[:trained]):
            if row is not None:
                words.trained.weight[number + RESERVED] = matrix[row]
        if rows[trained:]:
            words.frozen.copy_(matrix[torch.tensor(rows[trained:])])
    return sum(row is not None for row in rows[:trained]), trained


def _singletons(config: Config, sentences: list[Any], vocabulary: Vocabulary) -> torch.Tensor:
    """(ids,) True where a word occurs once in the training corpus."""
    options = config.embeddings
    counts = count_words(sentences, options.lowercase, options.normalize_digits)
    once = torch.zeros(len(vocabulary.words) + RESERVED, dtype=torch.bool)
    for number, word in enumerate(vocabulary.words[: vocabulary.trained_words], RESERVED):
        once[number] = counts[word] == 1
    return once


def _noisy(setup: _Setup, batch: Batch, dice: torch.Generator) -> Batch:
    """The batch with some of its rare words unknown, so that the unknown word is learnt."""
    probability = setup.config.embeddings.singleton_dropout
    if not probability:
        return batch
    word_ids = replace_at_random(batch.word_ids, setup.singletons, UNKNOWN_ID, probability, dice)
    return batch.with_words(word_ids)


def _optimizer(settings: TrainConfig, model: Tagger) -> torch.optim.Optimizer:
    options: dict[str, Any] = {"lr": settings.lr, "weight_decay": settings.weight_decay}
    if settings.optimizer == "sgd":
        options["momentum"] = settings.momentum
    if settings.optimizer != "nadam":
        options["fused"] = True  # one pass over each tensor; three times as fast on a CPU
    return OPTIMIZERS[settings.optimizer](model.parameters(), **options)


def _steps_an_epoch(setup: _Setup, settings: TrainConfig) -> int:
    trial = np.random.default_rng(settings.seed)
    lengths = setup.encoded.lengths
    return len(batches_at_random(lengths, settings.batch_size, settings.batch_tokens, trial))


def _facts(corpus: Corpus) -> dict[str, Any]:
    """What the model is made of, for its metadata."""
    splits = {"train": corpus.train, "dev": corpus.dev, "test": corpus.test}
    return {
        "data": {
            name: {
                "file": split.path,
                "sentences": len(split.sentences),
                "tokens": split.tokens,
                "scheme": split.detection.scheme,
                "sha256": digest_of(Path(split.path)) if Path(split.path).is_file() else None,
            }
            for name, split in splits.items()
            if split
        },
        "labels": sorted(corpus.train.labels()),
    }


def _so_far(facts: dict[str, Any], epoch: Epoch) -> dict[str, Any]:
    return {**facts, "epoch": epoch.number, "dev_score": epoch.score}
