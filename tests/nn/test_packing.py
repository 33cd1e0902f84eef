"""Packed sequences against those of torch, and against their definition."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils.rnn import pack_padded_sequence

from tagkit.nn.packing import Packing, PaddedPlaces

LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=7)


def test_the_first_tokens_of_all_sequences_come_first_those_of_the_longest_before_the_others() -> (
    None
):
    # a0 of row 0; b0 b1 b2 of row 1; c0 c1 of row 2
    mask = np.arange(3) < np.array([[1], [3], [2]])
    found = PaddedPlaces.of(mask)
    assert found.counts == [3, 2, 1]
    # b0 c0 a0, b1 c1, b2
    assert found.ahead.tolist() == [3, 6, 0, 4, 7, 5]
    # b2 c1 a0, b1 c0, b0
    assert found.back.tolist() == [5, 7, 0, 4, 6, 3]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 3))
def test_places_in_a_padded_batch_are_in_the_order_of_torchs_packed_sequences(
    lengths: list[int], padding: int
) -> None:
    time = max(lengths) + padding
    mask = np.arange(time) < np.array(lengths)[:, None]
    found = PaddedPlaces.of(mask)
    places = torch.arange(len(lengths) * time).view(len(lengths), time)
    lengths.sort(reverse=True)
    order = torch.from_numpy(np.argsort(-mask.sum(1), kind="stable"))
    expected = pack_padded_sequence(places[order], torch.tensor(lengths), batch_first=True)
    assert found.ahead.tolist() == expected.data.tolist()
    assert found.counts == expected.batch_sizes.tolist()
    assert sorted(found.back.tolist()) == sorted(found.ahead.tolist())
    # Each sequence is read from its last token to its first: the places of the two directions at
    # the same step add up to the same number throughout a sequence.
    firsts = found.ahead // time * time
    ends = mask.sum(1)[found.ahead // time] - 1
    assert (found.ahead + found.back == 2 * firsts + ends).all()


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
