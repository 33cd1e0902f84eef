"""FEATS: a softmax over the values of each attribute, one of which is that it is absent.

A treebank has hundreds of different values of FEATS, and some dozens of attributes of a few values
each. Taken apart, a combination that training has never seen can be predicted, and what is rare in
one combination is learnt from the others.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from tagkit.config import Config
from tagkit.errors import DataError
from tagkit.evaluation.reports.column_report import ColumnReport, make_features_report
from tagkit.features.column_labels import ColumnLabels
from tagkit.features.vocabulary import most_frequent
from tagkit.models.base.output import ColumnOutput, require_number
from tagkit.models.base.task_records import TrainingData
from tagkit.models.columns.codecs.codec import Codec, ColumnText, Decoded
from tagkit.nn.heads.parts import PartsHead
from tagkit.text.morphology import attributes_of, features_of, order_of
from tagkit.text.records import Sentence, TagColumn

_ABSENT = "-"  # no value of an attribute: those begin with "=" or a bar, or are empty


class FeatureCodec(Codec):
    """Values with parts."""

    columns: ClassVar[frozenset[str]] = frozenset({"FEATS"})
    metrics: ClassVar[Mapping[str, str]] = {"accuracy": "accuracy", "f1": "F1 of attributes"}

    def head_name(self, config: Config) -> str:
        """One for each attribute."""
        return "softmax"

    def labels(self, learnt: str, text: ColumnText) -> Mapping[str, tuple[str, ...]]:
        """For each attribute, in the treebank's order, its absence and its values.

        Raises:
            DataError: no word has an attribute.
        """
        counts = Counter(chain.from_iterable(text.values))
        values: dict[str, Counter[str]] = {name: Counter() for name in order_of(sorted(counts))}
        if not values:
            raise DataError("the column FEATS holds no features to learn: every value is _")
        for value, count in counts.items():
            for name, each in attributes_of(value).items():
                values[name][each] += count
        return {name: (_ABSENT, *most_frequent(found)) for name, found in values.items()}

    def target(self, labels: ColumnLabels, text: ColumnText) -> npt.NDArray[Any]:
        """(tokens, attributes) id of each attribute's value."""
        ids = {
            name: {value: number for number, value in enumerate(values)}
            for name, values in labels.parts.items()
        }
        rows: dict[str, list[int]] = {}  # of each distinct value
        flat = list(chain.from_iterable(text.values))
        for value in dict.fromkeys(flat):
            found = attributes_of(value)
            if not found.keys() <= ids.keys():
                raise KeyError(value)
            rows[value] = [known[found.get(name, _ABSENT)] for name, known in ids.items()]
        # Without tokens np.array([]) would be (0,), not (0, attributes).
        return np.array([rows[value] for value in flat], dtype=np.int64).reshape(-1, len(ids))

    def build(
        self, config: Config, labels: ColumnLabels, inputs: int, data: TrainingData | None
    ) -> nn.Module:
        """A softmax for each attribute."""
        return PartsHead(inputs, [len(values) for values in labels.parts.values()])

    def output(self, head: Any, states: Tensor, mask: Tensor, *, confidence: bool) -> ColumnOutput:
        """The best value of each attribute; with `confidence` the probability of all together."""
        scores = head.scores(states, mask)  # (batch, time, size) of each attribute
        # (batch, time) of each -> (batch, time, attributes)
        ids = torch.stack([each.argmax(2) for each in scores], dim=2).cpu()
        if not confidence:
            return ColumnOutput(ids)
        # p(FEATS) = product of p(attribute), as these are independent given the states. (batch,
        # time), from the logarithms, as a product of many small factors loses digits.
        log_probs = [torch.log_softmax(each / head.temperature, dim=2).amax(2) for each in scores]
        return ColumnOutput(ids, probs=torch.stack(log_probs).sum(0).exp().cpu())

    def decode(
        self, labels: ColumnLabels, output: ColumnOutput, sentences: Sequence[Sentence]
    ) -> list[Decoded]:
        """Attributes in the order of the treebank."""
        parts = list(labels.parts.items())
        texts: dict[tuple[int, ...], str] = {}  # of each distinct row of ids
        found = []
        for row, (sentence, ids) in enumerate(zip(sentences, output.ids.tolist(), strict=True)):
            values = []
            for numbers in map(tuple, ids[: len(sentence)]):
                if numbers not in texts:
                    chosen = {
                        name: strings[number]
                        for (name, strings), number in zip(parts, numbers, strict=True)
                        if strings[number] != _ABSENT
                    }
                    texts[numbers] = features_of(chosen, labels.parts)
                values.append(texts[numbers])
            column = TagColumn(labels.name, tuple(values), probabilities(output, row, sentence))
            found.append(Decoded(column))
        return found

    def score(
        self,
        labels: ColumnLabels,
        gold: ColumnText,
        predicted: Sequence[tuple[str, ...]],
        forms: Set[str],
        *,
        strict: bool,
    ) -> ColumnReport:
        """Accuracy of whole values, and precision, recall and F1 of each attribute."""
        return make_features_report(labels.name, gold.words, gold.values, predicted, forms)


def probabilities(output: ColumnOutput, row: int, sentence: Sentence) -> tuple[float, ...] | None:
    """Probabilities of a sentence's values; None where they were not asked for.

    Raises:
        BundleError: one is not a number.
    """
    if output.probs is None:
        return None
    probs = output.probs[row, : len(sentence)].tolist()
    require_number(sum(probs))
    return tuple(probs)
