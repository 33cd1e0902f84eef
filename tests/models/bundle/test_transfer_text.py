"""A language model that starts from another one: which text it reads."""

from pathlib import Path

import pytest
import torch

from tagkit.config import Config, load_config
from tagkit.errors import ConfigError
from tagkit.training.setup.setup import prepare
from tagkit.training.trainer import train

LINES = ["red cat", "green dog", "blue fish", "red dog", "green fish"] * 6
PAIRS = [f"{line}\t{line.split()[1]}" for line in LINES]


def write(path: Path, lines: list[str]) -> str:
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return str(path)


def settings(folder: Path, lines: list[str], *overrides: str) -> Config:
    train_file = write(folder / "train.txt", lines)
    options = ["task=language-model", "train.max_epochs=1", "data.unit=character",
               "encoder.hidden=8", *overrides]  # fmt: skip
    return load_config(
        overrides=options,
        flags={"data.train_file": train_file, "output.dir": str(folder / "model"),
               "train.device": "cpu"},
    )  # fmt: skip


CPU = torch.device("cpu")
OF_PAIRS = ["data.context=line", "data.pairs=true", "data.loss_on=continuation"]


@pytest.fixture(scope="module")
def of_pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    return train(settings(folder, PAIRS, *OF_PAIRS)).folder / "best"


def test_a_model_of_pairs_goes_on_with_pairs(tmp_path: Path, of_pairs: Path) -> None:
    found = prepare(settings(tmp_path, PAIRS, f"train.init_from={of_pairs}"), CPU)
    data = found.config.data
    assert (data.pairs, data.context, data.loss_on) == (True, "line", "continuation")
    assert found.corpus.train.sentences[0].words[-4:] == ("\t", *"cat")
    every = prepare(
        settings(tmp_path, PAIRS, f"train.init_from={of_pairs}", *OF_PAIRS[:2], "data.loss_on=all"),
        CPU,
    )
    assert (every.config.data.pairs, every.config.data.loss_on) == (True, "all")


def test_a_model_of_pairs_is_no_beginning_for_plain_lines(tmp_path: Path, of_pairs: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        prepare(settings(tmp_path, LINES, f"train.init_from={of_pairs}", "data.pairs=false"), CPU)
    assert str(refused.value) == (
        f"train.init_from: data.pairs = False: {of_pairs}, from which training begins, has True; "
        "leave it out"
    )


@pytest.mark.parametrize("unit", ["word", "character", "bpe"])
def test_a_model_of_plain_lines_may_learn_pairs(tmp_path: Path, unit: str) -> None:
    if unit == "bpe":
        pytest.importorskip("tokenizers")
    of_unit = ["data.context=line", f"data.unit={unit}"]
    (tmp_path / "plain").mkdir()
    base = train(settings(tmp_path / "plain", LINES, *of_unit)).folder / "best"
    start = f"train.init_from={base}"
    found = prepare(settings(tmp_path, PAIRS, *of_unit, start, *OF_PAIRS), CPU)
    sides = found.corpus.train.sentences[0].words
    assert sides.count("\t") == 1
    assert found.vocabulary.words.count("\t") == 1
