"""The words that a model has met: the same answers, bounded memory."""

from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from cell_options import CELL_OPTIONS
from hypothesis import given
from hypothesis import strategies as st

import tagkit
from tagkit.features.batching.encoding import encode_words
from tagkit.features.vocabulary import Vocabulary
from tagkit.inference.predict import sentence_batches
from tagkit.inference.predict.predictor import Predictor
from tagkit.inference.predict.sentence_batches import WordCache, WordReader
from tagkit.models.base.device import to_tensors
from tagkit.nn.layers.embedding import AffixEmbedding, CharEncoder, TokenEmbedding, WordEmbedding
from tagkit.nn.layers.inference import layer_reader
from tagkit.nn.layers.recurrent_layer import RecurrentLayer
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
    monkeypatch.setattr(sentence_batches, "_MAX_BYTES", (4 * width + feature_rows.row_bytes) * 5)
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
    monkeypatch.setattr(sentence_batches, "_MAX_BYTES", 1)
    small = tagkit.load(folder, device="cpu")
    for start in range(0, 60, 20):
        found = small.annotate(lines[start : start + 20], batch_size=16, confidence=False)
        assert found == expected[start : start + 20]


READ_WORDS = ["Ada", "bringing", "Rome", "sing", "x", "unseen!", "é"]
VOCABULARY = Vocabulary(
    words=("ada", "rome"), vector_words=("Rome", "sing"), only_vectors=False,
    chars=tuple("Adabring"), affixes=("-g", "-ing", "=xx", "=x"), tags=(), classes=(), features=(),
    lowercase=True, normalize_digits=True,
)  # fmt: skip


def embedding(*, chars: bool, affixes: bool, vectors: int) -> TokenEmbedding:
    torch.manual_seed(1)
    spelt = (
        CharEncoder(chars=12, dim=4, cell="lstm", options=CELL_OPTIONS, hidden=3) if chars else None
    )
    embed = TokenEmbedding(
        words=WordEmbedding(words=4, dim=5, vectors=vectors),
        chars=spelt,
        affixes=AffixEmbedding(affixes=5, dim=2) if affixes else None,
        features=[],
        dim=2,
    )
    for parameter in embed.parameters():  # rows of padding too, which must not be summed
        torch.nn.init.normal_(parameter)
    table = torch.arange(5.0 * (vectors + 1)).view(vectors + 1, 5)
    table[0] = 0
    embed.words.vectors = table
    return embed.eval()


@pytest.mark.parametrize("vectors", [0, 2])
@pytest.mark.parametrize("affixes", [True, False])
@pytest.mark.parametrize("chars", [True, False])
@torch.inference_mode()
def test_vectors_and_projections_are_those_of_torch(
    chars: bool, affixes: bool, vectors: int
) -> None:
    embed = embedding(chars=chars, affixes=affixes, vectors=vectors)
    layer = RecurrentLayer(
        cell="lstm",
        options=CELL_OPTIONS,
        inputs=embed.outputs,
        hidden=3,
        bidirectional=True,
        merge="concat",
        segment=0,
    )
    inputs = layer_reader(layer, "fp32")
    known = VOCABULARY if vectors else Vocabulary(**{**VOCABULARY.to_dict(), "vector_words": ()})
    words = encode_words(READ_WORDS, known, chars=chars)
    assert words.affix_ids.tolist()[1].count(0) == 5  # "-g", "-ing" and "=xx" are known
    found = torch.empty(len(READ_WORDS), embed.outputs)
    projected = torch.empty(len(READ_WORDS), inputs.outputs)
    reader = WordReader(embed, embed.chars.reader() if embed.chars else None, inputs)
    reader.read(words, found, projected)
    arrays, position = words.words(np.arange(len(READ_WORDS)))
    batch = to_tensors(arrays)
    by_length = embed.vectors(
        batch.word_ids, batch.vector_rows, batch.char_ids, batch.affix_ids, None
    )
    torch.testing.assert_close(found, by_length[torch.from_numpy(position)])
    torch.testing.assert_close(projected, inputs.project(found, 0))


@torch.inference_mode()
def test_weights_far_out_of_range_overflow_as_those_of_torch_do() -> None:
    layer = RecurrentLayer(
        cell="lstm", options=CELL_OPTIONS, inputs=4, hidden=3, bidirectional=False, merge="concat",
        segment=0,
    )  # fmt: skip
    for parameter in layer.parameters():
        parameter.fill_(-3e38)
    inputs = layer_reader(layer, "fp32")
    vectors = torch.full((8, 4), 2.0)
    found = torch.empty(8, inputs.outputs)
    inputs.project_few(vectors, found)  # without a warning, which would be an error here
    torch.testing.assert_close(found, inputs.project(vectors, 0))
    assert torch.isinf(found).all()


def test_many_words_are_left_to_torch() -> None:
    inputs = layer_reader(
        RecurrentLayer(
            cell="lstm",
            options=CELL_OPTIONS,
            inputs=5,
            hidden=3,
            bidirectional=True,
            merge="concat",
            segment=0,
        ),
        "fp32",
    )
    reader = WordReader(embedding(chars=False, affixes=False, vectors=0), None, inputs)
    assert reader.takes(63)
    assert not reader.takes(64)
    embed = embedding(chars=True, affixes=False, vectors=0)
    assert embed.chars is not None
    wide = CharEncoder(chars=12, dim=4, cell="lstm", options=CELL_OPTIONS, hidden=400)
    assert not WordReader(embed, wide.reader(), inputs).takes(8)
