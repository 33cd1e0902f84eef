"""Tags: plain labels, or tags of spans, by the head that `head.kind` names.

The head, its constraints and its decoding are those of a tagger of one column (`tagger.py`).
"""

from collections.abc import Mapping, Sequence, Set
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from tagkit.config import Config, with_options
from tagkit.errors import BundleError
from tagkit.evaluation.reports.column_report import ColumnReport, make_tag_column_report
from tagkit.evaluation.scores.metrics import added_tag_metrics
from tagkit.features.column_labels import ColumnLabels
from tagkit.features.vocabulary import most_frequent
from tagkit.models.base.description import head_name
from tagkit.models.base.output import ColumnOutput
from tagkit.models.base.task_records import TrainingData
from tagkit.models.columns.codecs.codec import Codec, ColumnText, Decoded
from tagkit.models.folder.parts import check_tags
from tagkit.models.tagging.tag_head import (
    alternatives,
    continuations,
    head_of_tags,
    set_head_constants,
    spelled,
    with_probabilities,
)
from tagkit.nn.heads.tagging import Head
from tagkit.text.records import Alternative, Prediction, Sentence, TagColumn
from tagkit.text.schemes import OUTSIDE, SCHEMES, convert, has_spans, split_tag
from tagkit.wording import quoted

_WHOLE = ""  # a tag has one part


class TagCodec(Codec):
    """Plain labels and tags of spans."""

    # The micro F1 of plain labels is their accuracy.
    metrics: ClassVar[Mapping[str, str]] = {
        "f1": "F1", "accuracy": "accuracy", "macro_f1": "macro F1"
    }  # fmt: skip

    def metric_names(self) -> Mapping[str, str]:
        """With the metrics of tags that have no place in a report."""
        return {**self.metrics, **{metric.key: metric.name for metric in added_tag_metrics()}}

    def head_name(self, config: Config) -> str:
        """That of `head.kind`."""
        return head_name(config)

    def labels(self, learnt: str, text: ColumnText) -> Mapping[str, tuple[str, ...]]:
        """The tags in the training scheme, the most frequent first."""
        tags = most_frequent(chain.from_iterable(convert(each, learnt) for each in text.values))
        if has_spans(learnt) and OUTSIDE not in tags:
            tags = (OUTSIDE, *tags)  # without it a scheme may leave short sentences no legal path
        return {_WHOLE: tags}

    def target(self, labels: ColumnLabels, text: ColumnText) -> npt.NDArray[Any]:
        """(tokens,) id of each tag in the training scheme."""
        ids = {tag: number for number, tag in enumerate(labels.parts[_WHOLE])}
        flat = [ids[tag] for values in text.values for tag in convert(values, labels.learnt)]
        return np.array(flat, dtype=np.int64)

    def build(
        self, config: Config, labels: ColumnLabels, inputs: int, data: TrainingData | None
    ) -> nn.Module:
        """The head that the configuration names."""
        tags = labels.parts[_WHOLE]
        head = head_of_tags(_of(config, labels.scheme), tags, inputs, data, labels.name)
        # Not saved, as it follows from the tags: (tags,) the tag that continues each one's span.
        following = continuations(tags, labels.learnt)
        head.register_buffer("continuation", following, persistent=False)
        return head

    def check(
        self, config: Config, labels: ColumnLabels, config_file: Path, vocabulary_file: Path
    ) -> None:
        """There are tags of the training scheme."""
        if labels.scheme not in SCHEMES or [*labels.parts] != [_WHOLE]:
            raise BundleError(
                f"{vocabulary_file}: expected tags of the column {labels.name} in one of the "
                f"schemes {', '.join(SCHEMES)}, found {quoted(labels.scheme)}"
            )
        own = _of(config, labels.scheme)
        check_tags(own, labels.parts[_WHOLE], config_file, vocabulary_file)

    def set_constants(self, head: nn.Module, config: Config, labels: ColumnLabels) -> None:
        """Forbidden steps, and the tags that continue a span."""
        assert isinstance(head, Head)
        tags = labels.parts[_WHOLE]
        head.continuation = continuations(tags, labels.learnt)
        set_head_constants(head, _of(config, labels.scheme), tags)

    def output(self, head: Any, states: Tensor, mask: Tensor, *, confidence: bool) -> ColumnOutput:
        """The best paths, and with `confidence` the probabilities of their tags and spans."""
        ids = head.decode(states, mask)  # (batch, time)
        if not confidence:
            return ColumnOutput(ids.cpu())
        found = head.confidence(states, mask, ids, head.continuation)
        return ColumnOutput(ids.cpu(), found)

    def decode(
        self, labels: ColumnLabels, output: ColumnOutput, sentences: Sequence[Sentence]
    ) -> list[Decoded]:
        """Tags in the scheme of the training corpus, and their spans."""
        read = partial(spelled, labels.parts[_WHOLE], labels.scheme)
        found = []
        for row, (sentence, path) in enumerate(zip(sentences, output.ids.tolist(), strict=True)):
            prediction = Prediction(sentence.words, *read(path[: len(sentence)]))
            if output.confidence is not None:
                prediction = with_probabilities(prediction, output.confidence, row)
            column = TagColumn(labels.name, prediction.tags, prediction.probabilities)
            found.append(Decoded(column, prediction.spans))
        return found

    def n_best(
        self, head: Any, labels: ColumnLabels, states: Tensor, mask: Tensor, count: int
    ) -> list[list[Alternative]]:
        """The best paths of the head."""
        read = partial(spelled, labels.parts[_WHOLE], labels.scheme)
        paths, log_probs = head.n_best(states, mask, count)
        return alternatives(read, paths, log_probs, mask.sum(1).tolist())

    def score(
        self,
        labels: ColumnLabels,
        gold: ColumnText,
        predicted: Sequence[tuple[str, ...]],
        forms: Set[str],
        *,
        strict: bool,
    ) -> ColumnReport:
        """Scores of spans, or of plain labels."""
        return make_tag_column_report(
            labels.name, labels.scheme, gold.words, gold.values, predicted, forms,
            self.known(labels), strict=strict,
        )  # fmt: skip

    def known(self, labels: ColumnLabels) -> frozenset[str]:
        """Types of spans, or plain labels."""
        tags = frozenset(labels.parts[_WHOLE])
        if not has_spans(labels.scheme):
            return tags
        return frozenset(split_tag(tag)[1] for tag in tags if tag != OUTSIDE)


def _of(config: Config, scheme: str) -> Config:
    """The configuration with the scheme of a column, as that of the first need not be its own."""
    if config.data.scheme == scheme:
        return config
    return with_options(config, {"data.scheme": scheme})
