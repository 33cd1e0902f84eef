"""Predictions beside gold tags: a model's for a corpus, or those of two files or columns.

Training, `tagkit eval` and `tagkit predict` all tag through `Predictor`, so they never differ.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tagkit.config import DataConfig
from tagkit.corpus.dataset import Split, with_label_notes
from tagkit.corpus.splits import check_classes, read_split
from tagkit.evaluation.class_report import (
    ClassReport,
    JointReport,
    make_class_report,
    whole_accuracy,
)
from tagkit.evaluation.compare import refuse_options_of_tags
from tagkit.evaluation.metrics import accuracy, span_score
from tagkit.evaluation.tag_report import Report, make_report
from tagkit.inference.predictor import Predictor
from tagkit.models.label_kinds import kinds_of

AnyReport = Report | ClassReport | JointReport


@dataclass(frozen=True, slots=True)
class DevScores:
    """What a model is worth, without a table by types.

    Attributes:
        headline: the one number, 0 to 1: micro F1 of spans or accuracy of plain labels; accuracy of
            classes (micro F1 where a text may have several); with both, the mean of the two.
        parts: what there is to it, by name, 0 to 1.
    """

    headline: float
    parts: Mapping[str, float]


def dev_scores(predictor: Predictor, split: Split, batch_size: int) -> DevScores:
    """Scores of a model on a corpus, sooner than `evaluate` has them."""
    answers = _answers(predictor, split, batch_size)
    numbers, parts = [], {}
    if answers.tags is not None:
        # Not by way of a report: seqeval brings scikit-learn, most of a second.
        parts["accuracy"] = accuracy(answers.gold_tags, answers.tags)
        numbers.append(parts["accuracy"])
        if split.scheme != "labels":
            spans = span_score(answers.gold_tags, answers.tags)
            parts |= {"precision": spans.precision, "recall": spans.recall, "f1": spans.f1}
            numbers = [spans.f1]
    if answers.classes is not None:
        micro = answers.classes.micro
        parts |= {
            "class_accuracy": answers.classes.accuracy,
            "class_precision": micro.precision,
            "class_recall": micro.recall,
            "class_f1": micro.f1,
        }
        numbers.append(answers.classes.headline)
    return DevScores(sum(numbers) / len(numbers), parts)


def evaluate(
    predictor: Predictor, split: Split, *, batch_size: int, strict: bool = False
) -> AnyReport:
    """Report of a model's predictions for a corpus with gold tags, classes, or both."""
    answers = _answers(predictor, split, batch_size)
    if answers.tags is None:
        assert answers.classes is not None
        return answers.classes
    scheme = split.scheme or "labels"
    report = make_report(
        answers.gold_tags, answers.tags, scheme, strict=strict, known=predictor.labels()
    )
    if answers.classes is None:
        return report
    whole = whole_accuracy(
        answers.gold_tags,
        answers.tags,
        [sentence.labels for sentence in split.sentences],
        answers.labels,
        plain=scheme == "labels",
    )
    return JointReport(report, answers.classes, whole)


def score_model(
    predictor: Predictor,
    path: str,
    data: DataConfig,
    strict: bool,
    batch_size: int,
    note: Callable[[str], None],
) -> AnyReport:
    """Report of a model's predictions for a corpus with gold tags, classes, or both.

    Args:
        predictor: the model.
        path: of the file.
        data: how its columns are read; columns that it does not name are those of training.
        strict: count well-formed spans only.
        batch_size: sentences a batch, at most.
        note: called with a sentence on what is odd about the corpus.

    Raises:
        DataError: the file cannot be read, or holds tags of another kind than the model's.
    """
    if predictor.config.task == "classify":
        refuse_options_of_tags("this model classifies texts", data, strict)
    split = gold_split(predictor, path, data)
    for text in split.notes:
        note(text)
    return evaluate(predictor, split, batch_size=batch_size, strict=strict)


def gold_split(predictor: Predictor, path: str, data: DataConfig) -> Split:
    """A corpus with gold tags, classes, or both, read as the model's training corpus was.

    Args:
        predictor: the model.
        path: of the file.
        data: how its columns are read; columns that it does not name are those of training.

    Raises:
        DataError: the file cannot be read, or holds tags of another kind than the model's.
    """
    config = predictor.config
    trained = config.data
    columns = ("token_column", "tag_column", "text_column", "label_column")
    named = {
        column: getattr(trained if getattr(data, column) is None else data, column)
        for column in columns
    }
    named["feature_columns"] = trained.feature_columns
    # What is no layout of a file is as it was in training.
    for option in ("tokenizer", "label_level", "tree_labels"):
        named[option] = getattr(trained, option)
    split = read_split(path, data.model_copy(update=named), kinds_of(config), trained.scheme)
    if config.task != "tag":
        check_classes(split, several=config.head.multi_label == "yes")
    return with_label_notes(split, predictor.labels(), predictor.classes(), "the model")


@dataclass(frozen=True)
class _Answers:
    """What a model says of a corpus, beside its gold.

    Attributes:
        gold_tags: as the corpus has them; empty sequences where it has none.
        tags: in the corpus's scheme; None of a model without tags.
        labels: predicted classes; none of a model without classes.
        classes: report of these; None of a model without classes.
    """

    gold_tags: list[tuple[str, ...]]
    tags: list[tuple[str, ...]] | None
    labels: list[tuple[str, ...]]
    classes: ClassReport | None


def _answers(predictor: Predictor, split: Split, batch_size: int) -> _Answers:
    found = predictor.annotate(split.sentences, batch_size=batch_size, confidence=False)
    labels = [prediction.labels for prediction in found]
    tags = classes = None
    if split.scheme is not None:
        tags = [predictor.tags_in(prediction, split.scheme) for prediction in found]
    if predictor.config.task != "tag":
        classes = make_class_report(
            [sentence.labels for sentence in split.sentences],
            labels,
            several=predictor.config.head.multi_label == "yes",
            known=predictor.classes(),
        )
    gold = [sentence.tags or () for sentence in split.sentences]
    return _Answers(gold, tags, labels, classes)
