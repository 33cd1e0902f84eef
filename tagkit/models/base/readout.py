"""The read-outs of a model: the linear layers of its heads, which ridge regression can solve.

A head whose scores are linear in the states, and that has no other weights to be trained, is
solved in two stages. `nn/heads/ridge.py` gives the linear layer, whose scores lie between -1 and 1
for the most part. They are then made into log odds by few numbers, which minimise the head's own
loss:

    emissions = a W h,   and for a CRF   transitions = b (log p(tag | tag before) - log p(tag))

with the bigrams of the training corpus. Both losses are convex in a and b. The numbers are fitted
on text that the read-out is not solved on, as a temperature is (Guo et al. 2017); otherwise a
read-out with more weights than the corpus has tokens would be taken for certain.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call

from tagkit.features.batching.batch import Batch
from tagkit.nn.heads.classification import ClassHead
from tagkit.nn.heads.crf import CrfHead
from tagkit.nn.heads.ridge import Rows, Solution
from tagkit.nn.heads.softmax import weighted_cross_entropy
from tagkit.nn.heads.tag_space import StepScores
from tagkit.nn.heads.tagging import ChainHead
from tagkit.nn.optimizers import minimize
from tagkit.nn.padding import weight_of_tokens, zero_padding

# Of scores between -1 and 1; that of the bigrams.
_FIRST_SCALES = (5.0, 0.5)
_MAX_ITERATIONS = 30


@dataclass(frozen=True, slots=True)
class ReadoutBatch:
    """A batch as a read-out sees it.

    Attributes:
        inputs: of the linear layer, (batch, time, inputs) or (batch, inputs).
        mask: (batch, time) bool, True on real tokens.
        targets: (batch, time) int64, or (batch, classes) bool.
        weights: (batch,) weight of each sentence; None where all weigh the same.
    """

    inputs: Tensor
    mask: Tensor
    targets: Tensor
    weights: Tensor | None


class Readout(ABC):
    """One head with a linear layer that can be solved.

    Attributes:
        linear: the layer.
        scales: how many numbers turn its scores into log odds.
    """

    linear: nn.Linear
    scales: int

    @abstractmethod
    def examples(self, states: Tensor, final: Tensor, batch: Batch[Tensor]) -> ReadoutBatch:
        """What the layer reads of a batch, whose states are those of the encoder."""

    @abstractmethod
    def rows(self, examples: ReadoutBatch) -> Rows:
        """What ridge regression learns from."""

    @abstractmethod
    def loss(self, scores: Tensor, examples: ReadoutBatch, scales: Tensor) -> Tensor:
        """The head's loss, summed, where the layer gives `scores` and these are scaled.

        Args:
            scores: (batch, time, tags) or (batch, classes), of the layer as it was solved.
            examples: of the batch.
            scales: (scales,).
        """

    @torch.no_grad()
    def place(self, solution: Solution) -> None:
        """Give the layer the weights of a solution, not scaled."""
        self.linear.weight.copy_(solution.weights.T)
        self.linear.bias.copy_(solution.bias)

    @torch.no_grad()
    def scale(self, scales: Tensor) -> None:
        """Scale the layer as it was placed, and what else the head has."""
        self.linear.weight.mul_(scales[0])
        self.linear.bias.mul_(scales[0])


class TagReadout(Readout):
    """A head that scores each tag by a linear layer."""

    def __init__(self, head: ChainHead, bigrams: StepScores | None) -> None:
        """`bigrams` of the training corpus, for a CRF."""
        self.head = head
        self.linear = head.linear
        self.bigrams = bigrams if isinstance(head, CrfHead) else None
        self.scales = 2 if self.bigrams else 1

    def examples(self, states: Tensor, final: Tensor, batch: Batch[Tensor]) -> ReadoutBatch:
        """States of tokens."""
        return ReadoutBatch(states, batch.tokens.mask, batch.target("tags"), batch.weights)

    def rows(self, examples: ReadoutBatch) -> Rows:
        """One for each real token, with the weights of its tag and of its sentence."""
        mask, tags = examples.mask, self.linear.out_features
        # (batch, time, inputs) -> (tokens, inputs), and (batch, time) -> (tokens,)
        tag_ids = examples.targets[mask]
        weights = None
        if examples.weights is not None:
            weights = weight_of_tokens(examples.weights, mask)
        if self.head.tag_weights is not None:
            of_tags = self.head.tag_weights[tag_ids]
            weights = of_tags if weights is None else weights * of_tags
        targets = nn.functional.one_hot(tag_ids, tags).bool()  # (tokens, tags)
        return Rows(examples.inputs[mask], targets, weights)

    def loss(self, scores: Tensor, examples: ReadoutBatch, scales: Tensor) -> Tensor:
        """That of the head itself, over `scores` in place of states."""
        tags = self.linear.out_features
        scaled: dict[str, Tensor] = {
            "linear.weight": scales[0] * torch.eye(tags, device=scales.device),
            "linear.bias": scales.new_zeros(tags),
        }
        if self.bigrams:
            for name, parameter in self._steps().items():
                scaled[name] = scales[1] * parameter
        # What lies on padding would reach the gradient as 0 times its value, perhaps no number.
        scores = zero_padding(scores, examples.mask)
        arguments = (scores, examples.mask, examples.targets, examples.weights)
        total: Tensor = functional_call(self.head, scaled, arguments)[0]
        return total

    @torch.no_grad()
    def scale(self, scales: Tensor) -> None:
        """The transitions too."""
        super().scale(scales)
        if self.bigrams:
            for name, values in self._steps().items():
                self.head.get_parameter(name).copy_(scales[1] * values)

    def _steps(self) -> Mapping[str, Tensor]:
        """The bigrams by the names of the head's parameters."""
        assert self.bigrams is not None
        device = self.linear.weight.device
        steps = {
            "crf.transitions": self.bigrams.transitions,
            "crf.start_transitions": self.bigrams.start,
            "crf.end_transitions": self.bigrams.end,
        }
        return {name: values.to(device) for name, values in steps.items()}


