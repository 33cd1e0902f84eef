"""Reports on several tag columns that one model predicts, each with words known and unknown.

A word is known if the training corpus has it, as it is written. The accuracy on unknown words says
what a model does with new text (Jurafsky and Martin, "Sequence Labeling for Parts of Speech and
Named Entities"; Chrupala 2008 for lemmas).
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from tagkit.evaluation.reports.report import ReportOfParts, head_of
from tagkit.evaluation.reports.tag_report import TagReport, make_tag_report
from tagkit.evaluation.scores.metrics import MEAN, added_tag_metrics
from tagkit.evaluation.scores.outcomes import Outcomes
from tagkit.evaluation.scores.scores import Counts, Labels, Score
from tagkit.text.json_text import Record
from tagkit.text.morphology import attributes_of
from tagkit.text.schemes import has_spans

COLUMNS = "columns"  # the `kind` in JSON of a report on several columns
FEATURES, LEMMAS = "features", "lemmas"  # likewise of one of them, which is none of tags


@dataclass(frozen=True, slots=True)
class Accuracy(Record):
    """Share of words whose value is right, 0 to 1, 0 without words; and how many there are."""

    accuracy: float
    support: int


@dataclass(frozen=True, slots=True)
class ColumnReport(Record):
    """Scores of one column.

    Attributes:
        name: of the column.
        kind: "spans" or "tokens" of tags, "features" of values with parts, "lemmas".
        tokens: how many.
        accuracy: share of tokens whose whole value is right.
        known: accuracy on words of the training corpus; None where that is not known, as of files.
        unknown: accuracy on all others; likewise.
        tags: the report by label, of tags; None of other values.
        micro: over all parts of all values; None where values have no parts.
        attributes: scores of each part, such as the attribute Number; a token counts where it has
            the attribute. None where values have no parts.
    """

    name: str
    kind: str
    tokens: int
    accuracy: float
    known: Accuracy | None
    unknown: Accuracy | None
    tags: TagReport | None = None
    micro: Score | None = None
    attributes: Mapping[str, Score] | None = None

    @property
    def headline(self) -> float:
        """F1 of spans; accuracy of everything else; 0 to 1."""
        return self.tags.headline if self.tags is not None else self.accuracy

    @property
    def measure(self) -> str:
        """Name of the headline."""
        return self.tags.measure if self.tags is not None else "accuracy"

    def parts(self) -> dict[str, float]:
        """Every score by its name in history.jsonl, which begins with the column's.

        Of tags without spans, F1 is accuracy: a wrong tag is missed once and wrongly predicted
        once. It is there all the same, as before a corpus is read nobody knows what its tags are.
        """
        found = {"accuracy": self.accuracy}
        if self.tags is not None:
            found |= {"f1": self.tags.micro.f1, "macro_f1": self.tags.macro.f1}
            for metric in added_tag_metrics():
                found[metric.key] = metric.value(self.tags.comparison)
        if self.micro is not None:
            found["f1"] = self.micro.f1
        if self.known is not None and self.unknown is not None:
            found["known_accuracy"] = self.known.accuracy
            found["unknown_accuracy"] = self.unknown.accuracy
        return {column_key(self.name, key): value for key, value in found.items()}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        head = head_of(self, self.kind)
        values = Record.to_dict(self).items()
        own = {key: value for key, value in values if key != "name" and value is not None}
        return head | own


@dataclass(frozen=True, slots=True)
class ColumnsReport(ReportOfParts):
    """Scores of all columns of a model, in the order of `data.tag_column`.

    Attributes:
        columns: the scores of each.
        judged: the predictions of each with their probabilities, by its name; empty where these
            were not computed; not part of the JSON.
    """

    columns: tuple[ColumnReport, ...]
    judged: Mapping[str, Outcomes] = field(default_factory=dict, compare=False, repr=False)

    @property
    def headline(self) -> float:
        """The one number: the mean of the columns' own; 0 to 1."""
        # No column may win an epoch at the cost of the others.
        return sum(column.headline for column in self.columns) / len(self.columns)

    @property
    def measure(self) -> str:
        """Name of the headline: that of a single column, or "mean"."""
        return self.columns[0].measure if len(self.columns) == 1 else MEAN

    def by_label(self) -> dict[str, Mapping[str, Score]]:
        """Scores of each label, or of each attribute, by the column's name; none of lemmas."""
        tables = {
            column.name: column.attributes if column.tags is None else column.tags.types
            for column in self.columns
        }
        return {name: table for name, table in tables.items() if table is not None}

    def parts(self) -> dict[str, float]:
        """Every score by its name in history.jsonl: UPOS_accuracy, FEATS_f1."""
        return dict(chain.from_iterable(column.parts().items() for column in self.columns))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            **head_of(self, COLUMNS),
            "columns": {column.name: column.to_dict() for column in self.columns},
        }


