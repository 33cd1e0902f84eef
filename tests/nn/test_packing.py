"""Packed sequences against torch's, and against their definition."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils.rnn import pack_padded_sequence

from tagkit.nn.packing import Packing

LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=7)


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
