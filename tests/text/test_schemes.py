"""Tag schemes: spans, transitions, detection."""

from itertools import pairwise, product

import conlleval
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagkit.errors import DataError
from tagkit.text.records import Span
from tagkit.text.schemes import PREFIXES, SPAN_SCHEMES, SYNONYMS, convert, from_spans, is_span_tag, join_tag, may_follow, normalize, split_tag, to_spans
from tagkit.text.scheme_detection import Detection, detect, illegal_count

# Labels with hyphens, the empty one of bare prefixes, and any other text.
labels = st.sampled_from(["PER", "LOC", "", "LOC-GPE", "-", "O"]) | st.text(max_size=3)


@st.composite
def sentences(draw: st.DrawFn) -> tuple[list[Span], int]:
    """Spans that do not overlap, neighbours that touch among them, and the sentence's length."""
    spans, end = [], 0
    for gap, width, label in draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4), labels), max_size=6)
    ):
        spans.append(Span(end + gap, end + gap + width, label))
        end += gap + width
    return spans, end + draw(st.integers(0, 2))


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


def test_m_of_bmes_is_the_i_of_iobes() -> None:
    assert may_follow("B-X", "M-X", "iobes")
    assert may_follow("M-X", "E-X", "iobes")
    assert not may_follow("O", "M-X", "iobes")
    assert to_spans(["B-X", "M-X", "E-X", "S-X"]) == (Span(0, 3, "X"), Span(3, 4, "X"))


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
    with pytest.raises(ValueError, match="overlaps") as caught:
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


@pytest.mark.parametrize("scheme", SPAN_SCHEMES)
def test_a_scheme_is_recognised_where_only_it_fits(scheme: str) -> None:
    spans = [Span(0, 1, "X"), Span(1, 4, "X"), Span(5, 6, "Y"), Span(6, 8, "X")]
    found = detect([from_spans(spans, 9, scheme)])
    assert found == Detection(scheme, 10, 0)


@given(st.lists(sentences(), min_size=1, max_size=4), st.sampled_from(SPAN_SCHEMES))
def test_the_recognised_scheme_forbids_nothing_in_a_well_formed_corpus(
    corpus: list[tuple[list[Span], int]], scheme: str
) -> None:
    tags = [from_spans([s for s in spans if s.label], length, scheme) for spans, length in corpus]
    found = detect(tags) if any(tags) else Detection("iob2", 0, 0)
    assert found.illegal == 0


@pytest.mark.parametrize("last", ["S-X", "I-X"])
def test_the_scheme_is_judged_over_the_whole_file(last: str) -> None:
    start = [["B-X", "O"]] * 1000  # fits IOB2; so far
    found = detect([*start, [last, "O"], ["B-X", "E-X"], ["I-X", "O"]])
    by_hand = {
        scheme: illegal_count([*start, [last, "O"], ["B-X", "E-X"], ["I-X", "O"]], scheme)
        for scheme in SPAN_SCHEMES
    }
    assert found.illegal == min(by_hand.values())
    ending = [["B-X", "O"]] * 3 + [["B-X", "E-X"]] * 1000
    assert detect(ending) == Detection("iobes", 3 * 1003, 3)


def test_where_several_schemes_fit_iob2_is_taken() -> None:
    assert detect([["B-X", "I-X", "O", "B-Y"]]).scheme == "iob2"
    assert detect([["O", "O"]]) == Detection("iob2", 3, 0)


def test_iob1_is_told_from_iob2_by_an_i_that_begins_a_span() -> None:
    tags = [["I-X", "O"], ["I-X", "B-X", "O"]]
    assert detect(tags) == Detection("iob1", 7, 0)


def test_a_few_wrong_tags_are_counted_not_fatal() -> None:
    tags = [["B-X", "I-X", "O"]] * 9 + [["O", "I-X", "O"]]
    found = detect(tags)
    assert found == Detection("iob2", 40, 1)
    assert str(found) == "IOB2 (1 of 40 transitions are illegal)"
    assert str(Detection("iob2", 4000, 1200)) == "IOB2 (1,200 of 4,000 transitions are illegal)"
    assert str(Detection("bilou", 40, 0)) == "BILOU"


def test_bare_prefixes_are_a_scheme_of_one_label() -> None:
    assert detect([["B", "M", "E", "S"], ["S", "B", "E"]]).scheme == "iobes"
    assert detect([["B", "I", "O"]]).scheme == "iob2"


@pytest.mark.parametrize(
    "tags", [["DT", "NN", "VBZ"], ["NN", "B-X", "NN"], ["NN", "O"], ["S", "E"], ["U"]]
)
def test_tags_without_prefixes_are_plain_labels(tags: list[str]) -> None:
    assert detect([tags]) == Detection("labels", len(tags) + 1, 0)


def test_a_stray_tag_among_those_of_spans_is_named() -> None:
    with pytest.raises(DataError) as caught:
        detect([["B-PER", "I-PER", "O"]] * 1000 + [["B_PER", "B-", "O"]])
    assert str(caught.value) == (
        "expected O or a tag such as B-LABEL, as 2,000 tags of the file are, found 'B-', 'B_PER' "
        "(2 in all). Correct that, or set data.scheme to 'labels' for plain labels"
    )


def test_no_sequences_at_all_are_plain_labels_with_nothing_to_count() -> None:
    assert detect([]) == Detection("labels", 0, 0)


def test_synonyms_name_the_schemes_that_seqeval_names() -> None:
    assert SYNONYMS == {
        "iob": "iob1",
        "bio": "iob2",
        "bioes": "iobes",
        "bmes": "iobes",
        "biluo": "bilou",
    }


@pytest.mark.parametrize(
    ("file", "scheme", "illegal", "spans"),
    [
        ("conll2000/train.txt", "iob2", 0, 106_978),
        ("conll2000/dev.txt", "iob2", 0, 22_207),
        ("conll2000/test.txt", "iob2", 0, 23_852),
        ("conll2002/ned.train", "iob2", 0, 13_344),
        ("conll2002/ned.testa", "iob2", 0, 2_616),
        ("conll2002/ned.testb", "iob2", 0, 3_941),
        ("conll2003/eng.train", "iob1", 0, 23_499),
        ("conll2003/eng.testa", "iob1", 0, 5_942),
        ("conll2003/eng.testb", "iob1", 0, 5_648),
    ],
)
def test_real_tags_are_recognised_and_their_spans_counted(
    corpora, file: str, scheme: str, illegal: int, spans: int
) -> None:
    text = (corpora / file).read_bytes().decode("latin-1")
    tags = [
        [line.split(" ")[-1] for line in block.split("\n") if not line.startswith("-DOCSTART-")]
        for block in text.split("\n\n")
        if block.strip()
    ]
    tags = [[tag for tag in sequence if tag] for sequence in tags]
    found = detect(tags)
    assert (found.scheme, found.illegal) == (scheme, illegal)
    assert sum(len(to_spans(sequence)) for sequence in tags) == spans
    for target in SPAN_SCHEMES:
        assert all(to_spans(convert(t, target)) == to_spans(t) for t in tags[:2000])
