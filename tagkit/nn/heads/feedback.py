"""The feedback head: a recurrent decoder that reads the tag before.

    s[t] = cell(s[t-1], [h[t]; E y[t-1]]),  s[-1] = 0
    p(y[t] | y[0], ..., y[t-1], x) = softmax(W [s[t]; h[t]] + b)
    p(y | x) = product over t of p(y[t] | y[0], ..., y[t-1], x)

with h the encoder's states and E an embedding of tags, which has one more row for the beginning of
a sentence. It is a recurrent network with connections from the output before to the current state,
conditioned on a sequence of the same length (Goodfellow, Bengio and Courville, section 10.2.4 and
fig. 10.10; Jurafsky and Martin, "RNNs and LSTMs", section on the encoder-decoder model, where the
target has a length of its own). The product is the chain rule, so a path's probability is exact,
and unlike a CRF's it depends on the whole history, not on the tag before alone.

Training reads gold tags, teacher forcing (Goodfellow, Bengio and Courville, section 10.2.1, eqs.
10.15-10.16 and fig. 10.6): they are known beforehand, so that the decoder reads the whole batch in
one pass. With scheduled sampling (`sampling.py`) it reads some of its own tags, which takes a pass
token by token; no gradient goes through their choice.

Decoding is a beam search (`beam.py`) over cached products (`DecoderSteps`). Where the scheme
forbids tags, the others share all of the probability at each token, so that the probabilities of
legal paths sum to 1; a tag is forbidden too if no legal path goes on from it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from tagkit.nn.cells import CELLS
from tagkit.nn.crf.confidence import PathConfidence
from tagkit.nn.heads.softmax import weighted_cross_entropy
from tagkit.nn.heads.tag_space import TagSpace
from tagkit.nn.heads.tagging import Head
from tagkit.nn.heads.temperature import UNCALIBRATED
from tagkit.nn.padding import weight_of_tokens, zero_padding
from tagkit.nn.recurrence.weights import fresh_linear
from tagkit.nn.search.beam import beam_confidence, beam_search, path_log_probs

# Hypotheses from which probabilities are computed, if decoding keeps fewer: a greedy search has a
# single one, which says nothing of the others.
_CONFIDENCE_BEAM = 16
_START = 0  # row of the embedding that stands for the tag before the first; tag k has row k + 1

# What a network carries to its next step: h, or h and c, each (1, rows, hidden).
_Carried = Tensor | tuple[Tensor, ...] | None
# Arrays of NumPy, or tensors, (rows, features).
Array = Any
State = tuple[Array, ...]  # h, or h and c, (rows, hidden) each


# A decoder read step by step, with the products of its inputs computed beforehand.
#
# The input of a step is [h[t]; E y[t-1]]. As W [a; b] = W_a a + W_b b, the part of the encoder's
# states is one product for all tokens, and that of the tags a table with a row for each tag: a step
# adds a row of each, and its only products are those of the decoder's own state. With torch's
# network called token by token, greedy search of one sentence took several times as long.
#
# The equations are those of `nn/cells/`, in torch's order of gates. They are written once for
# tensors and for arrays: of few rows NumPy's calls cost a quarter of torch's.
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


class FeedbackHead(Head):
    """Each tag given all tags before it."""

    constrained_by_default: ClassVar[bool] = True

    def __init__(self, space: TagSpace) -> None:
        """With `space.constrain_training` forbidden tags have no part in the loss either."""
        super().__init__(space)
        options = space.feedback
        self.cell = options.cell
        self.beam = options.beam
        self.sampling = options.sampling
        self.constrain_training = space.constrain_training
        # The row of the start is the first: where a later model adds tags, rows keep their place.
        self.embedding = nn.Embedding(space.tags + 1, options.tag_dim)
        nn.init.xavier_uniform_(self.embedding.weight)  # Glorot and Bengio 2010, eq. 16
        self.decoder = CELLS[options.cell].build(
            space.inputs + options.tag_dim, options.hidden, options.cell_options
        )
        # (..., hidden + inputs) -> (..., tags)
        self.linear = fresh_linear(options.hidden + space.inputs, space.tags)

    def _loss(
        self, states: Tensor, mask: Tensor, targets: Tensor, weights: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Cross-entropy, summed over tokens, and their number."""
        # A NaN on padding would turn the decoder's gradient NaN even where its own gradient is 0.
        states = zero_padding(states, mask)
        # Dev's loss is that of the gold history: -log p(y | x), in which nothing is drawn.
        probability = self.sampling.probability(self.step) if self.training else 0.0
        if probability:
            scores = self._sampled_scores(states, mask, targets, probability)[mask]
        else:
            rows = _rows_before(targets)
            read = torch.cat((states, self.embedding(rows)), dim=2)
            decoded = self.decoder(read)[0]  # one pass: (batch, time, hidden)
            # (batch, time, hidden + inputs) -> (tokens, hidden + inputs) -> (tokens, tags)
            scores = self.linear(torch.cat((decoded, states), dim=2)[mask])
            if self.constrain_training:
                illegal = self._illegal_after()[rows] + self._illegal_ends(mask)
                scores = _restricted(scores, illegal[mask], targets[mask])
        # - sum over tokens of w[y] log p(y | tags before, x)
        total = weighted_cross_entropy(
            scores,
            targets[mask],
            self.tag_weights,
            None if weights is None else weight_of_tokens(weights, mask),
        )
        return total, mask.sum()

    def _sampled_scores(
        self, states: Tensor, mask: Tensor, targets: Tensor, probability: float
    ) -> Tensor:
        """(batch, time, tags), where each tag before is with `probability` one that was drawn."""
        batch, time, _ = states.shape
        after, ends = self._illegal_after(), self._illegal_ends(mask)
        drawn_here = torch.rand(batch, time, device=states.device) < probability
        # The largest of log p + g is a draw from p if each g is -log of an exponential number
        # (Gumbel 1954; torch.multinomial would end the run where a loss is not finite).
        noise = torch.empty(batch, time, self.linear.out_features, device=states.device)
        noise.exponential_().log_().neg_()
        rows = torch.full_like(targets[:, 0], _START)
        carried: _Carried = None
        found = []
        for t, state in enumerate(states.unbind(1)):  # (batch, inputs) each
            scores, carried = self._step(state, rows, carried)
            if self.constrain_training:
                scores = _restricted(scores, after[rows] + ends[:, t], targets[:, t])
            found.append(scores)
            drawn = (scores.detach() + noise[:, t]).argmax(1)
            rows = torch.where(drawn_here[:, t], drawn, targets[:, t]) + 1
        return torch.stack(found, dim=1)

    def _step(self, state: Tensor, rows: Tensor, carried: _Carried) -> tuple[Tensor, _Carried]:
        """Scores of the tags of one token, (rows, tags), and what the decoder carries on.

        Args:
            state: (rows, inputs) of the encoder.
            rows: (rows,) of the embedding, of the tag before.
            carried: from the call before; None at the first token.
        """
        read = torch.cat((state, self.embedding(rows)), dim=1)
        decoded, carried = self.decoder(read.unsqueeze(1), carried)  # a sequence of one token
        return self.linear(torch.cat((decoded.squeeze(1), state), dim=1)), carried

    def _decode(self, states: Tensor, mask: Tensor) -> Tensor:
        steps = self._products(states, mask)
        if self.beam == 1 and not mask.is_cuda:
            return greedy(steps, _START, mask)
        # (batch, 1, time) -> (batch, time)
        return beam_search(_Decoding(steps), mask, self.beam, 1)[0].squeeze(1)

    def _confidence(
        self, states: Tensor, mask: Tensor, tag_ids: Tensor, continuation: Tensor
    ) -> PathConfidence:
        decoding = _Decoding(self._products(states, mask), self.temperature)
        beam = max(self.beam, _CONFIDENCE_BEAM)
        return beam_confidence(decoding, mask, beam, tag_ids, continuation)

    def _n_best(self, states: Tensor, mask: Tensor, count: int) -> tuple[Tensor, Tensor]:
        steps = self._products(states, mask)
        paths, log_probs = beam_search(_Decoding(steps), mask, max(self.beam, count), count)
        if self.temperature != UNCALIBRATED:  # which changes no order
            exists = ~torch.isneginf(log_probs)
            found = path_log_probs(_Decoding(steps, self.temperature), mask, paths)
            log_probs = torch.where(exists, found, log_probs)
        return paths.cpu(), log_probs.cpu()

    @torch.no_grad()
    def _products(self, states: Tensor, mask: Tensor) -> DecoderSteps:
        return decoder_steps(
            self.cell,
            self.decoder,
            self.linear,
            self.embedding.weight,
            zero_padding(states, mask),
            self._illegal_after(),
            self._illegal_ends(mask),
        )

    def _illegal_after(self) -> Tensor:
        """(rows of the embedding, tags) minus infinity where a tag may not follow, else 0."""
        return torch.cat((self.illegal_start.unsqueeze(0), self.illegal_transitions))

    def _illegal_ends(self, mask: Tensor) -> Tensor:
        """(batch, time, tags) minus infinity where no legal path goes on from a tag, else 0."""
        time = mask.shape[1]
        # By the number of tokens that follow: a tag without any needs a legal end, another a legal
        # step to a tag that goes on itself.
        rows = [self.illegal_end]
        while len(rows) < time:
            # (before, after) + (after,) -> (before,)
            row = (self.illegal_transitions + rows[-1]).amax(1)
            if torch.equal(row, rows[-1]):
                break  # and so are all further ones
            rows.append(row)
        following = mask.sum(1, keepdim=True) - 1 - torch.arange(time, device=mask.device)
        return torch.stack(rows)[following.clamp(min=0, max=len(rows) - 1)]


