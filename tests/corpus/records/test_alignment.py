"""Spans of characters <-> tags of tokens."""

from collections.abc import Sequence

import pytest
from formats_help import documents, texts, words
from hypothesis import given
from hypothesis import strategies as st
from says import Says

from tagkit.config import DataConfig
from tagkit.corpus.records.alignment import overlaps, to_document, to_sentences, tokens_of
from tagkit.corpus.source.options import ReaderOptions
from tagkit.errors import FormatError, SpanErrors
from tagkit.text.records import Document, Sentence, Span, TextSpan
from tagkit.text.schemes import SPAN_SCHEMES, from_spans, to_spans


def document(text: str, *spans: tuple[int, int, str]) -> Document:
    found = tuple(TextSpan(text[a:b], a, b, label) for a, b, label in spans)
    return Document(text, found, source="a.ann", span_lines=tuple(range(1, len(found) + 1)))


def tagged(item: Document, how: str = "error", notes: list[str] | None = None) -> list[list[str]]:
    """word/tag of each token of each sentence."""
    reading = ReaderOptions(
        DataConfig(on_misaligned=how), note=(notes if notes is not None else []).append
    )
    return [
        [f"{word}/{tag}" for word, tag in zip(s.words, s.tags or (), strict=True)]
        for s in to_sentences([item], reading)
    ]


def test_spans_on_token_edges_become_iob2() -> None:
    item = document("From New York, to Oslo.", (5, 13, "LOC"), (18, 22, "LOC"))
    assert tagged(item) == [
        ["From/O", "New/B-LOC", "York/I-LOC", ",/O", "to/O", "Oslo/B-LOC", "./O"]
    ]


TEXT = "The Oslo-based firm"  # syntok: The, Oslo, -, based, firm


@pytest.mark.parametrize(
    ("how", "expected", "done"),
    [
        ("expand", ["The/B-X", "Oslo/I-X", "-/O", "based/O", "firm/O"],
         "; it becomes 'The Oslo' (expand)"),
        ("shrink", ["The/O", "Oslo/B-X", "-/O", "based/O", "firm/O"],
         "; it becomes 'Oslo' (shrink)"),
        ("drop", ["The/O", "Oslo/O", "-/O", "based/O", "firm/O"], "; dropped"),
    ],
)  # fmt: skip
def test_a_span_inside_a_token_is_settled_as_the_option_says_and_listed(
    how: str, expected: list[str], done: str
) -> None:
    notes: list[str] = []
    assert tagged(document(TEXT, (1, 8, "X")), how, notes) == [expected]
    assert notes == [Says("a.ann:1", "'he Oslo'", "1", "8", "'The'", "0", "3", "'Oslo'", "4", done)]


def test_of_many_spans_that_are_made_to_fit_ten_are_listed_and_the_others_counted() -> None:
    notes: list[str] = []
    items = [document(TEXT, (1, 8, "X"))] * 13
    reading = ReaderOptions(DataConfig(on_misaligned="expand"), note=notes.append)
    assert len(list(to_sentences(items, reading))) == 13
    assert len(notes) == 11
    assert notes[-1] == "a.ann: 3 more spans made to fit tokens, or dropped"


def test_every_misaligned_span_is_listed_by_default() -> None:
    with pytest.raises(SpanErrors) as caught:
        tagged(document(TEXT, (1, 3, "X"), (4, 8, "X"), (9, 11, "Y")))
    assert [problem.line for problem in caught.value.problems] == [1, 3]
    first, second, remedy = str(caught.value).split("\n")
    assert first == (Says("a.ann:1", "'he'", "1", "3", "'The'", "0"))
    assert Says("a.ann:3", "'ba'", "9", "11") == second
    assert "data.on_misaligned (expand, shrink or drop)" in remedy


