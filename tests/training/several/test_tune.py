"""Searching for good options."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
from says import Says, refuses

from tagkit.cli.commands.tune import default_search
from tagkit.config import Config, load_config, with_options
from tagkit.config.search_space import parse_spaces
from tagkit.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    Interrupted,
    TagkitError,
    TrainingError,
)
from tagkit.inference.predict.predictor import load
from tagkit.training.folder import checkpoint
from tagkit.training.folder.manifest import Manifest
from tagkit.training.folder.run_files import MODEL_FILES
from tagkit.training.several import tune as tuning
from tagkit.training.several.learning_curve import learning_curve
from tagkit.training.several.tune import Trial, Tuned, TuneListener, tune
from tagkit.training.trainer import train

pytest.importorskip("optuna")
SPACES = parse_spaces(["train.lr=0.0001..0.05:log", "encoder.hidden=4..16",
                       "encoder.cell=lstm,gru"])  # fmt: skip


def settings(folder: Path, *overrides: str, **flags: object) -> Config:
    return tiny.config(folder, "train.max_epochs=2", f"output.dir={folder / 'search'}", *overrides,
                       **flags)  # fmt: skip


class Recorder(TuneListener):
    """Keeps what it receives; asks the search to end after some trials."""

    def __init__(self, stop_after: int = 10**6) -> None:
        self.trials: list[tuple[Trial, bool]] = []
        self.notes: list[str] = []
        self.measures: list[str] = []
        self.stop = threading.Event()
        self.stop_after = stop_after

    def on_trial(self, trial: Trial, *, is_best: bool) -> None:
        self.trials.append((trial, is_best))
        if len(self.trials) == self.stop_after:
            self.stop.set()

    def on_note(self, text: str) -> None:
        self.notes.append(text)

    def on_measure(self, name: str) -> None:
        self.measures.append(name)


def scored(
    monkeypatch: pytest.MonkeyPatch, score: Callable[[Config], float | None]
) -> list[Config]:
    """Trainings take no time, and those without a score are stopped early; the options of all."""
    from optuna import TrialPruned

    trained: list[Config] = []

    def run(config: Config, listener: Any, **_: object) -> SimpleNamespace:
        trained.append(config)
        if (found := score(config)) is None:
            listener.trial.report(0.99, 1)
            raise TrialPruned
        (Path(config.output.dir) / "best").mkdir(parents=True)
        for name in MODEL_FILES:
            (Path(config.output.dir) / "best" / name).write_text(str(len(trained)))
        return SimpleNamespace(best=SimpleNamespace(score=found))

    monkeypatch.setattr("tagkit.training.several.fits.train", run)
    return trained


def study_of(folder: Path) -> Any:
    """Optuna's record of the search in a folder."""
    import optuna

    storage = f"sqlite:///{folder / 'search' / 'study.db'}"
    return optuna.create_study(storage=storage, study_name="tagkit", load_if_exists=True)


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Tuned, Recorder]:
    folder = tmp_path_factory.mktemp("tuning")
    recorder = Recorder()
    return folder, tune(settings(folder), SPACES, trials=6, listener=recorder), recorder


@pytest.mark.slow
def test_values_lie_where_they_were_to_be_searched(
    searched: tuple[Path, Tuned, Recorder],
) -> None:
    _, tuned, _ = searched
    assert len(tuned.trials) == 6
    for trial in tuned.trials:
        assert 0.0001 <= trial.values["train.lr"] <= 0.05
        assert trial.values["encoder.hidden"] in range(4, 17)
        assert trial.values["encoder.cell"] in ("lstm", "gru")
    assert len({trial.values["train.lr"] for trial in tuned.trials}) == 6


@pytest.mark.slow
def test_the_best_trials_model_and_configuration_are_kept_and_nothing_else(
    searched: tuple[Path, Tuned, Recorder],
) -> None:
    folder, tuned, recorder = searched
    done = [trial for trial in tuned.trials if trial.state == "done"]
    assert tuned.best.dev == max(trial.dev or 0 for trial in done)
    assert sorted(p.name for p in (folder / "search").iterdir()) == [
        "best", "best.toml", "study.db", "tagkit-run.json",
    ]  # fmt: skip
    kept = load(folder / "search").config
    written = tomllib.loads((folder / "search" / "best.toml").read_text())
    for name, value in tuned.best.values.items():
        section, key = name.split(".")
        assert getattr(getattr(kept, section), key) == value
        assert written[section][key] == value
    bests = [trial.dev or 0 for trial, is_best in recorder.trials if is_best]
    assert bests == sorted(bests)
    assert bests[-1] == tuned.best.dev


