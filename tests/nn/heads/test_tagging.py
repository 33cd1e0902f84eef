"""The laws of the table of tagging heads, for every row, against enumeration of all paths."""

from dataclasses import replace

import pytest
import torch
from says import Says, refuses
from tag_heads import GOLD, MASK, TAGS, free, hidden_states, make_head, score, scores_of_paths
from torch import Tensor

from tagkit.config import HeadConfig, allowed
from tagkit.models.tagging.tag_head import illegal_steps
from tagkit.nn.heads import HEADS
from tagkit.nn.heads.tagging import ChainHead
from tagkit.text.scheme_detection import illegal_count


@pytest.fixture
def states() -> Tensor:
    return hidden_states()


def test_the_configuration_allows_the_heads_of_the_table() -> None:
    assert allowed(HeadConfig, "kind") == tuple(HEADS)


@pytest.mark.parametrize("kind", HEADS)
@torch.no_grad()
def test_decoding_finds_the_best_of_all_paths(states: Tensor, kind: str) -> None:
    head = make_head(kind, free(3))
    found = head.decode(states, MASK)
    for row, length in enumerate((4, 2)):
        scores = scores_of_paths(head, states, MASK, row)
        assert tuple(found[row, :length].tolist()) == max(scores, key=lambda path: scores[path])


@pytest.mark.parametrize("kind", HEADS)
@torch.no_grad()
def test_loss_and_path_of_a_sentence_do_not_depend_on_its_padding(
    states: Tensor, kind: str
) -> None:
    head = make_head(kind, illegal_steps(TAGS["bilou"], "bilou"))
    total, count = head.loss(states, MASK, GOLD)
    alone = head.loss(states[:1], MASK[:1], GOLD[:1])
    short = head.loss(states[1:, :2], MASK[1:, :2], GOLD[1:, :2])
    assert float(total) == pytest.approx(float(alone[0] + short[0]), rel=1e-6)
    assert int(count) == int(alone[1] + short[1])
    paths = head.decode(states, MASK)
    assert paths[1, :2].tolist() == head.decode(states[1:, :2], MASK[1:, :2])[0].tolist()
    spoilt = states.clone()
    spoilt[~MASK] = torch.nan
    torch.testing.assert_close(head.loss(spoilt, MASK, GOLD)[0], total)
    assert torch.equal(head.decode(spoilt, MASK), paths)


@pytest.mark.parametrize("kind", HEADS)
def test_head_losses_have_the_gradient_of_brute_force(states: Tensor, kind: str) -> None:
    head = make_head(kind, free(3))
    total, _ = head.loss(states, MASK, GOLD)
    names = [name for name, _ in head.named_parameters()]
    found = torch.autograd.grad(total, list(head.parameters()))

    expected = torch.zeros(())
    for row, length in enumerate((4, 2)):
        scores = scores_of_paths(head, states, MASK, row)
        if kind == "viterbi":  # learns as softmax does
            chain = replace(head.chain(states, MASK), transitions=torch.zeros(3, 3),
                            start=torch.zeros(3), end=torch.zeros(3))  # fmt: skip
            scores = {path: score(chain, row, path) for path in scores}
        gold = tuple(GOLD[row, :length].tolist())
        expected = expected + torch.logsumexp(torch.stack([*scores.values()]), 0) - scores[gold]
    for name, ours, theirs in zip(
        names, found, torch.autograd.grad(expected, list(head.parameters())), strict=True
    ):
        torch.testing.assert_close(
            ours, theirs, rtol=1e-4, atol=1e-5, msg=lambda text, name=name: f"{name}: {text}"
        )


@pytest.mark.parametrize("scheme", sorted(TAGS))
@pytest.mark.parametrize("kind", HEADS)
@torch.no_grad()
def test_constrained_decoding_never_gives_an_illegal_sequence(scheme: str, kind: str) -> None:
    tags = TAGS[scheme]
    head = make_head(kind, illegal_steps(tags, scheme), beam=2)
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(1, 9, (200,), generator=generator)
    mask = torch.arange(8) < lengths[:, None]
    wild = 20 * torch.randn(200, 8, 3, generator=generator)
    paths = head.decode(wild, mask).tolist()
    sequences = [[tags[i] for i in path[:n]] for path, n in zip(paths, lengths, strict=True)]
    assert illegal_count(sequences, scheme) == 0
    assert {tag for sequence in sequences for tag in sequence} == set(tags)


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("scheme", sorted(TAGS))
@torch.no_grad()
def test_constrained_decoding_finds_the_best_legal_path(
    states: Tensor, scheme: str, kind: str
) -> None:
    tags = TAGS[scheme]
    bound, loose = make_head(kind, illegal_steps(tags, scheme)), make_head(kind, free(len(tags)))
    found = bound.decode(states, MASK)
    for row, length in enumerate((4, 2)):
        # A head that normalises by token divides by what the legal tags share there.
        scored = bound if kind == "feedback" else loose
        legal = {
            path: score
            for path, score in scores_of_paths(scored, states, MASK, row).items()
            if illegal_count([[tags[i] for i in path]], scheme) == 0
        }
        assert len(legal) == sum(map(bool, map(torch.isfinite, legal.values())))
        assert tuple(found[row, :length].tolist()) == max(legal, key=lambda path: legal[path])


