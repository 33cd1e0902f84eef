"""Packed sequences against those of torch, and against their definition."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils.rnn import pack_padded_sequence

from tagkit.nn.recurrence.packing import Packing, Places

LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=7)


def test_the_first_tokens_of_all_sequences_come_first_those_of_the_longest_before_the_others() -> (
    None
):
    # a0 of row 0; b0 b1 b2 of row 1; c0 c1 of row 2, each row padded to 3 tokens
    found = Places.of(np.array([1, 3, 2]), np.array([0, 3, 6]))
    assert found.counts == [3, 2, 1]
    # b0 c0 a0, b1 c1, b2
    assert found.tokens[:, 0].tolist() == [3, 6, 0, 4, 7, 5]
    # b2 c1 a0, b1 c0, b0
    assert found.tokens[:, 1].tolist() == [5, 7, 0, 4, 6, 3]
    assert found.last.tolist() == [2, 5, 4]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 3))
def test_places_in_a_padded_batch_are_in_the_order_of_torchs_packed_sequences(
    lengths: list[int], padding: int
) -> None:
    time, counts = max(lengths) + padding, np.array(lengths)
    found = Places.of(counts, np.arange(len(lengths)) * time)
    ahead, back = found.tokens.T
    places = torch.arange(len(lengths) * time).view(len(lengths), time)
    lengths.sort(reverse=True)
    order = torch.from_numpy(np.argsort(-counts, kind="stable"))
    expected = pack_padded_sequence(places[order], torch.tensor(lengths), batch_first=True)
    assert ahead.tolist() == expected.data.tolist()
    assert found.counts == expected.batch_sizes.tolist()
    assert sorted(back.tolist()) == sorted(ahead.tolist())
    # Each sequence is read from its last token to its first: the places of the two directions at
    # the same step add up to the same number throughout a sequence.
    firsts = ahead // time * time
    ends = counts[ahead // time] - 1
    assert (ahead + back == 2 * firsts + ends).all()
    # At the last step both directions are at an end of their own sequence.
    assert (ahead[found.last] == np.arange(len(counts)) * time + counts - 1).all()
    assert (back[found.last] == np.arange(len(counts)) * time).all()


@given(LENGTHS)
def test_tokens_are_in_the_order_of_torchs_packed_sequences(lengths: list[int]) -> None:
    packing = Packing.of(np.array(lengths))
    tokens = torch.arange(sum(lengths)).split(lengths)
    padded = torch.nn.utils.rnn.pad_sequence(list(tokens), batch_first=True)
    # Stable, as torch's own sort of equal lengths need not be.
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    expected = pack_padded_sequence(padded[order], torch.tensor(lengths)[order], batch_first=True)
    assert packing.tokens.tolist() == expected.data.tolist()
    assert packing.counts == expected.batch_sizes.tolist()


@given(LENGTHS)
def test_neighbours_mirrored_and_last_tokens_are_where_they_are_said_to_be(
    lengths: list[int],
) -> None:
    packing = Packing.of(np.array(lengths))
    places = [(number, step) for number, length in enumerate(lengths) for step in range(length)]
    packed = [places[token] for token in packing.tokens]
    mirrored = [packed[place] for place in packing.mirrored]
    assert mirrored == [(number, lengths[number] - 1 - step) for number, step in packed]
    later = packed[packing.counts[0] :]
    assert [packed[place] for place in packing.before] == [(n, step - 1) for n, step in later]
    assert [packed[place] for place in packing.last] == [(n, k - 1) for n, k in enumerate(lengths)]
