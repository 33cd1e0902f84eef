"""Train, dev and test of a language model of pairs."""

from pathlib import Path

import pytest

from tagkit.config import DataConfig
from tagkit.corpus.texts import read_texts
from tagkit.corpus.unit_lines import UnitLines
from tagkit.errors import FormatError
from tagkit.text.byte_pairs import BytePairs
from tagkit.text.pairs import DELIMITER, within


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
    assert message.startswith(f"{path}:3: expected a prefix and its continuation with one tab")
    assert message.endswith(repr(line))
