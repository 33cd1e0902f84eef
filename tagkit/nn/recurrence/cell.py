"""A recurrent cell: a row of `CELLS`, the networks that it builds, and the options of all cells."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from tagkit.nn.padding import Packing
from tagkit.nn.recurrence.recurrence import Recurrence

# What a network carries from step to step: the batch is axis 1 of each tensor, (1, batch, values).
State = Tensor | tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class CellOptions:
    """Options of cells; each cell reads its own and ignores the others.

    Attributes:
        init: how recurrent weights begin: "orthogonal", "identity", "normal", "xavier" or
            "sparse" (`weights.py`).
        spectral_radius: that recurrent weights are scaled to, above 0; None for that of `init`.
        initial_state: before the first step: "zero", or "learned", of all cells but `clockwork`, as
            its state counts steps, `echo-state`, which is not trained, and `ntm`, whose own is.
        chrono: steps for which gates can keep the past at the beginning; 0 for biases of 0, and
            forget gates of 1.
        activation: of cells without gates.
        leak: of `leaky` and `echo-state`: share of a unit's state that a step replaces, above 0 and
            up to 1; one for each of several groups of units; "spectrum" for a fixed share of each
            unit, "learned" for trained ones.
        skip: of `skip` and `skip-lstm`: steps that each further recurrent connection reaches back,
            at least 2.
        periods: of `clockwork`: of each group of units, in steps; rising, the first is 1.
        heads: of `transformer`, which divide the hidden values; of `ntm`, read and write heads.
        feed_forward: of `transformer`: units of its feed-forward layers for each hidden value.
        norm: of `transformer`: where its layer norms stand, beside the parts of a layer.
        positions: of `transformer`: how a token's position is known.
        max_positions: of `transformer` with learned positions: how many are told apart.
        widths: of `cnn` and `window`: inputs that a state reads.
        dilation: of `cnn`: how many times further apart these are in each layer above the lowest.
        transition_layers: of `deep-transition` and `recurrent-highway`: layers of a step, at least
            2.
        transition_skip: of `deep-transition`: whether a connection skips all of them but the last.
        memory: of `ntm`: slots, and values of each.
    """

    init: Literal["orthogonal", "identity", "normal", "xavier", "sparse"]
    spectral_radius: float | None
    initial_state: Literal["zero", "learned"]
    chrono: int
    activation: Literal["tanh", "relu"]
    leak: float | tuple[float, ...] | Literal["spectrum", "learned"]
    skip: tuple[int, ...]
    periods: tuple[int, ...]
    heads: int
    feed_forward: int
    norm: Literal["before", "after"]
    positions: Literal["rotary", "sinusoidal", "learned"]
    max_positions: int
    widths: tuple[int, ...]
    dilation: int
    transition_layers: int
    transition_skip: bool
    memory: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Steps:
    """A network's steps as operations that can be differentiated twice.

    Attributes:
        memories: number of values of each tensor that is carried from step to step.
        project: (..., inputs) -> (..., width), all that a step computes from its input alone.
        advance: that, and the state of the step before, (..., values) of each memory -> (...,
            hidden), and the state after the step; no axis but the last has a meaning.
    """

    memories: tuple[int, ...]
    project: Callable[[Tensor], Tensor]
    advance: Callable[[Tensor, tuple[Tensor, ...]], tuple[Tensor, tuple[Tensor, ...]]]


class Network(nn.Module):
    """A layer of one direction.

    Attributes:
        state_weights: names of the parameters that multiply the state of the step before, or what
            is computed from it within a step; they are what weight drop drops.
    """

    state_weights: tuple[str, ...] = ()

    def forward(self, inputs: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """States of whole sequences.

        Args:
            inputs: (batch, time, inputs).
            state: after the step before the first one; None at the beginning, which is all zeros.

        Returns:
            (batch, time, hidden), and the state after the last step.
        """
        raise NotImplementedError

    def steps(self) -> Steps | None:
        """Its steps with its weights of now; None where the flow of information has no meaning."""
        return None

    def recurrence(self) -> Recurrence | None:
        """How cached inference reads the network; None where its input products are no help."""
        return None


@dataclass(frozen=True, slots=True)
class Cell:
    """A row of `CELLS`.

    Attributes:
        build: number of inputs, of hidden units, and options -> a network with fresh weights. The
            random draws and their order are the same in every version, as a seed promises.
        train_packed: states over packed sequences in training: (rows, inputs), the (tokens,) row of
            each token, and the networks of both directions -> (directions, tokens, hidden); None
            where the network itself is used.
    """

    build: Callable[[int, int, CellOptions], Network]
    train_packed: Callable[[Tensor, Tensor, Packing, Sequence[Network]], Tensor] | None = None
