"""What ranks epochs: each metric of each kind by its name, the F1 of a label, the loss."""

from collections.abc import Sequence

import pytest
from says import Says, refuses

from tagkit.corpus.records.dataset import Split
from tagkit.corpus.splits.splits import Corpus
from tagkit.errors import DataError
from tagkit.evaluation.reports.class_report import JointReport, make_class_report
from tagkit.evaluation.reports.criterion import (
    check_label,
    find_criterion,
    names_of,
    rank,
    scaled,
    score_text,
)
from tagkit.evaluation.reports.tag_report import make_tag_report
from tagkit.evaluation.scores.metrics import Kind
from tagkit.text.records import Sentence
from tagkit.text.scheme_detection import Detection

GOLD = [("B-LOC", "O", "B-PER"), ("B-PER", "O", "O")]
FOUND = [("B-LOC", "O", "O"), ("B-PER", "O", "B-LOC")]
# LOC: 1 of 1 found, 1 spurious. PER: 1 of 2. Micro: 2 right of 3 and of 3.
TAGS = make_tag_report(GOLD, FOUND, "iob2")
CLASSES = make_class_report([("a",), ("a",), ("b",)], [("a",), ("b",), ("b",)], several=False)
BOTH = JointReport(TAGS, CLASSES, 0.5)
JOINT = [Kind.SPANS, Kind.CLASS]


@pytest.mark.parametrize(
    ("metric", "value", "name"),
    [("auto", 2 / 3, "F1"), ("f1", 2 / 3, "F1"), ("macro_f1", 2 / 3, "macro F1"),
     ("accuracy", 4 / 6, "accuracy"), ("precision", 2 / 3, "precision"),
     ("f1:LOC", 2 / 3, "F1 of LOC"), ("f1:PER", 2 / 3, "F1 of PER"), ("f1:ORG", 0.0, "F1 of ORG"),
     ("loss", 2 / 3, "loss")],
)  # fmt: skip
def test_of_spans(metric: str, value: float, name: str) -> None:
    criterion = find_criterion(metric, [Kind.SPANS], "")
    assert criterion.of_report(TAGS) == pytest.approx(value)
    assert (criterion.key, criterion.name) == (metric, name)


@pytest.mark.parametrize(
    ("metric", "value"),
    [("auto", 2 / 3), ("accuracy", 2 / 3), ("class_accuracy", 2 / 3), ("f1:a", 2 / 3),
     ("f1:b", 2 / 3), ("class_f1:b", 2 / 3), ("recall", 2 / 3), ("f1:c", 0.0)],
)  # fmt: skip
def test_of_classes_with_or_without_their_prefix(metric: str, value: float) -> None:
    assert find_criterion(metric, [Kind.CLASS], "").of_report(CLASSES) == pytest.approx(value)


def test_numbers_that_differ_are_told_apart() -> None:
    gold, found = [("B-A", "O", "B-A", "B-B")], [("B-A", "O", "B-A", "O")]
    report = make_tag_report(gold, found, "iob2")
    metrics = ("f1", "macro_f1", "accuracy", "f1:A", "f1:B", "precision", "recall")
    values = [find_criterion(metric, [Kind.SPANS], "").of_report(report) for metric in metrics]
    assert values == pytest.approx([0.8, 0.5, 0.75, 1.0, 0.0, 1.0, 2 / 3])


@pytest.mark.parametrize(
    ("metric", "value", "name", "beside"),
    [("auto", BOTH.headline, "mean", {"f1": "F1", "class_accuracy": "acc."}),
     ("f1", 2 / 3, "F1", {"class_accuracy": "acc."}),
     ("class_macro_f1", 2 / 3, "class macro F1", {"f1": "F1", "class_accuracy": "acc."}),
     ("class_f1:b", 2 / 3, "class F1 of b", {"f1": "F1", "class_accuracy": "acc."}),
     ("f1:PER", 2 / 3, "F1 of PER", {"f1": "F1", "class_accuracy": "acc."})],
)  # fmt: skip
def test_of_tags_and_classes_each_name_says_which_is_meant(
    metric: str, value: float, name: str, beside: dict[str, str]
) -> None:
    criterion = find_criterion(metric, JOINT, "")
    assert criterion.of_report(BOTH) == pytest.approx(value)
    assert (criterion.name, criterion.beside) == (name, beside)


