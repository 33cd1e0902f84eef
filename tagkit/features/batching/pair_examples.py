"""Pairs to learn from, as ids: a source as any sentence is, and a target of a length of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tagkit.features import Arrays, Ids
from tagkit.features.batching.batch import Batch
from tagkit.features.batching.encoding import Encoded, encode
from tagkit.features.batching.targets import Target
from tagkit.features.vocabulary import Vocabulary
from tagkit.nn.decoder import END_ID
from tagkit.text.records import Sentence

UNITS, COPIES = "units", "copies"  # names of a batch's targets
PADDED = -1  # in the place of a unit


@dataclass(frozen=True, kw_only=True)
class PairExamples(Encoded):
    """Sources with their targets.

    Attributes:
        units: ids of all targets, one after another, each with its end.
        ends: (pairs,) index after the last unit of each.
    """

    units: Ids
    ends: Ids

    @property
    def target_count(self) -> int:
        """Number of units, their ends included."""
        return len(self.units)

    def batch(self, indices: Sequence[int] | Ids) -> Batch[Arrays]:
        """The pairs at `indices`; its targets are (batch, longest) units, `PADDED` at the end."""
        batch = super().batch(indices)
        chosen = np.asarray(indices)
        ends = self.ends[chosen]
        starts = np.where(chosen > 0, self.ends[chosen - 1], 0)
        steps = np.arange(int((ends - starts).max()))
        places = starts[:, None] + steps  # (batch, longest)
        real = places < ends[:, None]
        found = np.where(real, self.units[np.where(real, places, 0)], PADDED)
        return replace(batch, targets={**batch.targets, UNITS: found})


def encode_pairs(
    sentences: Sequence[Sentence],
    vocabulary: Vocabulary,
    weights: Sequence[float] | None,
    *,
    copies: bool,
) -> PairExamples:
    """Pairs as ids.

    Args:
        sentences: sources in symbols, with targets, of which the first is learnt.
        vocabulary: with the units.
        weights: of the pairs in the loss; None where all weigh the same.
        copies: whether units may be copied.
    """
    reading = vocabulary.pairs
    assert reading is not None
    targets = {}
    if copies:
        ids = [id for sentence in sentences for id in reading.copies(sentence.words)]
        targets[COPIES] = Target(np.array(ids, dtype=np.int64), "token")
    found = encode(sentences, vocabulary, targets, chars=False, weights=weights, document_words=0)
    units: list[int] = []
    ends = np.empty(len(sentences), dtype=np.int64)
    for number, sentence in enumerate(sentences):
        own = reading.cut(sentence.targets[0])
        units += [*reading.unit_ids(own, sentence.words if copies else ()), END_ID]
        ends[number] = len(units)
    values: npt.NDArray[np.int64] = np.array(units, dtype=np.int64)
    return PairExamples(
        found.indexed, found.encoded_words, found.targets, found.weights, found.contextual,
        units=values, ends=ends,
    )  # fmt: skip
