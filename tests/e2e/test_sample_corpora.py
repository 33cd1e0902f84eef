"""The sample corpora of pairs are those that their scripts write."""

import subprocess
import sys
from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "data"


@pytest.mark.parametrize("name", ["dates", "forms"])
def test_the_same_seed_gives_the_bytes_that_are_there_and_test_is_not_in_train(
    tmp_path: Path, name: str
) -> None:
    subprocess.run([sys.executable, DATA / f"make_{name}.py", "--out", tmp_path], check=True)
    sources = {}
    for part in ("train", "dev", "test"):
        content = (tmp_path / f"{part}.tsv").read_bytes()
        assert content == (DATA / name / f"{part}.tsv").read_bytes()
        sources[part] = {line.split(b"\t")[0] for line in content.splitlines()}
    assert not sources["train"] & (sources["dev"] | sources["test"])
