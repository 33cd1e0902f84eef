"""Linear chains against enumeration of all paths, against pytorch-crf, and against themselves."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import torch
import torchcrf
from hypothesis import given
from hypothesis import strategies as st
from marginals import marginals
from says import Says, refuses
from torch import Tensor

from tagkit.nn.crf import chain as chain_module
from tagkit.nn.crf import partition, scaled
from tagkit.nn.crf.chain import Chain, in_double, path_score, viterbi
from tagkit.nn.crf.confidence import span_confidence
from tagkit.nn.crf.log_space import forward_backward, step_log_probs
from tagkit.nn.crf.n_best import n_best
from tagkit.nn.crf.partition import log_partition, tree_partition
from tagkit.nn.crf.weighted_loss import weighted_loss


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
def test_a_sentence_has_the_same_best_path_and_score_alone_bit_for_bit(chain: Chain) -> None:
    best, best_score = viterbi(chain)
    for row, length in enumerate(chain.mask.sum(1).tolist()):
        alone = Chain(
            chain.emissions[row : row + 1, :length],
            chain.transitions,
            chain.start,
            chain.end,
            chain.mask[row : row + 1, :length],
        )
        path, path_total = viterbi(alone)
        assert torch.equal(path[0], best[row, :length])
        assert torch.equal(path_total[0], best_score[row])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("lengths", [[3], [3, 2]])
def test_scores_of_every_precision_have_a_best_path_and_stay_as_they_are(
    lengths: list[int], dtype: torch.dtype
) -> None:
    chain = random_chain(lengths, 3, 7)
    parts = {
        name: getattr(chain, name).to(dtype)
        for name in ("emissions", "transitions", "start", "end")
    }
    coarse = replace(chain, **parts)
    exact = replace(chain, **{name: part.double() for name, part in parts.items()})
    paths, scores = viterbi(coarse)
    assert all(map(torch.equal, (paths, scores), viterbi(exact)))
    assert torch.equal(coarse.emissions, exact.emissions.to(dtype))
    assert torch.equal(exact.emissions, parts["emissions"].double())


@given(chains, st.integers(0, 9), st.sampled_from([0.0, 0.3, 0.5, 0.9]))
def test_a_product_has_the_probabilities_of_both_to_their_shares_and_no_path_that_one_forbids(
    chain: Chain, seed: int, share: float
) -> None:
    lengths, tags = chain.mask.sum(1).tolist(), len(chain.start)
    other = random_chain(lengths, tags, seed)
    product = chain.multiplied(other, share)
    for row in range(len(lengths)):
        of_both = [dict(all_paths(each, row)) for each in (chain, other, product)]
        for path, found in of_both[2].items():
            kept = (1 - share) * of_both[0][path]
            expected = kept + share * of_both[1][path] if share else kept
            assert found == pytest.approx(expected, abs=1e-9)


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


@given(chains, st.integers(0, 1000))
def test_scores_and_steps_of_any_path_equal_enumeration(chain: Chain, seed: int) -> None:
    tags = len(chain.start)
    dice = torch.Generator().manual_seed(seed)
    given = torch.randint(tags, chain.mask.shape, generator=dice)
    scores, steps = path_score(chain, given), step_log_probs(chain, forward_backward(chain), given)
    for row in range(len(given)):
        length = int(chain.mask[row].sum())
        path = tuple(given[row, :length].tolist())
        paths = dict(all_paths(chain, row))
        assert float(scores[row]) == pytest.approx(paths[path], abs=1e-9)
        log_z = log_sum(list(paths.values()))
        for t in range(length - 1):
            # joint[b]: probability of path[t] at t and b behind it
            joint = [0.0] * tags
            for other, total in paths.items():
                if other[t] == path[t]:
                    joint[other[t + 1]] += math.exp(total - log_z)
            if sum(joint) < 1e-12:
                continue  # a tag that cannot be here: no step out of it has a probability
            for after in range(tags):
                found = math.exp(float(steps[row, t, after]))
                assert found == pytest.approx(joint[after] / sum(joint), abs=1e-8)


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


def test_single_precision_gives_the_loss_and_gradients_of_pytorch_crf() -> None:
    torch.manual_seed(11)
    crf = torchcrf.CRF(7, batch_first=True)
    emissions = torch.randn(3, 6, 7, requires_grad=True)
    mask = torch.arange(6) < torch.tensor([6, 1, 4])[:, None]
    gold = torch.randint(7, mask.shape)
    chain = Chain(emissions, crf.transitions, crf.start_transitions, crf.end_transitions, mask)
    wanted = [emissions, crf.transitions, crf.start_transitions, crf.end_transitions]
    theirs = -crf(emissions, gold, mask=mask)
    ours = (log_partition(chain) - path_score(chain, gold)).sum()
    torch.testing.assert_close(ours, theirs)
    for our_grad, their_grad in zip(
        torch.autograd.grad(ours, wanted), torch.autograd.grad(theirs, wanted), strict=True
    ):
        torch.testing.assert_close(our_grad, their_grad)


# Two ways to one sum.


@pytest.fixture(params=["scaled products", "sums of exponentials"])
def road(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The way the log-partition must be found; a call of the other one fails."""
    take(request.param, monkeypatch)
    return str(request.param)


