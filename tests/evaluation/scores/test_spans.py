"""Well-formed spans are those of seqeval's strict mode."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval import scheme as seqeval_schemes

from tagkit.evaluation.scores.spans import well_formed_spans
from tagkit.text.scheme_detection import illegal_count
from tagkit.text.schemes import IO, PREFIXES, SPAN_SCHEMES, span_tuples


def by_seqeval(tags: list[str], scheme: str) -> list[tuple[int, int, str]]:
    """Spans as seqeval finds them, of tags that it reads as we do."""
    if scheme == "bmes":  # which seqeval does not have
        scheme, tags = "iobes", [tag.replace("M-", "I-") for tag in tags]
    kind = getattr(seqeval_schemes, "IOB1" if scheme == IO else scheme.upper())
    return [(e.start, e.end, e.tag) for e in seqeval_schemes.Tokens(tags, kind).entities]


def alphabet(scheme: str, labels: str) -> list[str]:
    return ["O", *(f"{prefix}-{label}" for prefix in sorted(PREFIXES[scheme]) for label in labels)]


@pytest.mark.parametrize("scheme", [*SPAN_SCHEMES, IO])
def test_every_sequence_of_three_tags_has_the_spans_of_seqeval(scheme: str) -> None:
    for tags in product(alphabet(scheme, "XY"), repeat=3):
        assert well_formed_spans(tags, scheme) == by_seqeval(list(tags), scheme), tags


@pytest.mark.parametrize("scheme", [*SPAN_SCHEMES, IO])
@given(data=st.data())
def test_long_sequences_have_the_spans_of_seqeval(scheme: str, data: st.DataObject) -> None:
    tags = data.draw(st.lists(st.sampled_from(alphabet(scheme, "XYZ")), max_size=15))
    assert well_formed_spans(tags, scheme) == by_seqeval(tags, scheme)


@pytest.mark.parametrize("scheme", [*SPAN_SCHEMES, IO])
def test_what_the_scheme_allows_has_the_spans_of_conlleval(scheme: str) -> None:
    for tags in product(alphabet(scheme, "XY"), repeat=3):
        if illegal_count([tags], scheme) == 0:
            assert well_formed_spans(tags, scheme) == span_tuples(tags), tags


@pytest.mark.parametrize(
    ("scheme", "tags", "spans"),
    [
        ("iob1", "I-X B-X I-X", [(0, 1, "X"), (1, 3, "X")]),
        ("iob1", "B-X I-X O", [(1, 2, "X")]),  # B behind O begins nothing
        ("iob1", "I-X B-X B-Y", [(0, 1, "X")]),  # nor does B-Y, and it closes no B-X
        ("iob2", "I-X B-X I-X I-Y", [(1, 3, "X")]),
        ("iob2", "B-X E-X I-X", [(0, 1, "X")]),  # E is foreign to IOB2 and in no span
        ("bmes", "B-X M-X E-X", [(0, 3, "X")]),
        ("bmes", "B-X I-X E-X", [(0, 3, "X")]),  # I and M stand for each other
        ("iobes", "B-X M-X E-X", [(0, 3, "X")]),
        ("iob2", "B-X M-X I-X", [(0, 1, "X")]),
        ("iobes", "B-X S-X E-X", [(1, 2, "X")]),
        ("iobes", "B-X E-Y S-X", [(2, 3, "X")]),
        ("iobes", "B-X I-X", []),  # without its end
        ("bilou", "B-X L-X U-X E-X", [(0, 2, "X"), (2, 3, "X")]),
        ("bilou", "B-X M-X L-X", []),
        ("iobes", "S S-_ S--X", [(0, 1, ""), (1, 2, "_"), (2, 3, "-X")]),  # labels as they are
        ("iob2", "", []),
    ],
)
def test_odd_sequences(scheme: str, tags: str, spans: list[tuple[int, int, str]]) -> None:
    assert well_formed_spans(tags.split(), scheme) == spans
