"""What every layer of an encoder gives, and what it is built from."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn

from tagkit.nn.recurrence.cell import CellOptions, State
from tagkit.nn.recurrence.recurrence import Recurrence


@dataclass(frozen=True, slots=True)
class LayerOptions:
    """What a layer is built from; each kind reads its own options and ignores the others.

    Attributes:
        cell: the layer's row of `LAYERS`.
        options: of the cell.
        inputs: number of values of an input.
        hidden: number of values of a state, for each direction.
        bidirectional: whether a state depends on the tokens after it.
        merge: of two directions, as in `merge_directions`.
        segment: steps that gradients go back at most; 0 for all.
        dropout: probability of a value, inside the layer.
        number: of the layer, from 0.
        topmost: whether it is the encoder's last layer.
    """

    cell: str
    options: CellOptions
    inputs: int
    hidden: int
    bidirectional: bool
    merge: str
    segment: int
    dropout: float
    number: int
    topmost: bool

    @property
    def lowest(self) -> bool:
        """Whether it is the encoder's first layer."""
        return self.number == 0


class EncoderLayer(nn.Module):
    """A layer of an encoder.

    Attributes:
        outputs: number of values of a state.
    """

    outputs: int

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """States at every token, zero on padding.

        Args:
            inputs: (batch, time, inputs); padding has no effect.
            mask: (batch, time) bool, True on real tokens.

        Returns:
            (batch, time, outputs).
        """
        raise NotImplementedError

    def read(self, inputs: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """What `forward` and what `final_states` return, in one pass."""
        raise NotImplementedError

    def final_states(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """One state for each whole sequence, (batch, outputs); arguments as in `forward`."""
        raise NotImplementedError

    def carry(self, inputs: Tensor, state: State | None) -> tuple[Tensor, State]:
        """States of sequences that go on where others ended, in a layer of one direction.

        Args:
            inputs: (batch, time, inputs), without padding.
            state: after the step before the first one; None at the beginning.

        Returns:
            (batch, time, outputs), and the state after the last step. Gradients go back to the
            state that was given; who wants none detaches it.
        """
        raise NotImplementedError

    def recurrences(self) -> list[Recurrence]:
        """How cached inference reads each direction; none where input products are no help."""
        return []


@dataclass(frozen=True, slots=True)
class LayerKind:
    """A row of `LAYERS`.

    Attributes:
        build: options -> a layer with fresh weights.
        recurrent: whether a state is carried from token to token, and how far a gradient goes back
            changes no state. A layer that is not has positions, and its states depend on how far
            back it reads.
    """

    build: Callable[[LayerOptions], EncoderLayer]
    recurrent: bool = True
