"""Recurrent layers over inputs that are rows of tables: what each word costs once is paid once.

A layer's input product W x[t] is the same for every token of a word. In prediction, where nothing
is dropped, it is worked out for distinct words, and the layer reads sums of such rows: of the word
and of each feature. What is left per token is the recurrent product, two fifths of an LSTM's
arithmetic at the usual sizes. Both directions run as one batch. With 64 sentences of 24 words a
layer of 2 x 100 units read 310,000 tokens a second in this way, torch's own 187,000 (one core, a
table that is there already); with few sentences torch's own is faster.

The equations are those of `recurrent.py`. tanh(x) = 2 sigmoid(2 x) - 1: on a CPU torch's sigmoid is
six times as fast as its tanh.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

# Sentences, or words, from which on reading rows is faster than torch's own layers on a CPU.
FEWEST = 16

PRECISIONS = ("fp32", "bf16", "int8")


class RowReader:
    """The weights of a layer's directions, laid out for reading rows of tables.

    They are copies: a reader is of the weights that the layer had when it was made.
    """

    def __init__(self, cell: str, directions: Sequence[nn.RNNBase], precision: str) -> None:
        """`directions` are one-way networks of that cell and of one size.

        `precision`, one of `PRECISIONS`, is that of the recurrent product; all else is fp32.
        """
        self._run = LOOPS[cell]
        self.precision = precision
        arrange = _ARRANGE[cell]
        with torch.no_grad():
            inputs = [arrange(one.get_parameter("weight_ih_l0")) for one in directions]
            # (directions, gates x hidden, inputs) -> (inputs, directions x gates x hidden)
            self._weight = torch.stack(inputs).flatten(0, 1).t().contiguous()
            biases = [_biases(cell, one) for one in directions]
            self._bias = torch.cat([arrange(bias) for bias, _ in biases])
            self._hidden_bias = torch.stack([bias for _, bias in biases]).unsqueeze(1)
            # (directions, hidden, gates x hidden)
            recurrent = [arrange(one.get_parameter("weight_hh_l0")).t() for one in directions]
            self._recurrent = _PRODUCTS[precision](torch.stack(recurrent).contiguous())
        self.directions = len(directions)
        self.outputs = self._weight.shape[1]

    def project(self, vectors: Tensor, first: int) -> Tensor:
        """Products of rows that are the inputs' columns from `first` on.

        The bias is in those of the columns from 0 on.

        Args:
            vectors: (rows, some of the inputs).
            first: the first of these.

        Returns:
            (rows, outputs).
        """
        weight = self._weight[first : first + vectors.shape[1]]
        return vectors @ weight if first else torch.addmm(self._bias, vectors, weight)

    def read(
        self, projected: Sequence[Tensor], rows: Sequence[Tensor], turned: Sequence[Tensor]
    ) -> list[Tensor]:
        """States of each direction, in its own reading order.

        Args:
            projected: tables from `project`, whose rows are added.
            rows: (batch, time) int64 for each table, which row each token reads.
            turned: the same with each sentence turned around within its length, for the direction
                from behind.

        Returns:
            (batch, time, hidden) for each direction; of no meaning on padding.
        """
        places = []
        for table, ahead, back in zip(projected, rows, turned, strict=True):
            both = torch.stack((ahead.t(), back.t())[: self.directions], dim=1)
            # A row of all directions is so many rows of one.
            both = both * self.directions + torch.arange(self.directions)[:, None]
            by_direction = table.view(len(table) * self.directions, -1)
            places.append((by_direction, both.flatten(1).unbind(0)))
        inputs = _Inputs(places, rows[0].shape, self.directions)
        states = self._run(inputs, self._recurrent, self._hidden_bias)
        return [states[:, direction].transpose(0, 1) for direction in range(self.directions)]


def _biases(cell: str, network: nn.RNNBase) -> tuple[Tensor, Tensor]:
    """The bias of the inputs, and what is added to the recurrent product of a GRU's new gate."""
    of_input = network.get_parameter("bias_ih_l0")
    of_hidden = network.get_parameter("bias_hh_l0")
    hidden = network.hidden_size
    if cell != "gru":
        return of_input + of_hidden, of_hidden[:0]
    # n = tanh(W x + b + r * (U h + b')): b' stands inside the product with r.
    outside = torch.cat((of_hidden[: 2 * hidden], torch.zeros_like(of_hidden[2 * hidden :])))
    return of_input + outside, of_hidden[2 * hidden :]


def _as_it_is(rows: Tensor) -> Tensor:
    return rows


def _lstm_order(rows: Tensor) -> Tensor:
    """Gates as input, forget, output, cell, from torch's input, forget, cell, output.

    One sigmoid serves all: that of the cell gate is of twice its value.
    """
    entry, forget, cell, out = rows.chunk(4)
    return torch.cat((entry, forget, out, 2 * cell))


_ARRANGE: dict[str, Callable[[Tensor], Tensor]] = {
    "lstm": _lstm_order,
    "gru": _as_it_is,
    "elman": _as_it_is,
}


class Product:
    """Products of states with recurrent weights, of all directions at once."""

    def __init__(self, weights: Tensor) -> None:
        """`weights`: (directions, hidden, gates x hidden)."""
        self.weights = weights

    def of(self, states: Tensor) -> Tensor:
        """(directions, batch, hidden) -> (directions, batch, gates x hidden)."""
        return torch.bmm(states, self.weights)

    def add_to(self, gates: Tensor, states: Tensor) -> None:
        """Add the product to `gates`, in place."""
        gates.baddbmm_(states, self.weights)


