"""Which scheme the tags of a corpus are in: decided here, for every command.

`judge` decides and never raises, so that `tagkit check` can report all that is wrong; `scheme_of`
asks it and refuses what cannot be trained on or scored. The rules:

1. A scheme that is named (data.scheme) is taken. Version 0.1 called BMES "iobes" too, so this name
   means BMES where BMES fits better.
2. Tags without prefixes are plain labels; a few of them among tags of spans are mistakes.
3. Of the span schemes the one that forbids the fewest transitions of the corpus is taken; of
   several that forbid equally few, the expected one (that of train, for dev), else IOB2. IO, which
   cannot tell two neighbours of one type apart, is never taken unless it is named or expected.

Before that `notation_of` decides how tags are spelled, and readers have them in the usual way. Only
where all tags but one, that of what is no span, and a few mistakes are those of spans in another
notation is it taken: labels such as parts of speech never are.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise, repeat

from tagkit.errors import FormatError, SchemeError
from tagkit.text.notation import SEPARATORS, USUAL, Notation
from tagkit.text.records import Sentence
from tagkit.text.schemes import (
    ALL_PREFIXES,
    DISPLAY,
    IO,
    OUTSIDE,
    PLAIN,
    PREFIXES,
    has_spans,
    is_span_tag,
    may_follow,
)
from tagkit.wording import quoted

Step = tuple[str, str]  # a tag, and the one that follows it

# Listed in order of preference. IOB2 comes first, as short corpora often fit several schemes and
# most corpora are in IOB2; IOB1 comes last, as it allows nearly every sequence of I tags.
_BY_PREFERENCE = ("iob2", "iobes", "bilou", "bmes", "iob1")

# A POS tag set with a stray "B-X" is a POS tag set; entities with a stray "B_PER" are a mistake.
# Between the two: one tag without a prefix for every four with one.
_ODD_PER_SPAN_TAG = 4
_ROW = 500  # tags of which the steps are looked at together
# In another notation than the usual one: one mistake for so many tags of spans.
_SPAN_TAGS_PER_MISTAKE = 20
# Tags of words in no span, in capitals. Another one has to be as frequent as odd tags are not.
_OUTSIDE_TAGS = frozenset(
    "O 0 _ - -- * . # N X NA N/A NONE NULL NIL OTHER OUT OUTSIDE NO NEGATIVE BLANK PAD".split()
)


@dataclass(frozen=True, slots=True)
class Detection:
    """The scheme of a set of tag sequences, and how well it fits.

    Attributes:
        scheme: one of `SCHEMES`.
        transitions: number of steps that were counted, sentence edges included.
        illegal: how many of them the scheme forbids.
    """

    scheme: str
    transitions: int
    illegal: int

    def __str__(self) -> str:
        """For a summary line: 'IOB2', or 'IOB2 (3 of 812 transitions are illegal)'."""
        name = DISPLAY[self.scheme]
        if not self.illegal:
            return name
        return f"{name} ({self.illegal:,} of {self.transitions:,} transitions are illegal)"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the tags of a file are.

    Attributes:
        detection: their scheme; steps from and to odd tags are not counted.
        odd: tags without a prefix in a file of spans, or in a file of which a span scheme is
            named; empty for plain labels.
        is_named: whether the configuration names the scheme.
        looks_plain: whether the tags by themselves look like plain labels.
    """

    detection: Detection
    odd: frozenset[str]
    is_named: bool
    looks_plain: bool

    @property
    def scheme(self) -> str:
        """One of `SCHEMES`."""
        return self.detection.scheme

    def forbids(self, step: Step, scheme: str | None = None) -> bool:
        """Whether a step is illegal, in another scheme if that is named; not beside an odd tag."""
        return not self.odd.intersection(step) and not may_follow(*step, scheme or self.scheme)

    def without_odd(self, tags: Sequence[str]) -> tuple[str, ...]:
        """The tags with O for odd ones, which mean no span."""
        return tuple(OUTSIDE if tag in self.odd else tag for tag in tags)

    def fits(self, steps: Counter[Step], scheme: str) -> int:
        """How many steps a scheme forbids, those beside odd tags left out."""
        return illegal_in(_without(steps, self.odd), scheme)


def steps_of(tags: Sequence[str]) -> Iterator[Step]:
    """The steps of a sentence; both of its edges count as O."""
    return pairwise((OUTSIDE, *tags, OUTSIDE))


