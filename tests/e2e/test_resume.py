"""A run that is stopped, killed, or finds the disk full ends as one that was left alone."""

import errno
import hashlib
import io
import json
import multiprocessing
import os
import random
import shutil
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
from command_server import IMPORTED_BEFORE
from marks import mostly_slow
from runs import EPOCHS, STEPS, StopAt, digests, resumed, settings, to_the_end, whole_and_stopped
from says import Says, refuses

from tagkit.config import with_options
from tagkit.errors import CheckpointError, ConfigError, Interrupted, TagkitError
from tagkit.inference.predict.predictor import load
from tagkit.nn.layers.encoder import LAYERS
from tagkit.storage import whole_folder
from tagkit.training.events.callbacks import Step
from tagkit.training.folder.run_identity import identity
from tagkit.training.trainer import train


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("undisturbed")
    trained = train(settings(folder))
    assert trained.epochs[-1].step == STEPS
    return digests(folder)


@pytest.mark.parametrize("after", mostly_slow([7, 1, 10, 3, 11, 25], always=1))
def test_a_run_that_is_stopped_ends_with_the_weights_of_one_that_was_not(
    tmp_path: Path, undisturbed: list[str], after: int
) -> None:
    trained = to_the_end(lambda: settings(tmp_path), after)
    assert [epoch.number for epoch in trained.epochs] == [1, 2, 3]
    assert digests(tmp_path) == undisturbed


@pytest.mark.slow
def test_the_weights_do_not_depend_on_the_number_of_workers(
    tmp_path: Path, undisturbed: list[str]
) -> None:
    threads: dict[int, set[str]] = {1: set(), 2: set()}
    for workers, found in threads.items():  # a run may be resumed with another number

        class Threads(StopAt):
            def on_step(self, step: Step, found: set[str] = found) -> None:
                found |= {thread.name.split("_")[0] for thread in threading.enumerate()}
                super().on_step(step)

        config = settings(tmp_path, f"train.workers={workers}")
        with suppress(Interrupted):
            listener = Threads(11)
            train(config, listener, resume=True, stop=listener.stop if workers == 1 else None)
    assert digests(tmp_path) == undisturbed
    assert "second" in threads[2] - threads[1]


