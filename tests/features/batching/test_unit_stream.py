"""A text as streams of segments: every unit is predicted once, after the unit before it."""

import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagkit.features.batching import unit_stream
from tagkit.features.batching.unit_stream import (
    backwards,
    continuations_of,
    lines_of,
    places_of,
    steps_of,
    streams_of,
    unit_ids,
)
from tagkit.features.vocabulary import UNKNOWN_ID

IDS = {"</s>": 2, "a": 3, "b": 4}


def test_lines_are_ids_with_an_end_before_the_first_and_after_each() -> None:
    ids = unit_ids([["a", "b"], ["?", "a"]], IDS, UNKNOWN_ID, 2)
    assert ids.tolist() == [2, 3, 4, 2, 1, 3, 2]
    # A word that is written like an end is none.
    assert unit_ids([["a", "</s>", "b"]], IDS, UNKNOWN_ID, 2).tolist() == [2, 3, 1, 4, 2]
    # The last line comes first, and its last unit.
    assert backwards(ids).tolist() == [2, 3, 1, 2, 4, 3, 2]


texts = st.lists(st.lists(st.sampled_from("abc"), max_size=9), min_size=1, max_size=9)


@given(texts, st.integers(1, 7), st.integers(1, 5))
def test_each_unit_is_predicted_once_after_the_unit_before_it(
    lines: list[list[str]], count: int, segment: int
) -> None:
    ids = unit_ids(lines, IDS, UNKNOWN_ID, 2)
    stream = streams_of(ids, count, segment)
    assert stream.target_count == len(ids) - 1 == stream.lengths.sum()
    last: dict[int, int] = {}  # the place after the last unit of each stream
    seen = np.zeros(len(ids), int)
    for indices in steps_of(stream):
        batch = stream.batch(indices)
        assert len({*batch.target("streams")[:, 0].tolist()}) == len(indices) <= count
        read = batch.words.word_ids[batch.tokens.rows]
        for row, example in enumerate(indices.tolist()):
            start, end = stream.starts[example], stream.ends[example]
            place, number = batch.target("streams")[row].tolist()
            # Each segment goes on where the one before it in its stream ended.
            assert number == 0 or last[place] == start
            last[place] = end
            seen[start:end] += 1
            real = batch.tokens.mask[row]
            assert real.sum() == end - start <= segment
            assert (batch.target("units")[row][real] + UNKNOWN_ID).tolist() == [*ids[start:end]]
            assert read[row][real].tolist() == [*ids[start - 1 : end - 1]]
    assert seen.tolist() == [0] + [1] * (len(ids) - 1)


@given(texts)
def test_independent_lines_are_examples_that_begin_after_an_end(lines: list[list[str]]) -> None:
    ids = unit_ids(lines, IDS, UNKNOWN_ID, 2)
    found = lines_of(ids)
    assert found.lengths.tolist() == [len(line) + 1 for line in lines]
    batch = found.batch(np.arange(len(lines)))
    assert "streams" not in batch.targets
    for row, line in enumerate(lines):
        units = [IDS.get(unit, UNKNOWN_ID) for unit in line]
        real = batch.tokens.mask[row]
        assert batch.words.word_ids[batch.tokens.rows][row][real].tolist() == [2, *units]
        assert (batch.target("units")[row][real] + UNKNOWN_ID).tolist() == [*units, 2]
    # All of them count, and padding does not.
    places = batch.target("places")
    assert places.tolist() == np.flatnonzero(batch.tokens.mask).tolist()


@given(st.lists(st.tuples(st.text("ac"), st.text("ab?")), min_size=1, max_size=9), st.randoms())
def test_of_pairs_the_units_after_the_delimiter_count_and_the_end(
    pairs: list[tuple[str, str]], order: random.Random
) -> None:
    ids = {**IDS, "|": 5}
    found = continuations_of(unit_ids([[*a, "|", *b] for a, b in pairs], ids, UNKNOWN_ID, 2), 5)
    assert found.target_count == sum(len(after) + 1 for _, after in pairs)
    rows = order.sample(range(len(pairs)), len(pairs))
    batch = found.batch(rows)
    wanted = batch.target("units").flatten()[batch.target("places")] + UNKNOWN_ID
    assert wanted.tolist() == [
        number
        for pair in rows
        for number in [*(ids.get(unit, UNKNOWN_ID) for unit in pairs[pair][1]), 2]
    ]
    assert len(batch.target("places")) == found.target_count


def test_places_are_found_part_by_part_in_constant_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = np.array([2, 0, 2, 2, 1, 0, 2], np.int32)
    for at_once in (1, 3, 7, 99):
        monkeypatch.setattr(unit_stream, "_IDS_AT_ONCE", at_once)
        for text in (ids, ids[::-1]):
            found = np.concatenate([*places_of(text, 2)])
            assert found.tolist() == [place for place, unit in enumerate(text) if unit == 2]
        assert lines_of(ids).lengths.tolist() == [2, 1, 3]
    monkeypatch.setattr(unit_stream, "_IDS_AT_ONCE", 1 << 10)
    many = np.zeros(1 << 20, np.int32)
    many[::4096] = 2
    tracemalloc.start()
    try:
        assert sum(map(len, places_of(many, 2))) == 256
        assert len(lines_of(many)) == 255
        assert tracemalloc.get_traced_memory()[1] < 1 << 18  # of 4 MB of ids
    finally:
        tracemalloc.stop()
