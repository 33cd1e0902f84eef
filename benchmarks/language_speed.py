"""Steps of training of a language model, beside torch's LSTM and softmax of the same sizes.

Theirs is what a textbook has: an embedding, `torch.nn.LSTM`, one matrix to all words (that of the
embedding), `cross_entropy`, clipping of the gradient's norm and Adam, on the same segments of the
same streams. Ours is the step of `tagkit train`, without what an epoch has besides: dev, models and
checkpoints. Both have one thread, and seconds are those of the CPU: other programs on the machine
matter less.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tagkit.config import Config
from tagkit.features.batching.unit_stream import UnitStream
from tagkit.training.loop.state import RunState
from tagkit.training.processes.distributed import processes_of
from tagkit.training.setup.setup import Prepared, prepare
from tagkit.training.trainer import forward_backward

WARM = 3  # steps before those that count


class Bare(nn.Module):
    """Embedding, LSTM, softmax."""

    def __init__(self, units: int, dim: int, hidden: int, layers: int, *, tied: bool) -> None:
        """`units`, the unknown one among them."""
        super().__init__()
        self.embed = nn.Embedding(units, dim)
        self.lstm = nn.LSTM(dim, hidden, layers, batch_first=True)
        is_projected = tied and hidden != dim
        self.project = nn.Linear(hidden, dim, bias=False) if is_projected else nn.Identity()
        self.output = nn.Linear(dim if tied else hidden, units)
        if tied:
            self.output.weight = self.embed.weight

    def forward(
        self, read: Tensor, wanted: Tensor, state: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The mean loss of (batch, time) units, and the state to go on from."""
        hidden, (h, c) = self.lstm(self.embed(read), state)
        scores = self.output(self.project(hidden))
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), wanted.flatten())
        return loss, (h.detach(), c.detach())


def measure(config: Config, steps: int, *, ours_first: bool) -> dict[str, Any]:
    """Tokens a second of both; `ours_first` says whose turn comes first.

    Raises:
        ValueError: torch's side has another cell, or another softmax.
    """
    if config.encoder.cell != "lstm" or config.head.softmax not in ("auto", "full"):
        raise ValueError("torch's side is an LSTM with a softmax over all units")
    torch.manual_seed(config.train.seed)
    prepared = prepare(config, torch.device("cpu"))
    turns = {"ours": our_steps(prepared), "bare": bare_steps(prepared)}
    found = {}
    for name in turns if ours_first else reversed(turns):
        step = turns[name]
        for _ in range(WARM):
            step()
        start = time.process_time()
        tokens = sum(step() for _ in range(steps))
        found[name] = round(tokens / (time.process_time() - start))
    return found


def our_steps(prepared: Prepared) -> Callable[[], int]:
    """Takes the next step as `tagkit.training.trainer.training_loop` does; its tokens."""
    processes = processes_of(torch.device("cpu"), "none", Path())
    state = RunState(prepared, processes, lambda text: None)
    prepared.model.train()
    plan = state.plan_epoch()
    optimizer, average = state.optimizer, state.optimizer.average

    def step() -> int:
        batches = plan.steps[state.step % len(plan.steps)]
        loss, targets = forward_backward(state, batches, plan.targets_per_step)
        assert optimizer.clip_gradients(loss).usable
        decay = average.next_decay()
        optimizer.step(state.schedule.next_step(), decay)
        average.update(decay)
        optimizer.zero_grad()
        state.step += 1
        return targets

    return step


def bare_steps(prepared: Prepared) -> Callable[[], int]:
    """The same of the textbook's model."""
    config, encoded = prepared.config, prepared.encoded
    assert isinstance(encoded, UnitStream)
    assert config.train.batch_size != "auto"
    assert config.train.bptt != "auto"
    assert config.train.lr != "auto"
    model = Bare(
        len(prepared.vocabulary.words) + 1,
        config.embeddings.word_dim,
        config.encoder.hidden,
        config.encoder.layers,
        tied=config.embeddings.tied,
    )
    optimizer = torch.optim.Adam(model.parameters(), config.train.lr)
    streams, segment = config.train.batch_size, config.train.bptt
    ids = torch.from_numpy(np.asarray(encoded.ids).astype(np.int64) - 1)
    width = (len(ids) - 1) // streams
    read = ids[: streams * width].view(streams, width)
    wanted = ids[1 : streams * width + 1].view(streams, width)
    at, state = 0, None

    def step() -> int:
        nonlocal at, state
        if at + segment > width:
            at, state = 0, None
        part = slice(at, at + segment)
        loss, state = model(read[:, part], wanted[:, part], state)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), config.train.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad()
        at += segment
        return streams * segment

    return step
