"""The memory of a neural Turing machine at its beginning, from any state, and in few bits."""

from dataclasses import replace

import torch
from cell_options import CELL_OPTIONS, state_tensors
from torch import Tensor

from tagkit.nn.cells import CELLS
from tagkit.nn.recurrence.cell import Network

SLOTS, WIDTH, HEADS, HIDDEN = 5, 2, 3, 4


def ntm(seed: int = 1) -> Network:
    torch.manual_seed(seed)
    options = replace(CELL_OPTIONS, heads=HEADS, memory=(SLOTS, WIDTH))
    return CELLS["ntm"].build(3, HIDDEN, options)


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def zeros(batch: int) -> tuple[Tensor, ...]:
    sizes = (HIDDEN, HIDDEN, HEADS * WIDTH, 2 * HEADS * SLOTS, SLOTS * WIDTH)
    return tuple(torch.zeros(1, batch, size) for size in sizes)


def test_a_state_of_zeros_is_the_beginning() -> None:
    network, inputs = ntm(), drawn(2, 7, 3)
    assert torch.equal(network(inputs, zeros(2))[0], network(inputs)[0])


def test_weights_of_every_head_are_a_distribution_that_begins_at_slot_0() -> None:
    state = state_tensors(ntm()(drawn(2, 40, 3))[1])
    weights = state[3].view(2, 2 * HEADS, SLOTS) + torch.eye(SLOTS)[0]
    assert bool((weights >= 0).all())
    torch.testing.assert_close(weights.sum(2), torch.ones(2, 2 * HEADS))


def test_a_state_that_no_step_has_left_gives_numbers() -> None:
    # A decoder begins with what the encoder gives for whatever has as many values as its layers.
    network = ntm()
    states, after = network(drawn(2, 7, 3), tuple(-5 * torch.ones_like(one) for one in zeros(2)))
    assert all(bool(one.isfinite().all()) for one in (states, *state_tensors(after)))


def test_a_memory_keeps_its_bits_where_products_have_fewer() -> None:
    network, inputs = ntm(), drawn(2, 7, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        states, after = network(inputs)
    assert states.dtype == torch.bfloat16
    assert {one.dtype for one in state_tensors(after)} == {torch.float32}
    torch.testing.assert_close(states.float(), network(inputs)[0], rtol=0.02, atol=0.02)


def test_sharpening_neither_vanishes_nor_divides_by_zero() -> None:
    network = ntm()
    with torch.no_grad():
        network.get_parameter("bias_heads").fill_(200)  # of a sharpness of 201: 0.2 ** 201 is 0
    states, _ = network(drawn(2, 30, 3))
    states.sum().backward()
    assert bool(states.isfinite().all())
    assert all(bool(one.grad.isfinite().all()) for one in network.parameters())  # type: ignore[union-attr]
