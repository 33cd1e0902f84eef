"""Comparison of records: gold tags, classes or both in some, predicted ones in others."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from tagkit.config import DataConfig
from tagkit.corpus.answers import Answer, as_sequence
from tagkit.corpus.dataset import LabelKinds, Split
from tagkit.corpus.formats.options import Item
from tagkit.corpus.splits import split_of_records
from tagkit.errors import DataError, shorten
from tagkit.evaluation.class_report import (
    ClassReport,
    JointReport,
    make_class_report,
    whole_accuracy,
)
from tagkit.evaluation.compare import refuse_options_of_tags
from tagkit.evaluation.report import Report
from tagkit.evaluation.tag_report import make_tag_report
from tagkit.text.records import Document, Prediction, Sentence, TaggedText
from tagkit.text.schemes import PLAIN, has_spans
from tagkit.wording import clipped

_END = Sentence(())


def compare_records(
    gold: Iterable[Item | Answer],
    predicted: Iterable[Item | Answer],
    data: DataConfig,
    strict: bool,
) -> Report:
    """A report on predicted tags, classes, or both: those that gold and predicted records have.

    Args:
        gold: sentences, documents, or answers of a model.
        predicted: of the same texts, in the same order.
        data: how texts without tokens are tokenised; scheme of the gold tags.
        strict: count well-formed spans only.

    Raises:
        DataError: the records hold different words, or labels of different kinds.
    """
    gold_items, found = _items(gold, "gold"), _items(predicted, "pred")
    kinds = _kinds(gold_items, found)
    if not kinds.tags:
        refuse_options_of_tags("the records hold classes of texts", data, strict)
    # Each document is one sequence of tokens: where its sentences end may depend on its spans.
    ours = split_of_records(gold_items, data, kinds, None, "gold", whole=True)
    scheme = ours.scheme or PLAIN
    # Predicted tags may be in another scheme than gold, but must be of the same kind.
    free = data.model_copy(update={"scheme": PLAIN if data.scheme == PLAIN else "auto"})
    theirs = split_of_records(
        found, free, kinds, scheme if kinds.tags else None, "pred", whole=True
    )
    _check_words(ours, theirs)
    gold_tags, tags = ([each.tags or () for each in split.sentences] for split in (ours, theirs))
    gold_labels, labels = ([each.labels for each in split.sentences] for split in (ours, theirs))
    if not kinds.tags:
        return _class_report(gold_labels, labels)
    report = make_tag_report(gold_tags, tags, scheme, strict=strict)
    if not kinds.classes:
        return report
    whole = whole_accuracy(gold_tags, tags, gold_labels, labels, plain=not has_spans(scheme))
    return JointReport(report, _class_report(gold_labels, labels), whole)


def _items(records: Iterable[Item | Answer], name: str) -> list[Item]:
    """The records, with answers as sentences.

    Raises:
        DataError: something is no record, or there are none.
    """
    found: list[Item] = []
    for record in records:
        if isinstance(record, Prediction | TaggedText):
            found.append(as_sequence(record))
        elif isinstance(record, Sentence | Document):
            found.append(record)
        else:
            raise DataError(
                f"{name}: expected a Sentence, a Document, or a model's answer, found "
                f"{clipped(repr(record))}"
            )
    if not found:
        raise DataError(f"{name}: expected at least one record, found none")
    return found


def _kinds(gold: Sequence[Item], predicted: Sequence[Item]) -> LabelKinds:
    """The kinds of labels that both have.

    Raises:
        DataError: none.
    """
    kinds = LabelKinds(
        tags=_have_tags(gold) and _have_tags(predicted),
        classes=_have_classes(gold) and _have_classes(predicted),
    )
    if not (kinds.tags or kinds.classes):
        raise DataError(
            f"expected tags or classes in both gold and pred, found {_found(gold)} in gold and "
            f"{_found(predicted)} in pred"
        )
    return kinds


def _have_tags(items: Sequence[Item]) -> bool:
    return any(
        (item.tags if isinstance(item, Sentence) else item.spans) is not None for item in items
    )


def _have_classes(items: Sequence[Item]) -> bool:
    return any(item.labels for item in items)


def _found(items: Sequence[Item]) -> str:
    return "tags" if _have_tags(items) else "classes" if _have_classes(items) else "neither"


def _check_words(gold: Split, predicted: Split) -> None:
    """Raise at the first record whose words are not those of the gold one.

    Raises:
        DataError: there is one.
    """
    pairs = zip_longest(gold.sentences, predicted.sentences, fillvalue=_END)
    for number, (ours, theirs) in enumerate(pairs, 1):
        if ours.words != theirs.words:
            raise DataError(
                f"pred: record {number:,}: expected {_text(ours)}, as in gold, found "
                f"{_text(theirs)}"
            )


def _text(sentence: Sentence) -> str:
    return shorten(" ".join(sentence.words)) if sentence.words else "the end of the records"


def _class_report(
    gold: Sequence[tuple[str, ...]], predicted: Sequence[tuple[str, ...]]
) -> ClassReport:
    # No configuration says it here. Where each text has one class, it is of one class a text.
    several = any(len(labels) != 1 for labels in (*gold, *predicted))
    return make_class_report(gold, predicted, several=several)
