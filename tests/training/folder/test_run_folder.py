"""A run removes only what its manifest lists."""

import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st
from says import refuses

from tagkit.config import Config
from tagkit.errors import CheckpointError, Interrupted
from tagkit.storage import MANIFEST, whole_folder
from tagkit.training.events.callbacks import Epoch, Listener
from tagkit.training.folder.manifest import Contents, Manifest, canonical
from tagkit.training.folder.run_files import RESULTS
from tagkit.training.folder.run_folder import RunFolder
from tagkit.training.several.seeds import train_seeds
from tagkit.training.trainer import train

# What a user may have in a folder, by names that a run uses too, or that begin like them.
MINE = {
    "tensorboard/events.out.tfevents.1.host.1.0": b"mine",
    "train.log": b"2024-01-01 10:00:00  mine\n",
    "history.jsonl": b'{"epoch": 1}\n',
    "best/notes.txt": b"mine",
    "last/model.safetensors": b"mine",
    "seed-corpora/a.conll": b"mine",
    "seed-1/a.conll": b"mine",
    "trial-data/a.txt": b"mine",
    "trial-1/a.txt": b"mine",
    "checkpoints/step-00000010/state.json": b"{}",
    "checkpoints/mine.txt": b"mine",
    "curves.svg": b"<svg/>",
    "report.json": b'{"dev": 1, "test": 2}',
    "seeds.json": b"[1]",
    "study.db": b"SQLite format 3\0",
    "best.toml": b"[mine]\n",
    ".best.old/mine": b"mine",
}


