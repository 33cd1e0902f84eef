"""Linear chains against enumeration of all paths, against pytorch-crf, and against themselves."""

import itertools
import math
from collections.abc import Iterator

import pytest
import torch
import torchcrf
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tagkit.nn import chain as module
from tagkit.nn.chain import (
    Chain,
    forward_backward,
    log_partition,
    marginals,
    path_score,
    step_log_probs,
    viterbi,
)


def random_chain(
    lengths: list[int], tags: int, seed: int, *, forbid: float = 0.0, scale: float = 1.0
) -> Chain:
    """Random scores in float64; some steps forbidden, tag 0 always allowed."""
    dice = torch.Generator().manual_seed(seed)

    def scores(*shape: int) -> Tensor:
        return scale * torch.randn(*shape, generator=dice, dtype=torch.float64)

    time = max(lengths)
    transitions, start, end = scores(tags, tags), scores(tags), scores(tags)
    for part in (transitions, start, end):
        part[torch.rand(part.shape, generator=dice) < forbid] = -torch.inf
    start[0], end[0] = 0.1, 0.2
    transitions[0, 0] = 0.3
    mask = torch.arange(time) < torch.tensor(lengths)[:, None]
    return Chain(scores(len(lengths), time, tags), transitions, start, end, mask)


def score(chain: Chain, row: int, path: tuple[int, ...]) -> float:
    """The sum of the module's docstring, term by term."""
    total = float(chain.start[path[0]]) + float(chain.end[path[-1]])
    total += sum(float(chain.emissions[row, t, tag]) for t, tag in enumerate(path))
    return total + sum(float(chain.transitions[a, b]) for a, b in itertools.pairwise(path))


def all_paths(chain: Chain, row: int) -> Iterator[tuple[tuple[int, ...], float]]:
    length = int(chain.mask[row].sum())
    for path in itertools.product(range(chain.start.shape[0]), repeat=length):
        yield path, score(chain, row, path)


def log_sum(scores: list[float]) -> float:
    return float(torch.logsumexp(torch.tensor(scores, dtype=torch.float64), 0))


chains = st.builds(
    random_chain,
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.integers(1, 4),
    st.integers(0, 1000),
    forbid=st.sampled_from([0.0, 0.4]),
    scale=st.sampled_from([1.0, 5.0]),
)


@given(chains)
def test_partition_best_path_and_marginals_equal_enumeration(chain: Chain) -> None:
    total, (best, best_score) = log_partition(chain), viterbi(chain)
    probs = marginals(chain)
    for row in range(len(total)):
        paths = dict(all_paths(chain, row))
        log_z = log_sum(list(paths.values()))
        assert float(total[row]) == pytest.approx(log_z, abs=1e-9)
        assert float(best_score[row]) == pytest.approx(max(paths.values()), abs=1e-9)
        length = int(chain.mask[row].sum())
        found = tuple(best[row, :length].tolist())
        assert paths[found] == pytest.approx(max(paths.values()), abs=1e-9)
        assert not best[row, length:].any()
        for t, tag in itertools.product(range(length), range(probs.shape[2])):
            expected = sum(math.exp(s - log_z) for path, s in paths.items() if path[t] == tag)
            assert float(probs[row, t, tag]) == pytest.approx(expected, abs=1e-9)
        assert not probs[row, length:].any()


@given(chains)
def test_steps_multiply_to_the_probability_of_a_whole_path(chain: Chain) -> None:
    best, _ = viterbi(chain)
    messages = forward_backward(chain)
    steps = step_log_probs(chain, messages, best)
    scores, probs = path_score(chain, best), marginals(chain)
    for row in range(len(best)):
        length = int(chain.mask[row].sum())
        log_prob = math.log(float(probs[row, 0, best[row, 0]]))
        for t in range(length - 1):
            log_prob += float(steps[row, t, best[row, t + 1]])
            assert float(steps[row, t].exp().sum()) == pytest.approx(1, abs=1e-9)
        expected = float(scores[row] - messages.log_partition[row])
        assert log_prob == pytest.approx(expected, abs=1e-8)
        assert float(scores[row]) == pytest.approx(
            score(chain, row, tuple(best[row, :length].tolist())), abs=1e-9
        )


