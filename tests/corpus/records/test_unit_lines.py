"""Lines of a text as sentences of units, and parts of them."""

from pathlib import Path

import pytest

from tagkit.corpus.records.unit_lines import UnitLines
from tagkit.corpus.source.text_lines import TextLines
from tagkit.text.units import CharacterUnits, WordUnits

WORDS, CHARACTERS = WordUnits("blanks"), CharacterUnits()


def test_units_and_characters_are_counted_and_blank_lines_left_out(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes("Über  allen\r\n\r\n \nGipfeln\n".encode())
    words, chars = (UnitLines(TextLines(str(path)), units) for units in (WORDS, CHARACTERS))
    assert [each.words for each in words] == [("Über", "allen"), ("Gipfeln",)]
    assert "".join(chars[0].words) == "Über  allen"
    assert (len(words), words.units, chars.units) == (2, 3, 18)
    assert words.characters == chars.characters == 20  # with an end of each line


def test_a_part_of_the_lines_is_counted_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("a\n\nb b\nc c c\nd\n")
    part = UnitLines(TextLines(str(path)), WORDS, 1, 3)
    assert [each.words for each in part] == [("b", "b"), ("c", "c", "c")]
    assert (len(part), part.units, part.characters) == (2, 5, 10)
    assert part[-1] == part[1] == part[1:][0]
    assert [each.words[0] for each in UnitLines(TextLines(str(path)), WORDS)[::2]] == ["a", "c"]
    with pytest.raises(IndexError):
        part[2]
