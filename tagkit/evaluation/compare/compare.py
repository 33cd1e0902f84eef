"""Comparison of predicted tags or classes with gold ones, in files or in records of a program.

Each side becomes `Labelled`, and from there on they are compared in one way: the tags of the same
tokens, or spans of the same characters, and the classes of the same texts. Two column files are
the exception: they are counted as they are read.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from tagkit.config import Column, DataConfig
from tagkit.corpus.records.answers import Answer
from tagkit.corpus.source.options import Item, silent
from tagkit.corpus.source.source import STDIN
from tagkit.errors import DataError
from tagkit.evaluation.compare.characters import (
    Characters,
    characters_of_both,
    tags_by_characters,
)
from tagkit.evaluation.compare.sides import columns_of_predictions, open_sides
from tagkit.evaluation.reports.class_report import (
    ClassReport,
    JointReport,
    make_class_report,
    whole_accuracy,
    with_areas,
    with_judged,
)
from tagkit.evaluation.reports.column_report import ColumnsReport, make_file_column_report
from tagkit.evaluation.reports.tag_report import TagReport, make_tag_report, with_sentences
from tagkit.evaluation.reports.tag_tally import score_sentences
from tagkit.evaluation.scores.metrics import Kind, need_labels
from tagkit.evaluation.scores.outcomes import (
    Outcomes,
    class_outcomes,
    span_outcomes,
    token_outcomes,
)
from tagkit.evaluation.scores.pairing import (
    CLASSES,
    TAGS,
    Labelled,
    in_gold_order,
    labelled_records,
    paired_texts,
    predicted_tags,
    same_tokens,
)
from tagkit.evaluation.scores.scores import Labels
from tagkit.evaluation.scores.spans import well_formed_spans
from tagkit.text.records import LabelScore, Sentence
from tagkit.text.scheme_detection import scheme_of
from tagkit.text.schemes import PLAIN, has_spans, span_tuples
from tagkit.wording import listed, once, plural

# Of a record of JSON Lines, beside its classes; `tagkit predict` writes it.
PROBABILITIES = "probabilities"
LabelReport = TagReport | ClassReport | JointReport | ColumnsReport
PredColumn = Column | Sequence[Column] | None


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
    pred_column: PredColumn,
    strict: bool,
    note: Callable[[str], None] = silent,
    *,
    keep_labels: bool = False,
    confidence: bool = False,
) -> LabelReport:
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
            that `data` names, or UPOS; of several, one for each.
        strict: count well-formed spans only.
        note: called with a sentence on the format that a file was recognised as.
        keep_labels: keep all tags and words in the report, for `verify_report` and `analyse`.
        confidence: keep the probabilities of predictions too, where JSON Lines have them.

    Raises:
        DataError: the files hold different tokens, sentences or texts, or labels of different
            kinds.
    """
    if data.tag_columns:
        return _compare_columns(gold_file, predicted_file, data, pred_column, strict, note)
    if isinstance(pred_column, Sequence) and not isinstance(pred_column, str):
        raise DataError("pred_column names several columns, and data.tag_column does not")
    gold, predicted = open_sides(
        gold_file, predicted_file, data, pred_column, note, confidence=confidence
    )
    keep_labels = keep_labels or need_labels(Kind.SPANS, Kind.TOKENS)
    if keep_labels or not (gold.has_only_tags and predicted.has_only_tags):
        return _compare(gold.read(), predicted.read(), data, strict, note)
    return score_sentences(
        (gold.name, predicted.name), (gold.sentences(), predicted.sentences()), data,
        strict=strict, remedies=(gold.remedy, predicted.remedy), note=note,
    )  # fmt: skip


