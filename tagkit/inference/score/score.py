"""Scores of a model on a corpus with gold labels.

Training, `tagkit eval` and `tagkit predict` all use `Predictor`, so their predictions never differ.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tagkit.config import Config, DataConfig, refuse_without_effect
from tagkit.corpus.formats.table import FORMATS
from tagkit.corpus.records.dataset import Split, with_label_notes
from tagkit.corpus.records.objects import NONE_GIVEN, Given, path_of
from tagkit.corpus.source.layout import refuse_answers
from tagkit.corpus.splits.counts import check_classes
from tagkit.corpus.splits.expected_labels import refuse_unread_columns
from tagkit.corpus.splits.splits import read_split, split_of_records
from tagkit.errors import DataError
from tagkit.evaluation.compare.compare import refuse_options_of_tags
from tagkit.evaluation.reports.class_report import JointReport, with_judged
from tagkit.evaluation.reports.report import Report
from tagkit.evaluation.reports.tag_report import TagReport, with_sentences
from tagkit.features.vocabulary import decomposed
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.score.selected_column import SelectedColumn, all_columns, one_column
from tagkit.models.base.task_records import ModelContext
from tagkit.models.language.language_network import LanguageModel
from tagkit.models.language.language_scoring import language_report
from tagkit.nn.softmax.neural_cache import CacheOptions
from tagkit.text.records import Prediction
from tagkit.wording import clipped, joined, listed, plural, quoted

# Those that a command has a flag for.
_OF_LABELS = (
    "data.format",
    "data.on_misaligned",
    "data.token_column",
    "data.tag_column",
)


@dataclass(frozen=True, slots=True)
class DevScores:
    """Scores of a model on the development corpus, without those of each type.

    Attributes:
        headline: the score that selects the best epoch, 0 to 1, as `train.metric` says. By default
            micro F1 of spans or accuracy of plain labels; accuracy of classes (micro F1 if a text
            may have several); with tags and classes, the mean of the two.
        parts: all scores by name, 0 to 1.
        loss: as in `Task.dev_loss`.
    """

    headline: float
    parts: Mapping[str, float]
    loss: float | None = None


def dev_scores(predictor: Predictor, split: Split, batch_size: int) -> DevScores:
    """The score of a model on a corpus by `train.metric`, and all others by name.

    Chosen by its loss, a model still has the usual headline here: a report knows of no loss.
    """
    # The full report holds counts of every type, which the history of a run does not need.
    report = evaluate_split(predictor, split, batch_size=batch_size)
    criterion = predictor.task.criterion(predictor.config)
    loss = predictor.task.dev_loss(report)
    return DevScores(criterion.of_report(report), report.parts(), loss)


def evaluate_split(predictor: Predictor, split: Split, *, batch_size: int) -> Report:
    """Report on a model's predictions for a corpus with gold tags, classes, or both."""
    return predictor.score(split, batch_size=batch_size)


@dataclass(frozen=True, slots=True)
class Annotated:
    """A corpus with a model's predictions.

    Attributes:
        split: the corpus.
        predictions: for its sentences, in order.
        report: on them.
    """

    split: Split
    predictions: Sequence[Prediction]
    report: Report


def annotated(predictor: Predictor, split: Split, *, batch_size: int) -> Annotated:
    """A corpus with a model's predictions, and the report on them."""
    found = predictor.predictions_of(split, batch_size=batch_size)
    return Annotated(split, found, predictor.report(split, found))


def score_model(
    predictor: Predictor,
    path: str,
    data: DataConfig,
    strict: bool,
    batch_size: int,
    note: Callable[[str], None],
    *,
    confidence: bool = False,
    cache: CacheOptions | None = None,
    given: Given = NONE_GIVEN,
) -> Report:
    """Report on a model's predictions for a file with gold tags, classes, or both.

    Args:
        predictor: the model.
        path: of the file.
        data: how the file is read; columns that it does not set are those of training.
        strict: count well-formed spans only.
        batch_size: maximum number of sentences in a batch.
        note: called with each remark on the corpus, a sentence.
        confidence: whether the report keeps the probabilities of predictions, for `analyse`.
        cache: of a language model, mixed into its probabilities; None for none.
        given: texts of a program, by the path that stands for them, for a language model.

    Raises:
        DataError: the file cannot be read, or holds tags of another kind than the model's; or a
            cache of another model, or with numbers out of their range.
    """
    if cache is not None:
        check_cache(predictor, cache)
    if not predictor.task.needs.tags:
        # Without this an option for tags would be accepted and have no effect.
        refuse_options_of_tags(predictor.answers.model, data, strict)
    column = one_column(predictor, data)
    split = gold_split(predictor, path, all_columns(data) if column else data, given)
    if cache is not None:
        model, vocabulary = predictor.model, predictor.vocabulary
        context = ModelContext(model, vocabulary, predictor.config, checked=True)
        return language_report(context, split, cache)
    return _report(predictor, split, strict, batch_size, note, column, confidence=confidence)


