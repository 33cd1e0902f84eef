"""Two runs never write into one folder at the same time."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import tiny
from marks import mostly_slow
from says import Says, refuses

from tagkit.errors import CheckpointError
from tagkit.storage import LOCK, MANIFEST
from tagkit.storage.lock import locked
from tagkit.training.events.callbacks import Listener, Step
from tagkit.training.several.seeds import train_seeds
from tagkit.training.trainer import train

HOLD = """
import os, sys, time
from pathlib import Path
from tagkit.storage.lock import locked
with locked(Path(sys.argv[1]), print):
    if "fork" in sys.argv:
        ends = os.pipe()
        if os.fork() == 0:
            os.close(1)
            os.write(ends[1], b".")
            time.sleep(60)
            os._exit(0)
        os.read(ends[0], 1)
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock of a folder until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder), *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def silent(text: str) -> None:
    raise AssertionError(text)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    tiny.corpus(folder)
    return folder


@pytest.mark.parametrize(
    ("begin", "flags"),
    mostly_slow(
        [(train, {}), (train, {"resume": True}), (train_seeds, {"force": True}),
         (train, {"force": True}), (train_seeds, {}), (train_seeds, {"resume": True})],
        always=3,
    ),
)  # fmt: skip
def test_a_second_run_is_refused_at_once_with_the_first_ones_process_and_start(
    corpus: Path, tmp_path: Path, flags: dict[str, bool], begin: object
) -> None:
    folder = tmp_path / "run"
    seeds = ["train.seeds=[1,2]"] if begin is train_seeds else []
    config = tiny.small(corpus, "train.max_epochs=1", f"output.dir={folder}", *seeds)
    with held(folder) as process:
        year = time.strftime("%Y-%m-%d ")
        with pytest.raises(CheckpointError) as caught:
            begin(config, **flags)  # type: ignore[operator]
        assert str(caught.value).startswith(
            f"{folder}: in use by process {process.pid}, which started at {year}"
        )
        assert Says("output.dir", "another") == str(caught.value)
        assert sorted(os.listdir(folder)) == [LOCK]
    begin(config, **flags)  # type: ignore[operator]
    assert LOCK not in os.listdir(folder)


def test_a_second_search_is_refused(corpus: Path, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    from tagkit.config.search_space import parse_spaces
    from tagkit.training.several.tune import tune

    config = tiny.small(corpus, f"output.dir={tmp_path / 'search'}")
    with held(tmp_path / "search") as process:
        for force in (False, True):
            with refuses(CheckpointError, process.pid, "process"):
                tune(config, parse_spaces(["encoder.hidden=8,9"]), trials=1, force=force)


@pytest.mark.slow
def test_a_folder_is_not_cleared_while_one_of_its_seeds_is_trained(
    corpus: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    config = tiny.small(corpus, "train.max_epochs=1", f"output.dir={folder}", "train.seeds=[1,2]")
    train_seeds(config)
    before = (folder / "seed-2" / "best" / "model.safetensors").read_bytes()
    with held(folder / "seed-2") as process:
        with refuses(CheckpointError, "2", process.pid, "process"):
            train_seeds(config, force=True)
        assert (folder / "seed-2" / "best" / "model.safetensors").read_bytes() == before


def test_two_threads_of_one_process_are_kept_apart_too(corpus: Path, tmp_path: Path) -> None:
    config = tiny.small(corpus, "train.max_epochs=1", f"output.dir={tmp_path / 'run'}")
    problems: list[str] = []

    def second() -> None:
        try:
            train(config, resume=True)
        except CheckpointError as error:
            problems.append(str(error))

    class Begins(Listener):
        def on_step(self, step: Step) -> None:
            if step.done == 1:
                thread = threading.Thread(target=second)
                thread.start()
                thread.join()

    train(config, Begins())
    assert [f"in use by process {os.getpid()}, which" in problem for problem in problems] == [True]


def test_a_kill_releases_the_lock_and_what_it_leaves_is_no_hindrance(
    corpus: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    with held(folder) as process:
        process.kill()
        process.wait()
    assert os.listdir(folder) == [LOCK]
    train(tiny.small(corpus, "train.max_epochs=1", f"output.dir={folder}"))
    assert LOCK not in os.listdir(folder)
    assert MANIFEST in os.listdir(folder)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_does_not_keep_the_lock_after_its_parents_death(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with held(folder, "fork") as process:
        with refuses(CheckpointError), locked(folder, silent):
            pass
        process.kill()  # the child lives on, and sleeps
        process.wait()
        with locked(folder, silent):
            pass


def test_the_folder_is_as_it_was_when_a_lock_is_released(tmp_path: Path) -> None:
    with locked(tmp_path / "a" / "b", silent):
        assert os.listdir(tmp_path / "a" / "b") == [LOCK]
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "a").mkdir()
    with locked(tmp_path / "a", silent):
        pass
    assert list(tmp_path.rglob("*")) == [tmp_path / "a"]


def test_an_owner_that_cannot_be_read_is_another_process(tmp_path: Path) -> None:
    with held(tmp_path):
        (tmp_path / LOCK).write_bytes(b"\0" + b'{"process": [')
        with (
            refuses(CheckpointError, "another"),
            locked(tmp_path, silent),
        ):
            pass


def test_a_users_file_with_the_name_of_the_lock_is_kept(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text("mine")
    with (
        refuses(CheckpointError, "something"),
        locked(tmp_path, silent),
    ):
        pass
    assert (tmp_path / LOCK).read_text() == "mine"


def test_where_a_file_system_has_no_locks_the_run_goes_on_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(self: object, **options: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("filelock.FileLock.acquire", refuses)
    notes: list[str] = []
    with locked(tmp_path / "run", notes.append):
        pass
    assert notes == [Says(tmp_path / "run", "system")]


def test_only_the_first_of_several_processes_takes_the_lock(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tagkit.training.folder.run_folder import RunFolder

    with held(tmp_path / "run"), RunFolder(tmp_path / "run", writes=False).locked(silent):
        pass


@pytest.mark.parametrize("name", ["file", "file/run", "file/a/b"])
def test_a_run_in_or_under_a_file_is_refused(name: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(CheckpointError) as caught, locked(tmp_path / name, silent):
        pass
    assert str(caught.value) == Says(file, "output.dir")
    assert file.read_text() == "mine"
