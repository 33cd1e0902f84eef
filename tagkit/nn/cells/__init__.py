"""Recurrent cells by name. A cell is one module here and one row of `CELLS`."""

from tagkit.nn.cells.cell import Cell
from tagkit.nn.cells.elman import ELMAN
from tagkit.nn.cells.gru import GRU
from tagkit.nn.cells.lstm import LSTM

# The keys are the values that the configuration allows for `cell` and `char_cell`.
CELLS: dict[str, Cell] = {"lstm": LSTM, "gru": GRU, "elman": ELMAN}
