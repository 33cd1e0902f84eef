"""Whether names have one label within a document, counted by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagkit.text.records import Sentence
from tagkit.training.setup.name_labels import alike_in_documents


def corpus(*sentences: tuple[int | None, str]) -> list[Sentence]:
    """Sentences of documents; each word is written with its tag behind a slash."""
    pairs = [(document, [cell.split("/") for cell in text.split()]) for document, text in sentences]
    return [
        Sentence(
            tuple(word for word, _ in cells), tuple(tag for _, tag in cells), document=document
        )
        for document, cells in pairs
    ]


ROME, BANK = "Rome/B-LOC likes/O ROME/I-LOC", "Bank/B-ORG of/I-ORG Rome/I-ORG"


@pytest.mark.parametrize(
    ("sentences", "wanted"),
    [
        ([(1, ROME)] * 10, 1.0),  # 20 mentions of one label
        ([(1, ROME)] * 9, 0.0),  # too few
        ([(None, ROME)] * 10, 0.0),  # no document
        ([(-1, ROME)] * 10, 0.0),  # none that is marked
        ([(number, ROME) for number in range(10)], 0.0),  # of one sentence each
        ([(1, ROME)] * 8 + [(1, BANK)] * 4, 20 / 24),  # Rome 16 to 4, Bank 4 to 0
        ([(1, ROME)] * 8 + [(2, BANK)] * 2, 1.0),  # another document, where each is alike
        ([(1, "The/O cat/O")] * 20 + [(1, ROME)] * 10, 1.0),  # no span has "The"
        ([(1, "The/O cat/O")] * 20 + [(1, ROME)] * 10 + [(1, "The/B-X")], 40 / 41),
    ],
)
def test_the_share_is_of_mentions_with_the_most_frequent_label(
    sentences: list[tuple[int | None, str]], wanted: float
) -> None:
    assert alike_in_documents(corpus(*sentences)) == pytest.approx(wanted)


CELL = st.sampled_from(["Rome/B-LOC", "Rome/O", "rome/B-LOC", "Bank/B-ORG", "Bank/I-ORG", "a/O"])
TEXT = st.lists(CELL, min_size=1, max_size=6).map(" ".join)


@given(st.lists(st.tuples(st.integers(0, 2), TEXT), min_size=20, max_size=40))
def test_neither_prefixes_nor_the_order_of_documents_matter(texts: list[tuple[int, str]]) -> None:
    texts = sorted(texts, key=lambda pair: pair[0])
    found = alike_in_documents(corpus(*texts))
    assert 0 <= found <= 1
    other = [(document, text.replace("B-", "I-")) for document, text in reversed(texts)]
    assert alike_in_documents(corpus(*other)) == pytest.approx(found)
