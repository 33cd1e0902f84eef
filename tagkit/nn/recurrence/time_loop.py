"""The loop over time of the cells that torch has no fused network for.

A cell gives its input product for all steps at once, `W x[t] + b`, one large product instead of
many small ones, and `advance`, the equation of one step. The same equation serves training, one
step at a time, and cached inference in torch and in NumPy: it is written for arrays of either kind,
of any number of directions.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from tagkit.nn.recurrence.cell import CellOptions, Network, State, Steps
from tagkit.nn.recurrence.products import Product
from tagkit.nn.recurrence.recurrence import HALF, Floats, Recurrence, StepInputs, Weights
from tagkit.nn.recurrence.weights import fill_recurrent

Values: TypeAlias = Any  # a tensor, or an array of NumPy


@dataclass(frozen=True, slots=True)
class Functions:
    """Functions of torch or of NumPy, value by value; the operators serve both.

    Attributes:
        tanh, sigmoid, relu, where: as they are called.
        activation: of a cell without gates, tanh or relu.
    """

    tanh: Callable[[Values], Values]
    sigmoid: Callable[[Values], Values]
    relu: Callable[[Values], Values]
    where: Callable[[Values, Values, Values], Values]
    activation: Callable[[Values], Values]


def _sigmoid(scores: Floats) -> Floats:
    # NumPy has none: sigmoid(a) = (1 + tanh(a / 2)) / 2
    found: Floats = np.tanh(scores * HALF) * HALF + HALF
    return found


def _fast_tanh(scores: Tensor) -> Tensor:
    # tanh(a) = 2 sigmoid(2 a) - 1: on a CPU torch's sigmoid is six times as fast as its tanh. Where
    # gradients are wanted, the products around it cost what that gains.
    return torch.mul(scores, 2).sigmoid_().mul_(2).sub_(1)


def _relu(scores: Floats) -> Floats:
    found: Floats = np.maximum(scores, 0)
    return found


TORCH = Functions(torch.tanh, torch.sigmoid, torch.relu, torch.where, torch.tanh)
CACHED = Functions(  # without gradients
    _fast_tanh, torch.sigmoid, torch.relu, torch.where, _fast_tanh
)
NUMPY = Functions(np.tanh, _sigmoid, _relu, np.where, np.tanh)


class LoopNetwork(Network):
    """A network whose steps follow one another in a loop of Python.

    Attributes:
        hidden: number of values of a state that the layer passes on.
        memories: number of values of each tensor that is carried from step to step.
        bounded: as in `Recurrence`.
        is_relu: whether the activation is relu in the place of tanh.
    """

    bounded = True
    is_relu = False
    state_weights: tuple[str, ...] = ("weight_hh",)

    def __init__(self, *, inputs: int, hidden: int, gates: int, memories: Sequence[int]) -> None:
        """`gates` products of size `hidden` of the input, with fresh weights and biases of 0."""
        super().__init__()
        self.hidden = hidden
        self.memories = tuple(memories)
        self.weight_ih = fresh_input_weights(gates, hidden, inputs)
        self.bias = nn.Parameter(torch.zeros(gates * hidden))

    @abstractmethod
    def recurrent_weights(self) -> tuple[Tensor, ...]:
        """Matrices of a step's products, each (outputs, values)."""

    def constants(self) -> tuple[Tensor, ...]:
        """What `advance` needs besides, each (values,)."""
        return ()

    @abstractmethod
    def advance(
        self,
        projected: Values,
        state: tuple[Values, ...],
        products: Sequence[Callable[[Values], Values]],
        constants: Sequence[Values],
        functions: Functions,
    ) -> tuple[Values, tuple[Values, ...]]:
        """The equation of one step.

        It changes none of its arguments, and returns no view of `projected`, which the next step
        overwrites. No axis but the last has a meaning here: in training the others are (1, batch),
        in cached inference directions and batch.

        Args:
            projected: (..., gates x hidden) input product of the step, with the bias.
            state: of the step before, (..., values) for each of `memories`.
            products: with each of `recurrent_weights`: (..., values) -> (..., outputs).
            constants: broadcast over all axes but the last.
            functions: of torch or NumPy.

        Returns:
            (..., hidden), and the state after the step.
        """

    def project(self, inputs: Tensor) -> Tensor:
        """Input products with the bias, (..., inputs) -> (..., gates x hidden)."""
        return nn.functional.linear(inputs, self.weight_ih, self.bias)

    def forward(self, inputs: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """As described in `Network`."""
        # (batch, time, inputs) -> (time, 1, batch, gates x hidden): each step is one piece of
        # memory, and has an axis of directions as in cached inference.
        projected = self.project(inputs.transpose(0, 1)).unsqueeze(1)
        if state is None:
            # In the weights' own type, also where mixed precision computes with fewer bits.
            state = tuple(
                self.weight_ih.new_zeros(1, len(inputs), values) for values in self.memories
            )
        assert isinstance(state, tuple)
        advance = self._steps().advance
        states = []
        for given in projected.unbind(0):
            output, state = advance(given, state)
            states.append(output)
        # time of (1, batch, hidden) -> (batch, time, hidden)
        return torch.cat(states).transpose(0, 1), state

    def steps(self) -> Steps | None:
        """As described in `Network`."""
        return self._steps()

    def take_activation(self, options: CellOptions) -> None:
        """Use the activation of the options, in a cell without gates."""
        self.is_relu = options.activation == "relu"
        self.bounded = self.bounded and not self.is_relu

    def _functions(self, functions: Functions) -> Functions:
        """The same, with the activation of the cell."""
        return replace(functions, activation=functions.relu) if self.is_relu else functions

    def _steps(self) -> Steps:
        functions = self._functions(TORCH)
        products = [partial(nn.functional.linear, weight=u) for u in self.recurrent_weights()]
        constants = self.constants()

        def advance(
            projected: Tensor, state: tuple[Tensor, ...]
        ) -> tuple[Tensor, tuple[Tensor, ...]]:
            return self.advance(projected, state, products, constants, functions)

        return Steps(self.memories, self.project, advance)

    def recurrence(self) -> Recurrence:
        """As described in `Network`."""
        weights = Weights(self.weight_ih, self.bias, self.recurrent_weights(), self.constants())
        return Recurrence(self.hidden, self.bounded, weights, self._read, self._read_packed)

    def _read(
        self, inputs: StepInputs, products: Sequence[Product], constants: Sequence[Tensor]
    ) -> Tensor:
        """States, as `Recurrence.read` describes it."""
        leading = inputs.shape[:2]  # (directions, batch)
        states = torch.empty(inputs.time, *leading, self.hidden)
        state = tuple(torch.zeros(*leading, values) for values in self.memories)
        of_states, functions = [product.of for product in products], self._functions(CACHED)
        for t in range(inputs.time):
            states[t], state = self.advance(inputs.at(t), state, of_states, constants, functions)
        return states

    def _read_packed(
        self,
        inputs: Floats,
        sizes: Sequence[int],
        recurrent: Sequence[Floats],
        constants: Sequence[Floats],
        states: Floats,
    ) -> None:
        """States, as `Recurrence.read_packed` describes it."""
        directions = states.shape[1]
        state = tuple(
            np.zeros((sizes[0], directions, values), states.dtype) for values in self.memories
        )
        products = [partial(_product, weights=weights) for weights in recurrent]
        functions = self._functions(NUMPY)
        start = 0
        for size in sizes:
            if size < len(state[0]):  # the shortest sequences have ended; they are the last rows
                state = tuple(memory[:size] for memory in state)
            step = slice(start, start + size)
            states[step], state = self.advance(inputs[step], state, products, constants, functions)
            start = step.stop


def fresh_input_weights(gates: int, hidden: int, inputs: int) -> nn.Parameter:
    """(gates x hidden, inputs), each gate by itself as Glorot and Bengio 2010, eq. 16."""
    weights = torch.empty(gates * hidden, inputs)
    for gate in weights.chunk(gates):
        nn.init.xavier_uniform_(gate)
    return nn.Parameter(weights)


def fresh_recurrent_weights(
    gates: int, hidden: int, options: CellOptions, gain: float = 1
) -> nn.Parameter:
    """(gates x hidden, hidden), each gate by itself as `options` say, times `gain`."""
    weights = torch.empty(gates * hidden, hidden)
    for gate in weights.chunk(gates):
        fill_recurrent(gate, options, gain)
    return nn.Parameter(weights)


def _product(states: Floats, weights: Floats) -> Floats:
    # (size, directions, values) x (directions, values, outputs) -> (size, directions, outputs)
    found: Floats = np.matmul(states.swapaxes(0, 1), weights).swapaxes(0, 1)
    return found
