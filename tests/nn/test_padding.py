"""Zeros on padding, reversal within each length, and the texts of the mask's errors."""

import pytest
import torch
from says import Says, refuses

from tagkit.nn.padding import check_mask, reverse_each, zero_padding

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
