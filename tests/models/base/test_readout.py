"""Read-outs of heads: what ridge regression learns from, and the scales of its scores."""

import pytest
import torch
from torch import Tensor

from tagkit.features.batching.batch import Batch, Tokens, Words
from tagkit.models.base.readout import ClassReadout, Readout, ReadoutBatch, TagReadout, fit_scales
from tagkit.nn.heads import HEADS
from tagkit.nn.heads.classification import ClassHead
from tagkit.nn.heads.pooling import MeanPooling
from tagkit.nn.heads.ridge import Solution
from tagkit.nn.heads.sampling import Sampling
from tagkit.nn.heads.tag_space import FeedbackOptions, StepScores, TagSpace
from tagkit.nn.heads.tagging import ChainHead
from tagkit.nn.heads.viterbi import estimate_bigrams

INPUTS, TAGS = 4, 3
LENGTHS = (5, 2, 3)
PATHS = [[0, 1, 2, 0, 1], [0, 1], [2, 0, 1]]


def steps(value: float = 0.0) -> StepScores:
    return StepScores(torch.full((TAGS, TAGS), value), torch.zeros(TAGS), torch.zeros(TAGS))


def tag_readout(kind: str) -> TagReadout:
    bigrams = estimate_bigrams(PATHS, TAGS)
    options = FeedbackOptions("gru", None, 2, 2, 1, Sampling("none", 0.0, 1))  # type: ignore[arg-type]
    head = HEADS[kind](TagSpace(INPUTS, TAGS, steps(), None, bigrams, False, options))
    assert isinstance(head, ChainHead)
    return TagReadout(head, bigrams)


def class_readout(*, several: bool) -> ClassReadout:
    weights = torch.tensor([1.0, 2.0, 0.5])
    return ClassReadout(
        ClassHead(
            pooling=MeanPooling(INPUTS), hidden=(), activation="relu", dropout=0.3, classes=TAGS,
            several=several, label_smoothing=0.0, class_weights=weights,
        ).eval()
    )  # fmt: skip


def batch(weights: Tensor | None = None) -> Batch:
    time = max(LENGTHS)
    mask = torch.tensor([[at < length for at in range(time)] for length in LENGTHS])
    tags = torch.zeros(3, time, dtype=torch.int64)
    for row, path in enumerate(PATHS):
        tags[row, : len(path)] = torch.tensor(path)
    empty = torch.zeros(0, dtype=torch.int64)
    return Batch(
        words=Words(empty, empty, (), empty),
        tokens=Tokens(tags, mask, ()),
        targets={"tags": tags, "classes": torch.eye(TAGS).bool()},
        weights=weights,
    )


def states(seed: int = 1) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(3, 5, INPUTS, generator=generator), torch.zeros(3, INPUTS)


def test_rows_are_the_real_tokens_with_the_weights_of_sentence_and_tag() -> None:
    readout, own = tag_readout("softmax"), states()[0]
    readout.head.tag_weights = torch.tensor([1.0, 3.0, 5.0])
    rows = readout.rows(readout.examples(own, own[:, 0], batch(torch.tensor([1.0, 2.0, 0.5]))))
    real = [(row, at) for row, path in enumerate(PATHS) for at in range(len(path))]
    assert torch.equal(rows.states, torch.stack([own[place] for place in real]))
    gold = [PATHS[row][at] for row, at in real]
    assert rows.targets.int().argmax(1).tolist() == gold
    assert rows.targets.sum(1).tolist() == [1] * 10
    assert rows.weights is not None
    of_tags = (1.0, 3.0, 5.0)
    expected = [(1.0, 2.0, 0.5)[row] * of_tags[PATHS[row][at]] for row, at in real]
    assert rows.weights.tolist() == expected


@pytest.mark.parametrize(
    ("several", "weights"), [(False, [2.0, 2.0, 2.0]), (True, [2.0, 1.0, 4.0])]
)
def test_rows_of_texts_are_pooled_and_weigh_as_their_class(
    several: bool, weights: list[float]
) -> None:
    own, final = states()
    readout = class_readout(several=several)
    rows = readout.rows(readout.examples(own, final, batch(torch.tensor([2.0, 1.0, 4.0]))))
    means = torch.stack([own[row, :length].mean(0) for row, length in enumerate(LENGTHS)])
    torch.testing.assert_close(rows.states, means)
    assert torch.equal(rows.targets, torch.eye(3).bool())
    assert rows.weights is not None
    assert rows.weights.tolist() == weights


def examples_of(readout: Readout) -> list[ReadoutBatch]:
    return [readout.examples(*states(seed), batch()) for seed in (1, 2)]


READOUTS = {
    "crf": lambda: tag_readout("crf"),
    "softmax": lambda: tag_readout("softmax"),
    "viterbi": lambda: tag_readout("viterbi"),
    "class": lambda: class_readout(several=False),
    "classes": lambda: class_readout(several=True),
}


@pytest.mark.parametrize("name", READOUTS)
def test_the_scales_have_the_smallest_loss_of_the_head_that_they_scale(name: str) -> None:
    readout = READOUTS[name]()
    generator = torch.Generator().manual_seed(3)
    weights = torch.randn(INPUTS, TAGS, generator=generator).double()
    solution = Solution(weights, torch.tensor([0.5, -0.5, 0.0]).double())
    readout.place(solution)
    examples = examples_of(readout)
    # Targets that the scores explain for the most part, so that the best scale is above 0.
    for each in examples:
        scores = readout.linear(each.inputs)
        best = scores.argmax(-1)
        if name.startswith("class"):
            each.targets.copy_(torch.nn.functional.one_hot(best, TAGS).bool())
            each.targets[0] = torch.tensor([True, False, False])
        else:
            each.targets[:, ::2] = best[:, ::2]
            each.targets[~each.mask] = 0
    scales = fit_scales(readout, examples)
    assert len(scales) == readout.scales == (2 if name == "crf" else 1)
    assert (scales > 0).all()

    @torch.no_grad()
    def loss(factors: Tensor) -> float:
        """By the head itself, with its own weights."""
        readout.place(solution)
        readout.scale(factors)
        total = 0.0
        for each, own in zip(examples, (states(1), states(2)), strict=True):
            head = readout.head  # type: ignore[attr-defined]
            arguments = (own[0], own[1]) if name.startswith("class") else (own[0],)
            total += float(head.loss(*arguments, each.mask, each.targets)[0])
        return total

    least = loss(scales)
    for number in range(len(scales)):
        for factor in (0.9, 1.1):
            other = scales.clone()
            other[number] *= factor
            assert loss(other) >= least - 1e-4, (number, factor)
    assert loss(torch.ones_like(scales) * 40) > least + 1e-2


def test_the_transitions_of_a_crf_are_the_scaled_bigrams() -> None:
    readout, bigrams = tag_readout("crf"), estimate_bigrams(PATHS, TAGS)
    readout.place(Solution(torch.ones(INPUTS, TAGS).double(), torch.zeros(TAGS).double()))
    readout.scale(torch.tensor([3.0, 0.5]))
    head = readout.head
    torch.testing.assert_close(head.get_parameter("crf.transitions"), bigrams.transitions / 2)
    torch.testing.assert_close(head.get_parameter("crf.start_transitions"), bigrams.start / 2)
    torch.testing.assert_close(head.get_parameter("crf.end_transitions"), bigrams.end / 2)
    assert torch.equal(head.linear.weight, torch.full((TAGS, INPUTS), 3.0))
