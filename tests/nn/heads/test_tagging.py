"""Heads: losses, decoding, and probabilities of spans against enumeration of all paths."""

import itertools
import math
from dataclasses import replace

import pytest
import tiny
import torch
from torch import Tensor

from tagkit.config import load_config
from tagkit.features.batch import encode
from tagkit.features.vocabulary import Vocabulary
from tagkit.inference.predictor import Predictor
from tagkit.models.model import build_model, illegal_steps
from tagkit.nn.crf.chain import Chain, marginals
from tagkit.nn.heads.tagging import (
    CrfHead,
    Head,
    SoftmaxHead,
    StepScores,
    ViterbiHead,
    estimate_bigrams,
)
from tagkit.text.records import Sentence
from tagkit.text.scheme_detection import illegal_count
from tagkit.text.schemes import convert, to_spans

TAGS = {
    "iob2": ("O", "B-X", "I-X", "B-Y"),
    "iobes": ("O", "B-X", "E-X", "S-X", "I-X"),
    "bilou": ("O", "B-X", "L-X", "U-X"),
}


HEADS = ("crf", "softmax", "viterbi")


def free(tags: int) -> StepScores:
    return StepScores(torch.zeros(tags, tags), torch.zeros(tags), torch.zeros(tags))


def make_head(kind: str, illegal: StepScores, *, constrain_training: bool = False) -> Head:
    torch.manual_seed(4)
    tags = len(illegal.start)
    if kind == "crf":
        head = CrfHead(inputs=3, tags=tags, illegal=illegal, constrain_training=constrain_training)
        with torch.no_grad():
            for parameter in head.crf.parameters():
                parameter.normal_()
        return head
    if kind == "softmax":
        return SoftmaxHead(inputs=3, tags=tags, illegal=illegal)
    bigrams = StepScores(torch.randn(tags, tags), torch.randn(tags), torch.randn(tags))
    return ViterbiHead(inputs=3, tags=tags, illegal=illegal, bigrams=bigrams)


def scores_of(chain: Chain, row: int) -> dict[tuple[int, ...], float]:
    """Every path of a sentence with its score, summed term by term."""
    length, tags = int(chain.mask[row].sum()), len(chain.start)
    found = {}
    for path in itertools.product(range(tags), repeat=length):
        found[path] = float(_score(chain, row, path))
    return found


def _score(chain: Chain, row: int, path: tuple[int, ...]) -> Tensor:
    total = chain.start[path[0]] + chain.end[path[-1]]
    total = total + sum(chain.emissions[row, t, tag] for t, tag in enumerate(path))
    return total + sum(chain.transitions[a, b] for a, b in itertools.pairwise(path))


@pytest.fixture
def states() -> Tensor:
    return 2 * torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(9))


MASK = torch.tensor([[True, True, True, True], [True, True, False, False]])
GOLD = torch.tensor([[0, 1, 2, 0], [2, 1, 0, 0]])


@torch.no_grad()
def test_the_crf_loss_is_the_log_probability_of_the_gold_path(states: Tensor) -> None:
    head = make_head("crf", free(3))
    total, count = head.loss(states, MASK, GOLD)
    expected = 0.0
    for row, length in enumerate((4, 2)):
        scores = scores_of(head.chain(states, MASK), row)
        gold = scores[tuple(GOLD[row, :length].tolist())]
        expected += math.log(sum(math.exp(s) for s in scores.values())) - gold
    assert float(total) == pytest.approx(expected, rel=1e-5)
    assert int(count) == 6


@torch.no_grad()
def test_the_crf_head_is_pytorch_crf_over_its_own_emissions(states: Tensor) -> None:
    head = make_head("crf", free(3))
    assert isinstance(head, CrfHead)
    emissions = head.linear(states)
    total, _ = head.loss(states, MASK, GOLD)
    torch.testing.assert_close(total, -head.crf(emissions, GOLD, mask=MASK))
    paths = head.decode(states, MASK).tolist()
    assert [paths[0], paths[1][:2]] == head.crf.decode(emissions, mask=MASK)


