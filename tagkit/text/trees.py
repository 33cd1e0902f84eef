"""Trees over the words of a text, with a label at each node."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tagkit.text.json_text import Record

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Tree(Record):
    """Nodes of any number of children, each after its own children: the root is the last.

    Attributes:
        spans: first word of each node, and the word after its last one. They are nested, and with
            the order say which nodes are whose children.
        labels: class of each node; empty of one that has none.
        probabilities: of these, 0 to 1; None of gold ones.
    """

    spans: tuple[tuple[int, int], ...]
    labels: tuple[str, ...]
    probabilities: tuple[float, ...] | None = None

    def by_span(self) -> dict[tuple[int, int], str]:
        """The label of each stretch of words; of nodes with the same words the topmost one's."""
        return dict(zip(self.spans, self.labels, strict=True))  # which is the last

    def is_over(self, words: int) -> bool:
        """Whether it is a tree over so many words, each of which is a node of its own."""
        first, done = list[int](), 0  # words that nodes without a parent so far begin with
        for start, end in self.spans:
            if start == done and end == done + 1:
                first.append(start)
                done = end
            elif end == done and start in first:
                del first[first.index(start) + 1 :]
            else:
                return False
        return first == [0] and done == words and len(self.labels) == len(self.spans)

    def folded(self, words: Sequence[Part], join: Callable[[int, list[Part]], Part]) -> Part:
        """What `join` makes of the root.

        Args:
            words: a part for each.
            join: of the number of a node, and the parts of its children, from left to right; that
                of a word's own node is the word's.
        """
        # With a stack of its own: a tree may be deeper than Python calls go.
        waiting: list[tuple[int, Part]] = []  # first word and part of nodes without a parent so far
        done = 0
        for number, (start, end) in enumerate(self.spans):
            if end > done:  # the node of a word
                waiting.append((start, words[start]))
                done = end
            at = len(waiting)
            while at and waiting[at - 1][0] >= start:
                at -= 1
            waiting[at:] = [(start, join(number, [part for _, part in waiting[at:]]))]
        return waiting[-1][1]

    def depths(self) -> list[int]:
        """Of each node how many are above it."""
        depths, above = list[int](), list[int]()  # `above`: first words of the nodes that are open
        for start, end in reversed(self.spans):  # parents before children, from right to left
            while above and end <= above[-1]:
                above.pop()
            depths.append(len(above))
            above.append(start)
        return depths[::-1]
