"""The text of units as they come."""

import random

import pytest
from toy_language_model import END, UNKNOWN, ToyReader

from tagkit.inference.generate.language_model_reader import TextPieces


def pieces_of(reader: ToyReader, units: list[int], before: list[int] | None = None) -> list[str]:
    pieces = TextPieces(reader, before or [])
    return [*map(pieces.add, units), pieces.finish()]


def test_a_character_of_several_bytes_comes_once_it_is_whole() -> None:
    reader = ToyReader("aé€😀b", "byte")
    units = reader.cut("aé€😀b")
    assert len(units) == 1 + 2 + 3 + 4 + 1
    assert pieces_of(reader, units) == ["a", "", "é", "", "", "€", "", "", "", "😀", "b", ""]
    # A prompt may end within a character.
    assert pieces_of(reader, units[5:], units[:5]) == ["€", "", "", "", "😀", "b", ""]


def test_bytes_that_never_become_a_character_are_replaced_once_that_is_known() -> None:
    reader = ToyReader("aé€😀b", "byte")
    a, e, *_ = units = reader.cut("aé€😀b")
    assert pieces_of(reader, [a, e, a]) == ["a", "", "\ufffda", ""]
    assert pieces_of(reader, units[:5]) == ["a", "", "é", "", "", "\ufffd"]


@pytest.mark.parametrize("unit", ["word", "character", "byte"])
def test_pieces_of_any_units_are_the_whole_text(unit: str) -> None:
    numbers = random.Random(3)
    reader = ToyReader("aé€ 😀b ǆ\u0301 \ufffd\nx y\n", unit)  # type: ignore[arg-type]
    for _ in range(200):
        units = numbers.choices([*range(2, reader.vocabulary_size)], k=numbers.randrange(12))
        found = pieces_of(reader, units)
        assert "".join(found) == reader.text(units)
        cut = numbers.randrange(len(units) + 1)
        # After a prompt the pieces are what the prompt's own text lacks.
        before = reader.text(units[:cut])
        if not before.endswith("\ufffd"):
            assert before + "".join(pieces_of(reader, units[cut:], units[:cut])) == (
                reader.text(units)
            )


def test_words_are_joined_by_blanks_and_lines_by_line_feeds() -> None:
    reader = ToyReader()
    the, cat = reader.cut("the cat")
    assert pieces_of(reader, [the, cat, END, the, UNKNOWN]) == [
        "the", " cat", "\n", "the", " <unk>", "",
    ]  # fmt: skip
    assert pieces_of(reader, [cat], [the]) == [" cat", ""]
