"""Cached inference: recurrent layers over cached input projections.

A layer's input product W x[t] is the same for every token of a word. In prediction, where nothing
is dropped, it is computed once for each distinct word, and the layer reads sums of such rows: the
word's and each feature's, as W [x; x'] = W_1 x + W_2 x'. What remains for each token is the
recurrent product, two fifths of an LSTM's arithmetic at the usual sizes. Both directions run as one
batch. With 64 sentences of 24 words a layer of 2 x 100 units read 310,000 tokens a second in this
way, and 187,000 with torch's own layer (one core, projections cached before); with few sentences
torch's own layer is faster.

The states are those of `encoder.py`, up to rounding; only the speed differs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tagkit.nn.cells import CELLS
from tagkit.nn.cells.cell import StepInputs
from tagkit.nn.encoder import Encoder, RecurrentLayer
from tagkit.nn.padding import reverse_each
from tagkit.nn.products import PRODUCTS

# Sentences, or words, from which on cached projections are faster than torch's own layers on a CPU.
SMALLEST_BATCH = 16

PRECISIONS = tuple(PRODUCTS)


class RowReader:
    """The weights of a layer's directions, laid out for reading rows of tables.

    They are copies: a reader has the weights that the layer had when it was made.
    """

    def __init__(self, cell: str, directions: Sequence[nn.RNNBase], precision: str) -> None:
        """`directions` are one-way networks of that cell and of one size.

        `precision`, one of `PRECISIONS`, is that of the recurrent product; all else is fp32.
        """
        row = CELLS[cell]
        self._read = row.read
        self.precision = precision
        with torch.no_grad():
            # W of each direction, (gates x hidden, inputs), is weight_ih in torch; U is weight_hh.
            inputs = [row.arrange(one.get_parameter("weight_ih_l0")) for one in directions]
            # (directions, gates x hidden, inputs) -> (inputs, directions x gates x hidden): one
            # product of a word's vector gives the gates of both directions.
            self._weight = torch.stack(inputs).flatten(0, 1).t().contiguous()
            biases = [
                row.biases(one.get_parameter("bias_ih_l0"), one.get_parameter("bias_hh_l0"))
                for one in directions
            ]
            # (directions x gates x hidden,)
            self._bias = torch.cat([row.arrange(bias) for bias, _ in biases])
            # (directions, 1, hidden), or (directions, 1, 0) where the cell has none
            self._hidden_bias = torch.stack([bias for _, bias in biases]).unsqueeze(1)
            # (gates x hidden, hidden) of each -> (directions, hidden, gates x hidden)
            recurrent = [row.arrange(one.get_parameter("weight_hh_l0")).t() for one in directions]
            weights = torch.stack(recurrent).contiguous()
            self._recurrent = PRODUCTS[precision](weights, bounded=row.bounded)
        self.directions = len(directions)
        self.outputs = self._weight.shape[1]  # directions x gates x hidden

    def project(self, vectors: Tensor, first: int, out: Tensor | None = None) -> Tensor:
        """The part of the input products that comes from some of the inputs.

        The bias is in the part with the first input: in a sum of parts it is once.

        Args:
            vectors: (rows, width) values of the inputs `first` to `first + width - 1`.
            first: number of the first of these inputs.
            out: (rows, outputs) where the result is written; None for a new tensor.

        Returns:
            (rows, outputs).
        """
        # The weights of these inputs alone, (width, outputs).
        weight = self._weight[first : first + vectors.shape[1]]
        # (rows, width) @ (width, outputs) -> (rows, outputs)
        if first:
            return torch.mm(vectors, weight, out=out)
        return torch.addmm(self._bias, vectors, weight, out=out)

    def read(
        self, projected: Sequence[Tensor], rows: Sequence[Tensor], reversed_rows: Sequence[Tensor]
    ) -> list[Tensor]:
        """States of each direction, in its own reading order.

        Args:
            projected: tables from `project`, whose rows are added.
            rows: (batch, time) int64 for each table, which row each token reads.
            reversed_rows: the same with each sentence reversed within its length, for the backward
                direction.

        Returns:
            (batch, time, hidden) for each direction; without meaning on padding.
        """
        places = []
        for table, ahead, back in zip(projected, rows, reversed_rows, strict=True):
            # (batch, time) of each direction -> (time, directions, batch)
            both = torch.stack((ahead.t(), back.t())[: self.directions], dim=1)
            # Below, (rows, directions x width) -> (rows x directions, width): row r of direction d
            # is row r x directions + d of that view.
            both = both * self.directions + torch.arange(self.directions)[:, None]
            by_direction = table.view(len(table) * self.directions, -1)
            # (time, directions x batch) -> one index for each step
            places.append((by_direction, both.flatten(1).unbind(0)))
        inputs = StepInputs(places, rows[0].shape, self.directions)
        states = self._read(inputs, self._recurrent, self._hidden_bias)
        # (time, directions, batch, hidden) -> (batch, time, hidden) of each direction, as views
        return [states[:, direction].transpose(0, 1) for direction in range(self.directions)]


@dataclass(frozen=True, slots=True)
class CachedWords:
    """Distinct words as a network reads them: vectors, and cached input projections.

    Attributes:
        vectors: (words, features).
        readers: of the encoder's layers, from `layer_readers`; empty where projections are not
            used (on a GPU).
        projected: (words, outputs of the first reader), empty without one.
        features: tables of the feature columns, projected likewise.
    """

    vectors: Tensor
    readers: Sequence[RowReader]
    projected: Tensor
    features: tuple[Tensor, ...]


def layer_reader(layer: RecurrentLayer, precision: str) -> RowReader:
    """A layer's weights as they are now, for cached inference."""
    networks = [layer.forwards] if layer.backwards is None else [layer.forwards, layer.backwards]
    return RowReader(layer.cell, networks, precision)


