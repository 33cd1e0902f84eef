"""Cached inference: recurrent layers over cached input projections.

A layer's input product W x[t] is the same for every token of a word. In prediction, where nothing
is dropped, it is computed once for each distinct word, and the layer reads sums of such rows: the
word's and each feature's, as W [x; x'] = W_1 x + W_2 x'. What remains for each token is the
recurrent product, two fifths of an LSTM's arithmetic at the usual sizes. Both directions run as one
batch. With 64 sentences of 24 words a layer of 2 x 100 units read 310,000 tokens a second in this
way, and 187,000 with torch's own layer (one core, projections cached before).

Few sentences are read in NumPy, packed and one direction after the other: a step is a small product
and some ten sums and products of a few hundred numbers each, for which a call of torch costs more
than the arithmetic. One sentence of 25 words took 0.7 ms in this way, with 2 x 200 units, 1.4 ms
with torch's own layer, and 1.8 ms with the steps that larger batches are read with.

The states are those of `encoder.py`, up to rounding; only the speed differs.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tagkit.nn.layers.encoder import Encoder
from tagkit.nn.layers.layer import EncoderLayer
from tagkit.nn.layers.recurrent_layer import RecurrentLayer, merge_directions
from tagkit.nn.padding import Ids, Places, reverse_each
from tagkit.nn.recurrence.products import PRODUCTS
from tagkit.nn.recurrence.recurrence import Floats, Recurrence, StepInputs

# Sequences x hidden units from which on torch's steps are faster than NumPy's: 16 sentences of 200
# units, or 64 words of 50.
_LARGE_STEP = 3200
# Rows from which on NumPy's product of them is faster than torch's.
_FEW_ROWS = 5
# Recurrent weights of a layer up to which both directions are read at once: half of the second
# cache of many processors.
_CACHED_BYTES = 2**19


class RowReader:
    """The weights of a layer's directions, laid out for reading rows of tables.

    They are copies: a reader has the weights that the layer had when it was made.
    """

    def __init__(self, recurrences: Sequence[Recurrence], precision: str) -> None:
        """`recurrences` of the directions, which are networks of one cell and one size.

        `precision`, one of `PRECISIONS`, is that of the recurrent products; all else is fp32.
        """
        first = recurrences[0]
        self._read, self._read_packed = first.read, first.read_packed
        self._hidden = first.hidden
        self.precision = precision
        with torch.no_grad():
            weights = [each.weights for each in recurrences]
            # (directions, width, inputs) -> (inputs, directions x width): one product of a word's
            # vector gives the input products of both directions.
            of_input = torch.stack([each.of_input for each in weights])
            self._weight = of_input.flatten(0, 1).t().contiguous()
            # (directions x width,)
            self._bias = torch.cat([each.bias for each in weights])
            # each (directions, 1, values), which broadcasts over sentences
            self._constants = [
                torch.stack(of_directions).unsqueeze(1)
                for of_directions in zip(*(each.constants for each in weights), strict=True)
            ]
            # (outputs, hidden) of each direction -> (directions, hidden, outputs)
            self._recurrent = [
                PRODUCTS[precision](
                    torch.stack([matrix.t() for matrix in of_directions]).contiguous(),
                    bounded=first.bounded,
                )
                for of_directions in zip(*(each.recurrent for each in weights), strict=True)
            ]
        self.directions = len(recurrences)
        self.outputs = self._weight.shape[1]  # directions x width

    @property
    def has_products(self) -> bool:
        """Whether a step multiplies a state by a matrix."""
        return bool(self._recurrent)

    def project(self, vectors: Tensor, first: int, out: Tensor | None = None) -> Tensor:
        """The part of the input products that comes from some of the inputs.

        The bias is in the part with the first input: in a sum of parts it is once. A part of no
        inputs, as of words without an embedding, is zero.

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
        if first or not vectors.shape[1]:
            return torch.mm(vectors, weight, out=out)
        return torch.addmm(self._bias, vectors, weight, out=out)

    def project_few(self, vectors: Tensor, out: Tensor) -> None:
        """As `project`, of the first inputs of some rows, in less time for a sentence's new words.

        NumPy's product of 8 to 25 rows takes 0.8 to 0.9 of the time of torch's, and one of 3 rows
        1.9 times as long.
        """
        if len(vectors) < _FEW_ROWS or not vectors.shape[1]:
            self.project(vectors, 0, out)
            return
        weight = self._weight.numpy()[: vectors.shape[1]]  # (width, outputs)
        with np.errstate(all="ignore"):  # as in `read`
            np.matmul(vectors.numpy(), weight, out=out.numpy())
            np.add(out.numpy(), self._bias.numpy(), out=out.numpy())

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
        states = self._read(inputs, self._recurrent, self._constants)
        # (time, directions, batch, hidden) -> (batch, time, hidden) of each direction, as views
        return [states[:, direction].transpose(0, 1) for direction in range(self.directions)]

    def packs(self, sequences: int) -> bool:
        """Whether `read_packed` is faster than `read` for so many sequences."""
        return self.precision == "fp32" and sequences * self._hidden < _LARGE_STEP

    def read_packed(
        self, projected: Sequence[Tensor], rows: Sequence[Ids], places: Places
    ) -> Floats:
        """States of few sequences, each direction in its own reading order; in fp32 alone.

        Args:
            projected: tables from `project`, whose rows are added.
            rows: (tokens,) for each table, which row each token reads.
            places: of the tokens that are read; others may be padding.

        Returns:
            (tokens read, directions, hidden), packed.
        """
        weights, constants = self._arrays()
        directions, width = self.directions, self.outputs // self.directions
        read = places.tokens[:, :directions]
        states = np.empty((len(read), directions, self._hidden), np.float32)
        # Small weights of both directions at once, in half as many calls. Of large ones those of
        # one direction fit into the processor's cache.
        nbytes = sum(matrices.nbytes for matrices in weights)
        at_once = directions if nbytes <= _CACHED_BYTES else 1
        for first in range(0, directions, at_once):
            part = slice(first, first + at_once)
            # Words first, then each feature column. (rows, directions x width) is read as (rows x
            # directions, width): row r of direction d is row r x directions + d of that.
            inputs, *others = (
                table.numpy()
                .reshape(-1, width)
                .take(ids[read[:, part]] * directions + np.arange(directions)[part], 0)
                for table, ids in zip(projected, rows, strict=True)
            )
            for other in others:
                inputs += other
            # Weights that are far out of range overflow without a warning in torch too.
            with np.errstate(all="ignore"):
                self._read_packed(
                    inputs,
                    places.counts,
                    [matrices[part] for matrices in weights],
                    [values[part] for values in constants],
                    states[:, part],
                )
        return states

    def read_one(self, projected: Sequence[Tensor], rows: Sequence[Ids]) -> Floats:
        """States of one sequence, each direction in the order of the tokens; in fp32 alone.

        Args:
            projected: tables from `project`, whose rows are added.
            rows: (tokens,) for each table, which row each token reads.

        Returns:
            (tokens, directions, hidden).
        """
        weights, constants = self._arrays()
        # (tokens, directions x width): words first, then each feature column
        inputs, *others = (
            table.numpy().take(ids, 0) for table, ids in zip(projected, rows, strict=True)
        )
        for other in others:
            inputs += other
        time = len(inputs)
        inputs = inputs.reshape(time, self.directions, -1)
        states = np.empty((time, self.directions, self._hidden), np.float32)
        # One direction after the other, whose arrays have one dimension then, which NumPy reads
        # fastest: with 100 units 0.92 of the time of both at once.
        for direction in range(self.directions):
            part = slice(direction, direction + 1)
            order = slice(None, None, -1) if direction else slice(None)
            with np.errstate(all="ignore"):  # as in `read_packed`
                self._read_packed(
                    inputs[order, part],
                    [1] * time,
                    [matrices[part] for matrices in weights],
                    [values[part] for values in constants],
                    states[order, part],
                )
        return states

    def _arrays(self) -> tuple[list[Floats], list[Floats]]:
        """Matrices, (directions, hidden, outputs), and constants, (directions, values)."""
        matrices: list[Floats] = [product.weights.numpy() for product in self._recurrent]
        return matrices, [values.numpy()[:, 0] for values in self._constants]


