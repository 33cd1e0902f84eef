"""A stack of layers over padded sequences: any depth, recurrent or not.

A layer that is not recurrent is another row of `LAYERS`.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from tagkit.nn.cells import CELLS
from tagkit.nn.layers.convolution import CNN, WINDOW
from tagkit.nn.layers.depth import CONNECTIONS, token_layer
from tagkit.nn.layers.documents import JoinedRows
from tagkit.nn.layers.dropout import LockedDropout, WordDropout
from tagkit.nn.layers.layer import EncoderLayer, LayerKind, LayerOptions
from tagkit.nn.layers.recurrent_layer import RecurrentLayer
from tagkit.nn.layers.transformer import TRANSFORMER
from tagkit.nn.padding import zero_padding
from tagkit.nn.recurrence.cell import CellOptions, State


def _recurrent(layer: LayerOptions) -> RecurrentLayer:
    return RecurrentLayer(
        cell=layer.cell,
        options=layer.options,
        inputs=layer.inputs,
        hidden=layer.hidden,
        bidirectional=layer.bidirectional,
        merge=layer.merge,
        segment=layer.segment,
    )


# The keys are the values that the configuration allows for `encoder.cell`.
LAYERS: dict[str, LayerKind] = {
    **dict.fromkeys(CELLS, LayerKind(_recurrent)),
    "transformer": TRANSFORMER,
    "cnn": CNN,
    "window": WINDOW,
}


class Encoder(nn.Module):
    """A stack of layers with dropout before, between and after them.

    Jurafsky and Martin, "RNNs and LSTMs", section on stacked RNNs: the states of one layer are the
    inputs of the next. Connections may lead past layers, input layers precede them, and output
    layers follow (`depth.py`).

    Attributes:
        outputs: features of a state.
        flow_strength: weight of the penalties of `information_flow.py` in the loss of a model; 0
            for none. They are about training alone: a layer without them is the same.
    """

    flow_strength = 0.0

    def __init__(
        self,
        *,
        cell: str,
        options: CellOptions,
        inputs: int,
        hidden: int,
        layers: int,
        connection: str,
        bidirectional: bool,
        merge: str,
        input_layers: Sequence[int] = (),
        output_layers: Sequence[int],
        segment: int,
        dropout: float,
        locked_dropout: float,
        word_dropout: float,
    ) -> None:
        """Dropout probabilities are those of being dropped; the others as in `LayerOptions`.

        `connection` past each layer but the first is one of `CONNECTIONS`, or "none";
        `input_layers` and `output_layers` are the units of each of them.
        """
        super().__init__()
        # Tokens are dropped once, below the lowest layer; features and values at every border.
        self.word_dropout = WordDropout(probability=word_dropout)
        self.locked_dropout = LockedDropout(probability=locked_dropout)
        self.dropout = nn.Dropout(dropout)
        self.input_layers = nn.ModuleList()
        for units in input_layers:
            self.input_layers.append(token_layer(inputs, units))
            inputs = units
        self.layers = nn.ModuleList()
        self.connections = nn.ModuleList()
        for number in range(layers):
            layer = LAYERS[cell].build(
                LayerOptions(
                    cell=cell,
                    options=options,
                    inputs=inputs,
                    hidden=hidden,
                    bidirectional=bidirectional,
                    merge=merge,
                    segment=segment,
                    dropout=dropout,
                    number=number,
                    topmost=number == layers - 1,
                )
            )
            self.layers.append(layer)
            if number and connection != "none":
                self.connections.append(CONNECTIONS[connection](layer.outputs))
            # The next layer reads both directions of this one, merged.
            inputs = layer.outputs
        self.output_layers = nn.ModuleList()
        for units in output_layers:
            self.output_layers.append(token_layer(inputs, units))
            inputs = units
        self.outputs = inputs

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """Hidden states of the topmost layer, after the output layers.

        Args:
            inputs: (batch, time, inputs).
            mask: (batch, time) bool, True on real tokens.

        Returns:
            (batch, time, outputs), zero on padding.
        """
        states, _ = self.read_layers(inputs, mask)
        return self.output_states(states, mask)

    def read(
        self, inputs: Tensor, mask: Tensor, joined: JoinedRows | None = None
    ) -> tuple[Tensor, Tensor]:
        """What `forward` returns, and the same of the final states, (batch, outputs).

        With `joined`, the rows of the batch that are joined, each layer reads documents. Dropout
        is that of sentences in either case: the same features of all tokens of a sentence.
        """
        return self.output(*self.read_layers(inputs, mask, joined), mask)

    def read_layers(
        self, inputs: Tensor, mask: Tensor, joined: JoinedRows | None = None
    ) -> tuple[Tensor, Tensor]:
        """States and final states of the topmost layer, before dropout, for `output`."""
        first, *others = self.stack()
        # (batch, time, inputs), then (batch, time, outputs) of each layer in turn
        states = self._drop(self._inputs(inputs, mask))
        lowest = first.read(states, mask) if joined is None else joined.read(first, states)
        return self._read_above(lowest, others, mask, joined)

    def carry(
        self, inputs: Tensor, carried: Sequence[State] | None, passed: list[Tensor] | None = None
    ) -> tuple[Tensor, tuple[State, ...]]:
        """States of sequences that go on where others ended, in an encoder of one direction.

        So a text is read in segments, with the states of reading it in one go (truncated
        back-propagation through time; Mikolov et al. 2010 for language models).

        Args:
            inputs: (batch, time, inputs), without padding.
            carried: the state of each layer after the step before the first one; None at the
                beginning.
            passed: takes the states of each layer, the lowest first; None for nothing.

        Returns:
            (batch, time, hidden) of the topmost layer before dropout, for `output_states`, and the
            states after the last step.
        """
        after: list[State] = []
        # (batch, time, inputs), then (batch, time, outputs) of each layer in turn
        states = self._inputs(inputs, None)
        for number, layer in enumerate(self.stack()):
            below = states
            states, state = layer.carry(self._drop(below), carried[number] if carried else None)
            if number:
                # Final states are those of the last step.
                pair = (below, below[:, -1]), (states, states[:, -1])
                states, _ = self.connect(number, *pair)
            after.append(state)
            if passed is not None:
                passed.append(states)
        return states, tuple(after)

    def read_sides(
        self, inputs: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor | None]]:
        """What `read_layers` returns, and states that have read one side of the sequence alone.

        Of two directions these are the lowest layer's: above it each direction reads both. Of one
        direction they are the topmost layer's.

        Returns:
            (batch, time, hidden) and (batch, hidden) as `read_layers`; then, both (batch, time,
            hidden) and before dropout, states that have read no token after theirs, and those that
            have read no token before it; None in an encoder of one direction.
        """
        first, *others = self.stack()
        inputs = self._drop(self._inputs(inputs, mask))
        if isinstance(first, RecurrentLayer) and first.backwards is not None:
            lowest, sides = first.read_sides(inputs, mask)
            found = self._read_above(lowest, others, mask)
        else:
            found = self._read_above(first.read(inputs, mask), others, mask)
            sides = (found[0], None)
        return *found, sides

    def stack(self) -> list[EncoderLayer]:
        """The layers, the lowest first."""
        # nn.ModuleList holds modules; the type checker cannot know which.
        return [layer for layer in self.layers if isinstance(layer, EncoderLayer)]

    def connect(
        self, number: int, below: tuple[Tensor, Tensor], above: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """States and final states that a layer passes on: its own, with those that went past it.

        Args:
            number: of the layer, from 1: there is no connection past layer 0.
            below: what the layer below it passed on, before dropout: (batch, time, hidden) states
                and (batch, hidden) final states.
            above: the layer's own, likewise; what is returned has their shapes.
        """
        if not self.connections:
            return above
        connection = self.connections[number - 1]
        # Final states are passed on like those of one more token.
        return connection(below[0], above[0]), connection(below[1], above[1])

    def output(
        self, states: Tensor, final: Tensor, mask: Tensor, *, final_is_read: bool = True
    ) -> tuple[Tensor, Tensor]:
        """What a head reads, after the output layers and, in training, dropout.

        Args:
            states: (batch, time, hidden) of the topmost layer.
            final: (batch, hidden) its final states.
            mask: (batch, time) bool, True on real tokens.
            final_is_read: whether the final states are wanted; else they may stay as they are.

        Returns:
            (batch, time, outputs), zero on padding, and (batch, outputs), or `final` as it was.
        """
        if not self.training and not self.output_layers:
            return states, final
        # Dropout of single values would draw fewer numbers, and a run that an earlier version was
        # stopped in would end with other weights.
        if not final_is_read and not self.dropout.p:
            return self.output_states(states, mask), final
        # The final states as one more step, so that locked dropout drops the same features of both:
        # (batch, time, hidden) and (batch, hidden) -> (batch, time + 1, hidden).
        steps = torch.cat((states, final.unsqueeze(1)), dim=1)
        real = torch.cat((mask, mask[:, :1]), dim=1)  # the first token is always real
        found = self.output_states(steps, real)
        # -> (batch, time, outputs) and (batch, outputs)
        return found[:, :-1], found[:, -1]

    def _read_above(
        self,
        found: tuple[Tensor, Tensor],
        others: Sequence[EncoderLayer],
        mask: Tensor,
        joined: JoinedRows | None = None,
    ) -> tuple[Tensor, Tensor]:
        """What the layers above the lowest one make of its states and final states."""

        def read(layer: EncoderLayer, states: Tensor) -> tuple[Tensor, Tensor]:
            return layer.read(states, mask) if joined is None else joined.read(layer, states)

        for number, layer in enumerate(others, start=1):
            found = self.connect(number, found, read(layer, self._drop(found[0])))
        return found

    def output_states(self, states: Tensor, mask: Tensor) -> Tensor:
        """(batch, time, hidden) of the topmost layer -> (batch, time, outputs), for a head."""
        states = self._drop(states)
        for layer in self.output_layers:
            # The bias makes values of the zeros on padding.
            states = self._drop(zero_padding(torch.relu(layer(states)), mask))
        return states

    def _inputs(self, inputs: Tensor, mask: Tensor | None) -> Tensor:
        """What the lowest layer reads of (batch, time, inputs), before dropout."""
        states: Tensor = self.word_dropout(inputs)
        for layer in self.input_layers:
            if mask is not None:  # what padding holds would reach the gradient of the weights
                states = zero_padding(states, mask)
            states = torch.relu(layer(self._drop(states)))
        return states

    def _drop(self, states: Tensor) -> Tensor:
        # The order of the two is part of what a seed means: each draws its own random numbers.
        dropped: Tensor = self.dropout(self.locked_dropout(states))
        return dropped
