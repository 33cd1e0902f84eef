"""What attention carries on from one segment of a text to the next.

Each layer keeps what its attention has read of the last tokens, and the next segment attends to
these as well as to its own (Transformer-XL: Dai et al. 2019, section 3.2). A token sees itself and
`window` tokens before it: a window that slides with the token, and not one that begins with its
segment, so that a text has the same states however it is cut into segments.

    window 2    tokens   a b c | d e f        d sees b c d,  e sees c d e
                memory   - -     b c   e f

The memory has room for as many tokens as the window, so that its shape is always the same.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

_LEAST_BLOCK = 64  # tokens that attend at a time


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