def layer_readers(encoder: Encoder, precision: str) -> list[RowReader]:
    """Readers of the layers that gain by them, with the weights as they are now.

    In fp32 that is the lowest one, whose inputs occur again and again. The inputs of the others are
    states, each of which occurs once: they only gain by a product of lower precision.
    """
    layers = _recurrent_layers(encoder)
    return [
        layer_reader(layer, precision) for layer in (layers[:1] if precision == "fp32" else layers)
    ]


def read_layer_cached(
    layer: RecurrentLayer,
    reader: RowReader,
    projected: Sequence[Tensor],
    rows: Sequence[Tensor],
    mask: Tensor,
) -> tuple[Tensor, Tensor]:
    """What `layer.read` returns for inputs that are sums of tables' rows.

    Args:
        layer: whose directions are merged.
        reader: of this layer.
        projected: tables that `reader` has projected.
        rows: (batch, time) int64 for each table.
        mask: (batch, time) bool, True on real tokens.

    Returns:
        (batch, time, outputs), zero on padding, and (batch, outputs).
    """
    # Row numbers are reversed rather than inputs: one number for each token instead of a vector.
    reversed_rows = [reverse_each(ids, mask) for ids in rows]
    # One or two of (batch, time, hidden), each in its own reading order.
    ahead, *others = reader.read(projected, rows, reversed_rows)
    back = others[0] if others else None
    return layer.merged_states(ahead, back, mask), layer.merged_final(ahead, back, mask)


def read_cached(
    encoder: Encoder,
    readers: Sequence[RowReader],
    projected: Sequence[Tensor],
    rows: Sequence[Tensor],
    mask: Tensor,
) -> tuple[Tensor, Tensor]:
    """What `encoder.read` returns outside training, for inputs that are sums of tables' rows.

    Args:
        encoder: whose layers are read.
        readers: of the lowest layers, or of all; the others read as in training.
        projected: tables that the first reader has projected.
        rows: (batch, time) int64 for each table.
        mask: (batch, time) bool, True on real tokens.

    Returns:
        (batch, time, outputs), zero on padding, and (batch, outputs).
    """
    layers = _recurrent_layers(encoder)
    states, final = read_layer_cached(layers[0], readers[0], projected, rows, mask)
    for number, layer in enumerate(layers[1:], 1):
        if number < len(readers):
            # Each state is a row of its own: (batch, time, features) -> (batch x time, outputs),
            # numbered in reading order.
            table = readers[number].project(states.flatten(0, 1), 0)
            own = torch.arange(len(table)).view(mask.shape)
            states, final = read_layer_cached(layer, readers[number], [table], [own], mask)
        else:
            states, final = layer.read(states, mask)
    return states, final


def _recurrent_layers(encoder: Encoder) -> list[RecurrentLayer]:
    # nn.ModuleList holds modules; the type checker cannot know which.
    return [layer for layer in encoder.layers if isinstance(layer, RecurrentLayer)]
