"""Which classes a text has, and the probabilities that are shown of them."""

from types import SimpleNamespace
from typing import cast

import pytest
import torch

from tagkit.config import Config, with_options
from tagkit.models.base.task_records import ModelContext
from tagkit.models.classifying.classifier import class_output, with_classes
from tagkit.nn.heads import POOLINGS
from tagkit.nn.heads.classification import ClassHead
from tagkit.text.records import Prediction

CLASSES = ("a", "b", "c")
# Scores of one text: sigmoids of 0.88, 0.62 and 0.27.
SCORES = torch.tensor([[2.0, 0.5, -1.0]])


def predicted(
    temperature: float,
    *,
    several: bool,
    threshold: float | None = None,
    configured: float | None = None,
) -> Prediction:
    options: dict[str, object] = {"head.multi_label": "yes" if several else "no"}
    if configured is not None:
        options["head.threshold"] = configured
    config = with_options(Config(task="classify"), options)
    head = ClassHead(
        pooling=POOLINGS["mean"](3), hidden=(), activation="relu", dropout=0.0, classes=3,
        several=several, label_smoothing=0.0, class_weights=torch.ones(3),
    )  # fmt: skip
    head.layers = torch.nn.Sequential()  # the pooled states are the scores
    head.temperature = temperature
    output = class_output(head, SCORES[:, None], SCORES, torch.ones(1, 1, dtype=torch.bool))
    vocabulary = SimpleNamespace(classes=CLASSES)
    model = SimpleNamespace(heads_by_name=lambda: {"classes": head})
    context = cast(
        ModelContext,
        SimpleNamespace(model=model, vocabulary=vocabulary, config=config, checked=True),
    )
    (found,) = with_classes([Prediction(("x",), ())], context, output, threshold)
    return found


@pytest.mark.parametrize("several", [False, True])
def test_probabilities_are_of_scores_over_the_temperature(several: bool) -> None:
    found = predicted(2.0, several=several)
    divided = SCORES[0] / 2
    expected = divided.sigmoid() if several else divided.softmax(0)
    assert [score.label for score in found.scores] == ["a", "b", "c"]
    assert [score.probability for score in found.scores] == pytest.approx(expected.tolist())


@pytest.mark.parametrize("configured", [0.25, 0.6, 0.85])
@pytest.mark.parametrize("temperature", [0.2, 4.0])
def test_a_configured_threshold_gives_the_same_classes_at_every_temperature(
    temperature: float, configured: float
) -> None:
    raw = predicted(1.0, several=True, configured=configured)
    assert raw.labels == {0.25: CLASSES, 0.6: ("a", "b"), 0.85: ("a",)}[configured]
    hot = predicted(temperature, several=True, configured=configured)
    assert hot.labels == raw.labels
    assert hot.scores != raw.scores


def test_a_given_threshold_is_compared_with_what_is_shown() -> None:
    assert predicted(1.0, several=True, threshold=0.8).labels == ("a",)
    # 0.73 at a temperature of 2.
    assert predicted(2.0, several=True, threshold=0.8).labels == ()
    assert predicted(2.0, several=True, threshold=0.7).labels == ("a",)
