"""Trees over words: which spans are one, and what follows from their order."""

import pytest

from tagkit.text.trees import Tree

SPANS = ((0, 1), (1, 2), (2, 3), (1, 3), (1, 3), (3, 4), (0, 4))  # a ((b c)) d, of three children
TREE = Tree(SPANS, ("a", "b", "c", "bc", "top", "d", "all"))


def test_a_fold_gives_each_node_its_children_from_left_to_right() -> None:
    def join(node: int, parts: list[str]) -> str:
        return f"({TREE.labels[node]} {' '.join(parts)})"

    folded = TREE.folded(["A", "B", "C", "D"], join)
    assert folded == "(all (a A) (top (bc (b B) (c C))) (d D))"


def test_of_nodes_with_the_same_words_the_topmost_one_counts() -> None:
    assert TREE.by_span()[1, 3] == "top"


def test_depths_are_counted_from_the_root() -> None:
    assert TREE.depths() == [1, 3, 3, 2, 1, 1, 0]


@pytest.mark.parametrize(
    ("spans", "words"),
    [
        (SPANS, 3),  # of more words
        (SPANS[:-1], 4),  # without a root
        (SPANS[1:], 4),  # without the first word's node
        (((0, 1), (1, 2), (2, 3), (0, 2), (1, 3), (0, 3)), 3),  # that cross
        ((SPANS[-1], *SPANS[:-1]), 4),  # the parent first
        ((), 0),
    ],
)
def test_what_is_no_tree_over_so_many_words(spans: tuple[tuple[int, int], ...], words: int) -> None:
    assert TREE.is_over(4)
    assert not Tree(spans, ("",) * len(spans)).is_over(words)
    assert not Tree(SPANS, ("",)).is_over(4)
