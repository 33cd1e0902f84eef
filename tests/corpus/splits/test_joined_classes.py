"""Several classes in one cell are told from classes of their own."""

import pytest
from says import Says

from tagkit.corpus.splits.joined_classes import joined_classes, joined_problem


@pytest.mark.parametrize(
    ("classes", "joined"),
    [
        (["sport", "money", "sport,money"], ["sport,money"]),
        (["a", "b", "c", "a,b", "c, a,b"], ["a,b", "c, a,b"]),
        (["sport", "sport,money"], []),  # money does not stand alone
        (["Paris", "Paris, Texas", "Texas,"], []),
        (["a", "a,a"], []),
        ([",", "", ",,"], []),
        ([], []),
    ],
)
def test_a_class_of_others_with_commas_is_several(classes: list[str], joined: list[str]) -> None:
    assert joined_classes(classes) == joined


def test_it_is_said_how_many_there_are_with_an_example() -> None:
    assert joined_problem(["a,b"]) == (Says("1", "'a,b'", "consists"))
    assert joined_problem(["a,b", "b,c"]) == (Says("2", "'a,b'", "classes"))
