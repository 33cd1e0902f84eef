"""A prefix and its continuation as units of one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from says import Says

from tagkit.text.byte_pairs import BytePairs
from tagkit.text.pairs import DELIMITER, PairUnits, pair_problem, within
from tagkit.text.units import CharacterUnits, Units, WordUnits

# "</s>" is a byte pair of this one.
MERGED = BytePairs((("<", "/"), ("</", "s"), ("</s", ">"), ("t", "h")))
KINDS = [WordUnits("blanks"), CharacterUnits(), MERGED]
sides = st.text(st.sampled_from("ath é<sep>/"), min_size=1).filter(str.strip)


@pytest.mark.parametrize("units", KINDS, ids=lambda units: units.kind)
@given(sides, sides)
def test_each_side_is_cut_by_itself_with_the_delimiter_between(
    units: Units, prefix: str, continuation: str
) -> None:
    pair = PairUnits(units)
    line = f"{prefix}\t{continuation}"
    found = pair.strings(line)
    assert found.count(DELIMITER) == 1
    at = found.index(DELIMITER)
    each_side = [units.strings(side) for side in (prefix, continuation)]
    assert [found[:at], found[at + 1 :]] == each_side
    cut = pair.cut(line)
    assert [each.text for each in cut] == found
    for each in cut:
        if each.text == DELIMITER:
            assert line[each.start : each.end] == "\t"
        elif units.kind == "word":
            assert line[each.start : each.end] == each.text
    assert pair.strings(prefix + "\t") == [*each_side[0], DELIMITER]  # what is to be continued
    assert within(pair) is units
    assert pair.join(found) == "\t".join(units.join(side) for side in each_side)


@pytest.mark.parametrize("units", KINDS, ids=lambda units: units.kind)
def test_what_is_spelled_like_a_symbol_parts_nothing(units: Units) -> None:
    found = PairUnits(units).strings("\\t <sep> </s> ĉ\tx")
    assert found.count(DELIMITER) == 1
    assert found[-2:] == [DELIMITER, "x"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("a", Says("none", "'a'")),
        ("a\tb\tc", Says("2", "'a\\tb\\tc'")),
        ("\tb", Says("empty prefix", "'\\tb'")),
        ("a\t ", Says("empty continuation", "'a\\t '")),
        ("\t", Says("empty prefix", "'\\t'")),
    ],
)
def test_a_line_that_is_no_pair_is_quoted(line: str, found: Says) -> None:
    assert pair_problem(line) == found


def test_pairs_and_blank_lines_are_no_problem() -> None:
    assert [pair_problem(line) for line in ("a b\tc d", "", "  ")] == [None, None, None]
