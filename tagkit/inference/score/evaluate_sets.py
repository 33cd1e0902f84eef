"""Sets of answers beside gold labels: their calibration, and how they do on a corpus."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tagkit.corpus.files import data_options, path_text
from tagkit.corpus.records.dataset import Split
from tagkit.corpus.source.options import log_note
from tagkit.evaluation.scores.conformal import (
    LIMIT,
    RankedGold,
    SetCalibration,
    SetReport,
    calibrate_sets,
    report_sets,
)
from tagkit.inference.predict.prediction_sets import (
    class_count,
    probs_of,
    require_sets,
    sets_of_tags,
    taggings_of,
)
from tagkit.inference.predict.predictor import Predictor, load
from tagkit.inference.predict.sentence_predictor import SentencePredictor
from tagkit.inference.score.score import gold_split
from tagkit.limits import BATCH_SIZE
from tagkit.models.answers.kind import CLASSES, TAGS
from tagkit.text.records import Alternative, LabelScore, Sentence
from tagkit.text.schemes import has_spans, to_spans


def evaluate_sets(
    gold: str | Path,
    coverage: float,
    *,
    model: Predictor | str | Path,
    batch_size: int = BATCH_SIZE,
    device: str = "auto",
    note: Callable[[str], None] = log_note,
    **options: Any,
) -> Mapping[str, SetReport]:
    """Report on a model's sets on a file, as `tagkit eval` does for a coverage.

    Args:
        gold: file with gold tags, classes, or both.
        coverage: share of sets that are to hold the right answer, 0.5 to 0.99.
        model: a calibrated model, or its folder.
        batch_size: maximum number of sentences in a batch.
        device: of a model that is given by its folder, as for `load`.
        note: called with a sentence on the format that was recognised, and on odd corpora.
        options: those of [data] in the configuration, such as format, scheme or tag_column.

    Returns:
        A report on the sets of "tags", of "classes", or on both.

    Raises:
        DataError: the file cannot be read, or the model has no sets of this coverage.
        ConfigError: an option is unknown or has a wrong value.
        BundleError: there is no such model, or it cannot be used.
        DeviceError: the device cannot be used.
    """
    data, path = data_options(options), path_text(gold, "gold")
    predictor = model if isinstance(model, Predictor) else load(model, device)
    require_sets(predictor, coverage)  # before the file is read
    split = gold_split(predictor, path, data)
    for text in split.notes:
        note(text)
    return report_on_sets(predictor, split, coverage, batch_size=batch_size)


def fit_sets(
    predictor: SentencePredictor, split: Split, *, batch_size: int = BATCH_SIZE
) -> dict[str, SetCalibration]:
    """What a model's sets need to know of a calibration corpus, by kind of label.

    Probabilities are those of the temperatures that the model's heads have now.

    Args:
        predictor: the model.
        split: sentences or texts with gold labels, which the model has not been trained on.
        batch_size: maximum number of sentences in a batch.

    Returns:
        A calibration of each of `AnswerKind.sets`.
    """
    kinds = predictor.answers.sets
    found = {}
    if TAGS in kinds:
        gold = _GoldTags(predictor, split)
        ranked = taggings_of(
            predictor, split.sentences, LIMIT,
            lambda number, found: gold.rank(number, found) is not None, batch_size,
        )  # fmt: skip
        found[TAGS] = calibrate_sets(
            [
                RankedGold(probs_of(taggings), gold.rank(number, taggings))
                for number, taggings in enumerate(ranked)
            ],
            LIMIT,
        )
    if CLASSES in kinds:
        answers = _classified(predictor, split.sentences, batch_size)
        found[CLASSES] = calibrate_sets(
            [
                RankedGold([score.probability for score in scores], _class_rank(sentence, scores))
                for sentence, scores in zip(split.sentences, answers, strict=True)
            ],
            len(predictor.vocabulary.classes),
        )
    return found


def report_on_sets(
    predictor: SentencePredictor, split: Split, coverage: float, *, batch_size: int = BATCH_SIZE
) -> dict[str, SetReport]:
    """How a model's sets do on a corpus with gold labels, by kind of label.

    Args:
        predictor: the model, calibrated.
        split: the corpus.
        coverage: share of sets that are to hold the right answer.
        batch_size: maximum number of sentences in a batch.

    Raises:
        DataError: as for `require_sets`.
    """
    calibrations = require_sets(predictor, coverage)
    reports = {}
    if TAGS in calibrations:
        limit = calibrations[TAGS][0].limit
        sets = sets_of_tags(predictor, split.sentences, calibrations, batch_size)
        gold = _GoldTags(predictor, split)
        reports[TAGS] = report_sets(
            coverage,
            [len(each.taggings) for each in sets],
            [gold.rank(number, each.taggings) is not None for number, each in enumerate(sets)],
            limit,
            sum(each.reached_limit for each in sets),
        )
    if CLASSES in calibrations:
        calibration, threshold = calibrations[CLASSES]
        answers = _classified(predictor, split.sentences, batch_size)
        sizes = [class_count(scores, threshold) for scores in answers]
        ranks = map(_class_rank, split.sentences, answers)
        holds = [
            rank is not None and rank < size for rank, size in zip(ranks, sizes, strict=True)
        ]  # all classes are ranked, so that no set lacks members
        limit = calibration.limit
        reports[CLASSES] = report_sets(coverage, sizes, holds, limit, sizes.count(limit))
    return reports


class _GoldTags:
    """The gold tags of a corpus, to be found among taggings."""

    def __init__(self, predictor: SentencePredictor, split: Split) -> None:
        # Spans are the same in every scheme; the model's tags are in that of its training corpus.
        self.by_spans = has_spans(predictor.config.data.scheme)
        self.gold = [
            to_spans(sentence.tags or ()) if self.by_spans else sentence.tags
            for sentence in split.sentences
        ]

    def rank(self, number: int, taggings: Sequence[Alternative]) -> int | None:
        """Of the gold tags of a sentence, from 0; None where they are not among the taggings."""
        gold = self.gold[number]
        for rank, each in enumerate(taggings):
            if (each.spans if self.by_spans else each.tags) == gold:
                return rank
        return None


def _classified(
    predictor: SentencePredictor, sentences: Sequence[Sentence], batch_size: int
) -> list[tuple[LabelScore, ...]]:
    found = predictor.annotate(sentences, batch_size=batch_size, confidence=False)
    return [each.scores for each in found]


def _class_rank(sentence: Sentence, scores: Sequence[LabelScore]) -> int | None:
    labels = [score.label for score in scores]
    return labels.index(sentence.labels[0]) if sentence.labels[0] in labels else None
