"""A vocabulary of a few words."""

from dataclasses import replace

from tagkit.features.vocabulary import Vocabulary

CHARS = "abcdef"
VOCABULARY = Vocabulary(
    words=("aa", "b"), vector_words=("b", "cc"), only_vectors=False, chars=tuple(CHARS),
    affixes=(),
    tags=("O", "B-X"), classes=(), features=(("N", "V"),), lowercase=True, normalize_digits=True,
)  # fmt: skip
NO_FEATURES = replace(VOCABULARY, features=())
