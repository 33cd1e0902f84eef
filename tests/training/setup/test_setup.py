"""What a model is before its first step."""

from pathlib import Path

import pytest
import tiny
import torch
from hypothesis import given
from hypothesis import strategies as st

from tagkit.text.records import Sentence
from tagkit.training.setup.setup import alike_in_documents, prepare


@pytest.mark.parametrize("members", [1, 2])
def test_a_trained_vector_begins_at_zero_beside_a_pretrained_one_of_any_spelling(
    tmp_path: Path, members: int
) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("Oslo 1 2\nROME 3 4\nlima 5 6\n1912 7 8\n", encoding="utf-8")
    options = f"embeddings.vectors={path}", f"encoder.ensemble_size={members}"
    config = tiny.config(tmp_path, *options)
    with (tmp_path / "train.conll").open("a") as file:
        file.write("1912\tO\n1913\tO\n\n" * 3)
    prepared = prepare(config, torch.device("cpu"))
    vocabulary = prepared.vocabulary
    for member in prepared.model.members:
        lengths = member.embed.words.trained.weight.detach().norm(dim=1)
        # Of "rome" the corpus has no spelling in capitals; of the two numbers, which are learnt as
        # one, the second has no vector.
        zero = {word: float(lengths[vocabulary.word_id(word)]) == 0 for word in vocabulary.words}
        assert {word for word in zero if zero[word]} == {"oslo", "lima"}
        assert lengths[1] > 0  # of unknown words
    assert float(lengths[vocabulary.word_id("1912")]) > 0
    words = len({line.split("\t")[0] for each in tiny.lines(80, 1) for line in each})
    assert prepared.vectors == (3, words + 2)


def test_a_word_that_is_learnt_in_its_own_case_has_the_vector_of_that(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("Oslo 1 2\nlima 3 4\n", encoding="utf-8")
    options = f"embeddings.vectors={path}", "embeddings.lowercase=false"
    config = tiny.config(tmp_path, *options)
    with (tmp_path / "train.conll").open("a") as file:
        file.write("oslo\tO\nlima\tO\n\n" * 3)
    prepared = prepare(config, torch.device("cpu"))
    lengths = prepared.model.embed.words.trained.weight.detach().norm(dim=1)
    vocabulary = prepared.vocabulary
    at_zero = {word for word in vocabulary.words if lengths[vocabulary.word_id(word)] == 0}
    # "Lima" is looked up in lower case; "oslo" in its own alone.
    assert at_zero == {"Oslo", "Lima", "lima"}


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
