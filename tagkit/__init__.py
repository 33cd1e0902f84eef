r"""tagkit: sequence tagging and classification with recurrent networks, from file to report.

The road of one line through the code (tests/e2e/test_journey.py walks it):

    "EU\tNNP\tB-ORG"                                            a line in data/
      corpus/formats/columns/sentences.py -> Sentence(words, tags) of text/records.py
      text/schemes.py            -> tags in IOBES, which the model learns
      features/vocabulary.py     -> word 5, chars 3 9, tag 2     ints
      features/encoding.py       -> Batch of features/batch.py   (words,), (batch, time)
      nn/embedding.py            -> vectors                      (batch, time, features)
      nn/encoder.py              -> hidden states                (batch, time, hidden)
      nn/heads/tagging.py        -> emissions                    (batch, time, tags)
    in training, for a batch
      nn/heads/crf.py            -> loss in nats, tokens         (), ()
      training/trainer.py        -> gradients, one step of the optimizer
    in prediction, for a batch
      nn/crf/chain.py            -> best path                    (batch, time)
      models/tag_decoding.py     -> tags in IOB2 again; Span(0, 1, "ORG")
      inference/render.py, corpus/formats/columns/writer.py -> "EU\tNNP\tB-ORG\tB-ORG"
    and on a corpus with gold tags
      evaluation/tag_report.py   -> precision, recall, F1

What depends on the task ("tag", "classify", "both") is behind the interface in models/task.py, and
a classifier has nn/heads/classification.py in place of a tagger's head. docs/extending.md shows
where a cell, a head, a metric, a format, a task or a command is added.

The functions of the library do what the commands do: `train`, `load(path).predict` and `stream`,
`evaluate`, `analyse`, `compare`, `calibrate`, `convert`, and `read` and `write` beside them;
docs/api.md
describes each public name. These names are resolved when they are first used: importing tagkit
imports no torch.
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

# docs/api.md has a section for each; a test holds that nothing else is public.
_PUBLIC = {
    "load": "tagkit.inference.predictor",
    "Predictor": "tagkit.inference.predictor",
    "set_threads": "tagkit.models.device",
    "evaluate": "tagkit.inference.evaluate",
    "analyse": "tagkit.inference.evaluate",
    "compare": "tagkit.inference.systems",
    "evaluate_sets": "tagkit.inference.evaluate_sets",
    "calibrate": "tagkit.inference.calibrate",
    "read": "tagkit.corpus.files",
    "write": "tagkit.corpus.files",
    "convert": "tagkit.corpus.files",
    "train": "tagkit.training.trainer",
    "train_seeds": "tagkit.training.seeds",
    "audit": "tagkit.training.audit",
    "load_config": "tagkit.config",
    "Config": "tagkit.config",
    "Sentence": "tagkit.text.records",
    "Document": "tagkit.text.records",
    "Span": "tagkit.text.records",
    "TextSpan": "tagkit.text.records",
    "TaggedText": "tagkit.text.records",
    "TaggedToken": "tagkit.text.records",
    "LabelScore": "tagkit.text.records",
    "Prediction": "tagkit.text.records",
    "Alternative": "tagkit.text.records",
    "TagSet": "tagkit.inference.prediction_sets",
    "TextSets": "tagkit.inference.prediction_sets",
    "SetReport": "tagkit.evaluation.conformal",
    "Trained": "tagkit.training.trainer",
    "TrainedSeeds": "tagkit.training.seeds",
    "Epoch": "tagkit.training.callbacks",
    "Finding": "tagkit.training.diagnosis.finding",
    "Listener": "tagkit.training.callbacks",
    "Report": "tagkit.evaluation.report",
    "TagReport": "tagkit.evaluation.tag_report",
    "ClassReport": "tagkit.evaluation.class_report",
    "JointReport": "tagkit.evaluation.class_report",
    "Score": "tagkit.evaluation.scores",
    "Analysis": "tagkit.evaluation.analysis",
    "Systems": "tagkit.evaluation.systems",
    "System": "tagkit.evaluation.systems",
    "Calibrated": "tagkit.inference.calibrate",
    "Audit": "tagkit.evaluation.doubts",
    "Doubt": "tagkit.evaluation.doubts",
    "TagkitError": "tagkit.errors",
    "ConfigError": "tagkit.errors",
    "DataError": "tagkit.errors",
    "FormatError": "tagkit.errors",
    "SpanErrors": "tagkit.errors",
    "VectorsError": "tagkit.errors",
    "BundleError": "tagkit.errors",
    "CheckpointError": "tagkit.errors",
    "TrainingError": "tagkit.errors",
    "Interrupted": "tagkit.errors",
    "DeviceError": "tagkit.errors",
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
