"""Trees of two children a node, as recursive networks read them.

A tree over n words has n - 1 inner nodes, which are numbered from 1 on, children before their
parents; -k stands for inner node k, and a number from 0 on for a word. Goodfellow, Bengio and
Courville, section 10.6: a tree may be fixed, whatever the text, or be that of a parser.

    balanced    ((a b) c) (d e)     halves, of which the left one has the word more
    left        (((a b) c) d) e     what has been read so far, and the next word
    right       a (b (c (d e)))
    parse       that of the corpus: a node of one child is that child, and of more than two the
                first two come together, then these and the third, and so on
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np

from tagkit.errors import DataError
from tagkit.features import Ids
from tagkit.text.records import Sentence
from tagkit.text.trees import Tree
from tagkit.wording import quoted

Place = tuple[int, int]
PARSE = "parse"
_KEPT = 2_000  # fixed trees of so many lengths are made once


@dataclass(frozen=True, slots=True)
class BinaryTree:
    """A tree of two children a node.

    Attributes:
        children: of each inner node, from number 1 on, the left and the right child.
        spans: first word of each inner node, and the word after its last one.
    """

    children: tuple[Place, ...]
    spans: tuple[Place, ...]

    def after_children(self) -> list[int]:
        """All nodes in the order of `Tree`: each, words too, right after its own children."""
        # By its last word; of those with the same one the shortest first, which is a word itself.
        inner = {-number: span for number, span in enumerate(self.spans, 1)}
        words = {at: (at, at + 1) for at in range(len(inner) + 1)}
        spans = words | inner
        return sorted(spans, key=lambda node: (spans[node][1], -spans[node][0]))

    def span(self, node: int) -> Place:
        """The words of a node: the first, and the one after the last."""
        return (node, node + 1) if node >= 0 else self.spans[-node - 1]


def tree_of(sentence: Sentence, shape: str) -> BinaryTree:
    """The tree that is read of a text.

    Args:
        sentence: with a tree where the shape is "parse".
        shape: "parse", "balanced", "left" or "right".

    Raises:
        DataError: the parse is wanted, and the text has none.
    """
    if shape != PARSE:
        return _fixed(len(sentence), shape)
    if sentence.tree is None:
        shown = quoted(" ".join(sentence.words), 40)
        raise DataError(
            f"the text {shown} has no parse, which a model with encoder.tree = 'parse' reads: give "
            "trees in brackets (format trees), or train with encoder.tree=balanced"
        )
    return _of_parse(sentence.tree, len(sentence))


def _of_parse(tree: Tree, words: int) -> BinaryTree:
    children: list[Place] = []
    spans: list[Place] = []

    def join(node: int, parts: list[int]) -> int:
        start = tree.spans[node][0]
        first, *others = parts
        for part in others:
            children.append((first, part))
            spans.append((start, part + 1 if part >= 0 else spans[-part - 1][1]))
            first = -len(children)
        return first

    tree.folded(range(words), join)
    return BinaryTree(tuple(children), tuple(spans))


@lru_cache(_KEPT)
def _fixed(words: int, shape: str) -> BinaryTree:
    """A tree that depends on the number of words alone."""

    def cut(start: int, end: int) -> int:  # where a stretch of two words and more is divided
        middle = {"balanced": (start + end + 1) // 2, "left": end - 1, "right": start + 1}
        return middle[shape]

    spans = [(0, words)] if words > 1 else []
    for start, end in spans:  # which grows
        middle = cut(start, end)
        spans += [each for each in ((start, middle), (middle, end)) if each[1] - each[0] > 1]
    spans.sort(key=lambda span: (span[1], -span[0]))  # children before their parents
    number = {span: -at for at, span in enumerate(spans, 1)}
    children = []
    for start, end in spans:
        middle = cut(start, end)
        children.append((number.get((start, middle), start), number.get((middle, end), middle)))
    return BinaryTree(tuple(children), tuple(spans))


def tree_children(sentences: Sequence[Sentence], shape: str) -> Ids:
    """(tokens, 2): beside each word but the first, the children of an inner node of its text.

    Raises:
        DataError: as of `tree_of`.
    """
    trees = (((0, 0), *tree_of(sentence, shape).children) for sentence in sentences)
    found = np.fromiter(chain.from_iterable(chain.from_iterable(trees)), np.int64)
    return found.reshape(-1, 2)