def count_steps(sequences: Iterable[Sequence[str]]) -> Counter[Step]:
    """How often each tag follows each other one; a sentence's edges count as O.

    A corpus has millions of steps and some hundred distinct ones, so every question about schemes
    is asked of these counts.
    """
    return Counter(steps_in(sequences))


def steps_in(sequences: Iterable[Sequence[str]]) -> Iterator[Step]:
    """The steps of all sequences, one after the other, in C."""
    # All sentences in one row, with an O between two of them.
    row = chain.from_iterable(chain.from_iterable(zip(sequences, repeat((OUTSIDE,)), strict=False)))
    return pairwise(chain((OUTSIDE,), row))


def _kinds_of_steps(sequences: Iterable[Sequence[str]]) -> set[Step]:
    """The distinct steps of all sequences."""
    kinds: set[Step] = set()
    row = [OUTSIDE]
    for tags in sequences:
        row += tags
        row.append(OUTSIDE)
        # Some hundreds at a time, which stay in the processor's cache, and by zip, which uses one
        # tuple for all steps that are there already: two thirds of the time of pairwise on all.
        if len(row) > _ROW:
            kinds.update(zip(row, islice(row, 1, None), strict=False))
            del row[:-1]
    return kinds.union(pairwise(row))


def notation_of(
    counts: Counter[str], scheme: str = "auto", named: Notation | None = None
) -> Notation:
    """How the tags of a corpus are spelled; the usual notation where they are no tags of spans.

    Args:
        counts: how often each tag occurs.
        scheme: that is named (data.scheme), or "auto".
        named: a notation that is named (data.notation), or that of train for dev; it is taken where
            the tags fit it. None for none.
    """
    odd = _tags_without_prefix(counts)
    if scheme == PLAIN or named == USUAL or not odd:
        return USUAL
    found = [each for each in _candidates(counts) if _is_shown(counts, each)]
    if named and named.separator:
        # In dev nothing but the tag of what is no span may stand, so that nothing shows by itself.
        fits = _SPAN_TAGS_PER_MISTAKE * _odd_tokens(counts, named) <= counts.total()
        found = [named] if fits else found
    best = min(found, key=lambda each: _odd_tokens(counts, each), default=USUAL)
    if best != USUAL and _odd_tokens(counts, best) < sum(counts[tag] for tag in odd):
        return best
    # Any label is a type without a prefix: where spans are wanted, and there are no other tags.
    if _is_plain(counts, odd) and named and not named.separator:
        return named
    if _is_plain(counts, odd) and scheme == IO:
        return Notation(outside_of(counts) or OUTSIDE, separator="")
    return USUAL


def _candidates(counts: Counter[str]) -> Iterator[Notation]:
    """The notations that most tags may be in, each with the likeliest tag of what is no span."""
    seen: Counter[tuple[str, bool, bool]] = Counter()
    for tag, count in counts.items():
        if len(tag) == 1:
            seen["-", False, tag.islower()] += count
        elif len(tag) > 2 and tag[1] in SEPARATORS:
            seen[tag[1], False, tag[0].islower()] += count
        if len(tag) > 2 and tag[-2] in SEPARATORS:
            seen[tag[-2], True, tag[-1].islower()] += count
    total, largest = counts.total(), max(counts.values())
    for (separator, type_first, lower), tokens in seen.most_common(4):
        # Of labels that are none of spans few look so: this is asked of every column of words.
        for bmewo in (False, True) if 10 * (tokens + largest) >= 9 * total else ():
            found = Notation("", separator, type_first, lower, bmewo)
            rest = Counter({tag: n for tag, n in counts.items() if found.parts(tag) is None})
            others = [*rest, "o" if lower else OUTSIDE]
            yield replace(found, outside=outside_of(rest) or max(others, key=rest.__getitem__))


def outside_of(counts: Counter[str]) -> str:
    """The most frequent tag that usually says that a word is in no span; empty without one."""
    usual = (tag for tag, _ in counts.most_common() if tag.upper() in _OUTSIDE_TAGS)
    return OUTSIDE if OUTSIDE in counts else next(usual, "")


def _odd_tokens(counts: Counter[str], notation: Notation) -> int:
    """Number of tokens with a tag that is none of a notation."""
    return sum(
        count
        for tag, count in counts.items()
        if tag not in (notation.outside, OUTSIDE) and notation.parts(tag) is None
    )


