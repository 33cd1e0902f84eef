"""Columns that count the words of a sentence are none of words."""

from pathlib import Path

import pytest
import torch

from tagkit.config import load_config
from tagkit.corpus.lint.check import check
from tagkit.corpus.splits.counted_words import are_counted
from tagkit.text.records import Sentence
from tagkit.training.diagnosis.corpus_checks import diagnose_corpus
from tagkit.training.setup.setup import prepare


def sentences(*rows: str) -> list[Sentence]:
    return [Sentence(tuple(row.split())) for row in rows]


@pytest.mark.parametrize(
    "rows",
    [["1 2 3", "1 2", "1 2 3 4"], ["0 1 2"] * 3, ["1-1 1-2", "2-1 2-2 2-3", "3-1 3-2"],
     ["1 2 3"] * 9 + ["1 . 3"], ["1"] * 5 + ["1 2 3"] * 3],
)  # fmt: skip
def test_numbers_that_count_up_are_counted(rows: list[str]) -> None:
    assert are_counted(sentences(*rows))


@pytest.mark.parametrize(
    "rows",
    [["1 2 3"] * 2, ["2 3 4"] * 5, ["1 2 4"] * 5, ["1"] * 9, ["1 2 x"] * 9, ["1 2"] * 8 + ["a b"],
     ["a b c"] * 5, []],
)  # fmt: skip
def test_others_are_not(rows: list[str]) -> None:
    assert not are_counted(sentences(*rows))


def test_check_and_training_name_the_option(tmp_path: Path) -> None:
    path = tmp_path / "germeval.tsv"
    block = "# x\n1\tAda\tB-PER\tO\n2\tleft\tO\tO\n3\tOslo\tB-LOC\tB-PER\n\n"
    path.write_text(block * 8, "utf-8")
    said = "count up in each sentence"

    def findings(**options: object) -> list[str]:
        found = check(path, tag_column=2, **options).findings
        return [each.message for each in found if said in each.message]

    (message,) = findings()
    assert message.endswith("Name the column of its words: data.token_column=1 for one")
    assert findings(token_column=1) == []
    flags = {"data.train_file": str(path), "data.dev_file": str(path), "data.tag_column": 2}
    small = ["encoder.hidden=4", "embeddings.word_dim=4", "head.feature_crf=0"]
    for column, expected in ((0, 1), (1, 0)):
        config = load_config(None, small, {**flags, "data.token_column": column})
        found = diagnose_corpus(prepare(config, torch.device("cpu")))
        assert sum(each.name == "counted-words" for each in found) == expected
