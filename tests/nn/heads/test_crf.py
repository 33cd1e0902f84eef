"""The CRF head: its loss against enumeration, and against pytorch-crf."""

import math

import pytest
import torch
from tag_heads import GOLD, MASK, TAGS, free, hidden_states, make_head, path_scores
from torch import Tensor

from tagkit.models.tagging.tag_head import illegal_steps
from tagkit.nn.heads.crf import CrfHead
from tagkit.text.scheme_detection import illegal_count


@pytest.fixture
def states() -> Tensor:
    return hidden_states()


@torch.no_grad()
def test_the_crf_loss_is_the_log_probability_of_the_gold_path(states: Tensor) -> None:
    head = make_head("crf", free(3))
    total, count = head.loss(states, MASK, GOLD)
    expected = 0.0
    for row, length in enumerate((4, 2)):
        scores = path_scores(head.chain(states, MASK), row)
        gold = scores[tuple(GOLD[row, :length].tolist())]
        expected += math.log(sum(math.exp(s) for s in scores.values())) - gold
    assert float(total) == pytest.approx(expected, rel=1e-5)
    assert int(count) == 6


@torch.no_grad()
def test_the_crf_head_is_pytorch_crf_over_its_own_emissions(states: Tensor) -> None:
    head = make_head("crf", free(3))
    assert isinstance(head, CrfHead)
    emissions = head.linear(states)
    total, _ = head.loss(states, MASK, GOLD)
    torch.testing.assert_close(total, -head.crf(emissions, GOLD, mask=MASK))
    paths = head.decode(states, MASK).tolist()
    assert [paths[0], paths[1][:2]] == head.crf.decode(emissions, mask=MASK)


@torch.no_grad()
def test_constrained_training_sums_over_legal_paths_alone(states: Tensor) -> None:
    tags = TAGS["iobes"]
    head = make_head("crf", illegal_steps(tags, "iobes"), constrain_training=True)
    gold = torch.tensor([[1, 2, 0, 3], [0, 3, 0, 0]])  # B E O S, O S
    total, _ = head.loss(states, MASK, gold)
    loose = make_head("crf", free(len(tags)))  # of the same weights
    expected = 0.0
    for row, length in enumerate((4, 2)):
        legal = {
            path: score
            for path, score in path_scores(loose.chain(states, MASK), row).items()
            if illegal_count([[tags[i] for i in path]], "iobes") == 0
        }
        path = tuple(gold[row, :length].tolist())
        expected += math.log(sum(math.exp(s) for s in legal.values())) - legal[path]
    assert float(total) == pytest.approx(expected, rel=1e-5)