def column_key(column: str, metric: str) -> str:
    """Name of a column's metric in history.jsonl, and for `train.metric`."""
    return f"{column}_{metric}"


def make_tag_column_report(
    name: str,
    scheme: str,
    words: Labels,
    gold: Labels,
    predicted: Labels,
    forms: Set[str],
    known: Collection[str],
    *,
    strict: bool,
) -> ColumnReport:
    """A report on a column of tags.

    Args:
        name: of the column.
        scheme: of both kinds of tags.
        words: of each sentence.
        gold: tags of each sentence.
        predicted: likewise.
        forms: the words of the training corpus.
        known: labels that the model can predict.
        strict: whether only well-formed spans count.
    """
    tags = make_tag_report(gold, predicted, scheme, strict=strict, known=known)
    kind = "spans" if has_spans(scheme) else "tokens"
    return _report(name, kind, words, gold, predicted, forms, tags=tags)


def make_file_column_report(name: str, report: TagReport) -> ColumnReport:
    """A report on a column of two files, whose name in CoNLL-U says what its values are.

    Args:
        name: of the column.
        report: on its values as tags, with all labels and words.
    """
    found = report.comparison
    sides = [each.words for each in found.sentences], found.gold, found.predicted
    if name == "FEATS":
        return make_features_report(name, *sides, None)
    if name == "LEMMA":
        return make_lemma_report(name, *sides, None)
    return _report(name, str(found.kind), *sides, None, tags=report)


def make_features_report(
    name: str, words: Labels, gold: Labels, predicted: Labels, forms: Set[str] | None
) -> ColumnReport:
    """A report on values with attributes, such as FEATS; arguments as of `make_tag_column_report`.

    An attribute of a token is right if it has its gold value. What neither gold nor prediction has
    counts nowhere, so that a rare attribute is not always right.
    """
    counts = Counts()
    # A treebank has few distinct values, which are taken apart once.
    pairs = Counter(_tokens(gold, predicted))
    for (ours, theirs), number in pairs.items():
        expected, found = attributes_of(ours), attributes_of(theirs)
        for each in expected:
            counts.gold[each] += number
        for each, value in found.items():
            counts.predicted[each] += number
            if expected.get(each) == value:
                counts.correct[each] += number
    table = counts.table()
    return _report(
        name, FEATURES, words, gold, predicted, forms, micro=table.micro, attributes=table.types
    )


def make_lemma_report(
    name: str, words: Labels, gold: Labels, predicted: Labels, forms: Set[str] | None
) -> ColumnReport:
    """A report on lemmas; arguments as of `make_tag_column_report`."""
    return _report(name, LEMMAS, words, gold, predicted, forms)


def _report(
    name: str,
    kind: str,
    words: Labels,
    gold: Labels,
    predicted: Labels,
    forms: Set[str] | None,
    *,
    tags: TagReport | None = None,
    micro: Score | None = None,
    attributes: Mapping[str, Score] | None = None,
) -> ColumnReport:
    # [number of tokens, number of right ones], of unknown words and of known ones
    counts = [[0, 0], [0, 0]]
    for word, ours, theirs in _tokens(words, gold, predicted):
        count = counts[word in (forms or ())]
        count[0] += 1
        count[1] += ours == theirs
    unknown, known = (Accuracy(right / total if total else 0.0, total) for total, right in counts)
    tokens = unknown.support + known.support
    right = sum(count[1] for count in counts)
    return ColumnReport(
        name=name,
        kind=kind,
        tokens=tokens,
        accuracy=right / tokens if tokens else 0.0,
        known=None if forms is None else known,
        unknown=None if forms is None else unknown,
        tags=tags,
        micro=micro,
        attributes=attributes,
    )


def _tokens(*rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """The strings of all sentences side by side, token by token."""
    return zip(*map(chain.from_iterable, rows), strict=True)
