"""Heads of taggers with random weights, and the scores of all their paths."""

import itertools

import torch
from torch import Tensor

from tagkit.nn.crf.chain import Chain
from tagkit.nn.heads import HEADS
from tagkit.nn.heads.tagging import Head, StepScores, TagSpace

TAGS = {
    "iob2": ("O", "B-X", "I-X", "B-Y"),
    "iobes": ("O", "B-X", "E-X", "S-X", "I-X"),
    "bilou": ("O", "B-X", "L-X", "U-X"),
}

# Two sentences, of four tokens and of two.
MASK = torch.tensor([[True, True, True, True], [True, True, False, False]])
GOLD = torch.tensor([[0, 1, 2, 0], [2, 1, 0, 0]])


def hidden_states() -> Tensor:
    """(2, 4, 3) states of these."""
    return 2 * torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(9))


def free(tags: int) -> StepScores:
    """Steps of which none is forbidden."""
    return StepScores(torch.zeros(tags, tags), torch.zeros(tags), torch.zeros(tags))


def make_head(kind: str, illegal: StepScores, *, constrain_training: bool = False) -> Head:
    """A head of three inputs, with random weights and bigrams."""
    torch.manual_seed(4)
    tags = len(illegal.start)
    bigrams = StepScores(torch.randn(tags, tags), torch.randn(tags), torch.randn(tags))
    head = HEADS[kind](
        TagSpace(
            inputs=3, tags=tags, illegal=illegal, bigrams=bigrams,
            constrain_training=constrain_training,
        )
    )  # fmt: skip
    with torch.no_grad():
        for name, parameter in head.named_parameters():
            if not name.startswith("linear."):  # learnt steps begin near zero
                parameter.normal_()
    return head


def path_scores(chain: Chain, row: int) -> dict[tuple[int, ...], float]:
    """Every path of a sentence with its score, summed term by term."""
    length, tags = int(chain.mask[row].sum()), len(chain.start)
    found = {}
    for path in itertools.product(range(tags), repeat=length):
        found[path] = float(score(chain, row, path))
    return found


def score(chain: Chain, row: int, path: tuple[int, ...]) -> Tensor:
    """One path's score, term by term."""
    total = chain.start[path[0]] + chain.end[path[-1]]
    total = total + sum(chain.emissions[row, t, tag] for t, tag in enumerate(path))
    return total + sum(chain.transitions[a, b] for a, b in itertools.pairwise(path))
