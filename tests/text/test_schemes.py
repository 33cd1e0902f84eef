"""Tag schemes: spans and transitions."""

from itertools import pairwise, product

import conlleval
import pytest
from hypothesis import given
from hypothesis import strategies as st
from says import refuses
from span_sentences import labels, sentences

from tagkit.text.records import Span
from tagkit.text.scheme_detection import illegal_count
from tagkit.text.scheme_names import SYNONYMS
from tagkit.text.schemes import (
    PREFIXES,
    SPAN_SCHEMES,
    begun_span,
    convert,
    from_spans,
    is_span_tag,
    join_tag,
    may_follow,
    normalize,
    split_tag,
    to_spans,
)


def alphabet(scheme: str, types: str = "XY") -> list[str]:
    return ["O", *(f"{prefix}-{label}" for prefix in sorted(PREFIXES[scheme]) for label in types)]


odd_tags = st.lists(
    st.sampled_from(["O", *(f"{prefix}-{label}" for prefix in "BIES" for label in "XY"), "B", "I"]),
    max_size=12,
)


@pytest.mark.parametrize("scheme", SPAN_SCHEMES)
@given(sentence=sentences())
def test_spans_written_as_tags_are_read_back_in_every_scheme(
    scheme: str, sentence: tuple[list[Span], int]
) -> None:
    spans, length = sentence
    tags = from_spans(spans, length, scheme)
    assert len(tags) == length
    assert to_spans(tags) == tuple(spans)


@pytest.mark.parametrize("scheme", SPAN_SCHEMES)
@given(sentence=sentences())
def test_tags_made_from_spans_are_legal_in_their_scheme(
    scheme: str, sentence: tuple[list[Span], int]
) -> None:
    spans, length = sentence
    assert illegal_count([from_spans(spans, length, scheme)], scheme) == 0


@given(
    sentence=sentences(), first=st.sampled_from(SPAN_SCHEMES), then=st.sampled_from(SPAN_SCHEMES)
)
def test_conversion_there_and_back_changes_nothing(
    sentence: tuple[list[Span], int], first: str, then: str
) -> None:
    tags = from_spans(*sentence, first)
    assert convert(convert(tags, then), first) == tags


@given(sentence=sentences(), scheme=st.sampled_from(SPAN_SCHEMES))
def test_the_order_in_which_spans_are_given_does_not_matter(
    sentence: tuple[list[Span], int], scheme: str
) -> None:
    spans, length = sentence
    assert from_spans(spans[::-1], length, scheme) == from_spans(spans, length, scheme)


@pytest.mark.parametrize("scheme", SPAN_SCHEMES)
def test_a_sequence_is_legal_when_its_spans_would_be_written_so(scheme: str) -> None:
    """Brute force: all sequences of up to 4 tags over two labels (3 where there are 9 tags)."""
    for length in range(1, 5 if len(alphabet(scheme)) < 9 else 4):
        for tags in product(alphabet(scheme), repeat=length):
            edges = ("O", *tags, "O")
            legal = all(may_follow(a, b, scheme) for a, b in pairwise(edges))
            assert legal == (convert(tags, scheme) == tags), tags


def test_bmes_is_iobes_with_m_inside() -> None:
    tags = ("B-X", "M-X", "E-X", "S-X")
    assert to_spans(tags) == (Span(0, 3, "X"), Span(3, 4, "X"))
    assert convert(tags, "iobes") == ("B-X", "I-X", "E-X", "S-X")
    assert convert(("B-X", "I-X", "E-X", "S-X"), "bmes") == tags
    assert not may_follow("B-X", "M-X", "iobes")
    assert not may_follow("B-X", "I-X", "bmes")


def test_a_prefix_of_another_scheme_may_stand_nowhere() -> None:
    for scheme, tag in [("iob2", "S-X"), ("iob1", "E-X"), ("iobes", "U-X"), ("bilou", "M-X")]:
        assert not may_follow("O", tag, scheme)
        assert not may_follow(tag, "O", scheme)


@given(st.text(max_size=4), st.text(max_size=4))
def test_among_plain_labels_everything_may_follow_everything(before: str, after: str) -> None:
    assert may_follow(before, after, "labels")


@given(odd_tags)
def test_spans_of_any_sequence_are_the_chunks_of_conlleval(tags: list[str]) -> None:
    assert [(span.start, span.end, span.label) for span in to_spans(tags)] == conlleval.chunks(tags)


def test_spans_of_all_short_sequences_are_the_chunks_of_conlleval() -> None:
    tags = ["O", *(f"{prefix}-{label}" for prefix in "BIES" for label in "XY")]
    for length in range(5):
        for sequence in product(tags, repeat=length):
            found = [(span.start, span.end, span.label) for span in to_spans(sequence)]
            assert found == conlleval.chunks(sequence), sequence


