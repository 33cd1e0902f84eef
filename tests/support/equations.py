"""A cell's network with random weights and biases, and its states by a loop of NumPy."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from tagkit.nn.cells import CELLS
from tagkit.nn.cells.cell import Cell
from tagkit.nn.encoder import RecurrentLayer

Array = npt.NDArray[np.float32]
# W x + b, U h + b', and the cell's memory -> h and the memory after it
Step = Callable[[Array, Array, Array], tuple[Array, Array]]

INPUTS, HIDDEN = 3, 4


def sigmoid(scores: Array) -> Array:
    return 1 / (1 + np.exp(-scores))


def check_equation(cell: Cell, step: Step) -> None:
    """Compare a layer's states, and those of cached inference, with the cell's equations."""
    from tagkit.nn.inference import layer_reader, read_layer_cached

    torch.manual_seed(2)
    (name,) = (name for name, row in CELLS.items() if row is cell)
    layer = RecurrentLayer(
        cell=name, inputs=INPUTS, hidden=HIDDEN, bidirectional=False, merge="concat", segment=0
    )
    with torch.no_grad():
        for parameter in layer.parameters():  # biases that are not zero
            nn.init.normal_(parameter)
        inputs, mask = torch.randn(2, 6, INPUTS), torch.ones(2, 6, dtype=torch.bool)
        reader = layer_reader(layer, "fp32")
        table, rows = reader.project(inputs.flatten(0, 1), 0), torch.arange(12).view(2, 6)
        cached, _ = read_layer_cached(layer, reader, [table], [rows], mask)
        states = layer(inputs, mask)
    w, u, b_w, b_u = (
        layer.forwards.get_parameter(f"{part}_l0").detach().numpy()
        for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    for row in range(2):
        state = memory = np.zeros(HIDDEN, dtype=np.float32)
        for t in range(6):
            state, memory = step(w @ inputs[row, t].numpy() + b_w, u @ state + b_u, memory)
            for found in (states, cached):
                np.testing.assert_allclose(found[row, t].numpy(), state, rtol=1e-4, atol=1e-5)