class _Decoding:
    """A batch's sentences, read step by step: `Advance` of a beam search."""

    def __init__(self, steps: DecoderSteps, temperature: float = UNCALIBRATED) -> None:
        self._steps = steps
        self._temperature = temperature
        self._state: State = ()

    def __call__(self, time: int, tags: Tensor | None, parents: Tensor) -> Tensor:
        """As `Advance` describes it."""
        batch, count = parents.shape
        if tags is None:
            rows, self._state = torch.full_like(parents, _START), self._steps.begin(batch)
        else:
            rows = tags + 1
            # Number of each parent among all hypotheses of the call before.
            width = len(self._state[0]) // batch
            start = torch.arange(batch, device=parents.device).unsqueeze(1) * width
            chosen = (parents + start).flatten()
            self._state = tuple(part.index_select(0, chosen) for part in self._state)
        # Those of each sentence for each of its hypotheses: (batch x hypotheses, ...)
        of_states, scores = (
            part[:, time].repeat_interleave(count, dim=0)
            for part in (self._steps.of_states, self._steps.scores)
        )
        found, self._state = self._steps.advance(of_states, scores, rows.flatten(), self._state)
        # (batch x hypotheses, tags) -> (batch, hypotheses, tags)
        return torch.log_softmax(found.view(batch, count, -1) / self._temperature, dim=2)


def _rows_before(targets: Tensor) -> Tensor:
    """(batch, time) rows of the embedding: of each token the tag before."""
    # y[t] -> y[t-1]: one to the right, with the start in front
    return nn.functional.pad(targets[:, :-1] + 1, (1, 0), value=_START)


def _restricted(scores: Tensor, illegal: Tensor, gold: Tensor) -> Tensor:
    """Scores with minus infinity for forbidden tags, but never for the gold one.

    A corpus may break its own scheme, and one such step would make the loss infinite.
    """
    # (rows, tags), and the gold tags as (rows, 1)
    return scores + illegal.scatter(1, gold.unsqueeze(1), 0.0)


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
