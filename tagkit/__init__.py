r"""tagkit: sequence tagging and classification with recurrent networks, from file to report.

The road of one line through the code (tests/e2e/test_journey.py walks it):

    "EU\tNNP\tB-ORG"                                              a line in data/
      corpus/formats/columns/sentences.py
                                   -> Sentence(words, tags) of text/records.py
      text/schemes.py              -> tags in IOBES, which the model learns
      features/vocabulary.py       -> word 5, chars 3 9, tag 2     ints
      features/batching/encoding.py
                                   -> Batch of features/batching/batch.py
                                                                   (words,), (batch, time)
      models/base/device.py       -> the same arrays as tensors
      nn/layers/embedding.py       -> vectors                      (batch, time, features)
      nn/layers/encoder.py         -> hidden states                (batch, time, hidden)
      nn/heads/tagging.py          -> emissions                    (batch, time, tags)
    in training, for a batch
      nn/heads/crf.py              -> loss in nats, tokens         (), ()
      training/trainer.py          -> gradients, one step of the optimizer
    in prediction, for a batch
      nn/crf/chain.py              -> best path                    (batch, time)
      models/tagging/tag_head.py   -> tags in IOB2 again; Span(0, 1, "ORG")
      models/answers/tags.py, corpus/formats/columns/writer.py
                                   -> "EU\tNNP\tB-ORG\tB-ORG"
    and on a corpus with gold tags
      evaluation/reports/tag_report.py
                                   -> precision, recall, F1

What depends on the task ("tag", "classify", "both", "language-model") is behind the interface in
models/base/task.py, and a classifier has nn/heads/classification.py in place of a tagger's head.
docs/extending.md shows where a cell, a head, a metric, a format, a task or a command is added.

The functions of the library do what the commands do: `train`, `load(path).predict` and `stream`,
`evaluate`, `analyse`, `compare`, `calibrate`, `load_language_model(path).generate`, `convert`,
`check`, `audit`, `tune`, `learning_curve`, and `read` and `write` beside them; docs/api.md
describes each public name. These names are resolved when they are first used: importing tagkit
imports no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

# docs/api.md has a section for each; a test holds that nothing else is public.
_PUBLIC = {
    "load": "tagkit.inference.predict.predictor",
    "Predictor": "tagkit.inference.predict.predictor",
    "set_threads": "tagkit.models.base.device",
    "evaluate": "tagkit.inference.score.evaluate",
    "analyse": "tagkit.inference.score.evaluate",
    "compare": "tagkit.inference.score.systems",
    "evaluate_sets": "tagkit.inference.score.evaluate_sets",
    "calibrate": "tagkit.inference.score.calibrate",
    "load_language_model": "tagkit.inference.generate.text_generator",
    "TextGenerator": "tagkit.inference.generate.text_generator",
    "read": "tagkit.corpus.files",
    "write": "tagkit.corpus.files",
    "convert": "tagkit.corpus.files",
    "check": "tagkit.corpus.lint.check",
    "train": "tagkit.training.trainer",
    "train_seeds": "tagkit.training.several.seeds",
    "audit": "tagkit.training.several.audit",
    "tune": "tagkit.training.several.tune",
    "learning_curve": "tagkit.training.several.learning_curve",
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
    "StringAnswer": "tagkit.text.records",
    "TagSet": "tagkit.text.records",
    "TextSets": "tagkit.text.records",
    "SetReport": "tagkit.evaluation.scores.conformal",
    "PredictionOptions": "tagkit.models.answers.kind",
    "GenerationOptions": "tagkit.inference.generate.generation_options",
    "Generated": "tagkit.inference.generate.generation",
    "LineScore": "tagkit.inference.generate.line_scores",
    "Corpus": "tagkit.corpus.splits.splits",
    "Trained": "tagkit.training.run_end",
    "TrainedSeeds": "tagkit.training.several.seeds",
    "Epoch": "tagkit.training.events.callbacks",
    "Finding": "tagkit.training.events.callbacks",
    "Listener": "tagkit.training.events.callbacks",
    "Report": "tagkit.evaluation.reports.report",
    "TagReport": "tagkit.evaluation.reports.tag_report",
    "ClassReport": "tagkit.evaluation.reports.class_report",
    "JointReport": "tagkit.evaluation.reports.class_report",
    "Score": "tagkit.evaluation.scores.scores",
    "Analysis": "tagkit.evaluation.analysis.analysis",
    "Systems": "tagkit.evaluation.compare.systems",
    "System": "tagkit.evaluation.compare.systems",
    "Calibrated": "tagkit.inference.score.calibrate",
    "Audit": "tagkit.evaluation.analysis.label_errors",
    "Doubt": "tagkit.evaluation.analysis.label_errors",
    "CheckReport": "tagkit.corpus.lint.findings",
    "LearningCurve": "tagkit.evaluation.analysis.power_law",
    "Tuned": "tagkit.training.several.tune",
    "Trial": "tagkit.training.several.tune",
    "TagkitError": "tagkit.errors",
    "ConfigError": "tagkit.errors",
    "DataError": "tagkit.errors",
    "FormatError": "tagkit.errors",
    "FileError": "tagkit.errors",
    "SpanErrors": "tagkit.errors",
    "VectorsError": "tagkit.errors",
    "BundleError": "tagkit.errors",
    "CheckpointError": "tagkit.errors",
    "TrainingError": "tagkit.errors",
    "Interrupted": "tagkit.errors",
    "DeviceError": "tagkit.errors",
}

# The same names for type checkers, which run no code; a test holds that both lists agree.
if TYPE_CHECKING:
    from tagkit.config import Config as Config, load_config as load_config
    from tagkit.corpus.files import convert as convert, read as read, write as write
    from tagkit.corpus.lint.check import check as check
    from tagkit.corpus.lint.findings import CheckReport as CheckReport
    from tagkit.corpus.splits.splits import Corpus as Corpus
    from tagkit.errors import (
        BundleError as BundleError,
        CheckpointError as CheckpointError,
        ConfigError as ConfigError,
        DataError as DataError,
        DeviceError as DeviceError,
        FileError as FileError,
        FormatError as FormatError,
        Interrupted as Interrupted,
        SpanErrors as SpanErrors,
        TagkitError as TagkitError,
        TrainingError as TrainingError,
        VectorsError as VectorsError,
    )
    from tagkit.evaluation.analysis.analysis import Analysis as Analysis
    from tagkit.evaluation.reports.class_report import (
        ClassReport as ClassReport,
        JointReport as JointReport,
    )
    from tagkit.evaluation.scores.conformal import SetReport as SetReport
    from tagkit.evaluation.analysis.label_errors import Audit as Audit, Doubt as Doubt
    from tagkit.evaluation.analysis.power_law import LearningCurve as LearningCurve
    from tagkit.evaluation.reports.report import Report as Report
    from tagkit.evaluation.scores.scores import Score as Score
    from tagkit.evaluation.compare.systems import System as System, Systems as Systems
    from tagkit.evaluation.reports.tag_report import TagReport as TagReport
    from tagkit.inference.score.calibrate import Calibrated as Calibrated, calibrate as calibrate
    from tagkit.inference.score.evaluate import analyse as analyse, evaluate as evaluate
    from tagkit.inference.score.evaluate_sets import evaluate_sets as evaluate_sets
    from tagkit.inference.generate.generation import Generated as Generated
    from tagkit.inference.generate.generation_options import GenerationOptions as GenerationOptions
    from tagkit.inference.generate.line_scores import LineScore as LineScore
    from tagkit.inference.predict.predictor import Predictor as Predictor, load as load
    from tagkit.inference.score.systems import compare as compare
    from tagkit.inference.generate.text_generator import (
        TextGenerator as TextGenerator,
        load_language_model as load_language_model,
    )
    from tagkit.models.answers.kind import PredictionOptions as PredictionOptions
    from tagkit.models.base.device import set_threads as set_threads
    from tagkit.text.records import (
        Alternative as Alternative,
        Document as Document,
        LabelScore as LabelScore,
        Prediction as Prediction,
        Sentence as Sentence,
        Span as Span,
        StringAnswer as StringAnswer,
        TaggedText as TaggedText,
        TaggedToken as TaggedToken,
        TagSet as TagSet,
        TextSets as TextSets,
        TextSpan as TextSpan,
    )
    from tagkit.training.several.audit import audit as audit
    from tagkit.training.events.callbacks import (
        Epoch as Epoch,
        Finding as Finding,
        Listener as Listener,
    )
    from tagkit.training.several.learning_curve import learning_curve as learning_curve
    from tagkit.training.several.seeds import (
        TrainedSeeds as TrainedSeeds,
        train_seeds as train_seeds,
    )
    from tagkit.training.run_end import Trained as Trained
    from tagkit.training.trainer import train as train
    from tagkit.training.several.tune import Trial as Trial, Tuned as Tuned, tune as tune

__all__ = [*sorted(_PUBLIC), "__version__"]


if not TYPE_CHECKING:  # for which any name would be one of tagkit's

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
