"""Sources and targets in their units, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagkit.features.pair_reading import PairReading, learn_pairs
from tagkit.nn.decoder import NOT_COPIED, RESERVED_UNITS, UNKNOWN_ID
from tagkit.text.units import END, UNKNOWN

PAIRS = [("lauf\tV;PST", "lief"), ("Haus\tN;PL", "Häuser"), ("der Hund\t", "die Hunde")]


def reading(source: str, target: str, min_count: int = 1) -> PairReading:
    return learn_pairs(
        [line for line, _ in PAIRS], [text for _, text in PAIRS], kinds=(source, target),
        tokenizer="multilingual", bpe_size=262, min_count=min_count,
    )  # fmt: skip


def test_a_source_is_its_units_its_end_and_its_features() -> None:
    characters = reading("character", "character")
    assert characters.symbols("ab\tN;DAT,SG") == ("a", "b", END, "\tN", "\tDAT", "\tSG")
    assert characters.symbols("") == (END,)
    assert characters.symbols("\tV;PST") == (END, "\tV", "\tPST")
    assert reading("tokens", "word").symbols("a b.c") == ("a", "b.c", END)
    assert reading("word", "word").symbols("a b.") == ("a", "b", ".", END)


@pytest.mark.parametrize("kind", ["character", "bpe"])
@given(text=st.text(alphabet="lief Häus", max_size=12))
def test_a_target_is_joined_from_its_units(kind: str, text: str) -> None:
    target = reading("character", kind)
    units = target.cut(text)
    assert target.target.join(target.strings(target.unit_ids(units), ())) == text


def test_what_is_no_unit_is_unknown_unless_the_source_has_it() -> None:
    known = reading("character", "character")
    symbols = known.symbols("xuy\tPST")
    ids = known.unit_ids(["u", "y", "z"], symbols)
    last = RESERVED_UNITS + len(known.units)
    assert ids == [known.unit_ids(["u"])[0], last + symbols.index("y"), UNKNOWN_ID]
    assert known.strings(ids, symbols) == ["u", "y", UNKNOWN]
    copies = known.copies(symbols)
    assert copies[-2:] == [NOT_COPIED, NOT_COPIED]  # the end, and a feature
    assert known.strings(copies[:-2], symbols) == ["x", "u", "y"]


def test_rare_units_are_left_out_and_frequent_ones_come_first() -> None:
    counts = {unit: sum(text.count(unit) for _, text in PAIRS) for unit in "ieHundläsrf "}
    found = reading("character", "character", min_count=2).units
    assert {*found} == {unit for unit, count in counts.items() if count > 1}
    assert [counts[unit] for unit in found] == sorted(map(counts.get, found), reverse=True)


@pytest.mark.parametrize("kinds", [("character", "word"), ("tokens", "bpe"), ("bpe", "bpe")])
def test_it_is_read_as_it_was_written(kinds: tuple[str, str]) -> None:
    known = reading(*kinds)
    assert PairReading.from_dict(known.to_dict()) == known
    if kinds == ("bpe", "bpe"):
        assert known.source == known.target


@pytest.mark.parametrize(
    "values",
    [None, {}, {"units": ["a", "a"]}, {"units": ["a"], "source": {"unit": "syllable"}},
     {"units": ["a"], "source": {"unit": "word"}}],
)  # fmt: skip
def test_what_is_no_reading_is_refused(values: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        PairReading.from_dict(values)
