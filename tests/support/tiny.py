"""Small corpora and small models for tests that walk the whole road."""

import random
from pathlib import Path

import torch
from carried import config_with

from tagkit.config import Config
from tagkit.features.batching.batch import Batch
from tagkit.models.base.model import Model
from tagkit.models.base.output import ModelOutput
from tagkit.nn.layers.inference import CachedWords

_FIRST = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn"]
_LAST = ["Miller", "Okafor", "Novak", "Silva"]
_PLACES = ["Oslo", "Rome", "Lima", "Quito", "New York", "Cape Town"]
_SPLITS = {"train": (80, 1), "dev": (20, 2), "test": (20, 3)}  # sentences, seed
_VERBS = ["visits", "leaves", "likes", "knows"]


# With the defaults of what then has no effect.
WITHOUT_CHARACTERS = ["embeddings.char_cell=none", "embeddings.char_dim=30",
                      "embeddings.char_hidden=50"]  # fmt: skip


def output(model: Model, batch: Batch, *, confidence: bool = False) -> ModelOutput:
    """What a model says of a batch, from its words' vectors."""
    with torch.no_grad():
        vectors = model.vectors(batch.words)
    return model.output(
        batch.tokens, CachedWords(vectors, (), torch.empty(0), ()), confidence=confidence
    )


def lines(count: int, seed: int, columns: int = 2) -> list[list[str]]:
    """Sentences as lists of column lines, IOB2 in the last column."""
    dice = random.Random(seed)
    sentences = []
    for _ in range(count):
        person = [dice.choice(_FIRST), dice.choice(_LAST)][: dice.randint(1, 2)]
        place = dice.choice(_PLACES).split()
        words = [*person, dice.choice(_VERBS), *place, "."]
        tags = [
            *["B-PER", "I-PER"][: len(person)],
            "O",
            *["B-LOC", "I-LOC"][: len(place)],
            "O",
        ]
        shapes = ["UP" if word[0].isupper() else "LOW" for word in words]
        middle = [[shape] if columns == 3 else [] for shape in shapes]
        sentences.append(
            ["\t".join([w, *m, t]) for w, m, t in zip(words, middle, tags, strict=True)]
        )
    return sentences


def write(path: Path, sentences: list[list[str]]) -> Path:
    """A column file of these sentences."""
    text = "".join("\n".join(sentence) + "\n\n" for sentence in sentences)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def corpus(folder: Path, columns: int = 2) -> dict[str, str]:
    """train, dev and test files; dotted names of the options that name them."""
    return {
        f"data.{name}_file": str(write(folder / f"{name}.conll", lines(count, seed, columns)))
        for name, (count, seed) in _SPLITS.items()
    }


def config(folder: Path, *overrides: str, columns: int = 2, **flags: object) -> Config:
    """A run of a few seconds that learns the tiny corpus, which is written."""
    corpus(folder, columns)
    return small(folder, *overrides, **flags)


def small(folder: Path, *overrides: str, **flags: object) -> Config:
    """A run of a few seconds that learns the tiny corpus, which is there."""
    options = [
        "embeddings.word_dim=16",
        "embeddings.char_dim=8",
        "embeddings.char_hidden=8",
        "encoder.hidden=16",
        "encoder.dropout=0.1",
        "encoder.locked_dropout=0.0",
        "train.max_epochs=4",
        "train.batch_size=8",
        "train.lr=0.02",
        "train.threads=1",
        "train.device=cpu",
        f"output.dir={folder / 'model'}",
    ]
    files = {f"data.{name}_file": str(folder / f"{name}.conll") for name in _SPLITS}
    return config_with([*options, *overrides], {**files, **flags})


_ASKS = {
    "greet": ["hello there", "good morning", "hi you"],
    "leave": ["goodbye now", "see you later", "so long"],
    "order": ["bring me tea", "one coffee please", "order a cake"],
}


def texts(count: int, seed: int) -> list[tuple[str, str]]:
    """A class and a text that tells it, each."""
    dice = random.Random(seed)
    chosen = [dice.choice(sorted(_ASKS)) for _ in range(count)]
    return [(label, f"{dice.choice(_ASKS[label])} , {dice.choice(_FIRST)} .") for label in chosen]


def classified(folder: Path) -> dict[str, str]:
    """train, dev and test files of texts with classes; dotted names of their options."""
    for name, (count, seed) in {"train": (90, 1), "dev": (20, 2), "test": (20, 3)}.items():
        rows = "".join(f"{label}\t{text}\n" for label, text in texts(count, seed))
        (folder / f"{name}.tsv").write_text(f"label\ttext\n{rows}", encoding="utf-8")
    return {f"data.{name}_file": str(folder / f"{name}.tsv") for name in ("train", "dev", "test")}


def joint(folder: Path) -> dict[str, str]:
    """Folders of sentences with tags and a class: whether a place has two words."""
    for name, (count, seed) in {"train": (80, 1), "dev": (20, 2), "test": (20, 3)}.items():
        part = folder / name
        part.mkdir()
        rows = [[line.split("\t") for line in sentence] for sentence in lines(count, seed)]
        words, tags = ([" ".join(row[i] for row in rows_) for rows_ in rows] for i in (0, 1))
        labels = ["long" if "I-LOC" in line else "short" for line in tags]
        for file, content in (("seq.in", words), ("seq.out", tags), ("label", labels)):
            (part / file).write_text("\n".join(content) + "\n", encoding="utf-8")
    return {f"data.{name}_file": str(folder / name) for name in ("train", "dev", "test")}


_LEMMAS = {"visits": "visit", "leaves": "leave", "likes": "like", "knows": "know"}


def treebank_lines(count: int, seed: int) -> list[list[str]]:
    """Sentences in CoNLL-U with lemmas, UPOS, FEATS and, in MISC, spans in IOB2."""
    found = []
    for sentence in lines(count, seed):
        rows = [line.split("\t") for line in sentence]
        cells = []
        for number, (word, tag) in enumerate(rows, 1):
            upos, feats = "PROPN", "Number=Sing" if tag[-3:] == "PER" else "Case=Acc|Number=Sing"
            if word in _LEMMAS:
                upos, feats = "VERB", "Number=Sing|Person=3"
            elif word == ".":
                upos, feats = "PUNCT", "_"
            misc = "_" if tag == "O" else f"NER={tag}"
            lemma = _LEMMAS.get(word, word)
            row = [str(number), word, lemma, upos, "_", feats, "0", "_", "_", misc]
            cells.append("\t".join(row))
        found.append(cells)
    return found


def treebank(folder: Path) -> dict[str, str]:
    """train, dev and test files in CoNLL-U; dotted names of the options that name them."""
    return {
        f"data.{name}_file": str(write(folder / f"{name}.conllu", treebank_lines(count, seed)))
        for name, (count, seed) in _SPLITS.items()
    }
