"""Tag schemes: which scheme tags are in, what may follow what, tags <-> spans.

| scheme | spans of two words, one word              | also called |
| ------ | ----------------------------------------- | ----------- |
| iob1   | I-X I-X, I-X; B-X only behind another X   | IOB         |
| iob2   | B-X I-X, B-X                              | BIO         |
| iobes  | B-X E-X, S-X                              | BIOES, BMES |
| bilou  | B-X L-X, U-X                              | BILUO       |
| labels | none: each word has a label of its own    | POS and so on |

IOB is Ramshaw and Marcus 1995; IOB2 and its rivals are compared by Tjong Kim Sang and Veenstra
1999; see also Jurafsky and Martin, "Sequence Labeling for Parts of Speech and Named Entities",
on BIO, IO and BIOES tagging. Spans of ill-formed sequences follow the rules of conlleval, the
scorer of the CoNLL shared tasks.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from tagkit.errors import SchemeError, shorten
from tagkit.text.records import Span

SPAN_SCHEMES = ("iob1", "iob2", "iobes", "bilou")
SCHEMES = (*SPAN_SCHEMES, "labels")
SYNONYMS = {"iob": "iob1", "bio": "iob2", "bioes": "iobes", "bmes": "iobes", "biluo": "bilou"}
DISPLAY = {"iob1": "IOB1", "iob2": "IOB2", "iobes": "IOBES", "bilou": "BILOU", "labels": "labels"}
OUTSIDE = "O"

Step = tuple[str, str]  # a tag, and the one behind it

# The prefixes of each scheme. M is the I of BMES; reading turns it into I.
PREFIXES = {
    "iob1": frozenset("IB"),
    "iob2": frozenset("IB"),
    "iobes": frozenset("BIES"),
    "bilou": frozenset("BILU"),
}
_ALL_PREFIXES = frozenset("BIESLUM")
# One alphabet to reason in: every scheme's prefixes as those of IOBES.
_AS_IOBES = {"L": "E", "U": "S", "M": "I"}
_AS_BILOU = {"E": "L", "S": "U"}


@dataclass(frozen=True, slots=True)
class Detection:
    """The scheme of a set of tag sequences, and how well it fits.

    Attributes:
        scheme: one of `SCHEMES`.
        transitions: number of steps looked at, sentence ends included.
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


def split_tag(tag: str) -> tuple[str, str]:
    """Prefix and label of a tag of a span scheme: 'B-LOC-GPE' is ('B', 'LOC-GPE'), 'O' ('O', '').

    Split at the first '-' only; labels may hold more of them.
    """
    prefix, _, label = tag.partition("-")
    return prefix, label


def join_tag(prefix: str, label: str) -> str:
    """The tag of a prefix and a label; a bare prefix for an empty label."""
    return f"{prefix}-{label}" if label else prefix


def is_span_tag(tag: str) -> bool:
    """Whether a tag is O or looks like a prefix with a label."""
    prefix, dash, label = tag.partition("-")
    return tag == OUTSIDE or (prefix in _ALL_PREFIXES and bool(dash and label))


def detect(sequences: Iterable[Sequence[str]]) -> Detection:
    """Scheme of a corpus's tags, judged over all of its sequences.

    Tags that are not O or prefix-label (or, all of them, a bare prefix) are plain labels. Among
    the span schemes the one that forbids the fewest of the corpus's transitions is taken; where
    several forbid equally few, IOB2.

    Raises:
        SchemeError: most tags look like those of a span scheme and some do not.
    """
    return detect_in(count_steps(sequences))


def count_steps(sequences: Iterable[Sequence[str]]) -> Counter[Step]:
    """How often each tag stands behind each other one; a sentence's edges count as O."""
    steps: Counter[Step] = Counter()
    for tags in sequences:
        steps.update(pairwise((OUTSIDE, *tags, OUTSIDE)))
    return steps


def detect_in(steps: Counter[Step]) -> Detection:
    """Scheme of a corpus's tags, of which the steps are counted; as `detect`."""
    total = steps.total()
    tags_seen: Counter[str] = Counter()
    for (before, _), count in steps.items():
        tags_seen[before] += count
    if not _are_span_tags(tags_seen):
        return Detection("labels", total, 0)
    # Listed in order of preference: min() keeps the first of equals.
    candidates = [
        Detection(scheme, total, illegal_in(steps, scheme))
        for scheme in ("iob2", "iobes", "bilou", "iob1")
    ]
    return min(candidates, key=lambda found: found.illegal)


def illegal_count(sequences: Iterable[Sequence[str]], scheme: str) -> int:
    """How many steps of these sequences a scheme forbids, sentence ends included."""
    return illegal_in(count_steps(sequences), scheme)


def _are_span_tags(tags_seen: Counter[str]) -> bool:
    """Whether the tags are those of a span scheme; raises where only most of them are."""
    tags = set(tags_seen) - {OUTSIDE}
    if not tags:  # nothing but O: a corpus without entities
        return OUTSIDE in tags_seen
    if tags <= _ALL_PREFIXES and tags & {"B", "I"}:
        return True
    odd = sorted(tag for tag in tags if not is_span_tag(tag))
    odd_tokens = sum(tags_seen[tag] for tag in odd)
    span_tokens = sum(tags_seen[tag] for tag in tags) - odd_tokens
    if not odd:
        return True
    # A POS tag set with a stray "B-X" is a POS tag set; entities with a stray "B_PER" a mistake.
    if odd_tokens * 4 > span_tokens:
        return False
    shown = ", ".join(shorten(tag) for tag in odd[:5])
    raise SchemeError(
        f"expected O or a tag such as B-LABEL, as {span_tokens:,} tags of the file are, found "
        f"{shown} ({odd_tokens:,} in all). Correct that, or set data.scheme to 'labels' for plain "
        "labels",
        odd[0],
    )


