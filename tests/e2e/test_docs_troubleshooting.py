"""What docs/troubleshooting.md shows is what the commands print."""

import re
import subprocess
from pathlib import Path

import pytest
from program import Program

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
BLOCKS = re.findall(r"^```console\n(.*?)^```$", PAGE, re.M | re.S)


def commands() -> list[tuple[str, str]]:
    """Each command, and the lines that the page shows below it."""
    parts = [part.partition("\n") for block in BLOCKS for part in block.split("$ ")[1:]]
    return [(command, shown) for command, _, shown in parts]


def one_line(text: str) -> str:
    """With the lines joined that a terminal of 80 columns breaks, as a pipe gets them."""
    return re.sub(r"\n {2}(?=\S)", " ", text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(ROOT / "data")
    return tmp_path


@pytest.mark.slow
def test_the_page_shows_what_the_commands_print(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    tagkit = Program(monkeypatch, capsysbinary)
    warned = 0
    for command, shown in commands():
        if not command.startswith("tagkit "):
            if "models/" not in command:  # of the model that other pages use
                subprocess.run(command, shell=True, cwd=folder, check=True)
            continue
        ended = tagkit(*command.split()[1:])
        assert ended.code == 0, (command, ended.err)
        said = ended.err + ended.out
        for line in one_line(shown).splitlines():
            assert line in said, command
            warned += line.startswith("warning: ")
    assert warned == 7


def test_each_warning_of_a_run_has_a_row() -> None:
    from tagkit.training.diagnosis.corpus_checks import CORPUS_CHECKS
    from tagkit.training.diagnosis.run_checks import RUN_CHECKS

    table = PAGE.split("## Warnings of a run")[1].split("\n## ")[0]
    assert len(re.findall(r"^\| ", table, re.M)) == 2 + len(CORPUS_CHECKS) + len(RUN_CHECKS)
