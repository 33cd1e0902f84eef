"""What a recursive network computes at a leaf of a tree, and at a node of two children."""

from torch import Tensor, nn


class TreeCell(nn.Module):
    """A cell: what a node passes on to its parent is a row of values, which begins with its state.

    Attributes:
        hidden: values of a state.
        values: of what is passed on.
    """

    def __init__(self, hidden: int, values: int) -> None:
        """`values` of what a node passes on, of which the first `hidden` ones are its state."""
        super().__init__()
        self.hidden = hidden
        self.values = values

    def leaf(self, inputs: Tensor) -> Tensor:
        """Vectors of words, (nodes, inputs) -> (nodes, values)."""
        raise NotImplementedError

    def join(self, children: Tensor) -> Tensor:
        """What left and right child have passed on, (nodes, 2, values) -> (nodes, values)."""
        raise NotImplementedError
