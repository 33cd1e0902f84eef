"""What the console and `info` say of a model."""

import pytest

from tagkit.config import load_config
from tagkit.models.base.description import (
    HEAD_NAMES,
    LAYER_NAMES,
    Description,
    encoder_name,
    tag_heads,
)
from tagkit.models.task_table import task_of
from tagkit.nn.heads import HEADS
from tagkit.nn.layers.encoder import LAYERS
from tagkit.nn.trees import TREES


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["task=tag", "data.scheme=iob2"],
            Description("BiLSTM", ("CRF",), "sentence", "F1", {}, True),
        ),
        (
            ["task=tag", "data.scheme=labels", "head.kind=softmax", "encoder.layers=2"],
            Description("2-layer BiLSTM", ("softmax",), "sentence", "acc.", {}, True),
        ),
        (
            ["task=classify", "head.multi_label=no", "encoder.cell=gru", "head.pooling=max"],
            Description("BiGRU", ("max pooling",), "text", "acc.", {}, False),
        ),
        (
            ["task=classify", "head.multi_label=yes", "encoder.cell=elman",
             "encoder.bidirectional=false", "head.pooling=mean"],
            Description("Elman RNN", ("mean pooling",), "text", "F1", {}, False),
        ),
        (
            ["task=tag", "data.scheme=iob2", "encoder.cell=leaky", "encoder.layers=2"],
            Description("2-layer bidirectional leaky RNN", ("CRF",), "sentence", "F1", {}, True),
        ),
        (
            ["task=tag", "data.scheme=iob2", "encoder.cell=transformer", "encoder.layers=3"],
            Description(
                "3-layer bidirectional transformer", ("CRF",), "sentence", "F1", {}, True
            ),
        ),
        (
            ["task=classify", "head.multi_label=no", "encoder.cell=transformer",
             "encoder.bidirectional=false", "head.pooling=last"],
            Description("causal transformer", ("last pooling",), "text", "acc.", {}, False),
        ),
        (
            ["task=tag", "data.scheme=iob2", "encoder.layers=4", "encoder.connection=highway",
             "encoder.output_layers=[100]"],
            Description("4-layer highway BiLSTM and MLP", ("CRF",), "sentence", "F1", {}, True),
        ),
        (
            ["task=both", "data.scheme=iob2", "head.multi_label=no", "head.pooling=mean"],
            Description("BiLSTM", ("CRF", "mean pooling"), "sentence", "mean", {}, True),
        ),
    ],
)  # fmt: skip
def test_a_configuration_is_described(options: list[str], expected: Description) -> None:
    config = load_config(overrides=options)
    assert task_of(config).describe(config) == expected


def test_the_architecture_names_encoder_and_heads() -> None:
    both = Description("BiGRU", ("CRF", "mean pooling"), "sentence", "mean", {}, True)
    assert both.architecture == "BiGRU with CRF and mean pooling"


def test_names_for_people_are_those_of_layers_and_heads_that_are_there() -> None:
    assert LAYER_NAMES.keys() <= {**LAYERS, **TREES}.keys()
    assert HEAD_NAMES.keys() <= HEADS.keys()
    assert LAYER_NAMES["gru-reset-before"] == "reset-before GRU"
    assert HEAD_NAMES["viterbi"] == "softmax + tag bigrams"


def test_what_has_no_name_for_people_is_named_by_its_key() -> None:
    changed = load_config(overrides=["encoder.cell=transformer", "head.kind=softmax"])
    assert encoder_name(changed) == "bidirectional transformer"
    assert tag_heads(changed) == ("softmax",)
