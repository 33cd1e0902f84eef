"""Scores by size of the training corpus, the power law through them, and what it forecasts.

The error falls with the number n of training sentences as

    error(n) = asymptote + factor * n ** -exponent,    score(n) = 1 - error(n)

(Cortes et al. 1993; Hestness et al. 2017, arXiv:1712.00409; Viering and Loog 2022, "The Shape of
Learning Curves", arXiv:2103.10948, compare it with others). A handful of points does not determine
three parameters: laws with quite different asymptotes pass through them equally well, and part
beyond them. So the forecast does not rest on the best fit alone: a grid of exponents and asymptotes
is weighted by the posterior probability of each, in closed form, and its interval covers what the
parameters may be, how much one training differs from another, and that curves bend.

Errors scatter in proportion to themselves: over seeds and random parts of a corpus their deviation
is 1 to 2 per cent of the error, with 100 sentences as with 10,000. So logarithms of errors are
fitted. Points of larger sizes weigh more, as in Figueroa et al. 2012 ("Predicting sample size
required for classification performance"): small corpora follow the law less closely.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagkit.errors import DataError
from tagkit.text.json_text import Record, plain

LEVEL = 0.9  # of the intervals of forecasts
MIN_SIZES = 3  # distinct ones, as the law has three parameters
AHEAD = (2, 4)  # forecasts are for so many times the largest size
Array = NDArray[np.float64]

# The prior, chosen on eight corpora (benchmarks/BENCHMARKS.md, "Learning curves"). Exponents of
# tagging corpora are 0.2 to 0.5, and many a law is a straight line in logarithms: no asymptote.
_EXPONENT, _EXPONENT_SPREAD = 0.3, 0.6  # median, and standard deviation of the logarithm
_NO_ASYMPTOTE = 0.3  # probability
# Relative deviation of an error before anything is measured, and how many points that counts as.
_DEVIATION, _DEVIATION_POINTS = 0.03, 2.0
# Relative deviation for each doubling of the data, as no corpus follows a power law exactly.
_MODEL_DEVIATION = 0.05
_SIZE_WEIGHT = 0.5  # a point weighs in proportion to its size to this power
_PERFECT = 1e-3  # an error that small may as well be none, whose logarithm there would not be
_EXPONENTS = np.geomspace(0.02, 2.0, 60)
# Of the asymptote to the error of the largest size.
_RATIOS = np.concatenate(([0.0], np.linspace(0.0125, 0.9875, 40)))
_IMPROBABLE = 0.05  # relative to the most probable law
_DRAWS = 20_000

_FLAT = 0.003  # a gain that is smaller is little
_POOR_FIT = 0.08  # a larger relative deviation from the law is no chance of a training


@dataclass(frozen=True, slots=True)
class Point(Record):
    """A model that was trained on a part of the corpus.

    Attributes:
        sentences: number of training sentences, or texts.
        seed: of the part and of the training.
        score: on dev, 0 to 1.
    """

    sentences: int
    seed: int
    score: float


@dataclass(frozen=True, slots=True)
class PowerLaw(Record):
    """score(n) = 1 - (asymptote + factor * n ** -exponent).

    Attributes:
        asymptote: the error that no number of sentences takes away, 0 to 1.
        factor: above 0 where more data brings more.
        exponent: above 0; with 0.5 four times the data halves what is above the asymptote.
    """

    asymptote: float
    factor: float
    exponent: float

    def score(self, sentences: float) -> float:
        """The score with so many sentences."""
        return float(1 - self.asymptote - self.factor * sentences**-self.exponent)


@dataclass(frozen=True, slots=True)
class Forecast(Record):
    """The score that training on more sentences of this kind would have.

    Attributes:
        sentences: number of training sentences.
        score: by the law.
        low: lower end of the interval of `LEVEL`.
        high: upper end.
    """

    sentences: int
    score: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LearningCurve(Record):
    """What was measured, and what follows from it.

    Attributes:
        measure: what the scores are, for people: "F1".
        points: by number of sentences, and then by seed.
        law: through the points.
        forecasts: for more sentences than there are.
        unit: what a training sentence is called: "sentence" or "text".
    """

    measure: str
    points: tuple[Point, ...]
    law: PowerLaw
    forecasts: tuple[Forecast, ...]
    unit: str = "sentence"

    @property
    def finds_no_error(self) -> bool:
        """Whether every score is 1, of which no law and no forecast follows."""
        return all(point.score == 1 for point in self.points)

    @property
    def gain(self) -> float:
        """What the first forecast promises over the law's score of the largest size, 0 to 1."""
        largest = self.points[-1].sentences
        return self.forecasts[0].score - self.law.score(largest)

    @property
    def deviation(self) -> float:
        """How far points lie off the law: root mean square, relative to the errors."""
        least = _least_error(self.points)
        errors = [
            _log_error(p.score, least) - _log_error(self.law.score(p.sentences), least)
            for p in self.points
        ]
        return math.sqrt(sum(error**2 for error in errors) / len(errors))

    def mean_scores(self) -> dict[int, float]:
        """Mean over seeds, by number of sentences, which increase."""
        sizes = dict.fromkeys(point.sentences for point in self.points)
        return {
            size: statistics.mean(p.score for p in self.points if p.sentences == size)
            for size in sizes
        }

    def remarks(self) -> tuple[str, ...]:
        """What is to be kept in mind, each a sentence for people; none of a good, rising curve."""
        found: list[str] = []
        if self.finds_no_error:
            return (
                "dev finds no error at any size, so that it cannot show what more data would "
                "bring: a larger or harder dev corpus may",
            )
        *smaller, last = self.mean_scores().values()
        more_seeds = "more seeds (train.seeds=1,2,3) would tell"
        if last < max(smaller):
            found.append(
                "a smaller part of the corpus scores more than all that was tried, so that chance "
                f"outweighs size: {more_seeds}"
            )
        elif self.deviation > _POOR_FIT:
            found.append(
                f"the scores lie off the law by {100 * self.deviation:.0f} % of their errors, so "
                f"that the forecast is vague; larger sizes, or {more_seeds}"
            )
        if self.gain < _FLAT:
            found.append(
                "more data of this kind would bring little: twice as much about "
                f"{100 * self.gain:+.1f}; other texts, better labels or another model may bring "
                "more"
            )
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """All attributes, and the remarks, as plain values for JSON."""
        return {**Record.to_dict(self), "remarks": plain(self.remarks())}


