"""The names of the package: what a type checker sees is what there is."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tagkit


def for_type_checkers() -> dict[str, str]:
    """The names that stand under TYPE_CHECKING, and their modules."""
    tree = ast.parse(Path(tagkit.__file__).read_text("utf-8"))
    (block,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    assert len(imports) == len(block.body)
    # With "as", without which a checker takes a name for one of the module's own.
    assert all(name.name == name.asname for node in imports for name in node.names)
    return {name.name: node.module or "" for node in imports for name in node.names}


def test_type_checkers_see_every_public_name_in_its_module() -> None:
    assert for_type_checkers() == tagkit._PUBLIC


@pytest.mark.slow  # mypy reads all of the package
def test_a_program_is_checked_and_a_name_that_is_not_there_is_found(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import tagkit\n"
        "class Scores(tagkit.Listener):\n"
        "    def on_epoch(self, epoch: tagkit.Epoch) -> None:\n"
        "        pass\n"
        "answer: tagkit.TaggedText = tagkit.load('m').predict('Ada')\n"
        "sets: tagkit.TextSets = tagkit.load('m').predict_sets('Ada', 0.9, confidence=True)\n"
        "tagkit.predict\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(program)],
        capture_output=True,
        text=True,
    )
    assert run.stdout.splitlines()[:-1] == [
        f'{program}:7: error: Module has no attribute "predict"  [attr-defined]'
    ]
