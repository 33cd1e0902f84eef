"""Zeros on padding, reversal within each length, and the texts of the mask's errors."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from says import Says, refuses
from torch.nn.utils.rnn import pack_padded_sequence

from tagkit.nn.padding import Packing, Places, check_mask, reverse_each, zero_padding

LENGTHS = (5, 1, 3, 4)
MASK = torch.arange(5) < torch.tensor(LENGTHS).unsqueeze(1)


def test_padding_is_zero_even_where_it_was_nan_and_so_is_its_gradient() -> None:
    drawn = torch.randn(4, 5, 3, generator=torch.Generator().manual_seed(1))
    spoilt = drawn.masked_fill(~MASK.unsqueeze(2), torch.nan).requires_grad_()
    zeroed = zero_padding(spoilt, MASK)
    assert torch.equal(zeroed[MASK], drawn[MASK])
    assert not zeroed[~MASK].any()
    zeroed.square().sum().backward()
    assert spoilt.grad is not None
    assert torch.equal(spoilt.grad[MASK], 2 * drawn[MASK])
    assert not spoilt.grad[~MASK].any()


def test_reversal_stays_within_each_sentence_and_undoes_itself() -> None:
    inputs = torch.randn(4, 5, 3, generator=torch.Generator().manual_seed(1))
    backwards = reverse_each(inputs, MASK)
    for row, length in enumerate(LENGTHS):
        assert torch.equal(backwards[row, :length], inputs[row, :length].flip(0))
        assert torch.equal(backwards[row, length:], inputs[row, length:])
    assert torch.equal(reverse_each(backwards, MASK), inputs)
    ids = torch.arange(20).view(4, 5)
    assert reverse_each(ids, MASK)[2].tolist() == [12, 11, 10, 13, 14]


def test_the_gradient_of_a_reversal_is_reversed() -> None:
    inputs = torch.zeros(4, 5, 2, requires_grad=True)
    weights = torch.randn(4, 5, 2, generator=torch.Generator().manual_seed(2))
    (reverse_each(inputs, MASK) * weights).sum().backward()
    assert inputs.grad is not None
    assert torch.equal(inputs.grad, reverse_each(weights, MASK))


def changed(row: int, column: int, value: bool) -> torch.Tensor:
    mask = MASK.clone()
    mask[row, column] = value
    return mask


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (MASK[:, :4], Says("(4, 5)", "(4, 4)")),
        (MASK.byte(), Says("torch.bool", "torch.uint8")),
        (changed(1, 0, False), Says("row 1", "column 0")),
        (changed(2, 1, False), Says("row 2", "column 1", "column 2")),
        (changed(1, 4, True), Says("row 1", "column 3", "column 4")),
        (~MASK, Says("row 0", "column 0")),
    ],
)  # fmt: skip
def test_another_mask_is_refused_with_what_was_found_and_expected(
    mask: torch.Tensor, message: Says
) -> None:
    with refuses(ValueError, "mask: ", message):
        check_mask(mask, 4, 5)


@pytest.mark.parametrize("mask", [MASK, torch.ones(3, 1, dtype=torch.bool), MASK[:0]])
def test_masks_that_are_padded_on_the_right_pass(mask: torch.Tensor) -> None:
    check_mask(mask, *mask.shape)


MANY_LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=7)


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


@given(MANY_LENGTHS)
def test_tokens_are_in_the_order_of_torchs_packed_sequences(lengths: list[int]) -> None:
    packing = Packing.of(np.array(lengths))
    tokens = torch.arange(sum(lengths)).split(lengths)
    padded = torch.nn.utils.rnn.pad_sequence(list(tokens), batch_first=True)
    # Stable, as torch's own sort of equal lengths need not be.
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    expected = pack_padded_sequence(padded[order], torch.tensor(lengths)[order], batch_first=True)
    assert packing.tokens.tolist() == expected.data.tolist()
    assert packing.counts == expected.batch_sizes.tolist()


@given(MANY_LENGTHS)
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
