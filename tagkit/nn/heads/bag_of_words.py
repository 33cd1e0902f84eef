"""A linear model of a text's words and pairs of neighbouring words, beside the network.

    p(c | x) = softmax(W f + b)     of one class, and sigmoid(W f + b) of several
                                    (Jurafsky and Martin, "Logistic regression", section on
                                    multinomial logistic regression)

f has the tf-idf of each word and pair (Jurafsky and Martin, "Embeddings", section on tf-idf; pairs:
Wang and Manning 2012), and has length 1. Words have a row of W each. Pairs share theirs: the row of
a pair is a hash of it (Weinberger et al. 2009), so that the configuration gives the size of W.

The loss with an L2 penalty (Goodfellow, Bengio and Courville, section 7.1.1) is convex. So W is
found at once, before the network's first step, by L-BFGS, from 0 and without random numbers. The
network learns by itself: a sum of both in one loss leaves it little to learn. Their probabilities
are multiplied (Hinton 2002, products of experts), each to the power of its share, and scaled to a
sum of 1.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, embedding_bag, log_softmax

from tagkit.nn.optimizers import minimize, with_gradient

Ids = npt.NDArray[np.int64]
# Of the network, whose probabilities are too sure in a small corpus, in the product.
NETWORK_SHARE = 0.3
# As of C in scikit-learn's LogisticRegression: the larger, the smaller the penalty.
_INVERSE_PENALTY = 10.0
_MAX_STEPS = 100  # after some 60 no step of 32 bits makes the loss smaller
# Odd numbers near 2^64 / 1.618 and 2^63, which spread neighbouring ids over all rows.
_LEFT, _RIGHT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


@dataclass(frozen=True, slots=True)
class NgramCounts:
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

    def count(self, texts: Sequence[Ids]) -> NgramCounts:
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
        return NgramCounts(row, text, counts, len(texts))

    def _values(self, found: NgramCounts) -> Tensor:
        """(entries,) tf-idf, of length 1 in each text."""
        # (1 + log count) x idf
        tf = torch.from_numpy(1 + np.log(found.counts)).float().to(self.idf.device)
        values = tf * self.idf[torch.from_numpy(found.rows)]
        texts = torch.from_numpy(found.texts).to(values.device)
        # Of their own type: a program may have set another one for new tensors.
        squares = values.new_zeros(found.total).index_add(0, texts, values**2)
        return values / squares.sqrt()[texts]  # a text that has an entry has a length

    @torch.no_grad()
    def scores(self, texts: Sequence[Ids]) -> Tensor:
        """(texts, classes) unnormalised scores of texts as ids."""
        found = self.count(texts)
        return self.bias + _weighted(
            found.texts, found.rows, self._values(found), self.weight, found.total
        )

    @property
    def is_fitted(self) -> bool:
        """Whether it has weights: a search that has had no time leaves none."""
        # The bias first, as that of a fitted model is seldom 0: this is asked for each batch, and
        # `weight` may have millions of values.
        return any(bool(each.any()) for each in (self.bias, self.weight))

    def fit(
        self,
        texts: Sequence[Ids],
        targets: Tensor,
        weights: Tensor,
        max_seconds: float = math.inf,
        on_pass: Callable[[int], None] = lambda number: None,
    ) -> None:
        """Find the weights at which the penalised loss of a corpus is smallest.

        Args:
            texts: the training corpus as ids.
            targets: (texts, classes) shares of the gold classes, 0 and 1 where a text may have
                several.
            weights: (texts, classes) of each text's loss.
            max_seconds: of the search, as of `minimize`.
            on_pass: called before each pass over the corpus, with its number from 1.
        """
        if not weights.any():  # nothing to learn, as for the network
            return
        found = self.count(texts)
        rows, place = np.unique(found.rows, return_inverse=True)
        frequency = torch.from_numpy(np.bincount(place, minlength=len(rows))).float()
        # A row of no text keeps 1: whatever it is, its weights are 0.
        self.idf[torch.from_numpy(rows)] = torch.log((1 + found.total) / (1 + frequency)) + 1
        values = self._values(found)
        # The same entries row by row, for derivatives by these.
        order = np.argsort(place, kind="stable")
        by_row = place[order], found.texts[order], values[torch.from_numpy(order)]
        # Mean 1, so that the penalty does not depend on them. (texts, classes), of each derivative
        scale = weights / weights.mean() / found.total
        penalty = 1 / (_INVERSE_PENALTY * found.total)
        # The rows that occur, and the bias, which has no penalty.
        shape = len(rows), targets.shape[1]
        learnt = [torch.zeros(each, requires_grad=True) for each in (shape, shape[1:])]
        passes = itertools.count(1)

        @torch.no_grad()
        def loss_and_slopes() -> tuple[Tensor, list[Tensor]]:
            weight, bias = learnt
            # (texts, classes)
            given = bias + _weighted(found.texts, place, values, weight, found.total)
            loss = penalty / 2 * (weight**2).sum() + (scale * self._losses(given, targets)).sum()
            wrong = scale * (self.probabilities(given) - targets)
            slope = penalty * weight + _weighted(*by_row, wrong, len(rows))
            return loss, [slope, wrong.sum(0)]

        def loss() -> Tensor:
            on_pass(next(passes))
            return with_gradient(*loss_and_slopes(), learnt)

        minimize(learnt, loss, _MAX_STEPS, max_seconds)
        with torch.no_grad():
            self.weight[torch.from_numpy(rows)] = learnt[0]
            self.bias.copy_(learnt[1])

    def _losses(self, scores: Tensor, targets: Tensor) -> Tensor:
        """(texts, classes) parts of each text's loss."""
        if self.several:
            return binary_cross_entropy_with_logits(scores, targets, reduction="none")
        return -targets * log_softmax(scores, dim=1)

    def probabilities(self, scores: Tensor) -> Tensor:
        """Scores (texts, classes) as probabilities."""
        return torch.sigmoid(scores) if self.several else torch.softmax(scores, dim=1)

    def multiplied(self, probs: Tensor, texts: Sequence[Ids]) -> Tensor:
        """(texts, classes) probabilities of a network, as those of both together."""
        if not self.is_fitted:
            return probs
        share, scores = NETWORK_SHARE, self.scores(texts).to(probs)
        # A sum of logarithms up to a constant; of several classes one of log odds.
        return self.probabilities(share * log_scores(probs, self.several) + (1 - share) * scores)


def log_scores(probs: Tensor, several: bool) -> Tensor:
    """Scores of which probabilities (..., classes) come: their logarithms, or log odds."""
    # Not 0 and not 1, of which the logarithm or the odds would be infinite.
    within = probs.clamp(1e-7, 1 - 1e-7)
    return torch.logit(within) if several else within.log()


def _weighted(of: Ids, rows: Ids, values: Tensor, weight: Tensor, total: int) -> Tensor:
    """Sums of rows of a matrix, each times a value: a product with a sparse matrix.

    Args:
        of: (entries,) which sum an entry is part of; ascends.
        rows: (entries,) of `weight`.
        values: (entries,) that the rows are multiplied by.
        weight: (rows, classes).
        total: number of sums.

    Returns:
        (total, classes).
    """
    # Where the entries of each sum start; of one without any, where those of the next do: 0.
    starts = np.searchsorted(of, np.arange(total))
    device = weight.device
    found: Tensor = embedding_bag(
        torch.from_numpy(rows).to(device),
        weight,
        torch.from_numpy(starts).to(device),
        mode="sum",
        per_sample_weights=values,
    )
    return found
