"""A decoder read step by step, with the products of its inputs computed beforehand.

The input of a step is [h[t]; E y[t-1]]. As W [a; b] = W_a a + W_b b, the part of the encoder's
states is one product for all tokens, and that of the tags a table with a row for each tag: a step
adds a row of each, and its only products are those of the decoder's own state. With torch's network
called token by token, greedy search of one sentence took several times as long.

The equations are those of `nn/cells/`, in torch's order of gates. They are written once for tensors
and for arrays: of few rows NumPy's calls cost a quarter of torch's.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

# Arrays of NumPy, or tensors, (rows, features).
Array = Any
State = tuple[Array, ...]  # h, or h and c, (rows, hidden) each


# Each step has the arguments
#   given    (rows, gates x hidden) W [h[t]; E y[t-1]] and its bias
#   product  (rows, gates x hidden) U s[t-1] and its bias
#   state    s[t-1]; for the LSTM also c[t-1]
# with the gates side by side, in the order of torch's weights. The two are not added beforehand:
# the GRU's reset gate multiplies a part of `product` alone.


def _gru(tanh: Callable[[Array], Array], given: Array, product: Array, state: State) -> State:
    (before,) = state
    hidden = before.shape[1]
    # torch's order is r, z, n.
    # sigmoid(a) = (1 + tanh(a / 2)) / 2: NumPy has no sigmoid. r and z, (rows, 2 x hidden)
    gates = (1 + tanh((given[:, : 2 * hidden] + product[:, : 2 * hidden]) / 2)) / 2
    # n = tanh(W x + b + r * (U h + b')): r is applied after the product, as in torch and cuDNN; Cho
    # et al. 2014 apply it to h before.
    new = tanh(given[:, 2 * hidden :] + gates[:, :hidden] * product[:, 2 * hidden :])
    # (1 - z) n + z h, with one product less
    return (new + gates[:, hidden:] * (before - new),)


def _lstm(tanh: Callable[[Array], Array], given: Array, product: Array, state: State) -> State:
    _, cell = state  # h is in `product` already
    hidden = cell.shape[1]
    total = given + product  # (rows, 4 x hidden): i, f, g, o
    # Of all four, in one call; that of g, which is a tanh, is not used.
    gates = (1 + tanh(total / 2)) / 2
    # c[t] = f c[t-1] + i tanh(g); below h[t] = o tanh(c[t])
    cell = gates[:, hidden : 2 * hidden] * cell + gates[:, :hidden] * tanh(
        total[:, 2 * hidden : 3 * hidden]
    )
    return gates[:, 3 * hidden :] * tanh(cell), cell


def _elman(tanh: Callable[[Array], Array], given: Array, product: Array, state: State) -> State:
    return (tanh(given + product),)


# Of each cell its step, and how many vectors its state has.
STEPS: dict[str, tuple[Callable[..., State], int]] = {
    "gru": (_gru, 1), "lstm": (_lstm, 2), "elman": (_elman, 1)
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DecoderSteps:
    """What the steps of a batch need, as tensors or as arrays.

    Attributes:
        cell: name of the recurrent cell.
        tanh: for these arrays.
        of_states: (batch, time, gates x hidden) input products of the encoder's states, and biases.
        of_tags: (tags before, gates x hidden) input products of the tags before.
        scores: (batch, time, tags) what the encoder's states add to the scores, and biases.
        after: (tags before, tags) added to the scores.
        recurrent: (hidden, gates x hidden).
        bias: (gates x hidden,) of the recurrent product.
        output: (hidden, tags).
    """

    cell: str
    tanh: Callable[[Array], Array]
    of_states: Array
    of_tags: Array
    scores: Array
    after: Array
    recurrent: Array
    bias: Array
    output: Array

    def numpy(self) -> "DecoderSteps":
        """The same as arrays, which share the memory of the tensors."""
        arrays = {
            name: getattr(self, name).numpy()
            for name in ("of_states", "of_tags", "scores", "after", "recurrent", "bias", "output")
        }
        return replace(self, tanh=np.tanh, **arrays)

    def begin(self, rows: int) -> State:
        """The state before the first token, zeros."""
        size = STEPS[self.cell][1]
        hidden = len(self.recurrent)
        if isinstance(self.recurrent, Tensor):
            return (self.recurrent.new_zeros(rows, hidden),) * size
        return (np.zeros((rows, hidden), self.recurrent.dtype),) * size

    def advance(
        self, of_states: Array, scores: Array, before: Array, state: State
    ) -> tuple[Array, State]:
        """Scores of the tags of a token, (rows, tags), and the state after it.

        Args:
            of_states: (rows, gates x hidden) those of the token.
            scores: (rows, tags) those of the token.
            before: (rows,) the tag before.
            state: before the token.
        """
        # (rows, gates x hidden): W [h[t]; E y[t-1]] from its two tables, without a product
        given = of_states + self.of_tags[before]
        # (rows, hidden) @ (hidden, gates x hidden); state[0] is h for every cell
        state = STEPS[self.cell][0](self.tanh, given, state[0] @ self.recurrent + self.bias, state)
        # (rows, tags) + (rows, hidden) @ (hidden, tags) + (rows, tags)
        return scores + state[0] @ self.output + self.after[before], state


@torch.no_grad()
def decoder_steps(
    cell: str,
    network: nn.Module,
    linear: nn.Linear,
    embedded: Tensor,
    states: Tensor,
    after: Tensor,
    ends: Tensor,
) -> DecoderSteps:
    """The products of a batch.

    Args:
        cell: name of the recurrent cell.
        network: of that cell, over [state; tag before].
        linear: over [decoder's state; state].
        embedded: (tags before, tag dim).
        states: (batch, time, inputs) of the encoder.
        after: (tags before, tags) added to the scores.
        ends: (batch, time, tags) added to the scores.
    """
    # (gates x hidden, inputs + tag dim): its columns are cut as its input [state; tag before] is.
    weight, inputs = network.get_parameter("weight_ih_l0"), states.shape[2]
    # (gates x hidden, hidden) in torch; transposed once, not at each step.
    recurrent = network.get_parameter("weight_hh_l0").t()
    hidden = len(recurrent)
    # `linear` is cut alike, but the decoder's state is its first part: (tags, hidden + inputs).
    return DecoderSteps(
        cell=cell,
        tanh=torch.tanh,
        # (batch, time, inputs) -> (batch, time, gates x hidden). Of torch's two biases this one is
        # the input's; that of the recurrent product has to stay beside it, for the GRU's sake.
        of_states=states @ weight[:, :inputs].t() + network.get_parameter("bias_ih_l0"),
        # (tags before, tag dim) -> (tags before, gates x hidden)
        of_tags=embedded @ weight[:, inputs:].t(),
        # (batch, time, inputs) -> (batch, time, tags)
        scores=states @ linear.weight[:, hidden:].t() + linear.bias + ends,
        after=after,
        recurrent=recurrent.detach().contiguous(),
        bias=network.get_parameter("bias_hh_l0").detach(),
        output=linear.weight[:, :hidden].t().detach().contiguous(),
    )


def greedy(steps: DecoderSteps, start: int, mask: Tensor) -> Tensor:
    """The best tag of each token after those that were taken before, on the CPU.

    Args:
        steps: of the batch, on the CPU. Row k + 1 of its tables of tags before is tag k.
        start: the row that stands for the tag before the first.
        mask: (batch, time) bool, True on real tokens.

    Returns:
        (batch, time) int64, 0 on padding.
    """
    arrays = steps.numpy()
    batch, time = mask.shape
    paths = np.zeros((batch, time), dtype=np.int64)
    before, state = np.full(batch, start), arrays.begin(batch)  # (batch,), (batch, hidden) each
    with np.errstate(all="ignore"):  # weights far out of range overflow without a warning in torch
        # Also over padding, in one batch: it is on the right, so nothing real is read after it.
        for t in range(time):
            scores, state = arrays.advance(
                arrays.of_states[:, t], arrays.scores[:, t], before, state
            )
            paths[:, t] = scores.argmax(1)
            before = paths[:, t] + 1  # a row of the tables, not the tag's id
    return torch.from_numpy(paths).masked_fill(~mask, 0)
