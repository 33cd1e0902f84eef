"""`tagkit.tune` as programs call it; tests of the search are in test_tune.py."""

from pathlib import Path
from typing import Any

import pytest

from tagkit.config import Config, load_config
from tagkit.config.search_space import Choices, Space
from tagkit.errors import ConfigError, TagkitError
from tagkit.training.several import tuning
from tagkit.training.several.tuning import tune

GIVEN = {"data.train_file": "train.conll", "output.dir": "search"}


@pytest.fixture
def begun(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> list[tuple[Config, dict[str, Space], int]]:
    """What searches begin with; none is run."""
    pytest.importorskip("optuna")
    monkeypatch.chdir(tmp_path)
    Path("train.conll").write_text("Rome\tB-LOC\n")
    found: list[tuple[Config, dict[str, Space], int]] = []

    def begin(
        config: Config, spaces: dict[str, Space], digests: list[str], *, trials: int, **_: object
    ) -> None:
        found.append((config, spaces, trials))

    monkeypatch.setattr("tagkit.training.several.tune.search_options", begin)
    return found


def test_texts_and_spaces_are_the_same_search(
    begun: list[tuple[Config, dict[str, Space], int]],
) -> None:
    tune(GIVEN, ["encoder.hidden=8,16"])
    tune(load_config(flags=GIVEN), {"encoder.hidden": Choices((8, 16))}, trials=20)
    assert begun[0] == begun[1]
    assert begun[0][1:] == ({"encoder.hidden": Choices((8, 16))}, 20)


@pytest.mark.parametrize(
    ("spaces", "options", "problem"),
    [
        ("encoder.hidden=8,16", {},
         "spaces: expected texts such as 'encoder.hidden=50..200', found 'encoder.hidden=8,16'"),
        (8, {}, "spaces: expected texts such as 'encoder.hidden=50..200', found 8"),
        (["encoder.hiden=8,16"], {},
         "spaces: unknown option encoder.hiden; did you mean encoder.hidden?"),
        (["encoder.hidden=8"], {"trials": 0},
         "trials: expected a whole number, at least 1, found 0"),
        (["encoder.hidden=8"], {"trials": True},
         "trials: expected a whole number, at least 1, found True"),
    ],
)  # fmt: skip
def test_what_is_no_search_is_refused(spaces: Any, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(TagkitError) as caught:
        tune(GIVEN, spaces, **options)
    assert str(caught.value) == problem
    assert not Path("search").exists()


def test_an_option_that_has_no_effect_in_any_trial_is_refused(
    begun: list[tuple[Config, dict[str, Space], int]],
) -> None:
    given = {**GIVEN, "train.momentum": 0.5}
    with pytest.raises(ConfigError, match=r"train\.momentum .*train\.optimizer"):
        tune(given, ["encoder.hidden=8,16"])
    assert not begun
    tune(given, ["train.optimizer=sgd,adam"])
    assert begun


@pytest.mark.parametrize(
    ("options", "spaces", "problem"),
    [
        ({}, ["encoder.hidden=8,16"], "tagkit tune: needs Optuna; pip install 'tagkit[tune]'"),
        # Mistakes of the search come first: Optuna would not help.
        ({"data.train_file": "nope"}, ["encoder.hidden=8,16"], "nope: no such file"),
        ({"train.init_from": "lost"}, ["encoder.hidden=8,16"],
         "train.init_from: lost: no such folder; expected the folder of a model"),
        ({}, ["encoder.dropout=0.1..1.5"],
         "configuration: encoder.dropout = 1.5: expected a number less than 1"),
        ({"output.dir": " "}, ["encoder.hidden=8,16"],
         "output.dir: expected a folder, found an empty name; output.dir=. is the current one"),
    ],
)  # fmt: skip
def test_a_search_without_optuna_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    options: dict[str, Any],
    spaces: list[str],
    problem: str,
) -> None:
    monkeypatch.setattr(tuning, "find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    Path("train.conll").write_text("Rome\tB-LOC\n")
    with pytest.raises(TagkitError) as caught:
        tune({**GIVEN, **options}, spaces)
    assert str(caught.value) == problem
    assert not Path("search").exists()