def _is_shown(counts: Counter[str], notation: Notation) -> bool:
    """Whether tags, all but a few of which are in a notation, are those of spans and no others."""
    found = {
        tag: parts
        for tag in counts
        if tag != notation.outside and (parts := notation.parts(tag)) is not None
    }
    tokens = sum(counts[tag] for tag in found)
    if notation == USUAL or _SPAN_TAGS_PER_MISTAKE * _odd_tokens(counts, notation) > tokens:
        return False
    prefixes = {prefix for prefix, _ in found.values()}
    if notation.bmewo and not any("W" in (tag[:1] + tag[-1:]).upper() for tag in found):
        return False
    if not (prefixes & {"B", "I"} and any(prefixes <= known for known in PREFIXES.values())):
        return False
    is_usual_outside = notation.outside.upper() in _OUTSIDE_TAGS
    labels = Counter(label for _, label in found.values())
    if "" in labels:  # bare prefixes, which may be any labels
        return is_usual_outside and [*labels] == [""] and {"B", "I"} <= prefixes
    if not all(any(map(str.isalpha, label)) for label in labels):
        return False
    # Of a type with one prefix, such as hepatitis-B, nothing tells what the letter is.
    if notation.type_first and max(labels.values()) == 1 and (prefixes != {"I"} or len(labels) < 2):
        return False
    return is_usual_outside or _ODD_PER_SPAN_TAG * counts[notation.outside] > tokens


def judge(steps: Counter[Step], named: str = "auto", expected: str | None = None) -> Judgement:
    """The scheme that is named, or the one that fits best.

    Args:
        steps: of all sentences of a file, as `count_steps` has them.
        named: a scheme (data.scheme), or "auto".
        expected: taken where it fits no worse than the best; None for no expectation.
    """
    if named == PLAIN:
        return Judgement(Detection(PLAIN, steps.total(), 0), frozenset(), True, True)
    counts = _tag_counts(steps)
    odd = _tags_without_prefix(counts)
    looks_plain = _is_plain(counts, odd)
    if named == "auto" and looks_plain:
        return Judgement(Detection(PLAIN, steps.total(), 0), frozenset(), False, True)
    if named == "auto" and expected == PLAIN and counts.keys() <= {OUTSIDE}:
        # A dev corpus of plain labels may happen to hold nothing but the label "O".
        return Judgement(Detection(PLAIN, steps.total(), 0), frozenset(), False, False)
    counted = _without(steps, odd)
    illegal = {scheme: illegal_in(counted, scheme) for scheme in _BY_PREFERENCE}
    scheme = min(illegal, key=illegal.__getitem__)  # min() keeps the first of equals
    if IO in (named, expected):
        illegal[IO] = illegal_in(counted, IO)
    if named == "iobes" and illegal["bmes"] < illegal["iobes"]:
        scheme = "bmes"
    elif named != "auto":
        scheme = named
    elif expected in illegal and illegal[expected] <= illegal[scheme]:
        scheme = expected
    detection = Detection(scheme, counted.total(), illegal[scheme])
    return Judgement(detection, odd, named != "auto", looks_plain)


def scheme_beside(named: str, tags: Iterable[str]) -> str:
    """How the scheme of predicted tags is named: as of both files, unless they have other tags.

    Args:
        named: data.scheme.
        tags: the predicted ones.
    """
    known = PREFIXES.get(named)
    fits = known is None or all(tag == OUTSIDE or tag.partition("-")[0] in known for tag in tags)
    return named if fits else "auto"


def scheme_of(
    sentences: Sequence[Sentence],
    path: str,
    named: str = "auto",
    expected: str | None = None,
    remedy: str = "",
) -> Detection:
    """The scheme of a corpus whose tags can be learnt, scored or converted.

    Args:
        sentences: those without tags are not looked at.
        path: of their file, for messages.
        named: a scheme (data.scheme), or "auto".
        expected: as for `judge`.
        remedy: the end of a message on tags that are not the expected ones.

    Raises:
        FormatError: most tags are those of a span scheme, and some are not.
        DataError: the tags are plain labels where spans are named or expected, or the reverse.
    """
    if named == PLAIN:  # which any tags are: there is nothing to count
        return Detection(PLAIN, 0, 0)
    sequences = [sentence.tags or () for sentence in sentences]
    # Which steps there are is found in half the time of how many of each there are.
    kinds = Counter(_kinds_of_steps(sequences))
    enough = _is_decided(kinds, named, expected)
    steps = kinds if enough else count_steps(sequences)
    found = scheme_of_steps(
        steps, path, named, expected, lambda tag: first_line_of(tag, sentences), remedy
    )
    if not enough:
        return found
    return replace(found, transitions=sum(map(len, sequences)) + len(sequences))


