"""Sentences that one part of a corpus shares with another."""

from collections.abc import Iterable, Sequence, Set

from tagkit.text.records import Sentence

LONG = 5  # tokens from which a sentence seldom occurs twice by chance


def is_long(words: Sequence[str]) -> bool:
    """Whether words are so many that two sentences of them are hardly equal by chance."""
    return len(words) >= LONG


def shared_sentences(sentences: Iterable[Sentence], known: Set[tuple[str, ...]]) -> list[Sentence]:
    """The sentences whose words are among those of known ones, in order."""
    # By words alone: a test sentence that train has with other tags has leaked all the same.
    return [sentence for sentence in sentences if sentence.words in known]