@pytest.mark.slow
def test_the_best_configuration_gives_the_best_score_again(
    searched: tuple[Path, Tuned, Recorder], tmp_path: Path
) -> None:
    folder, tuned, _ = searched
    config = load_config(folder / "search" / "best.toml", flags={"output.dir": str(tmp_path / "m")})
    trained = train(config)
    assert trained.best.score == tuned.best.dev
    assert trained.test is not None  # the search left it out; the configuration does not


@pytest.mark.slow
def test_a_search_goes_on_and_draws_what_it_would_have_drawn(
    searched: tuple[Path, Tuned, Recorder], tmp_path: Path
) -> None:
    _, whole, _ = searched
    recorder = Recorder(stop_after=3)
    config = settings(tmp_path)
    with refuses(Interrupted, "4", "stopped"):
        tune(config, SPACES, trials=6, listener=recorder, stop=recorder.stop)
    again = Recorder()
    tuned = tune(config, SPACES, trials=6, listener=again)
    assert len(again.trials) == 3
    assert [trial.values for trial in tuned.trials] == [trial.values for trial in whole.trials]
    assert tuned.best.dev == whole.best.dev
    # It is complete: the same command has nothing left to do.
    recorder = Recorder()
    assert tune(config, SPACES, trials=6, listener=recorder).best == tuned.best
    assert recorder.trials == []
    # Of each command once, of the last one though it has trained nothing.
    assert again.measures == recorder.measures == ["F1"]


@pytest.mark.slow
def test_of_trials_that_score_the_same_the_first_that_ended_is_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One that was stopped early is never the best, whatever its last score.
    scores = iter([0.4, None, 0.6, 0.6, 0.5, 0.6])
    trained = scored(monkeypatch, lambda _: next(scores))
    spaces = parse_spaces(["encoder.hidden=4..1000"])
    recorder = Recorder()
    tuned = tune(settings(tmp_path), spaces, trials=3, listener=recorder)
    assert tuned.best.number == 3
    tuned = tune(settings(tmp_path), spaces, trials=6, listener=recorder)  # resumed
    hidden = [config.encoder.hidden for config in trained]
    assert len(set(hidden)) == 6
    assert [trial.dev for trial in tuned.trials] == [0.4, 0.99, 0.6, 0.6, 0.5, 0.6]
    assert [trial.state for trial in tuned.trials] == ["done", "given up", *["done"] * 4]
    assert [is_best for _, is_best in recorder.trials] == [True, False, True, False, False, False]
    assert tuned.best.number == 3
    assert tuned.best.values == {"encoder.hidden": hidden[2]}
    assert tuned.config.encoder.hidden == hidden[2]
    assert (tmp_path / "search" / "best" / "model.safetensors").read_text() == "3"


@pytest.mark.slow  # a hundred draws of Optuna's
def test_no_values_are_tried_twice_and_all_of_a_small_space_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = scored(monkeypatch, lambda config: config.encoder.hidden / 100)

    def tried() -> list[tuple[int, bool]]:
        return [(config.encoder.hidden, config.encoder.bidirectional) for config in trained]

    spaces = parse_spaces(["encoder.hidden=4..9", "encoder.bidirectional=true,false"])
    recorder = Recorder()
    tuned = tune(settings(tmp_path), spaces, trials=11, listener=recorder)
    assert len(set(tried())) == len(tried()) == 11
    assert not any("search ends" in note for note in recorder.notes)
    # Resumed: one is left, which it finds, and then nothing.
    tuned = tune(settings(tmp_path), spaces, trials=30, listener=recorder)
    assert len(set(tried())) == len(tried()) == 12
    assert recorder.notes[-1] == (
        "the search ends after 12 trials: 100 draws in a row had values that were tried before"
    )
    assert [trial.number for trial in tuned.trials] == list(range(1, 13))
    assert [trial.number for trial, _ in recorder.trials] == list(range(1, 13))
    assert {trial.state for trial in tuned.trials} == {"done"}


@pytest.mark.slow
def test_values_that_have_no_effect_beside_the_others_make_no_new_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: Config) -> float:
        raise TrainingError("the loss is not finite")

    tried = scored(monkeypatch, failing)
    spaces = parse_spaces(["train.optimizer=adam,sgd", "train.momentum=0.5,0.7"])
    with refuses(TrainingError, "completed"):
        tune(settings(tmp_path), spaces, trials=9)
    # Adam has no momentum that could be set.
    assert sorted((config.train.optimizer, config.train.momentum) for config in tried) == [
        ("adam", Config().train.momentum), ("sgd", 0.5), ("sgd", 0.7)
    ]  # fmt: skip