@pytest.mark.parametrize("lengths", [[1], [1, 1], [7], [5, 1, 3], [2, 6, 6, 4]])
@pytest.mark.parametrize("tags", [1, 2, 9])
def test_loss_gradients_and_decoding_equal_pytorch_crf(lengths: list[int], tags: int) -> None:
    torch.manual_seed(3)
    crf = torchcrf.CRF(tags, batch_first=True).double()
    emissions = torch.randn(len(lengths), max(lengths), tags, dtype=torch.float64)
    emissions.requires_grad_()
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    gold = torch.randint(tags, mask.shape)
    chain = Chain(emissions, crf.transitions, crf.start_transitions, crf.end_transitions, mask)
    wanted = [emissions, crf.transitions, crf.start_transitions, crf.end_transitions]

    theirs = -crf(emissions, gold, mask=mask, reduction="none")
    ours = log_partition(chain) - path_score(chain, gold)
    torch.testing.assert_close(ours, theirs)
    weights = torch.rand(len(lengths), dtype=torch.float64)
    # With one token there are no steps: autograd calls their gradient unused, ours is zero.
    their_grads = torch.autograd.grad(theirs @ weights, wanted, allow_unused=True)
    our_grads = torch.autograd.grad(ours @ weights, wanted)
    for our_grad, their_grad in zip(our_grads, their_grads, strict=True):
        torch.testing.assert_close(
            our_grad, torch.zeros_like(our_grad) if their_grad is None else their_grad
        )
    paths, _ = viterbi(chain)
    for path, length, their_path in zip(
        paths.tolist(), lengths, crf.decode(emissions, mask=mask), strict=True
    ):
        assert path[:length] == their_path


@pytest.mark.parametrize("forbid", [0.0, 0.3])
def test_scaled_products_equal_sums_of_exponentials(
    forbid: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = random_chain([9, 4, 1, 9], 5, seed=2, forbid=forbid, scale=3)

    def value_and_gradients() -> list[Tensor]:
        parts = [
            part.clone().requires_grad_()
            for part in (chain.emissions, chain.transitions, chain.start, chain.end)
        ]
        total = log_partition(Chain(*parts, chain.mask))
        weights = torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=torch.float64)
        return [total, *torch.autograd.grad(total @ weights, parts)]

    scaled = value_and_gradients()
    monkeypatch.setattr(module, "_SAFE_SPREAD", -1.0)
    monkeypatch.setattr(module, "_scaled_forward", None)  # would fail if it were called
    for ours, exact in zip(scaled, value_and_gradients(), strict=True):
        torch.testing.assert_close(ours, exact)


def test_the_gradient_is_the_derivative() -> None:
    chain = random_chain([3, 1, 2], 3, seed=5)
    parts = [
        part.requires_grad_()
        for part in (chain.emissions, chain.transitions, chain.start, chain.end)
    ]
    assert torch.autograd.gradcheck(
        lambda *scores: log_partition(Chain(*scores, chain.mask)), parts
    )


def test_emissions_of_ten_thousand_are_safe() -> None:
    chain = random_chain([4, 2], 3, seed=6, scale=1e4)
    emissions = chain.emissions.float().requires_grad_()
    single = Chain(emissions, *(p.float() for p in (chain.transitions, chain.start, chain.end)),
                   chain.mask)  # fmt: skip
    total = log_partition(single)
    plain = random_chain([4, 2], 3, seed=6, scale=1e4)
    for row in range(2):
        expected = log_sum([s for _, s in all_paths(plain, row)])
        assert float(total[row].detach()) == pytest.approx(expected, rel=1e-6)
    (gradient,) = torch.autograd.grad(total.sum(), emissions)
    torch.testing.assert_close(gradient, marginals(plain).float())


def test_padding_even_nan_never_leaks() -> None:
    chain = random_chain([4, 2], 3, seed=7)
    spoilt = chain.emissions.clone()
    spoilt[~chain.mask] = torch.nan

    def run(emissions: Tensor) -> list[Tensor]:
        emissions = emissions.clone().requires_grad_()
        transitions = chain.transitions.clone().requires_grad_()
        noisy = Chain(emissions, transitions, chain.start, chain.end, chain.mask)
        gold = torch.zeros_like(chain.mask, dtype=torch.int64)
        loss = (log_partition(noisy) - path_score(noisy, gold)).sum()
        gradients = torch.autograd.grad(loss, (emissions, transitions))
        detached = Chain(emissions.detach(), chain.transitions, chain.start, chain.end, chain.mask)
        return [loss, *gradients, *viterbi(detached), marginals(detached)]

    for clean, noisy in zip(run(chain.emissions), run(spoilt), strict=True):
        torch.testing.assert_close(clean, noisy)


def test_a_sentence_without_a_path_has_probability_zero() -> None:
    chain = random_chain([3, 3], 2, seed=8)
    dead = Chain(chain.emissions, torch.full((2, 2), -torch.inf).double(), chain.start, chain.end,
                 chain.mask)  # fmt: skip
    assert bool((log_partition(dead) < -1e11).all())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_gives_the_numbers_of_a_cpu() -> None:
    chain = random_chain([9, 4, 1, 9], 5, seed=2, forbid=0.3)
    parts = (chain.emissions, chain.transitions, chain.start, chain.end, chain.mask)
    there = Chain(*(part.cuda() for part in parts))
    torch.testing.assert_close(log_partition(there).cpu(), log_partition(chain))
    torch.testing.assert_close(marginals(there).cpu(), marginals(chain))
    assert torch.equal(viterbi(there)[0].cpu(), viterbi(chain)[0])
