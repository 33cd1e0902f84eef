"""Recurrent layers over padded sequences: any cell, one or two directions, any depth.

The cells are torch's fused ones:
    elman  h[t] = tanh(W x[t] + U h[t-1] + b)                        (Elman 1990)
    lstm   i, f, o = sigmoid(...), g = tanh(...); c[t] = f c[t-1] + i g; h[t] = o tanh(c[t])
           (Hochreiter and Schmidhuber 1997, forget gate of Gers et al. 2000)
    gru    z, r = sigmoid(...); h[t] = (1 - z) n + z h[t-1]           (Cho et al. 2014)
Jurafsky and Martin, "RNNs and LSTMs", eqs. 13.1-13.3 (simple recurrence), 13.16-13.18 (two
directions), 13.20-13.27 (LSTM); Goodfellow, Bengio and Courville, sections 10.2, 10.3, 10.10.

Two directions are two one-way networks, the second over each sequence turned around within its own
length. That is exact under padding without packed sequences, which leave torch's fast kernels on a
CPU: training with them took 1.3 to 2 times as long.

Long sequences are read in segments: a segment begins with the state that the one before it ended
with, so that the states are those of reading in one go, but no gradient crosses the border
(truncated back-propagation through time: Williams and Peng 1990; Jurafsky and Martin, "RNNs and
LSTMs", section 13.2.2 on training in chunks; Goodfellow, Bengio and Courville, section 10.2.2 on
its cost). What a segment's backward pass needs is worked out again when its turn comes, so that
memory holds one segment's gates, not all.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from tagkit.nn.dropout import LockedDropout, WordDropout
from tagkit.nn.inference import RowReader

CELLS: dict[str, Callable[..., nn.RNNBase]] = {"lstm": nn.LSTM, "gru": nn.GRU, "elman": nn.RNN}

MERGES = ("concat", "sum", "mean", "product")


def reverse_each(sequences: Tensor, mask: Tensor) -> Tensor:
    """Each sequence turned around within its own length; padding stays behind it.

    Args:
        sequences: (batch, time, features), or (batch, time).
        mask: (batch, time) bool, True on real tokens.

    Returns:
        The same shape.
    """
    # Plain flip(1) would put the padding first, and the backward pass would start on it.
    batch, time = mask.shape
    steps = torch.arange(time, device=mask.device)
    turned = mask.sum(1, keepdim=True) - 1 - steps
    places = torch.where(mask, turned, steps)
    rows = (places + time * torch.arange(batch, device=mask.device).unsqueeze(1)).flatten()
    found: Tensor = _Turned.apply(sequences.flatten(0, 1), rows)  # type: ignore[no-untyped-call]
    return found.view(sequences.shape)


class _Turned(torch.autograd.Function):
    """Rows in another order, which applied twice is the first one again: so is its gradient."""

    @staticmethod
    def forward(ctx: Any, sequences: Tensor, rows: Tensor) -> Tensor:
        ctx.rows = rows
        return sequences.index_select(0, rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad.index_select(0, ctx.rows), None


def merge_directions(forwards: Tensor, backwards: Tensor, merge: str) -> Tensor:
    """Two directions as one: side by side, or their sum, mean or product, value by value.

    Jurafsky and Martin, eq. 13.18 for concatenation; the others are named beside it.
    """
    match merge:
        case "concat":
            return torch.cat((forwards, backwards), dim=-1)
        case "sum":
            return forwards + backwards
        case "mean":
            return (forwards + backwards) / 2
        case "product":
            return forwards * backwards
    raise ValueError(f"merge {merge!r}: expected one of {', '.join(MERGES)}")


class RecurrentLayer(nn.Module):
    """One layer of one or two directions."""

    def __init__(
        self, *, cell: str, inputs: int, hidden: int, bidirectional: bool, merge: str, segment: int
    ) -> None:
        """`hidden` units in each direction; `merge` of the two is one of `MERGES`.

        Gradients go back through `segment` steps at most; 0 for all.
        """
        super().__init__()
        self.cell = cell
        self.merge = merge
        self.segment = segment
        self.forwards = _one_way(cell, inputs, hidden)
        self.backwards = _one_way(cell, inputs, hidden) if bidirectional else None
        self.outputs = hidden * (2 if bidirectional and merge == "concat" else 1)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """States at every token, zero on padding.

        Args:
            inputs: (batch, time, inputs); what stands on padding has no effect.
            mask: (batch, time) bool, True on real tokens.

        Returns:
            (batch, time, outputs).
        """
        return self._merged(*self._directions(inputs, mask), mask)

    def read(self, inputs: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """What `forward` and what `final_states` give, in one reading."""
        ahead, back = self._directions(inputs, mask)
        return self._merged(ahead, back, mask), self._final(ahead, back, mask)

    def final_states(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """The state behind the last token of each direction: the first token's, going backwards.

        Args:
            inputs: (batch, time, inputs); what stands on padding has no effect.
            mask: (batch, time) bool, True on real tokens.

        Returns:
            (batch, outputs).
        """
        return self._final(*self._directions(inputs, mask), mask)

    def reader(self, precision: str) -> RowReader:
        """The layer's weights as they are now, for reading rows of tables."""
        networks = [self.forwards] if self.backwards is None else [self.forwards, self.backwards]
        return RowReader(self.cell, networks, precision)

    def look_up(
        self, reader: RowReader, projected: Sequence[Tensor], rows: Sequence[Tensor], mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """What `read` gives for inputs that are sums of tables' rows.

        Args:
            reader: of this layer.
            projected: tables that `reader` has projected.
            rows: (batch, time) int64 for each table.
            mask: (batch, time) bool, True on real tokens.
        """
        turned = [reverse_each(ids, mask) for ids in rows]
        ahead, *others = reader.read(projected, rows, turned)
        back = others[0] if others else None
        return self._merged(ahead, back, mask), self._final(ahead, back, mask)

    def _merged(self, ahead: Tensor, back: Tensor | None, mask: Tensor) -> Tensor:
        if back is None:
            return _blank(ahead, mask)
        return _blank(merge_directions(ahead, reverse_each(back, mask), self.merge), mask)

    def _final(self, ahead: Tensor, back: Tensor | None, mask: Tensor) -> Tensor:
        last = (mask.sum(1) - 1).clamp(min=0)[:, None, None].expand(-1, 1, ahead.shape[2])
        ended = ahead.gather(1, last).squeeze(1)
        if back is None:
            return ended
        return merge_directions(ended, back.gather(1, last).squeeze(1), self.merge)

    def _directions(self, inputs: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
        """States of both directions, each in its own reading order."""
        # A NaN on padding would turn the weights' gradient NaN even where its own gradient is 0.
        inputs = _blank(inputs, mask)
        ahead = _states(self.forwards, inputs, self.segment)
        if self.backwards is None:
            return ahead, None
        return ahead, _states(self.backwards, reverse_each(inputs, mask), self.segment)


class Encoder(nn.Module):
    """A stack of recurrent layers with dropout before, between and behind them."""

    def __init__(
        self,
        *,
        cell: str,
        inputs: int,
        hidden: int,
        layers: int,
        bidirectional: bool,
        merge: str,
        segment: int,
        dropout: float,
        locked_dropout: float,
        word_dropout: float,
    ) -> None:
        """Probabilities are of being dropped; sizes as in `RecurrentLayer`."""
        super().__init__()
        self.word_dropout = WordDropout(probability=word_dropout)
        self.locked_dropout = LockedDropout(probability=locked_dropout)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList()
        for _ in range(layers):
            layer = RecurrentLayer(
                cell=cell,
                inputs=inputs,
                hidden=hidden,
                bidirectional=bidirectional,
                merge=merge,
                segment=segment,
            )
            self.layers.append(layer)
            inputs = layer.outputs
        self.outputs = inputs

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """Hidden states of the topmost layer.

        Args:
            inputs: (batch, time, inputs).
            mask: (batch, time) bool, True on real tokens.

        Returns:
            (batch, time, outputs), zero on padding.
        """
        return self._drop(self.layers[-1](self._below(inputs, mask), mask))

    def read(self, inputs: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """What `forward` gives, and the topmost layer's last states, (batch, outputs)."""
        top = self.layers[-1]
        assert isinstance(top, RecurrentLayer)
        states, final = top.read(self._below(inputs, mask), mask)
        if not self.training:
            return states, final
        # One step more, so that the same features are dropped in both.
        dropped = self._drop(torch.cat((states, final.unsqueeze(1)), dim=1))
        return dropped[:, :-1], dropped[:, -1]

    def look_up(
        self,
        readers: Sequence[RowReader],
        projected: Sequence[Tensor],
        rows: Sequence[Tensor],
        mask: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """What `read` gives outside training, for inputs that are sums of tables' rows.

        Args:
            readers: of the lowest layers, or of all; the others read as in training.
            projected: tables that the first reader has projected.
            rows: (batch, time) int64 for each table.
            mask: (batch, time) bool, True on real tokens.
        """
        layers = [layer for layer in self.layers if isinstance(layer, RecurrentLayer)]
        states, final = layers[0].look_up(readers[0], projected, rows, mask)
        for number, layer in enumerate(layers[1:], 1):
            if number < len(readers):  # each state is a row of its own
                table = readers[number].project(states.flatten(0, 1), 0)
                own = torch.arange(len(table)).view(mask.shape)
                states, final = layer.look_up(readers[number], [table], [own], mask)
            else:
                states, final = layer.read(states, mask)
        return states, final

    def readers(self, precision: str) -> list[RowReader]:
        """Readers of the layers that gain by them, with the weights as they are now.

        In fp32 that is the lowest one, whose inputs repeat themselves.
        """
        layers = [layer for layer in self.layers if isinstance(layer, RecurrentLayer)]
        return [
            layer.reader(precision) for layer in (layers[:1] if precision == "fp32" else layers)
        ]

    def _below(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """What the topmost layer reads."""
        states = self._drop(self.word_dropout(inputs))
        for layer in self.layers[:-1]:
            states = self._drop(layer(states, mask))
        return states

    def _drop(self, states: Tensor) -> Tensor:
        dropped: Tensor = self.dropout(self.locked_dropout(states))
        return dropped


def _blank(sequences: Tensor, mask: Tensor) -> Tensor:
    """`sequences` with zeros on padding."""
    return sequences.masked_fill(~mask.unsqueeze(-1), 0)


def _states(network: nn.RNNBase, inputs: Tensor, segment: int) -> Tensor:
    """States at every step; a gradient goes back `segment` steps at most, 0 for all."""
    if not segment or inputs.shape[1] <= segment:
        whole: Tensor = network(inputs)[0]
        return whole
    parts: list[Tensor] = []
    carried = None
    for part in torch.split(inputs, segment, dim=1):
        if torch.is_grad_enabled():
            states, carried = checkpoint(
                network, part, carried, use_reentrant=False, preserve_rng_state=False
            )
        else:
            states, carried = network(part, carried)
        carried = tuple(s.detach() for s in carried) if type(carried) is tuple else carried.detach()
        parts.append(states)
    return torch.cat(parts, dim=1)


def _one_way(cell: str, inputs: int, hidden: int) -> nn.RNNBase:
    network = CELLS[cell](inputs, hidden, batch_first=True)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if name.startswith("bias"):
                parameter.zero_()
                if cell == "lstm" and name.startswith("bias_ih"):
                    # Gates lie one behind the other: input, forget, cell, output. A forget gate
                    # that starts open lets gradients through (Gers et al. 2000; Jozefowicz et
                    # al. 2015; Goodfellow, Bengio and Courville, section 10.10.2).
                    parameter[hidden : 2 * hidden] = 1
            elif name.startswith("weight_hh"):
                for gate in torch.split(parameter, hidden):
                    nn.init.orthogonal_(gate)  # Saxe et al. 2014
            else:
                for gate in torch.split(parameter, hidden):
                    nn.init.xavier_uniform_(gate)
    return network
