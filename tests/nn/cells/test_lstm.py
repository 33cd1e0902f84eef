"""The LSTM's gates: which of them begins open."""

from cell_options import CELL_OPTIONS

from tagkit.nn.cells.lstm import LSTM


def test_the_forget_gate_alone_begins_open() -> None:
    network = LSTM.build(3, 2, CELL_OPTIONS)
    # torch's order: input, forget, cell, output
    assert network.get_parameter("bias_ih_l0").tolist() == [0, 0, 1, 1, 0, 0, 0, 0]
    assert not network.get_parameter("bias_hh_l0").any()
