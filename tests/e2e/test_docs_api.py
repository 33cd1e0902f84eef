"""docs/api.md: its examples run, and it says of every public name what the source says."""

import ast
import doctest
import inspect
import re
from pathlib import Path

import api_page
import pytest

import tagkit
from tagkit.training.trainer import train

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "api.md").read_text("utf-8")
REMEDY = "run `python tests/support/api_page.py`, and write an example"


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data/travel, tagkit.toml, and a model of a part of it at models/travel."""
    folder = tmp_path_factory.mktemp("api")
    (folder / "data").symlink_to(ROOT / "data")
    (folder / "tagkit.toml").write_text((ROOT / "tagkit.toml").read_text("utf-8"), "utf-8")
    records = tagkit.read(ROOT / "data" / "travel" / "train.conll")
    short = [record for record in records if len(record) <= 14][:400]
    tagkit.write(short, folder / "train.conll")
    tagkit.write(short[:40], folder / "dev.conll")
    train({
        "data.train_file": str(folder / "train.conll"), "data.dev_file": str(folder / "dev.conll"),
        "embeddings.char_dim": 8, "embeddings.char_hidden": 8, "encoder.hidden": 32,
        "train.max_epochs": 5, "train.batch_size": 4, "train.lr": 0.01, "train.threads": 1,
        "train.device": "cpu",
        "output.dir": str(folder / "models" / "travel"),
    })  # fmt: skip
    return folder


def examples(page: str) -> str:
    """The examples of the page on their lines, and nothing else."""
    kept, inside = [], False
    for line in page.splitlines():
        inside = line == "```pycon" or (inside and line != "```")
        kept.append(line if inside and line != "```pycon" else "")
    return "\n".join(kept)


@pytest.mark.slow  # trains the model of the examples
def test_the_examples_give_what_the_page_shows(
    workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workplace)
    test = doctest.DocTestParser().get_doctest(examples(PAGE), {}, "api.md", "docs/api.md", 0)
    assert len(test.examples) > 90
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=said.append)
    assert not said, "".join(said)


def test_every_public_name_has_a_section_and_nothing_else_has() -> None:
    assert sorted(api_page.sections(PAGE)) == sorted(api_page.names()), REMEDY
    for error in (name for name in tagkit._PUBLIC if api_page.is_error(getattr(tagkit, name))):
        assert f"`{error}`" in PAGE.split("## Errors")[1], REMEDY


@pytest.mark.parametrize("name", list(api_page.names()))
def test_each_section_is_that_of_the_source_and_has_an_example(name: str) -> None:
    section = api_page.sections(PAGE)[name]
    generated, example, code = section.partition(api_page.EXAMPLE)
    assert generated == f"\n{api_page.generated(name)}\n", REMEDY
    assert example, REMEDY
    assert re.search(r"^>>> ", code, re.M), REMEDY


FUNCTIONS = [name for name in api_page.names() if inspect.isfunction(api_page.value_of(name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_signature_shown_is_the_true_one_and_each_parameter_is_described(name: str) -> None:
    section = api_page.sections(PAGE)[name]
    # Without the stars it is a call, whose parts Python can name.
    shown = section.split("```")[1].removeprefix("text\n").replace("*,", "")
    call = ast.parse(re.sub(r"\*\*(\w+)", r"\1=None", shown), mode="eval").body
    assert isinstance(call, ast.Call)
    assert ast.unparse(call.func) == name
    found = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
    found |= {ast.unparse(each): inspect.Parameter.empty for each in call.args}
    parameters = dict(inspect.signature(api_page.value_of(name)).parameters)
    parameters.pop("self", None)
    assert found.keys() == parameters.keys()
    seeds = "as for `train`" if name == "train_seeds" else ""  # its docstring says so of them all
    for key, value in found.items():
        default = parameters[key].default
        if value is not ... and parameters[key].kind is not inspect.Parameter.VAR_KEYWORD:
            assert value == default or value is default, key
        assert f"- `{key}`: " in section or seeds, f"{name}: {key} is not described"


def test_each_field_of_a_record_is_described() -> None:
    for name in api_page.names():
        fields = getattr(api_page.value_of(name), "__dataclass_fields__", {})
        for field in fields if name not in ("Score", "LabelScore") else ():
            assert f"- `{field}`: " in api_page.sections(PAGE)[name], f"{name}.{field}"


def test_each_attribute_of_a_predictor_is_described() -> None:
    predictor = tagkit.load(ROOT / "tests" / "fixtures" / "0.1.0" / "tag-crf", device="cpu")
    described = re.findall(r"^- `(\w+)`: ", api_page.sections(PAGE)["Predictor"], re.M)
    assert sorted(described) == sorted(name for name in vars(predictor) if name[0] != "_")


def test_each_public_name_is_either_stable_or_provisional() -> None:
    text = PAGE.split("## Which names are stable")[1].split("\n## ")[0]
    stable, provisional = (
        re.findall(r"`(\w+)`", part.split(".\n")[0].split(". ")[0])
        for part in re.split(r"^- (?:Stable|Provisional): ", text, flags=re.M)[1:]
    )
    assert sorted(stable + provisional) == sorted(tagkit.__all__)
