"""What a listener gets of a run, and through every listener that stands before it."""

import inspect
import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny
from says import Says, refuses

from tagkit.cli.program.messages import use_flags, with_flags
from tagkit.config import Config, load_config
from tagkit.errors import DataError
from tagkit.training.events.callbacks import (
    LOG,
    Check,
    Epoch,
    Finding,
    Listener,
    Statement,
    Step,
    TrainLog,
    listener_of,
)
from tagkit.training.several.seeds import SeedListener, train_seeds
from tagkit.training.trainer import train

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
    passes = TrainLog(tmp_path, called) if kind == "log" else SeedListener(called, 1, set())
    callback = getattr(passes, name)
    callback(*(Anything() for _ in inspect.signature(callback).parameters))
    assert called.names == [name]


class Anything:
    """Has every attribute and method, is written in every format, and has no length."""

    def __getattr__(self, name: str) -> "Anything":
        return self

    def __call__(self, *_: Any) -> "Anything":
        return self

    def __format__(self, layout: str) -> str:
        return ""

    def __rmul__(self, other: object) -> "Anything":
        return self

    def __radd__(self, other: object) -> float:
        return 0.0

    def __len__(self) -> int:
        return 0

    def __hash__(self) -> int:
        return 0


FINDING = Finding("large-dev", "dev is large", "Make it smaller")


def test_the_log_has_findings_as_warnings(tmp_path: Path) -> None:
    TrainLog(tmp_path, Listener()).on_finding(FINDING)
    (line,) = (tmp_path / LOG).read_text().splitlines()
    assert line[19:] == "  warning: dev is large. Make it smaller."


class Recorder(Listener):
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.epochs: list[Epoch] = []

    def on_step(self, step: Step) -> None:
        self.steps.append(step)

    def on_epoch(self, epoch: Epoch) -> None:
        self.epochs.append(epoch)


def test_a_step_says_how_far_the_run_is(tmp_path: Path) -> None:
    seen = Recorder()
    train(tiny.config(tmp_path, "train.max_epochs=2", "train.max_minutes=7"), seen)
    count = seen.epochs[0].step
    assert [step.run_done for step in seen.steps] == list(range(1, 2 * count + 1))
    assert [step.done for step in seen.steps] == [*range(1, count + 1)] * 2
    assert {(step.epochs, step.total, step.run_total) for step in seen.steps} == {
        (2, count, 2 * count)
    }
    for epoch, last in zip(seen.epochs, (seen.steps[count - 1], seen.steps[-1]), strict=True):
        assert last.epoch == epoch.number
        assert (last.loss, last.tokens_per_s) == (epoch.loss, epoch.tokens_per_s)
    limits = [step.limit_s for step in seen.steps]
    assert limits == sorted(limits, reverse=True)
    assert 0 < limits[-1] < limits[0] < 7 * 60
    assert all(step.closing_s > 0 for step in seen.steps)


@pytest.mark.usefixtures("full_fits")
def test_the_header_comes_before_the_passes_of_what_is_fitted_before_the_first_step(
    tmp_path: Path,
) -> None:
    calls: list[int | str] = []

    class Order(Listener):
        def on_fit(self, number: int) -> None:
            calls.append(number)

        def on_start(self, *_: Any) -> None:
            calls.append("start")

    train(tiny.config(tmp_path, "train.max_epochs=1", "head.feature_crf=500"), Order())
    assert calls == ["start", *range(1, len(calls))]
    assert 20 < len(calls) < 60  # 30 steps, of which some look at the loss more than once


def test_without_a_time_limit_it_is_infinite_and_the_log_has_every_path(tmp_path: Path) -> None:
    seen = Recorder()
    train(tiny.config(tmp_path, "train.max_epochs=1"), seen)
    assert {step.limit_s for step in seen.steps} == {math.inf}
    log = (tmp_path / "model" / "train.log").read_text("utf-8")
    for name in ("train", "dev", "test"):
        assert f"{tmp_path / name}.conll: " in log
    assert f"  dev: {tmp_path}/dev.conll: 20 sentences, " in log


def test_the_log_counts_lines_of_a_language_model(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("the cat sat\na cat sat on the mat\n" * 20)
    files = {f"data.{name}_file": f"{tmp_path}/text.txt" for name in ("train", "dev")}
    small = ["encoder.hidden=4", "embeddings.word_dim=4", "train.max_epochs=1",
             f"output.dir={tmp_path}/model"]  # fmt: skip
    train(load_config(None, small, {"task": "language-model", **files}))
    log = (tmp_path / "model" / "train.log").read_text("utf-8")
    assert f"  {tmp_path}/text.txt: 40 lines, 180 tokens; " in log
    assert f"  dev: {tmp_path}/text.txt: 40 lines, 180 tokens\n" in log


@pytest.mark.parametrize(
    ("listener", "stop", "problem"),
    [
        (Listener, None, Says("listener: ", "found <class")),
        (5, None, Says("listener: ", "found 5")),
        (None, 5, Says("stop: ", "threading.Event", "5")),
    ],
)
def test_what_is_no_listener_is_refused_before_anything_is_removed(
    listener: Any, stop: Any, problem: Says
) -> None:
    for command in (train, train_seeds):
        with refuses(DataError, problem):
            command(Config(), listener, force=True, stop=stop)
    mine = Listener()
    assert listener_of(mine, Listener, None) is mine
    assert type(listener_of(None, Listener, threading.Event())) is Listener


@pytest.mark.parametrize(("precision", "threads"), [("fp32", 2), ("bf16", 1)])
def test_the_threads_are_those_that_training_uses(
    tmp_path: Path, precision: str, threads: int
) -> None:
    seen: list[int] = []

    class Start(Listener):
        def on_start(self, prepared: Any, threads: int) -> None:
            seen.append(threads)

    options = ["train.max_epochs=1", "train.workers=2", f"train.precision={precision}"]
    train(tiny.config(tmp_path, *options, "head.feature_crf=0"), Start())
    assert seen == [threads]
    assert f"on cpu, {threads} thread" in (tmp_path / "model" / "train.log").read_text("utf-8")


@pytest.fixture
def flags() -> Iterator[None]:
    use_flags({"data.train_file": "--train", "overrides": "--set"})
    yield
    use_flags({})


@pytest.mark.usefixtures("flags")
def test_the_text_names_flags_where_the_command_has_them() -> None:
    remedy = "Exchange data.train_file, or train.lr=1"
    finding = Finding("a-name", "dev is large", remedy)
    assert finding.text == "dev is large. Exchange data.train_file, or train.lr=1."
    assert with_flags(finding.text) == "dev is large. Exchange --train, or --set train.lr=1."


def test_a_check_names_what_it_finds() -> None:
    def odd(n: int) -> list[Statement]:
        return [(f"{n} is odd", "Add 1")] if n % 2 else []

    check = Check("odd", odd, useless=True)
    assert list(check.findings(2)) == []
    assert list(check.findings(3)) == [Finding("odd", "3 is odd", "Add 1", useless=True)]
