"""Scores of the classes of a tree's nodes, as Socher et al. 2013 report them.

Of the five classes of sentiment, binary figures are of gold nodes that are not neutral: 0 and 1 are
one side, 3 and 4 the other. A prediction of the neutral class is wrong there, so that a model of
two classes (`data.tree_labels`) is compared to its advantage.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tagkit.text.json_text import Record
from tagkit.text.trees import Tree

_SIDES = {"0": "negative", "1": "negative", "2": "", "3": "positive", "4": "positive"}


@dataclass(frozen=True, slots=True)
class NodeScores(Record):
    """Shares of nodes whose class is right, 0 to 1.

    Attributes:
        nodes: number of gold nodes with a class, words and roots among them.
        accuracy: of these.
        binary_texts: number of roots that are not neutral; 0 unless the classes are 0 to 4.
        binary_accuracy: of these; None where there are none.
        binary_nodes: number of nodes that are not neutral, likewise.
        binary_nodes_accuracy: of these.
    """

    nodes: int
    accuracy: float
    binary_texts: int
    binary_accuracy: float | None
    binary_nodes: int
    binary_nodes_accuracy: float | None


def score_nodes(gold: Sequence[Tree | None], predicted: Sequence[Tree | None]) -> NodeScores | None:
    """Scores of the nodes of texts; None unless each text has the same tree on both sides."""
    pairs: list[tuple[str, str]] = []
    roots: list[tuple[str, str]] = []
    for ours, theirs in zip(gold, predicted, strict=True):
        if ours is None or theirs is None or ours.spans != theirs.spans:
            return None
        nodes = [*zip(ours.labels, theirs.labels, strict=True)]
        pairs += (pair for pair in nodes if pair[0])
        roots += (pair for pair in nodes[-1:] if pair[0])
    if not pairs:
        return None
    accuracy = sum(a == b for a, b in pairs) / len(pairs)
    is_fine = {label for label, _ in pairs} <= _SIDES.keys()
    texts, nodes_right = (_binary(each if is_fine else ()) for each in (roots, pairs))
    return NodeScores(len(pairs), accuracy, *texts, *nodes_right)


def _binary(pairs: Iterable[tuple[str, str]]) -> tuple[int, float | None]:
    sided = [(_SIDES[a], _SIDES.get(b, "")) for a, b in pairs if _SIDES[a]]
    return len(sided), sum(a == b for a, b in sided) / len(sided) if sided else None
