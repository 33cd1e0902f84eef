"""A decoder: a recurrent network that writes a sequence, given the states of an encoder.

    s[i] = g(y[i-1], s[i-1], c)             g a stack of recurrent cells of any kind
    a[i] = tanh(W [s[i]; c[i]])             what it looks at beside its state, where there is any
    p(y[i] | y[1..i-1], x) = softmax(U a[i])

(Jurafsky and Martin 2024, section 13.7, eqs. 13.32 and 13.33; Goodfellow, Bengio and Courville,
sections 10.2.4 and 10.4, fig. 10.12.) The context c is the final state of the encoder, and reaches
the decoder in the three ways of section 10.2.4 (fig. 10.9): as its initial state, as an input of
every step, or as both.

With attention c[i] is a mean of the encoder's states, whose weights s[i] decides (`attention.py`;
Luong et al. 2015). Jurafsky and Martin 2024, eq. 13.34, have s[i] = g(y[i-1], s[i-1], c[i]) with
c[i] from s[i-1]: the same context, one step later. With `input_feeding` a[i-1], which has it, is an
input of step i (Luong et al. 2015, section 3.3), so that both say what the book's equation says;
without it no step waits for the attention of the step before, and all of them are computed at once.

With `copy` a unit is generated or copied from the source (See et al. 2017):

    p(y) = g softmax(U a)[y] + (1 - g) sum over j with x[j] = y of weights[j],  g = sigmoid(w . a)

so that symbols which no vocabulary has can be written: those of the source that are no unit have an
id of their own, behind all units, by their place in it.

A string ends in one of the three ways of Goodfellow, Bengio and Courville, section 10.2.3: with a
unit, by a logistic unit that takes that unit's place, or after as many units as were predicted
before the first (`nn/softmax/length.py`), of which each step knows how many remain.

Several decoders write one string by the mean of their probabilities (Hansen and Salamon 1990;
Goodfellow, Bengio and Courville, section 7.11).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from tagkit.nn.cells import CELLS
from tagkit.nn.decoder import END_ID, NOT_COPIED, UNKNOWN_ID
from tagkit.nn.decoder.attention import ATTENTIONS, Attention
from tagkit.nn.generation.step import State, StepOutput, select_rows
from tagkit.nn.padding import zero_padding
from tagkit.nn.recurrence.cell import CellOptions
from tagkit.nn.recurrence.weights import fresh_linear
from tagkit.nn.softmax.length import LengthEnd, best_lengths, ended

_LEAST = 1e-20  # a probability below it counts as this one: a copied unit may have none at first


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderOptions:
    """What a decoder is built of.

    Attributes:
        cell: a row of `CELLS`.
        cell_options: of it.
        units: number of ids that can be written.
        dim: of their embedding.
        memory: size of a state of the encoder.
        hidden: units of a layer.
        layers: their number.
        context: how the encoder's final state reaches the decoder.
        attention: a row of `ATTENTIONS`, or "none".
        input_feeding: whether what a step looked at is an input of the next.
        copy: whether units may be copied; needs attention.
        end: how a string ends; with "halt" and "length" the end is no unit of the softmax.
        tied: whether the softmax has the weights of the embedding.
        dropout: probability that a value between two layers is dropped.
    """

    cell: str
    cell_options: CellOptions
    units: int
    dim: int
    memory: int
    hidden: int
    layers: int
    context: Literal["initial", "every-step", "both"]
    attention: str
    input_feeding: bool
    copy: bool
    end: Literal["symbol", "halt", "length"]
    tied: bool
    dropout: float


@dataclass(frozen=True, slots=True)
class Memory:
    """What a decoder knows of the sources of a batch.

    Attributes:
        states: (batch, time, memory) of the encoder, zero on padding.
        final: (batch, memory) its final states.
        mask: (batch, time) bool, True on real symbols.
        keys: what the attention computes of the states once.
        copies: (batch, time) int64 the unit that each symbol means, which may be an id behind all
            units, or `NOT_COPIED`; None where nothing is copied.
    """

    states: Tensor
    final: Tensor
    mask: Tensor
    keys: Tensor
    copies: Tensor | None

    def select(self, rows: Tensor) -> "Memory":
        """That of some sources, in their order."""
        copies = None if self.copies is None else self.copies[rows]
        states, keys = self.states[rows], self.keys[rows]
        return Memory(states, self.final[rows], self.mask[rows], keys, copies)


class Decoder(nn.Module):
    """A stack of recurrent cells, attention, and a softmax over units.

    Attributes:
        features: size of a[i].
    """

    def __init__(self, options: DecoderOptions) -> None:
        """Fresh weights.

        Raises:
            ValueError: it is to copy without attention, or dot products of states of two sizes.
        """
        super().__init__()
        self.options = options
        attends = options.attention != "none"
        if options.copy and not attends:
            raise ValueError("copying needs attention")
        self.embedding = nn.Embedding(options.units, options.dim)
        nn.init.xavier_uniform_(self.embedding.weight)  # Glorot and Bengio 2010, eq. 16
        self.features = options.dim if options.tied else options.hidden
        self.every_step = options.context != "initial"
        inputs = options.dim + options.memory * self.every_step
        inputs += self.features * options.input_feeding
        build = CELLS[options.cell].build
        layers = [
            build(options.hidden if number else inputs, options.hidden, options.cell_options)
            for number in range(options.layers)
        ]
        self.layers = nn.ModuleList(layers)
        # What each layer carries; a value that is no state, such as a clock, begins at 0.
        self._carried = [
            _carried_by(layer, options.hidden if number else inputs)
            for number, layer in enumerate(layers)
        ]
        self.initial = None
        if options.context != "every-step":
            wanted = sum(each.shape[2] == options.hidden for each in _tensors(self._carried))
            self.initial = fresh_linear(options.memory, options.hidden, wanted)
        self.attention: Attention | None = None
        if attends:
            build_attention = ATTENTIONS[options.attention]
            self.attention = build_attention(options.hidden, options.memory, options.hidden)
        looked_at = options.memory * (attends or self.every_step)
        self.read_out = fresh_linear(options.hidden + looked_at, self.features)
        self.output = fresh_linear(self.features, options.units)
        if options.tied:
            self.output.weight = self.embedding.weight
        self.generates = fresh_linear(self.features, 1) if options.copy else None
        self.halt = fresh_linear(self.features, 1) if options.end == "halt" else None
        self.length = None
        if options.end == "length":
            self.length = LengthEnd(given=options.memory, dim=options.dim)
        self.dropout = nn.Dropout(options.dropout)

    def memory(
        self, states: Tensor, final: Tensor, mask: Tensor, copies: Tensor | None = None
    ) -> Memory:
        """What is known of the sources of a batch; arguments as the attributes of `Memory`."""
        # A NaN on padding would reach all steps through a product with a weight of 0.
        states = zero_padding(states, mask)
        keys = states if self.attention is None else self.attention.keys(states)
        return Memory(states, final, mask, keys, copies if self.options.copy else None)

    def begin(self, memory: Memory, rows: int = 1, units: Tensor | None = None) -> State:
        """The state before the first step.

        Args:
            memory: of the sources.
            rows: number of sequences of each source.
            units: (batch x rows,) number of units of each, where a length ends them.
        """
        batch = len(memory.final)
        values: list[Tensor] = []
        if self.initial is not None:
            # (batch, memory) -> wanted of (1, batch, hidden)
            found = torch.tanh(self.initial(memory.final)).unsqueeze(0)
            values = [*found.chunk(found.shape[2] // self.options.hidden, dim=2)]

        def first(carried: Tensor) -> Tensor:
            size = carried.shape[2]
            if values and size == self.options.hidden:
                return values.pop(0).contiguous()
            return memory.final.new_zeros(1, batch, size)

        layers = [_mapped(carried, first) for carried in self._carried]
        fed = None
        if self.options.input_feeding:
            fed = memory.final.new_zeros(1, batch, self.features)
        weights = None
        if self.attention is not None:
            weights = self.attention.begin(memory.mask, 1)
            if weights is not None:
                weights = weights.transpose(0, 1)  # (1, batch, places + time)
        state: State = (tuple(layers), fed, weights)
        if rows > 1:
            each = torch.arange(batch, device=memory.final.device).repeat_interleave(rows)
            state = select_rows(state, each)
        assert isinstance(state, tuple)
        # (batch x rows,) -> (1, batch x rows, 1)
        return (*state, None if units is None else units.view(1, -1, 1))

    def forward(self, memory: Memory, ids: Tensor, state: State) -> tuple[Tensor, State]:
        """What follows from units that are known, such as the gold ones (teacher forcing).

        Args:
            memory: of the sources.
            ids: (batch x rows, steps) units that are read; `rows` sequences a source follow each
                other.
            state: before the first of them.

        Returns:
            (batch x rows, steps, features) a[i] after dropout, and the state after the last step,
            which has the weights of all steps, (steps, batch x rows, places + time), in place of
            those of one.
        """
        assert isinstance(state, tuple)
        before, remaining = state[:3], state[3]
        embedded = self.embedding(ids)  # (batch x rows, steps, dim)
        if self.length is not None:
            assert isinstance(remaining, Tensor)
            # (1, batch x rows, 1) -> (batch x rows, steps) before each step
            ahead = remaining[0] - torch.arange(ids.shape[1], device=ids.device)
            embedded = embedded + self.length(ahead)
            remaining = remaining - ids.shape[1]
        features, after = self._written(memory, self.dropout(embedded), before)
        assert isinstance(after, tuple)
        return features, (*after, remaining)

    def _written(self, memory: Memory, embedded: Tensor, state: State) -> tuple[Tensor, State]:
        """The same for units whose vectors are known, (batch x rows, steps, dim)."""
        rows = len(embedded)
        if self.every_step:
            context = memory.final.repeat_interleave(rows // len(memory.final), dim=0)
            context = context.unsqueeze(1).expand(-1, embedded.shape[1], -1)
            embedded = torch.cat((embedded, context), 2)
        if not self.options.input_feeding:
            return self._read(memory, embedded, state)
        found, weights = [], []
        for step in torch.split(embedded, 1, dim=1):
            assert isinstance(state, tuple)
            fed = state[1]
            assert isinstance(fed, Tensor)
            # (1, rows, features) -> (rows, 1, features)
            features, after = self._read(memory, torch.cat((step, fed.transpose(0, 1)), 2), state)
            assert isinstance(after, tuple)
            state = (after[0], features.transpose(0, 1), after[2])
            found.append(features)
            weights.append(after[2])
        if self.attention is None:
            return torch.cat(found, 1), state
        assert isinstance(state, tuple)
        return torch.cat(found, 1), (state[0], state[1], torch.cat(_tensors(weights)))

    def _read(self, memory: Memory, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        """a[i] of steps whose inputs are known, (rows, steps, inputs)."""
        assert isinstance(state, tuple)
        before, fed, weights = state
        assert isinstance(before, tuple)
        carried = []
        states = inputs
        for number, layer in enumerate(self.layers):
            states, after = layer(self.dropout(states) if number else states, before[number])
            carried.append(after)
        # (batch x rows, steps, hidden) -> (batch, rows x steps, hidden): queries of one source
        rows, steps, _ = states.shape
        batch = len(memory.final)
        looked_at = None
        if self.attention is not None:
            queries = states.reshape(batch, -1, states.shape[2])
            found = self._weights(memory, queries, weights, steps)
            mean = found[..., self.attention.places :] @ memory.states
            looked_at = mean.view(rows, steps, -1)
            # (batch, rows x steps, places + time) -> (steps, batch x rows, places + time)
            weights = found.view(rows, steps, -1).transpose(0, 1)
        elif self.every_step:
            looked_at = memory.final.repeat_interleave(rows // batch, dim=0)
            looked_at = looked_at.unsqueeze(1).expand(-1, steps, -1)
        both = states if looked_at is None else torch.cat((states, looked_at), 2)
        features = self.dropout(torch.tanh(self.read_out(both)))
        return features, (tuple(carried), fed, weights)

    def _weights(self, memory: Memory, queries: Tensor, before: State, steps: int) -> Tensor:
        """(batch, rows x steps, places + time) weights of attention."""
        attention = self.attention
        assert attention is not None
        if not attention.follows:
            found: Tensor = attention(queries, memory.keys, memory.mask, None)
            return found
        assert isinstance(before, Tensor)
        batch, _, size = queries.shape
        # Of the step before: (1, batch x rows, places + time) -> (batch, rows, places + time)
        weights = before[-1].reshape(batch, -1, before.shape[2])
        each = []
        for query in queries.view(batch, -1, steps, size).unbind(2):  # (batch, rows, hidden)
            weights = attention(query, memory.keys, memory.mask, weights)
            each.append(weights)
        return torch.stack(each, 2).flatten(1, 2)

    def scores(self, features: Tensor) -> Tensor:
        """Scores of all units: a softmax of them is what is generated.

        Where a logistic unit decides on the end they are log probabilities: h of the end, and
        (1 - h) softmax(U a) of all other units; where a length does, that of the end is minus
        infinity.

        Args:
            features: (..., features).

        Returns:
            (..., units).
        """
        scores: Tensor = self.output(features)
        if self.options.end == "symbol":
            return scores
        is_end = torch.arange(self.options.units, device=scores.device) == END_ID
        others = scores.masked_fill(is_end, -torch.inf)
        if self.halt is None:
            return others
        halt = self.halt(features)  # (..., 1)
        others = others.log_softmax(-1)
        goes_on = nn.functional.logsigmoid(-halt)
        return torch.where(is_end, nn.functional.logsigmoid(halt), goes_on + others)

    def log_probs(self, memory: Memory, features: Tensor, weights: State) -> Tensor:
        """Log probabilities of all units, and where units are copied of all ids behind them.

        Args:
            memory: of the sources.
            features: (batch x rows, steps, features).
            weights: (steps, batch x rows, places + time) of attention.

        Returns:
            (batch x rows, steps, units), or (batch x rows, steps, units + time).
        """
        scores = self.scores(features)
        if memory.copies is None:
            return scores.log_softmax(2)
        assert self.attention is not None
        assert self.generates is not None
        assert isinstance(weights, Tensor)
        # (steps, batch x rows, places + time) -> (batch x rows, steps, time)
        weights = weights.transpose(0, 1)[..., self.attention.places :]
        generated = torch.sigmoid(self.generates(features))
        copies = memory.copies.repeat_interleave(len(features) // len(memory.copies), dim=0)
        usable = (copies != NOT_COPIED).unsqueeze(1)
        weights = torch.where(usable, weights, 0)
        # What falls on symbols that cannot be copied is left to the softmax.
        share = (1 - generated) * weights
        rest = 1 - share.sum(2, keepdim=True)
        probs = nn.functional.pad(scores.softmax(2) * rest, (0, copies.shape[1]))
        places = copies.clamp(min=0).unsqueeze(1).expand_as(weights)
        found = probs.scatter_add(2, places, share).clamp(min=_LEAST).log()
        # Impossible: the end where a length decides on it, and behind all units what no symbol is.
        possible = torch.ones_like(found[:, 0], dtype=torch.bool)
        possible[:, self.options.units :] = False
        possible = possible.scatter(1, copies.clamp(min=UNKNOWN_ID), True)
        possible[:, END_ID] = self.length is None
        return found.masked_fill(~possible.unsqueeze(1), -torch.inf)


@dataclass(slots=True)
class StepwiseDecoder:
    """A decoder as a search reads it, in all sources of a batch at once.

    Attributes:
        decoder: without dropout.
        memory: of the sources that are still read.
    """

    decoder: Decoder
    memory: Memory

    def __call__(self, ids: Tensor, state: State) -> StepOutput:
        """Read a unit in each row, (sources x rows,); those of one source follow each other."""
        units = self.decoder.options.units
        # Of a copied symbol that is no unit the network knows that it is unknown.
        known = torch.where(ids < units, ids, UNKNOWN_ID)
        assert isinstance(state, tuple)
        remaining = state[3]
        features, state = self.decoder(self.memory, known.unsqueeze(1), state)
        assert isinstance(state, tuple)
        log_probs = self.decoder.log_probs(self.memory, features, state[2]).squeeze(1)
        if isinstance(remaining, Tensor):
            log_probs = ended(log_probs, remaining[0] <= 0, END_ID)
        weights = state[2]
        attention = self.decoder.attention
        if attention is not None:
            assert isinstance(weights, Tensor)
            weights = weights[0][:, attention.places :]
        return StepOutput(log_probs, state, None, weights if isinstance(weights, Tensor) else None)

    def keep(self, sources: Tensor) -> "StepwiseDecoder":
        """The same of some sources, by their places."""
        return replace(self, memory=self.memory.select(sources))


@dataclass(frozen=True, slots=True)
class JointDecoder:
    """Several decoders that write one string."""

    members: tuple[StepwiseDecoder, ...]

    def __call__(self, ids: Tensor, state: State) -> StepOutput:
        """As of `StepwiseDecoder`; the state is a tuple of those of the members."""
        assert isinstance(state, tuple)
        found = [each(ids, one) for each, one in zip(self.members, state, strict=True)]
        weights = [each.weights for each in found if each.weights is not None]
        return StepOutput(
            mean_of([each.log_probs for each in found]),
            tuple(each.state for each in found),
            None,
            torch.stack(weights).mean(0) if weights else None,
        )

    def keep(self, sources: Tensor) -> "JointDecoder":
        """The same of some sources, by their places."""
        return JointDecoder(tuple(each.keep(sources) for each in self.members))

    def begin(
        self, least: Sequence[int], most: Sequence[int], beam: int
    ) -> tuple[State, Tensor | None, list[int]]:
        """What `nn/search/strings.py` begins with.

        Args:
            least: units of the strings of each source.
            most: likewise.
            beam: number of hypotheses.

        Returns:
            The state, what is known of the hypotheses, and after how many steps each source ends.
        """
        lengths = [
            each.decoder.length.log_probs(each.memory.final, max(most))
            for each in self.members
            if each.decoder.length is not None
        ]
        if not lengths:
            return tuple(each.decoder.begin(each.memory) for each in self.members), None, [*most]
        units, log_probs = best_lengths(mean_of(lengths), least, most, beam)
        state = tuple(
            each.decoder.begin(each.memory, units.shape[1], units.flatten())
            for each in self.members
        )
        # One step more, in which the end comes.
        return state, log_probs, [each + 1 for each in most]


def mean_of(log_probs: Sequence[Tensor]) -> Tensor:
    """The logarithm of the mean of probabilities, of tensors of one shape."""
    if len(log_probs) == 1:
        return log_probs[0]
    return torch.stack([*log_probs]).logsumexp(0) - math.log(len(log_probs))


def _carried_by(layer: nn.Module, inputs: int) -> State:
    """What a recurrent layer carries after a step, of one row, for its shapes."""
    with torch.no_grad():
        found: State = layer(torch.zeros(1, 1, inputs))[1]
    return found


def _mapped(state: State, change: Callable[[Tensor], Tensor]) -> State:
    """A state with other tensors, in their order."""
    if isinstance(state, Tensor):
        return change(state)
    return None if state is None else tuple(_mapped(each, change) for each in state)


def _tensors(states: Sequence[State]) -> list[Tensor]:
    """The tensors of states, in their order."""
    found: list[Tensor] = []
    for state in states:
        found += [state] if isinstance(state, Tensor) else _tensors(state or ())
    return found
