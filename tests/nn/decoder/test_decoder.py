"""Every decoder against loops in NumPy, against enumeration, and under the laws of its table."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from decoders import COPIES, MASK, ROWS, SIZE, UNITS, begin, decoder, memory

from tagkit.nn.decoder import END_ID, NOT_COPIED
from tagkit.nn.decoder.attention import ATTENTIONS, Monotone
from tagkit.nn.decoder.decoder import Decoder, JointDecoder, Memory, StepwiseDecoder, mean_of
from tagkit.nn.generation.generate import Ending
from tagkit.nn.generation.step import select_rows
from tagkit.nn.search.strings import Hypothesis, Search, search

STEPS = 4


def log_probs(built: Decoder, known: Memory, ids: torch.Tensor, rows: int = 1) -> torch.Tensor:
    features, state = built(known, ids, begin(built, known, rows))
    assert isinstance(state, tuple)
    return built.log_probs(known, features, state[2])


def by_loops(built: Decoder, known: Memory, row: int, ids: list[int]) -> np.ndarray:
    """Probabilities of every unit at each step of an Elman decoder of one layer."""
    options = built.options
    w = {name: each.detach().numpy() for name, each in built.state_dict().items()}
    length = int(known.mask[row].sum())
    states = known.states[row, :length].numpy()
    final = known.final[row].numpy()

    def softmax(scores: np.ndarray) -> np.ndarray:
        powers = np.exp(scores - scores.max())
        return powers / powers.sum()

    def sigmoid(score: float) -> float:
        return 1 / (1 + math.exp(-score))

    def score(s: np.ndarray, h: np.ndarray) -> float:
        match options.attention:
            case "dot":
                return float(s @ h)
            case "scaled-dot":
                return float(s @ h) / math.sqrt(len(s))
            case "bilinear":
                return float(s @ (w["attention.project.weight"] @ h + w["attention.project.bias"]))
        layer = np.tanh(
            w["attention.of_queries.weight"] @ s + w["attention.of_queries.bias"]
            + w["attention.project.weight"] @ h + w["attention.project.bias"]
        )  # fmt: skip
        return float(w["attention.score.weight"][0] @ layer + w["attention.score.bias"][0])

    def located(s: np.ndarray, before: np.ndarray, j: int) -> float:
        """Column 0 of the weights is the place before the first symbol."""
        near = sum(
            w["attention.location"][m] * before[j + 1 + m - 2]
            for m in range(5)
            if 0 <= j + 1 + m - 2 <= length
        )
        return score(s, states[j]) + near

    def monotone(s: np.ndarray, before: np.ndarray) -> np.ndarray:
        stops = [0.0]
        for j in range(length):
            at = located(s, before, j)
            p = sigmoid(at) if built.training else float(at > 0)
            stops.append(1.0 if j == length - 1 else p)
        found = np.zeros(length + 1)
        for j in range(length + 1):
            left = before[j]
            for k in range(j, length + 1):
                found[k] += left * stops[k]
                left *= 1 - stops[k]
        return found

    h = np.zeros(options.hidden)
    if built.initial is not None:
        h = np.tanh(w["initial.weight"] @ final + w["initial.bias"])
    fed = np.zeros(built.features)
    weights = np.eye(length + 1)[0]
    rows = []
    for t, id in enumerate(ids):
        x = w["embedding.weight"][id]
        if options.end == "length":  # 4 units in the first row, 5 in the second
            x = x + w["length.remaining.weight"][4 + row - t]
        x = np.concatenate([x, final] if built.every_step else [x])
        x = np.concatenate([x, fed] if options.input_feeding else [x])
        h = np.tanh(
            w["layers.0.weight_ih_l0"] @ x + w["layers.0.bias_ih_l0"]
            + w["layers.0.weight_hh_l0"] @ h + w["layers.0.bias_hh_l0"]
        )  # fmt: skip
        looked = [final] if built.every_step else []
        if options.attention == "monotone":
            weights = monotone(h, weights)
            attended = weights[1:]
            looked = [attended @ states]
        elif options.attention == "location":
            attended = softmax(np.array([located(h, weights, j) for j in range(length)]))
            weights = np.concatenate([[0], attended])
            looked = [attended @ states]
        elif options.attention != "none":
            attended = softmax(np.array([score(h, each) for each in states]))
            looked = [attended @ states]
        a = np.tanh(w["read_out.weight"] @ np.concatenate([h, *looked]) + w["read_out.bias"])
        fed = a
        probs = w["output.weight"] @ a + w["output.bias"]
        if options.end == "length":
            probs[END_ID] = -np.inf
        if options.end == "halt":
            halt = sigmoid(float(w["halt.weight"][0] @ a + w["halt.bias"][0]))
            probs[END_ID] = -np.inf
            probs = (1 - halt) * softmax(probs)
            probs[END_ID] = halt
        else:
            probs = softmax(probs)
        if options.copy:
            generates = sigmoid(float(w["generates.weight"][0] @ a + w["generates.bias"][0]))
            both = np.zeros(options.units + known.mask.shape[1])
            copied = 0.0
            for j in range(length):
                unit = int(COPIES[row, j])
                if unit != NOT_COPIED:
                    both[unit] += (1 - generates) * attended[j]
                    copied += (1 - generates) * attended[j]
            both[: options.units] += (1 - copied) * probs
            probs = both
        rows.append(probs)
    return np.array(rows)


ELMAN = [row for row in ROWS if row.get("cell", "elman") == "elman" and row.get("layers", 1) == 1]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("options", ELMAN, ids=str)
def test_it_equals_loops_over_its_equations(
    options: dict[str, Any], training: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Monotone, "noise", 0.0)
    built = decoder(**options).train(training)
    known = memory(built)
    ids = torch.randint(0, UNITS, (len(MASK), STEPS), generator=torch.Generator().manual_seed(2))
    found = log_probs(built, known, ids).exp().detach().numpy()
    for row in range(len(MASK)):
        expected = by_loops(built, known, row, ids[row].tolist())
        np.testing.assert_allclose(found[row], expected, atol=1e-10)


@pytest.mark.parametrize("options", ROWS, ids=str)
def test_it_is_the_same_step_by_step_and_its_weights_sum_to_1(options: dict[str, Any]) -> None:
    built = decoder(**options).eval()
    known = memory(built)
    ids = torch.randint(0, UNITS, (2 * len(MASK), STEPS))
    expected = log_probs(built, known, ids, rows=2)
    torch.testing.assert_close(expected.exp().sum(2), torch.ones(2 * len(MASK), STEPS).double())
    step, state = StepwiseDecoder(built, known), begin(built, known, 2)
    for t in range(STEPS):
        output = step(ids[:, t], state)
        state = output.state
        torch.testing.assert_close(output.log_probs, expected[:, t])
        if options.get("attention", "none") != "none":
            assert output.weights is not None
            torch.testing.assert_close(output.weights.sum(1), torch.ones(2 * len(MASK)).double())
            beyond = ~MASK.repeat_interleave(2, dim=0)
            assert not output.weights[beyond].any()


@pytest.mark.parametrize("options", ROWS, ids=str)
def test_a_source_gets_the_same_alone_and_in_a_batch(options: dict[str, Any]) -> None:
    built = decoder(**options).eval()
    known = memory(built)
    ids = torch.randint(0, UNITS, (len(MASK), STEPS))
    together = log_probs(built, known, ids)
    for row in range(1 if built.length is not None else len(MASK)):
        length = int(MASK[row].sum())
        one = known.select(torch.tensor([row]))
        alone = built.memory(
            one.states[:, :length], one.final, one.mask[:, :length],
            None if one.copies is None else one.copies[:, :length],
        )  # fmt: skip
        found = log_probs(built, alone, ids[row : row + 1])
        torch.testing.assert_close(found, together[row : row + 1, :, : found.shape[2]])


@pytest.mark.parametrize("options", ROWS, ids=str)
def test_every_parameter_has_a_gradient_and_padding_has_none(options: dict[str, Any]) -> None:
    built = decoder(**options)
    states = torch.randn(*MASK.shape, SIZE, dtype=torch.float64)
    states = states.masked_fill(~MASK.unsqueeze(2), torch.nan).requires_grad_()
    final = torch.randn(len(MASK), SIZE, dtype=torch.float64, requires_grad=True)
    known = built.memory(states, final, MASK, COPIES)
    ids = torch.randint(0, UNITS, (len(MASK), 2 * STEPS))
    total = log_probs(built, known, ids)[..., 2:UNITS].sum()
    if built.length is not None:
        total = total + built.length.log_probs(known.final, 200).sum()
    total.backward()
    for name, parameter in built.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name
            # A bias of all scores changes no softmax.
            if name != "attention.score.bias" or options["attention"] == "monotone":
                assert parameter.grad.any(), name
    if options.get("attention", "none") != "none":
        assert states.grad is not None
        assert states.grad[MASK].any()
        assert not states.grad[~MASK].any()


def searched(built: Decoder, length: int, beam: int, penalty: float) -> list[list[Hypothesis]]:
    known = memory(built)
    start = torch.full((len(MASK),), END_ID)
    wanted = Search(beam=beam, count=beam, length_penalty=penalty)
    steps = JointDecoder((StepwiseDecoder(built, known),))
    state, begun, lengths = steps.begin([0] * len(MASK), [length] * len(MASK), beam)
    ending = Ending(END_ID, by_halt=False)
    return search(steps, start, state, ending, lengths, wanted, begun)


@pytest.mark.parametrize("attention", ["none", *ATTENTIONS])
@pytest.mark.parametrize(
    ("penalty", "end"), [(0.0, "symbol"), (0.7, "symbol"), (0.7, "halt"), (0.7, "length")]
)
def test_a_beam_of_all_strings_finds_all_of_them_and_their_probabilities_sum_to_1(
    attention: str, penalty: float, end: str
) -> None:
    copy = attention == "dot"
    built = decoder(attention=attention, input_feeding=True, copy=copy, end=end).eval()
    known = memory(built)
    for row, found in enumerate(searched(built, 3, 1000, penalty)):
        ids = UNITS + MASK.shape[1] * copy
        expected = 1 + (ids - 1) + (ids - 1) ** 2 * ids
        mass = 1.0
        if built.length is not None:  # what is longer is not written in part
            expected = sum((ids - 1) ** units for units in range(4))
            by_length = built.length.log_probs(known.final[row : row + 1], 5000)[0].exp()
            assert float(by_length.detach().sum()) == pytest.approx(1)
            mass = float(by_length.detach()[:4].sum())
        possible = [each for each in found if each.log_prob > -40]  # not of what has next to none
        assert len(possible) == len({each.units for each in possible})
        if not copy:
            assert len(possible) == expected
        assert sum(math.exp(each.log_prob) for each in found) == pytest.approx(mass)
        scores = [each.score(penalty) for each in found]
        assert scores == sorted(scores, reverse=True)
        for each in possible[:20]:
            read = [END_ID, *(unit if unit < UNITS else 1 for unit in each.units[:-1])]
            one, of_end = known.select(torch.tensor([row])), 0.0
            units = torch.tensor([len(read) - 1])
            state = built.begin(one, 1, units if built.length is not None else None)
            features, after = built(one, torch.tensor([read]), state)
            alone = built.log_probs(one, features, after[2])
            if built.length is not None:  # the end is certain after so many units
                of_end = built.length.log_prob_of(one.final, units)
                alone[..., END_ID] = 0
            steps = torch.arange(len(each.units))
            total = (alone[0, steps, list(each.units)].sum() + of_end).detach()
            assert each.log_prob == pytest.approx(float(total))


def test_the_coverage_penalty_is_that_of_the_weights_of_each_string() -> None:
    built = decoder(attention="dot", input_feeding=True).eval()
    known = memory(built)
    start = torch.full((len(MASK),), END_ID)
    wanted = Search(beam=50, count=50, length_penalty=0.5, coverage_penalty=2.0, keeps_weights=True)
    strings = search(
        StepwiseDecoder(built, known), start, built.begin(known), Ending(END_ID, by_halt=False),
        [3] * len(MASK), wanted,
    )  # fmt: skip
    for row, found in enumerate(strings):
        length = int(MASK[row].sum())
        for each in found:
            assert each.weights is not None
            seen = each.weights[:, :length].sum(0).clip(max=1)
            assert each.coverage == pytest.approx(2 * np.log(seen).sum(), abs=1e-6)
        scores = [each.score(0.5) for each in found]
        assert scores == sorted(scores, reverse=True)


def test_a_small_beam_of_many_sources_is_that_of_each_alone() -> None:
    built = decoder(attention="additive", input_feeding=True).eval()
    known = memory(built)
    together = searched(built, 6, 3, 1.0)
    for row, expected in enumerate(together):
        one = known.select(torch.tensor([row]))
        (alone,) = search(
            StepwiseDecoder(built, one), torch.tensor([END_ID]), built.begin(one),
            Ending(END_ID, by_halt=False), [6], Search(beam=3, count=3, length_penalty=1.0),
        )  # fmt: skip
        assert [each.units for each in alone] == [each.units for each in expected]


def test_a_beam_of_1_writes_the_most_probable_unit_each_time() -> None:
    built = decoder(attention="bilinear").eval()
    known = memory(built)
    step, state = StepwiseDecoder(built, known), built.begin(known)
    ids = torch.full((len(MASK),), END_ID)
    greedy = []
    for _ in range(6):
        output = step(ids, state)
        ids, state = output.log_probs.argmax(1), output.state
        greedy.append(ids.tolist())
    for row, (best,) in enumerate(searched(built, 6, 1, 0.0)):
        assert list(best.units) == [step[row] for step in greedy][: len(best.units)]


def test_rows_of_a_state_can_be_taken_out() -> None:
    built = decoder(attention="monotone", input_feeding=True, layers=2, cell="lstm").eval()
    known = memory(built)
    kept = torch.tensor([2, 0])
    state = select_rows(built.begin(known), kept)
    ids = torch.tensor([3, 4])
    found = StepwiseDecoder(built, known).keep(kept)(ids, state)
    whole = StepwiseDecoder(built, known)(torch.tensor([4, 0, 3]), built.begin(known))
    torch.testing.assert_close(found.log_probs, whole.log_probs[kept])


def test_copying_needs_attention_and_dot_products_states_of_one_size() -> None:
    with pytest.raises(ValueError, match="attention"):
        decoder(copy=True)
    with pytest.raises(ValueError, match="size"):
        decoder(attention="dot", hidden=SIZE + 1)


def joint(*members: StepwiseDecoder) -> JointDecoder:
    return JointDecoder(members)


@pytest.mark.parametrize("end", ["symbol", "halt", "length"])
@pytest.mark.parametrize("copy", [False, True])
def test_its_probabilities_are_the_mean_of_those_of_its_members(end: str, copy: bool) -> None:
    built = [
        decoder(seed, end=end, copy=copy, attention="location", input_feeding=True).eval()
        for seed in (1, 2)
    ]
    members = [StepwiseDecoder(each, memory(each, seed)) for seed, each in enumerate(built)]
    none, most = [0] * len(MASK), [3] * len(MASK)
    states = [joint(each).begin(none, most, 1) for each in members]
    both, begun, lengths = joint(*members).begin(none, most, 50)
    assert lengths == [4 if end == "length" else 3] * len(MASK)
    if end == "length":
        assert begun is not None
        of_lengths = [
            each.decoder.length.log_probs(each.memory.final, 3).exp()
            for each in members
            if each.decoder.length is not None
        ]
        expected = torch.stack(of_lengths).mean(0).sort(dim=1, descending=True).values
        torch.testing.assert_close(begun.exp(), expected)
        return
    assert begun is None
    ids = torch.tensor([END_ID, 2, UNITS - 1])
    found = joint(*members)(ids, both)
    probs = [
        joint(each)(ids, state).log_probs.exp()
        for each, (state, *_) in zip(members, states, strict=True)
    ]
    torch.testing.assert_close(found.log_probs.exp(), torch.stack(probs).mean(0))
    assert found.weights is not None
    torch.testing.assert_close(found.weights.sum(1), torch.ones(len(MASK)).double())


def test_the_probabilities_of_its_strings_sum_to_1() -> None:
    built = [decoder(seed, attention="dot").eval() for seed in (1, 2, 3)]
    members = joint(*(StepwiseDecoder(each, memory(each)) for each in built))
    state, begun, lengths = members.begin([0] * 3, [3] * 3, 200)
    wanted = Search(beam=200, count=200, length_penalty=0.0)
    start = torch.full((len(MASK),), END_ID)
    for found in search(
        members, start, state, Ending(END_ID, by_halt=False), lengths, wanted, begun
    ):
        assert len(found) == 1 + (UNITS - 1) + (UNITS - 1) ** 2 * UNITS
        assert sum(math.exp(each.log_prob) for each in found) == pytest.approx(1)


def test_the_mean_of_one_is_itself() -> None:
    log_probs = torch.randn(2, 3).log_softmax(1)
    assert mean_of([log_probs]) is log_probs
