"""Small language models with random weights, of words or of pairs of them."""

import torch

from tagkit.config import load_config
from tagkit.features.vocabulary import Vocabulary
from tagkit.models.base.task_records import ModelContext
from tagkit.models.language.language_model import LanguageTask
from tagkit.text.pairs import DELIMITER

CLASSES = ("good", "bad", "odd")
UNITS = ("</s>", "a", "b", "c", DELIMITER)


def context_of(*options: str) -> ModelContext:
    """A model with weights large enough for the past to matter."""
    given = ["embeddings.word_dim=4", "encoder.hidden=6", "encoder.bidirectional=false"]
    config = load_config(None, [*given, *options], {"task": "language-model"})
    vocabulary = Vocabulary(
        words=UNITS, vector_words=(), only_vectors=False, chars=(), affixes=(), tags=(),
        classes=CLASSES if config.data.condition == "label" else (), features=(), lowercase=False,
        normalize_digits=False,
    )  # fmt: skip
    torch.manual_seed(6)
    model = LanguageTask().build(config, vocabulary, None).double()
    for weights in model.parameters():
        torch.nn.init.normal_(weights, std=0.9)
    return ModelContext(model.eval(), vocabulary, config, checked=True)
