"""What ranks epochs, seeds and trials: the metric on dev that `train.metric` names, or dev's loss.

A metric is named by its key in history.jsonl, so that each row of `METRICS` can be chosen without
an entry here. `rank` is the one place that knows that a loss is better when it is smaller.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tagkit.corpus.splits.splits import Corpus
from tagkit.errors import DataError
from tagkit.evaluation.reports.class_report import label_reports
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.scores.metrics import (
    CLASS_PREFIX,
    METRICS,
    Comparison,
    Kind,
    headline_column,
    headline_metric,
    history_key,
    metrics_of,
)
from tagkit.wording import clipped, listed, quoted

AUTO, LOSS = "auto", "loss"
_OF_LABEL = "f1:"  # before a label
_BARE = "_"  # how the label of a bare prefix is written
_MAX_LABEL = 20  # characters of a label in the head of a column


@dataclass(frozen=True, slots=True)
class Criterion:
    """The number that ranks epochs, seeds and trials.

    Attributes:
        key: value of `train.metric`.
        name: for people.
        of_report: its value on a report, 0 to 1; for a loss, which no report has, the headline.
        part: its name in `dev_scores` of history.jsonl; None where it is not among them.
        label: the label whose F1 it is; None of any other number.
        label_kind: what that label is; None without one.
        beside: heads of columns of the usual headlines, by their names in history.jsonl, where
            another number was chosen, such as their mean.
    """

    key: str
    name: str
    of_report: Callable[[Report], float]
    part: str | None = None
    label: str | None = None
    label_kind: Kind | None = None
    beside: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_loss(self) -> bool:
        """Whether it is the loss on dev."""
        return self.key == LOSS


def rank(metric: str, score: float) -> float:
    """A score by `train.metric` on a scale on which larger is better."""
    return -score if metric == LOSS else score


def scaled(metric: str, score: float) -> float:
    """A score by `train.metric` as people see it: a percentage, or a loss as it is."""
    return score if metric == LOSS else 100 * score


def score_text(metric: str, score: float) -> str:
    """A score by `train.metric` as text: 95.23, or a loss with four digits."""
    return f"{scaled(metric, score):.4f}" if metric == LOSS else f"{scaled(metric, score):.2f}"


def find_criterion(metric: str, kinds: Sequence[Kind], usual: str) -> Criterion:
    """The criterion that `train.metric` names.

    Args:
        metric: value of the option.
        kinds: of the labels that the model predicts, those of tags first; none where its report is
            of a kind of its own.
        usual: what the headline of such a report is called.

    Raises:
        DataError: there is no such metric for these labels.
    """
    usual = headline_column(kinds) if kinds else usual
    heads = {history_key(headline_metric(kind), kind): headline_metric(kind) for kind in kinds}
    beside = {key: each.column for key, each in heads.items()}
    if metric == AUTO:  # of one kind the headline is that very metric, and no mean of several
        return Criterion(AUTO, usual, _headline, beside=beside if len(kinds) > 1 else {})
    if metric == LOSS:
        return Criterion(LOSS, LOSS, _headline, beside=beside)
    for kind in kinds:
        # In history.jsonl metrics of classes have a prefix. Without tags it may be left out.
        prefix = CLASS_PREFIX if kind.of_texts else ""
        if not metric.startswith(prefix) and len(kinds) > 1:
            continue
        # With tags and classes in one model each name says which of the two is meant.
        of = "class " if kind.of_texts and len(kinds) > 1 else ""
        name = metric.removeprefix(prefix)
        if name.startswith(_OF_LABEL):
            label = name.removeprefix(_OF_LABEL)
            own = "" if label == _BARE and kind is Kind.SPANS else label
            return Criterion(
                metric,
                f"{of}F1 of {clipped(label, _MAX_LABEL)}",
                _label_f1(own, of_classes=kind.of_texts),
                label=own,
                label_kind=kind,
                beside=beside,
            )
        if (found := METRICS.get(name)) is not None and kind in found.kinds:
            key = history_key(found, kind)
            others = {each: head for each, head in beside.items() if each != key}
            return Criterion(metric, of + found.name, _part(key), part=key, beside=others)
    raise _unknown(metric, names_of(kinds))


def find_column_criterion(metric: str, names: Mapping[str, str], usual: str) -> Criterion:
    """The criterion that `train.metric` names, of a model of several tag columns.

    Args:
        metric: value of the option.
        names: of the columns' metrics, for people, by their names in history.jsonl.
        usual: what the headline is called.

    Raises:
        DataError: there is no such metric.
    """
    if metric in (AUTO, LOSS):
        return Criterion(metric, LOSS if metric == LOSS else usual, _headline)
    if metric in names:
        return Criterion(metric, names[metric], _part(metric), part=metric)
    raise _unknown(metric, [AUTO, LOSS, *names])


def _unknown(metric: str, names: Iterable[str]) -> DataError:
    return DataError(
        f"train.metric={clipped(metric)}: no such metric of this model; there are: "
        f"{', '.join(names)}"
    )


def names_of(kinds: Sequence[Kind]) -> list[str]:
    """What `train.metric` may be for a model that predicts these labels."""
    names = [AUTO, LOSS]
    for kind in kinds:
        prefix = CLASS_PREFIX if kind.of_texts and len(kinds) > 1 else ""
        names += [prefix + metric.key for metric in metrics_of(kind)]
        names.append(f"{prefix}{_OF_LABEL}{'CLASS' if kind.of_texts else 'LABEL'}")
    return names


def check_label(criterion: Criterion, corpus: Corpus) -> None:
    """Refuse the F1 of a label that train or dev lacks: it would be 0 in every epoch.

    Raises:
        DataError: one of them lacks it.
    """
    kind = criterion.label_kind
    if criterion.label is None or kind is None:
        return
    word = "class" if kind.of_texts else "type" if kind is Kind.SPANS else "label"
    for split in (corpus.train, corpus.dev):
        labels: Collection[str] = split.classes() if kind.of_texts else split.labels()
        if criterion.label not in labels:
            given = f"train.metric={clipped(criterion.key)}"
            there = listed(sorted(label or _BARE for label in labels)) or "none"
            if not criterion.label and criterion.key.endswith(_OF_LABEL):  # not f1:_
                raise DataError(f"{given}: expected a {word} behind the colon; there are: {there}")
            holder = "text" if kind.of_texts else "span" if kind is Kind.SPANS else "token"
            shown = quoted(criterion.label or _BARE)
            raise DataError(
                f"{given}: no {holder} has the {word} {shown} in {split.path}; there are: {there}"
            )


def _headline(report: Report) -> float:
    return report.headline


def _part(key: str) -> Callable[[Report], float]:
    return lambda report: report.parts()[key]


def _label_f1(label: str, *, of_classes: bool) -> Callable[[Report], float]:
    def value(report: Report) -> float:
        score = _comparison(report, of_classes=of_classes).table.types.get(label)
        return score.f1 if score else 0.0

    return value


def _comparison(report: Report, *, of_classes: bool) -> Comparison:
    """The comparison of tags or of classes that a report was made of."""
    comparisons = [each.comparison for each in label_reports(report).values()]
    return next(each for each in comparisons if each.kind.of_texts == of_classes)
