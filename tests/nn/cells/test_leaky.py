"""Leaking rates: the spectrum, and learned ones that begin with it."""

from dataclasses import replace

import torch
from cell_options import CELL_OPTIONS

from tagkit.nn.cells.leaky import LeakyNetwork


def test_time_scales_go_from_one_token_to_32_in_equal_ratios() -> None:
    rates = LeakyNetwork(3, 100, replace(CELL_OPTIONS, leak="spectrum")).leaking_rates()
    scales = 1 / rates
    assert 1 < float(scales[0]) < 1.02
    assert 31 < float(scales[-1]) < 32
    torch.testing.assert_close(scales[1:] / scales[:-1], torch.full((99,), 32**0.01))


def test_learned_rates_begin_with_the_spectrum_and_are_trained() -> None:
    network = LeakyNetwork(3, 10, replace(CELL_OPTIONS, leak="learned"))
    spectrum = LeakyNetwork(3, 10, replace(CELL_OPTIONS, leak="spectrum")).leaking_rates()
    torch.testing.assert_close(network.leaking_rates(), spectrum)
    assert network.get_parameter("leak_logit").requires_grad
