"""Tag schemes: which tag may follow which, and tags <-> spans.

| scheme | spans of two words, one word              | also called |
| ------ | ----------------------------------------- | ----------- |
| iob1   | I-X I-X, I-X; B-X only after another X    | IOB         |
| iob2   | B-X I-X, B-X                              | BIO         |
| iobes  | B-X E-X, S-X; I-X between B-X and E-X     | BIOES       |
| bilou  | B-X L-X, U-X; I-X between B-X and L-X     | BILUO       |
| bmes   | B-X E-X, S-X; M-X between B-X and E-X     | BMESO       |
| io     | I-X I-X, I-X; neighbours of a type are one | X X, X     |
| labels | none: each word has a label of its own    | POS and so on |

IOB1 is from Ramshaw and Marcus, "Text chunking using transformation-based learning" (1995); Tjong
Kim Sang and Veenstra, "Representing text chunks" (1999), compare it with IOB2, IOE1 and IOE2;
Ratinov and Roth, "Design challenges and misconceptions in named entity recognition" (2009), find
BILOU better than IOB2. See also Jurafsky and Martin, "Sequence Labeling for Parts of Speech and
Named Entities", on BIO, IO and BIOES tagging. Spans of ill-formed sequences follow the rules of
conlleval, the scorer of the CoNLL shared tasks. Which scheme a
corpus is in is decided in `scheme_detection`.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from tagkit.text.notation import ALL_PREFIXES as ALL_PREFIXES
from tagkit.text.notation import OUTSIDE as OUTSIDE
from tagkit.text.notation import join_tag as join_tag
from tagkit.text.notation import split_tag as split_tag
from tagkit.text.records import Span
from tagkit.text.scheme_names import IO as IO
from tagkit.text.scheme_names import PLAIN as PLAIN
from tagkit.text.scheme_names import SPAN_SCHEMES as SPAN_SCHEMES

SCHEMES = (*SPAN_SCHEMES, IO, PLAIN)
DISPLAY = {**{scheme: scheme.upper() for scheme in (*SPAN_SCHEMES, IO)}, PLAIN: "labels"}

# The prefixes of each scheme. BMES, of Chinese word segmentation, writes M for the I of IOBES.
PREFIXES = {
    "iob1": frozenset("IB"),
    "iob2": frozenset("IB"),
    "iobes": frozenset("BIES"),
    "bilou": frozenset("BILU"),
    "bmes": frozenset("BMES"),
    "io": frozenset("I"),
}
# Rules are written once, for the prefixes of IOBES: begin, inside, end and single.
_AS_IOBES = {"L": "E", "U": "S", "M": "I"}
# What the inside of a span in BMES is in IOBES, and the reverse.
INSIDE = {"iobes": {"M": "I"}, "bmes": {"I": "M"}}
_FROM_IOBES = {"bilou": {"E": "L", "S": "U"}, "bmes": {"I": "M"}}


def has_spans(scheme: str | None) -> bool:
    """Whether tags of a scheme mean spans; those of plain labels do not, nor does None."""
    return scheme is not None and scheme != PLAIN


def is_span_tag(tag: str) -> bool:
    """Whether a tag is O or looks like a prefix with a label."""
    prefix, dash, label = tag.partition("-")
    return tag == OUTSIDE or (prefix in ALL_PREFIXES and bool(dash and label))


def may_follow(before: str, after: str, scheme: str) -> bool:
    """Whether tag `after` may follow tag `before`.

    Sentence edges count as O: a sentence may begin with what may follow O and end with what O may
    follow. Everything may follow everything among plain labels.
    """
    return not has_spans(scheme) or _legal(_spell(before, scheme), _spell(after, scheme), scheme)


def _spell(tag: str, scheme: str) -> tuple[str, str] | None:
    """A tag as IOBES prefix and label; None where the scheme does not have the prefix."""
    prefix, label = split_tag(tag)
    if tag == OUTSIDE:
        return OUTSIDE, ""
    if prefix not in PREFIXES[scheme]:
        return None
    return _AS_IOBES.get(prefix, prefix), label


def _legal(before: tuple[str, str] | None, after: tuple[str, str] | None, scheme: str) -> bool:
    if before is None or after is None:
        return False
    if scheme == IO:
        return True
    same_label = before[1] == after[1]
    # In IOB1 and IOB2 a span needs no end: only the first tag of a span can be wrong.
    if scheme == "iob1":  # B only separates two adjacent spans of one label
        return after[0] != "B" or (before[0] != OUTSIDE and same_label)
    if scheme == "iob2":
        return after[0] != "I" or (before[0] != OUTSIDE and same_label)
    # In the others a span that has begun must be continued, and nothing else may be.
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


@lru_cache(maxsize=65_536)
def own_inside(tag: str, scheme: str) -> str:
    """The tag with the scheme's own letter for the inside of a span: M in BMES, I in IOBES."""
    prefix, label = split_tag(tag)
    own = INSIDE.get(scheme, {}).get(prefix, prefix)
    return tag if own == prefix else join_tag(own, label)


