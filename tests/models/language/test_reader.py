"""Which units of a trained language model a text can have."""

from pathlib import Path

import pytest
import torch
from says import refuses

from tagkit.config import load_config
from tagkit.corpus.records.unit_lines import UnitLines
from tagkit.corpus.source.text_lines import TextLines
from tagkit.errors import DeviceError
from tagkit.inference.generate.generation import generate_texts
from tagkit.inference.generate.generation_options import GenerationOptions
from tagkit.inference.generate.text_generator import load_reader
from tagkit.inference.predict.predictor import load
from tagkit.models.language.language_model import LanguageTask
from tagkit.models.language.reader import Reader
from tagkit.text.byte_pairs import SIGNS, BytePairs
from tagkit.text.pairs import DELIMITER, PairUnits

pytest.importorskip("tokenizers")


def reader_of(folder: Path, *options: str) -> Reader:
    """A model of byte pairs for which line ends and tabs are the most probable units."""
    given = ["data.unit=bpe", "encoder.hidden=4", "embeddings.word_dim=4", "data.context=line",
             "encoder.bidirectional=false"]  # fmt: skip
    config = load_config(None, [*given, *options], {"task": "language-model"})
    path = folder / "a.txt"
    path.write_text("a\tb\n")
    units = BytePairs((("a", "b"),))
    text = UnitLines(TextLines(str(path)), PairUnits(units) if config.data.pairs else units)
    task = LanguageTask()
    vocabulary = task.vocabulary(config, text)
    model = task.build(config, vocabulary, None)
    for weights in model.parameters():
        torch.nn.init.zeros_(weights)
    for unit in (SIGNS[ord(char)] for char in "\n\r\t"):
        model.head.bias.data[vocabulary.words.index(unit) + 1] = 2.0
    return Reader(model, vocabulary, config.data)


def test_torchs_default_type_of_numbers_is_named_and_not_the_model(tmp_path: Path) -> None:
    torch.set_default_dtype(torch.float64)
    try:
        for loaded in (load_reader, load):
            with refuses(DeviceError, "torch.float64", "default"):
                loaded(tmp_path)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("search", [{"samples": 100}, {"beam": 100, "samples": 100}])
def test_a_text_of_byte_pairs_has_no_line_end_within(
    tmp_path: Path, search: dict[str, int]
) -> None:
    reader = reader_of(tmp_path)
    texts = generate_texts(reader, "", GenerationOptions(max_units=40, **search))
    assert len(texts) == 100
    assert not any("\n" in each.text or "\r" in each.text for each in texts)
    assert any("\t" in each.text for each in texts)  # which plain text may have


@pytest.mark.parametrize("search", [{"samples": 100}, {"beam": 100, "samples": 100}])
def test_a_pair_of_byte_pairs_has_one_tab(tmp_path: Path, search: dict[str, int]) -> None:
    reader = reader_of(tmp_path, "data.pairs=true")
    options = GenerationOptions(max_units=40, end="length", **search)
    for prompt, most in (("", 1), ("ab" + DELIMITER, 0)):
        texts = generate_texts(reader, prompt, options)
        assert len(texts) == 100
        assert max(each.text.count("\t") for each in texts) == most