def test_a_time_limit_that_is_over_before_the_first_trial_is_said(tmp_path: Path) -> None:
    config = settings(tmp_path, "train.max_minutes=0.05")
    with pytest.raises(TrainingError) as raised:
        tune(config, parse_spaces(["train.lr=0.1,0.2"]), trials=2, started_s=time.monotonic() - 4)
    assert str(raised.value) == (
        f"{config.output.dir}: the time limit (train.max_minutes=0.05) was over before the first "
        "trial began; allow more"
    )


@pytest.mark.slow
def test_by_the_loss_the_trial_with_the_smallest_is_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = [0.9, 0.4, 0.4, 0.7, 0.0, 0.3]
    left = iter(losses)
    trained = scored(monkeypatch, lambda _: next(left))
    spaces, recorder = parse_spaces(["encoder.hidden=4..1000"]), Recorder()
    tuned = tune(settings(tmp_path, "train.metric=loss"), spaces, trials=6, listener=recorder)
    assert [trial.dev for trial in tuned.trials] == losses
    assert [is_best for _, is_best in recorder.trials] == [True, True, False, False, True, False]
    assert (tuned.best.number, tuned.config.encoder.hidden) == (5, trained[4].encoder.hidden)
    assert (tmp_path / "search" / "best" / "model.safetensors").read_text() == "5"
    assert study_of(tmp_path).direction.name == "MINIMIZE"  # as sampler and pruner do
    with refuses(CheckpointError, "train.metric", '"loss"'):
        tune(settings(tmp_path), spaces, trials=7)


@pytest.mark.slow
def test_a_search_is_resumed_only_with_the_same_options(tmp_path: Path) -> None:
    tune(settings(tmp_path), SPACES, trials=1)
    with refuses(CheckpointError, "train.batch_size", "8", "4", "there"):
        tune(settings(tmp_path, "train.batch_size=4"), SPACES, trials=1)
    with refuses(CheckpointError, "8,9", "values"):
        tune(settings(tmp_path), parse_spaces(["encoder.hidden=8,9"]), trials=1)
    tuned = tune(settings(tmp_path), parse_spaces(["encoder.hidden=8,9"]), trials=1, force=True)
    assert list(tuned.best.values) == ["encoder.hidden"]


@pytest.mark.slow
def test_a_search_of_before_goes_on_with_the_defaults_that_it_had(
    searched: tuple[Path, Tuned, Recorder], tmp_path: Path
) -> None:
    source, tuned, _ = searched
    shutil.copytree(source / "search", tmp_path / "search")
    study = study_of(tmp_path)
    record = study.user_attrs["search"]
    assert record["encoder.word_dropout"] == "auto"
    study.set_user_attr("search", {**record, "encoder.word_dropout": 0.05})
    config = settings(source, f"output.dir={tmp_path / 'search'}")
    again = tune(config, SPACES, trials=6)
    assert [trial.dev for trial in again.trials] == [trial.dev for trial in tuned.trials]
    given = settings(source, f"output.dir={tmp_path / 'search'}", "encoder.word_dropout=0.1")
    with refuses(CheckpointError, "encoder.word_dropout", "0.05", "0.1"):
        tune(given, SPACES, trials=6)


def test_a_search_of_an_earlier_version_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "search").mkdir()
    Manifest(tmp_path / "search").claim(["study.db"])
    study_of(tmp_path).set_user_attr("search", {"config": "", "corpora": [None], "spaces": {}})
    with refuses(CheckpointError, "search", "0.2"):
        tune(settings(tmp_path), SPACES, trials=1)


@pytest.mark.slow
def test_a_search_that_failed_at_once_does_not_stand_in_the_way_of_a_right_one(
    tmp_path: Path,
) -> None:
    with refuses(DataError, "nope.conll"):
        tune(settings(tmp_path, **{"data.train_file": "nope.conll"}), SPACES, trials=1)
    assert not (tmp_path / "search").exists()
    assert len(tune(settings(tmp_path), parse_spaces(["encoder.hidden=8,9"]), trials=1).trials) == 1