SpanTuple = tuple[int, int, str]  # first word, the word after the last one, label


@lru_cache(maxsize=65_536)
def _parts(tag: str) -> tuple[str, str]:
    """Prefix of IOBES and label; cached, as a corpus has few tags and each of them many times."""
    prefix, label = split_tag(tag)
    return _AS_IOBES.get(prefix, prefix), label


def to_spans(tags: Sequence[str]) -> tuple[Span, ...]:
    """Spans of a sequence of tags by the rules of conlleval, whatever the scheme.

    A span begins at B or S, at any prefix after O or E or S, and where the label changes; it ends
    before the next one begins, and after E and S. Well-formed sequences of all four schemes give
    the spans that were meant, ill-formed ones those that conlleval counts.
    """
    return tuple(Span(start, end, label) for start, end, label in span_tuples(tags))


def span_tuples(tags: Sequence[str]) -> list[SpanTuple]:
    """Start, end and label of each span of `to_spans`, as tuples: in half the time."""
    found: list[SpanTuple] = []
    start, label, closed = 0, "", True  # closed: no span is open before this word
    for index, tag in enumerate(tags):
        # Most tags are a bare O, for which the first comparison is enough.
        if tag == OUTSIDE or (parts := _parts(tag))[0] == OUTSIDE:
            if not closed:
                found.append((start, index, label))
                closed = True
            continue
        prefix, this_label = parts
        # An I of another label begins a span (conlleval): I-PER I-LOC are two spans.
        if closed or prefix in "BS" or this_label != label:
            if not closed:
                found.append((start, index, label))
            start, label = index, this_label
        closed = prefix in "ES"
        if closed:
            found.append((start, index + 1, label))
    if not closed:  # the sentence ended inside a span
        found.append((start, len(tags), label))
    return found


def begun_span(before: str, after: str) -> str | None:
    """The label of the span that `to_spans` begins at tag `after`, behind `before`; None for none.

    The edge of a sentence is an O. So steps that were counted tell how many spans there are.
    """
    (last, last_label), (prefix, label) = _parts(before), _parts(after)
    if prefix == OUTSIDE:
        return None
    begins = last == OUTSIDE or last in "ES" or prefix in "BS" or label != last_label
    return label if begins else None


def from_spans(spans: Iterable[Span], length: int, scheme: str) -> tuple[str, ...]:
    """Tags of a sentence of `length` words in one of the span schemes.

    Raises:
        ValueError: spans that overlap or extend past the end of the sentence.
    """
    ordered = sorted(spans, key=_place)
    last: Span | None = None
    for span in ordered:
        if not 0 <= span.start < span.end <= length or (last and span.start < last.end):
            raise ValueError(f"span {span} overlaps {last} or leaves a sentence of {length} words")
        last = span
    return from_span_tuples(
        [(span.start, span.end, span.label) for span in ordered], length, scheme
    )


def from_span_tuples(found: Iterable[SpanTuple], length: int, scheme: str) -> tuple[str, ...]:
    """Tags of a sentence of `length` words; spans are in order and do not overlap."""
    tags = [OUTSIDE] * length
    last_end, last_label = -1, ""
    for start, end, label in found:
        # IOB1 alone asks: there a B separates this span from the one before it.
        touches = last_end == start and last_label == label
        final = end - 1
        if final - start > 1:  # one slice for the inside: long spans cost no more than short ones
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
    """Tag of a span's word; `touches`: the span directly follows another one of its label."""
    if scheme == "iob1":
        prefix = "B" if first and touches else "I"
    elif scheme == "iob2":
        prefix = "B" if first else "I"
    elif scheme == IO:
        prefix = "I"
    else:
        prefix = {(True, True): "S", (True, False): "B", (False, True): "E"}.get(
            (first, final), "I"
        )
        prefix = _FROM_IOBES.get(scheme, {}).get(prefix, prefix)
    return join_tag(prefix, label)


def convert(tags: Sequence[str], target: str) -> tuple[str, ...]:
    """The same spans in another scheme; plain labels are left alone by passing `PLAIN`."""
    if not has_spans(target):
        return tuple(tags)
    return from_span_tuples(span_tuples(tags), len(tags), target)
