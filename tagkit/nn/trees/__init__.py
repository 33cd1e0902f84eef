"""Cells of recursive networks by name. A cell is a module here and a row of `TREES`."""

from collections.abc import Callable

from tagkit.nn.trees.cell import TreeCell
from tagkit.nn.trees.rntn import Rntn
from tagkit.nn.trees.tree_lstm import TreeLstm
from tagkit.nn.trees.tree_rnn import TreeRnn

# Number of inputs, and of hidden units -> a cell with fresh weights. The keys are the values that
# the configuration allows for `cell` beside those of `LAYERS`.
TREES: dict[str, Callable[[int, int], TreeCell]] = {
    "tree-rnn": TreeRnn,
    "rntn": Rntn,
    "tree-lstm": TreeLstm,
}
