"""Where the parts of documents begin."""

import pickle

from hypothesis import given
from hypothesis import strategies as st

from tagkit.text.documents import DocumentParts, begins_marked, parts_of, whole_documents
from tagkit.text.records import Sentence, new_document, unmarked_document
from tagkit.text.windows import cut


def sentences(*pairs: tuple[int | None, int]) -> list[Sentence]:
    """Sentences of these documents and lengths."""
    return [Sentence(("w",) * length, document=document) for document, length in pairs]


def test_neighbours_of_one_document_are_one_part_up_to_the_limit() -> None:
    found = sentences((1, 2), (1, 3), (2, 1), (None, 1), (None, 1), (2, 4), (2, 1), (2, 5), (2, 9))
    assert parts_of(found, 6) == [0, 0, 1, 2, 3, 4, 4, 5, 6]
    assert parts_of(found, 10) == [0, 0, 1, 2, 3, 4, 4, 4, 5]
    assert parts_of(found, 1) == list(range(9))


def test_what_nothing_marks_may_be_no_document() -> None:
    found = sentences((-4, 1), (-4, 1), (5, 1), (5, 1), (-6, 1), (0, 1), (0, 1))
    assert parts_of(found, 9) == [0, 0, 1, 1, 2, 3, 3]
    assert parts_of(found, 9, marked_only=True) == [0, 1, 2, 2, 3, 4, 4]
    assert new_document() > 0 > unmarked_document()


def test_a_document_begins_where_its_mark_stands() -> None:
    found = sentences((-4, 1), (-4, 1), (5, 1), (5, 1), (6, 1), (None, 1), (6, 1))
    begins = [
        begins_marked(one, before) for one, before in zip(found, [None, *found], strict=False)
    ]
    assert begins == [False, False, True, False, True, False, True]
    assert begins_marked(found[2], None)


def test_parts_say_whether_one_was_cut_and_may_go_on() -> None:
    parts = DocumentParts(6, max_length=4)
    one, long, last = sentences((1, 3), (1, 5), (1, 3))
    assert (parts.begins(one), parts.may_continue, parts.cut) == (True, True, False)
    assert (parts.begins(long), parts.may_continue) == (True, False)  # it is read in windows
    assert (parts.begins(last), parts.begins(last), parts.cut) == (True, False, False)
    assert (parts.begins(last), parts.cut) == (True, True)
    parts.end()
    assert (parts.begins(last), parts.may_continue) == (True, True)


def test_the_number_of_a_document_is_no_part_of_what_a_sentence_says() -> None:
    first, other = new_document(), new_document()
    assert first != other
    one, same = Sentence(("a", "b"), document=first), Sentence(("a", "b"), document=other)
    assert one == same
    assert hash(one) == hash(same)
    assert repr(one) == repr(Sentence(("a", "b")))
    assert one.to_dict() == Sentence(("a", "b")).to_dict()
    assert "document" not in one.to_dict()
    assert pickle.loads(pickle.dumps(one)).document == first  # noqa: S301 - what was dumped here


def test_a_window_of_a_sentence_is_no_part_of_a_document() -> None:
    whole = Sentence(("a", "b", "c"), document=5)
    assert cut(whole, (0, 3)).document == 5
    assert cut(whole, (0, 2)).document is None


@given(
    st.lists(st.tuples(st.sampled_from([None, -2, -1, 1, 2]), st.integers(1, 3)), min_size=1),
    st.sets(st.integers(0, 30)),
    st.integers(1, 8),
    st.booleans(),
)
def test_whole_documents_have_the_parts_that_they_have_among_all(
    pairs: list[tuple[int | None, int]], numbers: set[int], limit: int, marked_only: bool
) -> None:
    given_ones = sentences(*pairs)
    chosen = {number for number in numbers if number < len(given_ones)}
    found = whole_documents(given_ones, chosen, marked_only=marked_only)
    assert found == sorted({*found})
    assert chosen <= {*found}

    def parts(of: list[int]) -> list[tuple[int, ...]]:
        """The sentences of each part, of those that are looked at."""
        labels = parts_of([given_ones[n] for n in of], limit, marked_only=marked_only)
        return [
            tuple(n for n, label in zip(of, labels, strict=True) if label == part)
            for part in sorted({*labels})
        ]

    among_all = [part for part in parts([*range(len(given_ones))]) if chosen.intersection(part)]
    assert [part for part in parts(found) if chosen.intersection(part)] == among_all


def test_of_documents_none_but_those_of_the_chosen_are_read() -> None:
    given_ones = sentences((1, 2), (1, 2), (2, 2), (None, 1), (None, 1), (3, 1), (-4, 1), (-4, 1))
    assert whole_documents(given_ones, [1, 4]) == [0, 1, 4]
    assert whole_documents(given_ones, [7]) == [6, 7]
    assert whole_documents(given_ones, [7], marked_only=True) == [7]
    assert whole_documents(sentences((1, 2), (2, 2), (1, 2)), [0, 2]) == [0, 1, 2]
