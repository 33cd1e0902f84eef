"""Scores of nodes, counted by hand."""

from tagkit.evaluation.scores.node_scores import NodeScores, score_nodes
from tagkit.text.trees import Tree

SPANS = ((0, 1), (1, 2), (0, 2))


def tree(*labels: str) -> Tree:
    return Tree(SPANS, labels)


def test_fine_and_binary_figures_are_those_counted_by_hand() -> None:
    gold = [tree("2", "4", "3"), tree("0", "2", "2"), tree("1", "3", "0")]
    found = [tree("2", "3", "3"), tree("1", "2", "3"), tree("2", "1", "1")]
    # Right as they are: 2, 3, 2. Sides: 4/3 and 3/3, 0/1, then 1/2 wrong, 3/1 wrong, 0/1.
    assert score_nodes(gold, found) == NodeScores(9, 3 / 9, 2, 2 / 2, 6, 4 / 6)


def test_nodes_without_a_class_do_not_count_and_other_classes_have_no_sides() -> None:
    gold, found = [tree("", "positive", "negative")], [tree("negative", "positive", "positive")]
    assert score_nodes(gold, found) == NodeScores(2, 1 / 2, 0, None, 0, None)


def test_there_are_none_of_other_trees() -> None:
    other = Tree(((0, 1), (1, 2), (2, 3), (0, 2), (0, 3)), ("",) * 5)
    assert score_nodes([tree("2", "2", "2")], [other]) is None
    assert score_nodes([None], [tree("2", "2", "2")]) is None
