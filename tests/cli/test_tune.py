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
    monkeypatch.setattr("tagkit.cli.tune.find_spec", lambda name: None)
    ended = tagkit("tune", "--train", "train.conll", "-o", "nothing")
    assert ended == Ended(1, "", "error: tagkit tune: needs Optuna; pip install 'tagkit[tune]'\n")
    assert not Path("nothing").exists()


def test_the_metric_has_a_flag_as_train_has(
    model: Path, tagkit: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna")

    def refused(config: Config, *_: object, **__: object) -> None:
        raise TrainingError(f"ranked by {config.train.metric}")

    monkeypatch.setattr("tagkit.training.tune.tune", refused)
    ended = tagkit("tune", "--train", "train.conll", "-o", "nothing", "--metric", "macro_f1", "-q")
    assert ended == Ended(1, "", "error: ranked by macro_f1\n")


def test_an_option_that_is_set_is_not_searched_by_default(tmp_path: Path) -> None:
    file = tmp_path / "tagkit.toml"
    file.write_text("[encoder]\nhidden = 16\nlocked_dropout = 0.9\n")
    found = default_search(load_config(file, ["train.lr=0.004"]))
    assert found == ("train.batch_size=4,8,16,32",)


def test_a_search_in_which_all_is_set_asks_what_to_search(model: Path, tagkit: Program) -> None:
    pytest.importorskip("optuna")
    fixed = ("train.lr=0.004", "encoder.hidden=16", "encoder.locked_dropout=0.9",
             "train.batch_size=5")  # fmt: skip
    options = [f"--set={each}" for each in fixed]
    ended = tagkit("tune", "--train", "train.conll", "-o", "nothing", *options)
    assert ended == Ended(
        1, "", "error: tagkit tune: every option that is searched by default is set: name one to "
        "search with --search\n"
    )  # fmt: skip
    assert not Path("nothing").exists()