@pytest.mark.parametrize("kind", Kind)
def test_of_one_kind_of_labels_the_headline_stands_alone(kind: Kind) -> None:
    assert find_criterion("auto", [kind], "").beside == {}


@pytest.mark.parametrize("kinds", [[kind] for kind in Kind] + [JOINT])
def test_every_name_that_a_message_offers_is_one(kinds: Sequence[Kind]) -> None:
    for name in names_of(kinds):
        assert find_criterion(name, kinds, "").key == name


@pytest.mark.parametrize(
    ("metric", "kinds"),
    [("f1", [Kind.TOKENS]), ("class_f1", [Kind.SPANS]), ("spans", JOINT), ("f1", [])],
)
def test_a_metric_that_does_not_fit_is_refused_with_those_that_do(
    metric: str, kinds: Sequence[Kind]
) -> None:
    offered = ", ".join(names_of(kinds))
    with refuses(DataError, f"train.metric={metric}: ", f": {offered}"):
        find_criterion(metric, kinds, "")


def split(path: str, *tags: str) -> Split:
    return Split(path, (Sentence(("w",) * len(tags), tags),), Detection("iob2", 1, 0))


@pytest.mark.parametrize(
    ("metric", "train", "dev", "found"),
    [
        ("f1:PRE", "B-PER", "B-PER", Says("'PRE'", "a.conll", "LOC, PER")),
        ("f1:PER", "B-PER", "O", Says("'PER'", "b.conll", "LOC")),
        ("f1:x:", "O", "O", Says("'x:'", "a.conll", "LOC")),
        ("f1:_", "O", "O", Says("'_'", "a.conll", "LOC")),
        ("f1:", "O", "O", Says("colon", "LOC")),
    ],
)
def test_a_label_that_train_or_dev_lacks_is_refused(
    metric: str, train: str, dev: str, found: Says
) -> None:
    corpus = Corpus(split("a.conll", "B-LOC", train), split("b.conll", "B-LOC", dev), None)
    with refuses(DataError, f"train.metric={metric}: ", found):
        check_label(find_criterion(metric, [Kind.SPANS], ""), corpus)
    check_label(find_criterion("f1:LOC", [Kind.SPANS], ""), corpus)


def test_a_metric_knows_its_name_in_the_history_whatever_name_has_chosen_it() -> None:
    assert find_criterion("accuracy", [Kind.CLASS], "").part == "class_accuracy"
    assert find_criterion("class_accuracy", [Kind.CLASS], "").part == "class_accuracy"
    assert find_criterion("accuracy", [Kind.SPANS], "").part == "accuracy"
    assert find_criterion("loss", [Kind.SPANS], "").part is None


def test_the_label_of_a_bare_prefix_is_written_as_in_reports() -> None:
    report = make_tag_report([("B", "O")], [("B", "O")], "iob2")
    assert list(report.types) == ["_"]
    assert find_criterion("f1:_", [Kind.SPANS], "").of_report(report) == 1.0
    corpus = Corpus(split("a", "B", "O"), split("b", "B", "O"), None)
    check_label(find_criterion("f1:_", [Kind.SPANS], ""), corpus)


def test_a_smaller_loss_ranks_higher_and_is_shown_as_it_is() -> None:
    assert rank("loss", 0.5) > rank("loss", 0.7)
    assert rank("f1", 0.5) < rank("f1", 0.7)
    assert (score_text("loss", 0.51234), score_text("auto", 0.51234)) == ("0.5123", "51.23")
    assert (scaled("loss", 0.5), scaled("f1:LOC", 0.5)) == (0.5, 50.0)