def fill(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def read(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def of(folder: Path) -> Contents:
    return Manifest(folder).contents()


def quick(folder: Path, output: Path, *overrides: str) -> Config:
    return tiny.small(folder, "train.max_epochs=1", *overrides, f"output.dir={output}")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    tiny.corpus(folder)
    return folder


@pytest.fixture(scope="module")
def made(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with all that a run can write."""
    folder = tmp_path_factory.mktemp("made") / "run"
    pytest.importorskip("tensorboard")
    train(quick(corpus, folder, "train.tracker=tensorboard"))
    assert {"best", "last", "checkpoints", "tensorboard", "train.log"} < set(os.listdir(folder))
    return folder


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "run"))


@pytest.fixture
def old_run(run: Path) -> Path:
    """The folder of a run of 0.1.0, which kept no manifest."""
    (run / MANIFEST).unlink()
    shutil.rmtree(run / "tensorboard")
    for name in (*RESULTS, "curves.svg"):
        (run / name).unlink(missing_ok=True)
    return run


@pytest.mark.parametrize("name", MINE)
@pytest.mark.parametrize("force", [False, True])
def test_a_users_file_is_never_removed_and_is_named(
    corpus: Path, tmp_path: Path, name: str, force: bool
) -> None:
    folder = tmp_path / "mine"
    fill(folder, {name: MINE[name]})
    for begin in (train, train_seeds):
        seeds = ["train.seeds=[1,2]"] if begin is train_seeds else []
        with refuses(CheckpointError, f"{folder}: ", "output.dir") as caught:
            begin(quick(corpus, folder, *seeds), force=force)
        assert name.partition("/")[0] in str(caught.value).removeprefix(str(folder))
        assert read(folder) == {name: MINE[name]}


@pytest.mark.parametrize("force", [False, True])
def test_a_run_in_the_current_folder_leaves_a_users_files_alone(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, force: bool
) -> None:
    fill(tmp_path, MINE)
    monkeypatch.chdir(tmp_path)
    with refuses(CheckpointError, "holds"):
        train(quick(corpus, Path()), force=force)
    assert read(tmp_path) == MINE


@pytest.mark.slow
def test_an_empty_current_folder_is_a_place_for_a_run(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    train(quick(corpus, Path()))
    train(quick(corpus, Path()), force=True)
    assert of(tmp_path).foreign == []


def test_all_that_a_run_writes_is_in_its_manifest(made: Path) -> None:
    found = of(made)
    assert found.foreign == []
    assert set(found.ours) | {MANIFEST} == set(read(made))


def test_a_run_without_a_manifest_is_resumed_and_never_removed(corpus: Path, old_run: Path) -> None:
    config, before = quick(corpus, old_run), read(old_run)
    names = "best/, checkpoints/, history.jsonl, last/, train.log"
    for begin in (train, train_seeds):
        seeds = ["train.seeds=[1,2]"] if begin is train_seeds else []
        with refuses(CheckpointError, names, "written"):
            begin(quick(corpus, old_run, *seeds), force=True)
    assert read(old_run) == before
    train(config, resume=True)
    assert of(old_run).foreign == []
    train(config, force=True)
    assert of(old_run).foreign == []


@pytest.mark.parametrize(
    "name",
    ["report.txt", "curves.svg", "tensorboard/x", "checkpoints/step-00000010.bak/state.json"],
)
def test_of_a_run_without_a_manifest_only_known_names_are_adopted(
    corpus: Path, old_run: Path, name: str
) -> None:
    fill(old_run, {name: b"mine"})
    train(quick(corpus, old_run), resume=True)
    with refuses(CheckpointError, name[:10], "written"):
        train(quick(corpus, old_run), force=True)
    assert (old_run / name).read_bytes() == b"mine"


def test_with_a_manifest_an_edited_file_is_still_the_runs(corpus: Path, run: Path) -> None:
    (run / "best" / "config.toml").write_text("changed")
    (run / "train.log").write_text("changed")
    train(quick(corpus, run), force=True)
    assert "changed" not in (run / "best" / "config.toml").read_text()


def test_a_run_is_resumed_beside_a_users_files_which_stay(corpus: Path, run: Path) -> None:
    mine = {"notes.txt": b"mine", "checkpoints/mine/a": b"mine", "tensorboard/mine": b"mine",
            "checkpoints/step-00000000/notes.txt": b"mine"}  # fmt: skip
    fill(run, mine)
    config = quick(corpus, run, "train.max_epochs=3", "train.schedule=linear")
    train(config, resume=True)
    assert not (run / "checkpoints" / "step-00000000" / "state.json").exists()
    assert read(run).items() >= mine.items()


def put(name: str, content: str = "mine") -> Callable[[Path], object]:
    """Puts a file into the folder of a run."""
    return lambda run: fill(run, {name: content.encode()})


def linked(run: Path) -> None:
    """The best model lies elsewhere, and a link in its place."""
    shutil.move(run / "best", run.parent / "elsewhere")
    (run / "best").symlink_to(run.parent / "elsewhere")


def without_checkpoints(run: Path) -> None:
    """A run of 0.1.0 whose checkpoints are damaged."""
    (run / MANIFEST).unlink()
    for state in run.glob("checkpoints/*/state.json"):
        state.write_text("{}")


FORCE, RESUME = {"force": True}, {"resume": True}
FOREIGN = ["best/notes.txt", "last/a/b", "seed-1/x", "notes.txt", "best2/x", "checkpoints/mine",
           "checkpoints/step-00000010/notes.txt",
           "tensorboard/events.out.tfevents.1.other.1.0"]  # fmt: skip
MANIFESTS = [
    ("", "the manifest of a run"),
    ("[" * 100_000, "the manifest of a run"),
    ("[]", "the manifest of a run"),
    ('{"format_version": "1", "files": []}', "the manifest of a run"),
    ('{"format_version": 1, "files": 1}', "the manifest of a run"),
    ('{"format_version": 1, "files": ["../x"]}', "names of files in this folder"),
    ('{"format_version": 1, "files": ["/etc/x"]}', "names of files in this folder"),
    ('{"format_version": 1, "files": [["x"]]}', "names of files in this folder"),
    ('{"format_version": 2, "files": []}', "a later tagkit"),
]
REFUSED: list[tuple[Callable[[Path], object], dict[str, bool], str]] = [
    *((put(name), FORCE, name.split("/")[0]) for name in FOREIGN),
    *((put(name), RESUME, name.split("/")[0])
      for name in ("best/notes.txt", "last/notes.txt", "seed-1/x", "study.db")),
    (put(".best.writing/notes.txt"), RESUME, "best.writing/notes.txt"),
    (linked, FORCE, "best"),  # a link is never the run's own
    (without_checkpoints, RESUME, "written"),
    *((put(MANIFEST, content), flags, expected)
      for content, expected in MANIFESTS for flags in (FORCE, RESUME, {})),
]  # fmt: skip


@pytest.mark.parametrize(("change", "flags", "said"), REFUSED)
def test_a_run_that_would_lose_what_is_not_its_own_is_refused_and_changes_nothing(
    corpus: Path, run: Path, change: Callable[[Path], object], flags: dict[str, bool], said: str
) -> None:
    change(run)
    before = read(run.parent)
    with refuses(CheckpointError, said):
        train(quick(corpus, run), **flags)
    assert read(run.parent) == before


@pytest.mark.parametrize("name", ["last", "best", "checkpoints"])
def test_where_one_folder_cannot_be_written_nothing_is_removed(
    corpus: Path, run: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = read(run)
    # Root may write everywhere: the answer of the system is that of any other user.
    monkeypatch.setattr(os, "access", lambda path, _: path.name != name)
    with refuses(CheckpointError, f"{run / name}: "):
        train(quick(corpus, run), force=True)
    assert read(run) == before


class Puts(Listener):
    """Puts a file into `best` after the first epoch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def on_epoch(self, epoch: Epoch) -> None:
        fill(self.folder, {"best/notes.txt": b"mine", "best/a/b": b"mine"})


def test_what_is_put_into_a_model_in_the_midst_of_a_run_is_kept(
    corpus: Path, tmp_path: Path
) -> None:
    train(quick(corpus, tmp_path / "run"), Puts(tmp_path / "run"))
    assert (tmp_path / "run" / "best" / "notes.txt").read_bytes() == b"mine"
    assert (tmp_path / "run" / "best" / "a" / "b").read_bytes() == b"mine"
    assert not (tmp_path / "run" / ".best.old").exists()
    assert of(tmp_path / "run").foreign == ["best/a/", "best/notes.txt"]


def test_a_folder_that_is_replaced_loses_only_what_the_new_one_has(tmp_path: Path) -> None:
    fill(tmp_path / "x", {"a": b"old", "mine": b"mine"})
    with whole_folder(tmp_path / "x") as place:
        (place / "a").write_bytes(b"new")
    assert read(tmp_path) == {"x/a": b"new", "x/mine": b"mine"}


@pytest.mark.slow
def test_a_file_is_in_the_manifest_before_it_is_written(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every change of the disk all that is there is the run's own, as after a kill there."""
    folder = tmp_path / "run"
    seen: set[str] = set()

    def looking(owner: object, name: str) -> None:
        call = getattr(owner, name)

        def look(*args: object, **kwargs: object) -> object:
            done = call(*args, **kwargs)
            found = of(folder)
            assert found.foreign == []
            seen.update(found.ours)
            return done

        monkeypatch.setattr(owner, name, look)

    folder.mkdir()
    for owner, name in ((Path, "write_bytes"), (Path, "write_text"), (Path, "mkdir"),
                        (os, "replace"), (os, "rename"), (os, "fsync")):  # fmt: skip
        looking(owner, name)
    config = quick(corpus, folder, "train.seeds=[1,2]")
    train_seeds(config)
    assert {"seed-1/.best.writing/config.toml", "best/config.toml", ".seeds.json.writing",
            "seed-2/checkpoints/.step-00000010.writing/state.json"} < seen  # fmt: skip


@pytest.mark.parametrize("at", [".best.old", ".last.writing", "checkpoints/.step-00000010.writing"])
def test_leftovers_of_a_kill_are_removed_by_the_next_run(corpus: Path, run: Path, at: str) -> None:
    source = canonical(at)
    shutil.copytree(run / source, run / at)
    (run / ".history.jsonl.writing").write_text("half")
    (run / f".{MANIFEST}.writing").write_text("half")
    train(quick(corpus, run), resume=True)
    assert not [name for name in read(run) if canonical(name) != name]
    assert of(run).foreign == []
    (run / f".{MANIFEST}.writing").write_text("half")
    RunFolder(run, writes=True).clear()
    assert os.listdir(run) == []


def test_a_model_that_was_set_aside_by_a_kill_is_put_back(corpus: Path, run: Path) -> None:
    before = (run / "last" / "model.safetensors").read_bytes()
    (run / "last").rename(run / ".last.old")
    folder = RunFolder(run, writes=True)
    folder.repair()
    assert (run / "last" / "model.safetensors").read_bytes() == before
    assert not (run / ".last.old").exists()


def test_a_picture_that_a_user_drew_is_left_as_it_is(corpus: Path, tmp_path: Path) -> None:
    notes: list[str] = []

    class Draws(Listener):
        def on_epoch(self, epoch: Epoch) -> None:
            (tmp_path / "run" / "curves.svg").write_text("mine")

        def on_note(self, text: str) -> None:
            notes.append(text)

    train(quick(corpus, tmp_path / "run"), Draws())
    assert (tmp_path / "run" / "curves.svg").read_text() == "mine"
    assert "curves.svg: would be replaced, and was not written by this run" in notes[-1]


@pytest.mark.slow
def test_a_run_of_seeds_that_was_stopped_has_nothing_foreign_in_it(
    corpus: Path, tmp_path: Path
) -> None:
    stop = threading.Event()

    class Stops(Listener):
        def on_epoch(self, epoch: Epoch) -> None:
            stop.set()

    config = quick(corpus, tmp_path / "run", "train.seeds=[1,2]")
    with pytest.raises(Interrupted):
        train_seeds(config, Stops(), stop=stop)
    assert of(tmp_path / "run").foreign == []
    fill(tmp_path / "run", {"seed-1/best/notes.txt": b"mine"})
    with refuses(CheckpointError, "1", "notes.txt", "written"):
        train_seeds(config, force=True)
    (tmp_path / "run" / "seed-1" / "best" / "notes.txt").unlink()
    for path in (tmp_path / "run").rglob("*.*"):  # as version 0.1.0 left it
        if path.name in (MANIFEST, *RESULTS):
            path.unlink()
    fill(tmp_path / "run", {"train.log": b"mine"})  # where a run of several seeds writes none
    with refuses(CheckpointError, "train.log", "written"):
        train_seeds(config, resume=True)
    (tmp_path / "run" / "train.log").unlink()
    train_seeds(config, resume=True)
    assert set(os.listdir(tmp_path / "run")) == {
        "best", "dev.pred", "test.pred", "report.json", "report.txt", "seed-1", "seed-2",
        "seeds.json", MANIFEST,
    }  # fmt: skip
    listed = json.loads((tmp_path / "run" / MANIFEST).read_text())["files"]
    assert {"best/config.toml", "seed-1/", "seed-2/", "seeds.json"} < set(listed)


OTHERS = [*sorted(MINE), "x", "a/b", ".best.writing/config.toml", "seed-3/best/x"]


@given(names=st.lists(st.sampled_from(OTHERS)))
def test_no_folder_of_others_loses_anything_to_clearing(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("any") / "x"
    folder.mkdir()
    fill(folder, {name: MINE.get(name, b"mine") for name in names})
    before = read(folder)
    try:
        RunFolder(folder, writes=True).clear()
    except CheckpointError:
        assert read(folder) == before
    else:
        assert set(before) <= {".best.writing/config.toml"}
