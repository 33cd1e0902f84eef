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
