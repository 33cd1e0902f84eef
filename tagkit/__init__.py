r"""tagkit: sequence tagging and classification with recurrent networks, from file to report.

One line on its road through the code (tests/test_journey.py walks it):

    "EU\tNNP\tB-ORG"                                         a line in data/
      formats/columns.py -> Sentence(words, tags)            strings
      schemes.py         -> IOB2 turned into IOBES           strings
      vocab.py           -> word 7, chars 3 9, tag 2         ints
      batch.py           -> Batch(words, tokens, tag_ids)    (words,), (batch, time)
      nn/embed.py        -> vectors                          (words, features)
      nn/recurrent.py    -> hidden states                    (batch, time, hidden)
      nn/taggers.py      -> emissions, loss                  (batch, time, tags), ()
      nn/chain.py        -> best path                        (batch, time)
      nn/classifiers.py  -> classes of the text, if wanted   (batch, classes)
      vocab.py, schemes.py -> "B-ORG"; Span(0, 2, "ORG")     strings, offsets
      formats/columns.py -> "EU\tNNP\tB-ORG\tB-ORG"          a line again

Two functions do what the commands do: `tagkit.train(config)` and `tagkit.load(path).predict(...)`.
The public names are resolved when they are first used: importing tagkit imports no torch.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "Config": "tagkit.config",
    "load_config": "tagkit.config",
    "TagkitError": "tagkit.errors",
    "Document": "tagkit.sentence",
    "Prediction": "tagkit.sentence",
    "Sentence": "tagkit.sentence",
    "Span": "tagkit.sentence",
    "TaggedText": "tagkit.sentence",
    "TaggedToken": "tagkit.sentence",
    "TextSpan": "tagkit.sentence",
    "Predictor": "tagkit.predictor",
    "load": "tagkit.predictor",
    "train": "tagkit.trainer",
    "train_seeds": "tagkit.seeds",
}

__all__ = [*sorted(_PUBLIC), "__version__"]


def __getattr__(name: str) -> Any:
    """Import a public name's module when the name is first asked for."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'tagkit' has no attribute {name!r}")
    value = getattr(import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return __all__
