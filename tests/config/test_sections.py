"""What of several sections has to fit together."""

import os

from config_problems import problems
from says import Says

from tagkit.config import (
    default_threads,
    load_config,
)


def test_directions_are_merged_only_where_there_are_two() -> None:
    assert problems("encoder.merge=sum", "encoder.bidirectional=false") == (
        Says("encoder.merge", "'sum'", "encoder.bidirectional"),
    )
    assert not load_config(None, ["encoder.bidirectional=false"]).encoder.bidirectional


def test_a_classifier_has_its_feed_forward_layers_after_the_pooling() -> None:
    assert problems("task=classify", "encoder.output_layers=[50]") == (
        Says("encoder.output_layers", '"classify"', "head.hidden"),
    )
    config = load_config(None, ["task=both", "encoder.output_layers=[50]", "head.hidden=[30]"])
    assert (config.encoder.output_layers, config.head.hidden) == ((50,), (30,))


def test_the_rates_of_leaky_units_are_drawn_where_they_are_learnt() -> None:
    assert problems("encoder.cell=leaky", "encoder.chrono=50") == (
        Says("encoder.chrono", "50", "encoder.leak", "'learned'"),
    )
    load_config(None, ["encoder.cell=leaky", "encoder.chrono=50", "encoder.leak=learned"])


def test_threads_are_at_most_the_cores_of_the_machine() -> None:
    assert 1 <= default_threads() <= (os.cpu_count() or 1)