def _compare_columns(
    gold_file: str,
    predicted_file: str | None,
    data: DataConfig,
    pred_column: PredColumn,
    strict: bool,
    note: Callable[[str], None],
) -> ColumnsReport:
    """The report on several tag columns, for each of which the files are read.

    Raises:
        DataError: as of `compare_files`; or they are read from standard input, have no columns, or
            as many predicted ones are not named.
    """
    columns = data.tag_columns
    behind: Sequence[Column | None]
    if STDIN in (gold_file, predicted_file):
        raise DataError("several tag columns need files: standard input is read once")
    if pred_column is None:
        behind = columns_of_predictions(gold_file, predicted_file, data)
    else:
        behind = (pred_column,) if isinstance(pred_column, str | int) else pred_column
    if len(behind) != len(columns):
        raise DataError(
            f"pred_column: expected {plural(len(columns), 'column')}, one for each of "
            f"data.tag_column, found {len(behind)}"
        )
    told, reports = once(note), []
    for gold, predicted in zip(columns, behind, strict=True):
        one = data.model_copy(update={"tag_column": gold})
        report = compare_files(
            gold_file, predicted_file, one, predicted, strict, told, keep_labels=True
        )
        if not isinstance(report, TagReport):
            raise DataError(f"{gold_file}: expected several columns of tags, found classes")
        reports.append(make_file_column_report(str(gold), report))
    return ColumnsReport(tuple(reports))


def compare_records(
    gold: Iterable[Item | Answer],
    predicted: Iterable[Item | Answer],
    data: DataConfig,
    strict: bool,
    note: Callable[[str], None] = silent,
) -> LabelReport:
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
) -> LabelReport:
    """The report on all labels that both have."""
    if not gold.items:
        raise DataError(f"{gold.name}: holds no sentence")
    if not predicted.items:
        raise DataError(f"{predicted.name}: expected the records of {gold.name}, found none")
    scored = _scored_kinds(gold, predicted, note)
    if CLASSES not in scored:
        return _tag_report(gold, predicted, data, strict)
    predicted = _with_cells_split(gold, predicted)
    texts, found = paired_texts(gold, predicted)
    ours, theirs = ([item.labels for item in items] for items in (texts, found))
    _note_other_classes(gold, predicted, note)
    # No configuration says it here. A file where each text has one class is of one class a text;
    # a prediction may also be none at all.
    several = any(len(labels) != 1 for labels in ours) or any(len(labels) > 1 for labels in theirs)
    classes = make_class_report(ours, theirs, several=several)
    scores = [_class_scores(item) for item in found]
    if all(scores):
        classes = with_areas(classes, ours, scores)
        outcomes = class_outcomes(ours, scores, several=several)
        classes = with_judged(classes, {CLASSES: outcomes})
    if TAGS not in scored:
        refuse_options_of_tags(f"{gold.name} holds classes of texts", data, strict)
        return classes
    tags = _tag_report(gold, predicted, data, strict, by_record=True)
    sides = tags.comparison.gold, tags.comparison.predicted
    plain = tags.comparison.kind is Kind.TOKENS
    return JointReport(tags, classes, whole_accuracy(*sides, ours, theirs, plain=plain))


def _scored_kinds(gold: Labelled, predicted: Labelled, note: Callable[[str], None]) -> set[str]:
    """Which kinds of labels both have; notes say what is left out.

    Raises:
        DataError: none.
    """
    ours, theirs = gold.kinds, predicted.kinds
    if not ours:
        raise DataError(f"{gold.name}: expected tags, spans or classes, found {gold.holds}")
    both_bare = gold.is_bare and predicted.is_bare
    # Where a threshold is high, predictions are of classes, and no text has one.
    only_classes = both_bare or (ours == {CLASSES} and predicted.is_bare)
    if CLASSES in ours - theirs and (predicted.gives_classes or only_classes):
        theirs.add(CLASSES)
        note(f"{predicted.name}: no text has a class: each counts as one for which none was likely")
    scored = ours & theirs
    if both_bare and CLASSES in scored:  # texts with classes may have an empty list of spans each
        scored.discard(TAGS)
    if not scored:
        raise DataError(
            f"{predicted.name}: expected {gold.holds} as in {gold.name}, found {predicted.holds}"
        )
    for one, other, more in ((gold, predicted, ours - theirs), (predicted, gold, theirs - ours)):
        for kind in more:
            if kind == CLASSES or not one.is_bare:
                note(
                    f"{one.name}: its {kind} are not scored, as none can be read from {other.name}"
                )
    return scored


