"""Names that a document has several times.

A name mostly means the same thing wherever a document mentions it ("one sense per discourse": Gale,
Church and Yarowsky 1992). A name is a word with a capital letter first, and two are the same if
their lower-cased forms are: ROME in a headline, Rome below it. Where a script has no capital
letters, there is none.
"""

from dataclasses import dataclass

import numpy as np

from tagkit.features import Ids
from tagkit.features.batching.encoding import Indexed


@dataclass(frozen=True, slots=True)
class RepeatedWords:
    """Tokens in groups: those of one group are one name in one document.

    Attributes:
        tokens: (n,) index of each token among those of all sentences, in order.
        groups: (n,) number of each one's group, from 0; a group has two tokens or more.
    """

    tokens: Ids
    groups: Ids


def name_of(word: str) -> str:
    """What all mentions of a name share; empty for a word that is none."""
    return word.lower() if word[:1].isupper() else ""


def repeated_words(indexed: Indexed, documents: Ids) -> RepeatedWords:
    """The names that documents repeat.

    Args:
        indexed: the sentences.
        documents: (sentences,) number of each one's document. A document of one sentence has none:
            its sentence is read as it would be by itself.
    """
    # Of distinct words, as these are far fewer than tokens: (words,) number of each name, or -1.
    names: dict[str, int] = {}
    of_words = np.array(
        [
            names.setdefault(name, len(names)) if name else -1
            for name in map(name_of, indexed.distinct)
        ],
        dtype=np.int64,
    )
    of_tokens = of_words[indexed.numbers]  # (tokens,)
    several = np.bincount(documents)[documents] > 1  # (sentences,)
    tokens = np.flatnonzero((of_tokens >= 0) & np.repeat(several, indexed.lengths))
    in_document = np.repeat(documents, indexed.lengths)[tokens]
    pairs = in_document * len(names) + of_tokens[tokens]  # (n,) one number for both
    _, groups, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    repeated = counts[groups] > 1
    return RepeatedWords(tokens[repeated], np.unique(groups[repeated], return_inverse=True)[1])
