"""Long sentences: windows that cover, and joining that loses and breaks nothing."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st

from tagkit.models.tagging.tagger import TagTask
from tagkit.text.records import Prediction, Sentence, Span
from tagkit.text.schemes import from_spans, to_spans
from tagkit.text.windows import cut, divides_any, join, windows, windows_between_spans
from tagkit.training.trainer import train


def test_windows_of_a_long_sentence() -> None:
    assert windows(512, 512) == [(0, 512)]
    assert windows(513, 512) == [(0, 512), (1, 513)]
    assert windows(1000, 512) == [(0, 512), (448, 960), (488, 1000)]
    assert windows(10, 4) == [(0, 4), (3, 7), (6, 10)]


@given(st.integers(1, 2000), st.integers(2, 600))
def test_windows_cover_every_word_and_overlap(length: int, size: int) -> None:
    found = windows(length, size)
    assert (found[0][0], found[-1][1]) == (0, length)
    assert all(end - start == min(size, length) for start, end in found)
    for (a, b), (c, d) in pairwise(found):
        assert a < c
        assert b < d
        assert b - c >= min(64, size // 4)


def spans_at(data: st.DataObject, length: int, longest: int) -> list[Span]:
    spans, at = [], 0
    while at < length:
        at += data.draw(st.integers(0, 3))
        end = min(length, at + data.draw(st.integers(1, longest)))
        if at < end:
            spans.append(Span(at, end, data.draw(st.sampled_from("XY"))))
        at = end
    return spans


@given(st.data(), st.integers(1, 120), st.integers(16, 40))
def test_windows_to_learn_from_cut_no_span_that_fits(
    data: st.DataObject, length: int, size: int
) -> None:
    spans = spans_at(data, length, 2)
    found = windows_between_spans(from_spans(spans, length, "iobes"), size)
    edges = {edge for window in found for edge in window}
    assert not any(span.start < edge < span.end for span in spans for edge in edges)
    assert sorted({at for a, b in found for at in range(a, b)}) == list(range(length))
    assert all(b - a <= size for a, b in found)


def test_a_span_longer_than_what_windows_share_is_cut() -> None:
    tags = ("B-X", *["I-X"] * 19)
    assert windows_between_spans(tags, 8) == windows(20, 8)


def test_a_window_has_its_words_tags_and_features() -> None:
    sentence = Sentence(("a", "b", "c"), ("X", "Y", "Z"), (("1", "2", "3"),), ("l",))
    assert cut(sentence, (1, 3)) == Sentence(("b", "c"), ("Y", "Z"), (("2", "3"),), ("l",))


def test_a_window_of_all_words_keeps_its_document_and_a_part_of_them_does_not() -> None:
    sentence = Sentence(("a", "b"), document=3)
    assert [cut(sentence, (0, end)).document for end in (2, 1)] == [3, None]


# Planned are (0, 8), (6, 14) and (8, 16).
@pytest.mark.parametrize(
    ("span", "expected"),
    [
        ((7, 9), [(0, 7), (6, 14), (9, 16)]),  # both edges move by one word
        ((5, 9), [(0, 8), (6, 14), (8, 16)]),  # words 5 would be left out
        ((6, 8), [(0, 8), (6, 14), (8, 16)]),  # it ends where a window does
    ],
)
def test_an_edge_moves_out_of_a_span_by_as_little_as_it_takes(
    span: tuple[int, int], expected: list[tuple[int, int]]
) -> None:
    tags = from_spans([Span(*span, "X")], 16, "iobes")
    assert windows(16, 8) == [(0, 8), (6, 14), (8, 16)]
    assert windows_between_spans(tags, 8) == expected


def predicted(words: list[str], spans: list[Span], sure: float | None = None) -> Prediction:
    tags = from_spans(spans, len(words), "iob2")
    probabilities = None if sure is None else (sure,) * len(words)
    return Prediction(tuple(words), tags, tuple(spans), probabilities)


@given(st.data(), st.integers(1, 100), st.integers(8, 40))
def test_windows_that_agree_are_joined_to_the_whole(
    data: st.DataObject, length: int, size: int
) -> None:
    words = [str(number) for number in range(length)]
    spans = spans_at(data, length, 2)
    parts = []
    for start, end in windows(length, size):
        # A span at a window's edge is seen in part by it, as a model would.
        seen = [
            Span(max(s.start, start) - start, min(s.end, end) - start, s.label)
            for s in spans
            if s.start < end and s.end > start
        ]
        parts.append((start, predicted(words[start:end], seen)))
    joined = join(tuple(words), parts, "iob2")
    assert joined.words == tuple(words)
    assert joined.spans == tuple(spans)
    assert joined.tags == from_spans(spans, length, "iob2")


@given(st.data(), st.integers(9, 100), st.integers(8, 40))
def test_whatever_windows_say_the_whole_is_well_formed(
    data: st.DataObject, length: int, size: int
) -> None:
    words = tuple(str(number) for number in range(length))
    parts = [
        (a, predicted(list(words[a:b]), spans_at(data, b - a, b - a), a / 1000))
        for a, b in windows(length, size)
    ]
    joined = join(words, parts, "iob2")
    assert len(joined.tags) == length
    assert to_spans(joined.tags) == joined.spans
    assert len(joined.probabilities or ()) == length
    assert list(joined.probabilities or ()) == sorted(joined.probabilities or ())


def test_the_seam_is_near_the_middle_and_in_no_span() -> None:
    words = [str(number) for number in range(14)]
    left = predicted(words[:10], [Span(7, 9, "L")])
    right = predicted(words[6:], [Span(0, 1, "R"), Span(6, 7, "R")])
    # Shared are words 6 to 9; the middle, 8, is inside the left window's span: the seam is at 7.
    joined = join(tuple(words), [(0, left), (6, right)], "iob2")
    assert joined.spans == (Span(12, 13, "R"),)
    right = predicted(words[6:], [Span(1, 2, "R"), Span(6, 7, "R")])
    joined = join(tuple(words), [(0, left), (6, right)], "iob2")
    assert joined.spans == (Span(7, 8, "R"), Span(12, 13, "R"))


def test_where_every_place_is_in_a_span_it_goes_to_the_window_where_it_begins() -> None:
    words = [str(number) for number in range(14)]
    left = predicted(words[:10], [Span(2, 10, "L")])
    right = predicted(words[6:], [Span(0, 6, "R"), Span(6, 7, "R")])
    joined = join(tuple(words), [(0, left), (6, right)], "iob2")
    assert joined.spans == (Span(2, 10, "L"), Span(12, 13, "R"))


def test_plain_labels_are_cut_in_the_middle() -> None:
    left, right = Prediction(("",) * 10, ("L",) * 10), Prediction(("",) * 8, ("R",) * 8)
    assert join(("",) * 14, [(0, left), (6, right)], "labels").tags == ("L",) * 8 + ("R",) * 6


@pytest.mark.parametrize("size", [2, 3])
def test_the_smallest_windows_join(size: int) -> None:
    parts = [(a, predicted(["w"] * (b - a), [])) for a, b in windows(7, size)]
    assert join(("w",) * 7, parts, "iob2").tags == ("O",) * 7


def by_windows(
    length: int, size: int, spans: list[list[Span]], scheme: str
) -> list[tuple[int, Prediction]]:
    """What windows say; a probability is number of window + place / 1000, so that it is known."""
    parts = []
    for number, (start, end) in enumerate(windows(length, size)):
        tags = from_spans(spans[number], end - start, "iob2")
        if scheme == "labels":
            tags = tuple(f"{number} {at}" for at in range(start, end))
        probabilities = tuple(number + at / 1000 for at in range(start, end))
        words = tuple(f"w{at}" for at in range(start, end))
        found = () if scheme == "labels" else tuple(spans[number])
        parts.append((start, Prediction(words, tags, found, probabilities)))
    return parts


def check_joined(length: int, parts: list[tuple[int, Prediction]], scheme: str) -> Prediction:
    words = tuple(f"w{at}" for at in range(length))
    joined = join(words, parts, scheme)
    assert joined.words == words
    assert len(joined.tags) == length
    probabilities = joined.probabilities or ()
    assert [round(p % 1 * 1000) for p in probabilities] == list(range(length))
    owners = [int(p) for p in probabilities]
    assert owners == sorted(owners)
    if scheme == "labels":
        assert [int(tag.split()[0]) for tag in joined.tags] == owners
        assert [int(tag.split()[1]) for tag in joined.tags] == list(range(length))
    else:
        assert joined.tags == from_spans(joined.spans, length, scheme)
        for span in joined.spans:  # said by the window whose probabilities they have
            (owner,) = set(owners[span.start : span.end])
            start, part = parts[owner]
            assert Span(span.start - start, span.end - start, span.label) in part.spans
    return joined


# The last window begins one word behind the one before, and a span covers the middle.
CROSSING = [[Span(3, 11, "X")], [Span(2, 4, "X")], [Span(0, 11, "X")]]


def test_the_second_seam_is_not_to_the_left_of_the_first() -> None:
    assert windows(21, 11) == [(0, 11), (9, 20), (10, 21)]
    joined = check_joined(21, by_windows(21, 11, CROSSING, "iob2"), "iob2")
    assert joined.spans == (Span(3, 11, "X"), Span(11, 13, "X"))


@pytest.mark.parametrize("scheme", ["iob1", "iob2", "iobes", "bilou", "labels"])
@given(st.data(), st.integers(1, 90), st.integers(2, 40))
def test_words_tags_and_probabilities_agree_whatever_the_windows_say(
    scheme: str, data: st.DataObject, length: int, size: int
) -> None:
    spans = [spans_at(data, end - start, size) for start, end in windows(length, size)]
    check_joined(length, by_windows(length, size, spans, scheme), scheme)


class Windows(TagTask):
    """A task whose predictions for windows are given."""

    def __init__(self, parts: list[tuple[int, Prediction]]) -> None:
        self.parts = [part for _, part in parts]

    def predict(self, _: object, sentences: Sequence[Sentence], *__: object) -> list[Prediction]:
        assert [s.words for s in sentences] == [part.words for part in self.parts]
        return self.parts


def test_a_long_sentence_is_predicted_with_probabilities_where_seams_would_cross(
    tmp_path: Path,
) -> None:
    config = tiny.config(tmp_path, "train.max_epochs=1")
    predictor = train(config).predictor
    predictor.task = Windows(by_windows(21, 11, CROSSING, "iob2"))
    (found,) = predictor.predict([[f"w{at}" for at in range(21)]], confidence=True, max_length=11)
    assert [token.text for token in found.tokens] == [f"w{at}" for at in range(21)]
    probabilities = [token.probability for token in found.tokens]
    assert [round((p or 0) % 1 * 1000) for p in probabilities] == list(range(21))


_spans = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 8)).map(lambda ends: (min(ends), max(ends)))
)


@given(_spans)
def test_a_cut_divides_a_span_that_begins_before_it_and_ends_behind_it(
    spans: list[tuple[int, int]],
) -> None:
    divides = divides_any(spans)
    for at in range(10):
        assert divides(at) == any(start < at < end for start, end in spans)