OTHER_RUNS = [
    ["train.optimizer=sgd", "train.lr=0.3", "train.schedule=plateau"],
    ["train.optimizer=nadam"],
    ["train.optimizer=adamw", "train.weight_decay=0.01", "train.schedule=cosine"],
    ["task=classify", "head.dropout=0.3"],
    ["train.average_decay=0", "train.precision=bf16"],
    ["train.batch_tokens=16", "train.warmup_steps=5"],
    ['data.tag_column=["UPOS", "FEATS", "LEMMA", "MISC.NER"]'],
    *([f"encoder.cell={cell}"] for cell in sorted(LAYERS.keys() - {"lstm"})),
    ["encoder.cell=leaky", "encoder.leak=learned", "train.bptt=3"],
    ["train.flow_strength=0.5", "encoder.layers=2"],
    ["encoder.weight_drop=0.5", "embeddings.dropout=0.2", "train.bptt=3",
     "train.flow_strength=0.5", "encoder.layers=2"],
    ["train.averaging=triggered", "train.average_patience=1", "train.max_epochs=6"],
    ["train.averaging=triggered", "train.average_patience=1", "train.optimizer=sgd",
     "train.lr=1", "train.momentum=0", "train.schedule=constant", "train.max_epochs=6"],
    ["train.lm_loss=0.1", "encoder.layers=2"],
    ["task=classify", "train.lm_loss=0.1", "train.precision=bf16"],
    ["encoder.init=normal", "encoder.spectral_radius=1.1", "encoder.chrono=9"],
    ["encoder.cell=echo-state", "encoder.leak=learned"],
    ["encoder.cell=cnn", "encoder.widths=[5,3]", "encoder.layers=3", "encoder.dilation=2"],
    # The schedule counts steps of the run, not batches nor steps since it was resumed.
    ["head.kind=feedback", "head.sampling=linear", "head.sampling_steps=20"],
    ['data.tag_column=["UPOS", "MISC.NER"]', "head.kind=feedback",
     "head.sampling=inverse-sigmoid", "head.sampling_steps=5", "head.sampling_rate=1"],
    ["encoder.layers=3", "encoder.connection=highway", "encoder.output_layers=[7]", "train.bptt=3"],
    [
        "encoder.cell=deep-transition",
        "encoder.transition_skip=false",
        "encoder.layers=2",
        "encoder.connection=residual",
    ],
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("overrides", mostly_slow(OTHER_RUNS, always=3), ids="+".join)
def test_every_optimizer_and_schedule_goes_on_as_it_was(
    tmp_path: Path, overrides: list[str]
) -> None:
    files = {}
    if "task=classify" in overrides:
        rows = [f"{'ab'[i % 2]}\t{'x ' * (i % 5 + 1)}{'pq'[i % 2]}" for i in range(40)]
        (tmp_path / "t.tsv").write_text("label\ttext\n" + "\n".join(rows) + "\n")
        files = {f"data.{split}_file": str(tmp_path / "t.tsv") for split in ("train", "dev")}
        files["data.test_file"] = ""
    if "UPOS" in overrides[0]:
        files = tiny.treebank(tmp_path)
    short = ["data.train_sentences=40", *overrides]
    whole_and_stopped(
        tmp_path, 4, lambda output: settings(tmp_path, *short, f"output.dir={output}", **files)
    )


@pytest.mark.slow
def test_the_end_of_an_epoch_is_a_place_to_stop_and_to_go_on_with_more_epochs(
    tmp_path: Path,
) -> None:
    train(settings(tmp_path, "train.max_epochs=2", "train.schedule=constant"))
    trained = train(settings(tmp_path, "train.schedule=constant"), resume=True)
    more = digests(tmp_path)
    assert len(trained.epochs) == EPOCHS
    train(settings(tmp_path, "train.schedule=constant"), force=True)
    assert digests(tmp_path) == more


@pytest.mark.slow
def test_a_finished_run_is_finished_again_at_once(tmp_path: Path, undisturbed: list[str]) -> None:
    first = train(settings(tmp_path))
    listener = StopAt()
    again = train(settings(tmp_path), listener, resume=True)
    assert listener.count == 0
    assert again.test == first.test
    assert digests(tmp_path) == undisturbed


def test_a_run_that_is_stopped_before_its_first_score_leaves_a_model(tmp_path: Path) -> None:
    listener = StopAt(2)
    with refuses(Interrupted, "2", "1", "after"):
        train(settings(tmp_path), listener, stop=listener.stop)
    assert load(tmp_path / "model").predict("Ada visits Rome .").spans is not None


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def alter(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tensors.safetensors", "state.json"])
@pytest.mark.parametrize("damage", mostly_slow([cut, alter, Path.unlink], always=1))
def test_a_damaged_newest_checkpoint_falls_back_to_the_one_before_aloud(
    tmp_path: Path, undisturbed: list[str], name: str, damage: Callable[[Path], None]
) -> None:
    listener = StopAt(19)
    with pytest.raises(Interrupted):
        train(settings(tmp_path), listener, stop=listener.stop)
    checkpoints = sorted((tmp_path / "model" / "checkpoints").iterdir())
    assert [place.name for place in checkpoints][-2:] == ["step-00000016", "step-00000019"]
    damage(checkpoints[-1] / name)
    listener = StopAt()
    train(settings(tmp_path), listener, resume=True)
    *notes, share = listener.notes
    assert [note.partition(" (")[0] for note in notes] == [
        f"{checkpoints[-1]}: damaged", "resuming after step 16",
    ]  # fmt: skip
    assert share.startswith("a CRF of word features counts ")
    assert "damaged" in (tmp_path / "model" / "train.log").read_text()
    assert listener.count == STEPS - 16
    assert digests(tmp_path) == undisturbed


def forge(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Change a checkpoint's body, and have the right digest of it."""

    def damage(place: Path) -> None:
        record = json.loads((place / "state.json").read_text())
        change(record["body"])
        body = json.dumps(record["body"], sort_keys=True).encode()
        record["sha256"]["body"] = hashlib.sha256(body).hexdigest()
        (place / "state.json").write_text(json.dumps(record))

    return damage


WRONG: list[tuple[Callable[[Path], Any], str]] = [
    (lambda place: (place / "state.json").write_text("[" * 100_000), "is not JSON"),
    (forge(lambda body: body["state"].pop("schedule")), "'state.schedule' is missing"),
    (forge(lambda body: body["state"].pop("run")), "state.run is missing"),
    (forge(lambda body: body["state"].update(skipped=None)), "'state.skipped' = 'None'"),
    (forge(lambda body: body["state"]["position"].update(done=99)), "state.position.done = 99"),
]


@pytest.mark.parametrize(
    ("damage", "problem"), mostly_slow(WRONG, always=1), ids=[row[1] for row in WRONG]
)
def test_a_checkpoint_that_no_run_has_written_falls_back_to_the_one_before(
    tmp_path: Path, undisturbed: list[str], damage: Callable[[Path], Any], problem: str
) -> None:
    listener = StopAt(19)
    with pytest.raises(Interrupted):
        train(settings(tmp_path), listener, stop=listener.stop)
    newest = tmp_path / "model" / "checkpoints" / "step-00000019"
    damage(newest)
    listener = StopAt()
    trained = train(settings(tmp_path), listener, resume=True)
    assert listener.notes[0].startswith(f"{newest}: damaged (")
    assert problem in listener.notes[0]
    assert listener.notes[1] == "resuming after step 16"
    assert listener.count == STEPS - 16
    assert all(epoch.loss > 0 for epoch in trained.epochs)
    assert digests(tmp_path) == undisturbed


@pytest.mark.slow
def test_a_checkpoint_of_a_later_format_is_refused(tmp_path: Path) -> None:
    train(settings(tmp_path))
    for place in (tmp_path / "model" / "checkpoints").iterdir():
        record = json.loads((place / "state.json").read_text())
        record |= {"format_version": 99, "tagkit": "9.1"}
        (place / "state.json").write_text(json.dumps(record))
    with refuses(CheckpointError, "9.1", "Upgrade"):
        train(settings(tmp_path), resume=True)


@pytest.mark.slow
def test_if_all_checkpoints_are_damaged_that_is_said(tmp_path: Path) -> None:
    train(settings(tmp_path))
    for place in (tmp_path / "model" / "checkpoints").iterdir():
        cut(place / "tensors.safetensors")
    with refuses(CheckpointError, "force=True", "checkpoint"):
        train(settings(tmp_path), resume=True)


@pytest.mark.slow
def test_a_model_without_checkpoints_is_not_taken_for_a_run_to_go_on_with(tmp_path: Path) -> None:
    train(settings(tmp_path))
    before = digests(tmp_path)
    shutil.rmtree(tmp_path / "model" / "checkpoints")
    with refuses(CheckpointError, "checkpoint"):
        train(settings(tmp_path), resume=True)
    assert digests(tmp_path) == before


@pytest.mark.slow
def test_a_run_does_not_replace_another_unless_forced(tmp_path: Path) -> None:
    train(settings(tmp_path))
    before = digests(tmp_path)
    with refuses(CheckpointError, "output.dir", "finished"):
        train(settings(tmp_path, "train.seed=2"))
    assert digests(tmp_path) == before
    train(settings(tmp_path, "train.seed=2"), force=True)
    assert digests(tmp_path) != before
    listener = StopAt(3)
    with pytest.raises(Interrupted):
        train(settings(tmp_path), listener, force=True, stop=listener.stop)
    with refuses(CheckpointError, "resume=True", "stopped"):
        train(settings(tmp_path))


@pytest.mark.slow
def test_forcing_removes_what_a_run_writes_and_nothing_else(tmp_path: Path) -> None:
    train(settings(tmp_path))
    (tmp_path / "model" / "notes.txt").write_text("mine")
    first_log = (tmp_path / "model" / "train.log").read_text()
    before = digests(tmp_path)
    with refuses(CheckpointError, "notes.txt", "written"):
        train(settings(tmp_path, "train.max_epochs=1"), force=True)
    assert digests(tmp_path) == before
    assert (tmp_path / "model" / "notes.txt").read_text() == "mine"
    (tmp_path / "model" / "notes.txt").unlink()
    train(settings(tmp_path, "train.max_epochs=1"), force=True)
    assert len((tmp_path / "model" / "train.log").read_text()) < len(first_log)


@pytest.mark.parametrize(
    ("override", "problem"),
    [
        ("train.lr=0.5", r"train.lr = 0.02, not 0.5"),
        ("encoder.hidden=8", r"encoder.hidden = 16, not 8"),
        ("train.seed=9", r"train.seed = 1, not 9"),
    ],
)
def test_a_run_is_resumed_only_with_its_own_options(
    tmp_path: Path, override: str, problem: str
) -> None:
    listener = StopAt(3)
    with pytest.raises(Interrupted):
        train(settings(tmp_path), listener, stop=listener.stop)
    with refuses(CheckpointError, problem, "Resume"):
        train(settings(tmp_path, override), resume=True)


def test_all_that_differs_is_named_at_once(tmp_path: Path) -> None:
    listener = StopAt(3)
    with pytest.raises(Interrupted):
        train(settings(tmp_path), listener, stop=listener.stop)
    with refuses(CheckpointError, "16", "8", "train.lr", "0.02", "0.5"):
        train(settings(tmp_path, "train.lr=0.5", "encoder.hidden=8"), resume=True)


def test_a_run_does_not_go_on_with_other_vectors_or_another_kind_of_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("oslo 1 0\nrome 0 1\n")
    config = settings(tmp_path, f"embeddings.vectors={vectors}")
    listener = StopAt(3)
    with pytest.raises(Interrupted):
        train(config, listener, stop=listener.stop)
    vectors.write_text("oslo 1 0\nrome 1 1\n")
    with refuses(CheckpointError, "another"):
        train(config, resume=True)
    vectors.write_text("oslo 1 0\nrome 0 1\n")
    whole = "tagkit.training.trainer.identity"
    monkeypatch.setattr(whole, lambda *a: {**identity(*a), "kind of device": "cuda"})
    with refuses(CheckpointError, '"cpu"', '"cuda"'):
        train(config, resume=True)


@pytest.mark.slow
def test_a_model_in_the_output_folder_cannot_be_the_one_to_begin_with(tmp_path: Path) -> None:
    train(settings(tmp_path))
    for name, where in (("model", "is the output too"), ("model/best", "lies in")):
        with refuses(ConfigError, name, where):
            train(settings(tmp_path, f"train.init_from={tmp_path / name}"), force=True)
    assert digests(tmp_path)


@pytest.mark.slow
def test_half_written_folders_are_removed_when_a_run_goes_on(tmp_path: Path) -> None:
    listener = StopAt(3)
    with pytest.raises(Interrupted):
        train(settings(tmp_path), listener, stop=listener.stop)
    for name in (".best.writing", "checkpoints/.step-00000002.writing"):
        (tmp_path / "model" / name).mkdir()
    train(settings(tmp_path), resume=True)
    assert not list((tmp_path / "model").rglob(".*"))


def test_a_folder_that_cannot_take_its_place_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "x"
    with whole_folder(folder) as place:
        (place / "a").write_text("old")
    calls = []
    rename = os.rename

    def second_fails(*names: Path) -> None:
        calls.append(names)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "full")
        rename(*names)

    monkeypatch.setattr(os, "rename", second_fails)
    with refuses(OSError), whole_folder(folder) as place:
        (place / "a").write_text("new")
    assert [p.name for p in tmp_path.iterdir()] == ["x"]
    assert (folder / "a").read_text() == "old"


def test_a_run_does_not_go_on_with_another_corpus(tmp_path: Path) -> None:
    listener = StopAt(3)
    with pytest.raises(Interrupted):
        train(settings(tmp_path), listener, stop=listener.stop)
    run = settings(tmp_path)
    with (tmp_path / "train.conll").open("a") as file:
        file.write("Ada B-PER\n\n".replace(" ", "\t"))
    with refuses(CheckpointError, "another"):
        train(run, resume=True)


@pytest.mark.slow
def test_a_run_does_not_go_on_with_another_corpus_from_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(tmp_path)
    content = (tmp_path / "train.conll").read_bytes()
    lines = content.split(b"\n\n")
    # Of the same words and tags: the vocabulary tells nothing.
    others = b"\n\n".join([*lines[1::-1], *lines[2:]])

    def run(corpus: bytes, *, resume: bool, listener: StopAt | None = None) -> None:
        stream = io.BufferedReader(io.BytesIO(corpus))
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream, closed=False))
        config = with_options(settings(tmp_path), {"data.train_file": "-"})
        stop = listener.stop if listener else None
        train(config, listener, resume=resume, stop=stop)

    with pytest.raises(Interrupted):
        run(content, resume=False, listener=StopAt(3))
    with refuses(CheckpointError, "another"):
        run(others, resume=True)
    run(content, resume=True)