def illegal_in(steps: Counter[Step], scheme: str) -> int:
    """How many of these steps a scheme forbids."""
    return sum(count for (a, b), count in steps.items() if not may_follow(a, b, scheme))


def may_follow(before: str, after: str, scheme: str) -> bool:
    """Whether tag `after` may stand behind tag `before`.

    Sentence edges count as O: a sentence may begin with what may follow O and end with what O may
    follow. Everything may follow everything among plain labels.
    """
    return scheme == "labels" or _legal(_spell(before, scheme), _spell(after, scheme), scheme)


def _spell(tag: str, scheme: str) -> tuple[str, str] | None:
    """A tag as IOBES prefix and label; None where the scheme does not have the prefix."""
    prefix, label = split_tag(tag)
    if tag == OUTSIDE:
        return OUTSIDE, ""
    if prefix == "M" and scheme == "iobes":
        prefix = "I"
    if prefix not in PREFIXES[scheme]:
        return None
    return _AS_IOBES.get(prefix, prefix), label


def _legal(before: tuple[str, str] | None, after: tuple[str, str] | None, scheme: str) -> bool:
    if before is None or after is None:
        return False
    same_label = before[1] == after[1]
    if scheme == "iob1":  # B only to part two neighbours of one label
        return after[0] != "B" or (before[0] != OUTSIDE and same_label)
    if scheme == "iob2":
        return after[0] != "I" or (before[0] != OUTSIDE and same_label)
    is_open = before[0] in "BI"
    continues = after[0] in "IE"
    return is_open == continues and (not continues or same_label)


def normalize(tag: str) -> str:
    """The tag with the prefix that IOBES would have: L, U and M become E, S and I.

    The rules of conlleval, and seqeval's in its default mode, know these letters alone.
    """
    if tag == OUTSIDE:
        return tag
    prefix, label = split_tag(tag)
    return join_tag(_AS_IOBES.get(prefix, prefix), label)


Stretch = tuple[int, int, str]  # first word, the word behind the last one, label


@lru_cache(maxsize=65_536)
def _parts(tag: str) -> tuple[str, str]:
    """Prefix of IOBES and label: a corpus has few tags, each of them many times."""
    prefix, label = split_tag(tag)
    return _AS_IOBES.get(prefix, prefix), label


def to_spans(tags: Sequence[str]) -> tuple[Span, ...]:
    """Spans of a sequence of tags by the rules of conlleval, whatever the scheme.

    A span begins at B or S, at any prefix behind O or E or S, and where the label changes; it ends
    before the next begins, and behind E and S. Well-formed sequences of all four schemes come out
    as they are meant, ill-formed ones as conlleval counts them.
    """
    return tuple(Span(start, end, label) for start, end, label in stretches(tags))


def stretches(tags: Sequence[str]) -> list[Stretch]:
    """Start, end and label of each span of `to_spans`: in half the time, where many are wanted."""
    found: list[Stretch] = []
    start, label, closed = 0, "", True
    for index, tag in enumerate(tags):
        prefix, this_label = _parts(tag)
        if prefix == OUTSIDE:
            if not closed:
                found.append((start, index, label))
                closed = True
            continue
        if closed or prefix in "BS" or this_label != label:
            if not closed:
                found.append((start, index, label))
            start, label = index, this_label
        closed = prefix in "ES"
        if closed:
            found.append((start, index + 1, label))
    if not closed:
        found.append((start, len(tags), label))
    return found


def from_spans(spans: Iterable[Span], length: int, scheme: str) -> tuple[str, ...]:
    """Tags of a sentence of `length` words in one of the span schemes.

    Raises:
        ValueError: spans that overlap or reach over the sentence's edge.
    """
    ordered = sorted(spans, key=_place)
    last: Span | None = None
    for span in ordered:
        if not 0 <= span.start < span.end <= length or (last and span.start < last.end):
            raise ValueError(f"span {span} overlaps {last} or leaves a sentence of {length} words")
        last = span
    return _tags_of([(span.start, span.end, span.label) for span in ordered], length, scheme)


def _tags_of(found: Iterable[Stretch], length: int, scheme: str) -> tuple[str, ...]:
    """Tags of stretches that are in order and do not overlap."""
    tags = [OUTSIDE] * length
    last_end, last_label = -1, ""
    for start, end, label in found:
        touches = last_end == start and last_label == label
        final = end - 1
        if final - start > 1:
            inner = _tag(scheme, label, False, False, touches)
            tags[start + 1 : final] = [inner] * (final - start - 1)
        tags[final] = _tag(scheme, label, start == final, True, touches)
        if start < final:
            tags[start] = _tag(scheme, label, True, False, touches)
        last_end, last_label = end, label
    return tuple(tags)


def _place(span: Span) -> tuple[int, int]:
    return span.start, span.end


@lru_cache(maxsize=65_536)
def _tag(scheme: str, label: str, first: bool, final: bool, touches: bool) -> str:
    """Tag of a span's word; `touches`: the span stands right behind another of its label."""
    if scheme == "iob1":
        prefix = "B" if first and touches else "I"
    elif scheme == "iob2":
        prefix = "B" if first else "I"
    else:
        prefix = {(True, True): "S", (True, False): "B", (False, True): "E"}.get(
            (first, final), "I"
        )
        prefix = _AS_BILOU.get(prefix, prefix) if scheme == "bilou" else prefix
    return join_tag(prefix, label)


def convert(tags: Sequence[str], target: str) -> tuple[str, ...]:
    """The same spans in another scheme; plain labels are left alone by passing 'labels'."""
    if target == "labels":
        return tuple(tags)
    return _tags_of(stretches(tags), len(tags), target)