def _with_cells_split(gold: Labelled, predicted: Labelled) -> Labelled:
    """Predictions of a table, where several classes of a text share a cell, as `predict` writes it.

    A cell is divided at its commas where gold has texts with several classes, and the parts, but
    not the whole, are classes of gold.
    """
    if not predicted.has_cells or all(len(item.labels) == 1 for item in gold.items):
        return predicted
    known = {label for item in gold.items for label in item.labels}

    def divided(label: str) -> list[str]:
        parts = [part.strip() for part in label.split(",")]
        return parts if label not in known and known.issuperset(parts) else [label]

    items = [
        replace(item, labels=tuple(part for label in item.labels for part in divided(label)))
        for item in predicted.items
    ]
    return replace(predicted, items=items)


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


def _tag_report(
    gold: Labelled,
    predicted: Labelled,
    data: DataConfig,
    strict: bool,
    *,
    by_record: bool = False,
) -> TagReport:
    """The report on tags of the same tokens, or on spans of the same characters."""
    ours, theirs = gold.sentences, predicted.sentences
    if ours is not None and theirs is not None:
        for _ in same_tokens(gold.name, ours, predicted.name, theirs):
            pass  # raises at the first that differs
    scheme: str = PLAIN if data.scheme == PLAIN else "iob2"  # of spans of characters
    if ours is not None:
        scheme = scheme_of(ours, gold.name, data.scheme, remedy=gold.remedy).scheme
    found: Labels = ()
    if theirs is not None:
        found = predicted_tags(predicted, theirs, data, scheme, strict=strict)
    if ours is not None and theirs is not None:
        tags = [sentence.tags or () for sentence in ours]
        judged = None if has_spans(scheme) else _judged_tokens(ours, theirs)
        report = with_sentences(
            make_tag_report(tags, found, scheme, strict=strict), ours, gold.name
        )
    else:
        if not has_spans(scheme):
            name = predicted.name if theirs is None else gold.name
            raise DataError(f"{name}: expected a tag for each token, found spans of characters")
        spans_of = partial(well_formed_spans, scheme=scheme) if strict else span_tuples
        predicted = in_gold_order(gold, predicted)
        sides = characters_of_both(gold, predicted, data.tokenizer, spans_of, whole=by_record)
        pieces = tags_by_characters(*sides, scheme, by_record=by_record)
        judged = _judged_spans(*sides)
        report = make_tag_report(pieces.gold, pieces.predicted, scheme, strict=strict)
        report = with_sentences(report, pieces.sentences, gold.name)
    return report if judged is None else with_judged(report, {TAGS: judged})


def _judged_spans(gold: Characters, predicted: Characters) -> Outcomes | None:
    """The predicted spans with their probabilities; None unless all have one."""
    probabilities = [each for each in predicted.probabilities if each is not None]
    if not probabilities or len(probabilities) < len(predicted.spans):
        return None
    return span_outcomes([gold.spans], [list(zip(predicted.spans, probabilities, strict=True))])


def _judged_tokens(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> Outcomes | None:
    """The predicted tags with their probabilities; None unless all have one."""
    columns = [sentence.columns[0] for sentence in predicted if sentence.columns]
    probabilities = [each.probabilities for each in columns if each.probabilities is not None]
    if len(probabilities) < len(predicted):
        return None
    return token_outcomes(
        [sentence.tags or () for sentence in gold],
        [sentence.tags or () for sentence in predicted],
        probabilities,
    )


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
