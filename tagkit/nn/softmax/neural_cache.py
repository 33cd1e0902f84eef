"""The continuous cache of Grave et al. 2017: what has just occurred is likely to occur again.

    p(w | h[t]) = (1 - lambda) p_vocab(w | h[t]) + lambda p_cache(w | h[t])
    p_cache(w | h[t]) = sum over i with x[i+1] = w of exp(theta h[t] h[i]) / the same over all i

with i over the last `window` steps before t: pairs of a state h[i] and the unit x[i+1] that
followed it ("Improving neural language models with a continuous cache", equations 2 to 4, with the
linear interpolation of section 4). Nothing is trained: a model that is trained already adapts to
what it reads.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

# States whose scores by those before them are in memory at a time.
BLOCK = 128


@dataclass(frozen=True, slots=True)
class CacheOptions:
    """Options of the cache.

    Attributes:
        window: steps that it reaches back, at least 1.
        theta: how sharply it prefers the states most like the present one, 0 to 1,000,000.
        share: lambda, its share of a probability, 0 to below 1.
    """

    window: int
    theta: float
    share: float

    def to_dict(self) -> dict[str, float]:
        """Plain values, for JSON."""
        return {"window": self.window, "theta": self.theta, "share": self.share}


class NeuralCache:
    """The cache of one text, which is read in order, in segments of any length."""

    def __init__(self, options: CacheOptions) -> None:
        """It begins empty."""
        self.options = options
        self._states: Tensor | None = None  # (up to window, hidden), the oldest first
        self._units: Tensor | None = None  # (up to window,) the unit that followed each

    def mix(self, states: Tensor, targets: Tensor, log_probs: Tensor) -> Tensor:
        """Log probabilities of the targets with the cache, which then holds this segment too.

        Where the cache is empty, at the first step of a text, the model's own stays.

        Args:
            states: (time, hidden) that the model predicts from.
            targets: (time,) int64, the unit that follows each state.
            log_probs: (time,) of the targets by the model alone.

        Returns:
            (time,) in float64, as the sums of a corpus are made of it.
        """
        parts = zip(
            *(torch.split(each, BLOCK) for each in (states, targets, log_probs)), strict=True
        )
        return torch.cat([self._mix_block(*part) for part in parts])

    @torch.no_grad()
    def _mix_block(self, states: Tensor, targets: Tensor, log_probs: Tensor) -> Tensor:
        """As `mix`, of at most `BLOCK` steps."""
        window, steps = self.options.window, len(states)
        if self._states is None or self._units is None:
            self._states, self._units = states[:0], targets[:0]
        # The window before the block and the block itself: (before + steps, hidden)
        seen, units = torch.cat((self._states, states)), torch.cat((self._units, targets))
        before = len(self._states)
        scores = self.options.theta * (states @ seen.t())  # (steps, before + steps)
        # Step t, at place before + t, reads the `window` places before its own.
        own = torch.arange(before, before + steps, device=states.device).unsqueeze(1)
        places = torch.arange(before + steps, device=states.device)
        inside = (places < own) & (places >= own - window)
        scores = scores.double().masked_fill(~inside, -torch.inf)
        equal = scores.masked_fill(units != targets.unsqueeze(1), -torch.inf)
        cached = torch.logsumexp(equal, 1) - torch.logsumexp(scores, 1)
        own_share = self.options.share
        model = log_probs.double()
        mixed = model + math.log1p(-own_share)
        if own_share:
            mixed = torch.logaddexp(mixed, cached + math.log(own_share))
        # A cache without any state, whose two sums are 0, has nothing to say.
        mixed = torch.where(inside.any(1), mixed, model)
        # Copies, so that the block is not kept in memory by a part of it.
        self._states, self._units = seen[-window:].clone(), units[-window:].clone()
        return mixed
