"""Binary Tree-LSTM (Tai, Socher and Manning 2015, section 3.2, eqs. 9-14, with N = 2).

    of a word's vector x                 of the children's h and c, left and right
    i = sigmoid(W_i x + b_i)             i = sigmoid(U_i [h_l; h_r] + b_i)
    o = sigmoid(W_o x + b_o)             o = sigmoid(U_o [h_l; h_r] + b_o)
    u = tanh(W_u x + b_u)                u = tanh(U_u [h_l; h_r] + b_u)
                                         f_l = sigmoid(U_l [h_l; h_r] + b_f)
                                         f_r = sigmoid(U_r [h_l; h_r] + b_f)
    c = i u                              c = i u + f_l c_l + f_r c_r
    h = o tanh(c)                        h = o tanh(c)

As in a constituency tree there, words are at the leaves alone: a leaf has no children, and an inner
node no x. The biases are those of both.
"""

import torch
from torch import Tensor, nn

from tagkit.nn.recurrence.weights import fresh_linear
from tagkit.nn.trees.cell import TreeCell


class TreeLstm(TreeCell):
    """A memory cell at each node, and a forget gate for each child."""

    def __init__(self, inputs: int, hidden: int) -> None:
        """`inputs` values of a word's vector, `hidden` ones of a state."""
        super().__init__(hidden, 2 * hidden)  # [h; c]
        self.words = fresh_linear(inputs, hidden, 3)  # i, o, u, with their biases
        self.pair = nn.Parameter(torch.empty(5 * hidden, 2 * hidden))  # i, o, u, f_l, f_r
        # A forget gate that starts open lets gradients through, as that of `lstm`.
        self.forget_bias = nn.Parameter(torch.ones(hidden))
        with torch.no_grad():
            for gate in self.pair.chunk(5):
                for child in gate.chunk(2, dim=1):  # (hidden, hidden)
                    nn.init.orthogonal_(child)

    def leaf(self, inputs: Tensor) -> Tensor:
        """As described in `TreeCell`."""
        i, o, u = self.words(inputs).chunk(3, dim=1)
        return _passed_on(torch.sigmoid(i) * torch.tanh(u), o)

    def join(self, children: Tensor) -> Tensor:
        """As described in `TreeCell`."""
        # (nodes, 2, 2 hidden) -> (nodes, 2 hidden), and two of (nodes, hidden)
        states, memories = children.chunk(2, dim=2)
        left, right = memories.unbind(1)
        bias = torch.cat((self.words.bias, self.forget_bias, self.forget_bias))
        gates = nn.functional.linear(states.flatten(1), self.pair, bias)
        i, o, u, forget_left, forget_right = gates.chunk(5, dim=1)
        kept = torch.sigmoid(forget_left) * left + torch.sigmoid(forget_right) * right
        return _passed_on(torch.sigmoid(i) * torch.tanh(u) + kept, o)


def _passed_on(memory: Tensor, output: Tensor) -> Tensor:
    """[h; c], (nodes, 2 hidden), of c and the output gate before its sigmoid."""
    return torch.cat((torch.sigmoid(output) * torch.tanh(memory), memory), dim=1)
