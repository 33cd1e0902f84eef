"""Corpora whose tags are in their columns of numbers, and not in their words."""

import json
import random
from pathlib import Path

import tiny

from tagkit.config import Config

_SPLITS = {"train": (60, 1), "dev": (15, 2), "test": (15, 3)}  # sentences, seed
# Without chance, and without anything that reads a word.
OPTIONS = (
    "embeddings.word_dim=0", "embeddings.char_cell=none", "embeddings.char_dim=30",
    "embeddings.char_hidden=50", "encoder.dropout=0", "encoder.locked_dropout=0",
    "encoder.word_dropout=0",
)  # fmt: skip


def sentences(count: int, seed: int) -> list[list[tuple[str, list[float], float, str]]]:
    """Words of no meaning, two numbers and one, and the tag that the numbers tell."""
    dice = random.Random(seed)
    found = []
    for _ in range(count):
        tokens = []
        for _ in range(dice.randint(1, 6)):
            loud, high = dice.random() < 0.5, dice.random() < 0.5
            pair = [(5e3 if loud else 4e3) + dice.gauss(0, 50), dice.gauss(0, 1)]
            one = (1e-3 if high else -1e-3) + dice.gauss(0, 1e-4)
            tag = f"{'loud' if loud else 'soft'}-{'high' if high else 'low'}"
            tokens.append((dice.choice("abc"), pair, one, tag))
        found.append(tokens)
    return found


def columns(folder: Path, *options: str, **flags: str) -> Config:
    """A run on column files, the numbers of which are in columns 1 and 2."""
    for name, which in _SPLITS.items():
        lines = [
            [
                f"{word}\t{','.join(map(repr, pair))}\t{one!r}\t{tag}"
                for word, pair, one, tag in each
            ]
            for each in sentences(*which)
        ]
        tiny.write(folder / f"{name}.conll", lines)
    return tiny.small(folder, "data.vector_columns=[1, -2]", *OPTIONS, *options, **flags)


def json_lines(folder: Path, *options: str) -> Config:
    """The same in JSON Lines; a text's class says whether its first token is loud."""
    files = {}
    for name, which in _SPLITS.items():
        records = []
        for each in sentences(*which):
            words, pairs, ones, tags = zip(*each, strict=True)
            records.append(
                {"tokens": words, "tags": tags, "frames": pairs, "x": ones, "label": tags[0][:4]}
            )
        path = folder / f"{name}.jsonl"
        path.write_text("".join(f"{json.dumps(each)}\n" for each in records), encoding="utf-8")
        files[f"data.{name}_file"] = str(path)
    return tiny.small(folder, 'data.vector_columns=["frames", "x"]', *OPTIONS, *options, **files)
