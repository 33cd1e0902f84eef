"""What README and docs show is run: Python, and commands, with a model of data/travel."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import option_table
import pytest
from command_server import forked_commands

from tagkit.config import Config, load_config, options_of
from tagkit.corpus.formats.recognition import read_items, recognise
from tagkit.corpus.formats.table import FORMATS
from tagkit.corpus.source.options import ReaderOptions
from tagkit.corpus.source.source import Source
from tagkit.evaluation.reports.report_text import report_lines
from tagkit.evaluation.scores.metrics import METRICS
from tagkit.training.trainer import train

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NEWCOMERS = [page for page in PAGES if page.name.startswith("from-")]
OF_THE_PROJECT = [ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
BENCHMARKS = [ROOT / "benchmarks" / "BENCHMARKS.md", *sorted(ROOT.glob("benchmarks/pages/*.md"))]
NUMBER = r"\d[\d,]*\.\d+|\d+,\d{3}"
# Their examples train models of their own.
TRAINING_PAGES = (
    "calibration.md", "columns.md", "language-models.md", "training.md", "troubleshooting.md",
)  # fmt: skip
# Their commands have a language model.
TEXT_PAGES = ("generate.md", "language-models.md")
STRING_PAGES = ("transduction.md",)  # those that have one of strings


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a user has it: data/travel, tagkit.toml, and (hastily) trained models."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "data").symlink_to(ROOT / "data")
    (folder / "tagkit.toml").write_text((ROOT / "tagkit.toml").read_text("utf-8"), "utf-8")
    small = ["train.max_epochs=1", "train.threads=1", "encoder.hidden=16"]
    small += ["data.train_sentences=600", "train.batch_size=4", "train.lr=0.01"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for path in ("tagkit.toml", "data/travel/classify.toml"):
            train(load_config(Path(path), small))
    # A run of two seeds, each of them this model, and predictions of both.
    for seed in (1, 2):
        shutil.copytree(folder / "models/travel", folder / f"models/seeds/seed-{seed}")
        shutil.copy(folder / "data/travel/test.conll", folder / f"seed{seed}.conll")
    rows = [{"seed": seed, "epoch": 1, "dev": 0.5, "test": 0.5} for seed in (1, 2)]
    (folder / "models/seeds/seeds.json").write_text(json.dumps(rows), "utf-8")
    return folder


@pytest.fixture(scope="module")
def language_model(workplace: Path) -> None:
    """The language model of the pages on them."""
    lines = (ROOT / "data/travel/train.tsv").read_text("utf-8").splitlines()[:300]
    text = workplace / "few.txt"
    text.write_text("".join(line.split("\t")[1] + "\n" for line in lines), "utf-8")
    small = ["train.max_epochs=1", "train.threads=1", "encoder.hidden=8", "embeddings.word_dim=8"]
    flags = {"task": "language-model", "data.train_file": str(text)}
    train(load_config(None, small, {**flags, "output.dir": str(workplace / "models/requests")}))


@pytest.fixture(scope="module")
def transducer(workplace: Path) -> None:
    """The model of the page on strings."""
    small = ["train.max_epochs=1", "train.threads=1", "encoder.hidden=8", "embeddings.word_dim=8"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(workplace)
        for name in ("dates", "forms"):
            few = [*small, "data.train_sentences=200", "data.hallucinated=0"]
            train(load_config(Path(f"data/{name}/transduce.toml"), few))


@pytest.fixture(scope="module")
def tagkit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The words of a shell that run `tagkit`; torch is imported once for all commands."""
    with forked_commands(tmp_path_factory.mktemp("commands")) as words:
        yield words