def gold_split(
    predictor: Predictor, path: str, data: DataConfig, given: Given = NONE_GIVEN
) -> Split:
    """A corpus with gold tags, classes, or both, read as the model's training corpus was.

    Args:
        predictor: the model.
        path: of the file.
        data: how the file is read; columns that it does not set are those of training.
        given: as of `score_model`.

    Raises:
        DataError: the file cannot be read, or holds tags of another kind than the model's.
    """
    if predictor.task.reads_itself:
        _refuse_unread(predictor.config, predictor.answers.model, data)
        # What lines are is a property of the model, as below.
        own = predictor.config.data
        kept = {name: getattr(own, name) for name in ("pairs", "condition", "unit", "tokenizer")}
        read_as = data.model_copy(update=kept)
        return predictor.task.read_text(predictor.vocabulary, path, read_as, given)
    trained = predictor.config.data
    # The scheme of training is expected; another is taken if it fits the file's tags better.
    read_as, needs = _as_trained(predictor, data), predictor.task.needs
    split = read_split(path, read_as, needs, trained.scheme, of_model=True)
    refuse_unread_columns(data, split.path, [FORMATS[split.format]] if split.format else [])
    if needs.tags and split.layout is not None:  # of another width than the training corpus
        refuse_answers(split.layout, path)
    return _checked(predictor, split)


def score_records(
    predictor: Predictor,
    records: Any,
    data: DataConfig,
    strict: bool,
    batch_size: int,
    note: Callable[[str], None],
    *,
    confidence: bool = False,
    cache: CacheOptions | None = None,
) -> Report:
    """Report on a model's predictions for records with gold tags, classes, or both.

    The arguments are those of `score_model`.

    Raises:
        DataError: a record has no such labels, or labels of another kind than the model's.
    """
    needs = predictor.task.needs
    what = predictor.answers.model
    if not predictor.task.annotates:
        path = path_of("gold")
        return score_model(
            predictor, path, data, strict, batch_size, note, cache=cache, given={path: records}
        )
    if not needs.tags:
        refuse_options_of_tags(what, data, strict)
    expected = predictor.config.data.scheme
    column = one_column(predictor, data)
    read_as = _as_trained(predictor, all_columns(data) if column else data)
    split = _checked(predictor, split_of_records(records, read_as, needs, expected, "gold"))
    return _report(predictor, split, strict, batch_size, note, column, confidence=confidence)


def _report(
    predictor: Predictor,
    split: Split,
    strict: bool,
    batch_size: int,
    note: Callable[[str], None],
    column: SelectedColumn | None,
    *,
    confidence: bool,
) -> Report:
    for text in split.notes:
        note(text)
    found = predictor.predictions_of(split, batch_size=batch_size, confidence=confidence)
    report = predictor.report(split, found, strict=strict)
    judged = predictor.judged(split, found, strict=strict) if found and confidence else None
    if column is not None:
        report = column.of_report(report, split, found)
        judged = None if judged is None else column.of_judged(judged)
    report = _with_words(report, split)
    return report if judged is None else with_judged(report, judged)


def check_cache(predictor: Predictor, cache: CacheOptions) -> None:
    """Refuse a cache that the model has no use for, and numbers that mean nothing.

    Raises:
        DataError: it is refused.
    """
    if not isinstance(predictor.model, LanguageModel):
        raise DataError("cache=... is for language models")
    # Beyond that the exponent of a product of two states may be no number.
    highest = 1e6
    for option, found, is_valid, expected in (
        ("cache_window", cache.window, cache.window >= 1, "a whole number, at least 1"),
        ("cache_theta", cache.theta, 0 <= cache.theta <= highest,
         f"a number from 0 to {highest:,.0f}"),
        ("cache_share", cache.share, 0 <= cache.share < 1, "a number from 0 to below 1"),
    ):  # fmt: skip
        if not is_valid:
            shown = clipped(repr(found))
            raise DataError(f"{option}: expected {expected}, found {shown}")


