r"""tagkit: sequence tagging and classification with recurrent networks, from file to report.

One line on its road through the code (tests/e2e/test_journey.py walks it):

    "EU\tNNP\tB-ORG"                                             a line in data/
      corpus/formats/columns/reader.py -> Sentence(words, tags)  strings
      text/schemes.py            -> IOB2 turned into IOBES       strings
      features/vocabulary.py     -> word 7, chars 3 9, tag 2     ints
      features/encoding.py       -> Batch(words, tokens, ...)    (words,), (batch, time)
      nn/embedding.py            -> vectors                      (words, features)
      nn/encoder.py              -> hidden states                (batch, time, hidden)
      nn/heads/tagging.py        -> emissions, loss              (batch, time, tags), ()
      nn/crf/chain.py            -> best path                    (batch, time)
      nn/heads/classification.py -> classes of the text, if any  (batch, classes)
      features/vocabulary.py, text/schemes.py -> "B-ORG"; Span(0, 2, "ORG")
      corpus/formats/columns/writer.py -> "EU\tNNP\tB-ORG\tB-ORG"   a line again

Two functions do what the commands do: `tagkit.train(config)` and `tagkit.load(path).predict(...)`.
The public names are resolved when they are first used: importing tagkit imports no torch.
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

_PUBLIC = {
    "Config": "tagkit.config",
    "load_config": "tagkit.config",
    "TagkitError": "tagkit.errors",
    "Document": "tagkit.text.records",
    "Prediction": "tagkit.text.records",
    "Sentence": "tagkit.text.records",
    "Span": "tagkit.text.records",
    "TaggedText": "tagkit.text.records",
    "TaggedToken": "tagkit.text.records",
    "TextSpan": "tagkit.text.records",
    "Predictor": "tagkit.inference.predictor",
    "load": "tagkit.inference.predictor",
    "train": "tagkit.training.trainer",
    "train_seeds": "tagkit.training.seeds",
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
