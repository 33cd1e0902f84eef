"""Options as fields of dataclasses: what typer reads of them, and what a command gets."""

import inspect
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from says import refuses

from tagkit.cli.program.option_fields import (
    Sets,
    flags_by_name,
    flags_of,
    given_flags,
    takes_options,
)


@dataclass(frozen=True, kw_only=True)
class Inner:
    seed: Annotated[int | None, typer.Option(), Sets("train.seed")] = None


@dataclass(frozen=True, kw_only=True)
class Outer:
    device: Annotated[str, typer.Option()] = "auto"
    inner: Inner
    tag_column: Annotated[str | None, typer.Option(), Sets("data.tag_column", int)] = None


@dataclass(frozen=True, kw_only=True)
class Options(Outer):
    model: Annotated[str, typer.Argument()]
    top_k: Annotated[bool, typer.Option()] = False
    as_json: Annotated[bool, typer.Option("--json")] = False


GOT: list[Any] = []


@takes_options
def command(context: typer.Context, options: Options) -> None:
    """Remember the options."""
    GOT.append((context, options))


def test_fields_are_parameters_in_their_order_and_those_of_a_group_in_its_place() -> None:
    parameters = inspect.signature(command).parameters
    names = ["context", "device", "seed", "tag_column", "model", "top_k", "as_json"]
    assert [*parameters] == [*command.__annotations__] == names
    assert parameters["model"].default is inspect.Parameter.empty
    assert (parameters["device"].default, parameters["seed"].default) == ("auto", None)
    assert (command.__name__, command.__doc__) == ("command", "Remember the options.")


def run(*words: str) -> Options:
    app = typer.Typer(add_completion=False)
    app.command()(command)
    app([*words], standalone_mode=False)
    return GOT[-1][1]  # type: ignore[no-any-return]


def test_a_command_gets_the_values_in_its_dataclasses() -> None:
    expected = Options(model="m", device="cpu", inner=Inner(seed=3), top_k=True, as_json=True)
    assert run("m", "--device", "cpu", "--seed", "3", "--top-k", "--json") == expected
    assert GOT[-1][0].params["seed"] == 3  # of a group too: they stay flat there


def test_a_flag_that_is_true_or_false_has_no_opposite() -> None:
    with refuses(Exception, "--no-top-k"):
        run("m", "--no-top-k")


def test_options_say_what_they_set_and_which_are_given() -> None:
    options = Options(model="m", inner=Inner(seed=0), tag_column="2")
    assert [*flags_of(options).items()] == [("train.seed", 0), ("data.tag_column", 2)]
    assert flags_of(Options(model="m", inner=Inner())) == dict.fromkeys(flags_of(options))
    given = {flag for flag, is_given in given_flags(options).items() if is_given}
    assert given == {"--seed", "--tag-column"}


def test_a_flag_is_known_by_its_field_and_by_the_option_that_it_sets() -> None:
    assert flags_by_name(command) == {
        "device": "--device", "seed": "--seed", "train.seed": "--seed", "top_k": "--top-k",
        "tag_column": "--tag-column", "data.tag_column": "--tag-column", "as_json": "--json",
    }  # fmt: skip