def take(road: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if road == "scaled products":
        monkeypatch.setattr(partition, "log_messages", None)
    else:
        monkeypatch.setattr(scaled, "SAFE_SPREAD", -1.0)
        monkeypatch.setattr(partition, "scaled_counts", None)


def value_and_gradients(chain: Chain, weights: list[float]) -> list[Tensor]:
    parts = [
        part.clone().requires_grad_()
        for part in (chain.emissions, chain.transitions, chain.start, chain.end)
    ]
    total = log_partition(Chain(*parts, chain.mask))
    return [total, *torch.autograd.grad(total @ torch.tensor(weights).to(total), parts)]


@given(chains)
def test_scaled_products_equal_sums_of_exponentials(chain: Chain) -> None:
    weights = [1.0, -2.0, 0.5][: len(chain.mask)]
    found = {}
    for road in ("scaled products", "sums of exponentials"):
        with pytest.MonkeyPatch.context() as patch:
            if road == "sums of exponentials":  # the other is taken where it is safe
                take(road, patch)
            found[road] = value_and_gradients(chain, weights)
    for product, exact in zip(*found.values(), strict=True):
        torch.testing.assert_close(product, exact)


def test_the_gradient_is_the_expected_count_of_each_emission_and_step(road: str) -> None:
    chain = random_chain([4, 1, 3], 3, seed=2, scale=2)
    weights = [1.0, -2.0, 0.5]
    _, *gradients = value_and_gradients(chain, weights)
    emitted, stepped, started, ended = (torch.zeros_like(part) for part in gradients)
    for row, weight in enumerate(weights):
        paths = dict(all_paths(chain, row))
        log_z = log_sum(list(paths.values()))
        for path, total in paths.items():
            share = weight * math.exp(total - log_z)
            started[path[0]] += share
            ended[path[-1]] += share
            for t, tag in enumerate(path):
                emitted[row, t, tag] += share
            for before, after in itertools.pairwise(path):
                stepped[before, after] += share
    for found, expected in zip(gradients, (emitted, stepped, started, ended), strict=True):
        torch.testing.assert_close(found, expected)


def test_the_gradient_is_the_derivative(road: str) -> None:
    chain = random_chain([3, 1, 2], 3, seed=5)
    parts = [
        part.requires_grad_()
        for part in (chain.emissions, chain.transitions, chain.start, chain.end)
    ]
    # A forbidden step, added as heads add it; a difference of infinities would be NaN.
    forbidden = torch.zeros(3, 3, dtype=torch.float64)
    forbidden[1, 2] = -torch.inf

    def total(emissions: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> Tensor:
        return log_partition(Chain(emissions, transitions + forbidden, start, end, chain.mask))

    assert torch.autograd.gradcheck(total, parts)


@pytest.mark.parametrize("step", [-math.inf, -2000.0])
def test_tags_that_never_mix_keep_their_own_sums(step: float) -> None:
    # Tag 0 leads by exp(1000) halfway, tag 1 has made up for it at the end: where no step leads
    # from one to the other, scaled products would have lost tag 1 for good.
    emissions = torch.zeros(1, 200, 2, dtype=torch.float64)
    emissions[0, :100, 0] = emissions[0, 100:, 1] = 10
    transitions = torch.tensor([[0.0, step], [step, 0.0]]).double()
    free = torch.zeros(2, dtype=torch.float64)
    chain = Chain(emissions, transitions, free, free, torch.ones(1, 200, dtype=torch.bool))
    total, gradient, *_ = value_and_gradients(chain, [1.0])
    assert float(total.detach()) == pytest.approx(1000 + math.log(2), abs=1e-9)
    torch.testing.assert_close(gradient, torch.full_like(gradient, 0.5))


# Scores of any size, padding, and sentences without a path.


@pytest.mark.parametrize("shift", [0.0, 1e4, -1e4])
def test_emissions_of_ten_thousand_are_exact(shift: float) -> None:
    small = random_chain([4, 2], 3, seed=6)
    emissions = 1e4 * small.emissions + shift
    plain = Chain(emissions, small.transitions, small.start, small.end, small.mask)
    total, gradient, *_ = value_and_gradients(plain, [1.0, 1.0])
    best, best_score = viterbi(plain)
    for row in range(2):
        paths = dict(all_paths(plain, row))
        assert float(total[row].detach()) == pytest.approx(log_sum(list(paths.values())), rel=1e-13)
        assert float(best_score[row]) == pytest.approx(max(paths.values()), rel=1e-13)
        length = int(plain.mask[row].sum())
        assert paths[tuple(best[row, :length].tolist())] == max(paths.values())
    torch.testing.assert_close(gradient, marginals(plain))
    sums = gradient.sum(2)
    torch.testing.assert_close(sums, plain.mask.double())

    single = Chain(*(part.float() for part in (plain.emissions, plain.transitions, plain.start,
                                               plain.end)), plain.mask)  # fmt: skip
    total_32, gradient_32, *_ = value_and_gradients(single, [1.0, 1.0])
    torch.testing.assert_close(total_32.double(), total, rtol=1e-6, atol=0)
    torch.testing.assert_close(gradient_32.double(), gradient)


def test_equal_emissions_of_ten_thousand_leave_the_logarithm_of_the_number_of_paths() -> None:
    free = torch.zeros(3, dtype=torch.float64)
    mask = torch.tensor([[True, True, True], [True, False, False]])
    emissions = torch.full((2, 3, 3), 1e4, dtype=torch.float64)
    chain = Chain(emissions, torch.zeros(3, 3).double(), free, free, mask)
    expected = [3e4 + 3 * math.log(3), 1e4 + math.log(3)]
    assert log_partition(chain).tolist() == pytest.approx(expected, abs=1e-9)


def test_padding_even_nan_never_leaks(road: str) -> None:
    chain = random_chain([4, 2, 1], 3, seed=7)
    padding = ~chain.mask

    def run(on_padding: float) -> list[Tensor]:
        emissions = chain.emissions.clone()
        emissions[padding] = on_padding
        parts = [
            part.clone().requires_grad_()
            for part in (emissions, chain.transitions, chain.start, chain.end)
        ]
        gold = torch.ones_like(chain.mask, dtype=torch.int64)
        loss = (log_partition(noisy := Chain(*parts, chain.mask)) - path_score(noisy, gold)).sum()
        gradients = torch.autograd.grad(loss, parts)
        assert not gradients[0][padding].any()
        still = Chain(emissions, chain.transitions, chain.start, chain.end, chain.mask)
        steps = step_log_probs(still, forward_backward(still), gold)[chain.mask[:, 1:]]
        return [loss, *gradients, *viterbi(still), marginals(still), steps]

    clean = run(0.0)
    assert all(bool(part.isfinite().all()) for part in clean)
    for spoilt in (math.nan, math.inf, -math.inf, 1e30):
        for expected, found in zip(clean, run(spoilt), strict=True):
            torch.testing.assert_close(found, expected)


def test_a_sentence_without_a_path_has_no_probability_and_spoils_no_other() -> None:
    chain = random_chain([3, 1], 2, seed=8)
    never = torch.full((2, 2), -torch.inf).double()
    dead = Chain(chain.emissions, never, chain.start, chain.end, chain.mask)
    total, *gradients = value_and_gradients(dead, [0.0, 1.0])
    # Of three words without one legal step, and of one word, which needs none.
    assert math.exp(total[0].detach()) == 0
    assert total[0].detach() < -1e11
    paths = {path[0]: found for path, found in all_paths(dead, 1)}
    log_z = log_sum(list(paths.values()))
    assert float(total[1].detach()) == pytest.approx(log_z, abs=1e-9)
    shares = torch.tensor([math.exp(paths[tag] - log_z) for tag in (0, 1)], dtype=torch.float64)
    torch.testing.assert_close(gradients[0][1, 0], shares)
    assert all(bool(gradient.isfinite().all()) for gradient in gradients)
    assert all(bool(part.isfinite().all()) for part in value_and_gradients(dead, [1.0, 1.0]))
    best, best_score = viterbi(dead)
    assert float(best_score[0]) == -torch.inf
    assert float(best_score[1]) == pytest.approx(max(paths.values()), abs=1e-9)
    assert paths[int(best[1, 0])] == max(paths.values())


@pytest.mark.cuda
@pytest.mark.parametrize("forbid", [0.0, 0.3])
def test_a_gpu_gives_the_numbers_of_a_cpu(forbid: float) -> None:
    chain = random_chain([9, 4, 1, 9], 5, seed=2, forbid=forbid)
    parts = (chain.emissions, chain.transitions, chain.start, chain.end, chain.mask)
    there = Chain(*(part.cuda() for part in parts))
    weights = [1.0, -2.0, 0.5, 3.0]
    for found, expected in zip(
        value_and_gradients(there, weights), value_and_gradients(chain, weights), strict=True
    ):
        torch.testing.assert_close(found.cpu(), expected)
    torch.testing.assert_close(marginals(there).cpu(), marginals(chain))
    assert torch.equal(viterbi(there)[0].cpu(), viterbi(chain)[0])


@pytest.mark.cuda
def test_a_gpu_finds_the_path_of_a_cpu_among_many_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = random_chain([9, 4, 1, 9], 40, seed=3, forbid=0.3)
    there = Chain(*(part.cuda() for part in (chain.emissions, chain.transitions, chain.start,
                                             chain.end, chain.mask)))  # fmt: skip
    path, total = viterbi(chain)
    # Steps so small are those of the CPU; then of the GPU, all tags at once and some.
    for pairs, room in ((2**16, 2**28), (1, 2**28), (1, 8 * 4 * 40 * 7)):
        monkeypatch.setattr(chain_module, "_PAIRS_FOR_GPU", pairs)
        monkeypatch.setattr(chain_module, "_GPU_BYTES", room)
        found, found_total = viterbi(there)
        assert torch.equal(found.cpu(), path)
        assert torch.equal(found_total.cpu(), total)


def test_the_best_path_is_the_same_for_any_number_of_tags_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chain = random_chain([9, 4, 1], 7, seed=4, forbid=0.2)
    path, total = viterbi(chain)
    for tags_at_once in (1, 2, 3, 7):
        monkeypatch.setattr(chain_module, "_BYTES", 8 * 3 * 7 * tags_at_once)
        other_path, other_total = viterbi(chain)
        assert torch.equal(path, other_path)
        assert torch.equal(total, other_total)


# The public door: what cannot be scored is refused.


def valid(**changes: Tensor) -> Chain:
    parts = {
        "emissions": torch.zeros(2, 3, 4), "transitions": torch.zeros(4, 4),
        "start": torch.zeros(4), "end": torch.zeros(4),
        "mask": torch.tensor([[True, True, True], [True, False, False]]),
    }  # fmt: skip
    return Chain(**{**parts, **changes})


PATH = torch.zeros(2, 3, dtype=torch.int64)
HOLE = torch.tensor([[True, True, True], [True, False, True]])
MESSAGES = forward_backward(valid())
DOORS = {
    "log_partition": log_partition,
    "tree_partition": tree_partition,
    "forward_backward": forward_backward,
    "marginals": marginals,
    "viterbi": viterbi,
    "path_score": lambda chain: path_score(chain, PATH),
    "step_log_probs": lambda chain: step_log_probs(chain, MESSAGES, PATH),
    "weighted_loss": lambda chain: weighted_loss(chain, PATH, torch.ones(4)),
    "n_best": lambda chain: n_best(chain, 2),
    "span_confidence": lambda chain: span_confidence(chain, PATH, torch.full((4,), -1)),
}
REFUSED = [
    ({"mask": HOLE}, Says("mask: row 1", "column 1", "column 2")),
    ({"mask": torch.zeros(2, 3, dtype=torch.bool)}, Says("mask: row 0", "column 0")),
    ({"mask": HOLE.byte()}, Says("mask: ", "torch.bool", "torch.uint8")),
    ({"mask": HOLE[:, :2]}, Says("mask: ", "(2, 3)", "found (2, 2)")),
    ({"emissions": torch.zeros(3, 4)}, Says("emissions: ", "(batch, time, tags)", "(3, 4)")),
    ({"emissions": torch.zeros(2, 0, 4), "mask": HOLE[:, :0]}, Says("emissions: ", "(2, 0, 4)")),
    ({"emissions": torch.zeros(2, 3, 4).long()}, Says("emissions: ", "torch.int64")),
    ({"transitions": torch.zeros(4, 1)}, Says("transitions: ", "(4, 4)", "4 tags", "found (4, 1)")),
    ({"start": torch.zeros(1)}, Says("start: ", "(4,)", "found (1,)")),
    ({"end": torch.zeros(5)}, Says("end: ", "(4,)", "found (5,)")),
]  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_a_chain_that_cannot_be_scored_is_refused_at_every_door(door: str) -> None:
    enter: Callable[[Chain], object] = DOORS[door]
    enter(valid())
    for changes, message in REFUSED:
        with refuses(ValueError, message):
            enter(valid(**changes))


def test_a_path_of_another_shape_or_dtype_is_refused() -> None:
    for path, message in (
        (PATH[:, :2], Says("tag ids: ", "(2, 3)", "(2, 2)")),
        (PATH.bool(), Says("tag ids: ", "torch.int64", "torch.bool")),
    ):
        for score_it in (
            lambda path: path_score(valid(), path),
            lambda path: step_log_probs(valid(), MESSAGES, path),
            lambda path: weighted_loss(valid(), path, torch.ones(4)),
        ):
            with refuses(ValueError, message):
                score_it(path)


def test_derived_chains_are_not_checked_again_unless_theirs_was_not() -> None:
    assert in_double(valid()).checked
    assert not valid(mask=HOLE).cpu().checked
    assert replace(valid(), checked=True).cpu().checked