@pytest.mark.parametrize("scheme", [None, "iob2"])
@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("more", [-1, 0, 1, 10**15])
@torch.no_grad()
def test_no_more_paths_are_found_than_there_are_however_many_are_asked_for(
    states: Tensor, more: int, kind: str, scheme: str | None
) -> None:
    tags = len(TAGS[scheme]) if scheme else 3
    head = make_head(kind, illegal_steps(TAGS[scheme], scheme) if scheme else free(tags))
    every = tags**4  # of the longest sentence; no machine has memory for 10**15 more
    count = every + more
    paths, log_probs = head.n_best(states, MASK, count)
    assert paths.shape == (2, min(count, every), 4)
    assert log_probs.shape == (2, min(count, every))
    for row, length in enumerate((4, 2)):
        scores = {
            path: float(score)
            for path, score in scores_of_paths(head, states, MASK, row).items()
            if torch.isfinite(score)
        }
        best = sorted(scores, key=lambda path: -scores[path])[:count]
        found = paths[row, torch.isfinite(log_probs[row]), :length]
        assert [tuple(path) for path in found.tolist()] == best


@pytest.mark.parametrize("scheme", [None, *sorted(TAGS)])
@pytest.mark.parametrize("kind", HEADS)
@torch.no_grad()
def test_probabilities_of_paths_and_tags_are_those_of_all_paths(
    states: Tensor, scheme: str | None, kind: str
) -> None:
    head = make_head(kind, illegal_steps(TAGS[scheme], scheme) if scheme else free(3))
    decoded = head.decode(states, MASK)
    none = torch.full_like(head.illegal_start, -1).long()
    found = head.confidence(states, MASK, decoded, none)
    paths, log_probs = head.n_best(states, MASK, 7)
    for row, length in enumerate((4, 2)):
        every = scores_of_paths(head, states, MASK, row)
        shares = torch.softmax(torch.stack([*every.values()]).double(), 0).tolist()
        probs = dict(zip(every, shares, strict=True))
        best = sorted((path for path in probs if probs[path] > 0), key=lambda p: -probs[p])[:7]
        assert [tuple(p[:length]) for p in paths[row].tolist()][: len(best)] == best
        assert not paths[row, :, length:].any()
        assert log_probs[row].exp().tolist() == pytest.approx(
            [probs[path] for path in best] + [0.0] * (7 - len(best)), rel=1e-4
        )
        for t in range(length):
            expected = sum(p for path, p in probs.items() if path[t] == decoded[row, t])
            assert float(found.probs[row, t]) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("kind", HEADS)
@torch.no_grad()
def test_a_sentence_never_begins_with_i_where_all_words_stand_in_spans(kind: str) -> None:
    # With B and I alone every step is legal; only the beginning is not free.
    head = make_head(kind, illegal_steps(("B-X", "I-X"), "iob2"))
    wild = 5 * torch.randn(50, 3, 3, generator=torch.Generator().manual_seed(2))
    paths = head.decode(wild, torch.ones(50, 3, dtype=torch.bool))
    assert not paths[:, 0].any()
    assert paths[:, 1:].any()


