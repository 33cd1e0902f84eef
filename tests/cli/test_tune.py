"""`tagkit tune`: what it needs."""

from pathlib import Path

import pytest
from program import Ended, Program

from tagkit.cli.tune import default_search
from tagkit.config import Config, load_config
from tagkit.errors import TrainingError


def test_a_search_without_optuna_says_what_to_install(
    model: Path, tagkit: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagkit.training.tuning.find_spec", lambda name: None)
    ended = tagkit("tune", "--train", "train.conll", "-o", "nothing")
    assert ended == Ended(1, "", "error: tagkit tune: needs Optuna; pip install 'tagkit[tune]'\n")
    assert not Path("nothing").exists()


def test_the_metric_has_a_flag_as_train_has(
    model: Path, tagkit: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna")

    def refused(config: Config, *_: object, **__: object) -> None:
        raise TrainingError(f"ranked by {config.train.metric}")

    monkeypatch.setattr("tagkit.training.tuning.tune", refused)
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
    monkeypatch.setattr("tagkit.training.tuning.tune", refused)
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
        (["--set", "output.dir=c", "-o", "c"], "c"),
    ):
        assert searched(tagkit, monkeypatch, *options)[0].output.dir == folder
    assert "[default: models/search]" in " ".join(tagkit("tune", "--help").out.split())


def test_what_is_set_and_searched_is_refused(model: Path, tagkit: Program) -> None:
    ended = tagkit("tune", "--train", "train.conll", "--set", "encoder.hidden=10", "--search",
                   "encoder.hidden=10,20")  # fmt: skip
    assert ended.code == 2
    expected = "encoder.hidden is given twice: by --set and by --search; give one of them\n"
    assert ended.err.endswith(expected)
    every = ["train.lr=0.1", "encoder.hidden=9", "encoder.locked_dropout=0", "train.batch_size=2"]
    options = [word for each in every for word in ("--set", each)]
    ended = tagkit("tune", "--train", "train.conll", *options)
    assert ended.code == 2
    assert "every option that is searched by default is set; name others with --search" in ended.err
