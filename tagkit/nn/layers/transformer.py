"""The transformer's encoder: every token attends to all others, or to those before it.

    head_i = softmax(Q_i K_i^T / sqrt(d_k)) V_i,  Q_i = X W_i^Q, K_i = X W_i^K, V_i = X W_i^V
    MultiHead(X) = [head_1; ...; head_heads] W^O,    FFN(x) = max(0, x W_1 + b_1) W_2 + b_2

Vaswani et al. 2017, section 3 (equations 1 and 2); Jurafsky and Martin, chapter "Transformers". A
layer adds each of the two to its input, with layer norms (Ba et al. 2016) in one of two places:

    after    x = LayerNorm(x + MultiHead(x));    x = LayerNorm(x + FFN(x))       Vaswani et al.
    before   x = x + MultiHead(LayerNorm(x));    x = x + FFN(LayerNorm(x))       Xiong et al. 2020

With the norm before, gradients have one scale in all layers, so that training needs no slow start
(Xiong et al. 2020); one more norm follows the topmost layer.

Attention itself knows no order. Positions enter in one of three ways:

    sinusoidal   PE(t, 2i) = sin(t / 10000^(2i/d)), PE(t, 2i+1) = cos(t / 10000^(2i/d)) added to the
                 input of the lowest layer (Vaswani et al. 2017, section 3.5)
    learned      as many trained vectors, added there; tokens beyond the table share its last one
    rotary       each pair of values of a query and of a key is rotated by t * 10000^(-2i/d_k), so
                 that a score depends on the distance of its tokens alone (Su et al. 2021, section
                 3.2)

A causal layer can read a text that goes on where another ended (`carry`): a token attends to itself
and to as many tokens before it as the layer's window has, which `TextMemory` carries on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from tagkit.nn.layers.layer import EncoderLayer, LayerKind, LayerOptions
from tagkit.nn.padding import zero_padding
from tagkit.nn.recurrence.cell import State
from tagkit.nn.recurrence.weights import fresh_linear

_BASE = 10_000.0  # of the wavelengths, which rise from 2 pi to 2 pi times this
_LEAST_BLOCK = 64  # tokens that attend at a time


# What attention carries on from one segment of a text to the next.
#
# Each layer keeps what its attention has read of the last tokens, and the next segment attends to
# these as well as to its own (Transformer-XL: Dai et al. 2019, section 3.2). A token sees itself
# and `window` tokens before it: a window that slides with the token, and not one that begins with
# its segment, so that a text has the same states however it is cut into segments.
#
#     window 2    tokens   a b c | d e f        d sees b c d,  e sees c d e
#                 memory   - -     b c   e f
#
# The memory has room for as many tokens as the window, so that its shape is always the same.
@dataclass(frozen=True, slots=True)
class TextMemory:
    """Tokens that a layer has read, the oldest first; their places in a memory may be empty.

    Attributes:
        states: (batch, tokens, hidden) what the layer's attention reads of each, zeros where empty.
        numbers: (batch, tokens) number of each token in its text, from 1; 0 where empty.
    """

    states: Tensor
    numbers: Tensor

    @classmethod
    def of(cls, state: Tensor | None, inputs: Tensor, hidden: int) -> "TextMemory":
        """What `state` has returned; nothing for None, before `inputs`, (batch, time, ...)."""
        if state is None:
            exact = torch.promote_types(inputs.dtype, torch.float32)  # for the numbers
            empty = inputs.new_zeros(len(inputs), 0, hidden + 1, dtype=exact)
            return cls(empty[..., :-1], empty[..., -1])
        # (window, batch, hidden + 1) -> (batch, window, ...)
        places = state.transpose(0, 1)
        numbers = places[..., -1]
        # A product would keep what is not finite.
        return cls(torch.where((numbers > 0).unsqueeze(2), places[..., :-1], 0), numbers)

    @property
    def filled(self) -> Tensor:
        """(batch, tokens) bool, False where a place is empty."""
        return self.numbers > 0

    @property
    def count(self) -> Tensor:
        """(batch,) int64, how many tokens of the text have been read."""
        if not self.numbers.shape[1]:
            return torch.zeros(len(self.numbers), dtype=torch.int64, device=self.numbers.device)
        return self.numbers[:, -1].long()

    def extended(self, states: Tensor) -> "TextMemory":
        """With further tokens, (batch, time, hidden)."""
        later = torch.arange(1, states.shape[1] + 1, device=states.device)
        numbers = (self.count.unsqueeze(1) + later).to(self.numbers.dtype)
        return TextMemory(
            torch.cat((self.states.to(states.dtype), states), dim=1),
            torch.cat((self.numbers, numbers), dim=1),
        )

    def state(self, window: int) -> Tensor:
        """The last `window` tokens, (window, batch, hidden + 1), as a layer carries them on."""
        numbers = self.numbers[:, -window:].unsqueeze(2)
        states = self.states[:, -window:].to(numbers.dtype)
        last = torch.cat((states, numbers), dim=2).transpose(0, 1)
        # The newest is always the last one: (up to window, ...) -> (window, ...)
        return nn.functional.pad(last, (0, 0, 0, 0, window - len(last), 0)).contiguous()


class TransformerLayer(EncoderLayer):
    """One layer; the lowest brings its inputs to the layers' size and adds their positions."""

    def __init__(
        self,
        *,
        inputs: int,
        hidden: int,
        heads: int,
        feed_forward: int,
        norm: Literal["before", "after"],
        positions: Literal["rotary", "sinusoidal", "learned"],
        max_positions: int,
        causal: bool,
        window: int,
        dropout: float,
        lowest: bool,
        topmost: bool,
    ) -> None:
        """`feed_forward` units between the two products of the feed-forward layer.

        `window` tokens before its own are what a token attends to in `carry`.

        `heads` divide `hidden`, into even parts with rotary positions. `dropout` is that of the
        attention weights, of hidden units of the feed-forward layer, and of what each of the two
        parts adds.
        """
        super().__init__()
        self.heads = heads
        self.causal = causal
        self.window = window
        self.norm_first = norm == "before"
        self.rotary = positions == "rotary"
        self.outputs = hidden
        self.input = fresh_linear(inputs, hidden) if lowest else None
        absolute = Positions(hidden, max_positions if positions == "learned" else 0)
        self.positions = absolute if lowest and not self.rotary else None
        # Queries, keys and values of all heads as one product.
        self.attention_in = fresh_linear(hidden, hidden, parts=3)
        self.attention_out = fresh_linear(hidden, hidden)
        self.widened = fresh_linear(hidden, feed_forward)
        self.narrowed = fresh_linear(feed_forward, hidden)
        self.attention_norm = nn.LayerNorm(hidden)
        self.feed_forward_norm = nn.LayerNorm(hidden)
        self.last_norm = nn.LayerNorm(hidden) if topmost and self.norm_first else None
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """As described in `EncoderLayer`."""
        # A NaN on padding would turn the weights' gradient NaN even where its own gradient is 0.
        states = self._entered(zero_padding(inputs, mask), None)
        return zero_padding(self._passed(states, lambda own: self._attend(own, mask)), mask)

    def carry(self, inputs: Tensor, state: State | None) -> tuple[Tensor, State]:
        """As described in `EncoderLayer`; the state is that of a `TextMemory`.

        A token attends to itself and to `window` tokens before it, whatever segments they were read
        in. With L layers a state so depends on L x `window` tokens before it.
        """
        assert self.causal  # else it would have to read the text after it
        assert state is None or isinstance(state, Tensor)
        before = TextMemory.of(state, inputs, self.outputs)
        after: list[TextMemory] = []

        def attend(own: Tensor) -> Tensor:
            after.append(before.extended(own))
            return self._attend_on(own, after[0])

        states = self._passed(self._entered(inputs, before.count), attend)
        return states, after[0].state(self.window)

    def _entered(self, states: Tensor, count: Tensor | None) -> Tensor:
        """Inputs of the layer's size, in the lowest layer with their absolute positions.

        Args:
            states: (batch, time, inputs).
            count: (batch,) tokens that were read before the first one; None for none.
        """
        if self.input is not None:
            states = self.input(states)
        return states if self.positions is None else self.positions(states, count)

    def _passed(self, states: Tensor, attend: Callable[[Tensor], Tensor]) -> Tensor:
        """(batch, time, hidden) through both parts of the layer, with its norms."""
        if self.norm_first:
            states = states + attend(self.attention_norm(states))
            states = states + self._feed_forward(self.feed_forward_norm(states))
        else:
            states = self.attention_norm(states + attend(states))
            states = self.feed_forward_norm(states + self._feed_forward(states))
        return states if self.last_norm is None else self.last_norm(states)

    def read(self, inputs: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """As described in `EncoderLayer`; the final state is that of the last token.

        It has attended to the whole sequence, also with the causal mask.
        """
        states = self(inputs, mask)
        # (batch,) -> (batch, 1, hidden), as `gather` needs one index for each value
        last = (mask.sum(1) - 1).clamp(min=0)[:, None, None].expand(-1, 1, self.outputs)
        return states, states.gather(1, last).squeeze(1)

    def final_states(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """As described in `EncoderLayer`."""
        return self.read(inputs, mask)[1]

    def _attend(self, states: Tensor, mask: Tensor) -> Tensor:
        """What the heads read from the tokens that each token may see, (batch, time, hidden)."""
        batch, time, hidden = states.shape
        # (batch, time, 3 x hidden) -> three of (batch, heads, time, hidden / heads)
        by_head = self.attention_in(states).view(batch, time, 3, self.heads, -1)
        queries, keys, values = by_head.permute(2, 0, 3, 1, 4).unbind(0)
        if self.rotary:
            angles = _angles(time, hidden // self.heads, states)
            queries, keys = rotated(queries, angles), rotated(keys, angles)
        seen = None
        # Padding is on the right: the causal mask alone keeps each real token from seeing it.
        if not self.causal:
            seen = mask.clone()
            seen[:, 0] = True  # a softmax over nothing would be NaN
            seen = seen[:, None, None]  # (batch, 1, 1, time), the same for all heads and queries
        attended = nn.functional.scaled_dot_product_attention(
            queries,
            keys,
            values,
            attn_mask=seen,
            dropout_p=self.dropout.p if self.training else 0.0,
            is_causal=self.causal,
        )
        return self._mixed(attended)

    def _attend_on(self, states: Tensor, memory: TextMemory) -> Tensor:
        """The same where tokens were read before; `memory` holds them, and these."""
        time, total = states.shape[1], memory.states.shape[1]
        # Keys and values of what was read before come from the weights of now (Dai et al. 2019).
        weight, bias = self.attention_in.weight, self.attention_in.bias
        asked = nn.functional.linear(states, weight[: self.outputs], bias[: self.outputs])
        known = nn.functional.linear(memory.states, weight[self.outputs :], bias[self.outputs :])
        queries, (keys, values) = self._by_head(asked), map(self._by_head, known.chunk(2, dim=-1))
        if self.rotary:
            # A score depends on the distance alone: positions count from the oldest token.
            angles = _angles(total, queries.shape[-1], states)
            queries, keys = rotated(queries, angles[total - time :]), rotated(keys, angles)
        return self._mixed(
            attend_in_window(
                queries, keys, values,
                filled=memory.filled,
                window=self.window,
                dropout=self.dropout.p if self.training else 0.0,
            )
        )  # fmt: skip

    def _by_head(self, states: Tensor) -> Tensor:
        """(batch, time, hidden) -> (batch, heads, time, hidden / heads)."""
        batch, time, _ = states.shape
        return states.view(batch, time, self.heads, -1).transpose(1, 2)

    def _mixed(self, attended: Tensor) -> Tensor:
        """(batch, heads, time, hidden / heads) -> (batch, time, hidden)."""
        mixed: Tensor = self.attention_out(attended.transpose(1, 2).flatten(2))
        return self._dropped(mixed)

    def _feed_forward(self, states: Tensor) -> Tensor:
        """Of each token by itself, (batch, time, hidden)."""
        units = self._dropped(torch.relu(self.widened(states)))
        narrowed: Tensor = self.narrowed(units)
        return self._dropped(narrowed)

    def _dropped(self, states: Tensor) -> Tensor:
        dropped: Tensor = self.dropout(states)
        return dropped


def attend_in_window(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    filled: Tensor,
    window: int,
    dropout: float,
) -> Tensor:
    """What each token reads from itself and from `window` tokens before it.

    Args:
        queries: (batch, heads, time, size) of the last tokens.
        keys: (batch, heads, tokens, size) of all tokens.
        values: the same shape.
        filled: (batch, tokens) bool, whether there is a token; True for the last `time`.
        window: at least 1.
        dropout: probability of an attention weight.

    Returns:
        (batch, heads, time, size).
    """
    time, tokens = queries.shape[2], keys.shape[2]
    if window < 1:
        raise ValueError(f"window = {window}: expected at least 1 token before each")
    before = tokens - time
    if not before and time <= window + 1:  # nobody reaches the border of the window
        return nn.functional.scaled_dot_product_attention(
            queries, keys, values, dropout_p=dropout, is_causal=True
        )
    places = torch.arange(tokens, device=keys.device)
    found = []
    # In blocks, so that memory grows with the length of a text and not with its square.
    block = max(window, _LEAST_BLOCK)
    for start in range(before, tokens, block):
        stop = min(start + block, tokens)
        seen = slice(max(0, start - window), stop)
        own = places[start:stop].unsqueeze(1)
        reach = (places[seen] <= own) & (places[seen] >= own - window)  # (block, keys)
        found.append(
            nn.functional.scaled_dot_product_attention(
                queries[:, :, start - before : stop - before],
                keys[:, :, seen],
                values[:, :, seen],
                # (block, keys) and (batch, keys) -> (batch, 1, block, keys), equal for all heads
                attn_mask=reach & filled[:, None, None, seen],
                dropout_p=dropout,
            )
        )
    return torch.cat(found, dim=2)


class Positions(nn.Module):
    """Adds a vector of each position: trained ones, or sinusoids."""

    def __init__(self, hidden: int, learned: int) -> None:
        """`learned` vectors are trained; 0 for sinusoids."""
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(learned, hidden)) if learned else None

    def forward(self, states: Tensor, count: Tensor | None = None) -> Tensor:
        """(batch, time, hidden) -> the same shape; `count` as in `TransformerLayer`."""
        _, time, hidden = states.shape
        places, most = torch.arange(time, device=states.device), time
        if count is not None:
            places = count.unsqueeze(1) + places  # (batch, time)
            most = time + int(count.max())
        if self.table is None:
            table = sinusoids(most, hidden, states).to(states.dtype)
        else:
            # Beyond the table the last vector stands for all positions.
            table, places = self.table, places.clamp(max=len(self.table) - 1)
        return states + nn.functional.embedding(places, table)


def sinusoids(time: int, hidden: int, like: Tensor) -> Tensor:
    """(time, hidden) PE of the module's docstring, sines and cosines in turn."""
    angles = _angles(time, hidden + hidden % 2, like)
    # (time, pairs, 2) -> (time, hidden); an odd size leaves out the last cosine
    return torch.stack((angles.sin(), angles.cos()), dim=2).flatten(1)[:, :hidden]


def rotated(vectors: Tensor, angles: Tensor) -> Tensor:
    """Each pair of values i and i + size / 2 rotated by the angle of its position.

    Which values make a pair is free, as the weights before it are trained; halves are faster than
    neighbours.

    Args:
        vectors: (..., time, size).
        angles: (time, size / 2).
    """
    cos, sin = angles.cos().to(vectors.dtype), angles.sin().to(vectors.dtype)
    first, second = vectors.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)


def _angles(time: int, size: int, like: Tensor) -> Tensor:
    """(time, size / 2): position t times 10000^(-2i/size), in float32 also in mixed precision."""
    exact = torch.promote_types(like.dtype, torch.float32)
    exponents = torch.arange(0, size, 2, device=like.device, dtype=exact) / size
    steps = torch.arange(time, dtype=exact, device=like.device)
    return torch.outer(steps, _BASE**-exponents)


def build(layer: LayerOptions) -> TransformerLayer:
    """A layer, as `LayerKind.build` describes it."""
    own = layer.options
    return TransformerLayer(
        inputs=layer.inputs,
        hidden=layer.hidden,
        heads=own.heads,
        feed_forward=own.feed_forward * layer.hidden,
        norm=own.norm,
        positions=own.positions,
        max_positions=own.max_positions,
        causal=not layer.bidirectional,
        window=layer.segment,
        dropout=layer.dropout,
        lowest=layer.lowest,
        topmost=layer.topmost,
    )


TRANSFORMER = LayerKind(build, recurrent=False)