def _with_words(report: Report, split: Split) -> Report:
    """The report with the words of its tags."""
    match report:
        case TagReport():
            return with_sentences(report, split.sentences, split.path)
        case JointReport():
            return replace(report, tags=with_sentences(report.tags, split.sentences, split.path))
    return report


def _as_trained(predictor: Predictor, data: DataConfig) -> DataConfig:
    """How a corpus is read for a model: columns that are not set are those of training."""
    trained = predictor.config.data
    columns = ("token_column", "tag_column", "text_column", "label_column")
    # None is "not set"; column 0 is false too, so no `or` here.
    named = {
        column: getattr(trained if getattr(data, column) is None else data, column)
        for column in columns
    }
    given, wanted = data.model_copy(update=named).tag_columns, len(trained.tag_columns)
    # Columns of a file may be called otherwise; those of the model's names are the model's.
    known = trained.tag_columns
    moved = any(isinstance(name, str) and name in known and known.index(name) != place
                for place, name in enumerate(given))  # fmt: skip
    if len(given) != wanted or moved:
        raise DataError(f"data.tag_column{_other_columns(trained, data)}")
    named["feature_columns"] = trained.feature_columns
    named["vector_columns"] = trained.vector_columns
    if data.notation == "auto":
        named["notation"] = trained.notation
    # These are properties of the task, not of a file's layout: as in training.
    for option in ("tokenizer", "label_level", "tree_labels"):
        named[option] = getattr(trained, option)
    return data.model_copy(update=named)


def _checked(predictor: Predictor, split: Split) -> Split:
    """The corpus, with notes where the model knows none of its labels, or of a feature's values.

    Raises:
        DataError: a sentence lacks columns that the model reads.
        FormatError: a text has not as many classes as it may have.
    """
    config = predictor.config
    if predictor.task.needs.classes:
        check_classes(split, several=config.head.several_classes)
    predictor.check_numbers(split.sentences, split.path)
    strange = []
    for place, known in enumerate(predictor.vocabulary.features):
        # Records without features are refused when they are read by the model.
        found = {value for s in split.sentences for each in s.features[place : place + 1]
                 for value in each}  # fmt: skip
        if found and found.isdisjoint(known):
            column = config.data.feature_columns[place]
            strange.append(f"{split.path}: the model knows none of the values of feature column "
                           f"{column} ({listed(sorted(found), 5)})")  # fmt: skip
    words = {word for sentence in split.sentences for word in sentence.words}
    if (other := decomposed(words)) and not decomposed(predictor.vocabulary.words):
        strange.append(
            f"{split.path}: {plural(len(other), 'distinct word')} such as {quoted(min(other), 40)} "
            "not in Unicode's composed form (NFC), unlike all words of the model, which takes them "
            "for others"
        )
    split = replace(split, notes=(*split.notes, *strange))
    return with_label_notes(split, predictor.labels(), predictor.classes(), "the model")


def _refuse_unread(config: Config, model: str, data: DataConfig) -> None:
    """Refuse options on how labels are read, of a model that has none.

    Raises:
        DataError: one is given.
        ConfigError: another one is given that has no effect.
    """
    given = {name: getattr(data, name) for name in data.model_dump(exclude_defaults=True)}
    for option in _OF_LABELS:
        if option.removeprefix("data.") in given:
            raise DataError(f"{model}: {option} is for labels")
    read_as = config.data.model_copy(update=given)
    refuse_without_effect(Config(task=config.task, data=read_as), "options")


def _other_columns(trained: DataConfig, data: DataConfig) -> str:
    """That a model does not predict as many columns as were named."""
    if not trained.tag_columns:
        return ": expected one column, which the model predicts"
    names = joined([*map(str, trained.tag_columns)], "and")
    found = ", ".join(map(str, data.tag_columns or (data.tag_column,)))
    expected = f"a list of {plural(len(trained.tag_columns), 'column')}"
    return f": expected {expected}, as the model predicts {names} in this order; found {found}"
