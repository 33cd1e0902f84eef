"""A report of how texts are classified, and one of tags and classes together.

Jurafsky and Martin, "Naive Bayes, Text Classification, and Sentiment", sections on evaluation:
precision, recall, F1, micro and macro averages, the confusion matrix.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tagkit.evaluation.metrics import Score, Tags, label_scores
from tagkit.evaluation.tag_report import Report
from tagkit.text.schemes import to_spans

Labels = Sequence[Sequence[str]]  # the classes of each text


@dataclass(frozen=True, slots=True)
class ClassReport:
    """Scores of predicted classes against gold.

    Attributes:
        texts: how many.
        several: whether a text may have several classes, or none.
        accuracy: share of texts whose classes are right, all of them and no other.
        micro: over all classes of all texts.
        macro: mean over classes.
        weighted: mean over classes, weighted by support.
        types: by class, in alphabetical order.
        confusion: texts by gold and then by predicted class, "" where none was likely; empty where
            a text may have several.
        unknown: gold classes that the model does not know, each with its support; they count as
            errors.
    """

    texts: int
    several: bool
    accuracy: float
    micro: Score
    macro: Score
    weighted: Score
    types: Mapping[str, Score]
    confusion: Mapping[str, Mapping[str, int]]
    unknown: Mapping[str, int]

    def parts(self) -> dict[str, float]:
        """What there is to the headline, by name, 0 to 1."""
        return {
            "class_accuracy": self.accuracy,
            "class_precision": self.micro.precision,
            "class_recall": self.micro.recall,
            "class_f1": self.micro.f1,
        }

    @property
    def headline(self) -> float:
        """The one number: accuracy, or micro F1 where a text may have several classes; 0 to 1."""
        return self.micro.f1 if self.several else self.accuracy

    def confused(self) -> list[tuple[str, str, int]]:
        """Gold class, predicted class and texts of each confusion, the most frequent first."""
        pairs = [
            (gold, predicted, count)
            for gold, row in self.confusion.items()
            for predicted, count in row.items()
            if gold != predicted
        ]
        return sorted(pairs, key=lambda pair: (-pair[2], pair))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class JointReport:
    """Scores of tags and of classes that one model predicts.

    Attributes:
        tags: of the tags.
        classes: of the texts' classes.
        whole: share of texts whose spans (or plain labels) and classes are all right.
    """

    tags: Report
    classes: ClassReport
    whole: float

    def parts(self) -> dict[str, float]:
        """What there is to the headline, by name, 0 to 1."""
        return {**self.tags.parts(), **self.classes.parts()}

    @property
    def headline(self) -> float:
        """The one number: the mean of both reports' own; 0 to 1."""
        return (self.tags.headline + self.classes.headline) / 2

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def make_class_report(
    gold: Labels, predicted: Labels, *, several: bool, known: Collection[str] | None = None
) -> ClassReport:
    """Scores by class and their averages.

    Args:
        gold: the classes of each text; one where not `several`.
        predicted: likewise, none where none was likely.
        several: whether a text may have several classes.
        known: classes that the model can predict; None where that is not known.
    """
    types, averages = label_scores(gold, predicted)
    right = sum(set(a) == set(b) for a, b in zip(gold, predicted, strict=True))
    confusion: dict[str, Counter[str]] = {}
    if not several:
        for ours, theirs in zip(gold, predicted, strict=True):
            confusion.setdefault(ours[0], Counter())[theirs[0] if theirs else ""] += 1
    return ClassReport(
        texts=len(gold),
        several=several,
        accuracy=right / len(gold) if gold else 0.0,
        micro=averages.micro,
        macro=averages.macro,
        weighted=averages.weighted,
        types=types,
        confusion={label: dict(row) for label, row in sorted(confusion.items())},
        unknown={
            label: score.support
            for label, score in types.items()
            if known is not None and label not in known and score.support
        },
    )


def whole_accuracy(
    gold: Tags, predicted: Tags, gold_labels: Labels, labels: Labels, *, plain: bool
) -> float:
    """Share of texts whose spans and classes are all right, 0 to 1; tags where they are `plain`."""
    right = 0
    for ours, theirs, *both in zip(gold, predicted, gold_labels, labels, strict=True):
        same = tuple(ours) == tuple(theirs) if plain else to_spans(ours) == to_spans(theirs)
        right += same and set(both[0]) == set(both[1])
    return right / len(gold) if gold else 0.0


AnyReport = Report | ClassReport | JointReport
