"""Notations of tags: read into the usual one and written back, and found where they are there."""

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tagkit.text.notation import SEPARATORS, USUAL, Notation, notation_named
from tagkit.text.scheme_detection import notation_of

NOTATIONS = st.builds(
    Notation,
    outside=st.sampled_from(["O", "0", "_", "-", "OTHER", "none"]),
    separator=st.sampled_from(["", *SEPARATORS]),
    type_first=st.booleans(),
    lower=st.booleans(),
    bmewo=st.booleans(),
)
TYPES = st.text(st.sampled_from("abPX-_/:.1"), min_size=1, max_size=5)


@given(NOTATIONS, TYPES)
@example(Notation("0", "_", type_first=True), "a_b")
@example(Notation("0", "_"), "a_b-c")
def test_a_tag_there_and_back_is_the_same(notation: Notation, label: str) -> None:
    prefixes = ["I"] if not notation.separator else sorted({*notation.letters.values()})
    for prefix in prefixes:
        usual = f"{prefix}-{label}"
        assert notation.read(notation.written(usual)) == usual
    for tag in (notation.outside, *map(notation.written, (f"{p}-{label}" for p in prefixes))):
        assert notation.written(notation.read(tag)) == tag
    assert (notation.read(notation.outside), notation.written("O")) == ("O", notation.outside)


@given(NOTATIONS)
@example(Notation("a b"))
@example(Notation("\u00a0"))
def test_the_example_of_a_notation_names_it(notation: Notation) -> None:
    found = notation_named(str(notation))
    assert found is not None
    assert str(found) == str(notation)
    tags = ["O", "I-PER", "I-LOC"]
    assert found.written_all(tags) == notation.written_all(tags)


@given(NOTATIONS, st.integers(1, 50))
def test_a_notation_is_found_in_tags_of_two_types(notation: Notation, outside: int) -> None:
    usual = {"B-PER": 3, "I-PER": 2, "B-LOC": 2, "E-LOC": 1, "S-PER": 1, "I-LOC": 1, "O": outside}
    counts = Counter({notation.written(tag): count for tag, count in usual.items()})
    scheme = "auto" if notation.separator else "io"
    found = notation_of(counts, scheme)
    assert {found.read(tag) for tag in counts} == {
        USUAL.read(tag) if notation.separator else f"I{tag[1:]}" if tag != "O" else "O"
        for tag in usual
    }
    assert {found.written(found.read(tag)) for tag in counts} == {*counts}


def test_the_usual_notation_changes_nothing() -> None:
    tags = ("B-PER", "O", "I-a-b", "S", "NN", "x-y", "0")
    assert USUAL.read_all(tags) == USUAL.written_all(tags) == tags
    assert notation_named("auto") is None
    assert notation_named("B-PER O") == USUAL
    with pytest.raises(ValueError, match="such as 'B_PER 0'"):
        notation_named("B_PER")


@pytest.mark.parametrize(
    ("tags", "notation"),
    [
        ("B-PER I-PER 0 B-LOC 0", "B-PER 0"),
        ("B_PER I_PER O O", "B_PER O"),
        ("PER/B PER/I O", "PER/B O"),
        ("b-per i-per o", "b-PER o"),
        ("PER_I LOC_I 0", "PER_B 0"),
        ("B-PER M-PER E-PER W-LOC O", "W-PER O"),
        ("B-X I-X rest rest", "B-X rest"),
        ("B I 0", "B-PER 0"),
        ("b i o", "b-PER o"),
    ],
)
def test_notations_by_example(tags: str, notation: str) -> None:
    assert notation_of(Counter(tags.split())) == notation_named(notation)


@pytest.mark.parametrize(
    "tags",
    [
        "B-PER O B_PER O I-PER I-PER",  # a mistake among usual tags
        "B-PER I-PER O O 0",  # another one
        "B-X I-X B-X I-X B-X few",  # rarer than a tag of what is no span
        "PER-B LOC-E O",  # no type has two prefixes
        "A B C D B",
        "E_X L_X O O",  # of no scheme
        "B_1 I_2 O",
        "NN-S NN VB-I VB 0",
        "O",
        "_ _",
    ],
)
def test_other_labels_are_in_no_other_notation(tags: str) -> None:
    assert notation_of(Counter(tags.split())) == USUAL


def test_dev_is_read_as_train_where_its_tags_fit() -> None:
    train = Notation("0", "_")
    assert notation_of(Counter(["0"] * 9), named=train) == train
    assert notation_of(Counter(["O"] * 9), named=train) == USUAL
    assert notation_of(Counter(["B-X", "O"]), named=train) == USUAL
    assert notation_of(Counter(["B/X", "I/X", "O"]), named=train) == Notation("O", "/")
    assert notation_of(Counter(["B-X", "0"]), "labels", train) == USUAL
    assert notation_of(Counter(["B-X", "0"]), named=USUAL) == USUAL
    assert notation_of(Counter(["X", "O"]), named=Notation("O", "")) == Notation("O", "")
