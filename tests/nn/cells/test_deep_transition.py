"""Cells whose step is deep: how far a gradient comes, and what their parts do alone."""

import pytest
import torch
from cell_options import network_of
from torch import Tensor

from tagkit.nn.recurrence.cell import Network


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def fresh(case: str, hidden: int, seed: int = 2) -> Network:
    torch.manual_seed(seed)
    return network_of(case, 3, hidden)


def reached(case: str, steps: int) -> float:
    """Norm of the gradient of the last state by the first input, over that by the last input.

    The geometric mean over five fresh networks: the products of random matrices vary.
    """
    logs = []
    for seed in range(5):
        inputs = (0.3 * drawn(8, steps, 3)).requires_grad_()
        states, _ = fresh(case, 30, seed)(inputs)
        (gradient,) = torch.autograd.grad(states[:, -1].sum(), inputs)
        logs.append((gradient[:, 0].norm() / gradient[:, -1].norm()).log())
    return float(torch.stack(logs).mean().exp())


def test_the_connection_of_a_step_shortens_the_path_of_a_gradient() -> None:
    assert reached("deep-transition", 60) > 10 * reached("deep-transition, 2, no skip", 60)
    assert reached("deep-transition, 4", 60) > 100 * reached("deep-transition, 4, no skip", 60)


@torch.no_grad()
def test_without_its_inner_layers_the_skip_is_an_elman_network() -> None:
    deep, elman = fresh("deep-transition, 3", 6), fresh("elman", 6)
    inner, inputs = deep.get_parameter("weight_hh"), drawn(2, 9, 3)
    inner[-6:] = 0  # U_K: nothing of the other layers is left, and nothing of the input
    states, _ = deep(inputs)
    assert not states.any()
    state = drawn(1, 2, 6)
    elman.get_parameter("weight_ih_l0").zero_()
    elman.get_parameter("weight_hh_l0").copy_(deep.get_parameter("weight_skip"))
    found, _ = deep(inputs, (state,))
    torch.testing.assert_close(found, elman(inputs, state)[0])


@torch.no_grad()
def test_a_fresh_step_keeps_the_length_of_what_each_of_its_layers_reads() -> None:
    for case in ("deep-transition, 3", "deep-transition, 4, no skip", "recurrent-highway, 3"):
        for matrix in fresh(case, 6).get_parameter("weight_hh").split(6):
            scale = float((matrix @ matrix.t())[0, 0])
            torch.testing.assert_close(matrix @ matrix.t(), scale * torch.eye(6))
            assert scale == pytest.approx(1) or scale == pytest.approx(0.5)
    skip = fresh("deep-transition, 3", 6)
    scales = [float(m.norm() ** 2 / 6) for m in skip.get_parameter("weight_hh").split(6)]
    scales.append(float(skip.get_parameter("weight_skip").norm() ** 2 / 6))
    assert scales == pytest.approx([1, 1, 0.5, 0.5])


def test_closed_gates_of_a_recurrent_highway_pass_state_and_gradient_unchanged() -> None:
    network = fresh("recurrent-highway, 3", 6)
    assert network.get_parameter("bias")[6:].eq(-2).all()
    assert network.get_parameter("bias_deeper")[:, 6:].eq(-2).all()
    assert not network.get_parameter("bias")[:6].any()
    assert not network.get_parameter("bias_deeper")[:, :6].any()
    with torch.no_grad():
        network.get_parameter("bias")[6:] = -1000
        network.get_parameter("bias_deeper")[:, 6:] = -1000
    state = drawn(1, 2, 6).requires_grad_()
    states, _ = network(drawn(2, 50, 3), (state,))
    assert torch.equal(states, state[0].unsqueeze(1).expand(2, 50, 6))
    weights = drawn(2, 6)
    (gradient,) = torch.autograd.grad((states[:, -1] * weights).sum(), state)
    assert torch.equal(gradient[0], weights)
