"""How a command line is read: what click alone would let pass."""

from pathlib import Path
from typing import Any

import pytest
import typer
from program import Ended, Program
from says import Says

from tagkit.cli.main import COMMANDS, app

GROUP: Any = typer.main.get_command(app)
SCALARS = [
    (command, max(param.opts, key=len))
    for command in COMMANDS
    for param in GROUP.get_command(None, command).params
    if param.param_type_name == "option" and not (param.is_flag or param.multiple)
]


def test_a_start_builds_one_command_of_all(
    tagkit: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = list[str]()
    made = typer.main.get_params_from_function
    monkeypatch.setattr(
        typer.main, "get_params_from_function",
        lambda function: built.append(function.__name__) or made(function),
    )  # fmt: skip
    assert tagkit("tag", "model").code == 1
    assert {name for name in built if name.endswith("_command")} == {"predict_command"}


@pytest.mark.parametrize(("command", "option"), SCALARS)
def test_an_option_of_one_value_that_is_given_twice_is_refused_in_every_command(
    tagkit: Program, command: str, option: str
) -> None:
    ended = tagkit(command, f"{option}=1", f"{option}=2")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == Says(option, "2 times")


def test_short_and_long_names_are_one_option_and_flags_may_be_repeated(
    tagkit: Program, tmp_path: Path
) -> None:
    ended = tagkit("predict", "model", "-o", "a", "--output", "b")
    assert ended.err == Says("--output", "2 times")
    gold = tmp_path / "both.conll"
    gold.write_text("Ada\tB-PER\tB-PER\n", encoding="utf-8")
    assert tagkit("eval", "--gold", gold, "--json", "--json").code == 0
    ended = tagkit("check", gold, "--set", "data.encoding=utf-8", "--set", "data.tag_column=1")
    assert ended.code == 0


MODELS = [
    command
    for command in COMMANDS
    if any(param.metavar == "MODEL" and param.param_type_name == "argument"
           for param in GROUP.get_command(None, command).params)
]  # fmt: skip


@pytest.mark.parametrize("command", MODELS)
@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_of_a_model_is_not_the_current_folder(
    tagkit: Program, command: str, name: str
) -> None:
    rest = [] if command == "info" else ["test.conll"]
    assert tagkit(command, name, *rest) == Ended(1, "", Says("error: MODEL: ", "empty"))


def test_the_commands_of_models_are_known() -> None:
    assert {"predict", "eval", "generate", "calibrate", "benchmark", "info"} == {*MODELS}
