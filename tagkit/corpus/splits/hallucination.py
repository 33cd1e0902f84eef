"""Pairs that are made up from those of a small corpus, for inflection.

What a lemma and its form have in common, a stretch of three characters or more, is replaced by
random characters of the corpus, the same on both sides (Anastasopoulos and Neubig 2019):

    lauf-en, ge-lauf-en  ->  lxpu-en, ge-lxpu-en

A decoder learns from such pairs to copy a stem, whatever it is, and what surrounds it to inflect.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from tagkit.corpus.records.dataset import Split
from tagkit.text.records import Sentence
from tagkit.wording import plural

_LEAST = 3  # characters of a stem


def with_hallucinated(train: Split, count: int, seed: int) -> Split:
    """The corpus, and `count` pairs that are made up; fewer where few pairs have a stem.

    They are none of the corpus's own.
    """
    letters = sorted(
        {char for each in train.sentences for char in each.targets[0] if char.isalpha()}
    )
    stems = [(each, found) for each in train.sentences if (found := _stems(each))]
    if not stems or not letters:
        return train
    draw = random.Random(f"hallucination {seed}")
    known = {(each.words, each.targets) for each in train.sentences}
    made: list[Sentence] = []
    for _ in range(2 * count):  # a short stem may become itself
        if len(made) == count:
            break
        sentence, found = draw.choice(stems)
        other = _replaced(sentence, found, letters, draw)
        if (other.words, other.targets) not in known:
            made.append(other)
    weights = None if train.weights is None else (*train.weights, *[1.0] * len(made))
    said = f"{train.path}: {plural(len(made), 'pair')} made up beside its own (data.hallucinated)"
    return replace(
        train,
        sentences=(*train.sentences, *made),
        weights=weights,
        notes=(*train.notes, said),
    )


def share_with_stem(sentences: Sequence[Sentence]) -> float:
    """How many pairs have a stem."""
    return sum(bool(_stems(each)) for each in sentences) / max(1, len(sentences))


def _stems(sentence: Sentence) -> list[tuple[int, int, int]]:
    """Places of stems in source and target, and their lengths."""
    source = sentence.text or ""
    matcher = SequenceMatcher(None, source, sentence.targets[0], autojunk=False)
    return [(a, b, size) for a, b, size in matcher.get_matching_blocks() if size >= _LEAST]


def _replaced(
    sentence: Sentence,
    stems: Sequence[tuple[int, int, int]],
    letters: Sequence[str],
    draw: random.Random,
) -> Sentence:
    """The pair with other letters in its stems, whose capitals and signs stay where they are."""
    source, target = list(sentence.text or ""), list(sentence.targets[0])
    for at, place, size in stems:
        for step in range(size):
            char = source[at + step]
            if char.isalpha():
                other = draw.choice(letters)
                other = other.upper() if char.isupper() else other.lower()
                source[at + step] = target[place + step] = other
    text = "".join(source)
    word = text + sentence.words[0][len(text) :]  # its features
    return replace(sentence, words=(word,), text=text, targets=("".join(target),), lines=())
