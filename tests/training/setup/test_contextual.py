"""Language models that a new model reads with, frozen or trained further."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from language_parts import reader_of

from tagkit.config import load_config, parse_saved, parse_toml
from tagkit.errors import DataError
from tagkit.features.batching.contextual import ContextualUnits
from tagkit.models.bundle.bundle import load_bundle, save_bundle
from tagkit.text.records import Sentence
from tagkit.training.setup.contextual import (
    CachedReader,
    CorpusUnits,
    TrainedReader,
    load_contextual,
)

CPU = torch.device("cpu")
SENTENCES = [Sentence(("the", "cat")), Sentence(("a", "café", "sat", "on", "mats"))]


def saved(folder: Path, *options: str) -> str:
    part, _, model, vocabulary = reader_of("character", "forward", *options)
    save_bundle(folder, model, vocabulary, parse_saved(parse_toml(part.config.encode()), "x"), {})
    return str(folder)


@pytest.mark.parametrize(
    "options",
    [["encoder.dropout=0.5", "encoder.locked_dropout=0.5", "encoder.word_dropout=0.5",
      "encoder.weight_drop=0.5", "embeddings.dropout=0.5", "encoder.layers=2", "train.bptt=3"],
     ["encoder.cell=transformer", "encoder.hidden=8", "encoder.heads=2", "embeddings.word_dim=8",
      "encoder.dropout=0.5", "train.bptt=4"]],
    ids=["lstm", "transformer"],
)  # fmt: skip
def test_in_training_a_language_model_drops_nothing_and_has_the_states_of_prediction(
    tmp_path: Path, options: list[str]
) -> None:
    path = saved(tmp_path / "lm", *options)
    named = f"embeddings.contextual={json.dumps([path])}"
    frozen = load_contextual(load_config(overrides=[named]), CPU)
    assert isinstance(frozen, CachedReader)
    reader = load_contextual(
        load_config(overrides=[named, "embeddings.freeze_contextual=false"]), CPU
    )
    assert isinstance(reader, TrainedReader)
    reader.train()
    mask = torch.tensor([[True] * 2 + [False] * 3, [True] * 5])
    units = reader.units(SENTENCES).batch([0, 1], 5)
    states = reader.states(units, mask)
    assert torch.equal(states, reader.states(units, mask))
    for row, read in zip(states.detach(), frozen.readers[0].read(SENTENCES, CPU), strict=True):
        np.testing.assert_allclose(row[: len(read)], read, rtol=0, atol=1e-5)
    # From the last word of a sentence a gradient reaches all that the word's state depends on.
    states[1, 4].sum().backward()
    weights = reader.get_parameter("0.embed.words.trained.weight")
    assert weights.grad is not None
    reached = weights.grad[1 + units.rows[0].units[1]].abs().sum(1) > 0
    last = int(units.rows[0].places[1, 4])
    # A transformer reads `train.bptt` units back; a recurrent network is cut nowhere.
    begin = last - 3 if "transformer" in options[0] else 0
    assert reached[begin : last + 1].all()
    original = load_bundle(Path(path)).model.state_dict()
    assert all(torch.equal(own, original[name]) for name, own in
               reader.readers[0].model.state_dict().items())  # fmt: skip


def test_the_same_language_model_is_refused_twice_whatever_its_folder_is_called(
    tmp_path: Path,
) -> None:
    first, other = saved(tmp_path / "lm"), saved(tmp_path / "other", "encoder.hidden=8")
    copied = str(shutil.copytree(first, tmp_path / "copy"))

    def load(*paths: str) -> object:
        return load_contextual(
            load_config(None, [f"embeddings.contextual={json.dumps(paths)}"]), CPU
        )

    assert load(first, other) is not None
    for second in (first, copied):
        expected = f"embeddings.contextual: {first} and {second} are the same language model, "
        with pytest.raises(DataError, match=f"^{re.escape(expected)}"):
            load(first, second)


def test_a_batch_has_the_units_of_its_sentences_and_the_places_of_their_words() -> None:
    _, reader, _, _ = reader_of("character", "backward")
    found = CorpusUnits([reader, reader], [*SENTENCES, Sentence(("mat",) * 9)])
    batch = found.batch(np.array([1, 0]), 5)
    assert isinstance(batch, ContextualUnits)
    assert len(batch.rows) == 2
    for rows in batch.rows:
        for number, sentence in enumerate([SENTENCES[1], SENTENCES[0]]):
            reading = reader.reading(sentence.words)
            units, places = rows.units[number].tolist(), rows.places[number].tolist()
            assert units[: len(reading.units)] == reading.units
            assert not any(units[len(reading.units) :])
            assert places == [*reading.places, *[0] * (5 - len(sentence))]
        assert rows.units.shape[1] == len(reader.reading(SENTENCES[1].words).units)
        assert rows.to(torch.device("meta"), non_blocking=False).places.is_meta
    assert all(
        rows.units.is_meta for rows in batch.to(torch.device("meta"), non_blocking=True).rows
    )