@pytest.mark.parametrize(
    ("name", "content"), [("mine.txt", b"mine"), ("study.db", b"no database" * 100)]
)
@pytest.mark.parametrize("force", [False, True])
def test_what_nothing_proves_to_be_ours_is_kept(
    tmp_path: Path, name: str, content: bytes, *, force: bool
) -> None:
    (tmp_path / "search").mkdir()
    (tmp_path / "search" / name).write_bytes(content)
    with refuses(CheckpointError, name, "written"):
        tune(settings(tmp_path), SPACES, trials=1, force=force)
    assert (tmp_path / "search" / name).read_bytes() == content


@pytest.mark.parametrize(
    ("space", "kind", "problem"),
    [
        ("encoder.dropout=0.1..1.5", ConfigError, "encoder.dropout = 1.5"),
        ("encoder.cell=lstm,rnn", ConfigError, "encoder.cell"),
        ("encoder.hidden=10.0..20.0", ConfigError, "encoder.hidden = 16.18"),
        ("embeddings.vectors=good.vec,missing.vec", DataError, "missing.vec"),
    ],
)
def test_what_a_trial_cannot_have_is_refused_before_any_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, space: str, kind: type[TagkitError],
    problem: str,
) -> None:  # fmt: skip
    config = settings(tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("good.vec").write_text("a 1 2\nb 3 4\n")
    with refuses(kind, problem):
        tune(config, parse_spaces([space]), trials=1)
    assert not (tmp_path / "search").exists()


@pytest.mark.slow
def test_a_file_in_whose_place_others_are_tried_need_not_exist(tmp_path: Path) -> None:
    vectors = tmp_path / "good.vec"
    vectors.write_text("a 1 2\nb 3 4\n")
    config = settings(tmp_path, "embeddings.vectors=lost", "train.max_epochs=1")
    tuned = tune(config, parse_spaces([f"embeddings.vectors={vectors}"]), trials=1)
    assert tuned.config.embeddings.vectors == str(vectors)


@pytest.mark.slow
def test_a_file_to_try_that_cannot_be_read_fails_as_a_trial(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.vec", tmp_path / "bad.vec"
    good.write_text("a 1 2\nb 3 4\n")
    bad.write_text("a 1 2\nb 3\n")
    recorder = Recorder()
    spaces = parse_spaces([f"embeddings.vectors={good},{bad}"])
    tuned = tune(settings(tmp_path, "train.max_epochs=1"), spaces, trials=2, listener=recorder)
    assert sorted(trial.state for trial in tuned.trials) == ["done", "failed"]
    assert tuned.best.values == {"embeddings.vectors": str(good)}
    assert any("bad.vec:2" in note for note in recorder.notes)


@pytest.mark.slow
def test_values_that_do_not_go_together_fail_as_a_trial_and_no_more(tmp_path: Path) -> None:
    spaces = parse_spaces(["encoder.merge=sum,product", "encoder.bidirectional=true,false"])
    recorder = Recorder()
    tuned = tune(settings(tmp_path, "train.seed=2"), spaces, trials=8, listener=recorder)
    failed = [trial.values for trial in tuned.trials if trial.state == "failed"]
    assert failed
    assert not any(values["encoder.bidirectional"] for values in failed)
    assert "joins two directions" in recorder.notes[0]


def test_searches_and_curves_are_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with refuses(ConfigError, "tune", "process"):
        tune(settings(tmp_path), SPACES, trials=1)
    with refuses(ConfigError, "curve", "process"):
        learning_curve(settings(tmp_path))
    assert not (tmp_path / "search").exists()


@pytest.mark.slow
def test_a_damaged_study_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "search").mkdir()
    Manifest(tmp_path / "search").claim(["study.db"])
    (tmp_path / "search" / "study.db").write_bytes(b"no database" * 100)
    (tmp_path / "search" / "notes.txt").write_text("mine")
    with refuses(CheckpointError, "force=True", "written"):
        tune(settings(tmp_path), SPACES, trials=1)
    with refuses(CheckpointError, "notes.txt", "written"):
        tune(settings(tmp_path), SPACES, trials=1, force=True)
    assert (tmp_path / "search" / "notes.txt").read_text() == "mine"
    (tmp_path / "search" / "notes.txt").unlink()
    tune(settings(tmp_path), SPACES, trials=1, force=True)


@pytest.mark.slow
def test_a_full_disk_is_told_with_the_command_that_resumes_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "whole_folder", full)
        with pytest.raises(CheckpointError) as found:
            tune(settings(tmp_path), SPACES, trials=1)
    assert str(found.value) == (Says(tmp_path / "search" / "trial-1" / "checkpoints", "force=True"))
    assert len(tune(settings(tmp_path), SPACES, trials=1).trials) == 1