def test_steps_tell_how_many_spans_of_each_label_begin() -> None:
    tags = ["O", *(f"{prefix}-{label}" for prefix in "BIELU" for label in "XY"), "B", "I", "N"]
    for length in range(4):
        for sequence in product(tags, repeat=length):
            begun = [begun_span(*step) for step in pairwise(("O", *sequence, "O"))]
            found = [label for label in begun if label is not None]
            assert found == [span.label for span in to_spans(sequence)], sequence


@given(odd_tags)
def test_l_and_u_mean_what_e_and_s_mean(tags: list[str]) -> None:
    bilou = [tag.replace("E", "L", 1).replace("S", "U", 1) for tag in tags]
    assert to_spans(bilou) == to_spans(tags)
    assert [normalize(tag) for tag in bilou] == tags


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("O I-X I-X", [(1, 3, "X")]),  # I behind O
        ("B-X I-Y I-Y", [(0, 1, "X"), (1, 3, "Y")]),  # the label changes inside
        ("B-X I-X O I-X", [(0, 2, "X"), (3, 4, "X")]),
        ("S-X I-X E-X", [(0, 1, "X"), (1, 3, "X")]),  # S is closed
        ("B-X E-X E-X", [(0, 2, "X"), (2, 3, "X")]),  # E behind E
        ("B-X S-X I-X", [(0, 1, "X"), (1, 2, "X"), (2, 3, "X")]),
        ("E-X", [(0, 1, "X")]),
        ("B-X B-X", [(0, 1, "X"), (1, 2, "X")]),
        ("B I O B", [(0, 2, ""), (3, 4, "")]),
        ("B-LOC-GPE I-LOC-GPE I-LOC", [(0, 2, "LOC-GPE"), (2, 3, "LOC")]),
        ("", []),
    ],
)
def test_odd_sequences_have_the_spans_that_conlleval_counts(
    tags: str, spans: list[tuple[int, int, str]]
) -> None:
    assert to_spans(tags.split()) == tuple(Span(*span) for span in spans)


@pytest.mark.parametrize(
    ("scheme", "tags"),
    [
        ("iob1", "I-X I-X B-X I-Y O I-Y"),
        ("iob2", "B-X I-X B-X B-Y O B-Y"),
        ("iobes", "B-X E-X S-X S-Y O S-Y"),
        ("bilou", "B-X L-X U-X U-Y O U-Y"),
    ],
)
def test_each_scheme_writes_spans_in_its_own_way(scheme: str, tags: str) -> None:
    spans = [Span(0, 2, "X"), Span(2, 3, "X"), Span(3, 4, "Y"), Span(5, 6, "Y")]
    assert from_spans(spans, 6, scheme) == tuple(tags.split())


def test_a_span_of_three_words_has_an_inside() -> None:
    assert from_spans([Span(0, 3, "X")], 3, "iobes") == ("B-X", "I-X", "E-X")
    assert from_spans([Span(0, 3, "X")], 3, "bilou") == ("B-X", "I-X", "L-X")


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        (
            [Span(0, 2, "X"), Span(1, 3, "Y")],
            "span Span(start=1, end=3, label='Y', probability=None) overlaps "
            "Span(start=0, end=2, label='X', probability=None) or leaves a sentence of 3 words",
        ),
        (
            [Span(2, 4, "X")],
            "span Span(start=2, end=4, label='X', probability=None) overlaps None or leaves a "
            "sentence of 3 words",
        ),
        (
            [Span(1, 1, "X")],
            "span Span(start=1, end=1, label='X', probability=None) overlaps None or leaves a "
            "sentence of 3 words",
        ),
    ],
)
def test_spans_that_overlap_or_leave_the_sentence_are_refused(
    spans: list[Span], message: str
) -> None:
    with refuses(ValueError, "overlaps") as caught:
        from_spans(spans, 3, "iob2")
    assert str(caught.value) == message


def test_plain_labels_are_left_alone() -> None:
    assert convert(["NN", "B-X", "O"], "labels") == ("NN", "B-X", "O")


@given(st.sampled_from("BIES"), labels.filter(bool))
def test_a_tag_is_split_at_its_first_hyphen_only(prefix: str, label: str) -> None:
    tag = join_tag(prefix, label)
    assert tag == f"{prefix}-{label}"
    assert split_tag(tag) == (prefix, label)
    assert is_span_tag(tag)


def test_a_bare_prefix_has_an_empty_label() -> None:
    assert split_tag("B") == ("B", "")
    assert join_tag("B", "") == "B"
    assert split_tag("O") == ("O", "")


@pytest.mark.parametrize("tag", ["NN", "B_PER", "B-", "-PER", "O-X", "b-PER", "", "PER-B"])
def test_what_has_no_prefix_with_a_label_is_no_span_tag(tag: str) -> None:
    assert not is_span_tag(tag)


def test_synonyms_name_the_schemes_that_seqeval_names() -> None:
    assert SYNONYMS == {
        "iob": "iob1",
        "bio": "iob2",
        "bioes": "iobes",
        "biluo": "bilou",
        "bmeso": "bmes",
    }
