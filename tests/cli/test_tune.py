"""`tagkit tune`: what it needs."""

from pathlib import Path

import pytest
from program import Ended, Program

from tagkit.config import Config
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