class Bf16Product(Product):
    """Weights and states as bfloat16: eight bits of each number are left."""

    def __init__(self, weights: Tensor) -> None:
        """`weights` as in `Product`."""
        super().__init__(weights.bfloat16())

    def of(self, states: Tensor) -> Tensor:
        """As in `Product`."""
        return torch.bmm(states.bfloat16(), self.weights).float()

    def add_to(self, gates: Tensor, states: Tensor) -> None:
        """As in `Product`."""
        gates.add_(torch.bmm(states.bfloat16(), self.weights))


class Int8Product(Product):
    """Weights and states as eight-bit integers.

    Each output's weights have a scale of their own, the largest of them being 127. States lie
    between -1 and 1 in every cell, so that theirs is 127 once and for all.
    """

    def __init__(self, weights: Tensor) -> None:
        """`weights` as in `Product`."""
        largest = weights.abs().amax(1, keepdim=True).clamp(min=1e-12)
        super().__init__((weights * (127 / largest)).round_().to(torch.int8))
        self.scale = largest / (127 * 127)

    def of(self, states: Tensor) -> Tensor:
        """As in `Product`."""
        rounded = (states * 127).round_().to(torch.int8)
        # The only product of integers that torch has; torchao builds on it too.
        products = [
            torch._int_mm(ours, weights)
            for ours, weights in zip(rounded, self.weights, strict=True)
        ]
        return torch.stack(products).float().mul_(self.scale)

    def add_to(self, gates: Tensor, states: Tensor) -> None:
        """As in `Product`."""
        gates.add_(self.of(states))


_PRODUCTS: dict[str, type[Product]] = {
    "fp32": Product,
    "bf16": Bf16Product,
    "int8": Int8Product,
}


class _Inputs:
    """Sums of tables' rows, a step at a time.

    All steps at once would be larger than the caches, and than what is kept of freed memory: with
    256 sentences and 2 x 200 units that took twice as long.
    """

    def __init__(
        self,
        places: Sequence[tuple[Tensor, Sequence[Tensor]]],
        shape: Sequence[int],
        directions: int,
    ) -> None:
        """`places`: tables, and for each step the rows of all directions and sentences."""
        self._places = places
        batch, self.time = shape
        first = places[0][0]
        self.shape = (directions, batch, first.shape[1])
        self._sum = first.new_empty(directions * batch, first.shape[1])

    def at(self, step: int) -> Tensor:
        """(directions, batch, gates x hidden), to be overwritten before the next step is asked."""
        (table, rows), *others = self._places
        torch.index_select(table, 0, rows[step], out=self._sum)
        for other, places in others:
            self._sum.add_(other.index_select(0, places[step]))
        return self._sum.view(self.shape)


# inputs; the recurrent product; a GRU's bias inside it -> states (time, directions, batch, hidden)


def _lstm(inputs: _Inputs, recurrent: Product, _: Tensor) -> Tensor:
    directions, batch, width = inputs.shape
    hidden = width // 4
    states = torch.empty(inputs.time, directions, batch, hidden)
    cell = torch.zeros(directions, batch, hidden)
    squashed = torch.empty_like(cell)
    for t in range(inputs.time):
        gates = inputs.at(t)
        if t:
            recurrent.add_to(gates, states[t - 1])
        gates.sigmoid_()
        entry, forget, out, new = torch.split(gates, hidden, dim=2)
        cell.mul_(forget).add_(new.mul_(2).sub_(1).mul_(entry))
        torch.mul(cell, 2, out=squashed)
        squashed.sigmoid_().mul_(2).sub_(1)
        torch.mul(squashed, out, out=states[t])
    return states


def _gru(inputs: _Inputs, recurrent: Product, hidden_bias: Tensor) -> Tensor:
    directions, batch, width = inputs.shape
    hidden = width // 3
    states = torch.empty(inputs.time, directions, batch, hidden)
    before = torch.zeros(directions, batch, hidden)
    for t in range(inputs.time):
        given, product = inputs.at(t), recurrent.of(before)
        gates = given[:, :, : 2 * hidden].add_(product[:, :, : 2 * hidden]).sigmoid_()
        reset, update = torch.split(gates, hidden, dim=2)
        inner = product[:, :, 2 * hidden :].add_(hidden_bias).mul_(reset)
        new = inner.add_(given[:, :, 2 * hidden :]).mul_(2).sigmoid_().mul_(2).sub_(1)
        before = torch.lerp(new, before, update, out=states[t])
    return states


def _elman(inputs: _Inputs, recurrent: Product, _: Tensor) -> Tensor:
    states = torch.empty(inputs.time, *inputs.shape)
    for t in range(inputs.time):
        product = inputs.at(t)
        if t:
            recurrent.add_to(product, states[t - 1])
        torch.mul(product.mul_(2).sigmoid_(), 2, out=states[t]).sub_(1)
    return states


LOOPS: dict[str, Callable[[_Inputs, Product, Tensor], Tensor]] = {
    "lstm": _lstm,
    "gru": _gru,
    "elman": _elman,
}