@pytest.mark.slow
def test_history_and_log_hold_a_line_an_epoch(tmp_path: Path) -> None:
    trained = to_the_end(lambda: settings(tmp_path), after=13)
    lines = (tmp_path / "model" / "history.jsonl").read_text().splitlines()
    history = [json.loads(line) for line in lines]
    assert [(line["epoch"], line["step"]) for line in history] == [(1, 10), (2, 20), (3, 30)]
    assert [line["dev"] for line in history] == [epoch.score for epoch in trained.epochs]
    parts = [line["dev_scores"] for line in history]
    assert parts[-1] == {
        "accuracy": trained.dev.accuracy, "precision": trained.dev.micro.precision,
        "recall": trained.dev.micro.recall, "f1": history[-1]["dev"],
        "macro_f1": trained.dev.macro.f1,
    }  # fmt: skip
    assert {"loss", "lr", "tokens_per_s", "seconds"} < history[0].keys()
    log = (tmp_path / "model" / "train.log").read_text()
    assert [log.count(f" epoch {number}, ") for number in (1, 2, 3)] == [1, 1, 1]


@pytest.mark.slow
def test_a_run_writes_under_its_folder_alone_and_leaves_nothing_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch, home = tmp_path / "scratch", tmp_path / "home"
    scratch.mkdir()
    home.mkdir()
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.setenv(name, str(scratch))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    train(settings(tmp_path))
    assert list(scratch.iterdir()) == []
    assert list(home.iterdir()) == []
    names = {path.name for path in (tmp_path / "model").iterdir()}
    written = {
        "best", "last", "checkpoints", "history.jsonl", "train.log", "tagkit-run.json",
        "dev.pred", "test.pred", "report.txt", "report.json", "curves.svg",
    }  # fmt: skip
    assert names == written
    assert {p.name for p in tmp_path.iterdir()} == {
        "scratch", "home", "model", "train.conll", "dev.conll", "test.conll",
    }  # fmt: skip


