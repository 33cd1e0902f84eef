"""Every cell of the table with its options: the cases that the laws of cells run over."""

from dataclasses import replace
from typing import Any

import torch
from marks import mostly_slow
from torch import Tensor

from tagkit.config import EncoderConfig
from tagkit.models.base.building import cell_options
from tagkit.nn.cells import CELLS
from tagkit.nn.recurrence.cell import CellOptions, Network

CELL_OPTIONS = cell_options(EncoderConfig())  # the defaults

_CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "elman, relu": ("elman", {"activation": "relu"}),
    "leaky, 0.3": ("leaky", {"leak": 0.3}),
    "leaky, learned": ("leaky", {"leak": "learned"}),
    "skip, 2": ("skip", {"skip": (2,)}),
    "skip, 4 and 2, relu": ("skip", {"skip": (4, 2), "activation": "relu"}),
    "skip-lstm, 2 and 3": ("skip-lstm", {"skip": (2, 3)}),
    "leaky, 2 groups, relu": ("leaky", {"leak": (1.0, 0.2), "activation": "relu"}),
    "clockwork, relu": ("clockwork", {"activation": "relu"}),
    "output-feedback, relu": ("output-feedback", {"activation": "relu"}),
    "deep-transition, relu": ("deep-transition", {"activation": "relu"}),
    "clockwork, 1 and 3": ("clockwork", {"periods": (1, 3)}),
    "echo-state, 0.5": (
        "echo-state", {"leak": 0.5, "spectral_radius": 1.5},
    ),
    "deep-transition, 3": ("deep-transition", {"transition_layers": 3}),
    "deep-transition, 2, no skip": ("deep-transition", {"transition_skip": False}),
    "deep-transition, 4": ("deep-transition", {"transition_layers": 4}),
    "deep-transition, 4, no skip": (
        "deep-transition", {"transition_layers": 4, "transition_skip": False},
    ),
    "recurrent-highway, 3": ("recurrent-highway", {"transition_layers": 3}),
    "echo-state, learned": ("echo-state", {"leak": "learned"}),
    "ntm, one head": ("ntm", {"heads": 1, "memory": (5, 3)}),
    "ntm, one slot": ("ntm", {"heads": 2, "memory": (1, 1)}),
}  # fmt: skip
# Name of a case -> name of the cell, and its options. Each cell's own name is it with the defaults.
CASES: dict[str, tuple[str, CellOptions]] = {name: (name, CELL_OPTIONS) for name in CELLS} | {
    case: (cell, replace(CELL_OPTIONS, **changes)) for case, (cell, changes) in _CHANGES.items()
}

# For laws of what is around a cell, with one of each kind in every build: torch's networks, and the
# one of the loop that carries more than states. The others follow with the slow tests.
_ALWAYS = ("lstm", "gru", "elman", "clockwork")
MOSTLY_SLOW = mostly_slow(sorted(CASES, key=lambda case: case not in _ALWAYS), always=len(_ALWAYS))
# What reaches a state can be told from a difference: a rectified unit below 0 passes none on.
MOSTLY_SLOW_SMOOTH = [case for case in MOSTLY_SLOW if not case.values[0].endswith("relu")]

# Those that cached inference reads: the states of an NTM depend on more than products and sums.
CACHED = [case for case in CASES if not case.startswith("ntm")]
MOSTLY_SLOW_CACHED = [case for case in MOSTLY_SLOW if case.values[0] in CACHED]


def network_of(case: str, inputs: int, hidden: int) -> Network:
    """A case's network with fresh weights."""
    cell, options = CASES[case]
    return CELLS[cell].build(inputs, hidden, options)


def state_tensors(state: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (state,) if isinstance(state, torch.Tensor) else state


def cell_of(case: str) -> Any:
    """A case as the arguments `cell` and `options` of a layer."""
    cell, options = CASES[case]
    return {"cell": cell, "options": options}
