"""Recursive network: one layer of two children's states (Goodfellow, Bengio and Courville, 10.6).

    h = tanh(L x + a)               of a word's vector x
    h = tanh(W [h_l; h_r] + b)      of the states of the left and the right child

(Socher et al. 2011; Socher et al. 2013, section 4.1.)
"""

import torch
from torch import Tensor

from tagkit.nn.recurrence.weights import fresh_linear
from tagkit.nn.trees.cell import TreeCell


class TreeRnn(TreeCell):
    """h = tanh(W [h_l; h_r] + b)."""

    def __init__(self, inputs: int, hidden: int) -> None:
        """`inputs` values of a word's vector, `hidden` ones of a state."""
        super().__init__(hidden, hidden)
        self.words = fresh_linear(inputs, hidden)
        self.pair = fresh_linear(2 * hidden, hidden)
        # A node begins near the mean of its children, so that a gradient reaches deep leaves.
        with torch.no_grad():
            for half in self.pair.weight.chunk(2, dim=1):  # (hidden, hidden) of each child
                half.mul_(0.5).add_(torch.eye(hidden), alpha=0.5)

    def leaf(self, inputs: Tensor) -> Tensor:
        """As described in `TreeCell`."""
        return torch.tanh(self.words(inputs))

    def join(self, children: Tensor) -> Tensor:
        """As described in `TreeCell`."""
        return torch.tanh(self.scores(children.flatten(1)))

    def scores(self, both: Tensor) -> Tensor:
        """(nodes, 2 hidden), the children's states side by side -> (nodes, hidden), before tanh."""
        found: Tensor = self.pair(both)
        return found
