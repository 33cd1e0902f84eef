"""Comparison of predicted tags or classes with gold ones, in files or in records of a program.

Each side becomes `Labelled`, and from there on they are compared in one way. Probabilities that a
file has beside its predictions are judged by the gold labels of the other one (`judged_labels`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tagkit.config import Column, DataConfig
from tagkit.corpus.formats.table import FORMATS
from tagkit.corpus.records.answers import Answer
from tagkit.corpus.source.options import Item, silent
from tagkit.corpus.splits.expected_labels import other_column
from tagkit.errors import DataError
from tagkit.evaluation.compare.characters import (
    characters_of_both,
    require_same_characters,
    tags_by_characters,
)
from tagkit.evaluation.compare.compare_columns import compare_columns
from tagkit.evaluation.compare.file_pairs import both_files, naming_predicted_column
from tagkit.evaluation.reports.class_report import (
    ClassReport,
    JointReport,
    make_class_report,
    whole_accuracy,
    with_judged,
)
from tagkit.evaluation.reports.tag_report import STRICT, TagReport, make_tag_report, with_sentences
from tagkit.evaluation.reports.tag_tally import score_sentences
from tagkit.evaluation.scores.labelled_records import (
    Labelled,
    LabelledFile,
    labelled_records,
)
from tagkit.evaluation.scores.metrics import Kind, need_labels
from tagkit.evaluation.scores.outcomes import (
    Outcomes,
    class_outcomes,
    span_outcomes,
    token_outcomes,
)
from tagkit.evaluation.scores.pairing import (
    in_gold_order,
    paired_texts,
    predicted_tags,
    require_same_tokens,
)
from tagkit.evaluation.scores.spans import well_formed_spans
from tagkit.text.records import Document, LabelScore, Sentence
from tagkit.text.scheme_detection import scheme_of
from tagkit.text.schemes import PLAIN, has_spans, span_tuples
from tagkit.wording import listed, quoted

# Of a record of JSON Lines, beside its classes; `inference.write.render` writes it.
PROBABILITIES = "probabilities"


def refuse_options_of_tags(because: str, data: DataConfig, strict: bool) -> None:
    """Refuse options on spans for texts with classes, which have none.

    Raises:
        DataError: one is given.
    """
    given = {"strict=True": strict, "data.scheme": data.scheme != "auto"}
    for option, is_given in given.items():
        if is_given:
            raise DataError(f"{because}: {option} is for spans")


def compare_files(
    gold_file: str,
    predicted_file: str | None,
    data: DataConfig,
    pred_column: Column | None,
    strict: bool,
    note: Callable[[str], None] = silent,
    *,
    keep_labels: bool = False,
    confidence: bool = False,
) -> TagReport | ClassReport | JointReport:
    """A report on predicted tags or spans, on predicted classes, or on both.

    Files with a tag for each token are read side by side, and no more than counts are kept of them.

    Args:
        gold_file: file with gold tags, spans or classes, in any format; tags of a column file are
            in its last column unless `data` says otherwise.
        predicted_file: file with the same tokens or texts and their predictions, in any format.
            None for predicted tags in `gold_file` itself, a column file; the gold ones are then in
            the last column but one, unless `data` says otherwise.
        data: how the files are read; its `tag_column` is that of the gold tags, its `format` that
            of the gold file.
        pred_column: of the predicted tags; None for the last one, and of CoNLL-U for the column
            that `data` names, or UPOS.
        strict: count well-formed spans only.
        note: called with a sentence on the format that a file was recognised as.
        keep_labels: keep all tags and words in the report, for `verify_report` and `analyse`.
        confidence: keep the probabilities of predictions too, where JSON Lines have them.

    Raises:
        DataError: the files hold different tokens, sentences or texts, or labels of different
            kinds.
    """
    if data.tag_columns:
        raise DataError(
            "data.tag_column: expected one column, as files are compared by one column at a time"
        )
    keep_labels = keep_labels or need_labels(Kind.SPANS, Kind.TOKENS)
    if predicted_file is None:
        with naming_predicted_column(None):
            return compare_columns(
                gold_file, data, pred_column, strict, note, keep_labels=keep_labels
            )
    gold, predicted = both_files(gold_file, predicted_file, data, pred_column, note)
    with naming_predicted_column(predicted):
        if gold.has_only_tags and predicted.has_only_tags and not keep_labels:
            return _compare_tags(gold, predicted, data, strict, note)
        if not confidence:
            return _compare(gold.read(), predicted.read(), data, strict, note)
        sides = gold.read(), replace(predicted, with_probabilities=True).read()
        report = _compare(*sides, data, strict, note)
        return with_judged(report, judged_labels(*sides, data, report))


def compare_records(
    gold: Iterable[Item | Answer],
    predicted: Iterable[Item | Answer],
    data: DataConfig,
    strict: bool,
    note: Callable[[str], None] = silent,
) -> TagReport | ClassReport | JointReport:
    """A report as `compare_files` makes it, on records of a program.

    Args:
        gold: sentences, documents, or answers of a model.
        predicted: of the same texts, in the same order.
        data: how texts without tokens are tokenised; scheme of the gold tags.
        strict: count well-formed spans only.
        note: called with a sentence on labels that are not scored.

    Raises:
        DataError: the records hold different words, or labels of different kinds.
    """
    sides = labelled_records(gold, "gold"), labelled_records(predicted, "pred")
    names = sides[0].column_names
    if len(names) > 1:
        note(f"gold: has several tag columns; {names[0]}, the first of them, is scored")
    return _compare(*sides, data, strict, note)


def _compare(
    gold: Labelled, predicted: Labelled, data: DataConfig, strict: bool, note: Callable[[str], None]
) -> TagReport | ClassReport | JointReport:
    """The report on all labels that both have."""
    if gold.items and not (isinstance(gold.items[0], Sentence) or predicted.items):
        raise DataError(f"{predicted.name}: expected the records of {gold.name}, found none")
    tags = gold.has_tags and predicted.has_tags
    none_likely = _has_no_class(gold, predicted)
    classes = gold.has_classes and (predicted.has_classes or none_likely)
    # JSON Lines of texts with classes may have an empty list of spans in every record.
    tags = tags and not (classes and gold.is_bare and predicted.is_bare)
    if not (gold.has_tags or gold.has_classes) and gold.items:
        raise DataError(f"{gold.name}: expected tags, spans or classes, found {gold.holds}")
    if not (tags or classes) and gold.items and predicted.items:
        raise DataError(
            f"{predicted.name}: expected {gold.holds} as in {gold.name}, found {predicted.holds}"
        )
    for one, other in ((gold, predicted), (predicted, gold)):
        for here, there, what in (
            # Of texts whose spans are an empty list each, nothing is left out.
            (one.has_tags and not one.is_bare, other.has_tags, "tags"),
            (one.has_classes, other.has_classes or none_likely, "classes"),
        ):
            if here and not there and other.items:
                why = _why_none(other, what)
                note(f"{one.name}: its {what} are not scored, as {other.name} {why}")
    if none_likely:
        note(f"{predicted.name}: no text has a class: each counts as one for which none was likely")
    if classes:
        _refuse_joined(gold, predicted)
        _note_other_classes(gold, predicted, note)
    if classes and not tags:
        refuse_options_of_tags(f"{gold.name} holds classes of texts", data, strict)
        return _report_on_classes(*paired_texts(gold, predicted))
    if not gold.items:
        raise DataError(f"{gold.name}: holds no sentence")
    if not classes:
        return _report_on_tags(gold, predicted, data, strict)
    return _report_on_both(gold, predicted, data, strict)


def _has_no_class(gold: Labelled, predicted: Labelled) -> bool:
    """Whether predictions are of classes, and no text has one, as where a threshold is high."""
    if not gold.has_classes or predicted.has_classes or not predicted.items:
        return False
    alone = not gold.has_tags or gold.is_bare
    return predicted.gives_classes or (alone and predicted.is_bare)


def _why_none(labelled: Labelled, what: str) -> str:
    """Why records have no labels of this kind."""
    format = FORMATS.get(labelled.format)
    # Their file may have classes all the same, in columns such as those of features.
    if what == "classes" and format is not None and not format.has_classes:
        return f"is read as {format.name}, which has {format.holds} alone"
    return "has none"


def _refuse_joined(gold: Labelled, predicted: Labelled) -> None:
    """Refuse predictions of CSV or TSV that have several classes of a text in one cell.

    Raises:
        DataError: they have; scored, they would be classes of their own.
    """
    format = FORMATS.get(predicted.format)
    is_table = format is not None and format.has_named_columns
    if not is_table or all(len(item.labels) == 1 for item in gold.items):
        return
    known = {label for item in gold.items for label in item.labels}
    for item in predicted.items:
        for label in {*item.labels} - known:
            # As `tagkit predict` writes them where a format has one place for classes.
            joined = [part.strip() for part in label.split(",")]
            if len(joined) > 1 and known.issuperset(joined):
                raise DataError(
                    f"{predicted.name}: has several classes of a text in one cell "
                    f"({quoted(label)}), which cannot be told from one class; write the "
                    "predictions as jsonl-texts"
                )


def _compare_tags(
    gold: LabelledFile,
    predicted: LabelledFile,
    data: DataConfig,
    strict: bool,
    note: Callable[[str], None],
) -> TagReport:
    """The report on two files of sentences with tags, which are read side by side."""
    names = gold.source.name, predicted.source.name
    sides = (
        (item for item in file.records() if isinstance(item, Sentence))
        for file in (gold, predicted)
    )
    remedy = other_column(gold.format.name, data)
    report = score_sentences(names, sides, data, strict=strict, remedy=remedy, note=note)
    if report is None:
        raise DataError(f"{names[0]}: holds no sentence")
    return report


def _report_on_tags(
    gold: Labelled, predicted: Labelled, data: DataConfig, strict: bool
) -> TagReport:
    return _tag_report(_paired_tags(gold, predicted, data, strict), gold.name, strict)


def _tag_report(tags: "_ComparedTags", name: str, strict: bool) -> TagReport:
    report = make_tag_report(tags.gold, tags.predicted, tags.scheme, strict=strict)
    return with_sentences(report, tags.sentences, name)


def _report_on_both(
    gold: Labelled, predicted: Labelled, data: DataConfig, strict: bool
) -> JointReport:
    """Both reports, and the share of texts that are right as a whole."""
    texts, found = paired_texts(gold, predicted)
    tags = _paired_tags(gold, predicted, data, strict, by_record=True)
    whole = whole_accuracy(
        tags.gold,
        tags.predicted,
        [item.labels for item in texts],
        [item.labels for item in found],
        plain=not has_spans(tags.scheme),
    )
    return JointReport(
        _tag_report(tags, gold.name, strict),
        _report_on_classes(texts, found),
        whole,
    )


def _note_other_classes(gold: Labelled, predicted: Labelled, note: Callable[[str], None]) -> None:
    """Say so where no predicted class is one of gold, which would look like a poor model."""
    known, found = (
        {label for item in each.items for label in item.labels} for each in (gold, predicted)
    )
    if known and found and not known & found:
        note(
            f"{predicted.name}: none of its classes ({listed(sorted(found), 5)}) is one of "
            f"{gold.name} ({listed(sorted(known), 5)}), so that all of them count as errors"
        )


def _report_on_classes(gold: Sequence[Item], predicted: Sequence[Item]) -> ClassReport:
    # No configuration says it here. A file where each text has one class is of one class a text;
    # a prediction may also be none at all.
    several = any(len(item.labels) != 1 for item in gold)
    several = several or any(len(item.labels) > 1 for item in predicted)
    return make_class_report(
        [item.labels for item in gold], [item.labels for item in predicted], several=several
    )


@dataclass(frozen=True, slots=True)
class _ComparedTags:
    """Gold and predicted tags of the same sentences."""

    gold: Sequence[Sequence[str]]
    predicted: Sequence[Sequence[str]]
    scheme: str
    sentences: Sequence[Sentence]


def _paired_tags(
    gold: Labelled,
    predicted: Labelled,
    data: DataConfig,
    strict: bool,
    *,
    by_record: bool = False,
) -> _ComparedTags:
    """Tags of the same tokens: those of the files, or made from spans of the same characters."""
    ours, theirs = gold.sentences, predicted.sentences
    if ours is not None and theirs is not None:
        require_same_tokens(gold.name, ours, predicted.name, theirs)
    scheme = "iob2"
    if ours is not None:
        remedy = other_column(gold.format, data)
        scheme = scheme_of(ours, gold.name, data.scheme, remedy=remedy).scheme
    found: Sequence[Sequence[str]] = ()
    if theirs is not None:
        found = predicted_tags(theirs, predicted.name, data, scheme, strict=strict)
    elif not has_spans(scheme):
        raise DataError(
            f"{predicted.name}: expected a tag for each token, as in {gold.name}, found spans of "
            "characters"
        )
    if ours is not None and theirs is not None:
        return _ComparedTags([sentence.tags or () for sentence in ours], found, scheme, ours)
    if data.scheme == PLAIN:
        raise DataError(
            f"{gold.name}: holds spans of characters: data.scheme={PLAIN} is for a tag for each "
            "token"
        )
    spans_of = partial(well_formed_spans, scheme=scheme) if strict else span_tuples
    predicted = in_gold_order(gold, predicted)
    sides = characters_of_both(
        (gold.items, gold.name), (predicted.items, predicted.name), data.tokenizer, spans_of,
        whole=by_record,
    )  # fmt: skip
    require_same_characters(*sides)
    pieces = tags_by_characters(*sides, scheme, by_record=by_record)
    return _ComparedTags(pieces.gold, pieces.predicted, scheme, pieces.sentences)


def judged_labels(
    gold: Labelled,
    predicted: Labelled,
    data: DataConfig,
    report: TagReport | ClassReport | JointReport,
) -> dict[str, Outcomes]:
    """What calibration is measured on, of "tags" and of "classes"; without what has none.

    Args:
        gold: the gold file.
        predicted: the predictions, read with their probabilities.
        data: how the files are read.
        report: on them, which says what was compared.
    """
    found: dict[str, Outcomes | None] = {}
    match report:
        case TagReport():
            found["tags"] = _judged_tags(gold, predicted, data, report, by_record=False)
        case ClassReport():
            found["classes"] = _judged_classes(gold, predicted, report)
        case JointReport():
            found["tags"] = _judged_tags(gold, predicted, data, report.tags, by_record=True)
            found["classes"] = _judged_classes(gold, predicted, report.classes)
    return {name: judged for name, judged in found.items() if judged is not None}


def _judged_tags(
    gold: Labelled, predicted: Labelled, data: DataConfig, report: TagReport, *, by_record: bool
) -> Outcomes | None:
    if report.comparison.kind is Kind.TOKENS:
        return _judged_tokens(gold, predicted)
    predicted = in_gold_order(gold, predicted)
    probabilities = _span_probabilities(predicted.items)
    if probabilities is None:
        return None
    spans_of = span_tuples
    if report.mode == STRICT:
        own = gold.sentences
        scheme = "iob2" if own is None else scheme_of(own, gold.name, data.scheme).scheme
        spans_of = partial(well_formed_spans, scheme=scheme)
    ours, theirs = characters_of_both(
        (gold.items, gold.name), (predicted.items, predicted.name), data.tokenizer, spans_of,
        whole=by_record,
    )  # fmt: skip
    return span_outcomes([ours.spans], [list(zip(theirs.spans, probabilities, strict=True))])


def _span_probabilities(items: Sequence[Item]) -> list[float] | None:
    """The probability of each span, in order; None unless all have one."""
    found: list[float] = []
    for item in items:
        if not isinstance(item, Document):
            return None
        for span in item.spans or ():
            if span.probability is None:
                return None
            found.append(span.probability)
    return found or None


def _judged_tokens(gold: Labelled, predicted: Labelled) -> Outcomes | None:
    ours, theirs = gold.sentences, predicted.sentences
    if ours is None or theirs is None:
        return None
    columns = [sentence.columns[0] for sentence in theirs if sentence.columns]
    probabilities = [each.probabilities for each in columns if each.probabilities is not None]
    if len(probabilities) < len(theirs):
        return None
    return token_outcomes(
        [sentence.tags or () for sentence in ours],
        [sentence.tags or () for sentence in theirs],
        probabilities,
    )


def _judged_classes(gold: Labelled, predicted: Labelled, report: ClassReport) -> Outcomes | None:
    texts, found = paired_texts(gold, predicted)
    scores = [_class_scores(item) for item in found]
    if not all(scores):
        return None
    return class_outcomes([item.labels for item in texts], scores, several=report.several)


def _class_scores(item: Item) -> list[LabelScore]:
    """The classes of a record with their probabilities, the most probable first."""
    found = dict(item.extra).get(PROBABILITIES)
    if not isinstance(found, Mapping):
        return []
    scores = [LabelScore(str(label), float(p)) for label, p in found.items() if _is_probability(p)]
    if len(scores) < len(found):
        return []
    return sorted(scores, key=lambda score: -score.probability)


def _is_probability(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= 1
