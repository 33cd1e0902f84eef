"""A linear model of a text's words and pairs of neighbouring words, beside the network.

    p(c | x) = softmax(W f + b)     of one class, and sigmoid(W f + b) of several
                                    (Jurafsky and Martin, "Logistic regression", section on
                                    multinomial logistic regression)

f has the tf-idf of each word and pair (Jurafsky and Martin, "Embeddings", section on tf-idf; pairs:
Wang and Manning 2012), and has length 1. Words have a row of W each. Pairs share theirs: the row of
a pair is a hash of it (Weinberger et al. 2009), so that the configuration gives the size of W.

The loss with an L2 penalty (Goodfellow, Bengio and Courville, section 7.1.1) is convex. So W is
found at once, before the network's first step, by gradients of the whole corpus with momentum
(Nesterov 2004, scheme 2.2.22; Goodfellow, Bengio and Courville, section 8.3.3), from 0 and without
random numbers. The network learns by itself: a sum of both in one loss leaves it little to learn.
Their probabilities are multiplied (Hinton 2002, products of experts), each to the power of its
share, and scaled to a sum of 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

Ids = npt.NDArray[np.int64]
# Of the network, whose probabilities are too sure in a small corpus, in the product.
NETWORK_SHARE = 0.3
# As of C in scikit-learn's LogisticRegression: the larger, the smaller the penalty.
_INVERSE_PENALTY = 10.0
_MAX_STEPS, _TOLERANCE = 500, 1e-5  # the largest derivative at the end
# Odd numbers near 2^64 / 1.618 and 2^63, which spread neighbouring ids over all rows.
_LEFT, _RIGHT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True, slots=True)
class Counts:
    """Words and pairs of several texts, each once a text.

    Attributes:
        rows: (entries,) row of W, text after text.
        texts: (entries,) number of the text; ascends.
        counts: (entries,) how often it is in that text.
        total: number of texts, also of those without a known word.
    """

    rows: Ids
    texts: Ids
    counts: Ids
    total: int


class BagOfWords(nn.Module):
    """The linear model; all of it is saved, and none of it is learnt with the network.

    Attributes:
        idf: (rows,) inverse document frequency of words, then of pairs.
        weight: (rows, classes).
        bias: (classes,).
        several: whether a text may have several classes.
    """

    idf: Tensor
    weight: Tensor
    bias: Tensor

    def __init__(
        self, *, words: int, pairs: int, classes: int, several: bool, unknown: int
    ) -> None:
        """A model that gives all classes the same probability.

        Args:
            words: number of ids of words.
            pairs: number of rows that pairs of neighbouring words share.
            classes: number of classes.
            several: whether a text may have several.
            unknown: the largest id that stands for no word.
        """
        super().__init__()
        self.words, self.pairs, self.several, self.unknown = words, pairs, several, unknown
        # Buffers: neither an optimizer nor the mean of the weights has anything to do with them.
        self.register_buffer("idf", torch.ones(words + pairs))
        self.register_buffer("weight", torch.zeros(words + pairs, classes))
        self.register_buffer("bias", torch.zeros(classes))

    def count(self, texts: Sequence[Ids]) -> Counts:
        """The known words, and the pairs of them, of texts as ids."""
        ids = np.concatenate([np.zeros(0, np.int64), *texts])
        of_text = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
        known = ids > self.unknown
        # A pair is of neighbours in one text, both of which are known.
        paired = known[:-1] & known[1:] & (of_text[:-1] == of_text[1:])
        left, right = ids[:-1][paired].astype(np.uint64), ids[1:][paired].astype(np.uint64)
        mixed = left * _LEFT + right * _RIGHT  # modulo 2^64
        mixed ^= mixed >> np.uint64(29)
        hashed = (mixed % np.uint64(self.pairs)).astype(np.int64) + self.words
        rows = np.concatenate([ids[known], hashed])
        found = np.concatenate([of_text[known], of_text[:-1][paired]])
        # One number of text and row; np.unique sorts by the text first.
        both, counts = np.unique(found * (self.words + self.pairs) + rows, return_counts=True)
        text, row = np.divmod(both, self.words + self.pairs)
        return Counts(row, text, counts, len(texts))

    def _values(self, found: Counts) -> Tensor:
        """(entries,) tf-idf, of length 1 in each text."""
        # (1 + log count) x idf
        tf = torch.from_numpy(1 + np.log(found.counts)).float().to(self.idf.device)
        values = tf * self.idf[torch.from_numpy(found.rows)]
        texts = torch.from_numpy(found.texts).to(values.device)
        squares = torch.zeros(found.total, device=values.device).index_add(0, texts, values**2)
        return values / squares.sqrt()[texts]  # a text that has an entry has a length

    @torch.no_grad()
    def scores(self, texts: Sequence[Ids]) -> Tensor:
        """(texts, classes) unnormalised scores of texts as ids."""
        found = self.count(texts)
        return self.bias + _weighted(found, self._values(found), self.weight, found.rows)

    @torch.no_grad()
    def fit(self, texts: Sequence[Ids], targets: Tensor, weights: Tensor) -> None:
        """Find the weights at which the penalised loss of a corpus is smallest.

        Args:
            texts: the training corpus as ids.
            targets: (texts, classes) shares of the gold classes, 0 and 1 where a text may have
                several.
            weights: (texts, classes) of each text's loss.
        """
        if not weights.any():  # nothing to learn, as for the network
            return
        found = self.count(texts)
        rows, place = np.unique(found.rows, return_inverse=True)
        frequency = torch.from_numpy(np.bincount(place, minlength=len(rows))).float()
        # A row of no text keeps 1: whatever it is, its weights are 0.
        self.idf[torch.from_numpy(rows)] = torch.log((1 + found.total) / (1 + frequency)) + 1
        values = self._values(found)
        at, of_text = torch.from_numpy(place), torch.from_numpy(found.texts)
        # Mean 1, so that the penalty does not depend on them. (texts, classes), of each derivative
        scale = weights / weights.mean() / found.total
        penalty = 1 / (_INVERSE_PENALTY * found.total)
        # Bound of the second derivative: features and bias have length sqrt(2), and that of
        # softmax and sigmoid is at most 1/2.
        bound = float(scale.max()) * found.total + penalty
        root = (penalty / bound) ** 0.5
        momentum = (1 - root) / (1 + root)
        # The rows that occur, then the bias: (rows + 1, classes)
        weight = torch.zeros(len(rows) + 1, targets.shape[1])
        before = weight
        for _ in range(_MAX_STEPS):
            ahead = weight + momentum * (weight - before)
            given = ahead[-1] + _weighted(found, values, ahead[:-1], place)
            wrong = (self.probabilities(given) - targets) * scale  # (texts, classes)
            gradient = penalty * ahead
            gradient.index_add_(0, at, values.unsqueeze(1) * wrong[of_text])
            gradient[-1] = wrong.sum(0)  # without a penalty
            before, weight = weight, ahead - gradient / bound
            if float(gradient.abs().max()) < _TOLERANCE:
                break
        self.weight[torch.from_numpy(rows)] = weight[:-1]
        self.bias.copy_(weight[-1])

    def probabilities(self, scores: Tensor) -> Tensor:
        """Scores (texts, classes) as probabilities."""
        return torch.sigmoid(scores) if self.several else torch.softmax(scores, dim=1)

    def multiplied(self, probs: Tensor, texts: Sequence[Ids]) -> Tensor:
        """(texts, classes) probabilities of a network, as those of both together."""
        share, scores = NETWORK_SHARE, self.scores(texts).to(probs)
        # A sum of logarithms up to a constant; of several classes one of log odds.
        return self.probabilities(share * log_scores(probs, self.several) + (1 - share) * scores)


def log_scores(probs: Tensor, several: bool) -> Tensor:
    """Scores of which probabilities (..., classes) come: their logarithms, or log odds."""
    # Not 0 and not 1, of which the logarithm or the odds would be infinite.
    within = probs.clamp(1e-7, 1 - 1e-7)
    return torch.logit(within) if several else within.log()


def _weighted(found: Counts, values: Tensor, weight: Tensor, rows: Ids) -> Tensor:
    """(texts, classes) sum of the rows of each text's entries, times their values."""
    # Start of each text's entries; of a text without any that of the next: an empty sum, 0.
    starts = np.searchsorted(found.texts, np.arange(found.total))
    device = weight.device
    total: Tensor = embedding_bag(
        torch.from_numpy(rows).to(device),
        weight,
        torch.from_numpy(starts).to(device),
        mode="sum",
        per_sample_weights=values,
    )
    return total
