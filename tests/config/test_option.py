"""Properties of options are metadata of their fields, and nowhere else."""

from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest
from pydantic import Field, ValidationError
from says import refuses

import tagkit.config
from tagkit.config import (
    Config,
    Needs,
    Option,
    Section,
    load_config,
    option_names,
    option_values,
    options_of,
    tunable_options,
)
from tagkit.config.search_space import parse_spaces
from tagkit.errors import ConfigError
from tagkit.training.folder.run_identity import identity


class Beam(Section):
    width: Annotated[int, Field(ge=1), Option("Hypotheses kept.", resume=True)] = 4
    prune: Annotated[
        float, Option("Score below the best.", needs=Needs("beam.width", but=(1,)))
    ] = 2.0


class Files(Section):
    tunable: ClassVar[bool] = False

    log: Annotated[str, Option("Log file.", "none")] = ""
    noise: Annotated[float, Option("Noise in it.", tune=True)] = 0.0


class Toy(Section):
    mode: Annotated[str, Option("Mode.", tune=False)] = "fast"
    beam: Beam = Beam()
    files: Files = Files()


def test_a_field_with_its_metadata_is_all_that_a_new_option_takes() -> None:
    options = options_of(Toy)
    assert list(options) == ["mode", "beam.width", "beam.prune", "files.log", "files.noise"]
    assert [name for name, option in options.items() if option.resume] == ["beam.width"]
    assert tunable_options(Toy) == {"beam.width", "beam.prune", "files.noise"}
    assert options["files.log"].default_shown == "none"
    with refuses(ValueError, "1", "greater"):
        Beam(width=0)


def test_a_field_without_metadata_is_refused_by_name() -> None:
    class Bare(Section):
        width: int = 4

    with refuses(TypeError, "are.width", "Option"):
        options_of(Bare)


@pytest.mark.parametrize(
    ("needs", "met", "not_met"),
    [
        (Needs("a", ("x", "y")), ("x", "y"), ("z", "")),
        (Needs("a", but=("x",)), ("y", ""), ("x",)),
        (Needs("a", but=((),)), ((1,),), ((),)),
    ],
)
def test_a_condition_holds_with_its_values_alone(
    needs: Needs, met: tuple[Any, ...], not_met: tuple[Any, ...]
) -> None:
    assert all(map(needs.are_met_by, met))
    assert not any(map(needs.are_met_by, not_met))


def test_a_condition_may_leave_a_task_out() -> None:
    needs = Needs("a", ("x",), exempt=("both",))
    assert (needs.applies_to("tag"), needs.applies_to("both")) == (True, False)


def test_an_option_of_some_tasks_names_the_task_as_its_first_condition() -> None:
    option = Option("It.", tasks=("both",), needs=Needs("a", ("x",)))
    assert option.conditions == (Needs("task", ("both",)), Needs("a", ("x",)))
    assert (option.serves("both"), option.serves("tag"), Option("It.").serves("tag")) == (
        True, False, True,
    )  # fmt: skip


@pytest.mark.parametrize("name", option_names())
def test_every_option_has_a_help_text_that_is_a_sentence(name: str) -> None:
    text = options_of(Config)[name].help
    assert text[0].isupper()
    assert text.endswith(".")
    assert len(text) <= 160
    assert "|" not in text  # the docs show it in a table


def test_the_tasks_of_the_options_are_those_that_there_are() -> None:
    tasks = {"tag", "classify", "both", "transduce", "language-model"}
    for task in tasks:
        load_config(flags={"task": task})
    named = {task for option in options_of(Config).values() for task in option.tasks}
    assert named == tasks


def test_the_identity_of_a_run_is_every_option_that_may_not_change() -> None:
    free = [name for name, option in options_of(Config).items() if option.resume]
    assert {"train.max_epochs", "data.train_file", "output.dir"} < {*free}
    assert not {"train.seed", "train.lr", "encoder.hidden", "task"} & {*free}
    known = identity(Config(), {}, "cpu", 1)
    assert {name for name in known if name in option_names()} == {*option_names()} - {*free}
    assert {name: known[name] for name in option_values(Config()) if name in known} == {
        name: value for name, value in option_values(Config()).items() if name not in free
    }


def test_every_option_is_searched_or_refused_as_its_metadata_says() -> None:
    for name in option_names():
        if name in tunable_options(Config):
            assert list(parse_spaces([f"{name}=1,2"])) == [name]
        else:
            with refuses(ConfigError, name, "searched"):
                parse_spaces([f"{name}=1,2"])


def test_no_module_compares_the_task_of_a_configuration() -> None:
    folder = Path(tagkit.config.__file__).parent
    for module in folder.glob("*.py"):
        text = module.read_text("utf-8")
        assert not any(part in text for part in ("task ==", "task !=", ".task in", "lambda task"))


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        load_config().train.seed = 2  # type: ignore[misc]
