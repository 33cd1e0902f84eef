"""Probabilities of tags and spans from a beam; exact ones are in `tests/e2e`, for every head."""

import itertools

import pytest
import torch
from histories import LENGTHS, MASK, TAGS, History

from tagkit.nn.search.beam_confidence import beam_confidence

# Tag 1 begins a span that tag 2 continues, as B and I do.
CONTINUATION = torch.tensor([-1, 2, 2])
PATH = torch.tensor([[1, 2, 0, 1], [1, 2, 0, 0], [1, 0, 0, 0]])


def probability(model: History, row: int, wanted: dict[int, int], ends: int) -> float:
    """Of all paths with these tags, and without a continuation at `ends`."""
    every = itertools.product(range(TAGS), repeat=LENGTHS[row])
    return sum(
        torch.tensor(model.score(row, path)).exp().item()
        for path in every
        if all(path[t] == tag for t, tag in wanted.items())
        and (ends >= LENGTHS[row] or path[ends] != 2)
    )


def test_a_beam_of_all_paths_gives_exact_probabilities_of_tags_and_spans() -> None:
    for seed in range(5):
        model = History(seed)
        found = beam_confidence(model, MASK, 100, PATH, CONTINUATION)
        for row, length in enumerate(LENGTHS):
            for t in range(length):
                expected = probability(model, row, {t: int(PATH[row, t])}, ends=length)
                assert float(found.probs[row, t]) == pytest.approx(expected)
            end = min(2, length)
            wanted = {t: int(PATH[row, t]) for t in range(end)}
            assert found.span_probs(row, [(0, end)]) == pytest.approx(
                [probability(model, row, wanted, ends=end)]
            )
        assert found.span_probs(0, [(3, 4), (0, 2)]) == pytest.approx(
            [probability(model, 0, {3: 1}, ends=4), probability(model, 0, {0: 1, 1: 2}, ends=2)]
        )


def test_a_beam_of_one_has_the_probabilities_of_the_path_itself_step_by_step() -> None:
    model = History(1)
    found = beam_confidence(model, MASK, 1, PATH, CONTINUATION)
    path = tuple(PATH[0].tolist())
    for t in range(4):
        expected = model.tables[0][path[:t]][path[t]].exp()
        assert float(found.probs[0, t]) == pytest.approx(float(expected))


def test_a_wider_beam_is_nearer_to_the_exact_probabilities() -> None:
    errors = {1: 0.0, 3: 0.0, 9: 0.0, 27: 0.0}
    for beam in errors:
        for seed in range(8):
            model = History(seed)
            exact = beam_confidence(model, MASK, 100, PATH, CONTINUATION).probs
            found = beam_confidence(model, MASK, beam, PATH, CONTINUATION).probs
            errors[beam] += float((found - exact)[0].abs().sum())
    assert errors[27] == pytest.approx(0, abs=1e-9)
    assert errors[1] > errors[3] > errors[9] > errors[27]


def test_a_path_far_less_probable_than_the_beam_still_has_numbers() -> None:
    model = History(2)
    for table in model.tables:
        for before in table:
            table[before] = torch.tensor([0.0, -500.0, -500.0])
    found = beam_confidence(model, MASK, 4, PATH, CONTINUATION)
    (span,) = found.span_probs(0, [(0, 2)])
    assert 0 <= span < 1e-100
    assert torch.isfinite(found.probs[MASK]).all()
