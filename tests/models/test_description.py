"""What the console and `info` say of a model."""

import pytest

from tagkit.config import load_config
from tagkit.evaluation.metrics import Kind
from tagkit.models.description import Description, describe


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["task=tag", "data.scheme=iob2"],
            Description("BiLSTM", ("CRF",), "sentence", (Kind.SPANS,), True),
        ),
        (
            ["task=tag", "data.scheme=labels", "head.kind=softmax", "encoder.layers=2"],
            Description("2-layer BiLSTM", ("softmax",), "sentence", (Kind.TOKENS,), True),
        ),
        (
            ["task=classify", "head.multi_label=no", "encoder.cell=gru", "head.pooling=max"],
            Description("BiGRU", ("max pooling",), "text", (Kind.CLASS,), False),
        ),
        (
            ["task=classify", "head.multi_label=yes", "encoder.cell=elman",
             "encoder.bidirectional=false", "head.pooling=mean"],
            Description("Elman RNN", ("mean pooling",), "text", (Kind.CLASSES,), False),
        ),
        (
            ["task=both", "data.scheme=iob2", "head.multi_label=no", "head.pooling=mean"],
            Description("BiLSTM", ("CRF", "mean pooling"), "sentence", (Kind.SPANS, Kind.CLASS),
                        True),
        ),
    ],
)  # fmt: skip
def test_a_configuration_is_described(options: list[str], expected: Description) -> None:
    assert describe(load_config(overrides=options)) == expected


def test_the_measure_and_the_architecture_follow_from_the_parts() -> None:
    both = Description("BiGRU", ("CRF", "mean pooling"), "sentence", (Kind.SPANS, Kind.CLASS), True)
    assert both.architecture == "BiGRU with CRF and mean pooling"
    assert (both.measure, both.predicts_classes, both.columns()) == ("mean", True, {})
    tags = Description("LSTM", ("CRF",), "sentence", (Kind.SPANS,), True)
    assert (tags.measure, tags.predicts_classes) == ("F1", False)
