"""Corpora of pairs in every shape."""

from pathlib import Path

import pytest
from says import refuses

from tagkit.config import Config, DataConfig
from tagkit.corpus.splits.pairs import read_pair_file, read_pairs
from tagkit.errors import DataError, FormatError

TWO = [("Haus", ("Häuser",)), ("Hund", ("Hunde",))]


@pytest.mark.parametrize(
    ("name", "text", "unit"),
    [
        ("a.tsv", "Haus\tHäuser\nHund\tHunde\n", "character"),
        ("a.txt", "Haus\tHäuser\r\n\r\nHund\tHunde", "character"),
        ("a.tsv", "source\ttarget\nHaus\tHäuser\nHund\tHunde\n", "character"),
        ("a.tsv", "Form\tLemma\nHäuser\tHaus\nHunde\tHund\n", "character"),
        ("a.csv", "Haus,Häuser\nHund,Hunde\n", "character"),
        ("a.csv", 'target;id;source\nHäuser;1;"Haus"\nHunde;2;Hund\n', "character"),
        ("a.txt", "Haus,Häuser\nHund,Hunde\n", "word"),
        ("a.jsonl", '{"source": "Haus", "target": "Häuser"}\n{"src": "Hund", "tgt": "Hunde"}\n',
         "character"),
        ("a.dict", "Haus Häuser\nHund Hunde\n", "tokens"),
    ],
)  # fmt: skip
def test_every_shape_holds_the_same_pairs(tmp_path: Path, name: str, text: str, unit: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    split = read_pair_file(str(path), DataConfig(target_unit=unit))
    assert [(each.text, each.targets) for each in split.sentences] == TWO
    assert [each.words for each in split.sentences] == [("Haus",), ("Hund",)]
    assert split.digest


def test_features_references_and_ids_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("Haus\tHäuser\tN;PL\nGras\tGräser\tN;PL\n", encoding="utf-8")
    found = read_pair_file(str(path), DataConfig()).sentences
    assert [each.words for each in found] == [("Haus\tN;PL",), ("Gras\tN;PL",)]
    path.write_text(
        '{"id": 7, "source": "hi", "features": ["a", "b"], "references": ["x", "y"]}\n',
        encoding="utf-8",
    )
    (one,) = read_pair_file(str(path), DataConfig()).sentences
    assert (one.words, one.targets, one.extra) == (("hi\ta;b",), ("x", "y"), (("id", 7),))


def test_an_empty_source_has_a_word_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("\tyes\tPOS\n\tno\t\n", encoding="utf-8")
    found = read_pair_file(str(path), DataConfig()).sentences
    assert [(each.words, each.text) for each in found] == [(("\tPOS",), ""), (("\t",), "")]


def test_two_files_belong_together_line_by_line(tmp_path: Path) -> None:
    left, right = tmp_path / "a.en", tmp_path / "a.fr"
    left.write_text("one two\n\nthree\n", encoding="utf-8")
    right.write_text("un deux\n\ntrois\n", encoding="utf-8")
    found = read_pair_file(f"{left},{right}", DataConfig()).sentences
    assert [(each.text, *each.targets) for each in found] == [
        ("one two", "un deux"), ("", ""), ("three", "trois"),
    ]  # fmt: skip
    for text, line in (("un deux\n", 2), ("a\nb\nc\nd\n", 4)):
        right.write_text(text, encoding="utf-8")
        with refuses(FormatError, f"a.fr:{line}"):
            read_pair_file(f"{left},{right}", DataConfig())


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Haus\tHäuser\nHund\n", 2), ("nothing that is a pair\n", 1),
        ('{"source": "a", "target": "b"}\n{"source": "a"}\n', 2),
        ('{"source": 1, "target": 2}\n', 1),
        ('{"source": "a"\n', 1), ('{"source": "a", "target": "b"}\n[1]\n', 2),
    ],
)  # fmt: skip
def test_what_is_no_pair_is_named(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(text, encoding="utf-8")
    with refuses(FormatError, f"a.tsv:{line}"):
        read_pair_file(str(path), DataConfig())


def test_dev_is_held_out_and_train_may_be_smaller(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"{n}\t{n * n}\n" for n in range(50)), encoding="utf-8")
    data = DataConfig(train_file=str(path), train_sentences=20)
    corpus = read_pairs(Config(data=data))
    train, dev = (set(each.sentences) for each in (corpus.train, corpus.dev))
    assert (len(train), len(dev), corpus.test) == (20, 5, None)
    assert not train & dev
    path.write_text("\n", encoding="utf-8")
    with refuses(DataError, "a.tsv"):
        read_pairs(Config(data=data))
    with refuses(DataError, "data.train_file"):
        read_pairs(Config())
