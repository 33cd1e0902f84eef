"""What is known of a file only when all its sentences have been seen, counted in one reading."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from tagkit.text.records import Sentence
from tagkit.text.scheme_detection import Step, steps_in

_BATCH = 20  # sentences that are counted together; few, as a text may be long


@dataclass(slots=True)
class ColumnCounts:
    """Counts of one tag column; each counter is in the order in which its keys occur first.

    Attributes:
        tags: how often each tag occurs.
        steps: how often each tag follows each other one.
        classes: how often each class of a whole sentence occurs.
    """

    tags: Counter[str] = field(default_factory=Counter)
    steps: Counter[Step] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)

    def see(self, sentences: Iterable[Sentence], place: int | None) -> None:
        """Count further sentences.

        Args:
            sentences: all of which have the column.
            place: of the column among several; None for the tags of the sentences.
        """
        tags = []
        for sentence in sentences:
            found = sentence.tags if place is None else sentence.columns[place].values
            if found:
                tags.append(found)
            if sentence.labels:
                self.classes.update(sentence.labels)
        self.tags.update(chain.from_iterable(tags))
        self.steps.update(steps_in(tags))


@dataclass(slots=True)
class FileCounts:
    """Counts of all sentences of a file; they grow with what is distinct alone.

    Attributes:
        number: of sentences.
        lengths: how many sentences have each number of tokens.
        words: all distinct ones.
        digests: of the words of all distinct sentences, as `digest` makes them.
        repeated: those of sentences that occur several times.
        first: counts of the only tag column, or the first one.
        further: counts of further columns, by their places.
    """

    number: int = 0
    lengths: Counter[int] = field(default_factory=Counter)
    words: set[str] = field(default_factory=set)
    digests: set[int] = field(default_factory=set)
    repeated: set[int] = field(default_factory=set)
    first: ColumnCounts = field(default_factory=ColumnCounts)
    further: dict[int, ColumnCounts] = field(default_factory=dict)

    def tokens(self) -> int:
        """Number of tokens."""
        return sum(length * count for length, count in self.lengths.items())

    def length_at(self, rank: int) -> int:
        """The length of the sentence of this rank, from 0, in order of length."""
        for length, count in sorted(self.lengths.items()):
            rank -= count
            if rank < 0:
                return length
        raise IndexError(rank)

    def _see(self, sentences: Sequence[Sentence], columns: int) -> None:
        self.number += len(sentences)
        self.lengths.update([len(sentence.words) for sentence in sentences])
        self.words.update(chain.from_iterable([sentence.words for sentence in sentences]))
        for sentence in sentences:
            found = digest(sentence)
            (self.repeated if found in self.digests else self.digests).add(found)
        self.first.see(sentences, None)
        if self.further:
            # A line in another format than the others may have tags of one column.
            complete = [each for each in sentences if len(each.columns) == columns]
            for place, counts in self.further.items():
                counts.see(complete, place)


def digest(sentence: Sentence) -> int:
    """64 bits of its words, by which equal sentences are found; of use in this process alone."""
    # Python's own hash, which is kept in each word: another one would take most of the time of the
    # counting. Of ten million sentences two different ones share it with a chance of 3 in a
    # million.
    return hash(sentence.words)


def count(sentences: Iterable[Sentence], columns: int, further: Iterable[int]) -> FileCounts:
    """Counts of all sentences, which are taken once and not held.

    Args:
        sentences: of a file.
        columns: number of the tag columns that are read, where they are several.
        further: places of those of them that are counted beside the first.
    """
    counts = FileCounts(further={place: ColumnCounts() for place in further})
    rest = iter(sentences)
    while batch := list(islice(rest, _BATCH)):
        counts._see(batch, columns)
    return counts
