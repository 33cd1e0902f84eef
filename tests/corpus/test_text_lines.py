"""Lines of plain text, read again whenever they are needed."""

import gzip
import os
from pathlib import Path

import pytest

from tagkit.corpus.text_lines import TextFile, UnitLines
from tagkit.errors import DataError, FormatError
from tagkit.text.units import CUTS


def lines_of(path: Path, unit: str = "word", start: int = 0, stop: int | None = None) -> UnitLines:
    return UnitLines(TextFile(str(path), "utf-8", 1000, CUTS[unit]), start, stop)


def test_blank_lines_are_left_out_and_units_and_characters_counted(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes("Über  allen\r\n\r\n \nGipfeln\n".encode())
    words, chars = lines_of(path), lines_of(path, "character")
    assert [each.words for each in words] == [("Über", "allen"), ("Gipfeln",)]
    assert [[*each.lines] for each in words] == [[1], [4]]
    assert "".join(chars[0].words) == "Über  allen"
    assert (len(words), words.units, chars.units) == (2, 3, 18)
    assert words.characters == chars.characters == 20  # with an end of each line
    packed = tmp_path / "text.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert [*lines_of(packed)] == [*words]


def test_a_part_of_the_lines_is_counted_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("a\n\nb b\nc c c\nd\n")
    part = lines_of(path, start=1, stop=3)
    assert [each.words for each in part] == [("b", "b"), ("c", "c", "c")]
    assert (len(part), part.units, part.characters) == (2, 5, 10)
    assert part[-1] == part[1] == part[1:][0]
    assert [each.words[0] for each in lines_of(path)[::2]] == ["a", "c"]
    with pytest.raises(IndexError):
        part[2]


def test_what_cannot_be_read_is_refused_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(b"a\n\xff\n")
    with pytest.raises(FormatError, match=r"text\.txt:2: .*utf-8"):
        lines_of(path)
    path.write_text("\n \n")
    with pytest.raises(DataError, match=r"text\.txt: expected lines of text, found none$"):
        lines_of(path)
    path.write_text("a" * 1001)
    with pytest.raises(FormatError, match=r"text\.txt:1: .*1,000"):
        lines_of(path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match=r"expected a file, found none that can be read again$"):
        lines_of(tmp_path / "pipe")
    with pytest.raises(DataError, match=r"none: no such file$"):
        lines_of(tmp_path / "none")
