"""Training: epochs, clipping, schedules, early stopping; one loop, readable from top to bottom."""

import copy
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator

from tagkit.batch import Batch
from tagkit.buckets import Ids, batches_at_random
from tagkit.bundle import digest_of, save_bundle
from tagkit.config import Config
from tagkit.device import choose_device, set_threads
from tagkit.nn.dropout import replace_at_random
from tagkit.predictor import Predictor
from tagkit.preparation import Prepared, prepare
from tagkit.schedule import Schedule
from tagkit.scoring import AnyReport, evaluate, headline
from tagkit.updates import Updates
from tagkit.vocab import UNKNOWN_ID


@dataclass(frozen=True, slots=True)
class Epoch:
    """One pass over the training corpus.

    Attributes:
        number: from 1.
        loss: mean negative log-likelihood in nats of a token, or of a text that is classified.
        score: of dev, as `scoring.headline` has it; 0 to 1.
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
    dev: AnyReport
    test: AnyReport | None
    folder: Path
    stopped_early: bool


class Listener:
    """Told what happens during a run; this one is silent."""

    def on_start(self, prepared: Prepared, threads: int) -> None:
        """Data are read and the model is built."""

    def on_step(self, done: int, total: int) -> None:
        """One step of an epoch of `total` steps is done."""

    def on_epoch(self, epoch: Epoch) -> None:
        """An epoch is done and scored."""


def train(config: Config, listener: Listener | None = None) -> Trained:
    """Train a model as the configuration says, save it, and score it.

    The best epoch's model goes to `best` in the output folder, the last epoch's to `last`.

    Raises:
        TagkitError: a corpus, a file of vectors, the device or the output folder cannot be used.
    """
    listener = listener or Listener()
    threads = set_threads(config.train.threads)
    device = choose_device(config.train.device)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(config.train.seed)
        prepared = prepare(config, device)
        listener.on_start(prepared, threads)
        return _Run(prepared, listener).run()


class _Run:
    """One training run: what changes from step to step, and the loop over it."""

    def __init__(self, prepared: Prepared, listener: Listener) -> None:
        settings = prepared.config.train
        self.prepared = prepared
        self.config = prepared.config
        self.settings = settings
        self.listener = listener
        # Its idea of the device is one for the whole process; ours is one for each run.
        self.accelerator = Accelerator(device_placement=False, mixed_precision="no")
        self.model = self.accelerator.prepare(prepared.model)
        self.updates = Updates(prepared.model, settings)
        self.predictor = Predictor(
            prepared.model, prepared.vocabulary, prepared.config, prepared.device
        )
        self.shuffler = np.random.default_rng(settings.seed)
        self.dice = torch.Generator().manual_seed(settings.seed)
        steps = len(self._batches(np.random.default_rng(settings.seed)))
        self.schedule = Schedule(settings, steps * settings.max_epochs)
        self.folder = Path(prepared.config.output.dir)
        self.facts = _facts(prepared)

    def run(self) -> Trained:
        """All epochs, until the last or until dev stops getting better."""
        epochs: list[Epoch] = []
        best: Epoch | None = None
        best_weights: dict[str, torch.Tensor] = {}
        for number in range(1, self.settings.max_epochs + 1):
            began = time.perf_counter()
            loss, tokens = self._train_once()
            trained_s = time.perf_counter() - began
            with self.updates.averaged():
                dev = self.prepared.corpus.dev
                score = headline(self.predictor, dev, self.settings.batch_size)
                epoch = Epoch(
                    number=number,
                    loss=loss,
                    score=score,
                    lr=self.schedule.lr,
                    tokens_per_s=tokens / trained_s,
                    seconds=time.perf_counter() - began,
                    is_best=best is None or score > best.score,
                )
                if best is None or epoch.is_best:
                    best = epoch
                    best_weights = copy.deepcopy(self.prepared.model.state_dict())
                    self._save("best", epoch)
            epochs.append(epoch)
            self.schedule.after_epoch(score)
            self.listener.on_epoch(epoch)
            if self.settings.patience and number - best.number >= self.settings.patience:
                break
        assert best is not None
        with self.updates.averaged():
            self._save("last", epochs[-1])
        self.prepared.model.load_state_dict(best_weights)
        return self._finish(tuple(epochs), best)

    def _train_once(self) -> tuple[float, int]:
        """One pass over the corpus: mean loss of a target in nats, and the number of tokens."""
        encoded = self.prepared.encoded
        self.model.train()
        batches = self._batches(self.shuffler)
        # Every target counts the same. Batches hold sentences of similar length: divided by its own
        # number of tokens, one of short sentences would pull as hard as one of long ones.
        targets = len(encoded) if self.config.task == "classify" else int(encoded.lengths.sum())
        share = targets / len(batches)
        loss_sum, tokens = 0.0, 0
        for done, indices in enumerate(batches, 1):
            batch = self._with_unknown_words(encoded.batch(indices)).to(self.prepared.device)
            self.updates.before(batch)
            total, _ = self.model(batch)
            self.accelerator.backward(total / share)
            self.updates.step(self.schedule.next_step())
            loss_sum += float(total.detach())
            tokens += int(encoded.lengths[indices].sum())
            self.listener.on_step(done, len(batches))
        return loss_sum / targets, tokens

    def _batches(self, generator: np.random.Generator) -> list[Ids]:
        settings = self.settings
        lengths = self.prepared.encoded.lengths
        return batches_at_random(lengths, settings.batch_size, settings.batch_tokens, generator)

    def _with_unknown_words(self, batch: Batch) -> Batch:
        """The batch with some of its rare words unknown, so that the unknown word is learnt."""
        probability = self.config.embeddings.singleton_dropout
        if not probability:
            return batch
        singletons = self.prepared.singletons
        return batch.with_words(
            replace_at_random(batch.words.word_ids, singletons, UNKNOWN_ID, probability, self.dice)
        )

    def _save(self, name: str, epoch: Epoch, **more: Any) -> None:
        facts = {**self.facts, "epoch": epoch.number, "dev_score": epoch.score, **more}
        prepared = self.prepared
        save_bundle(self.folder / name, prepared.model, prepared.vocabulary, self.config, facts)

    def _finish(self, epochs: tuple[Epoch, ...], best: Epoch) -> Trained:
        """Score the best model, and save it with its scores."""
        corpus, size = self.prepared.corpus, self.settings.batch_size
        dev = evaluate(self.predictor, corpus.dev, batch_size=size)
        test = evaluate(self.predictor, corpus.test, batch_size=size) if corpus.test else None
        scores = {"dev": dev.to_dict(), "test": test.to_dict() if test else None}
        self._save("best", best, scores=scores)
        return Trained(
            predictor=self.predictor,
            epochs=epochs,
            best=best,
            dev=dev,
            test=test,
            folder=self.folder,
            stopped_early=len(epochs) < self.settings.max_epochs,
        )


def _facts(prepared: Prepared) -> dict[str, Any]:
    """What the model is made of, for its metadata."""
    corpus = prepared.corpus
    splits = {"train": corpus.train, "dev": corpus.dev, "test": corpus.test}
    return {
        "data": {
            name: {
                "file": split.path,
                "sentences": len(split.sentences),
                "tokens": split.tokens,
                "scheme": split.scheme,
                "sha256": digest_of(Path(split.path)) if Path(split.path).is_file() else None,
            }
            for name, split in splits.items()
            if split
        },
        "labels": sorted(corpus.train.labels()) if corpus.scheme else [],
        "classes": sorted(corpus.train.classes()) if prepared.vocabulary.classes else [],
    }
