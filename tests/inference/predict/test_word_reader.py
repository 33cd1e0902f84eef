"""Few words are read in NumPy as torch reads many."""

import numpy as np
import pytest
import torch
from cell_options import CELL_OPTIONS

from tagkit.features.batching.encoding import encode_words
from tagkit.features.vocabulary import Vocabulary
from tagkit.inference.predict.word_reader import WordReader
from tagkit.nn.layers.embedding import AffixEmbedding, CharEncoder, TokenEmbedding, WordEmbedding
from tagkit.nn.layers.inference import layer_reader
from tagkit.nn.layers.recurrent_layer import RecurrentLayer

WORDS = ["Ada", "bringing", "Rome", "sing", "x", "unseen!", "é"]
VOCABULARY = Vocabulary(
    words=("ada", "rome"), vector_words=("Rome", "sing"), only_vectors=False,
    chars=tuple("Adabring"), affixes=("-g", "-ing", "=xx", "=x"), tags=(), classes=(), features=(),
    lowercase=True, normalize_digits=True,
)  # fmt: skip


def embedding(*, chars: bool, affixes: bool, vectors: int) -> TokenEmbedding:
    torch.manual_seed(1)
    spelt = (
        CharEncoder(chars=12, dim=4, cell="lstm", options=CELL_OPTIONS, hidden=3, dropout=0.5)
        if chars
        else None
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
    words = encode_words(WORDS, known, chars=chars)
    assert words.affix_ids.tolist()[1].count(0) == 5  # "-g", "-ing" and "=xx" are known
    found = torch.empty(len(WORDS), embed.outputs)
    projected = torch.empty(len(WORDS), inputs.outputs)
    reader = WordReader(embed, embed.chars.reader() if embed.chars else None, inputs)
    reader.read(words, found, projected)
    batch, position = words.words(np.arange(len(WORDS)))
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
    wide = CharEncoder(chars=12, dim=4, cell="lstm", options=CELL_OPTIONS, hidden=400, dropout=0.0)
    assert not WordReader(embed, wide.reader(), inputs).takes(8)