@pytest.mark.cuda
@pytest.mark.parametrize("scheme", sorted(TAGS))
@pytest.mark.parametrize("kind", HEADS)
def test_a_gpu_gives_the_losses_paths_and_gradients_of_a_cpu(
    states: Tensor, kind: str, scheme: str
) -> None:
    found = {}
    for device in ("cpu", "cuda"):
        head = make_head(kind, illegal_steps(TAGS[scheme], scheme)).to(device)
        there = [part.to(device) for part in (states, MASK, GOLD)]
        total, count = head.loss(*there)
        gradients = torch.autograd.grad(total, list(head.parameters()))
        path = head.decode(there[0], there[1])
        found[device] = [part.cpu() for part in (total.detach(), count, path, *gradients)]
    for cpu, cuda in zip(found["cpu"], found["cuda"], strict=True):
        torch.testing.assert_close(cuda, cpu, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", HEADS)
@torch.no_grad()
def test_saved_and_loaded_weights_give_the_same_loss_and_paths(kind: str, states: Tensor) -> None:
    saved, loaded = make_head(kind, free(3)), make_head(kind, free(3))
    for parameter in loaded.parameters():
        parameter.zero_()
    loaded.load_state_dict(saved.state_dict())
    assert torch.equal(saved.loss(states, MASK, GOLD)[0], loaded.loss(states, MASK, GOLD)[0])
    assert torch.equal(saved.decode(states, MASK), loaded.decode(states, MASK))


@pytest.mark.parametrize("kind", HEADS)
def test_every_parameter_gets_a_gradient(kind: str, states: Tensor) -> None:
    head = make_head(kind, free(3))
    head.loss(states, MASK, GOLD)[0].backward()
    for name, parameter in head.named_parameters():
        assert parameter.grad is not None, name
        assert bool(parameter.grad.abs().sum() > 0), name


@pytest.mark.parametrize("kind", HEADS)
@torch.no_grad()
def test_a_head_called_as_a_module_gives_its_loss(kind: str, states: Tensor) -> None:
    head = make_head(kind, free(3))
    total, count = head(states, MASK, GOLD)
    expected, tokens = head.loss(states, MASK, GOLD)
    assert torch.equal(total, expected)
    assert torch.equal(count, tokens)


@pytest.mark.parametrize("constrain_training", [False, True])
@pytest.mark.parametrize("kind", HEADS)
def test_a_head_called_as_a_module_does_not_check_the_mask_at_every_step(
    kind: str, constrain_training: bool, states: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = make_head(kind, free(3), constrain_training=constrain_training)
    for module in ("padding", "crf.chain"):  # on a GPU each check waits for all before it
        monkeypatch.setattr(f"tagkit.nn.{module}.check_mask", None)
    head(states, MASK, GOLD)[0].backward()
    with pytest.raises(TypeError):
        head.loss(states, MASK, GOLD)


def test_names_of_saved_parameters_are_those_of_earlier_versions() -> None:
    linear = ["linear.weight", "linear.bias"]
    expected = {
        "crf": [*linear, "crf.start_transitions", "crf.end_transitions", "crf.transitions"],
        "softmax": linear,
        "viterbi": ["bigram_transitions", "bigram_start", "bigram_end", *linear],
        "feedback": [
            "embedding.weight",
            "decoder.weight_ih_l0",
            "decoder.weight_hh_l0",
            "decoder.bias_ih_l0",
            "decoder.bias_hh_l0",
            *linear,
        ],
    }
    assert {kind: list(make_head(kind, free(3)).state_dict()) for kind in expected} == expected


HOLE = torch.tensor([[True, False, True, True], [True, True, False, False]])
EMPTY = torch.tensor([[True, True, True, True], [False, True, False, False]])
WRONG = {
    "a hole": ((3, HOLE, GOLD), Says("mask: row 0", "column 1", "column 2")),
    "no token": ((3, EMPTY, GOLD), Says("mask: row 1", "column 0")),
    "bytes": ((3, MASK.byte(), GOLD), Says("mask: ", "torch.bool", "torch.uint8")),
    "a long mask": ((3, torch.ones(2, 5).bool(), GOLD),
                    Says("mask: ", "(2, 4)", "found (2, 5)")),
    "wide states": ((5, MASK, GOLD), Says("states: ", "(batch, time, 3)", "(2, 4, 5)")),
    "short targets": ((3, MASK, GOLD[:, :3]), Says("tag ids: ", "(2, 4)", "found (2, 3)")),
    "targets of 32 bits": ((3, MASK, GOLD.int()), Says("tag ids: ", "torch.int64", "torch.int32")),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("kind", HEADS)
@torch.no_grad()
def test_what_a_head_cannot_score_is_refused_with_what_was_found_and_expected(
    kind: str, case: str
) -> None:
    head = make_head(kind, free(3))
    (width, mask, targets), message = WRONG[case]
    states = torch.zeros(2, 4, width)
    with refuses(ValueError, message):
        head.loss(states, mask, targets)
    if "target" not in case:
        entries = [
            lambda: head.decode(states, mask),
            lambda: head.n_best(states, mask, 2),
            lambda: head.confidence(states, mask, GOLD, torch.zeros(3).long()),
        ]
        if isinstance(head, ChainHead):
            entries.append(lambda: head.chain(states, mask))
        for entry in entries:
            with refuses(ValueError, message):
                entry()
