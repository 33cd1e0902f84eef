"""Whether a training corpus gives a name one label within a document, as label consistency assumes.

News does: Rome is a place throughout. Requests need not: Rome is where one journey begins and
another one ends, and there the mentions of a name should be decided one by one.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

from tagkit.features.batching.repeated_words import name_of
from tagkit.text.records import Sentence
from tagkit.text.schemes import OUTSIDE, split_tag

_FEWEST = 20  # mentions; fewer say too little


def alike_in_documents(sentences: Sequence[Sentence]) -> float:
    """The share of mentions that have the most frequent label of their name in their document.

    Counted are the names that a marked document of several sentences has twice or more, at least
    once within a span.

    Args:
        sentences: with tags of spans, in any scheme.

    Returns:
        From 0 to 1; 0 where there are too few such mentions.
    """
    sizes = Counter(sentence.document for sentence in sentences)
    labels: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        document = sentence.document
        if document is None or document < 0 or sizes[document] < 2:
            continue
        for word, tag in zip(sentence.words, sentence.tags or (), strict=False):
            if name := name_of(word):
                labels[document, name][OUTSIDE if tag == OUTSIDE else split_tag(tag)[1]] += 1
    mentions = usual = 0
    for each in labels.values():
        if each.total() > 1 and {*each} != {OUTSIDE}:
            mentions += each.total()
            usual += max(each.values())
    return usual / mentions if mentions >= _FEWEST else 0.0