PRECISIONS = tuple(PRODUCTS)


class CharReader(ABC):
    """Cached inference of words from their characters, with the weights as they are now."""

    @abstractmethod
    def packs(self, words: int) -> bool:
        """Whether `read_few` is faster than `read` for so many words."""

    @abstractmethod
    def read_few(self, chars: Ids, counts: Ids) -> Floats:
        """Vectors of few words, (words, outputs).

        Args:
            chars: ids of the characters of all words, word after word.
            counts: (words,) number of characters in each.
        """

    @abstractmethod
    def read(self, char_ids: Sequence[Tensor]) -> Tensor:
        """Vectors of words, (all words, outputs); arguments as in `CharEncoder.forward`."""


class RecurrentCharReader(CharReader):
    """Words by a recurrent layer.

    Characters repeat even more than words: a table of a hundred rows replaces the input product of
    every character of every word.
    """

    @torch.no_grad()
    def __init__(self, layer: RecurrentLayer, reader: RowReader, vectors: Tensor) -> None:
        """`reader` of the layer, in fp32; `vectors`: (chars, dim) of the characters it reads."""
        self._layer = layer
        self._reader = reader
        # (chars, dim) -> (chars, directions x width)
        self._table = self._reader.project(vectors, 0)

    def packs(self, words: int) -> bool:
        """As described in `CharReader`."""
        return self._reader.packs(words)

    def read_few(self, chars: Ids, counts: Ids) -> Floats:
        """As described in `CharReader`."""
        places = Places.of(counts, np.cumsum(counts) - counts)
        packed = self._reader.read_packed([self._table], [chars], places)
        # (words, directions, hidden), the final states -> (words, outputs)
        return _merged(packed[places.last], self._layer).numpy()

    def read(self, char_ids: Sequence[Tensor]) -> Tensor:
        """As described in `CharReader`."""
        # (words, chars) row numbers -> (words, outputs): of the two results the final states
        found = [
            read_layer_cached(self._layer, self._reader, [self._table], [group], group != 0)[1]
            for group in char_ids
        ]
        return torch.cat(found) if len(found) > 1 else found[0]


