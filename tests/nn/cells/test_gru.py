"""The GRU against its equations."""

import numpy as np
from equations import HIDDEN, Array, check_equation, sigmoid

from tagkit.nn.cells.gru import GRU


def test_states_are_those_of_the_equations() -> None:
    def step(given: Array, product: Array, memory: Array) -> tuple[Array, Array]:
        reset, update = (
            sigmoid(given[part] + product[part])
            for part in (slice(0, HIDDEN), slice(HIDDEN, 2 * HIDDEN))
        )
        new = np.tanh(given[2 * HIDDEN :] + reset * product[2 * HIDDEN :])
        state = (1 - update) * new + update * memory
        return state, state  # what the loop carries as the memory is h itself

    check_equation(GRU, step)