class FullDisk:
    """Lets the nth call that changes the disk fail, as one does when the disk is full."""

    CALLS: tuple[tuple[Any, str], ...] = (
        (Path, "write_bytes"), (Path, "write_text"), (Path, "mkdir"), (os, "fsync"),
        (os, "rename"), (os, "replace"), (Path, "open"),
    )  # fmt: skip

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = -1
        for owner, name in self.CALLS:
            monkeypatch.setattr(owner, name, self._guarded(getattr(owner, name)))

    def _guarded(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: Any, **kwargs: Any) -> Any:
            mode = str([*args[1:2], kwargs.get("mode", "")])
            reads = call.__name__ == "open" and not ("a" in mode or "w" in mode)
            self.left -= not reads
            if reads:
                return call(*args, **kwargs)
            if self.left == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return call(*args, **kwargs)

        return guarded


@pytest.mark.slow
def test_a_disk_that_is_full_at_any_write_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As many writes as a long run has, and few steps between them.
    short = ["train.max_epochs=2", "train.checkpoint_every=3", "data.train_sentences=32"]
    train(settings(tmp_path, *short))
    expected = digests(tmp_path)
    train(settings(tmp_path, *short), force=True)
    disk = FullDisk(monkeypatch)
    number = 0
    while True:
        number += 1
        disk.left = -1
        folder = tmp_path / str(number)
        folder.mkdir()
        run = settings(tmp_path, *short, f"output.dir={folder / 'model'}")
        disk.left = number
        problem = ""
        try:
            train(run)
        except CheckpointError as error:
            problem = str(error)
        if not problem:
            break
        assert Says("written").within(problem)
        disk.left = -1
        train(run, resume=True)
        assert digests(folder) == expected, f"after write {number} failed"
    assert number > 60
    assert digests(folder) == expected


