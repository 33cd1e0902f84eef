"""The page on the textbooks: each row has a configuration that builds, and a test that there is."""

import re
from pathlib import Path

import pytest
import tiny
import torch
import tree_corpus

from tagkit.config import Config, load_config, refuse_without_effect
from tagkit.training.setup.setup import prepare

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/textbook.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("|") and "::" in line
]
SMALL = [
    "embeddings.word_dim=8",
    "encoder.hidden=16",
    "train.device=cpu",
    "embeddings.char_hidden=4",
]
PAIRS = "".join(f"a{name}b\tb{name}a\n" for name in "klmnopqrst")


def files(folder: Path, config: Config) -> dict[str, str]:
    """A corpus of the task."""
    task = config.task
    if config.encoder.tree == "parse":
        return tree_corpus.files(folder, train=20, others=5)
    if task in ("tag", "classify"):
        made = {"tag": tiny.corpus, "classify": tiny.classified}[task](folder)
        return {name: path for name, path in made.items() if name.startswith("data.")}
    path = folder / "pairs.tsv"  # plain text, a text after its label, and pairs
    labelled = "".join(f"{name}\tthe old {name} one\n" for name in ("cat", "cow"))
    path.write_text(labelled * 9 if config.data.condition == "label" else PAIRS * 5, "utf-8")
    return {"data.train_file": str(path)}


def test_the_page_has_rows() -> None:
    assert len(ROWS) >= 40


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_has_a_configuration_that_builds_and_a_test_that_there_is(
    row: list[str], tmp_path: Path
) -> None:
    what, where, configuration, proof = row
    assert re.match(r"[ABCG]\b", where), what
    overrides = configuration.strip("`").split()
    config = load_config(overrides=overrides)
    refuse_without_effect(config, "docs/textbook.md")
    path, _, name = proof.partition("::")
    assert f"def {name}(" in (ROOT / "tests" / path).read_text("utf-8"), proof
    if config.embeddings.contextual or config.data.vector_columns:  # which need more than a corpus
        return
    small = [each for each in SMALL if config.task == "tag" or "char_hidden" not in each]
    flags = {**files(tmp_path, config), "output.dir": str(tmp_path / "model")}
    prepared = prepare(load_config(None, [*small, *overrides], flags), torch.device("cpu"))
    assert sum(each.numel() for each in prepared.model.parameters()) > 0
