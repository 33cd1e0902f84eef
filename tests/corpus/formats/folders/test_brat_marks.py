"""How the offsets of a brat file count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagkit.corpus.formats.folders.brat_marks import counting, mark_of

BEFORE = st.text(st.sampled_from("a \u00e9\u20ac😀🧑\r\n"), max_size=12)


@given(BEFORE, st.booleans())
def test_units_of_utf_16_are_recognised_by_the_copies_of_the_texts(
    before: str, has_mark: bool
) -> None:
    text = f"{before}😀 Oslo and Rome"
    marks = []
    for name in ("Oslo", "Rome"):
        start = len(text[: text.index(name)].encode("utf-16-le")) // 2 + has_mark
        marks.append(mark_of(f"T1\tLOC {start} {start + 4}\t{name}", 1))
    place = counting(text, has_mark, marks)
    for mark in marks:
        begin, end = map(place, mark.pieces[0])
        assert text[begin:end] == mark.repeated


def test_one_mark_that_fits_another_way_of_counting_is_no_evidence() -> None:
    marks = [mark_of("T1\tLOC 3 7\tOslo", 1), mark_of("T2\tLOC 8 9\tx", 2)]
    place = counting("😀 Oslo", has_mark=False, marks=marks)
    assert [place(at) for at in (0, 1, 6, 7)] == [0, 1, 6, None]  # as they are


def test_within_a_character_of_two_units_there_is_no_place() -> None:
    place = counting("😀 Oslo", has_mark=False, marks=[mark_of("T1\tLOC 3 7\tOslo", 1)])
    assert [place(at) for at in (-1, 0, 1, 2, 3, 7, 8)] == [None, 0, None, 1, 2, 6, None]


@pytest.mark.parametrize("line", ["T1\tLOC 4 4\t", "T1\tLOC 4 +5\t", "T1\tLOC", "X1\tLOC 1 2\ta"])
def test_what_is_no_mark_is_refused(line: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the caller says what was expected
        mark_of(line, 1)