@pytest.mark.slow
@pytest.mark.usefixtures("full_fits")  # as in the processes that are killed
def test_a_run_that_is_killed_twenty_times_ends_with_the_same_weights(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = tmp_path_factory.mktemp("whole")
    train(settings(whole))
    undisturbed = digests(whole)
    dice = random.Random(1)
    # torch is imported once, and not in each of the processes.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED_BEFORE)

    def started(target: Callable[..., object], *arguments: object) -> Any:
        process = context.Process(target=target, args=arguments)
        process.start()
        return process

    def ended_well(process: Any) -> None:
        process.join()
        assert process.exitcode == 0

    ended_well(started(time.sleep, 0))  # now torch is imported
    began = time.monotonic()
    ended_well(started(resumed, tmp_path))
    whole_s = time.monotonic() - began
    assert digests(tmp_path) == undisturbed
    kills = 0
    while kills < 20:
        train_s = whole_s * dice.uniform(0.3, 1.0)
        process = started(resumed, tmp_path)
        process.join(train_s)
        if process.exitcode is None:
            process.kill()
            process.join()
            kills += 1
            continue
        assert process.exitcode == 0
        assert digests(tmp_path) == undisturbed
        for path in (tmp_path / "model").rglob("*"):
            if path.is_file():
                path.unlink()
        for path in sorted((tmp_path / "model").rglob("*"), reverse=True):
            path.rmdir()
    ended_well(started(resumed, tmp_path))
    assert digests(tmp_path) == undisturbed


def test_what_cannot_be_written_from_the_start_is_said_before_training(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("a file")
    with refuses(TagkitError, "folder"):
        train(settings(tmp_path))