@pytest.mark.parametrize("kind", ["softmax", "viterbi"])
@torch.no_grad()
def test_the_softmax_loss_is_the_log_probability_of_each_token(states: Tensor, kind: str) -> None:
    head = make_head(kind, free(3))
    total, count = head.loss(states, MASK, GOLD)
    probs = torch.softmax(head.linear(states), 2)
    tokens = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)]
    expected = -sum(math.log(probs[row, t, GOLD[row, t]]) for row, t in tokens)
    assert float(total) == pytest.approx(expected, rel=1e-5)
    assert int(count) == 6


@torch.no_grad()
def test_softmax_takes_the_best_tag_of_each_token(states: Tensor) -> None:
    head = make_head("softmax", free(3))
    expected = head.linear(states).argmax(2).masked_fill(~MASK, 0)
    assert torch.equal(head.decode(states, MASK), expected)


@pytest.mark.parametrize("kind", ["crf", "viterbi"])
@torch.no_grad()
def test_decoding_finds_the_best_of_all_paths(states: Tensor, kind: str) -> None:
    head = make_head(kind, free(3))
    found = head.decode(states, MASK)
    for row, length in enumerate((4, 2)):
        scores = scores_of(head.chain(states, MASK), row)
        assert tuple(found[row, :length].tolist()) == max(scores, key=lambda path: scores[path])


@torch.no_grad()
def test_viterbi_maximises_log_probabilities_plus_bigram_scores(states: Tensor) -> None:
    head = make_head("viterbi", free(3))
    assert isinstance(head, ViterbiHead)
    log_probs = torch.softmax(head.linear(states), 2).log().tolist()
    bigrams, start, end = (
        part.tolist() for part in (head.bigram_transitions, head.bigram_start, head.bigram_end)
    )
    found = head.decode(states, MASK)
    plain = SoftmaxHead.decode(head, states, MASK)
    assert not torch.equal(found, plain)  # the bigrams do have a say
    for row, length in enumerate((4, 2)):

        def total(path: tuple[int, ...], row: int = row) -> float:
            emitted = sum(log_probs[row][t][tag] for t, tag in enumerate(path))
            stepped = sum(bigrams[a][b] for a, b in itertools.pairwise(path))
            return float(emitted + stepped + start[path[0]] + end[path[-1]])

        best = max(itertools.product(range(3), repeat=length), key=total)
        assert tuple(found[row].tolist()) == best + (0,) * (4 - length)


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


@torch.no_grad()
def test_the_viterbi_head_adds_bigrams_starts_and_ends_to_log_probabilities(
    states: Tensor,
) -> None:
    head = make_head("viterbi", free(3))
    assert isinstance(head, ViterbiHead)
    chain = head.chain(states, MASK)
    torch.testing.assert_close(chain.emissions, torch.log_softmax(head.linear(states), 2))
    assert torch.equal(chain.transitions, head.bigram_transitions)
    assert torch.equal(chain.start, head.bigram_start)
    assert torch.equal(chain.end, head.bigram_end)


@pytest.mark.parametrize("kind", HEADS)
def test_head_losses_have_the_gradient_of_brute_force(states: Tensor, kind: str) -> None:
    head = make_head(kind, free(3))
    total, _ = head.loss(states, MASK, GOLD)
    names = [name for name, _ in head.named_parameters()]
    found = torch.autograd.grad(total, list(head.parameters()))

    chain = head.chain(states, MASK)
    if kind == "viterbi":  # learns as softmax does
        chain = replace(chain, transitions=torch.zeros(3, 3), start=torch.zeros(3),
                        end=torch.zeros(3))  # fmt: skip
    expected = torch.zeros(())
    for row, length in enumerate((4, 2)):
        paths = list(itertools.product(range(3), repeat=length))
        scores = [_score(chain, row, path) for path in paths]
        gold = tuple(GOLD[row, :length].tolist())
        expected = expected + torch.logsumexp(torch.stack(scores), 0) - scores[paths.index(gold)]
    for name, ours, theirs in zip(
        names, found, torch.autograd.grad(expected, list(head.parameters())), strict=True
    ):
        torch.testing.assert_close(
            ours, theirs, rtol=1e-4, atol=1e-5, msg=lambda text, name=name: f"{name}: {text}"
        )


