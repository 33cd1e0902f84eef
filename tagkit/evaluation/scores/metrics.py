"""The metrics that a report has: one table, which headline, reports, history and console share.

A new metric is a function of a `Comparison` and a row of `METRICS`. It then has, in the report,
a line of its own, and is a key of its JSON and of `dev_scores` in history.jsonl, a column of the
table that `tagkit train` shows, and a value of `train.metric`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from tagkit.evaluation.scores.outcomes import Outcomes
from tagkit.evaluation.scores.scores import Labels, ScoreTable
from tagkit.text.records import Sentence


class Kind(StrEnum):
    """What is scored; the `kind` of a report in JSON."""

    SPANS = "spans"  # of tags in a span scheme
    TOKENS = "tokens"  # plain labels, one per token
    CLASS = "class"  # one class per text
    CLASSES = "classes"  # any number of classes per text

    @property
    def of_texts(self) -> bool:
        """Whether the labels are classes of texts, and not tags of tokens."""
        return self in (Kind.CLASS, Kind.CLASSES)


CLASS_PREFIX = "class_"  # of metrics of classes, in `dev_scores` of history.jsonl
JOINT = "joint"  # the `kind` in JSON of a report that holds one of tags and one of classes
MEAN = "mean"  # what the headline of such a report is called


@dataclass(frozen=True, slots=True)
class Comparison:
    """Gold and predicted labels side by side, with what every report counts of them.

    Attributes:
        kind: what the labels are.
        gold: the tags of each sentence, or the classes of each text; empty of files that were
            counted as they were read, as they are where each metric is `of_counts`.
        predicted: as long as `gold`.
        accuracy: share of tokens whose tag is right, or of texts whose classes all are.
        table: scores by label.
        sentences: the words that `gold` has the tags of, with their lines; empty of texts with
            classes, and where `gold` is.
        name: of the corpus; empty without `sentences`.
        judged: the predictions with their probabilities; None where these were not computed.
    """

    kind: Kind
    gold: Labels
    predicted: Labels
    accuracy: float
    table: ScoreTable
    sentences: Sequence[Sentence] = ()
    name: str = ""
    judged: Outcomes | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """One number, 0 to 1, that a report has; people see it as a percentage or with four digits.

    Attributes:
        key: name in JSON; in history.jsonl that of classes has `class_` before it.
        name: for people.
        column: head of a column, after "dev".
        kinds: what it is defined for.
        value: the function that computes it.
        has_place: whether the table of a report or the line below it shows it already. One
            that has no place there gets a line and a column of its own.
        of_counts: whether it follows from `accuracy` and `table` alone. Where all do, two files are
            counted as they are read; else their labels are kept for it.
    """

    key: str
    name: str
    column: str
    kinds: frozenset[Kind]
    value: Callable[[Comparison], float]
    has_place: bool = False
    of_counts: bool = False


_ALL = frozenset(Kind)
_NOT_TOKENS = _ALL - {Kind.TOKENS}  # micro P, R and F1 of plain labels all equal their accuracy

_of_counts = partial(Metric, has_place=True, of_counts=True)

# The order is that of the keys in history.jsonl.
METRICS = {
    metric.key: metric
    for metric in (
        _of_counts("accuracy", "accuracy", "acc.", _ALL, lambda c: c.accuracy),
        _of_counts("precision", "precision", "P", _NOT_TOKENS, lambda c: c.table.micro.precision),
        _of_counts("recall", "recall", "R", _NOT_TOKENS, lambda c: c.table.micro.recall),
        _of_counts("f1", "F1", "F1", _NOT_TOKENS, lambda c: c.table.micro.f1),
        _of_counts("macro_f1", "macro F1", "macro F1", _ALL, lambda c: c.table.macro.f1),
    )
}

# The one number by which epochs, seeds and trials are ranked, unless `train.metric` names another
# (`evaluation.criterion`). Accuracy would flatter a tagger of spans, since most tokens are O, and a
# classifier of many classes, since most are absent.
HEADLINES = {
    Kind.SPANS: "f1",
    Kind.TOKENS: "accuracy",
    Kind.CLASS: "accuracy",
    Kind.CLASSES: "f1",
}


def metrics_of(kind: Kind) -> Iterator[Metric]:
    """The metrics that are defined for a kind."""
    return (metric for metric in METRICS.values() if kind in metric.kinds)


def need_labels(*kinds: Kind) -> bool:
    """Whether some metric of these kinds reads the labels themselves."""
    return any(not metric.of_counts for kind in kinds for metric in metrics_of(kind))


def headline_metric(kind: Kind) -> Metric:
    """The metric that ranks models."""
    return METRICS[HEADLINES[kind]]


def headline_column(kinds: Iterable[Kind]) -> str:
    """Head of the column of the headline, for a model that predicts these kinds of labels."""
    first, *more = kinds
    return MEAN if more else headline_metric(first).column


def history_key(metric: Metric, kind: Kind) -> str:
    """Name of a metric in `dev_scores` of history.jsonl, where tags and classes share a table."""
    return CLASS_PREFIX + metric.key if kind.of_texts else metric.key


def history_values(comparison: Comparison) -> dict[str, float]:
    """Every metric of a comparison by its name in history.jsonl."""
    kind = comparison.kind
    return {history_key(metric, kind): metric.value(comparison) for metric in metrics_of(kind)}


def added_metrics(kind: Kind) -> list[Metric]:
    """The metrics that need a line and a column of their own."""
    return [metric for metric in metrics_of(kind) if not metric.has_place]


def added_tag_metrics() -> list[Metric]:
    """Those of tags of either kind: before a corpus is read nobody knows what its tags are."""
    return [metric for metric in added_metrics(Kind.SPANS) if Kind.TOKENS in metric.kinds]
