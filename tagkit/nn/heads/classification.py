"""Heads of a classifier: from the states of a text to the probabilities of its classes.

    one class       p(c | x) = softmax(W z + b), with cross-entropy
                    (Jurafsky and Martin, "RNNs and LSTMs", section on RNNs for sequence
                    classification; Goodfellow, Bengio and Courville, section 6.2.2.3)
    several         p(c | x) = sigmoid(W z + b) of each class by itself, with binary cross-entropy
                    (Goodfellow, Bengio and Courville, section 6.2.2.2)

z is the pooled states after feed-forward layers. Smoothed labels are those of Szegedy et al. 2016
(Goodfellow, Bengio and Courville, section 7.5.1). As in the heads of taggers, the loss comes as a
sum and a count.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from tagkit.nn.heads.bag_of_words import BagOfWords
from tagkit.nn.heads.ensemble import each_alone
from tagkit.nn.heads.pooling import Pooling
from tagkit.nn.heads.softmax import weighted_cross_entropy
from tagkit.nn.heads.temperature import UNCALIBRATED
from tagkit.nn.recurrence.weights import fresh_linear

ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU}


class ClassHead(nn.Module):
    """Pooling, feed-forward layers, and a score of each class.

    Attributes:
        temperature: as of `Head`.
        members: number of networks of an ensemble, whose states are side by side.
        bag: the linear model of words beside the network, whose predictions are multiplied by its
            own; None without one. Neither `scores` nor `loss` has it.
    """

    class_weights: Tensor
    bag: BagOfWords | None
    temperature: float = UNCALIBRATED
    members = 1

    def __init__(
        self,
        *,
        pooling: Pooling,
        hidden: Sequence[int],
        activation: str,
        dropout: float,
        classes: int,
        several: bool,
        label_smoothing: float,
        class_weights: Tensor,
    ) -> None:
        """`hidden` units of each feed-forward layer; `class_weights`: (classes,), in the loss."""
        super().__init__()
        self.bag = None
        self.pooling = pooling
        self.several = several
        self.label_smoothing = label_smoothing
        # Not saved: only the loss uses them.
        self.register_buffer("class_weights", class_weights, persistent=False)
        # (texts, pooled) -> hidden[0] -> hidden[1] -> ... -> (texts, classes), dropout before each.
        # No activation after the last: softmax and sigmoid need scores without bounds.
        layers: list[nn.Module] = []
        inputs = pooling.outputs
        for units in hidden:
            layers += [nn.Dropout(dropout), fresh_linear(inputs, units), ACTIVATIONS[activation]()]
            inputs = units
        self.layers = nn.Sequential(*layers, nn.Dropout(dropout), fresh_linear(inputs, classes))

    def scores(self, states: Tensor, final: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
        """Unnormalised score of each class, and attention if the pooling has it.

        Args:
            states: (batch, time, inputs); padding has no effect.
            final: (batch, inputs) the final states of the directions, merged.
            mask: (batch, time) bool, True on real tokens.

        Returns:
            (batch, classes), and (batch, time) with 0 on padding, or None; the mean over the
            members of an ensemble, but for training, which brings one of them at a time.
        """
        if self.members == 1 or self.training:
            return self._scores(states, final, mask)
        # Each by itself, as neither attention nor hidden layers are linear.
        by_member = zip(
            each_alone(states, self.members), each_alone(final, self.members), strict=True
        )
        found = [self._scores(own, last, mask) for own, last in by_member]
        attention = [weights for _, weights in found if weights is not None]
        scores = torch.stack([scores for scores, _ in found]).mean(0)
        return scores, torch.stack(attention).mean(0) if attention else None

    def _scores(self, states: Tensor, final: Tensor, mask: Tensor) -> tuple[Tensor, Tensor | None]:
        vector, attention = self.pooling(states, final, mask)  # (batch, pooled)
        scores: Tensor = self.layers(vector)  # (batch, pooled) -> (batch, classes)
        return scores, attention

    def probabilities(self, scores: Tensor) -> Tensor:
        """Scores (batch, classes) as probabilities; of one class a text they sum to 1."""
        # Softmax makes the classes compete; sigmoid judges each by itself.
        return torch.sigmoid(scores) if self.several else torch.softmax(scores, dim=1)

    def loss(
        self,
        states: Tensor,
        final: Tensor,
        mask: Tensor,
        targets: Tensor,
        weights: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Cross-entropy in nats, each class's share times its weight, summed; number of texts.

        Args:
            states: (batch, time, inputs).
            final: (batch, inputs).
            mask: (batch, time) bool, True on real tokens.
            targets: (batch, classes) bool, True of the gold classes.
            weights: (batch,) factor of each text's loss; None where all weigh the same.
        """
        scores, _ = self.scores(states, final, mask)
        # (batch, classes) of 0 and 1: shares of the gold classes.
        shares = targets.to(scores.dtype)
        count = torch.tensor(len(scores))  # texts, whatever the number of their classes
        if self.several:
            # Each class is a target of its own, 0 or 1; smoothing moves it towards their mean, 1/2.
            smoothed = shares * (1 - self.label_smoothing) + self.label_smoothing / 2
            # -(y log p + (1 - y) log (1 - p)) of each class, (batch, classes)
            each = nn.functional.binary_cross_entropy_with_logits(
                scores, smoothed, reduction="none"
            )
            if weights is not None:
                each = each * weights.unsqueeze(1)  # (batch, classes) * (batch, 1)
            # (batch, classes) * (classes,), summed over both
            return (each * self.class_weights).sum(), count
        # Towards the uniform distribution, 1 / classes: Szegedy et al. 2016, section 7.
        smoothing = self.label_smoothing
        smoothed = shares * (1 - smoothing) + smoothing / shares.shape[1]
        # Targets as probabilities, not as an id: each class's share gets its own class's weight.
        # - sum over c of w[c] y[c] log p[c], (batch, classes) -> (), summed over texts too
        total = weighted_cross_entropy(scores, smoothed, self.class_weights, weights)
        return total, count


def balanced_weights(targets: Tensor) -> Tensor:
    """Weights that make all classes count alike: texts / (classes x texts of the class).

    King and Zeng 2001, as scikit-learn has it. With one class a text their mean over texts is 1.

    Args:
        targets: (texts, classes) bool, True of the gold classes; each class has a text.
    """
    texts, classes = targets.shape
    # (texts, classes) -> (classes,), the number of texts of each class
    return texts / (classes * targets.sum(0).float())
