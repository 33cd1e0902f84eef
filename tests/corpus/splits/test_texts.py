"""Train, dev and test of a language model: files, folders of them, and pairs."""

import gzip
from pathlib import Path

import pytest
from says import Says

from tagkit.config import DataConfig
from tagkit.corpus.records.unit_lines import UnitLines
from tagkit.corpus.splits.texts import read_text, read_texts, text_files
from tagkit.errors import DataError, FormatError
from tagkit.text.byte_pairs import BytePairs
from tagkit.text.pairs import DELIMITER, within
from tagkit.text.units import WordUnits


def test_pairs_are_lines_of_units_with_a_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "train.tsv"
    path.write_bytes(b"one two\t2\r\n\nthree\t3\n")
    data = DataConfig(train_file=str(path), dev_file=str(path), pairs=True)
    corpus = read_texts(data)
    expected = [("one", "two", DELIMITER, "2"), ("three", DELIMITER, "3")]
    assert [each.words for each in corpus.train.sentences] == expected
    plain = read_texts(data.model_copy(update={"pairs": False}))
    assert plain.train.sentences[0].words == ("one", "two", "2")


def test_byte_pairs_are_learnt_from_each_side_by_itself(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    path = tmp_path / "train.tsv"
    path.write_text("ab\tab\n" * 9)
    data = DataConfig(train_file=str(path), dev_file=str(path), pairs=True, unit="bpe")
    lines = read_texts(data).train.sentences
    assert isinstance(lines, UnitLines)
    assert lines[0].words == ("ab", DELIMITER, "ab")
    units = within(lines.cut_by)
    assert isinstance(units, BytePairs)
    assert units.merges == (("a", "b"),)


@pytest.mark.parametrize("line", ["no tab", "a\tb\tc", "\tb", "a\t", "\t"])
def test_the_first_line_that_is_no_pair_is_named_with_file_and_number(
    tmp_path: Path, line: str
) -> None:
    path = tmp_path / "train.tsv"
    path.write_text(f"a\tb\n\n{line}\nc\n")
    with pytest.raises(FormatError) as error:
        read_texts(DataConfig(train_file=str(path), pairs=True))
    message = str(error.value)
    assert Says(path, "3", "continuation") == message
    assert message.endswith(repr(line))


def folder_of_texts(place: Path) -> Path:
    (place / "texts" / "b").mkdir(parents=True)
    for name, content in {
        "c.txt": b"five\nsix\n",
        "b/z.gz": gzip.compress(b"three\n\nfour"),
        "a.txt": b"one\ntwo\n",
        ".hidden": b"\xff",
    }.items():
        (place / "texts" / name).write_bytes(content)
    return place / "texts"


def test_a_folder_is_its_files_by_name_and_dev_the_last_lines_of_them(tmp_path: Path) -> None:
    texts = folder_of_texts(tmp_path)
    assert text_files(str(texts)) == [str(texts / name) for name in ("a.txt", "b/z.gz", "c.txt")]
    assert text_files("-") == ["-"]
    corpus = read_texts(DataConfig(train_file=f"{texts}/", dev_fraction=0.5))
    train, dev = corpus.train.sentences, corpus.dev.sentences
    assert isinstance(train, UnitLines)
    assert isinstance(dev, UnitLines)
    assert [list(part.texts()) for part in train.files()] == [["one", "two"], ["three"]]
    assert [list(part.texts()) for part in dev.files()] == [["four"], ["five", "six"]]
    assert (train.units, train.characters, dev.units, dev.characters) == (3, 14, 3, 14)
    assert (corpus.train.path, corpus.dev.path) == (f"{texts}/", "texts (split off)")


def test_a_folder_that_is_no_text_is_refused_by_the_name_of_what_is_wrong(tmp_path: Path) -> None:
    texts = folder_of_texts(tmp_path)
    data = DataConfig(train_file=str(texts))
    (texts / "b" / "z.gz").write_bytes(b"ok\n\nno\xff\n")
    with pytest.raises(FormatError) as bad:
        read_texts(data)
    assert str(bad.value).startswith(f"{texts}/b/z.gz:3: byte 0xff at 6 is not utf-8")
    (texts / "b" / "z.gz").unlink()
    (texts / "b" / "again").symlink_to(texts)
    with pytest.raises(DataError) as link:
        read_texts(data)
    assert str(link.value) == (
        f"{texts}/b/again: is a link to a folder, which is not followed; move its files here"
    )
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError) as none:
        text_files(str(tmp_path / "empty"))
    assert str(none.value) == (Says(tmp_path, "folder"))


def test_a_column_file_is_read_as_text_and_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "train.conll"
    path.write_text("New B-LOC\nYork I-LOC\n! O\n\nAda B-PER\n. O\n\n" * 9, encoding="utf-8")
    said = Says(f"{path}: read as plain text", "2 columns", "tagkit convert")
    corpus = read_texts(DataConfig(train_file=str(path)))
    assert corpus.train.notes == (said,)
    assert read_text(str(path), DataConfig(), WordUnits("blanks")).notes == (said,)
    # Nothing is looked at from the first line on that is longer than one of a token.
    path.write_text("x" * 1001 + " O\n" + "New B-LOC\nYork I-LOC\n! O\n\n" * 9, encoding="utf-8")
    assert read_texts(DataConfig(train_file=str(path))).train.notes == ()
    path.write_text("in New York\nAda and I\n" * 9, encoding="utf-8")
    assert read_texts(DataConfig(train_file=str(path))).train.notes == ()
