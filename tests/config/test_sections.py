"""What of several sections has to fit together."""

import os

from config_problems import problems

from tagkit.config import (
    default_threads,
    load_config,
)


def test_directions_are_merged_only_where_there_are_two() -> None:
    assert problems("encoder.merge=sum", "encoder.bidirectional=false") == (
        "encoder.merge = 'sum' joins two directions: it needs encoder.bidirectional = true",
    )
    assert not load_config(None, ["encoder.bidirectional=false"]).encoder.bidirectional


def test_threads_are_at_most_the_cores_of_the_machine() -> None:
    assert 1 <= default_threads() <= (os.cpu_count() or 1)
