"""The feedback head: its equations, teacher forcing, scheduled sampling, constraints."""

import itertools

import pytest
import torch
from cell_options import CELL_OPTIONS
from marks import mostly_slow
from tag_heads import GOLD, MASK, TAGS, free, hidden_states, is_legal, make_head, scores_of_paths
from torch import Tensor, nn

from tagkit.config import HeadConfig, allowed
from tagkit.models.tagging.tag_head import illegal_steps
from tagkit.nn.cells import CELLS
from tagkit.nn.heads import feedback
from tagkit.nn.heads.feedback import STEPS, FeedbackHead, _Decoding, decoder_steps, greedy
from tagkit.nn.heads.sampling import Sampling
from tagkit.nn.heads.tag_space import StepScores
from tagkit.nn.search.beam import beam_search

CHOICES = ["gru", "lstm", "elman"]


@pytest.fixture
def states() -> Tensor:
    return hidden_states()


def head_of(
    illegal: StepScores,
    *,
    cell: str = "gru",
    beam: int = 700,
    rate: float = 0.0,
    constrain_training: bool = False,
) -> FeedbackHead:
    head = make_head(
        "feedback", illegal, cell=cell, beam=beam, constrain_training=constrain_training,
        sampling=Sampling("constant", rate, 1),
    )  # fmt: skip
    assert isinstance(head, FeedbackHead)
    return head