@pytest.mark.slow
def test_trials_that_cannot_be_trained_are_reported_and_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def fails_first(*args: object, **kwargs: object) -> object:
        calls.append(1)
        if len(calls) == 1:
            raise TrainingError("too little memory")
        return train(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr("tagkit.training.several.fits.train", fails_first)
    recorder = Recorder()
    tuned = tune(settings(tmp_path), SPACES, trials=3, listener=recorder)
    assert recorder.notes == ["trial 1: too little memory"]
    assert [trial.state for trial in tuned.trials] == ["failed", "done", "done"]


@pytest.mark.slow
def test_minutes_are_for_the_whole_search(tmp_path: Path) -> None:
    began = time.monotonic()
    config = settings(tmp_path, "train.max_epochs=1000", "train.max_minutes=0.05",
                      "train.patience=0")  # fmt: skip
    tuned = tune(config, SPACES, trials=1000)
    assert time.monotonic() - began < 10
    assert tuned.best.dev


@pytest.mark.slow
def test_a_search_that_is_killed_goes_on(tmp_path: Path) -> None:
    tiny.corpus(tmp_path)
    program = "from tagkit.cli.main import main; main()"
    files = [f"--{name}={tmp_path / name}.conll" for name in ("train", "dev")]
    options = [word for text in ("encoder.hidden=8", "train.max_epochs=2", "train.patience=0")
               for word in ("--set", text)]  # fmt: skip
    command = [sys.executable, "-c", program, "tune", *files, *options, "-o",
               str(tmp_path / "search"), "--trials", "2",
               "--search", "train.lr=0.01,0.02", "--set", "train.batch_size=1"]  # fmt: skip
    environment = {**os.environ, "COLUMNS": "300"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env=environment)
    while not (tmp_path / "search" / "trial-1" / "train.log").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert "2 trials, the best first:" in ended.stderr
    assert ended.stderr.strip().endswith(f"Next: tagkit eval {tmp_path / 'search'} TEST")
    names = sorted(path.name for path in (tmp_path / "search").iterdir())
    assert names == ["best", "best.toml", "study.db", "tagkit-run.json"]


@pytest.mark.parametrize(
    ("options", "lowest"),
    [
        ((), 0.1),
        (("task=language-model",), 0.1),
        (("task=language-model", "data.unit=character"), 0.0),
        (("data.unit=bpe",), 0.1),  # of a tagger, which reads words all the same
    ],
)
def test_what_is_searched_unless_something_is_named_can_be_searched(
    options: tuple[str, ...], lowest: float
) -> None:
    spaces = parse_spaces(default_search(load_config(None, options)))
    for name, space in spaces.items():
        for value in space.samples():
            with_options(Config(), {name: value})
    assert spaces["encoder.locked_dropout"].samples()[0] == lowest


def test_optuna_is_imported_by_a_search_alone() -> None:
    program = "import sys, tagkit; tagkit.tune; sys.exit('optuna' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


HIDDEN = ["encoder.hidden=8,16"]


@pytest.mark.parametrize(
    ("options", "spaces", "trials", "problem"),
    [
        ({}, HIDDEN, 20, Says("'tagkit[tune]'", "install")),
        # A text is read as a list of one, and mistakes come first: Optuna would not help.
        ({"train.momentum": 0.5}, HIDDEN[0], 20, Says("train.optimizer", '"adam"')),
        ({"train.momentum": 0.5}, ["train.optimizer=sgd,adam"], 20, Says("tagkit")),
        ({"data.train_file": "nope"}, HIDDEN, 20, Says("nope")),
        ({"embeddings.vectors": "lost"}, HIDDEN, 20, Says("embeddings.vectors")),
        ({"train.init_from": "lost"}, HIDDEN, 20, Says("train.init_from", "folder")),
        ({}, ["encoder.dropout=0.1..1.5"], 20, Says("encoder.dropout", "1.5")),
        ({}, ["encoder.hiden=8,16"], 20, Says("encoder.hiden", "encoder.hidden")),
        ({"output.dir": " "}, HIDDEN, 20, Says("output.dir")),
        ({}, HIDDEN, 0, Says("trials", "1", "0")),
    ],
)
def test_a_search_without_optuna_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    options: dict[str, Any],
    spaces: list[str],
    trials: int,
    problem: str,
) -> None:
    monkeypatch.setattr(tuning, "find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    Path("train.conll").write_text("Rome\tB-LOC\n")
    given = {"data.train_file": "train.conll", "output.dir": "search", **options}
    with refuses(TagkitError, problem):
        tune(given, spaces, trials=trials)
    assert not Path("search").exists()