@dataclass(frozen=True, slots=True)
class CachedWords:
    """Distinct words as a network reads them: vectors, and cached input projections.

    Attributes:
        vectors: (words, features).
        readers: of the encoder's layers, from `layer_readers`; empty where projections are not
            used (on a GPU).
        projected: (words, outputs of the first reader), empty without one.
        features: tables of the feature columns, projected likewise.
        others: the same words as the further members of an ensemble read them.
    """

    vectors: Tensor
    readers: Sequence[RowReader]
    projected: Tensor
    features: tuple[Tensor, ...]
    others: tuple["CachedWords", ...] = ()


def layer_reader(layer: EncoderLayer, precision: str) -> RowReader | None:
    """A layer's weights as they are now, for cached inference; None where it has none."""
    recurrences = layer.recurrences()
    return RowReader(recurrences, precision) if recurrences else None


def precisions_of(encoder: Encoder) -> tuple[str, ...]:
    """Those of `PRECISIONS` that an encoder can be read with on a CPU.

    Others than fp32 are of the recurrent products of cached inference, which not every cell has.
    """
    readers = layer_readers(encoder, "fp32")
    return PRECISIONS if any(reader.has_products for reader in readers) else PRECISIONS[:1]


def layer_readers(encoder: Encoder, precision: str) -> list[RowReader]:
    """Readers of all layers, with the weights as they are now; none without cached inference."""
    if encoder.input_layers:  # of a token: no sum of rows of its parts
        return []
    readers = [layer_reader(layer, precision) for layer in encoder.stack()]
    found = [reader for reader in readers if reader is not None]
    return found if len(found) == len(readers) else []


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
    if reader.packs(len(mask)):
        return _read_layer_packed(layer, reader, projected, rows, mask)
    # Row numbers are reversed rather than inputs: one number for each token instead of a vector.
    reversed_rows = [reverse_each(ids, mask) for ids in rows]
    # One or two of (batch, time, hidden), each in its own reading order.
    ahead, *others = reader.read(projected, rows, reversed_rows)
    back = others[0] if others else None
    return layer.merged_states(ahead, back, mask), layer.merged_final(ahead, back, mask)


