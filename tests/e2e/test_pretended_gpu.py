"""The pretended GPU, on which tests of GPUs run where there is none, keeps the rules of one."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from pretended_gpu import pretended_gpu
from says import refuses
from torch import nn

GPU = torch.device("cuda")


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    with pretended_gpu():
        yield


def test_tensors_are_made_there_moved_there_and_brought_back() -> None:
    numbers = torch.arange(6.0).reshape(2, 3)
    for there in (numbers.to(GPU), numbers.cuda(), torch.tensor(numbers.tolist(), device=GPU),
                  torch.zeros(2, 3, device=GPU) + numbers.to(GPU)):  # fmt: skip
        assert there.is_cuda
        assert there.device.type == "cuda"
        assert there.to(GPU) is there
        assert torch.equal(there.cpu(), numbers)
        assert there.tolist() == numbers.tolist()
        assert not there.cpu().is_cuda
    assert there.new_zeros(2).is_cuda
    assert there.new_tensor([1.0]).is_cuda
    assert torch.empty_like(there).is_cuda
    assert float(there[1, 2]) == 5


def test_tensors_of_both_devices_do_not_meet() -> None:
    here, there = torch.ones(3), torch.ones(3, device=GPU)
    rows = torch.tensor([0, 2])
    for wrong in (
        lambda: here + there,
        lambda: torch.cat([here, there]),
        lambda: there.add_(here),
        lambda: torch.where(here > 0, there, there),
        lambda: nn.functional.embedding(rows, torch.ones(3, 2, device=GPU)),
        lambda: here[rows.to(GPU)],
        lambda: nn.Linear(3, 3).to(GPU)(here),
    ):
        with refuses(RuntimeError, "tensors"):
            wrong()
    for array in (there.numpy, lambda: np.asarray(there)):
        with refuses(TypeError, "ensor.cpu", "Tensor"):
            array()
    # Numbers, indices and copies may.
    assert (there * torch.tensor(2.0)).tolist() == [2, 2, 2]
    assert there[rows].is_cuda
    assert there.copy_(4 * here).tolist() == [4, 4, 4]
    assert here.copy_(there).tolist() == [4, 4, 4]


def test_lists_are_indices_there_too() -> None:
    there = torch.zeros(2, 5, device=GPU)
    there[:, [1, 2]] = 3.0
    assert there.tolist() == 2 * [[0, 3, 3, 0, 0]]
    assert torch.arange(5.0, device=GPU)[[1, 4]].tolist() == [1, 4]
    assert there[[True, False]].tolist() == [[0, 3, 3, 0, 0]]


def test_what_is_written_in_place_is_seen_by_every_view() -> None:
    there = torch.zeros(2, 3, device=GPU)
    row = there[1]
    row += 1
    there[0, 1:] = 5
    there.t_()
    assert there.shape == (3, 2)
    assert there.tolist() == [[0, 1], [5, 1], [5, 1]]


def test_gradients_are_those_of_a_cpu() -> None:
    torch.manual_seed(1)
    network, inputs = nn.LSTM(3, 4, bidirectional=True), torch.randn(5, 2, 3)
    (network(inputs)[0] ** 2).sum().backward()
    expected = [parameter.grad for parameter in network.parameters()]
    network.zero_grad()
    network.to(GPU)
    (network(inputs.to(GPU))[0] ** 2).sum().backward()
    for parameter, gradient in zip(network.parameters(), expected, strict=True):
        assert parameter.grad is not None
        assert parameter.grad.is_cuda
        torch.testing.assert_close(parameter.grad.cpu(), gradient)
    # Through a copy, in both directions.
    weight = torch.ones(3, requires_grad=True)
    (2 * (3 * weight.to(GPU)).cpu()).sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [6, 6, 6]


def test_first_states_of_recurrent_layers_have_to_be_contiguous() -> None:
    network = nn.GRU(3, 4).to(GPU)
    states = torch.zeros(4, 2, 1, device=GPU).permute(2, 1, 0)
    inputs = torch.zeros(5, 2, 3, device=GPU)
    with refuses(RuntimeError, "contiguous"):
        network(inputs, states)
    assert network(inputs, states.contiguous())[0].is_cuda