def test_shrinking_to_nothing_and_white_space_alone_drop_a_span() -> None:
    notes: list[str] = []
    assert tagged(document(TEXT, (1, 3, "X"), (3, 4, "Y")), "shrink", notes) == [
        ["The/O", "Oslo/O", "-/O", "based/O", "firm/O"]
    ]
    assert notes[0].endswith("; dropped")
    assert notes[1] == Says("a.ann:2", "' '", "3", "4")


def test_two_spans_that_would_grow_into_one_token_do_not_both() -> None:
    notes: list[str] = []
    assert tagged(document("Osloborg", (0, 4, "X"), (4, 8, "Y")), "expand", notes) == [
        ["Osloborg/B-X"]
    ]
    assert [note.endswith("; dropped") for note in notes] == [False, True]


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        (
            [(0, 8, "LOC"), (4, 8, "ORG")],
            Says("a.ann:2", "'York'", "ORG", "4", "8", "'New York'", "LOC", "0"),
        ),
        (
            [(0, 8, "LOC"), (4, 12, "ORG")],
            Says("a.ann:2", "'York now'", "ORG", "4", "12", "'New York'", "LOC", "0", "8"),
        ),
        (
            [(0, 8, "LOC"), (0, 8, "ORG")],
            Says("a.ann:2", "'New York'", "ORG", "0", "8", "LOC"),
        ),
    ],
)  # fmt: skip
def test_overlapping_and_nested_spans_are_refused_with_both_named(
    spans: list[tuple[int, int, str]], message: str
) -> None:
    item = document("New York now", *spans)
    assert [str(problem) for problem in overlaps(item)] == [message]
    for how in ("error", "expand", "shrink", "drop"):
        with pytest.raises(SpanErrors) as caught:
            tagged(item, how)
        assert str(caught.value).split("\n") == [message, "Keep one of each two"]


CORRECT = (
    "Correct these spans, or let data.on_misaligned (expand, shrink or drop) settle all that do "
    "not fall on token edges; where words are longer than names, as in Korean, let tokens be "
    "characters (data.tokenizer=characters)"
)


@pytest.mark.parametrize(
    ("spans", "remedy"),
    [
        ([(1, 3, "X")], CORRECT),
        ([(4, 8, "X"), (4, 8, "Y")], "Keep one of each two"),
        (
            [(1, 3, "X"), (4, 8, "X"), (4, 8, "Y")],
            f"Keep one of each two that overlap. {CORRECT}",
        ),
    ],
)
def test_the_remedy_is_that_of_the_spans_that_are_wrong(
    spans: list[tuple[int, int, str]], remedy: str
) -> None:
    with pytest.raises(SpanErrors) as caught:
        tagged(document(TEXT, *spans))
    assert str(caught.value).split("\n")[-1] == remedy


def test_somebody_who_listens_is_told_every_problem_and_nothing_is_raised() -> None:
    told: list[FormatError] = []
    reading = ReaderOptions(DataConfig(), on_error=told.append)
    items = [document(TEXT, (1, 3, "X")), document("New York", (0, 8, "A"), (4, 8, "B"))]
    assert len(list(to_sentences(items, reading))) == 2
    assert [(error.source, error.line) for error in told] == [("a.ann", 1), ("a.ann", 2)]


def test_neither_a_line_nor_a_sentence_ends_inside_a_span() -> None:
    assert tagged(document("One. Two. Three.")) == [
        ["One/O", "./O"], ["Two/O", "./O"], ["Three/O", "./O"],
    ]  # fmt: skip
    assert tagged(document("One. Two. Three.", (0, 8, "X"))) == [
        ["One/B-X", "./I-X", "Two/I-X", "./O"], ["Three/O", "./O"],
    ]  # fmt: skip
    assert len(tagged(document("New\nYork\nnow"))) == 3
    assert tagged(document("New\nYork\nnow", (0, 8, "X"))) == [
        ["New/B-X", "York/I-X"], ["now/O"],
    ]  # fmt: skip


