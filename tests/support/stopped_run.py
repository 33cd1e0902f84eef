"""A run that was stopped in its second epoch, and changes of what it has saved."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from runs import StopAt

from tagkit.config import Config
from tagkit.errors import Interrupted
from tagkit.training.loop.state import RunState
from tagkit.training.processes.distributed import processes_of
from tagkit.training.setup.setup import prepare
from tagkit.training.trainer import train

LAST, BEFORE = "step-00000013", "step-00000010"


def settings(folder: Path, output: Path) -> Config:
    return tiny.small(folder, "train.max_epochs=2", "train.patience=0", f"output.dir={output}")


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def forge(place: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a checkpoint's body, and have the right digest of it."""
    record = json.loads((place / "state.json").read_text())
    change(record["body"])
    record["sha256"]["body"] = digest(json.dumps(record["body"], sort_keys=True).encode())
    (place / "state.json").write_text(json.dumps(record))


@dataclass(frozen=True)
class Stopped:
    """A run that was stopped in its second epoch."""

    run: Path
    state: RunState


def stop(folder: Path) -> Stopped:
    """Train in a folder, and stop."""
    tiny.corpus(folder)
    config = settings(folder, folder / "run")
    listener = StopAt(13)
    with pytest.raises(Interrupted):
        train(config, listener, stop=listener.stop)
    names = sorted(path.name for path in (folder / "run" / "checkpoints").iterdir())
    assert names[-2:] == [BEFORE, LAST]
    device = torch.device("cpu")
    state = RunState(prepare(config, device), processes_of(device), print)
    return Stopped(folder / "run", state)


def put(*path: str | int, value: object) -> Callable[[dict[str, Any]], object]:
    def change(body: dict[str, Any]) -> None:
        for key in path[:-1]:
            body = body[key]  # type: ignore[index]
        body[path[-1]] = value  # type: ignore[index]

    return change
