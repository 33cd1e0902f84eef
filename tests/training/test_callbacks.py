"""Callbacks reach the caller's listener through every listener that stands before it."""

import inspect
from pathlib import Path
from typing import Any

import pytest

from tagkit.training.callbacks import LOG, Listener, TrainLog
from tagkit.training.diagnosis.finding import Finding
from tagkit.training.seeds import SeedListener
from tagkit.wording import Message

CALLBACKS = [name for name in vars(Listener) if name.startswith("on_")]


class Called(Listener):
    """Keeps the names of the callbacks that are called, in place of doing anything."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("on_"):
            return super().__getattribute__(name)
        return lambda *_: self.names.append(name)


@pytest.mark.parametrize("name", CALLBACKS)
@pytest.mark.parametrize("kind", ["log", "seed"])
def test_every_callback_is_passed_on(
    kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = Called()
    if kind == "log":
        monkeypatch.setattr(TrainLog, "write", lambda *_: None)
        # What it writes of an argument is not asked here.
        monkeypatch.setattr("tagkit.training.callbacks.count_parameters", lambda _: 0)
    passes = TrainLog(tmp_path, called) if kind == "log" else SeedListener(called, 1, set())
    callback = getattr(passes, name)
    callback(*(Anything() for _ in inspect.signature(callback).parameters))
    assert called.names == [name]


class Anything:
    """Has every attribute, is written in every format, and has no length."""

    def __getattr__(self, name: str) -> "Anything":
        return self

    def __format__(self, layout: str) -> str:
        return ""

    def __rmul__(self, other: object) -> "Anything":
        return self

    def __len__(self) -> int:
        return 0

    def __hash__(self) -> int:
        return 0


FINDING = Finding("large-dev", Message("dev is large"), Message("Make it smaller"))


def test_the_log_has_findings_as_warnings(tmp_path: Path) -> None:
    TrainLog(tmp_path, Listener()).on_finding(FINDING)
    (line,) = (tmp_path / LOG).read_text().splitlines()
    assert line[19:] == "  warning: dev is large. Make it smaller."