def fit(measure: str, points: Sequence[Point], unit: str, seed: int = 1) -> LearningCurve:
    """The law through points, and forecasts for twice and four times the largest size.

    Args:
        measure: what the scores are.
        points: of `MIN_SIZES` sizes or more.
        unit: what a training sentence is called.
        seed: of the draws that the intervals are made of.

    Raises:
        DataError: there are fewer sizes, or every score is 0.
    """
    ordered = tuple(sorted(points, key=lambda point: (point.sentences, point.seed)))
    sizes = sorted({point.sentences for point in ordered})
    if len(sizes) < MIN_SIZES:
        raise DataError(
            f"learning curve: expected scores of at least {MIN_SIZES} sizes, found {len(sizes)}"
        )
    if not any(point.score for point in ordered):
        raise DataError(
            "learning curve: every score is 0, from which nothing can be forecast; train on larger "
            "sizes, or for longer"
        )
    ahead = [times * sizes[-1] for times in AHEAD]
    if all(point.score == 1 for point in ordered):  # no error has a logarithm
        perfect = tuple(Forecast(sentences, 1.0, 1.0, 1.0) for sentences in ahead)
        return LearningCurve(measure, ordered, PowerLaw(0.0, 0.0, _EXPONENT), perfect, unit)
    posterior = _posterior(ordered)
    law = posterior.law([*sizes, *ahead])
    rng = np.random.default_rng(seed)
    forecasts = tuple(posterior.forecast(law, sentences, rng) for sentences in ahead)
    return LearningCurve(measure, ordered, law, forecasts, unit)


