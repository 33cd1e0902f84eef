"""A corpus of trees whose classes depend on words and on what negates or strengthens them."""

import random
from pathlib import Path

_ADJECTIVES = {"awful": 0, "bad": 1, "dull": 1, "plain": 2, "good": 3, "fine": 3, "great": 4}
_NOUNS = ("film", "plot", "cast", "story")


def trees(count: int, seed: int) -> list[str]:
    """Lines in the format "trees"; some nodes have three children, some one."""
    generator = random.Random(seed)
    return [_sentence(generator) for _ in range(count)]


def _sentence(generator: random.Random) -> str:
    noun = generator.choice(_NOUNS)
    subject = f"(2 (2 the) (2 {noun}))" if generator.random() < 0.7 else f"(2 {noun})"
    label, said = _phrase(generator)
    if generator.random() < 0.2:
        return f"({label} {said})"  # a chain of nodes of one child
    if generator.random() < 0.3:  # three children
        return f"({label} {subject} (2 is) {said})"
    return f"({label} {subject} ({label} (2 is) {said}))"


def _phrase(generator: random.Random) -> tuple[int, str]:
    word = generator.choice([*_ADJECTIVES])
    label, said = _ADJECTIVES[word], f"({_ADJECTIVES[word]} {word})"
    if generator.random() < 0.3:
        label = max(0, min(4, label + (label > 2) - (label < 2)))
        said = f"({label} (2 very) {said})"
    if generator.random() < 0.4:
        label = 4 - label
        said = f"({label} (1 not) {said})"
    return label, said


def files(folder: Path, train: int = 200, others: int = 60) -> dict[str, str]:
    """Files of a corpus, by the options that name them."""
    found = {}
    for seed, (name, count) in enumerate((("train", train), ("dev", others), ("test", others))):
        path = folder / f"{name}.trees"
        path.write_text("\n".join(trees(count, seed)) + "\n", encoding="utf-8")
        found[f"data.{name}_file"] = str(path)
    return found
