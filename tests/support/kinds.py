"""Which labels a corpus must have, as the tests ask for them."""

from dataclasses import fields
from typing import Any

from tagkit.config import DataConfig
from tagkit.corpus.records.dataset import LabelKinds
from tagkit.features.column_labels import ColumnLabels
from tagkit.inference.stream.annotate import AnswerOptions
from tagkit.models.answers.classes import ClassAnswers
from tagkit.models.answers.kind import AnswerKind, PredictionOptions
from tagkit.models.answers.tags import JointAnswers, TagAnswers

TAGS = LabelKinds(tags=True, classes=False)
CLASSES = LabelKinds(tags=False, classes=True)
BOTH = LabelKinds(tags=True, classes=True)
WORDS = LabelKinds(tags=False, classes=False)
KINDS = {"tag": TAGS, "classify": CLASSES, "both": BOTH}


_STREAM = {each.name for each in fields(AnswerOptions)}


def asked(output_format: str = "columns", **options: Any) -> AnswerOptions:
    """Options of a stream, those of the prediction among them."""
    stream = {name: options.pop(name) for name in _STREAM & {*options}}
    return AnswerOptions(output_format, PredictionOptions(**options), **stream)


def answers_of(
    gives: LabelKinds,
    *,
    classes: tuple[str, ...] = (),
    several: bool = False,
    spans: bool = False,
    columns: tuple[ColumnLabels, ...] = (),
) -> AnswerKind:
    """The answers of a model that predicts labels of these kinds."""
    of_text = ClassAnswers(classes, several)
    if not gives.tags:
        return of_text
    data = DataConfig(scheme="iob2" if spans else "labels")
    if gives.classes:
        return JointAnswers(data, spans, columns, of_text)
    return TagAnswers(data, spans, columns)
