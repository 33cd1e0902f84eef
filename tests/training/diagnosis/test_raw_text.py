"""Words that raw text is not cut into are named before the first step."""

from pathlib import Path

import pytest
import tiny
import torch

from tagkit.config import load_config
from tagkit.training.diagnosis.corpus_checks import diagnose_corpus
from tagkit.training.diagnosis.raw_text import other_words
from tagkit.training.setup.setup import prepare


def said(folder: Path, words: str, *options: str) -> list[str]:
    """What is said of ten sentences of these words, each a place."""
    sentence = [
        f"{word}\t{'B-X' if place % 2 else 'O'}" for place, word in enumerate(words.split())
    ]
    flags = {
        f"data.{name}_file": str(tiny.write(folder / f"{name}.conll", [sentence] * 10))
        for name in ("train", "dev")
    }
    small = ["encoder.hidden=4", "embeddings.word_dim=4", "head.feature_crf=0", *options]
    prepared = prepare(load_config(None, small, flags), torch.device("cpu"))
    found = [each for each in diagnose_corpus(prepared) if each.name == "other-words"]
    assert [(each.sentence, each.remedy) for each in found] == [*other_words(prepared)]
    return [each.text for each in found]


@pytest.mark.parametrize(
    "words",
    [
        "Ada saw old Rome .",
        "Ada 's well-known dog barked at nine .",  # one in eight is no token
        "李 雷 在 北 京 iPhone 2024 。",
        "ส วั ส ดี",
    ],
)
def test_nothing_is_said_of_words_that_are_tokens(tmp_path: Path, words: str) -> None:
    assert said(tmp_path, words) == []


@pytest.mark.parametrize(
    ("words", "share", "example"),
    [
        ("李雷 在 北京 Rome", 50, "李雷"),
        ("ส ว ั ส ด ี", 67, "ี"),  # marks by themselves
        ("@ben @ada saw Rome", 50, "@ben"),
    ],
)
def test_words_that_are_no_tokens_are_named(
    tmp_path: Path, words: str, share: int, example: str
) -> None:
    (text,) = said(tmp_path, words)
    assert text.startswith(
        f"raw text is cut into other words than train: {share} % of those of train, such as "
    )
    assert " are no tokens of it. To predict for raw text, train with data.tokenizer=blanks" in text
    assert said(tmp_path, words, "data.tokenizer=blanks") == []
