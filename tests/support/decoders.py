"""Small decoders of every kind, and their sources."""

from dataclasses import replace
from typing import Any

import torch

from tagkit.config import EncoderConfig
from tagkit.models.base.building import cell_options
from tagkit.nn.cells import CELLS
from tagkit.nn.decoder import NOT_COPIED
from tagkit.nn.decoder.attention import ATTENTIONS
from tagkit.nn.decoder.decoder import Decoder, DecoderOptions, Memory
from tagkit.nn.generation.step import State

UNITS, SIZE = 5, 4
MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]]).bool()
# Of a model of 5 units those behind them are symbols that no unit is.
COPIES = torch.tensor([[2, 3, UNITS + 2, 3], [NOT_COPIED, UNITS + 1, 0, 0], [4, 0, 0, 0]])

ROWS: list[dict[str, Any]] = [
    *({"cell": cell} for cell in CELLS),
    *({"cell": cell, "attention": "additive", "input_feeding": True} for cell in CELLS),
    *(
        {"attention": attention, "context": context, "input_feeding": feeding, "copy": copy}
        for attention in ATTENTIONS
        for context in ("initial", "every-step", "both")
        for feeding in (False, True)
        for copy in (False, True)
    ),
    {"context": "every-step"}, {"context": "both"}, {"input_feeding": True},
    *(
        {"end": end, "input_feeding": copy, "attention": attention, "copy": copy}
        for end in ("halt", "length")
        for attention, copy in (("additive", False), ("monotone", True))
    ),
    {"tied": True, "dim": SIZE - 1}, {"layers": 2, "attention": "dot", "context": "both"},
    {"hidden": SIZE + 1, "attention": "bilinear", "layers": 3, "cell": "gru"},
]  # fmt: skip


def decoder(seed: int = 0, **options: Any) -> Decoder:
    """A decoder of random weights, in float64."""
    torch.manual_seed(seed)
    usual = DecoderOptions(
        cell="elman", cell_options=cell_options(EncoderConfig()), units=UNITS, dim=3, memory=SIZE,
        hidden=SIZE, layers=1, context="initial", attention="none", input_feeding=False,
        copy=False, end="symbol", tied=False, dropout=0.0,
    )  # fmt: skip
    if options.get("cell") == "echo-state":
        options = {"hidden": 4 * SIZE, **options}
    built = Decoder(replace(usual, **options)).double()
    # Zeros at the beginning would hide what they multiply.
    for parameter in built.parameters():
        with torch.no_grad():
            parameter.add_(torch.randn_like(parameter) * 0.3 * parameter.requires_grad)
    return built


def begin(built: Decoder, known: Memory, rows: int = 1) -> State:
    """The state before the first step; where a length ends strings, of lengths from 4 on."""
    units = 4 + torch.arange(rows * len(known.final)) if built.length is not None else None
    return built.begin(known, rows, units)


def memory(built: Decoder, seed: int = 1) -> Memory:
    """What it knows of three sources, with padding that is not a number."""
    torch.manual_seed(seed)
    states = torch.randn(*MASK.shape, SIZE, dtype=torch.float64)
    states = states.masked_fill(~MASK.unsqueeze(2), torch.nan)
    return built.memory(states, torch.randn(len(MASK), SIZE, dtype=torch.float64), MASK, COPIES)
