"""One layer's weights for cached inference: input projections, and steps over their rows."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from tagkit.nn.recurrence.packing import Ids, Places
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

    def project_few(self, vectors: Tensor, out: Tensor) -> None:
        """As `project`, of the first inputs of some rows, in less time for a sentence's new words.

        NumPy's product of 8 to 25 rows takes 0.8 to 0.9 of the time of torch's, and one of 3 rows
        1.9 times as long.
        """
        if len(vectors) < _FEW_ROWS:
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
