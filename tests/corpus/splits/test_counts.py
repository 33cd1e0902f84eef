"""How many classes texts must have."""

from dataclasses import replace
from pathlib import Path

import pytest
import tiny
import torch
from kinds import TAGS
from says import Says

from tagkit.config import load_config
from tagkit.corpus.lint.check import check
from tagkit.corpus.records.dataset import Split
from tagkit.corpus.splits.counts import are_counted, check_classes, check_variety, column_counts
from tagkit.corpus.splits.splits import read_split
from tagkit.errors import DataError, FormatError
from tagkit.text.records import Sentence
from tagkit.training.diagnosis.corpus_checks import diagnose_corpus
from tagkit.training.setup.setup import prepare


def split(*labels: tuple[str, ...]) -> Split:
    texts = tuple(
        Sentence(("a",), labels=each, lines=(line,)) for line, each in enumerate(labels, 1)
    )
    return Split(path="dev", sentences=texts, detection=None, format="columns")


def test_a_file_without_classes_is_refused_as_a_whole() -> None:
    for few in (((),), ((), ())):
        with pytest.raises(DataError) as caught:
            check_classes(split(*few), several=False)
        assert str(caught.value) == (Says("dev", "columns"))
        check_classes(split(*few), several=True)


def test_a_text_with_another_number_of_classes_is_named() -> None:
    check_classes(split(("x",), ("y",)), several=False)
    for labels, found in ((("x", "y"), "'x', 'y'"), ((), "none")):
        with pytest.raises(FormatError) as caught:
            check_classes(split(("x",), labels), several=False)
        assert str(caught.value) == (Says("dev:2", found, "head.multi_label"))
        check_classes(split(("x",), labels), several=True)


def test_classes_of_dev_that_train_lacks_are_named_unless_dev_was_split_off() -> None:
    train, dev = (
        replace(split(*((label,) for label in labels)), path=path)
        for path, labels in (("f.tsv", "abc"), ("f.tsv (split off)", "de"))
    )
    with pytest.raises(DataError) as caught:
        check_variety(train, dev, is_split=False)
    assert str(caught.value) == (Says("f.tsv", "classes"))
    with pytest.raises(DataError) as caught:
        check_variety(train, dev, is_split=True)
    assert str(caught.value) == (
        "f.tsv: no class of the texts that are split off for dev is among those that are left, as "
        "each class has too few texts. Name a dev corpus (data.dev_file), or label more texts of "
        "each class"
    )
    check_variety(train, split(("c",), ("d",)), is_split=True)


COLUMNS = 'data.tag_column=["UPOS", "LEMMA", "FEATS.Number", "MISC.NER"]'


def test_each_column_is_counted_as_what_it_holds(tmp_path: Path) -> None:
    train = tiny.treebank(tmp_path)["data.train_file"]
    several, one = (
        read_split(train, load_config(None, given).data, TAGS, None)
        for given in ([COLUMNS], ["data.tag_column=UPOS"])
    )
    lemmas = {value for sentence in several.sentences for value in sentence.columns[1].values}
    assert column_counts(several) == (
        f"UPOS 3 labels, LEMMA {len(lemmas)} values, FEATS.Number 2 labels, MISC.NER 2 types (IOB2)"
    )
    assert column_counts(one) == ""


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
