"""The files that a hosting site reads say what the project does."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_workflow_runs_the_one_script_of_checks_with_the_python_that_is_claimed() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    assert re.findall(r"- run: (.*)", workflow) == ["bash .ci/run"]
    (version,) = re.findall(r'python-version: "(.*)"', workflow)
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert re.findall(r"Python :: (3\.\d+)", project) == [version]
    assert f'requires-python = ">={version}"' in project


def test_the_citation_names_a_version_of_the_changes() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    version, day = re.findall(r'^(?:version|date-released): "?([\d.-]+)', citation, re.M)
    assert f"## {version} ({day})" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_house_of_the_contributors_page_has_every_room() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    house = page.split("```text\n")[1].split("```")[0]
    rooms = {path.name for path in (ROOT / "tagkit").iterdir() if path.is_dir()}
    assert rooms - {"__pycache__"} <= {*re.findall(r"[a-z]+", house)}


def test_the_commands_that_the_checks_take_from_the_readme_are_there() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    wanted = re.findall(r'grep -m1 -F "(.*)" README.md', (ROOT / ".ci" / "run").read_text("utf-8"))
    assert len(wanted) == 2
    assert all(any(command in line for line in readme.splitlines()) for command in wanted)
