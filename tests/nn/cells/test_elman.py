"""The Elman network against its equation."""

import numpy as np
from equations import Array, check_equation

from tagkit.nn.cells.elman import ELMAN


def test_states_are_those_of_the_equation() -> None:
    def step(given: Array, product: Array, memory: Array) -> tuple[Array, Array]:
        return np.tanh(given + product), memory

    check_equation(ELMAN, step)
