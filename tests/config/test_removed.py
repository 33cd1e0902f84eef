"""What was an option: its own sentence, and models and runs that have a value of it."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from config_problems import option, problems
from says import Says

from tagkit.config import (
    REMOVED,
    Config,
    as_config,
    carried_by_models,
    load_config,
    option_names,
    parse_config,
    parse_saved,
    to_toml,
    with_options,
)
from tagkit.training.folder.run_identity import differences, identity

# Of each kind of value another than it always has now.
_OTHER: dict[type, Any] = {bool: False, int: 7, float: 0.25}
_OTHERS = {
    name: {"train.ridge_penalty": 0.5, "train.lm_units": "both", "head.activation": "tanh",
           "head.feedback_cell": "lstm", "data.max_line_chars": 2_000}.get(
        name, _OTHER.get(type(removed.value)))
    for name, removed in REMOVED.items()
}  # fmt: skip


def tables(values: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        section, _, key = name.partition(".")
        found.setdefault(section, {})[key] = value
    return found


def test_none_of_them_is_an_option_and_what_models_carry_has_the_value_of_all_runs() -> None:
    assert not {*REMOVED} & {*option_names()}
    assert {*carried_by_models(Config)} <= {*REMOVED}
    for name in carried_by_models(Config):
        assert option(Config(), name) == REMOVED[name].value, name
    for name, removed in REMOVED.items():
        assert removed.is_same(removed.value), name
        assert not removed.is_same(_OTHERS[name]), name


@pytest.mark.parametrize("name", REMOVED)
def test_the_value_that_holds_anyway_is_read_and_another_is_refused_with_what_does_instead(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / "tagkit.toml"
    said = Says(name, "0.3.0", REMOVED[name].instead, "version 0.2")
    for value, expected in ((REMOVED[name].value, ()), (_OTHERS[name], (said,))):
        shown = str(value).lower() if isinstance(value, bool) else repr(value)
        section, _, key = name.partition(".")
        path.write_text(f"[{section}]\n{key} = {shown}\n", encoding="utf-8")
        if not expected:
            assert load_config(path) == load_config(None, [f"{name}={shown}"]) == Config()
            assert as_config({name: value}) == parse_config(tables({name: value}), "x") == Config()
            continue
        assert problems(path=path) == expected
        assert problems(f"{name}={shown}") == expected
        # Beside other problems it is one of them.
        assert len(problems(f"{name}={shown}", "train.sed=1")) == 2


@pytest.mark.parametrize("value", [0, 1.0, "true"])
def test_a_number_is_no_truth(value: object) -> None:
    assert not REMOVED["embeddings.freeze_contextual"].is_same(value)
    assert not REMOVED["train.accumulate"].is_same(True)


def test_a_saved_model_has_what_its_answers_depend_on_and_no_more() -> None:
    config = parse_saved(tables(_OTHERS), "models/old/config.toml")
    for name in carried_by_models(Config):
        assert option(config, name) == _OTHERS[name], name
    dumped = tomllib.loads(to_toml(config))
    for name in {*REMOVED} - {*carried_by_models(Config)}:
        section, _, key = name.partition(".")
        assert key not in dumped[section], name
    # It is saved again, and changed, with what it has.
    assert parse_saved(dumped, "again") == config
    changed = with_options(config, {"train.seed": 9})
    assert [option(changed, name) for name in carried_by_models(Config)] == [
        _OTHERS[name] for name in carried_by_models(Config)
    ]


@pytest.mark.parametrize("name", REMOVED)
def test_a_stopped_run_goes_on_with_the_value_that_holds_anyway_and_with_no_other(
    name: str,
) -> None:
    now = identity(Config(), {}, "cpu", 1)
    without = {key: value for key, value in now.items() if key != name}
    for before in (without, {**now, name: REMOVED[name].value}):
        assert differences(before, now) == []
    assert differences({**now, name: _OTHERS[name]}, now) == [Says(name, "version 0.2")]


def test_a_run_that_begins_with_a_model_of_before_goes_on_with_what_that_carries() -> None:
    old = with_options(Config(), {"embeddings.normalize_digits": False, "encoder.feed_forward": 2})
    now = identity(old, {}, "cpu", 1)
    assert differences(now, now) == []
    assert len(differences(now, identity(Config(), {}, "cpu", 1))) == 2
