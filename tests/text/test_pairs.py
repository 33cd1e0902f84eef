"""A prefix and its continuation as units of one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagkit.text.byte_pairs import BytePairs
from tagkit.text.pairs import DELIMITER, PairUnits, pair_problem, within
from tagkit.text.units import UNKNOWN, CharacterUnits, Units, WordUnits

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
    safe = [[UNKNOWN if one == "</s>" else one for one in units.strings(side)]
            for side in (prefix, continuation)]  # fmt: skip
    assert [found[:at], found[at + 1 :]] == safe
    cut = pair.cut(line)
    assert [each.text for each in cut] == found
    for each in cut:
        if each.text == DELIMITER:
            assert line[each.start : each.end] == "\t"
        elif units.kind == "word" and each.text != UNKNOWN:
            assert line[each.start : each.end] == each.text
    assert pair.strings(prefix + "\t") == [*safe[0], DELIMITER]  # what is to be continued
    assert within(pair) is units
    if UNKNOWN not in found:
        assert pair.join(found) == "\t".join(units.join(units.strings(x)) for x in line.split("\t"))


@pytest.mark.parametrize("units", KINDS, ids=lambda units: units.kind)
def test_what_is_spelled_like_a_symbol_ends_and_parts_nothing(units: Units) -> None:
    found = PairUnits(units).strings("\\t <sep> </s> ĉ\tx")
    assert found.count(DELIMITER) == 1
    assert found[-2:] == [DELIMITER, "x"]
    assert "</s>" not in found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("a", "found none: 'a'"),
        ("a\tb\tc", "found 2: 'a\\tb\\tc'"),
        ("\tb", "found an empty prefix: '\\tb'"),
        ("a\t ", "found an empty continuation: 'a\\t '"),
        ("\t", "found an empty prefix: '\\t'"),
    ],
)
def test_a_line_that_is_no_pair_is_quoted(line: str, found: str) -> None:
    expected = "expected a prefix and its continuation with one tab between them"
    assert pair_problem(line) == f"{expected}, {found}"


def test_pairs_and_blank_lines_are_no_problem() -> None:
    assert [pair_problem(line) for line in ("a b\tc d", "", "  ")] == [None, None, None]
