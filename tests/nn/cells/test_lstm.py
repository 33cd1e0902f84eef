"""The LSTM against its equations."""

import numpy as np
from equations import Array, check_equation, sigmoid

from tagkit.nn.cells.lstm import LSTM


def test_states_are_those_of_the_equations() -> None:
    def step(given: Array, product: Array, memory: Array) -> tuple[Array, Array]:
        entry, forget, new, out = np.split(given + product, 4)  # torch's order
        memory = sigmoid(forget) * memory + sigmoid(entry) * np.tanh(new)
        return sigmoid(out) * np.tanh(memory), memory

    check_equation(LSTM, step)


def test_the_forget_gate_alone_begins_open() -> None:
    network = LSTM.build(3, 2)
    # torch's order: input, forget, cell, output
    assert network.get_parameter("bias_ih_l0").tolist() == [0, 0, 1, 1, 0, 0, 0, 0]
    assert not network.get_parameter("bias_hh_l0").any()
