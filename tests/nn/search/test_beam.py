"""Beam search over a table of probabilities, against enumeration and against a plain search."""

import itertools
import math

import pytest
import torch
from histories import LENGTHS, MASK, TAGS, History

from tagkit.nn.search.beam import beam_confidence, beam_search, beam_steps


def plain_beam(model: History, row: int, beam: int) -> list[tuple[int, ...]]:
    """The best `beam` beginnings at each token, as the textbooks write it."""
    kept: list[tuple[int, ...]] = [()]
    for _ in range(LENGTHS[row]):
        grown = [(*path, tag) for path in kept for tag in range(TAGS)]
        kept = sorted(grown, key=lambda path: -model.score(row, path))[:beam]
    return kept


@pytest.mark.parametrize("beam", [1, 2, 4, 7])
def test_every_sentence_of_a_batch_is_searched_as_a_plain_beam_search_does(beam: int) -> None:
    for seed in range(5):
        model = History(seed)
        paths, scores = beam_search(model, MASK, beam, beam)
        assert paths.shape == (len(LENGTHS), beam, 4)
        for row, length in enumerate(LENGTHS):
            expected = plain_beam(model, row, beam)
            found = [tuple(path[:length]) for path in paths[row].tolist()]
            assert found[: len(expected)] == expected
            assert scores[row].tolist() == pytest.approx(
                [model.score(row, path) for path in expected] + [-math.inf] * (beam - len(expected))
            )
            assert not paths[row, :, length:].any()


def test_a_beam_of_all_paths_finds_them_all_in_order_and_they_sum_to_one() -> None:
    model = History(9)
    paths, scores = beam_search(model, MASK, 100, 100)
    assert scores.exp().sum(1).tolist() == pytest.approx([1, 1, 1])
    for row, length in enumerate(LENGTHS):
        every = sorted(
            itertools.product(range(TAGS), repeat=length), key=lambda p: -model.score(row, p)
        )
        assert [tuple(p[:length]) for p in paths[row].tolist()][: len(every)] == every


def test_greedy_search_misses_a_path_that_begins_badly_and_a_beam_finds_it() -> None:
    model = History(0)
    table = model.tables[1]
    table[()] = torch.tensor([0.6, 0.4, 1e-9]).log()
    table[(0,)] = torch.tensor([0.4, 0.3, 0.3]).log()  # the best: 0.24
    table[(1,)] = torch.tensor([0.05, 0.9, 0.05]).log()  # the best: 0.36
    assert beam_search(model, MASK, 1, 1)[0][1, 0, :2].tolist() == [0, 0]
    assert beam_search(model, MASK, 2, 1)[0][1, 0, :2].tolist() == [1, 1]


def test_a_path_that_is_kept_is_the_first_hypothesis_however_improbable() -> None:
    model = History(3)
    worst = [
        min(itertools.product(range(TAGS), repeat=n), key=lambda p, r=r: model.score(r, p))
        for r, n in enumerate(LENGTHS)
    ]
    path = torch.tensor([[*tags, 0, 0, 0][:4] for tags in worst])
    steps = list(beam_steps(model, MASK, 4, kept_path=path))
    for t, step in enumerate(steps):
        assert step.tags[:, 0].tolist() == path[:, t].tolist()
        assert not step.parents[:, 0].any()
    for row, tags in enumerate(worst):
        assert float(steps[-1].scores[row, 0]) == pytest.approx(model.score(row, tags))
    # The others are the best without it, and none of them is the path itself.
    others = {path for path in plain_beam(model, 2, 4) if path != worst[2]}
    assert {(int(tag),) for tag in steps[0].tags[2, 1:]} == others


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
