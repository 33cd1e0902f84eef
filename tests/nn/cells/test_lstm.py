"""The LSTM's gates: which of them begins open; and its steps in NumPy, of one sequence."""

import numpy as np
import pytest
from cell_options import CELL_OPTIONS

from tagkit.nn.cells.lstm import LSTM, read_packed


def test_the_forget_gate_alone_begins_open() -> None:
    network = LSTM.build(3, 2, CELL_OPTIONS)
    # torch's order: input, forget, cell, output
    assert network.get_parameter("bias_ih_l0").tolist() == [0, 0, 1, 1, 0, 0, 0, 0]
    assert not network.get_parameter("bias_hh_l0").any()


@pytest.mark.parametrize("scale", [0.3, 30.0])
def test_one_sequence_by_itself_has_the_states_that_it_has_beside_another(scale: float) -> None:
    dice = np.random.default_rng(1)
    inputs, recurrent = (
        (scale * dice.standard_normal(shape)).astype(np.float32)
        for shape in ((7, 2, 12), (2, 3, 12))
    )
    both = np.empty((7, 2, 3), np.float32)
    read_packed(inputs, [1] * 7, [recurrent], [], both)
    for direction in range(2):
        part = slice(direction, direction + 1)
        alone = np.empty((7, 1, 3), np.float32)
        read_packed(inputs[:, part].copy(), [1] * 7, [recurrent[part]], [], alone)
        np.testing.assert_allclose(alone, both[:, part], rtol=1e-6, atol=1e-6)
