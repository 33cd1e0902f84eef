"""The best taggings of a text from those of its sentences."""

import math
from collections.abc import Sequence
from itertools import accumulate

from tagkit.inference.predict.inputs import Text, as_tagged
from tagkit.text.records import Alternative, Prediction, Span


def alternatives_of_text(
    text: Text, found: Sequence[Sequence[Alternative]], count: int
) -> list[Alternative]:
    """The most probable ways to tag a text, in descending order; exact.

    Sentences are tagged independently of each other, so the probability of a tagging of all of
    them is the product of theirs.

    Args:
        text: the text with its sentences.
        found: the best taggings of each sentence, `count` of them unless it has fewer.
        count: of the text's taggings.
    """
    # Of a text's best taggings, each part is among the best of its sentence: so the sentences can
    # be taken one by one, and `count` beginnings are enough. Logarithms, as the products of
    # thousands of sentences would all be 0.
    # (log probability, index of the tagging of each sentence)
    best: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for sentence in found:
        longer = [
            (log + _log(one.probability), (*chosen, index))
            for log, chosen in best
            for index, one in enumerate(sentence)
        ]
        best = sorted(longer, key=lambda each: -each[0])[:count]
    return [
        _joined(text, [found[i][index] for i, index in enumerate(chosen)], math.exp(log))
        for log, chosen in best
    ]


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0 else -math.inf


def _joined(text: Text, chosen: Sequence[Alternative], probability: float) -> Alternative:
    """One tagging of each sentence as a tagging of the text; spans count words of the text."""
    starts = [0, *accumulate(len(sentence) for sentence in text.sentences)]
    predictions = [
        Prediction(sentence.words, one.tags, one.spans)
        for sentence, one in zip(text.sentences, chosen, strict=True)
    ]
    return Alternative(
        tags=tuple(tag for one in chosen for tag in one.tags),
        spans=tuple(
            Span(start + span.start, start + span.end, span.label)
            for start, one in zip(starts, chosen, strict=False)
            for span in one.spans
        ),
        # Of one sentence to the last digit.
        probability=chosen[0].probability if len(chosen) == 1 else probability,
        tagged=as_tagged(text, predictions),
    )