def _is_decided(kinds: Counter[Step], named: str, expected: str | None) -> bool:
    """Whether the scheme is known from which steps there are, each counted once.

    It is where no step is a mistake, as in nearly every corpus: all tags are plain labels, or they
    are those of spans, in a scheme that forbids none of the steps.
    """
    tags = Counter(tag for step in kinds for tag in step if tag != OUTSIDE)
    odd = _tags_without_prefix(tags)
    return odd == tags.keys() or not (odd or judge(kinds, named, expected).detection.illegal)


def scheme_of_steps(
    steps: Counter[Step],
    path: str,
    named: str,
    expected: str | None,
    line_of: Callable[[str], int],
    remedy: str,
) -> Detection:
    """As `scheme_of`, for a corpus of which the steps have been counted.

    Args:
        steps: of all sentences.
        path: as for `scheme_of`.
        named: as for `scheme_of`.
        expected: as for `judge`.
        line_of: finds the first line with a tag that is none of a span scheme; called with the
            lowest of these tags.
        remedy: as for `scheme_of`.

    Raises:
        FormatError: as for `scheme_of`.
        DataError: as for `scheme_of`.
    """
    if named == PLAIN:
        return Detection(PLAIN, 0, 0)
    judged = judge(steps, named, expected)
    if judged.odd and not judged.looks_plain:
        line = line_of(min(judged.odd))
        raise FormatError(path, line, _odd_tags(judged.odd, _tag_counts(steps)))
    wanted = named if named != "auto" else expected
    is_plain = judged.looks_plain or not has_spans(judged.scheme)
    if wanted is not None and has_spans(wanted) == is_plain:
        found = PLAIN if is_plain else judged.scheme
        raise SchemeError(path, wanted, found, remedy)
    return judged.detection


def _odd_tags(odd: frozenset[str], counts: Counter[str]) -> str:
    """What is wrong with tags without prefixes among those of spans."""
    odd_tokens = sum(counts[tag] for tag in odd)
    span_tokens = counts.total() - counts[OUTSIDE] - odd_tokens
    shown = ", ".join(quoted(tag) for tag in sorted(odd)[:5])
    return (
        f"expected O or a tag such as B-LABEL, as {span_tokens:,} tags of the file are, found "
        f"{shown} ({odd_tokens:,} in all). Correct that, or set data.scheme to 'labels' for plain "
        "labels"
    )


def first_line_of(tag: str, sentences: Iterable[Sentence]) -> int:
    """Number of the first line that has this tag."""
    lines = (
        sentence.lines[(sentence.tags or ()).index(tag)]
        for sentence in sentences
        if tag in (sentence.tags or ())
    )
    return next(lines, 1)


def illegal_count(sequences: Iterable[Sequence[str]], scheme: str) -> int:
    """How many steps of these sequences a scheme forbids, sentence edges included."""
    return illegal_in(count_steps(sequences), scheme)


def illegal_in(steps: Counter[Step], scheme: str) -> int:
    """How many of these steps a scheme forbids."""
    return sum(count for (a, b), count in steps.items() if not may_follow(a, b, scheme))


def _tag_counts(steps: Counter[Step]) -> Counter[str]:
    """How often each tag occurs; O once more for each sentence, for the edge before it."""
    counts: Counter[str] = Counter()
    for (before, _), count in steps.items():
        counts[before] += count
    return counts


def _tags_without_prefix(counts: Counter[str]) -> frozenset[str]:
    """The tags that are none of a span scheme."""
    tags = counts.keys() - {OUTSIDE}
    # Corpora of one type of span may leave it out: B, I and O alone. A set without B and I, such as
    # E and S, is more likely one of plain labels.
    if tags <= ALL_PREFIXES and tags & {"B", "I"}:
        return frozenset()
    return frozenset(tag for tag in tags if not is_span_tag(tag))


def _is_plain(counts: Counter[str], odd: frozenset[str]) -> bool:
    """Whether tags, some of which are odd, are plain labels rather than spans with mistakes."""
    odd_tokens = sum(counts[tag] for tag in odd)
    span_tokens = counts.total() - counts[OUTSIDE] - odd_tokens
    # Without any sentence there is not even an O; nothing but O is a corpus without spans.
    return not counts or odd_tokens * _ODD_PER_SPAN_TAG > span_tokens


def _without(steps: Counter[Step], odd: frozenset[str]) -> Counter[Step]:
    """The steps that no odd tag takes part in."""
    if not odd:
        return steps
    return Counter({step: count for step, count in steps.items() if not odd.intersection(step)})
