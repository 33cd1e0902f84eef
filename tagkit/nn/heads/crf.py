"""The CRF head: a linear-chain conditional random field over the emissions.

    p(y | x) = exp(score(y)) / sum over all paths y' of exp(score(y'))

with the score of `crf/chain.py` (Lafferty et al. 2001; Huang et al. 2015; Lample et al. 2016,
eq. 1). The loss is the negative logarithm: log-partition minus the gold path's score.
"""

from typing import ClassVar

import torchcrf
from torch import Tensor

from tagkit.nn.crf.chain import Chain, path_score
from tagkit.nn.crf.partition import log_partition
from tagkit.nn.crf.weighted_loss import weighted_loss
from tagkit.nn.heads.tag_space import StepScores, TagSpace
from tagkit.nn.heads.tagging import ChainHead


class CrfHead(ChainHead):
    """A conditional random field; pytorch-crf holds its parameters."""

    constrained_by_default: ClassVar[bool] = True

    def __init__(self, space: TagSpace) -> None:
        """With `space.constrain_training` forbidden paths are left out of the log-partition too."""
        super().__init__(space)
        # transitions (before, after), start and end (tags,), each uniform from -0.1 to 0.1; saved
        # under pytorch-crf's names.
        self.crf = torchcrf.CRF(space.tags, batch_first=True)
        self.constrain_training = space.constrain_training

    def _chain(self, states: Tensor, mask: Tensor) -> Chain:
        """Emissions and learnt transitions."""
        return self._constrained(self.emissions(states), mask, self._steps())

    def _loss(
        self, states: Tensor, mask: Tensor, targets: Tensor, weights: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Log-partition minus the gold path's score, summed over sentences; number of tokens.

        Where tags have weights, the sum of `weighted_loss.py`.
        """
        steps = self._steps()
        emissions = self.emissions(states)  # (batch, time, inputs) -> (batch, time, tags)
        chain = Chain(emissions, steps.transitions, steps.start, steps.end, mask, checked=True)
        # The gold path is scored without constraints: a corpus may break its own scheme, and one
        # such step would make the loss infinite.
        allowed = self._constrained(emissions, mask, steps) if self.constrain_training else chain
        if self.tag_weights is not None:
            each = weighted_loss(allowed, targets, self.tag_weights)  # (batch,)
        else:
            # -log p(y | x) = log Z - score(y) of each sentence: (batch,) - (batch,)
            each = log_partition(allowed) - path_score(chain, targets)
        if weights is not None:
            each = each * weights
        # (batch,) -> a sum over sentences. The count is of tokens, by which training divides.
        return each.sum(), mask.sum()

    def _steps(self) -> StepScores:
        crf = self.crf
        # (before, after), (tags,), (tags,)
        return StepScores(crf.transitions, crf.start_transitions, crf.end_transitions)
