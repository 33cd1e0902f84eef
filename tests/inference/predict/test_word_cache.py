"""The words that a model has met: the same answers, bounded memory."""

from pathlib import Path

import pytest
import tiny
import torch
from hypothesis import given
from hypothesis import strategies as st

import tagkit
from tagkit.inference.predict import word_cache
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.predict.word_cache import WordCache
from tagkit.text.records import Sentence
from tagkit.training.trainer import train


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words")
    options = ["data.feature_columns=[1]", "data.tag_column=-1"]
    return train(tiny.config(folder, *options, columns=3)).folder


@pytest.fixture(scope="module")
def predictor(folder: Path) -> Predictor:
    return tagkit.load(folder, device="cpu")


def sentence(*words: str) -> Sentence:
    return Sentence(words, features=(tuple("UP" if w[0].isupper() else "LOW" for w in words),))


WORDS = st.sampled_from(["Ada", "Ben", "visits", "Rome", "New", "York", ".", "xyzzy", "é", "Oslo"])
SENTENCES = st.lists(
    st.lists(WORDS, min_size=1, max_size=6).map(lambda words: sentence(*words)),
    min_size=1,
    max_size=40,
)


@given(SENTENCES, st.sampled_from([1, 7, 64]))
def test_the_table_and_the_layers_give_the_same_answers(
    predictor: Predictor, given: list[Sentence], size: int
) -> None:
    by_rows = predictor.annotate(given, batch_size=size, confidence=True)
    for one, found in zip(given, by_rows, strict=True):  # alone: in NumPy
        (alone,) = predictor.annotate([one], batch_size=1, confidence=True)
        assert found.tags == alone.tags
        assert found.probabilities == pytest.approx(alone.probabilities, abs=1e-5)


def test_a_word_keeps_its_row_and_a_full_table_begins_anew(
    predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = WordCache(predictor.model, predictor.vocabulary, torch.device("cpu"), "fp32")
    width = table.table().readers[0].outputs + predictor.model.embed.vector_size
    width *= len(predictor.model.members)
    feature_rows = table.feature_rows()
    assert feature_rows is not None  # a CRF of word features was best on dev
    monkeypatch.setattr(word_cache, "_MAX_BYTES", (4 * width + feature_rows.row_bytes) * 5)
    assert table.rows(["Ada", "Rome"]).tolist() == [0, 1]
    assert table.rows(["Rome", "visits", "Ada"]).tolist() == [1, 2, 0]
    kept = table.table().vectors[:3].clone()
    assert table.rows(["Ben", "Oslo"]).tolist() == [3, 4]
    assert torch.equal(table.table().vectors[:3], kept)
    assert table.rows(["Rome", "York"]).tolist() == [0, 1]  # a sixth word
    assert torch.equal(table.table().vectors[0], kept[1])
    many = [f"w{n}" for n in range(3000)]  # more than fit, all at once
    assert table.rows(many).tolist() == list(range(3000))
    assert table.rows(["Ada"]).tolist() == [0]


def test_answers_are_the_same_when_the_table_is_too_small(
    predictor: Predictor, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [sentence(*(line.split("\t")[0] for line in rows)) for rows in tiny.lines(60, 5)]
    expected = predictor.annotate(lines, batch_size=16, confidence=False)
    monkeypatch.setattr(word_cache, "_MAX_BYTES", 1)
    small = tagkit.load(folder, device="cpu")
    for start in range(0, 60, 20):
        found = small.annotate(lines[start : start + 20], batch_size=16, confidence=False)
        assert found == expected[start : start + 20]
