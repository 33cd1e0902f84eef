"""Gold labels of a corpus as ids."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tagkit.features.vocabulary import Vocabulary
from tagkit.text.records import Sentence


@dataclass(frozen=True)
class Target:
    """Gold labels of a corpus, one for each token or one for each sentence.

    Attributes:
        values: (tokens,) int64 ids, the sentences one after another, or (tokens, parts) of values
            with several parts; or (sentences, ...) of any type.
        per: whether a value belongs to a token or to a sentence.
        auxiliary: whether it is of a loss beside the task's own, in whose divisor it is not
            counted.
        count: number of labels where not each token or sentence has one; None where each has.
    """

    values: npt.NDArray[Any]
    per: Literal["token", "sentence"]
    auxiliary: bool = False
    count: int | None = None


def tag_target(sentences: Sequence[Sentence], vocabulary: Vocabulary) -> Target:
    """The tags of sentences, one for each token.

    Raises:
        KeyError: a tag that is not in the vocabulary.
    """
    tags = [tag for sentence in sentences for tag in sentence.tags or ()]
    ids = [vocabulary.tag_id(tag) for tag in tags]
    if None in ids:
        # np.array would refuse the None too, but without naming the tag.
        raise KeyError(tags[ids.index(None)])
    return Target(np.array(ids, dtype=np.int64), "token")


def class_target(sentences: Sequence[Sentence], vocabulary: Vocabulary) -> Target:
    """The classes of sentences: (sentences, classes) bool, True for the gold ones.

    Raises:
        KeyError: a class that is not in the vocabulary.
    """
    classes = np.zeros((len(sentences), len(vocabulary.classes)), dtype=np.bool_)
    for row, sentence in enumerate(sentences):
        for label in sentence.labels:
            number = vocabulary.class_id(label)
            if number is None:
                raise KeyError(label)
            classes[row, number] = True
    return Target(classes, "sentence")
