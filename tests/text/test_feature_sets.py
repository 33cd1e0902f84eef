"""FEATS taken apart and put together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagkit.text.feature_sets import attributes_of, features_of, order_of

NAMES = st.text(st.characters(exclude_characters="|=", exclude_categories=["Cs"]), min_size=1)
VALUES = st.text(st.characters(exclude_characters="|", exclude_categories=["Cs"]))
PAIRS = st.dictionaries(NAMES, VALUES, min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("_", {}),
        ("Case=Nom|Number=Sing", {"Case": "=Nom", "Number": "=Sing"}),
        ("Number[psor]=Plur|PronType=Int,Rel", {"Number[psor]": "=Plur", "PronType": "=Int,Rel"}),
        ("nom|sg", {"nom": "", "sg": ""}),
        ("A=|A", {"A": "=|A"}),
    ],
)
def test_a_value_is_its_attributes(text: str, expected: dict[str, str]) -> None:
    assert attributes_of(text) == expected
    assert features_of(expected, order_of([text])) == text


@given(PAIRS)
def test_the_attributes_of_a_value_give_it_back(pairs: dict[str, str]) -> None:
    text = "|".join(f"{name}={value}" for name, value in pairs.items())
    found = attributes_of(text)
    if text != "_":
        assert found == {name: f"={value}" for name, value in pairs.items()}
        assert features_of(found, order_of([text])) == text


@given(st.lists(st.sampled_from("abcdefgh"), unique=True, min_size=1), st.data())
def test_the_order_is_that_of_the_treebank(names: list[str], data: st.DataObject) -> None:
    # Any values whose attributes stand in one order, which need not be that of the alphabet.
    texts = []
    for _ in range(4):
        chosen = data.draw(st.sets(st.sampled_from(names)))
        texts.append("|".join(f"{name}=1" for name in names if name in chosen) or "_")
    order = order_of(texts)
    for text in texts:
        assert features_of(attributes_of(text), order) == text


def test_attributes_that_are_never_together_are_sorted_by_name_without_regard_to_case() -> None:
    assert order_of(["b=1", "C=1", "a=1|D=1"]) == ("a", "b", "C", "D")


def test_an_order_that_varies_is_that_of_the_names() -> None:
    assert order_of(["B=1|a=1", "a=1|B=1|c=1"]) == ("a", "B", "c")
