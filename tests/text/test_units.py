"""Units of text: where they are, and that joining undoes cutting."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagkit.config import DataConfig, allowed
from tagkit.text.byte_pairs import BytePairs
from tagkit.text.tokenizer import TOKENIZERS
from tagkit.text.units import END, UNKNOWN, CharacterUnits, Unit, Units, WordUnits

CORPUS = ("low", "lower", "newest", "widest")
KINDS: list[Units] = [
    *map(WordUnits, TOKENIZERS),
    CharacterUnits(),
    BytePairs(()),
    BytePairs((("e", "s"), ("es", "t"), ("Ġ", "l"), ("Ã", "©"), ("©", "Ġ"))),
]
# Joiners, marks, two directions, letters of four bytes, NUL, and text that no merge knows.
LINES = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from("e\u0301é \0\t\u200d\u200f👩👧漢字שלום\u00a0'st"),
    )
)


def test_the_kinds_are_those_that_the_configuration_allows() -> None:
    assert {units.kind for units in KINDS} == {*allowed(DataConfig, "unit")}
    assert (END, UNKNOWN) == ("</s>", "<unk>")


@pytest.mark.parametrize("units", KINDS, ids=str)
@given(LINES)
def test_units_follow_each_other_and_their_strings_are_those_of_the_offsets(
    units: Units, line: str
) -> None:
    found = units.cut(line)
    assert [unit.text for unit in found] == units.strings(line)
    place = 0
    for unit in found:
        assert place <= unit.start <= unit.end <= len(line)
        place = unit.end
    if units.kind != "bpe":
        assert [line[unit.start : unit.end] for unit in found] == units.strings(line)


@pytest.mark.parametrize("units", [u for u in KINDS if u.kind != "word"], ids=str)
@given(LINES)
def test_characters_and_byte_pairs_leave_nothing_out_and_join_exactly(
    units: Units, line: str
) -> None:
    found = units.cut(line)
    assert "".join(line[unit.start : unit.end] for unit in found) == line
    assert units.join(units.strings(line)) == line


def test_words_are_those_of_the_tokenizer_and_are_joined_by_blanks() -> None:
    line = "He can't ,  said N <unk> ."
    assert WordUnits("blanks").cut(line)[:3] == [
        Unit("He", 0, 2), Unit("can't", 3, 8), Unit(",", 9, 10),
    ]  # fmt: skip
    assert WordUnits("blanks").strings(line)[-2] == UNKNOWN
    assert WordUnits("syntok").strings("He can't.") == ["He", "ca", "n't", "."]
    assert WordUnits("blanks").join(["He", "sleeps", "."]) == "He sleeps ."
