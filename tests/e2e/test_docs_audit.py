"""docs/audit.md: its example in Python runs. Commands of all pages: test_docs.py."""

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow  # trains models
def test_the_example_in_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "audit.md").read_text("utf-8")
    (example,) = re.findall(r"^```py\n(.*?)^```$", page, re.M | re.S)
    names: dict[str, Any] = {}
    exec(compile(example, "docs/audit.md", "exec"), names)
    assert [*tmp_path.glob("models/weighted/best")]
