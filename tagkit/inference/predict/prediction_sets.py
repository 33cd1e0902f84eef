"""Sets of answers of which one is right as often as was asked for; `evaluate_sets` judges them.

Taggings are ranked exactly, by the n best paths of a head. Two of them are enough for most
sentences, so more are looked for only where a set, or the search for the gold tags, needs them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tagkit.errors import DataError
from tagkit.evaluation.scores.conformal import (
    SetCalibration,
    sentences_needed,
    set_size,
)
from tagkit.models.answers.kind import CLASSES, TAGS
from tagkit.models.answers.texts import Text, as_tagged
from tagkit.text.documents import whole_documents
from tagkit.text.records import (
    Alternative,
    LabelScore,
    Prediction,
    Sentence,
    TaggedText,
    TagSet,
    TextSets,
)

if TYPE_CHECKING:  # whose module imports torch
    from tagkit.inference.predict.sentence_predictor import SentencePredictor

_FIRST, _GROWTH = 2, 4  # taggings of the first look, and how many times more in each further one
# Whether enough taggings of a sentence, given by its number, are known.
_Enough = Callable[[int, Sequence[Alternative]], bool]


def require_sets(
    predictor: "SentencePredictor", coverage: float
) -> Mapping[str, tuple[SetCalibration, float]]:
    """The calibration and the threshold of each kind of label that has sets.

    Raises:
        DataError: no kind has sets, the model is not calibrated for them, or the coverage is out
            of range or higher than its calibration corpus allows.
    """
    sentences_needed(coverage)  # checks its range
    setting = f"coverage={coverage:g}"
    kinds = predictor.answers.sets
    if not kinds:
        lacks = predictor.answers.lacks_sets
        raise DataError(
            f"{setting}: expected a model of one tag column or of one class per text; this one "
            f"{lacks}"
        )
    saved = predictor.calibration.sets if predictor.calibration is not None else {}
    missing = [kind for kind in kinds if kind not in saved]
    if missing:
        raise DataError(
            f"{setting}: this model is not calibrated for sets: calibrate it (tagkit calibrate) "
            "with labelled text that it was not trained on"
        )
    return {kind: (saved[kind], saved[kind].threshold(coverage)) for kind in kinds}


def refuse_removal(min_confidence: float | None) -> None:
    """Refuse to remove improbable answers where sets are asked for.

    Raises:
        DataError: there is a probability below which answers are removed.
    """
    if min_confidence is not None:
        raise DataError(
            "expected either coverage=... or min_confidence, found both: a set also has answers "
            "that are improbable"
        )


def with_sets(
    predictor: "SentencePredictor",
    texts: Sequence[Text],
    answers: Sequence[TaggedText],
    coverage: float,
    *,
    batch_size: int,
) -> list[TextSets]:
    """Answers with the sets of their sentences and of their classes.

    Args:
        predictor: the model.
        texts: its inputs.
        answers: for these, with all classes in `scores`.
        coverage: share of sets that are to hold the right answer.
        batch_size: maximum number of sentences in a batch.

    Raises:
        DataError: as for `require_sets`.
    """
    calibrations = require_sets(predictor, coverage)
    sentences = [sentence for text in texts for sentence in text.sentences]
    sets = iter(sets_of_tags(predictor, sentences, calibrations, batch_size))
    found = []
    for text, answer in zip(texts, answers, strict=True):
        tag_sets: tuple[TagSet, ...] = ()
        if TAGS in calibrations:
            tag_sets = tuple(_placed(text, at, next(sets)) for at in range(len(text.sentences)))
        class_set: tuple[LabelScore, ...] = ()
        if CLASSES in calibrations and answer.scores:  # a blank text has none
            _, threshold = calibrations[CLASSES]
            class_set = answer.scores[: class_count(answer.scores, threshold)]
        found.append(
            TextSets(
                answer.text, answer.sentences, answer.spans, answer.labels, answer.scores,
                answer.tree, coverage, tag_sets, class_set,
            )
        )  # fmt: skip
    return found


def sets_of_tags(
    predictor: "SentencePredictor",
    sentences: Sequence[Sentence],
    calibrations: Mapping[str, tuple[SetCalibration, float]],
    batch_size: int,
) -> list[TagSet]:
    """The set of each sentence; none of a model without tags."""
    if TAGS not in calibrations:
        return []
    calibration, threshold = calibrations[TAGS]

    def is_whole(_: int, found: Sequence[Alternative]) -> bool:
        return set_size(probs_of(found), threshold) < len(found)

    ranked = taggings_of(predictor, sentences, calibration.limit, is_whole, batch_size)
    sets = []
    for each in ranked:
        size = set_size(probs_of(each), threshold)
        sets.append(TagSet(tuple(each[:size]), size >= calibration.limit))
    return sets


def taggings_of(
    predictor: "SentencePredictor",
    sentences: Sequence[Sentence],
    limit: int,
    enough: _Enough,
    batch_size: int,
) -> list[list[Alternative]]:
    """The most probable taggings of each sentence: enough of them, all that it has, or `limit`."""
    found: list[list[Alternative]] = [[] for _ in sentences]
    missing, count = list(range(len(sentences))), min(_FIRST, limit)
    config = predictor.config
    while missing:
        # What is read with the other sentences of its document is asked for with all of them.
        asked = missing
        if config.document_words:
            marked_only = config.marked_documents_only
            asked = whole_documents(sentences, missing, marked_only=marked_only)
        taggings = predictor._alternatives(
            [sentences[number] for number in asked], count, batch_size=batch_size
        )
        ranked, unfinished = dict(zip(asked, taggings, strict=True)), []
        for number in missing:
            each = ranked[number]
            found[number] = _distinct(each)
            # Fewer paths than were asked for are all that there are.
            if len(each) == count < limit and not enough(number, found[number]):
                unfinished.append(number)
        missing, count = unfinished, min(count * _GROWTH, limit)
    return found


def _distinct(paths: Sequence[Alternative]) -> list[Alternative]:
    """The taggings that paths mean: without constraints several can mean the same."""
    # Tags are written from spans, so that what means the same is the same.
    if len({each.tags for each in paths}) == len(paths):
        return [*paths]
    by_tags: dict[tuple[str, ...], list[Alternative]] = {}
    for each in paths:
        by_tags.setdefault(each.tags, []).append(each)
    merged = [
        Alternative(tags, same[0].spans, sum(each.probability for each in same))
        for tags, same in by_tags.items()
    ]
    return sorted(merged, key=lambda each: -each.probability)


def _placed(text: Text, number: int, found: TagSet) -> TagSet:
    """The set of one of a text's sentences, with offsets in the text."""
    sentence = text.sentences[number]
    own = Text(text.text, [sentence], [text.places[number]])
    taggings = tuple(
        Alternative(
            each.tags, each.spans, each.probability,
            as_tagged(own, [Prediction(sentence.words, each.tags, each.spans)]),
        )
        for each in found.taggings
    )  # fmt: skip
    return TagSet(taggings, found.reached_limit)


def class_count(scores: Sequence[LabelScore], threshold: float) -> int:
    """Number of classes in the set of a text whose classes are these, the most probable first."""
    return set_size([score.probability for score in scores], threshold)


def probs_of(taggings: Sequence[Alternative]) -> list[float]:
    """The probabilities of taggings."""
    return [each.probability for each in taggings]
