"""Small language models with random weights, as parts of other models."""

from pathlib import Path

import torch

from tagkit.config import load_config, parse_saved, parse_toml, to_toml
from tagkit.features.language_part import LanguagePart
from tagkit.features.unit_reading import UnitReading
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.bundle.bundle import save_bundle
from tagkit.models.bundle.language_reader import LanguageReader
from tagkit.models.language.language_network import LanguageModel
from tagkit.models.task_table import TASKS
from tagkit.text.byte_pairs import train_byte_pairs
from tagkit.text.json_text import from_json, to_json
from tagkit.text.units import END, CharacterUnits

UNITS = ("word", "character", "bpe")
DIRECTIONS = ("forward", "backward")
_LINES = ["the cat sat on the mat", "a café sat", "the mat , the cat"] * 3


def vocabulary_of(unit: str) -> Vocabulary:
    """Units of some lines; of byte pairs all that there are."""
    units: UnitReading | None = None
    names = [*dict.fromkeys(word for line in _LINES for word in line.split())]
    if unit == "character":
        units, names = UnitReading(CharacterUnits(), "words"), sorted({*"".join(_LINES)})
    elif unit == "bpe":
        pairs = train_byte_pairs(_LINES, 270)
        units, names = UnitReading(pairs, "words"), sorted(pairs.names)
    return Vocabulary(
        words=(END, *names), vector_words=(), only_vectors=False, chars=(), affixes=(), tags=(),
        classes=(), features=(), lowercase=False, normalize_digits=False, units=units,
    )  # fmt: skip


def reader_of(
    unit: str = "character", direction: str = "forward", *options: str, seed: int = 1
) -> tuple[LanguagePart, LanguageReader, LanguageModel, Vocabulary]:
    """A language model of random weights, large enough for the past to matter."""
    given = ["embeddings.word_dim=5", "encoder.hidden=7", "encoder.bidirectional=false",
             f"data.unit={unit}", f"data.direction={direction}"]  # fmt: skip
    config = load_config(None, [*given, *options], {"task": "language-model"})
    vocabulary = vocabulary_of(unit)
    torch.manual_seed(seed)
    model = TASKS["language-model"].build(config, vocabulary, None)
    assert isinstance(model, LanguageModel)
    for weights in model.parameters():
        torch.nn.init.normal_(weights, std=0.5)
    part = LanguagePart(
        path=f"lm/{unit}-{direction}",
        sha256=f"{seed:064x}",
        states=model.encoder.outputs,
        config=to_toml(config),
        vocabulary=from_json(to_json(vocabulary.to_dict(), indent=0).encode()),
    )
    return part, LanguageReader(part, model), model, vocabulary


def save_parts(folder: Path, unit: str = "character", *options: str) -> list[str]:
    """The folders of a saved forward model and of a backward one."""
    found = []
    for seed, direction in enumerate(DIRECTIONS, 1):
        part, _, model, vocabulary = reader_of(unit, direction, *options, seed=seed)
        config = parse_saved(parse_toml(part.config.encode()), "test")
        place = folder / f"{unit}-{direction}"
        save_bundle(place, model, vocabulary, config, {})
        found.append(str(place))
    return found
