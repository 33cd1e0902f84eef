"""How long scoring dev takes: estimated from samples of it, until it has been scored."""

import time
from dataclasses import replace
from statistics import median

from tagkit.corpus.records.dataset import Split
from tagkit.inference.predict.predictor import Predictor
from tagkit.limits import BATCH_SIZE
from tagkit.training.loop.dev_loss import DevLoss

_SENTENCES = 256  # of a sample, at most
_SAMPLES = 4  # at most, as the last ones would take the time of the last steps


class DevCost:
    """Estimates of the seconds that scoring dev will take; scoring ends training mode."""

    def __init__(self, predictor: Predictor, dev: Split, dev_loss: DevLoss) -> None:
        """Of a run's model on its dev corpus; 0 seconds before the first sample."""
        self.predictor = predictor
        self.dev = dev
        self.dev_loss = dev_loss
        self.seconds = 0.0  # of the scores and the loss
        self.loss_s = 0.0  # of the loss alone
        self._estimates_s: list[float] = []

    @property
    def is_final(self) -> bool:
        """Whether there are samples enough."""
        return len(self._estimates_s) >= _SAMPLES

    def sample(self) -> None:
        """Score a sample, and estimate from it and those before."""
        if not self._estimates_s:
            self._sampled_s()  # loads code and allocates memory, as the first steps do
        self._estimates_s.append(self._sampled_s())
        # One that is far too high would end the run at once, in the middle of its schedule.
        self.seconds = median(self._estimates_s)

    def _sampled_s(self) -> float:
        dev, seconds = self.dev, []
        # From all parts of the corpus: sentences of its beginning may be of another length.
        sentences = tuple(dev.sentences[:: len(dev.sentences) // _SENTENCES + 1])
        once = replace(dev, sentences=sentences)
        # A word's vector is computed once. All of dev has fewer new words than a sample has, so a
        # second pass over the same words shows what tokens alone take.
        for part in (once, replace(dev, sentences=sentences * 2)):
            began = time.perf_counter()
            self.predictor.score(part, batch_size=BATCH_SIZE)
            seconds.append(time.perf_counter() - began)
        of_tokens = min(max(seconds[1] - seconds[0], 0.0), seconds[0])
        of_words = seconds[0] - of_tokens
        self.loss_s = self.dev_loss.estimate_s(_SENTENCES)
        return (
            of_tokens * (dev.tokens / max(1, once.tokens))
            + of_words * (_distinct_words(dev) / max(1, _distinct_words(once)))
            + self.loss_s
        )


def _distinct_words(split: Split) -> int:
    return len({word for sentence in split.sentences for word in sentence.words})