def test_a_text_with_a_class_is_one_sequence() -> None:
    item = Document("One. Two.\nThree.", labels=("pos",), line=7)
    (sentence,) = to_sentences([item], ReaderOptions(DataConfig()))
    assert sentence == Sentence(
        words=("One", ".", "Two", ".", "Three", "."),
        labels=("pos",),
        text=item.text,
        places=((0, 3), (3, 4), (5, 8), (8, 9), (10, 15), (15, 16)),
    )
    assert list(sentence.lines) == [7] * 6


def test_tokens_that_the_corpus_gives_are_taken() -> None:
    item = Document("ab cd", (TextSpan("b", 1, 2, "X"),), tokens=((0, 1), (1, 2), (3, 5)))
    assert tagged(item) == [["a/O", "b/B-X", "cd/O"]]


@given(item=documents(texts(), words(max_size=2)))
def test_texts_and_offsets_are_untouched_and_every_aligned_span_is_found(item: Document) -> None:
    reading = ReaderOptions(DataConfig(), on_error=lambda _: None)
    found = list(to_sentences([item], reading))
    assert "".join(sentence.text or "" for sentence in found) == item.text
    offset, spans = 0, []
    for sentence in found:
        assert sentence.text is not None
        for word, (start, end) in zip(sentence.words, sentence.places, strict=True):
            assert item.text[offset + start : offset + end] == word
        for span in to_spans(sentence.tags or ()):
            start, end = sentence.places[span.start][0], sentence.places[span.end - 1][1]
            spans.append((offset + start, offset + end, span.label))
        offset += len(sentence.text)
    edges = [place for places in tokens_of(item, "multilingual", whole=False) for place in places]
    starts, ends = {start for start, _ in edges}, {end for _, end in edges}
    assert spans == [
        (s.start, s.end, s.label) for s in item.spans or () if s.start in starts and s.end in ends
    ]


@given(
    st.data(),
    st.lists(words().filter(str.strip), min_size=1, max_size=5),
    st.sampled_from(SPAN_SCHEMES),
)
def test_a_sentence_is_the_same_behind_a_document(
    data: st.DataObject, found: Sequence[str], scheme: str
) -> None:
    edges = sorted(data.draw(st.sets(st.integers(0, len(found)))))
    spans = [Span(a, b, "X") for a, b in zip(edges[::2], edges[1::2], strict=False)]
    tags = from_spans(spans, len(found), scheme)
    item = to_document(Sentence(tuple(found), tags), plain=False)
    assert item.text == " ".join(found)
    (back,) = to_sentences([item], ReaderOptions(DataConfig()))
    assert back.words == tuple(found)
    assert to_spans(back.tags or ()) == tuple(spans)


def test_plain_labels_are_no_spans() -> None:
    item = to_document(Sentence(("a", "b"), ("DT", "NN")), plain=True)
    assert item.spans is None


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [("그는 서울에서 왔다.", 3, 5), ("הוא בירושלים", 5, 12), ("e\u0301tat", 0, 2)],
)
def test_with_characters_as_tokens_a_span_may_end_within_a_word(
    text: str, start: int, end: int
) -> None:
    item = document(text, (start, end, "LOC"))
    reading = ReaderOptions(DataConfig(tokenizer="characters"))
    (sentence,) = to_sentences([item], reading)
    assert to_document(sentence, plain=False).spans == item.spans
    if start:
        with pytest.raises(SpanErrors):
            list(to_sentences([item], ReaderOptions(DataConfig())))


def test_where_every_error_is_reported_what_to_do_is_noted_too() -> None:
    notes, errors = [], []
    reading = ReaderOptions(DataConfig(), note=notes.append, on_error=errors.append)
    assert len([*to_sentences([document(TEXT, (1, 3, "X"), (4, 8, "X"))], reading)]) == 1
    assert len(errors) == 1
    assert notes == [CORRECT]
