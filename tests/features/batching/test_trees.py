"""Trees of two children a node: fixed ones by their length, and those of a parse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from says import refuses

from tagkit.errors import DataError
from tagkit.features.batching.trees import BinaryTree, tree_children, tree_of
from tagkit.text.records import Sentence
from tagkit.text.trees import Tree

FIXED = ("balanced", "left", "right")


def brackets(tree: BinaryTree, node: int | None = None) -> str:
    """The tree as words in brackets: a, b and so on."""
    if node is None:
        node = -len(tree.children) if tree.children else 0
    if node >= 0:
        return "abcdefg"[node]
    left, right = tree.children[-node - 1]
    return f"({brackets(tree, left)} {brackets(tree, right)})"


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("balanced", "(((a b) c) (d e))"),
        ("left", "((((a b) c) d) e)"),
        ("right", "(a (b (c (d e))))"),
    ],
)
def test_fixed_trees_are_those_of_the_page(shape: str, expected: str) -> None:
    assert brackets(tree_of(Sentence(tuple("abcde")), shape)) == expected
    assert brackets(tree_of(Sentence(("a",)), shape)) == "a"


@given(st.integers(1, 40), st.sampled_from(FIXED))
def test_each_node_comes_after_its_children_whose_words_are_its_own(words: int, shape: str) -> None:
    tree = tree_of(Sentence(("a",) * words), shape)
    for number, (left, right) in enumerate(tree.children, 1):
        assert min(left, right) > -number
        assert tree.span(left)[1] == tree.span(right)[0]
        assert (tree.span(left)[0], tree.span(right)[1]) == tree.span(-number)
    nodes = tree.after_children()
    assert Tree(tuple(map(tree.span, nodes)), ("",) * len(nodes)).is_over(words)


def test_a_parse_is_read_from_the_left_and_chains_are_one_node() -> None:
    # (a ((b c)) d e), with a chain above b c
    spans = ((0, 1), (1, 2), (2, 3), (1, 3), (1, 3), (3, 4), (4, 5), (0, 5))
    sentence = Sentence(tuple("abcde"), tree=Tree(spans, ("",) * len(spans)))
    tree = tree_of(sentence, "parse")
    assert brackets(tree) == "(((a (b c)) d) e)"
    assert tree.spans == ((1, 3), (0, 3), (0, 4), (0, 5))
    assert tree_children([sentence], "parse").tolist() == [
        [0, 0], [1, 2], [0, -1], [-2, 3], [-3, 4],
    ]  # fmt: skip


def test_a_text_without_a_parse_is_refused_by_its_words() -> None:
    with refuses(DataError, "'a film'", "encoder.tree=balanced"):
        tree_children([Sentence(("a", "film"))], "parse")
