"""Heads of taggers with random weights, and the scores of all their paths."""

import itertools

import torch
from cell_options import CELL_OPTIONS
from torch import Tensor

from tagkit.nn.crf.chain import Chain
from tagkit.nn.heads import HEADS
from tagkit.nn.heads.feedback import FeedbackHead
from tagkit.nn.heads.sampling import Sampling
from tagkit.nn.heads.tag_space import FeedbackOptions, StepScores, TagSpace
from tagkit.nn.heads.tagging import ChainHead, Head

TAGS = {
    "iob2": ("O", "B-X", "I-X", "B-Y"),
    "iobes": ("O", "B-X", "E-X", "S-X", "I-X"),
    "bilou": ("O", "B-X", "L-X", "U-X"),
}

# Two sentences, of four tokens and of two.
MASK = torch.tensor([[True, True, True, True], [True, True, False, False]])
GOLD = torch.tensor([[0, 1, 2, 0], [2, 1, 0, 0]])

TEACHER_FORCING = Sampling("none", 0.0, 1)


def hidden_states() -> Tensor:
    """(2, 4, 3) states of these."""
    return 2 * torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(9))


def free(tags: int) -> StepScores:
    """Steps of which none is forbidden."""
    return StepScores(torch.zeros(tags, tags), torch.zeros(tags), torch.zeros(tags))


def make_head(
    kind: str,
    illegal: StepScores,
    *,
    sharing: Tensor | None = None,
    constrain_training: bool = False,
    cell: str = "gru",
    beam: int = 700,
    sampling: Sampling = TEACHER_FORCING,
) -> Head:
    """A head of three inputs, with random weights and bigrams; its beam holds all short paths."""
    torch.manual_seed(4)
    tags = len(illegal.start)
    bigrams = StepScores(torch.randn(tags, tags), torch.randn(tags), torch.randn(tags))
    head = HEADS[kind](
        TagSpace(
            inputs=3, tags=tags, illegal=illegal, sharing=sharing, bigrams=bigrams,
            constrain_training=constrain_training,
            feedback=FeedbackOptions(
                cell=cell, cell_options=CELL_OPTIONS, hidden=5, tag_dim=2, beam=beam,
                sampling=sampling,
            ),
        )
    )  # fmt: skip
    with torch.no_grad():
        for name, parameter in head.named_parameters():
            if not name.startswith("linear."):  # learnt steps begin near zero
                parameter.normal_()
    return head


def scores_of_paths(
    head: Head, states: Tensor, mask: Tensor, row: int
) -> dict[tuple[int, ...], Tensor]:
    """Every path of a sentence with its score, summed term by term; forbidden ones at -inf."""
    if isinstance(head, ChainHead):
        chain = head.chain(states, mask)
        paths = itertools.product(range(len(chain.start)), repeat=int(mask[row].sum()))
        return {path: score(chain, row, path) for path in paths}
    assert isinstance(head, FeedbackHead)
    own = states[row, : int(mask[row].sum())]
    tags = range(head.linear.out_features)
    every = list(itertools.product(tags, repeat=len(own)))
    # What some legal path begins with: elsewhere a tag is forbidden after the tags before it.
    legal = [path for path in every if is_legal(head, path)]
    begun = {path[:end] for path in legal for end in range(1, len(own) + 1)}
    # The decoder reads each path at once, (paths, time); the search reads it token by token.
    before = torch.tensor([[0, *(tag + 1 for tag in path[:-1])] for path in every])
    repeated = own.expand(len(every), *own.shape)
    decoded = head.decoder(torch.cat((repeated, head.embedding(before)), 2))[0]
    scores = head.linear(torch.cat((decoded, repeated), 2))  # (paths, time, tags)
    allowed = [[[(*path[:t], tag) in begun for tag in tags] for t in range(len(own))]
               for path in every]  # fmt: skip
    log_probs = scores.masked_fill(~torch.tensor(allowed), -torch.inf).log_softmax(2)
    totals = log_probs.gather(2, torch.tensor(every).unsqueeze(2)).sum((1, 2))
    never = totals.new_tensor(-torch.inf)
    kept = set(legal)
    return {
        path: total if path in kept else never for path, total in zip(every, totals, strict=True)
    }


def is_legal(head: Head, path: tuple[int, ...]) -> bool:
    """Whether no step of a path is forbidden, nor its start or end."""
    illegal = head.illegal_transitions.tolist()
    steps = [illegal[a][b] for a, b in itertools.pairwise(path)]
    ends = [head.illegal_start.tolist()[path[0]], head.illegal_end.tolist()[path[-1]]]
    return not any(steps + ends)  # minus infinity, or 0


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