def forced_by_hand(head: FeedbackHead, states: Tensor, row: int, length: int) -> float:
    """- log p(gold) with an Elman decoder, one token after the other, as the docstring has it."""
    w, u, b, c = (
        head.decoder.get_parameter(f"{name}_l0")
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    state, before, total = torch.zeros(5), 0, 0.0
    for t in range(length):
        read = torch.cat((states[row, t], head.embedding.weight[before]))
        state = torch.tanh(w @ read + b + u @ state + c)
        scores = head.linear.weight @ torch.cat((state, states[row, t])) + head.linear.bias
        gold = int(GOLD[row, t])
        total -= float(torch.log_softmax(scores, 0)[gold])
        before = gold + 1
    return total


@torch.no_grad()
def test_the_loss_is_that_of_the_equations_token_by_token(states: Tensor) -> None:
    head = head_of(free(3), cell="elman")
    total, count = head.loss(states, MASK, GOLD)
    expected = forced_by_hand(head, states, 0, 4) + forced_by_hand(head, states, 1, 2)
    assert float(total) == pytest.approx(expected, rel=1e-5)
    assert int(count) == 6


@pytest.mark.parametrize("cell", mostly_slow(CHOICES, always=2))
@torch.no_grad()
def test_the_probabilities_of_all_paths_sum_to_one_with_every_cell(
    states: Tensor, cell: str
) -> None:
    for illegal in (free(3), illegal_steps(TAGS["iob2"], "iob2")):
        head = head_of(illegal, cell=cell)
        paths, log_probs = head.n_best(states, MASK, 256)
        torch.testing.assert_close(log_probs.exp().sum(1), torch.ones(2).double())
        scores = scores_of_paths(head, states, MASK, 1)
        for path, found in zip(paths[1, :, :2].tolist(), log_probs[1].tolist(), strict=True):
            if found > -torch.inf:
                assert found == pytest.approx(float(scores[tuple(path)]), rel=1e-4)


@pytest.mark.parametrize("cell", mostly_slow(CHOICES, always=1))
@torch.no_grad()
def test_greedy_search_takes_the_best_tag_after_those_that_it_took(
    states: Tensor, cell: str
) -> None:
    head = head_of(free(3), cell=cell, beam=1)
    found = head.decode(states, MASK)
    for row, length in enumerate((4, 2)):
        taken: list[int] = []
        for t in range(length):
            rows = torch.tensor([0, *(tag + 1 for tag in taken)])
            read = torch.cat((states[row, : t + 1], head.embedding(rows)), 1)
            decoded = head.decoder(read.unsqueeze(0))[0][0, -1]
            scores = head.linear(torch.cat((decoded, states[row, t])))
            taken.append(int(scores.argmax()))
        assert found[row, :length].tolist() == taken


def test_teacher_forcing_reads_the_batch_in_one_pass_and_sampling_token_by_token(
    states: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rate, passes in ((0.0, [4]), (0.5, [1, 1, 1, 1])):
        head = head_of(free(3), rate=rate).train()
        lengths: list[int] = []
        head.decoder.register_forward_hook(
            lambda _, inputs, __, lengths=lengths: lengths.append(inputs[0].shape[1])
        )
        head.loss(states, MASK, GOLD)
        assert lengths == passes
        head.eval()  # dev's loss is of the gold history
        lengths.clear()
        head.loss(states, MASK, GOLD)
        assert lengths == [4]


@pytest.mark.parametrize("cell", mostly_slow(CHOICES, always=1))
def test_token_by_token_with_gold_tags_is_the_one_pass_and_its_gradient(
    states: Tensor, cell: str
) -> None:
    # A probability too small for any draw.
    once, stepped = head_of(free(3), cell=cell), head_of(free(3), cell=cell, rate=1e-30).train()
    found = []
    for head in (once, stepped):
        total, _ = head.loss(states, MASK, GOLD)
        found.append([total, *torch.autograd.grad(total, list(head.parameters()))])
    for expected, ours in zip(*found, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_sampled_tags_have_the_frequencies_of_the_model(states: Tensor) -> None:
    head = head_of(free(3), rate=1.0).train()
    torch.manual_seed(0)
    many = states[:1, :2].expand(20_000, 2, 3)
    mask = torch.ones(20_000, 2).bool()
    seen: list[Tensor] = []
    head.embedding.register_forward_hook(lambda _, rows, __: seen.append(rows[0]))
    head.loss(many, mask, GOLD[:1, :2].expand(20_000, 2))
    assert not seen[0].any()  # the start, which is never drawn
    scores = scores_of_paths(head, states[:1, :1], MASK[:1, :1], 0)
    for tag in range(3):
        share = float((seen[1] == tag + 1).float().mean())
        assert share == pytest.approx(float(scores[(tag,)].exp()), abs=0.015)


@torch.no_grad()
def test_the_rate_is_the_share_of_tags_that_are_not_gold(states: Tensor) -> None:
    head = head_of(free(3), rate=0.3).train()
    # Whatever is read, tag 2 is predicted, and gold is 0.
    head.linear.weight.zero_()
    head.linear.bias.copy_(torch.tensor([-100.0, -100.0, 100.0]))
    torch.manual_seed(0)
    seen: list[Tensor] = []
    head.embedding.register_forward_hook(lambda _, rows, __: seen.append(rows[0]))
    head.loss(states[:1, :3].expand(9000, 3, 3), torch.ones(9000, 3).bool(),
              torch.zeros(9000, 3).long())  # fmt: skip
    for rows in seen[1:]:
        assert float((rows == 3).float().mean()) == pytest.approx(0.3, abs=0.02)
        assert set(rows.tolist()) == {1, 3}


def test_the_schedule_follows_the_step_of_the_run(states: Tensor) -> None:
    head = head_of(free(3)).train()
    head.sampling = Sampling("linear", 1.0, 100)
    torch.manual_seed(0)
    first = head.loss(states, MASK, GOLD)[0]
    assert torch.equal(first, head_of(free(3)).train().loss(states, MASK, GOLD)[0])
    head.step = 100
    assert not torch.equal(head.loss(states, MASK, GOLD)[0], first)


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_padding_even_nan_changes_no_gradient(states: Tensor, rate: float) -> None:
    head = head_of(free(3), rate=rate).train()
    found = []
    for filling in (0.0, torch.nan):
        torch.manual_seed(0)
        given = states.masked_fill(~MASK.unsqueeze(2), filling).requires_grad_()
        total, _ = head.loss(given, MASK, GOLD)
        found.append([total, *torch.autograd.grad(total, [given, *head.parameters()])])
    for clean, spoilt in zip(*found, strict=True):
        assert torch.isfinite(spoilt).all()
        torch.testing.assert_close(spoilt, clean)
    assert not found[1][1][~MASK].any()


@pytest.mark.parametrize("rate", [0.0, 1e-30])
@torch.no_grad()
def test_with_constraints_in_training_legal_tags_share_all_probability(
    states: Tensor, rate: float
) -> None:
    legal = illegal_steps(TAGS["iob2"], "iob2")  # O B-X I-X B-Y
    head = head_of(legal, rate=rate, constrain_training=True).train()
    gold = torch.tensor([[0, 1, 2, 0], [3, 0, 0, 0]])
    expected = -sum(
        float(scores_of_paths(head, states, MASK, row)[tuple(gold[row, :length].tolist())])
        for row, length in enumerate((4, 2))
    )
    assert float(head.loss(states, MASK, gold)[0]) == pytest.approx(expected, rel=1e-5)
    # A corpus that breaks its scheme, here O I-X, has a finite loss all the same.
    broken = torch.tensor([[2, 2, 0, 2], [0, 2, 0, 0]])
    assert bool(torch.isfinite(head.loss(states, MASK, broken)[0]))


@torch.no_grad()
def test_a_search_does_not_run_into_a_dead_end(states: Tensor) -> None:
    # B may begin but only E may follow it, and after E nothing: legal in two tokens alone.
    never = -torch.inf
    illegal = StepScores(
        torch.tensor([[0, never, never], [never, never, 0], [never, never, never]]),
        torch.tensor([0, 0, never]),
        torch.tensor([0, never, 0]),
    )  # O B E
    head = head_of(illegal, beam=1)
    head.linear.bias.copy_(torch.tensor([0.0, 50.0, 50.0]))  # which a greedy search would take
    paths = head.decode(states, MASK)
    assert paths.tolist() == [[0, 0, 0, 0], [1, 2, 0, 0]]
    for row, length in enumerate((4, 2)):
        assert is_legal(head, tuple(paths[row, :length].tolist()))


@torch.no_grad()
def test_probabilities_of_a_greedy_head_come_from_a_beam(
    states: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = head_of(free(3), beam=1)
    path, none = head.decode(states, MASK), torch.full((3,), -1)
    exact = {
        (row, t): sum(
            float(score.exp())
            for other, score in scores_of_paths(head, states, MASK, row).items()
            if other[t] == path[row, t]
        )
        for row, length in enumerate((4, 2))
        for t in range(length)
    }
    found = head.confidence(states, MASK, path, none).probs
    for (row, t), expected in exact.items():
        assert float(found[row, t]) == pytest.approx(expected, abs=0.02)
    monkeypatch.setattr(feedback, "_CONFIDENCE_BEAM", 1)
    alone = head.confidence(states, MASK, path, none).probs
    assert float((alone - found)[MASK].abs().max()) > 0.02


@torch.no_grad()
def test_weights_of_tags_weigh_their_tokens(states: Tensor) -> None:
    head = head_of(free(3))
    head.tag_weights = torch.tensor([0.5, 1.0, 3.0])
    found = float(head.loss(states, MASK, GOLD)[0])
    rows = torch.tensor([[0, *(tag + 1 for tag in row[:-1])] for row in GOLD.tolist()])
    decoded = head.decoder(torch.cat((states, head.embedding(rows)), 2))[0]
    each = torch.log_softmax(head.linear(torch.cat((decoded, states), 2)), 2)
    expected = sum(
        -float(head.tag_weights[GOLD[row, t]] * each[row, t, GOLD[row, t]])
        for row, t in itertools.product(range(2), range(4))
        if MASK[row, t]
    )
    assert found == pytest.approx(expected, rel=1e-5)


@torch.no_grad()
def test_a_temperature_divides_scores_for_probabilities_and_changes_no_path(
    states: Tensor,
) -> None:
    illegal = illegal_steps(TAGS["iob2"], "iob2")
    raw, hot, divided = (head_of(illegal) for _ in range(3))
    hot.temperature = 2.0
    divided.linear.weight /= 2  # the layer that gives the scores
    divided.linear.bias /= 2
    none = torch.full_like(hot.illegal_start, -1).long()
    path = raw.decode(states, MASK)
    assert torch.equal(path, hot.decode(states, MASK))
    ordered, found = raw.n_best(states, MASK, 256)[0], hot.n_best(states, MASK, 256)
    assert torch.equal(ordered, found[0])
    for row, length in enumerate((4, 2)):
        scores = scores_of_paths(divided, states, MASK, row)
        exists = found[1][row] > -torch.inf
        assert int(exists.sum()) == sum(float(score) > -torch.inf for score in scores.values())
        for each, log_prob in zip(
            ordered[row][exists].tolist(), found[1][row][exists], strict=True
        ):
            assert float(log_prob) == pytest.approx(float(scores[tuple(each[:length])]), rel=1e-4)
    probs = hot.confidence(states, MASK, path, none).probs
    torch.testing.assert_close(probs, divided.confidence(states, MASK, path, none).probs)
    assert not torch.allclose(probs, raw.confidence(states, MASK, path, none).probs)


@torch.no_grad()
def test_stretches_of_a_path_that_the_scheme_forbids_have_their_share_of_the_others(
    states: Tensor,
) -> None:
    head = head_of(illegal_steps(TAGS["iob2"], "iob2"))
    tags = (0, 2, 0, 0)  # O I-X O O: no I follows O
    path = torch.tensor([tags, (0, 0, 0, 0)])
    found = head.confidence(states, MASK, path, torch.full((4,), -1))
    every = scores_of_paths(head, states, MASK, 0)
    for start, end in [(0, 2), (1, 2), (1, 3), (2, 4)]:
        expected = sum(
            float(score.exp())
            for each, score in every.items()
            if each[start:end] == tags[start:end]
        )
        assert found.span_probs(0, [(start, end)]) == [pytest.approx(expected, rel=1e-4)]


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
