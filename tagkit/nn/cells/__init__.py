"""Recurrent cells by name. A cell is a module here, or its variant in one, and a row of `CELLS`."""

from tagkit.nn.cells.clockwork import CLOCKWORK
from tagkit.nn.cells.deep_transition import DEEP_TRANSITION
from tagkit.nn.cells.echo_state import ECHO_STATE
from tagkit.nn.cells.elman import ELMAN
from tagkit.nn.cells.gru import GRU, GRU_RESET_BEFORE
from tagkit.nn.cells.leaky import LEAKY
from tagkit.nn.cells.lstm import LSTM, PEEPHOLE_LSTM
from tagkit.nn.cells.ntm import NTM
from tagkit.nn.cells.output_feedback import OUTPUT_FEEDBACK
from tagkit.nn.cells.recurrent_highway import RECURRENT_HIGHWAY
from tagkit.nn.cells.skip import SKIP, SKIP_LSTM
from tagkit.nn.cells.sru import SRU
from tagkit.nn.recurrence.cell import Cell

# The keys are the values that the configuration allows for `cell`.
CELLS: dict[str, Cell] = {
    "lstm": LSTM,
    "gru": GRU,
    "elman": ELMAN,
    "lstm-peephole": PEEPHOLE_LSTM,
    "gru-reset-before": GRU_RESET_BEFORE,
    "leaky": LEAKY,
    "skip": SKIP,
    "skip-lstm": SKIP_LSTM,
    "clockwork": CLOCKWORK,
    "output-feedback": OUTPUT_FEEDBACK,
    "echo-state": ECHO_STATE,
    "sru": SRU,
    "deep-transition": DEEP_TRANSITION,
    "recurrent-highway": RECURRENT_HIGHWAY,
    "ntm": NTM,
}