def _read_layer_packed(
    layer: RecurrentLayer,
    reader: RowReader,
    projected: Sequence[Tensor],
    rows: Sequence[Tensor],
    mask: Tensor,
) -> tuple[Tensor, Tensor]:
    """As `read_layer_cached`, for few sequences."""
    lengths = mask.numpy().sum(1)
    batch, time = mask.shape
    if batch == 1 and lengths[0] == time:
        states = reader.read_one(projected, [ids.numpy()[0] for ids in rows])
        ends = states[-1:].copy()  # (1, directions, hidden)
        ends[:, 1:] = states[0, 1:]  # the backward direction ends at the first token
        return _merged(states, layer).unsqueeze(0), _merged(ends, layer)
    places = Places.of(lengths, np.arange(batch) * time)
    packed = reader.read_packed(projected, [ids.numpy().ravel() for ids in rows], places)
    # Each direction is in its own reading order, so both end at a sequence's last step.
    final = _merged(packed[places.last], layer)  # (batch, outputs)
    # (batch x time, directions, hidden)
    states = np.zeros((batch * time, *packed.shape[1:]), packed.dtype)
    for direction in range(packed.shape[1]):
        states[places.tokens[:, direction], direction] = packed[:, direction]
    return _merged(states, layer).view(batch, time, -1), final


def _merged(states: Floats, layer: RecurrentLayer) -> Tensor:
    """(rows, directions, hidden) -> (rows, outputs); zeros on padding stay zeros."""
    if states.shape[1] == 1 or layer.merge == "concat":
        return torch.from_numpy(states.reshape(len(states), -1))  # they are side by side already
    ahead, back = torch.from_numpy(states).unbind(1)
    return merge_directions(ahead, back, layer.merge)


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
        readers: of all layers.
        projected: tables that the first reader has projected.
        rows: (batch, time) int64 for each table.
        mask: (batch, time) bool, True on real tokens.

    Returns:
        (batch, time, outputs), zero on padding, and (batch, outputs).
    """
    # A layer of another kind has no reader, and then no layer of its encoder is read here.
    first, *layers = [layer for layer in encoder.stack() if isinstance(layer, RecurrentLayer)]
    found = read_layer_cached(first, readers[0], projected, rows, mask)
    for number, (layer, reader) in enumerate(zip(layers, readers[1:], strict=True), start=1):
        states, _ = found
        if reader.precision == "fp32" and not reader.packs(len(mask)):
            # Each state occurs once, so that nothing is gained by reading it from a table.
            above = layer.read(states, mask)
        else:
            # Each state is a row of its own: (batch, time, features) -> (batch x time, outputs),
            # numbered in reading order.
            table = reader.project(states.flatten(0, 1), 0)
            own = torch.arange(len(table)).view(mask.shape)
            above = read_layer_cached(layer, reader, [table], [own], mask)
        found = encoder.connect(number, found, above)
    return encoder.output(*found, mask)
