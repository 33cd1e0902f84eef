"""What the heads of a tagger share: from hidden states to emissions, a loss, and a path of tags.

    softmax   p(y | x) = product of p(y[t] | x): each token's best tag by itself
    viterbi   softmax, decoded together with a bigram model of the tags
    crf       p(y | x) = exp(score(y) - log partition), over whole paths
    feedback  p(y | x) = product of p(y[t] | y[0], ..., y[t-1], x): each tag given all before it

Every head has `loss(states, mask, targets) -> (sum, count)`, a sum, in which sentences
may weigh more or less (the targets are counted as they are), and a count because those stay exact
under accumulation, `decode(states, mask)`, `confidence`, the probabilities of a path's tags
and spans, and `n_best`. These are the public methods, and check their arguments. A training loop,
which makes its masks itself, calls the head as a module: that is `loss` without these checks, as
the check of a mask makes a GPU wait for everything before it.

Where a tag depends on its two neighbours alone, the head is a `ChainHead`: `chain(states, mask)`
scores all paths, and `nn/crf/` finds in it the best paths and all probabilities, exactly.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from tagkit.nn.crf.chain import Chain, check_tag_ids, viterbi
from tagkit.nn.crf.confidence import PathConfidence, span_confidence
from tagkit.nn.crf.n_best import n_best
from tagkit.nn.crf.partition import log_partition
from tagkit.nn.heads.tag_space import StepScores, TagSpace
from tagkit.nn.heads.temperature import UNCALIBRATED
from tagkit.nn.padding import check_states
from tagkit.nn.recurrence.weights import fresh_linear


class Head(nn.Module, ABC):
    """What scores tags, and steps that are forbidden in decoding.

    Attributes:
        constrained_by_default: whether `constrain = "auto"` forbids steps in decoding.
        uses_bigrams: whether it is built with the bigrams of the training corpus.
        temperature: that scores are divided by before they become probabilities; see
            `temperature.py`. Decoding is by the scores as they are.
        step: number of the optimizer's step, for heads whose training changes over time.
    """

    constrained_by_default: ClassVar[bool]
    uses_bigrams: ClassVar[bool] = False
    temperature: float = UNCALIBRATED

    illegal_transitions: Tensor
    illegal_start: Tensor
    illegal_end: Tensor
    tag_weights: Tensor | None

    def __init__(self, space: TagSpace) -> None:
        """No weights yet: subclasses add them."""
        super().__init__()
        self.inputs = space.inputs
        self.step = 0
        # Not saved: they follow from the tags and the configuration.
        # (tags before, tags after), (tags,) and (tags,), minus infinity where a step is forbidden.
        self.register_buffer("illegal_transitions", space.illegal.transitions, persistent=False)
        self.register_buffer("illegal_start", space.illegal.start, persistent=False)
        self.register_buffer("illegal_end", space.illegal.end, persistent=False)
        # (tags,) weight of each gold tag in the loss; None where all weigh the same.
        self.register_buffer("tag_weights", None, persistent=False)

    def loss(
        self, states: Tensor, mask: Tensor, targets: Tensor, weights: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Negative log-likelihood in nats, summed, and the number of tokens.

        Args:
            states: (batch, time, inputs).
            mask: (batch, time) bool, True on real tokens, padding on the right.
            targets: (batch, time) int64 tag ids, any valid id on padding.
            weights: (batch,) factor of each sentence's loss; None where all weigh the same.

        Raises:
            ValueError: an argument has another shape or dtype, or the mask a hole.
        """
        self._check(states, mask)
        check_tag_ids(targets, mask)  # shapes and dtypes alone: of padding any valid id is right
        return self._loss(states, mask, targets, weights)

    def forward(
        self, states: Tensor, mask: Tensor, targets: Tensor, weights: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """As `loss`, for a mask that is known to be padded on the right."""
        return self._loss(states, mask, targets, weights)

    def decode(self, states: Tensor, mask: Tensor) -> Tensor:
        """The best path, (batch, time) int64, 0 on padding.

        Args:
            states: (batch, time, inputs).
            mask: (batch, time) bool, True on real tokens, padding on the right.

        Raises:
            ValueError: `states` or `mask` has another shape or dtype, or the mask a hole.
        """
        self._check(states, mask)
        return self._decode(states, mask)

    def confidence(
        self, states: Tensor, mask: Tensor, tag_ids: Tensor, continuation: Tensor
    ) -> PathConfidence:
        """Probabilities of the tags and spans of paths, on the CPU; raises as `decode` does.

        Args:
            states: (batch, time, inputs).
            mask: (batch, time) bool, True on real tokens, padding on the right.
            tag_ids: (batch, time) int64 paths, 0 on padding.
            continuation: (tags,) id of the tag that continues each tag's span, or -1.
        """
        self._check(states, mask)
        return self._confidence(states, mask, tag_ids, continuation)

    def n_best(self, states: Tensor, mask: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """The most probable paths and their log probabilities, the most probable first.

        Arguments and errors are those of `decode`. There are `count` of them, or as many as the
        longest sentence may have. A sentence with fewer has paths without meaning after them, of
        log probability minus infinity.

        Returns:
            (batch, paths, time) int64, 0 on padding, and (batch, paths) float64, on the CPU.
        """
        self._check(states, mask)
        return self._n_best(states, mask, min(count, self.most_paths(mask)))

    def most_paths(self, mask: Tensor) -> int:
        """How many paths the longest sentence has, with those that are forbidden."""
        # What finds the best ones takes memory for as many as it is asked for.
        paths: int = len(self.illegal_start) ** mask.shape[1]
        return paths

    # What a head implements; the arguments have been checked, or are known to be valid.

    @abstractmethod
    def _loss(
        self, states: Tensor, mask: Tensor, targets: Tensor, weights: Tensor | None
    ) -> tuple[Tensor, Tensor]: ...

    @abstractmethod
    def _decode(self, states: Tensor, mask: Tensor) -> Tensor: ...

    @abstractmethod
    def _confidence(
        self, states: Tensor, mask: Tensor, tag_ids: Tensor, continuation: Tensor
    ) -> PathConfidence: ...

    @abstractmethod
    def _n_best(self, states: Tensor, mask: Tensor, count: int) -> tuple[Tensor, Tensor]: ...

    def _check(self, states: Tensor, mask: Tensor) -> None:
        check_states(states, mask, self.inputs)


class ChainHead(Head):
    """A linear layer that scores each tag of each token, and scores of steps between tags."""

    sharing: Tensor | None

    def __init__(self, space: TagSpace) -> None:
        """Fresh weights."""
        super().__init__(space)
        # The first draw of random numbers, before those of the heads' own parameters.
        self.linear = fresh_linear(space.inputs, space.tags)
        # Not saved: like forbidden steps it follows from the tags and the configuration.
        self.register_buffer("sharing", space.sharing, persistent=False)

    def emissions(self, states: Tensor) -> Tensor:
        """(..., inputs) -> (..., tags): the score of each tag, before any steps."""
        scores: Tensor = self.linear(states)
        return scores if self.sharing is None else scores @ self.sharing

    @torch.no_grad()
    def copy_scores(self, other: "ChainHead") -> None:
        """Score the other head's tags, which are the first of these, as that head does.

        Weights that are shared in another way are others for the same scores. New tags begin with
        none of their own where scores are shared, as what they add would be added to old ones.
        """
        if self.sharing is None and other.sharing is None:
            return  # the weights are the scores, and have been copied
        size = other.linear.out_features
        theirs, shares = (
            torch.eye(size) if head.sharing is None else head.sharing[:size, :size].cpu()
            for head in (other, self)
        )
        for own, old in zip(self.linear.parameters(), other.linear.parameters(), strict=True):
            scored = theirs.double() @ old.detach().cpu().double()
            if self.sharing is not None:
                own.zero_()
            # Shares are positive definite: the parts of a label and of a prefix are blocks of equal
            # numbers, and what is left on the diagonal is 0.2 at least.
            own[:size] = torch.linalg.solve(shares.double(), scored).to(own)

    def chain(self, states: Tensor, mask: Tensor) -> Chain:
        """Scores of all paths, forbidden ones at minus infinity; arguments as in `decode`."""
        self._check(states, mask)
        return self._chain(states, mask)

    @abstractmethod
    def _chain(self, states: Tensor, mask: Tensor) -> Chain: ...

    def _decode(self, states: Tensor, mask: Tensor) -> Tensor:
        # (batch, time, inputs) -> (batch, time): of paths and scores the paths
        return viterbi(self._chain(states, mask))[0]

    def _confidence(
        self, states: Tensor, mask: Tensor, tag_ids: Tensor, continuation: Tensor
    ) -> PathConfidence:
        return confidence_of(self._chain(states, mask), self.temperature, tag_ids, continuation)

    def _n_best(self, states: Tensor, mask: Tensor, count: int) -> tuple[Tensor, Tensor]:
        return n_best_of(self._chain(states, mask), self.temperature, count)

    def _constrained(self, emissions: Tensor, mask: Tensor, steps: StepScores) -> Chain:
        """Emissions and `steps`, forbidden ones at minus infinity."""
        # Added, not filled in: where steps are legal the gradient passes unchanged.
        return Chain(
            emissions,
            steps.transitions + self.illegal_transitions,
            steps.start + self.illegal_start,
            steps.end + self.illegal_end,
            mask,
            checked=True,  # by the public methods, or valid because a batch has made the mask
        )


@dataclass(frozen=True, slots=True)
class ProductHead:
    """What predicts as a head does, of its chain multiplied by another one of the same sentences.

    Attributes:
        head: of the network.
        beside: the other chain, without forbidden steps.
        share: of the other chain: see `Chain.multiplied`.
    """

    head: ChainHead
    beside: Chain
    share: float

    def decode(self, states: Tensor, mask: Tensor) -> Tensor:
        """As `Head.decode`."""
        return viterbi(self._chain(states, mask))[0]

    def confidence(
        self, states: Tensor, mask: Tensor, tag_ids: Tensor, continuation: Tensor
    ) -> PathConfidence:
        """As `Head.confidence`."""
        chain = self._chain(states, mask)
        return confidence_of(chain, self.head.temperature, tag_ids, continuation)

    def n_best(self, states: Tensor, mask: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """As `Head.n_best`."""
        count = min(count, self.head.most_paths(mask))
        return n_best_of(self._chain(states, mask), self.head.temperature, count)

    def _chain(self, states: Tensor, mask: Tensor) -> Chain:
        return self.head.chain(states, mask).multiplied(self.beside, self.share)


def confidence_of(
    chain: Chain, temperature: float, tag_ids: Tensor, continuation: Tensor
) -> PathConfidence:
    """Probabilities of the tags and spans of paths, as `Head.confidence` gives them."""
    # Sums over paths are many small steps, which are slow on a GPU: they run on the CPU.
    chain = chain.cpu().at_temperature(temperature)
    return span_confidence(chain, tag_ids.cpu(), continuation.cpu())


def n_best_of(chain: Chain, temperature: float, count: int) -> tuple[Tensor, Tensor]:
    """The most probable paths and their log probabilities, as `Head.n_best` gives them."""
    chain = chain.cpu()
    paths, scores = n_best(chain, count)  # (batch, count, time), (batch, count)
    # log P(path) = score - log Z; paths that do not exist score -inf. In float64, as the
    # difference of two large numbers loses digits. A temperature divides both, and leaves the
    # order as it is.
    whole = log_partition(chain.at_temperature(temperature)).double()
    return paths, scores / temperature - whole.unsqueeze(1)
