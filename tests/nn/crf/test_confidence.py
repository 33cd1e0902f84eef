"""Factors of the probability of a span, against enumeration of all paths."""

import itertools
import math

import numpy as np
import pytest
import torch

from tagkit.nn.crf import confidence as module
from tagkit.nn.crf.chain import Chain, viterbi
from tagkit.nn.crf.confidence import span_confidence

# Tags O, B, I: I continues the span of B and of I, and nothing else says where it ends.
CONTINUATION = torch.tensor([-1, 2, 2])
MASK = torch.tensor([[True] * 4, [True, True, False, False]])


def drawn(seed: int) -> Chain:
    generator = torch.Generator().manual_seed(seed)

    def scores(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    return Chain(scores(2, 4, 3), scores(3, 3), scores(3), scores(3), MASK)


def shares(chain: Chain, row: int, temperature: float = 1) -> dict[tuple[int, ...], float]:
    """Every path of a sentence with its probability, of its whole score over the temperature."""
    length = int(MASK[row].sum())
    found = {}
    for path in itertools.product(range(3), repeat=length):
        score = float(chain.start[path[0]] + chain.end[path[-1]])
        score += sum(float(chain.emissions[row, t, tag]) for t, tag in enumerate(path))
        score += sum(float(chain.transitions[a, b]) for a, b in itertools.pairwise(path))
        found[path] = math.exp(score / temperature)
    total = sum(found.values())
    return {path: share / total for path, share in found.items()}


@pytest.mark.parametrize(("seed", "temperature"), [(0, 1), (1, 1), (2, 1), (3, 2.5), (4, 0.4)])
def test_each_factor_is_a_ratio_of_sums_over_paths(seed: int, temperature: float) -> None:
    chain = drawn(seed)
    best, _ = viterbi(chain)
    found = span_confidence(chain.at_temperature(temperature), best, CONTINUATION)
    for row, length in enumerate((4, 2)):
        paths, tags = shares(chain, row, temperature), best[row].tolist()

        def mass(at: dict[int, int], paths: dict[tuple[int, ...], float] = paths) -> float:
            return sum(p for path, p in paths.items() if all(path[t] == at[t] for t in at))

        for t in range(length):
            here = {t: tags[t]}
            assert float(found.probs[row, t]) == pytest.approx(mass(here))
            before = {t - 1: tags[t - 1]} if t else {}
            expected = math.log(mass({**before, **here}) / mass(before))
            assert float(found.step_log_probs[row, t]) == pytest.approx(expected)
            continued = 0.0
            if t + 1 < length and tags[t]:
                continued = mass({**here, t + 1: 2}) / mass(here)
            assert float(found.continuation_prob[row, t]) == pytest.approx(continued)


@pytest.mark.parametrize("extreme", [1.0, 1e4])
def test_with_forbidden_steps_scaled_products_and_logarithms_agree(extreme: float) -> None:
    chain = drawn(7)
    chain.emissions[1] *= extreme  # of one sentence of two
    chain.start[2] = chain.transitions[0, 2] = -torch.inf
    best = viterbi(chain)[0].numpy().T
    following = np.array([1, 0, 2])[best[:-1]]
    found, exact = (take(chain, best, following) for take in (module._factors, module._log_factors))
    for part in ("here", "taken", "continued"):
        mask = (MASK if part == "here" else MASK[:, 1:]).numpy().T
        one, other = (np.exp(getattr(factors, part)[mask]) for factors in (found, exact))
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def test_a_path_that_is_impossible_overflows_nowhere() -> None:
    chain = drawn(8)
    chain.end[1] = -torch.inf  # gold tags may end so all the same
    found = span_confidence(chain, torch.ones(2, 4, dtype=torch.int64), CONTINUATION)
    assert found.probs[0, 3] == found.probs[1, 1] == 0
    assert not found.continuation_prob[~MASK].any()


def test_where_tags_say_where_spans_end_nothing_continues() -> None:
    chain = drawn(5)
    best, _ = viterbi(chain)
    found = span_confidence(chain, best, torch.full((3,), -1))
    assert not found.continuation_prob.any()
