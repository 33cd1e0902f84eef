"""Small runs that are stopped, and losses that are not what they should be."""

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import tiny
import torch

from tagkit.config import Config
from tagkit.errors import Interrupted
from tagkit.features.batching.batch import Batch
from tagkit.models.base.model import Model
from tagkit.training.events.callbacks import Epoch, Listener, Step
from tagkit.training.run_end import Trained
from tagkit.training.trainer import train

EPOCHS, STEPS = 3, 30  # of a run; ten an epoch


def settings(folder: Path, *overrides: str, **flags: object) -> Config:
    config = tiny.config(
        folder,
        f"train.max_epochs={EPOCHS}",
        "train.patience=0",
        "encoder.dropout=0.2",
        "train.checkpoint_every=4",
        *overrides,
        **flags,
    )
    # Words that occur once, some of which training reads as unknown, by chance.
    names = [[f"Na{letter}\tB-PER", "leaves\tO", ".\tO"] for letter in "bcdfghjklmnpqrstvwxz"]
    tiny.write(folder / "train.conll", tiny.lines(60, seed=1) + names)
    return config


def digests(folder: Path) -> list[str]:
    """Of the best model's weights and the last one's."""
    files = [folder / "model" / name / "model.safetensors" for name in ("best", "last")]
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]


class StopAt(Listener):
    """Asks a run to end after some of its steps; keeps what it is told."""

    def __init__(self, *steps: int) -> None:
        self.steps = steps
        self.stop = threading.Event()
        self.count = 0
        self.notes: list[str] = []
        self.epochs: list[Epoch] = []

    def on_step(self, step: Step) -> None:
        self.count += 1
        if self.count in self.steps:
            self.stop.set()

    def on_epoch(self, epoch: Epoch) -> None:
        self.epochs.append(epoch)

    def on_note(self, text: str) -> None:
        self.notes.append(text)


def to_the_end(settings: Callable[[], Config], after: int) -> Trained:
    """A run that is stopped after so many steps each time, and resumed until it is done."""
    while True:
        listener = StopAt(after)
        try:
            return train(settings(), listener, resume=True, stop=listener.stop)
        except Interrupted:
            assert listener.count == after


def resumed(folder: Path) -> Trained:
    """A run that goes on with what is there, in a process of its own."""
    return train(settings(folder), resume=True)


def whole_and_stopped(
    folder: Path, after: int, settings: Callable[[Path], Config]
) -> tuple[Trained, Trained]:
    """A run in `folder / "whole"`, and one in `folder / "stopped"` that ends with equal weights.

    Args:
        folder: of both.
        after: how many steps the second one makes each time before it is stopped.
        settings: of a run into this folder.
    """
    runs = []
    for name, steps in (("whole", 10**6), ("stopped", after)):
        place = folder / name
        place.mkdir()
        stops: list[int] = []

        def configured(place: Path = place, stops: list[int] = stops) -> Config:
            stops.append(1)
            return settings(place / "model")

        runs.append(to_the_end(configured, steps))
        assert (len(stops) > 1) == (name == "stopped")
    assert digests(folder / "whole") == digests(folder / "stopped")
    return runs[0], runs[1]


class Faulty:
    """Lets the loss of some batches be what they should not be."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, loss: float, calls: range) -> None:
        self.calls, self.count = calls, 0
        whole = Model.forward

        def faulty(model: Model, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
            total, count = whole(model, batch)
            if not model.training:  # the loss on dev is none of a step
                return total, count
            self.count += 1
            return (total * loss if self.count in self.calls else total), count

        monkeypatch.setattr(Model, "forward", faulty)


def settings_without_chance(folder: Path, *overrides: str, write: bool = True) -> Config:
    """A run without chance but for the order of the corpus."""
    options = ["encoder.dropout=0", "encoder.word_dropout=0", "embeddings.min_count=2",
               "train.max_epochs=2", "train.checkpoint_every=3", "train.batch_size=9",
               *overrides]  # fmt: skip
    if write:
        return tiny.config(folder, *options)
    return tiny.small(folder, *options)
