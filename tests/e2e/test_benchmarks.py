"""The scripts that measure are run by hand, and rarely: at least their imports are resolved."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_what_a_script_imports_from_tagkit_is_there(script: Path) -> None:
    for node in ast.walk(ast.parse(script.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tagkit"):
            module = import_module(node.module or "")
            for name in node.names:
                assert hasattr(module, name.name), f"{script.name}:{node.lineno}: {name.name}"