@dataclass(frozen=True, slots=True)
class _Posterior:
    """What the points say of each law of the grid.

    A law is log error(n) = level + log(ratio + (1 - ratio) * (n / largest) ** -exponent): with
    exponent and ratio given, the level is a mean and its deviation that of a sample.

    Attributes:
        largest: number of sentences of the largest size.
        least: error that counts as none (`_least_error`).
        exponents: (laws,).
        ratios: (laws,) asymptote to the error of the largest size.
        levels: (laws,) log error of the largest size.
        deviations: (laws,) of the log error of a point of the largest size.
        probs: (laws,), whose sum is 1.
        weight: sum of the points' weights, where one of the largest size has 1.
        freedom: degrees of freedom of the deviations.
    """

    largest: int
    least: float
    exponents: Array
    ratios: Array
    levels: Array
    deviations: Array
    probs: Array
    weight: float
    freedom: float

    def law(self, sizes: Sequence[int]) -> PowerLaw:
        """The law that is nearest to the mean of all at these sizes, in logarithms.

        The most probable one would be at the edge of what is possible as often as not, with no
        asymptote at all.
        """
        # (laws, sizes)
        errors = self.levels[:, None] + self._shapes(sizes)
        distances = ((errors - self.probs @ errors) ** 2).sum(axis=1)
        # Of the laws that the points do not rule out.
        distances[self.probs < _IMPROBABLE * self.probs.max()] = np.inf
        best = int(distances.argmin())
        error = math.exp(self.levels[best])
        ratio, exponent = float(self.ratios[best]), float(self.exponents[best])
        return PowerLaw(error * ratio, error * (1 - ratio) * self.largest**exponent, exponent)

    def forecast(self, law: PowerLaw, sentences: int, rng: np.random.Generator) -> Forecast:
        """The score of another training, on so many sentences."""
        chosen = rng.choice(len(self.probs), size=_DRAWS, p=self.probs)
        # The level is as uncertain as a mean is, and the training adds its own deviation.
        scatter = self.deviations * math.sqrt(1 / self.weight + 1)
        deviation = _MODEL_DEVIATION * math.log2(sentences / self.largest)
        errors = (self.levels + self._shapes([sentences])[:, 0])[chosen]
        errors += scatter[chosen] * rng.standard_t(self.freedom, _DRAWS)
        errors += deviation * rng.standard_normal(_DRAWS)
        low, high = 1 - np.exp(np.quantile(errors, [(1 + LEVEL) / 2, (1 - LEVEL) / 2]))
        score = law.score(sentences)
        highest = 1.0 if high >= 1 - self.least else float(high)
        return Forecast(sentences, score, max(0.0, float(low)), highest)

    def _shapes(self, sizes: Sequence[int]) -> Array:
        return _shape(self.exponents, self.ratios, np.array(sizes) / self.largest)


def _posterior(points: Sequence[Point]) -> _Posterior:
    sizes = np.array([point.sentences for point in points], dtype=np.float64)
    least = _least_error(points)
    log_errors = np.array([_log_error(point.score, least) for point in points])
    largest = sizes.max()
    weights = (sizes / largest) ** _SIZE_WEIGHT
    grid = np.meshgrid(_EXPONENTS, _RATIOS, indexing="ij")
    exponents, ratios = grid[0].ravel(), grid[1].ravel()
    # (laws, points)
    above = log_errors - _shape(exponents, ratios, sizes / largest)
    levels = above @ weights / weights.sum()
    squares = (above - levels[:, None]) ** 2 @ weights
    # A conjugate prior of the variance: that of `_DEVIATION_POINTS` points before.
    freedom = _DEVIATION_POINTS + len(points) - 1
    variances = (_DEVIATION_POINTS * _DEVIATION**2 + squares) / freedom
    log_probs = _log_prior(exponents, ratios) - freedom / 2 * np.log(variances)
    probs = np.exp(log_probs - log_probs.max())
    return _Posterior(
        largest=int(largest),
        least=least,
        exponents=exponents,
        ratios=ratios,
        levels=levels,
        deviations=np.sqrt(variances),
        probs=probs / probs.sum(),
        weight=float(weights.sum()),
        freedom=freedom,
    )


def _least_error(points: Sequence[Point]) -> float:
    """Errors up to this count as none: a thousandth, and at most half of the smallest of these."""
    return min([_PERFECT, *((1 - point.score) / 2 for point in points if point.score < 1)])


def _log_error(score: float, least: float) -> float:
    return math.log(max(least, 1 - score))


def _shape(exponents: Array, ratios: Array, sizes: Array) -> Array:
    """(laws, sizes) log error of each size less that of the largest; `sizes` relative to that."""
    falling = sizes[None, :] ** -exponents[:, None]
    shape: Array = np.log(ratios[:, None] + (1 - ratios[:, None]) * falling)
    return shape


def _log_prior(exponents: Array, ratios: Array) -> Array:
    """(laws,) a log-normal exponent; no asymptote, or one whose ratio r has the density 2 (1 - r).

    The grid of exponents is even in their logarithms, so that this is a normal density.
    """
    normal = -0.5 * ((np.log(exponents) - math.log(_EXPONENT)) / _EXPONENT_SPREAD) ** 2
    density = (1 - _NO_ASYMPTOTE) * 2 * (1 - ratios) / (len(_RATIOS) - 1)
    prior: Array = normal + np.log(np.where(ratios == 0, _NO_ASYMPTOTE, density))
    return prior