@pytest.fixture
def tables() -> Iterator[None]:
    """Takes the rows that an example adds out again: other tests go through the whole table."""
    before = dict(METRICS)
    yield
    METRICS.clear()
    METRICS.update(before)


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] if page.name in TRAINING_PAGES else [])
        for page in PAGES
    ],
    ids=lambda page: page.name,
)
def test_the_python_examples_run(
    page: Path, workplace: Path, monkeypatch: Any, request: pytest.FixtureRequest
) -> None:
    if page.name in STRING_PAGES:
        request.getfixturevalue("transducer")
    monkeypatch.chdir(workplace)
    names: dict[str, Any] = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize(
    "page",
    PAGES,
    ids=lambda page: page.name,
)
@pytest.mark.slow
def test_the_commands_run(
    page: Path, workplace: Path, tagkit: str, request: pytest.FixtureRequest
) -> None:
    for pages, model in ((TEXT_PAGES, "language_model"), (STRING_PAGES, "transducer")):
        if page.name in pages:
            request.getfixturevalue(model)
    commands = [
        line.removeprefix("$ ")
        for block in blocks(page, "console")
        for line in block.splitlines()
        if line.startswith("$ ")
    ]
    for command in commands:
        if command.startswith("tagkit train"):  # what the fixture has done, in less time
            continue
        # The fixture's model is right too rarely for any set; test_calibrated_heads.py has sets.
        if "--coverage" in command:
            continue
        ended = subprocess.run(
            f"tagkit() {{ {tagkit} \"$@\"; }}; {command}",
            shell=True, cwd=workplace, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, (command, ended.stderr)


@pytest.mark.parametrize("page", NEWCOMERS, ids=lambda page: page.name)
@pytest.mark.slow
def test_the_commands_beside_those_of_another_tool_run(
    page: Path, tmp_path: Path, tagkit: str
) -> None:
    (tmp_path / "data").symlink_to(ROOT / "data")
    rows = re.findall(r"^\| .* \|$", page.read_text("utf-8"), re.M)
    commands = [
        part
        for row in rows
        for part in re.findall(r"`(tagkit \w+ -[^`]*|tagkit \w+ [a-z]+/[^`]*)`", row)
    ]
    assert len(commands) > 4
    small = " --set train.max_epochs=1 --set encoder.hidden=16 --set data.train_sentences=600"
    for command in commands:
        added = small if command.startswith("tagkit train") else ""
        ended = subprocess.run(
            f"tagkit() {{ {tagkit} \"$@\"; }}; {command}{added}",
            shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, (command, ended.stderr)


@pytest.mark.parametrize("page", NEWCOMERS, ids=lambda page: page.name)
def test_the_options_beside_those_of_another_tool_exist(page: Path) -> None:
    sections = "|".join(name for name in Config.model_fields if name != "task")
    named = re.findall(rf"`((?:{sections})\.[a-z_]+)`", page.read_text("utf-8"))
    assert {*named} <= options_of(Config).keys()


def test_pages_for_a_first_reading_are_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 120
    for page in NEWCOMERS:
        assert len(page.read_text("utf-8").splitlines()) <= 40, page.name
    versions = (ROOT / "CHANGELOG.md").read_text("utf-8").split("\n## ")
    assert all(len(version.splitlines()) <= 120 for version in versions)


def test_the_figures_of_the_readme_stand_in_the_benchmarks() -> None:
    scores, others = re.findall(
        r"^## (?:How good it is|Beside others)\n(.*?)^## ",
        (ROOT / "README.md").read_text("utf-8").replace("\n## ", "\n## \n## "), re.M | re.S,
    )  # fmt: skip
    measured = {
        number for page in BENCHMARKS for number in re.findall(NUMBER, page.read_text("utf-8"))
    }
    quoted = {*re.findall(NUMBER, scores + others)}
    assert len(quoted) > 20
    assert quoted <= measured


def test_the_front_page_and_the_menu_of_the_site_name_every_page() -> None:
    pages = {page.name for page in PAGES if page.parent.name == "docs"} - {"index.md"}
    front = (ROOT / "docs" / "index.md").read_text("utf-8")
    assert pages <= {*re.findall(r"\]\(([\w-]+\.md)\)", front)}
    menu = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert pages <= {*re.findall(r"[\w-]+\.md", menu)}


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    built = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    ended = subprocess.run(built, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "from-spacy.html").is_file()


def test_the_page_on_configuration_has_every_option_with_its_default_and_help() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    found = re.findall(r"^\| `([a-z_.]+)` \| `(.*?)` \| (.*) \|$", text, re.M)
    links = re.compile(r" See \[[^]]+\]\([^)]+\)\.$")
    table = [(name, default, links.sub("", meaning)) for name, default, meaning in found]
    assert table == list(option_table.rows()), "see tests/support/option_table.py"


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in [*PAGES, *BENCHMARKS, *OF_THE_PROJECT]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_page_on_formats_has_an_example_of_each_that_is_recognised(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "formats.md").read_text("utf-8")
    shown = set()
    for name, file, content in re.findall(
        r"^```([a-z-]+)(?: (\S+))?\n(.*?)^```$", text, re.M | re.S
    ):
        if name not in FORMATS:
            assert name == "console"
            continue
        shown.add(name)
        place = tmp_path / name / file if file else tmp_path / f"{name}.{name}"
        place.parent.mkdir(exist_ok=True)
        place.write_text(content, encoding="utf-8")
        source = Source(str(place if not file else place.parent), "utf-8")
        if not file or file in ("label", "report.ann"):
            assert recognise(source, "auto").name == name
            assert list(read_items(source, ReaderOptions(Config().data))), name
    assert shown == {*FORMATS} - {"folder"}


def test_the_line_that_the_page_on_extending_shows_is_what_its_example_gives(
    tables: None,
) -> None:
    names: dict[str, Any] = {}
    page = ROOT / "docs" / "extending.md"
    (example,) = blocks(page, "python")
    exec(compile(example, str(page), "exec"), names)
    *_, last = report_lines(names["report"])
    assert f"the line `{last}`" in page.read_text("utf-8")


@pytest.mark.parametrize("page", [*PAGES, *BENCHMARKS, *OF_THE_PROJECT], ids=lambda page: page.name)
def test_the_files_of_the_project_that_a_page_names_exist(page: Path) -> None:
    quoted = re.findall(r"`([^`\n]+)`", page.read_text("utf-8"))
    paths = re.findall(
        r"(?:^| )((?:tagkit|tests|benchmarks|data)/[\w./-]+)", "\n".join(quoted), re.M
    )
    for path in paths:
        assert (ROOT / path).exists(), path


def test_the_page_on_extending_names_rooms_modules_and_tables_that_exist() -> None:
    text = (ROOT / "docs" / "extending.md").read_text("utf-8")
    rooms, adding = text.split("## What to add where")
    package = ROOT / "tagkit"
    named = {
        Path(name)
        for cell in re.findall(r"^\| (`.*?) \|", rooms, re.M)
        for name in re.findall(r"`([\w./]+)`", cell)
    }
    units = {path for path in package.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert named == {Path(path.name) for path in units if not path.name.startswith("__")}
    for module in re.findall(r"`([a-z]+/[a-z_/]+\.py)`", adding):
        assert any((place / module).is_file() for place in (package, ROOT)), module
    for table, module in re.findall(r"`([A-Z]+)` in `([\w/.]+)`", adding):
        (found,) = (path for path in ROOT.glob(f"t*/**/{Path(module).name}") if
                    path.as_posix().endswith(module))  # fmt: skip
        assert re.search(rf"^{table}\b", found.read_text("utf-8"), re.M), (table, module)
