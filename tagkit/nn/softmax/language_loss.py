"""A language-model loss beside that of a task: states predict the words next to their own.

    loss = loss of the task + weight * sum over t of ( -log P(w[t+1] | ahead[t])
                                                       -log P(w[t-1] | back[t]) )
    P(w | s) = softmax(W m + b)

ahead[t] has read nothing after word t, and back[t] nothing before it, so neither has seen what it
predicts. The first word of a sentence and the last one are predicted from one side alone, and no
end of a sentence is predicted, as in Rei 2017, eqs. 8 to 11. The encoder's states s predict, by

    m = tanh(V s + c)      eqs. 6 and 7

These layers serve training alone.
"""

import torch
from torch import Tensor, nn

from tagkit.nn.padding import weight_of_tokens
from tagkit.nn.recurrence.weights import fresh_linear
from tagkit.nn.softmax.cross_entropy import cross_entropy

# Both of Rei 2017, section 4.
PREDICTED_WORDS = 7500
_UNITS = 50  # of the tanh layer

# Scores that exist at one time, 4 MB of them: a batch of a tagger must not grow by its words.
_SCORES_AT_ONCE = 2**20

# Of each token the states that have read nothing after it, and those that have read nothing before
# it, both (batch, time, features) and 0 or anything on padding; None where there are none.
Sides = tuple[Tensor, Tensor | None]


class LanguageLoss(nn.Module):
    """The weighted loss of the encoder's states."""

    def __init__(
        self, *, weight: float, per_token: bool, words: int, features: int, backwards: bool
    ) -> None:
        """A loss with fresh layers.

        Args:
            weight: of this loss beside that of the task.
            per_token: whether the task has a target for each token. If it has one for each
                sentence, a sentence's loss is the mean over its tokens, which weighs as much as one
                target.
            words: that are told apart, the unknown word among them.
            features: of a state in each direction.
            backwards: whether there is a backward one.
        """
        super().__init__()
        self.weight = weight
        self.per_token = per_token
        # The name is one of the format of checkpoints: it stays.
        of_words = NeighbourLoss(features=features, words=words, backwards=backwards)
        self.parts = nn.ModuleDict({"words": of_words})

    def forward(
        self, sides: Sides, word_ids: Tensor, mask: Tensor, weights: Tensor | None
    ) -> Tensor:
        """The loss in nats, summed over the batch.

        Args:
            sides: the states.
            word_ids: (batch, time) int64 the words, among those that are predicted.
            mask: (batch, time) bool, True on real tokens.
            weights: (batch,) of the sentences; None where all weigh the same.
        """
        like = next(self.parameters())
        of_sentences = like.new_ones(len(mask)) if weights is None else weights.to(like)
        if not self.per_token:
            of_sentences = of_sentences / mask.sum(1).clamp(min=1)
        loss: Tensor = self.parts["words"](*sides, word_ids, mask, of_sentences)
        return self.weight * loss


class NeighbourLoss(nn.Module):
    """How well states predict the word after their own, and the one before it."""

    def __init__(self, *, features: int, words: int, backwards: bool) -> None:
        """States of `features` predict one of `words`; `backwards` the word before, too."""
        super().__init__()
        self.ahead = WordPredictor(TanhLayer(features), words)
        self.back = WordPredictor(TanhLayer(features), words) if backwards else None

    def forward(
        self, ahead: Tensor, back: Tensor | None, word_ids: Tensor, mask: Tensor, weights: Tensor
    ) -> Tensor:
        """The loss in nats, summed; `weights` are (batch,), the others as in `LanguageLoss`."""
        # Pairs of neighbours, (batch, time - 1): the second is real only if the first is. Padding
        # is selected away, not multiplied by 0, so that no NaN of it arrives anywhere.
        pairs = mask[:, 1:]
        of_pairs = weight_of_tokens(weights, pairs)  # (pairs,)
        loss: Tensor = self.ahead(ahead[:, :-1][pairs], word_ids[:, 1:][pairs], of_pairs)
        if self.back is not None:
            assert back is not None
            loss = loss + self.back(back[:, 1:][pairs], word_ids[:, :-1][pairs], of_pairs)
        return loss


class WordPredictor(nn.Module):
    """One layer and a softmax over words."""

    def __init__(self, transform: "TanhLayer", words: int) -> None:
        """`transform` gives m of a state."""
        super().__init__()
        self.transform = transform
        self.output = fresh_linear(transform.outputs, words)

    def forward(self, states: Tensor, word_ids: Tensor, weights: Tensor) -> Tensor:
        """The weighted sum of -log P of the words.

        Args:
            states: (tokens, features).
            word_ids: (tokens,) int64, which word each is to predict.
            weights: (tokens,).
        """
        inner: Tensor = self.transform(states)
        output = self.output
        return cross_entropy(
            inner, output.weight, output.bias, word_ids, weights, scores=_SCORES_AT_ONCE
        )


class TanhLayer(nn.Module):
    """m = tanh(V s + c)."""

    def __init__(self, features: int) -> None:
        """`features` of s."""
        super().__init__()
        self.linear = fresh_linear(features, _UNITS)
        self.outputs = _UNITS

    def forward(self, states: Tensor) -> Tensor:
        """(tokens, features) -> (tokens, outputs)."""
        return torch.tanh(self.linear(states))
