"""Steps over cached products, against torch's networks and against the search that they serve."""

import pytest
import torch
from cell_options import CELL_OPTIONS
from marks import mostly_slow
from tag_heads import MASK, TAGS, hidden_states, make_head
from torch import nn

from tagkit.config import HeadConfig, allowed
from tagkit.models.tagging.constraints import illegal_steps
from tagkit.nn.cells import CELLS
from tagkit.nn.heads.feedback import FeedbackHead, _Decoding
from tagkit.nn.search.beam import beam_search
from tagkit.nn.search.decoder_steps import STEPS, decoder_steps, greedy


def test_there_are_steps_of_the_cells_that_the_configuration_allows() -> None:
    assert set(allowed(HeadConfig, "feedback_cell")) == set(STEPS)


@pytest.mark.parametrize("arrays", ["tensors", "numpy"])
@pytest.mark.parametrize("cell", STEPS)
@torch.no_grad()
def test_step_by_step_the_scores_are_those_of_the_network_in_one_pass(
    cell: str, arrays: str
) -> None:
    torch.manual_seed(2)
    network, linear = CELLS[cell].build(3 + 2, 6, CELL_OPTIONS), nn.Linear(6 + 3, 4)
    for parameter in network.parameters():  # biases too, which begin at 0
        parameter.normal_()
    states, embedded = torch.randn(2, 5, 3), torch.randn(5, 2)
    after, ends = torch.randn(5, 4), torch.randn(2, 5, 4)
    before = torch.tensor([[0, 4, 2, 2, 1], [0, 1, 3, 0, 4]])
    decoded = network(torch.cat((states, embedded[before]), 2))[0]
    expected = linear(torch.cat((decoded, states), 2)) + after[before] + ends

    steps = decoder_steps(cell, network, linear, embedded, states, after, ends)
    if arrays == "numpy":
        steps = steps.numpy()
    state = steps.begin(2)
    for t in range(5):
        read = before[:, t] if arrays == "tensors" else before[:, t].numpy()
        found, state = steps.advance(steps.of_states[:, t], steps.scores[:, t], read, state)
        torch.testing.assert_close(torch.as_tensor(found), expected[:, t], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scheme", mostly_slow(sorted(TAGS), always=1))
@pytest.mark.parametrize("cell", mostly_slow(STEPS, always=1))
@torch.no_grad()
def test_greedy_search_takes_the_path_of_a_beam_of_one(cell: str, scheme: str) -> None:
    head = make_head("feedback", illegal_steps(TAGS[scheme], scheme), cell=cell, beam=1)
    assert isinstance(head, FeedbackHead)
    states = hidden_states().repeat(20, 1, 1) * 3 * torch.randn(40, 1, 3)
    mask = MASK.repeat(20, 1)
    steps = head._products(states, mask)
    found = greedy(steps, 0, mask)
    assert torch.equal(found, beam_search(_Decoding(steps), mask, 1, 1)[0].squeeze(1))
    assert torch.equal(found, head.decode(states, mask))
    assert len({tuple(path) for path in found.tolist()}) > 3
