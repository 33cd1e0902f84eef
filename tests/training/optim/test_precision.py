"""Mixed precision."""

import pytest
import torch
from torch import nn

from tagkit.training.optim.precision import autocast, loss_scaler

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("precision", "dtype"), [("fp32", torch.float32), ("bf16", torch.bfloat16)]
)
def test_products_are_made_in_the_precision_of_the_option_and_weights_stay_in_float32(
    precision: str, dtype: torch.dtype
) -> None:
    layer = nn.Linear(2, 2)
    with autocast(CPU, precision):
        assert layer(torch.ones(1, 2)).dtype == dtype
    assert layer.weight.dtype == torch.float32


def test_gradients_can_be_unscaled_before_a_loss_was_scaled() -> None:
    weight = torch.nn.Parameter(torch.ones(2))
    weight.grad = torch.full((2,), 3.0 * 2**16)
    optimizer = torch.optim.SGD([weight])
    scaler = loss_scaler(CPU, "fp16")
    scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [3.0, 3.0]


def test_only_in_fp16_the_loss_is_scaled() -> None:
    loss = torch.tensor(3.0)
    for precision in ("fp32", "bf16"):
        scaler = loss_scaler(CPU, precision)
        assert scaler.scale(loss) is loss
        assert scaler.get_scale() == 1
    assert loss_scaler(CPU, "fp16").scale(loss) > 1000
