"""Options that some formats alone have, on a corpus of another format."""

from pathlib import Path

import pytest

from tagkit.config import DataConfig, load_config
from tagkit.corpus.formats.table import FORMATS
from tagkit.corpus.records.dataset import LabelKinds
from tagkit.corpus.splits.splits import read_train

CLASSES = LabelKinds(tags=False, classes=True)
LINES = {
    "x.tsv": "NUM:count\tHow many ?\n",
    "x.trec": "NUM:count How many ?\n",
    "x.trees": "(3 Good)\n",
}


def notes(folder: Path, name: str, *options: str) -> list[str]:
    path = folder / name
    path.write_text(LINES[name] * 2, encoding="utf-8")
    flags = {"task": "classify", "data.train_file": str(path)}
    return [*read_train(load_config(None, options, flags), CLASSES).notes]


@pytest.mark.parametrize(
    ("option", "owner"), [("label_level=fine", "trec"), ("tree_labels=binary", "trees")]
)
def test_an_option_that_the_format_does_not_have_is_named(
    option: str, owner: str, tmp_path: Path
) -> None:
    said = (
        f"data.{option.replace('=', ' = ')} has no effect: it is for {owner}, and this is read as "
    )
    for name in LINES:
        found = [note for note in notes(tmp_path, name, f"data.{option}") if "no effect" in note]
        format = name.removeprefix("x.")
        assert found == ([] if format == owner else [f"{tmp_path / name}: {said}{format}"])


@pytest.mark.parametrize("name", LINES)
def test_defaults_are_not_named(name: str, tmp_path: Path) -> None:
    assert not [note for note in notes(tmp_path, name) if "no effect" in note]


def test_each_option_of_a_format_is_one_of_data() -> None:
    options = {option for format in FORMATS.values() for option in format.options}
    assert options == {"label_level", "tree_labels", "tree_phrases"}
    assert options <= {*DataConfig.model_fields}
