"""`tagkit tune`: what it needs."""

from pathlib import Path

import pytest
from program import Ended, Program


def test_a_search_without_optuna_says_what_to_install(
    model: Path, tagkit: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagkit.cli.tune.find_spec", lambda name: None)
    ended = tagkit("tune", "--train", "train.conll", "-o", "nothing")
    assert ended == Ended(1, "", "error: tagkit tune: needs Optuna; pip install 'tagkit[tune]'\n")
    assert not Path("nothing").exists()