def test_bigrams_are_ratios_of_counts() -> None:
    found = estimate_bigrams([[0, 1], [0, 0]], 2, smoothing=0.5)
    # counts + 0.5 of steps from tag 0: to 0, to 1, to the end; from 1; and from the start
    from_0, from_1, from_edge = [1.5, 1.5, 1.5], [0.5, 0.5, 1.5], [2.5, 0.5]
    seen = [1.5 + 0.5 + 2.5, 1.5 + 0.5 + 0.5]
    prior = [count / sum(seen) for count in seen]
    for before, row in enumerate((from_0, from_1)):
        for after in (0, 1):
            expected = math.log(row[after] / sum(row) / prior[after])
            assert float(found.transitions[before, after]) == pytest.approx(expected, abs=1e-6)
        assert float(found.end[before]) == pytest.approx(math.log(row[2] / sum(row)), abs=1e-6)
    for after in (0, 1):
        expected = math.log(from_edge[after] / sum(from_edge) / prior[after])
        assert float(found.start[after]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("scheme", sorted(TAGS))
@pytest.mark.parametrize("kind", HEADS)
@torch.no_grad()
def test_constrained_decoding_never_gives_an_illegal_sequence(scheme: str, kind: str) -> None:
    tags = TAGS[scheme]
    head = make_head(kind, illegal_steps(tags, scheme))
    dice = torch.Generator().manual_seed(1)
    lengths = torch.randint(1, 9, (200,), generator=dice)
    mask = torch.arange(8) < lengths[:, None]
    wild = 20 * torch.randn(200, 8, 3, generator=dice)
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
        legal = {
            path: score
            for path, score in scores_of(loose.chain(states, MASK), row).items()
            if illegal_count([[tags[i] for i in path]], scheme) == 0
        }
        assert tuple(found[row, :length].tolist()) == max(legal, key=lambda path: legal[path])


@pytest.mark.parametrize("kind", HEADS)
@torch.no_grad()
def test_a_sentence_never_begins_with_i_where_all_words_stand_in_spans(kind: str) -> None:
    # With B and I alone every step is legal; only the beginning is not free.
    head = make_head(kind, illegal_steps(("B-X", "I-X"), "iob2"))
    wild = 5 * torch.randn(50, 3, 3, generator=torch.Generator().manual_seed(2))
    paths = head.decode(wild, torch.ones(50, 3, dtype=torch.bool))
    assert not paths[:, 0].any()
    assert paths[:, 1:].any()


@torch.no_grad()
def test_constrained_training_sums_over_legal_paths_alone(states: Tensor) -> None:
    tags = TAGS["iobes"]
    head = make_head("crf", illegal_steps(tags, "iobes"), constrain_training=True)
    gold = torch.tensor([[1, 2, 0, 3], [0, 3, 0, 0]])  # B E O S, O S
    total, _ = head.loss(states, MASK, gold)
    loose = make_head("crf", free(len(tags)))  # of the same weights
    expected = 0.0
    for row, length in enumerate((4, 2)):
        legal = {
            path: score
            for path, score in scores_of(loose.chain(states, MASK), row).items()
            if illegal_count([[tags[i] for i in path]], "iobes") == 0
        }
        path = tuple(gold[row, :length].tolist())
        expected += math.log(sum(math.exp(s) for s in legal.values())) - legal[path]
    assert float(total) == pytest.approx(expected, rel=1e-5)


# Probabilities of tokens and spans, the whole road from words.


def make_predictor(scheme: str, kind: str, seed: int) -> Predictor:
    vocabulary = Vocabulary(
        words=("a", "b", "c"), vector_words=(), only_vectors=False, chars=("a", "b", "c"),
        tags=TAGS[scheme], classes=(), features=(), lowercase=True, normalize_digits=True,
    )  # fmt: skip
    config = load_config(
        overrides=["data.scheme=iob2", f"data.train_scheme={scheme}", f"head.kind={kind}",
                   "head.constrain=decode", "encoder.hidden=4", "embeddings.word_dim=4",
                   "embeddings.char_dim=4", "embeddings.char_hidden=4"]
    )  # fmt: skip
    torch.manual_seed(seed)
    size = len(vocabulary.tags)
    bigrams = StepScores(torch.randn(size, size), torch.randn(size), torch.randn(size))
    model = build_model(config, vocabulary, bigrams)
    with torch.no_grad():
        model.head.linear.weight.mul_(6)
        for parameter in getattr(model.head, "crf", torch.nn.Module()).parameters():
            parameter.normal_()
    return Predictor(model, vocabulary, config, torch.device("cpu"))


def probabilities_of(predictor: Predictor, sentence: Sentence) -> dict[tuple[str, ...], float]:
    """Every path of tags with its probability."""
    model, tags = predictor.model.eval(), predictor.vocabulary.tags
    batch = encode([sentence], predictor.vocabulary, chars=True).batch([0])
    with torch.no_grad():
        scores = scores_of(model.head.chain(model.states(batch), batch.tokens.mask), 0)
    total = sum(math.exp(score) for score in scores.values())
    return {tuple(tags[i] for i in path): math.exp(score) / total for path, score in scores.items()}


SENTENCES = [
    Sentence(tuple(words)) for words in ("abca", "b", "cab", "ccba", "ab", "bbc", "aacc", "ca")
]


@pytest.mark.parametrize("scheme", sorted(TAGS))
@pytest.mark.parametrize("kind", HEADS)
def test_the_probability_of_a_span_is_that_of_all_paths_with_just_this_span(
    scheme: str, kind: str
) -> None:
    lengths = set()
    for seed in range(3):
        predictor = make_predictor(scheme, kind, seed)
        predictions = predictor.annotate(SENTENCES, batch_size=5, confidence=True)
        for sentence, found in zip(SENTENCES, predictions, strict=True):
            probs = probabilities_of(predictor, sentence)
            best = max(probs, key=lambda path: probs[path])
            assert [replace(s, probability=None) for s in found.spans] == list(to_spans(best))
            for span in found.spans:
                expected = sum(
                    prob
                    for path, prob in probs.items()
                    if replace(span, probability=None) in to_spans(path)
                )
                assert span.probability == pytest.approx(expected, abs=1e-5)
                lengths.add(span.end - span.start)
            assert found.probabilities is not None
            for t, probability in enumerate(found.probabilities):
                expected = sum(prob for path, prob in probs.items() if path[t] == best[t])
                assert probability == pytest.approx(expected, abs=1e-5)
    assert {1, 2} <= lengths


@pytest.mark.parametrize("kind", HEADS)
def test_token_probabilities_are_the_marginals_of_the_tags(kind: str) -> None:
    predictor = make_predictor("iobes", kind, seed=4)
    model = predictor.model.eval()
    batch = encode(SENTENCES, predictor.vocabulary, chars=True).batch(range(len(SENTENCES)))
    with torch.no_grad():
        chain = model.head.chain(model.states(batch), batch.tokens.mask)
    paths = tiny.answer(model, batch).tag_ids
    expected = marginals(chain).gather(2, paths.unsqueeze(2)).squeeze(2)
    for row, found in enumerate(predictor.annotate(SENTENCES, batch_size=3, confidence=True)):
        length = len(SENTENCES[row])
        assert found.probabilities == pytest.approx(expected[row, :length].tolist(), abs=1e-5)


def test_predict_hands_on_the_probabilities_of_tag() -> None:
    predictor = make_predictor("iobes", "viterbi", seed=1)
    tagged = predictor.predict(SENTENCES, confidence=True)
    found = predictor.annotate(SENTENCES, batch_size=64, confidence=True)
    assert any(prediction.spans for prediction in found)
    for ours, theirs in zip(tagged, found, strict=True):
        assert [s.probability for s in ours.spans] == [s.probability for s in theirs.spans]
        assert tuple(token.probability for token in ours.tokens) == theirs.probabilities
    plain = predictor.predict(SENTENCES)
    assert all(span.probability is None for tagged in plain for span in tagged.spans)
    assert [[s.label for s in t.spans] for t in plain] == [
        [s.label for s in t.spans] for t in tagged
    ]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
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
def test_the_likeliest_taggings_are_those_of_all_paths(kind: str) -> None:
    predictor = make_predictor("iobes", kind, seed=4)
    for sentence, found in zip(SENTENCES, predictor.n_best(SENTENCES, 5), strict=True):
        expected = sorted(probabilities_of(predictor, sentence).items(), key=lambda x: -x[1])
        assert len(found) == min(5, sum(p > 0 for _, p in expected))
        for ours, (path, probability) in zip(found, expected, strict=False):
            assert ours.probability == pytest.approx(probability, abs=1e-5)
            if kind == "crf":  # no two paths are as likely there
                assert ours.tags == convert(path, "iob2")
                assert ours.spans == to_spans(path)
