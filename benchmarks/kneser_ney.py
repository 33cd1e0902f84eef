"""An n-gram model with interpolated modified Kneser-Ney smoothing: the baseline of characters.

    p_n(w | h) = (c(hw) - D(c(hw))) / c(h) + gamma(h) p_{n-1}(w | h')

with h' the context h without its first symbol, and gamma(h) what makes the sum 1 (Chen and Goodman
1998, section 3; Jurafsky and Martin, "N-gram Language Models", section on Kneser-Ney smoothing).
The counts of the highest order are those of the text; below it, of how many symbols have been seen
before hw. A discount D is of its order and of whether a count is 1, 2 or more. The unigrams are
interpolated with 1/V, so that no symbol is impossible.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]
# Where there are no n-grams of a count that a discount is estimated from, as among the unigrams of
# a small alphabet.
FALLBACK = (0.5, 1.0, 1.5)


@dataclass(frozen=True)
class _Order:
    """N-grams of one length, as numbers whose digits are symbols, to the base of all symbols.

    Attributes:
        keys: (n-grams,) sorted.
        counts: (n-grams,) of the text, or of symbols that come before.
        contexts: (contexts,) sorted n-grams without their last symbol.
        totals: (contexts,) sum of the counts of a context.
        gammas: (contexts,) share of the probability that is left to the shorter context.
        discounts: (4,) of counts 0, 1, 2, and 3 or more.
    """

    keys: Integers
    counts: Integers
    contexts: Integers
    totals: Integers
    gammas: Numbers
    discounts: Numbers


class KneserNey:
    """Probabilities of the next symbol, given those before it.

    Attributes:
        order: of the longest n-grams: `order - 1` symbols are looked at.
        symbols: how many there are; a symbol is a number below.
    """

    def __init__(self, text: npt.NDArray[Any], *, order: int, symbols: int) -> None:
        """Count a text.

        Args:
            text: (time,) symbols, the first of which stands for what came before the text.
            order: of the longest n-grams.
            symbols: their number.

        Raises:
            ValueError: an n-gram does not fit into 63 bits.
        """
        if symbols**order >= 2**63:
            raise ValueError(f"{symbols} symbols: n-grams of order {order} do not fit into 63 bits")
        self.order, self.symbols = order, symbols
        keys, counts = np.unique(self._keys(text), return_counts=True)
        self._orders = [self._counted(keys, counts)]
        for length in range(order - 1, 0, -1):
            # Each n-gram is there once for each symbol before it.
            keys, counts = np.unique(keys % symbols**length, return_counts=True)
            self._orders.append(self._counted(keys, counts))
        self._orders.reverse()  # the unigrams first

    def probabilities(self, text: npt.NDArray[Any]) -> Numbers:
        """(time,) symbols -> (time - 1,) probability of each symbol after the first."""
        keys = self._keys(text)
        found = np.full(len(keys), 1 / self.symbols)
        for length, order in enumerate(self._orders, start=1):
            grams = keys % self.symbols**length
            place, is_known = _places(order.contexts, grams // self.symbols)
            at, is_seen = _places(order.keys, grams)
            counts = np.where(is_seen, order.counts[at], 0)
            left = counts - order.discounts[np.minimum(counts, 3)]
            longer = left / order.totals[place] + order.gammas[place] * found
            found = np.where(is_known, longer, found)
        return found

    def bits(self, text: npt.NDArray[Any]) -> float:
        """The same text's information in bits, all symbols after the first."""
        return float(-np.log2(self.probabilities(text)).sum())

    def _keys(self, text: npt.NDArray[Any]) -> Integers:
        """The longest n-gram that ends at each symbol after the first."""
        symbols = np.asarray(text, np.int64)
        padded = np.concatenate((np.full(self.order - 2, symbols[0]), symbols))
        keys = np.zeros(len(symbols) - 1, np.int64)
        if self.order == 1:
            return keys + symbols[1:]
        for start in range(self.order):
            keys = keys * self.symbols + padded[start : start + len(keys)]
        return keys

    def _counted(self, keys: Integers, counts: Integers) -> _Order:
        contexts, starts = np.unique(keys // self.symbols, return_index=True)
        totals = np.add.reduceat(counts, starts)
        discounts = _discounts(counts)
        kept_back = np.add.reduceat(discounts[np.minimum(counts, 3)], starts)
        return _Order(keys, counts, contexts, totals, kept_back / totals, discounts)


def _discounts(counts: Integers) -> Numbers:
    """Discounts of counts 0, 1, 2, and 3 or more (Chen and Goodman 1998, equation 26)."""
    one, two, three, four = (int((counts == count).sum()) for count in (1, 2, 3, 4))
    if not (one and two and three and four):
        return np.array((0.0, *FALLBACK))
    share = one / (one + 2 * two)
    found = (1 - 2 * share * two / one, 2 - 3 * share * three / two, 3 - 4 * share * four / three)
    if any(not 0 <= discount <= count for count, discount in enumerate(found, start=1)):
        found = FALLBACK
    return np.array((0.0, *found))


def _places(sorted_keys: Integers, wanted: Integers) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """Where each wanted key is, and whether it is there at all."""
    places = np.minimum(np.searchsorted(sorted_keys, wanted), len(sorted_keys) - 1)
    return places, sorted_keys[places] == wanted
