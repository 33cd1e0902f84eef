"""Records of a program whose parts do not fit together are refused by their number."""

import pytest

from tagkit.corpus.answers import as_items
from tagkit.corpus.formats.options import Item
from tagkit.errors import DataError
from tagkit.evaluation.labelled import labelled_records
from tagkit.text.records import Document, Sentence, TextSpan

GOOD = [
    Sentence(("a", "b")),
    Sentence(("a", "b"), ("O", "B-X")),
    Sentence(("a", "b"), text="a b", places=((0, 1), (2, 3))),
    Document("abc", spans=(TextSpan("abc", 0, 3, "X"),)),
    Document("abc"),
]


def text_with(start: int, end: int) -> Document:
    return Document("abc", spans=(TextSpan("x", start, end, "X"),))


def test_records_that_fit_are_taken_as_they_are() -> None:
    assert list(as_items(GOOD, split=True)) == GOOD


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (Sentence(("a", "b"), ("O",)), "expected a tag for each of 2 words, found 1"),
        (Sentence(("a",), ("O", "O")), "expected a tag for each of 1 word, found 2"),
        (Sentence(("a", "b"), text="a b"),
         "expected a place in its text for each of 2 words, found 0"),
        (Sentence((1, 2)), r"expected words, found \(1, 2\)"),  # type: ignore[arg-type]
        (text_with(5, 9), "expected spans within a text of 3 characters, found one from 5 to 9"),
        (text_with(1, 4), "expected spans within a text of 3 characters, found one from 1 to 4"),
        (text_with(2, 1), "expected spans within a text of 3 characters, found one from 2 to 1"),
        (text_with(1, 1), "expected spans within a text of 3 characters, found one from 1 to 1"),
        (text_with(-1, 1), "expected spans within a text of 3 characters, found one from -1 to 1"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(record: Item, problem: str) -> None:
    with pytest.raises(DataError, match=f"^record 6: {problem}$"):
        list(as_items([*GOOD, record], split=True))
    with pytest.raises(DataError, match=f"^gold: record 6: {problem}$"):
        labelled_records([*GOOD, record], "gold")
