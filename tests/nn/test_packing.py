"""Packing: the order of steps, and that no token is lost."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils.rnn import pack_padded_sequence

from tagkit.nn.packing import pack


def test_the_first_tokens_of_all_sequences_come_first_those_of_the_longest_before_the_others() -> (
    None
):
    # a0 of row 0; b0 b1 b2 of row 1; c0 c1 of row 2
    mask = np.arange(3) < np.array([[1], [3], [2]])
    found = pack(mask)
    assert found.sizes == [3, 2, 1]
    # b0 c0 a0, b1 c1, b2
    assert found.ahead.tolist() == [3, 6, 0, 4, 7, 5]
    # b2 c1 a0, b1 c0, b0
    assert found.back.tolist() == [5, 7, 0, 4, 6, 3]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 3))
def test_the_order_is_that_of_packed_sequences_of_torch(lengths: list[int], padding: int) -> None:
    time = max(lengths) + padding
    mask = np.arange(time) < np.array(lengths)[:, None]
    found = pack(mask)
    places = torch.arange(len(lengths) * time).view(len(lengths), time)
    lengths.sort(reverse=True)
    order = torch.from_numpy(np.argsort(-mask.sum(1), kind="stable"))
    expected = pack_padded_sequence(places[order], torch.tensor(lengths), batch_first=True)
    assert found.ahead.tolist() == expected.data.tolist()
    assert found.sizes == expected.batch_sizes.tolist()
    assert sorted(found.back.tolist()) == sorted(found.ahead.tolist())
    # Each sequence is read from its last token to its first: the places of the two directions at
    # the same step add up to the same number throughout a sequence.
    firsts = found.ahead // time * time
    ends = mask.sum(1)[found.ahead // time] - 1
    assert (found.ahead + found.back == 2 * firsts + ends).all()
