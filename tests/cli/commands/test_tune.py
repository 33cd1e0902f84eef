"""`tagkit tune`: what it needs."""

from pathlib import Path

import pytest
from program import Ended, Program
from says import Says

from tagkit.cli.commands.tune import default_search
from tagkit.config import Config, load_config
from tagkit.errors import TrainingError


def test_the_metric_has_a_flag_as_train_has(
    model: Path, tagkit: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna")

    def refused(config: Config, *_: object, **__: object) -> None:
        raise TrainingError(f"ranked by {config.train.metric}")

    monkeypatch.setattr("tagkit.training.several.tune.tune", refused)
    ended = tagkit("tune", "--train", "train.conll", "-o", "nothing", "--metric", "macro_f1", "-q")
    assert ended == Ended(1, "", "error: ranked by macro_f1\n")


def test_an_option_that_is_set_is_not_searched_by_default(tmp_path: Path) -> None:
    file = tmp_path / "tagkit.toml"
    file.write_text("[encoder]\nhidden = 16\nlocked_dropout = 0.9\n")
    found = default_search(load_config(file, ["train.lr=0.004"]))
    assert found == ("train.batch_size=4,8,16,32",)


def searched(
    tagkit: Program, monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> tuple[Config, list[str]]:
    """The settings and the names of the options that a search would begin with."""
    found: list[tuple[Config, list[str]]] = []

    def refused(config: Config, spaces: dict[str, object], **_: object) -> None:
        found.append((config, [*spaces]))
        raise TrainingError("enough")

    pytest.importorskip("optuna")
    monkeypatch.setattr("tagkit.training.several.tune.tune", refused)
    ended = tagkit("tune", "--train", "train.conll", "-q", *arguments)
    assert ended == Ended(1, "", "error: enough\n")
    return found[0]


def test_a_value_that_is_set_is_not_searched(
    model: Path, tagkit: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, names = searched(tagkit, monkeypatch, "--set", "encoder.hidden=10")
    assert settings.encoder.hidden == 10
    assert names == ["train.lr", "encoder.locked_dropout", "train.batch_size"]
    _, names = searched(tagkit, monkeypatch, "--search", "encoder.hidden=10,20")
    assert names == ["encoder.hidden"]


@pytest.mark.parametrize("command", ["tune", "learning-curve"])
def test_the_folder_may_be_set(command: str, tagkit: Program, model: Path) -> None:
    options = ["--train", "train.conll", "--quiet", "--set"]
    # A folder that exists, and is no search or curve, is refused by its name.
    ended = tagkit(command, *options, f"output.dir={model}")
    assert ended.code == 1
    assert "model: " in ended.err


def test_the_folder_has_a_default_of_the_command(
    model: Path, tagkit: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("own.toml").write_text('[output]\ndir = "models/one"\n', "utf-8")
    for options, folder in (
        ([], "models/search"),
        (["--config", "own.toml"], "models/search"),  # there a model is
        (["-o", "a"], "a"),
        (["--set", "output.dir=b"], "b"),
    ):
        assert searched(tagkit, monkeypatch, *options)[0].output.dir == folder
    assert "[default: models/search]" in " ".join(tagkit("tune", "--help").out.split())


def test_what_is_set_and_searched_is_refused(model: Path, tagkit: Program) -> None:
    ended = tagkit("tune", "--train", "train.conll", "--set", "encoder.hidden=10", "--search",
                   "encoder.hidden=10,20")  # fmt: skip
    assert ended.code == 2
    assert ended.err == Says("encoder.hidden", "--set", "--search")
    every = ["train.lr=0.1", "encoder.hidden=9", "encoder.locked_dropout=0", "train.batch_size=2"]
    options = [word for each in every for word in ("--set", each)]
    ended = tagkit("tune", "--train", "train.conll", *options)
    assert ended.code == 2
    assert ended.err == Says("--search")


def test_the_head_of_both_tables_names_the_metric(
    model: Path, tagkit: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna")
    from tagkit.training.several.tune import Trial, Tuned, TuneListener

    trials = tuple(
        Trial(number, {"encoder.hidden": hidden}, dev, state, 12.0)
        for number, hidden, dev, state in (
            (1, 8, 0.5, "done"), (2, 4, None, "failed"), (3, 16, 0.75, "done")
        )
    )  # fmt: skip

    def tuned(config: Config, *_: object, listener: TuneListener, **__: object) -> Tuned:
        listener.on_start()
        listener.on_measure("F1 of destination")
        for trial in trials:
            listener.on_trial(trial, is_best=trial.number != 2)
        return Tuned(trials, trials[2], config, Path("search"))

    monkeypatch.setattr("tagkit.training.several.tune.tune", tuned)
    ended = tagkit("tune", "--train", "train.conll", "-o", "search")
    assert ended.err.splitlines()[:10] == [
        "trial  dev F1 of destination   seconds  options",
        "    1                  50.00        12  encoder.hidden=8  *",
        "    2                               12  encoder.hidden=4  (failed)",
        "    3                  75.00        12  encoder.hidden=16  *",
        "",
        "3 trials, the best first:",
        "",
        "trial  dev F1 of destination   seconds  options",
        "    3                  75.00        12  encoder.hidden=16",
        "    1                  50.00        12  encoder.hidden=8",
    ]


def test_trials_that_fail_before_there_is_a_metric_have_a_head_too(
    model: Path, tagkit: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna")
    from tagkit.training.several.tune import Trial, TuneListener

    def failed(config: Config, *_: object, listener: TuneListener, **__: object) -> None:
        listener.on_trial(Trial(1, {"encoder.hidden": 8}, None, "failed", 1.0), is_best=False)
        raise TrainingError("no trial was completed")

    monkeypatch.setattr("tagkit.training.several.tune.tune", failed)
    ended = tagkit("tune", "--train", "train.conll", "-o", "search")
    assert ended.err.splitlines() == [
        "trial  dev score   seconds  options",
        "    1                    1  encoder.hidden=8  (failed)",
        "error: no trial was completed",
    ]
