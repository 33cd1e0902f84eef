"""Gold and predicted tags, reduced to counts of distinct pieces as they come.

Side by side, the tags of a corpus are cut before every token where a span of neither side can
continue: both tags are O, or begin a span. The same pieces occur again and again, so that a corpus
of a million tokens has some thousand different ones: memory does not grow with its length, and
every number of a report can be counted once a piece. Nothing is decided here: which scheme the
tags are in is known at the end of a file, when pieces are counted in any of them.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from operator import itemgetter

from tagkit.errors import DataError
from tagkit.evaluation.scores.scores import Labels
from tagkit.text.scheme_detection import Step
from tagkit.text.schemes import ALL_PREFIXES, OUTSIDE, is_span_tag, split_tag

Pair = tuple[str, str]  # the gold tag of a token and its predicted one

_CUT = " "  # between pieces; no tag's character is white space
_FIRST, _LAST = 0x3001, 0x10FFFF  # characters that stand for tags: none of them is white space
_EDGE = (OUTSIDE,)  # an edge of a sentence counts as O
_last_token = itemgetter(slice(-2, None))


@dataclass(frozen=True, slots=True)
class TagPiece:
    """Tags of tokens in a row, which no span crosses the ends of.

    Attributes:
        before: the tags of the token before, O at the beginning of a sentence.
        gold: gold tags.
        predicted: as many.
        times: how often the corpus has this piece behind this token.
    """

    before: Pair
    gold: tuple[str, ...]
    predicted: tuple[str, ...]
    times: int


class TagPieces:
    """Counts of the pieces of a corpus.

    Attributes:
        sentences: how many there have been.
        tokens: how many.
    """

    def __init__(self, *, strict: bool) -> None:
        """For `strict` scores, pieces end at O alone.

        Whether a B is well-formed in IOB1 depends on the tag before it, and whether that one ends
        a span depends on the B.
        """
        self.sentences = 0
        self.tokens = 0
        self._codes = _Codes({OUTSIDE} if strict else {OUTSIDE, *"BSU"})
        self._pieces: Counter[tuple[str, str]] = Counter()  # with the token before them
        self._labels: Counter[Pair] = Counter()  # of plain labels

    def add(self, gold: Labels, predicted: Labels) -> list[Pair]:
        """Count the tags of sentences.

        Args:
            gold: of each sentence.
            predicted: as long as `gold`, each sequence too.

        Returns:
            The pairs of tags that occur for the first time.
        """
        lengths = list(map(len, gold))
        if lengths != list(map(len, predicted)):
            raise ValueError("expected as many predicted tags as gold ones in each sentence")
        self.sentences += len(lengths)
        self.tokens += sum(lengths)
        codes = self._codes
        codes.new.clear()
        text = codes.outside + "".join(map(codes.__getitem__, _tokens(gold, predicted)))
        # A step from O to O is legal in all schemes, so that one O stands for all in a row.
        twice = codes.outside * 2
        while twice in text:
            text = text.replace(twice, codes.outside)
        _, *pieces = text.split(_CUT)
        before = chain((codes.outside[1:],), map(_last_token, pieces))
        self._pieces.update(zip(before, pieces, strict=False))  # the last one is before no other
        if codes.labels:
            self._labels.update(filter(codes.labels.__contains__, _tokens(gold, predicted)))
        return list(codes.new)

    def pieces(self) -> Iterator[TagPiece]:
        """The different pieces; tokens that are O on both sides make up one."""
        outside = self.tokens
        for before, gold, predicted, times in self._decoded():
            # The O that a piece may begin with stands for any number of them.
            start = 1 if gold[0] == predicted[0] == OUTSIDE else 0
            if len(gold) > start:
                first = (OUTSIDE, OUTSIDE) if start else before
                yield TagPiece(first, gold[start:], predicted[start:], times)
                outside -= times * (len(gold) - start)
        for (ours, theirs), times in self._labels.items():
            yield TagPiece((OUTSIDE, OUTSIDE), (ours,), (theirs,), times)
            outside -= times
        if outside:
            yield TagPiece((OUTSIDE, OUTSIDE), _EDGE, _EDGE, outside)

    def steps(self) -> tuple[Counter[Step], Counter[Step]]:
        """The steps of the gold tags and of the predicted ones, both edges of a sentence as O.

        Not all steps from O to O are counted, and beside plain labels there are some to O in place
        of others: no scheme depends on them.
        """
        found: tuple[Counter[Step], Counter[Step]] = (Counter(), Counter())
        for before, *sides, times in self._decoded():
            for steps, first, tags in zip(found, before, sides, strict=True):
                for step in pairwise((first, *tags)):
                    steps[step] += times
        for pair, times in self._labels.items():
            for steps, tag in zip(found, pair, strict=True):
                steps[tag, OUTSIDE] += times
        return found

    def _decoded(self) -> Iterator[tuple[Pair, tuple[str, ...], tuple[str, ...], int]]:
        tags = self._codes.tags
        for (before, piece), times in self._pieces.items():
            row = [tags[char] for char in piece]
            yield (tags[before[0]], tags[before[1]]), tuple(row[::2]), tuple(row[1::2]), times


class _Codes(dict[Pair, str]):
    """What a token becomes: a character for each of its tags, behind a cut where one is allowed.

    Attributes:
        outside: the code of O beside O.
        tags: by their characters.
        labels: pairs of plain labels, which are counted by themselves: no span is near them.
        new: pairs that have been met since this was last cleared.
    """

    def __init__(self, beginnings: set[str]) -> None:
        super().__init__()
        self.tags: dict[str, str] = {}
        self.labels: set[Pair] = set()
        self.new: list[Pair] = []
        self._chars: dict[str, str] = {}
        self._beginnings = beginnings
        self.outside = self[OUTSIDE, OUTSIDE]

    def __missing__(self, pair: Pair) -> str:
        """The code of a pair that has not been met before."""
        self.new.append(pair)
        if all(map(_is_label, pair)):
            self.labels.add(pair)
            self[pair] = self.outside
        else:
            begins = all(_is_label(tag) or split_tag(tag)[0] in self._beginnings for tag in pair)
            self[pair] = (_CUT if begins else "") + "".join(map(self._char, pair))
        return self[pair]

    def _char(self, tag: str) -> str:
        if tag not in self._chars:
            if _FIRST + len(self._chars) > _LAST:
                raise DataError(f"expected at most {_LAST - _FIRST + 1:,} different tags")
            self._chars[tag] = char = chr(_FIRST + len(self._chars))
            self.tags[char] = tag
        return self._chars[tag]


def _is_label(tag: str) -> bool:
    """Whether a tag is a plain label in any corpus; B alone may be the tag of a span."""
    return not is_span_tag(tag) and tag not in ALL_PREFIXES


def _tokens(gold: Labels, predicted: Labels) -> Iterator[Pair]:
    """The tags of all tokens side by side, with an O behind each sentence."""
    rows = (
        chain.from_iterable(zip(side, repeat(_EDGE), strict=False)) for side in (gold, predicted)
    )
    return zip(*map(chain.from_iterable, rows), strict=True)