class ClassReadout(Readout):
    """A head of classes without hidden layers, over a pooling without weights."""

    scales = 1

    def __init__(self, head: ClassHead) -> None:
        """`head` of the model."""
        self.head = head
        linear = head.layers[-1]
        assert isinstance(linear, nn.Linear)
        self.linear = linear

    def examples(self, states: Tensor, final: Tensor, batch: Batch[Tensor]) -> ReadoutBatch:
        """Pooled states of texts."""
        mask = batch.tokens.mask
        pooled, _ = self.head.pooling(states, final, mask)  # (batch, inputs)
        return ReadoutBatch(pooled, mask, batch.target("classes"), batch.weights)

    def rows(self, examples: ReadoutBatch) -> Rows:
        """One for each text, with its weight, and that of its class where it has one."""
        targets, weights = examples.targets, examples.weights
        if not self.head.several:
            # (texts, classes) @ (classes,) -> (texts,)
            of_classes = targets.float() @ self.head.class_weights
            weights = of_classes if weights is None else weights * of_classes
        return Rows(examples.inputs, targets, weights)

    def loss(self, scores: Tensor, examples: ReadoutBatch, scales: Tensor) -> Tensor:
        """Cross-entropy, binary where a text may have several classes."""
        logits, shares = scales[0] * scores, examples.targets.to(scores.dtype)
        if not self.head.several:
            weights = self.head.class_weights
            return weighted_cross_entropy(logits, shares, weights, examples.weights)
        # (texts, classes), of which each text has a weight
        each = nn.functional.binary_cross_entropy_with_logits(logits, shares, reduction="none")
        if examples.weights is not None:
            each = each * examples.weights.unsqueeze(1)
        return (each * self.head.class_weights).sum()


def fit_scales(readout: Readout, examples: Sequence[ReadoutBatch]) -> Tensor:
    """The scales with the smallest loss on these examples, of the layer as it was placed.

    Returns:
        (scales,) of at least a little above 0: the order of the labels stays that of the scores.
    """
    device = readout.linear.weight.device
    with torch.no_grad():
        scores = [readout.linear(each.inputs) for each in examples]
    # The logarithms are what is searched: a scale is above 0.
    logs = torch.tensor(_FIRST_SCALES[: readout.scales], device=device).log().requires_grad_()
    count = max(1, sum(len(each.targets) for each in examples))

    def loss() -> Tensor:
        pairs = zip(scores, examples, strict=True)
        losses = [readout.loss(own, each, logs.exp()) for own, each in pairs]
        return torch.stack(losses).sum() / count

    minimize([logs], loss, _MAX_ITERATIONS, math.inf)
    return logs.detach().exp()
