"""One line's road through the code, as the docstring of tagkit/__init__.py tells it."""

from pathlib import Path

import torch

import tagkit
from tagkit.config import load_config
from tagkit.corpus.formats.columns.layout import ColumnOptions
from tagkit.corpus.formats.columns.reader import ColumnReader
from tagkit.corpus.formats.columns.writer import append_column
from tagkit.features.encoding import encode, tag_target
from tagkit.features.vocabulary import PAD_ID, RESERVED, Vocabulary
from tagkit.models.task_table import task_of
from tagkit.text.records import Sentence, Span
from tagkit.text.schemes import convert, from_spans, to_spans


def test_one_line_travels_from_a_file_and_back() -> None:
    # a line in data/
    line = "EU\tNNP\tB-ORG"

    # corpus/formats/columns/reader.py -> Sentence
    options = ColumnOptions(conllu=False, token=None, tag=None, features=(), with_tags=True)
    reader = ColumnReader("journey.conll", options)
    assert not list(reader.feed([line]))
    (block,) = reader.close()
    assert block.sentence == Sentence(words=("EU",), tags=("B-ORG",))

    # text/schemes.py: IOB2 turned into IOBES
    tags = convert(block.sentence.tags or (), "iobes")
    assert tags == ("S-ORG",)

    # features/vocabulary.py -> ints
    vocabulary = Vocabulary(
        words=("the", "eu"), vector_words=(), only_vectors=False, chars=("E", "U"),
        tags=("O", "S-ORG"), classes=(), features=(), lowercase=True, normalize_digits=True,
    )  # fmt: skip
    assert vocabulary.word_id("EU") == RESERVED + 1
    assert vocabulary.char_ids("EU") == [RESERVED, RESERVED + 1]
    assert vocabulary.tag_id("S-ORG") == 1

    # features/batch.py -> Batch
    other = Sentence(words=("the", "EU"), tags=("O", "S-ORG"))
    found = [Sentence(("EU",), tags), other]
    encoded = encode(found, vocabulary, {"tags": tag_target(found, vocabulary)}, chars=True)
    batch = encoded.batch([0, 1])
    words, there = batch.words, batch.tokens
    assert [words.word_ids[row].tolist() for row in there.rows] == [[3, 3], [2, 3]]
    assert there.mask.tolist() == [[True, False], [True, True]]
    assert "tags" in batch.targets
    assert batch.target("tags").tolist() == [[1, 0], [0, 1]]

    # nn/embedding.py, nn/encoder.py, nn/heads/crf.py, nn/crf/chain.py
    config = load_config(overrides=["data.scheme=iob2", "encoder.hidden=5"])
    model = task_of(config).build(config, vocabulary, None).eval()
    vectors = model.embed.vectors(words.word_ids, words.vector_rows, words.char_ids)
    assert vectors.shape == (2, model.embed.outputs)
    inputs = model.embed(vectors, there.rows, there.feature_ids)
    assert inputs.shape == (2, 2, model.embed.outputs)
    states = model.encoder(inputs, there.mask)
    assert states.shape == (2, 2, 10)
    loss, tokens = model.head.loss(states, there.mask, batch.target("tags"))
    assert (loss.shape, int(tokens)) == (torch.Size([]), 3)
    path = model.head.decode(states, there.mask)
    assert path.shape == (2, 2)
    assert path[0, 1] == PAD_ID

    # vocab.py, schemes.py -> tags and spans
    found = to_spans([vocabulary.tags[1]])
    assert found == (Span(0, 1, "ORG"),)
    written = from_spans(found, 1, "iob2")
    assert written == ("B-ORG",)

    # corpus/formats/columns/writer.py -> a line again
    assert list(append_column(block, reader.layout, written)) == ["EU\tNNP\tB-ORG\tB-ORG"]


def test_the_docstring_names_files_that_are_there() -> None:
    package = Path(tagkit.__file__).parent
    assert tagkit.__doc__ is not None
    named = [word.strip(",") for word in tagkit.__doc__.split() if ".py" in word]
    for name in named:
        if name.startswith("(tests/"):
            continue
        assert (package / name).is_file(), name
