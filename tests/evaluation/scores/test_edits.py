"""The edit distance against its definition."""

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from tagkit.evaluation.scores.edits import edit_distance

SHORT = st.text(alphabet="abc", max_size=6)


@cache
def by_definition(left: str, right: str) -> int:
    """Jurafsky and Martin: the least of a deletion, an insertion and a substitution."""
    if not left or not right:
        return len(left) + len(right)
    return min(
        by_definition(left[1:], right) + 1,
        by_definition(left, right[1:]) + 1,
        by_definition(left[1:], right[1:]) + (left[0] != right[0]),
    )


@given(SHORT, SHORT)
def test_it_is_the_least_of_all_ways(left: str, right: str) -> None:
    assert edit_distance(left, right) == by_definition(left, right)
    assert edit_distance(right, left) == edit_distance(tuple(left), list(right))


def test_the_textbooks_example_has_its_number() -> None:
    # "intention" and "execution", with substitutions of cost 1
    assert edit_distance("intention", "execution") == 5
