"""Heads: losses, decoding, and probabilities of spans against enumeration of all paths."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from tagkit.config import load_config
from tagkit.model import build_tagger, illegal_steps
from tagkit.nn.chain import Chain
from tagkit.nn.taggers import CrfHead, Head, SoftmaxHead, StepScores, ViterbiHead, estimate_bigrams
from tagkit.predictor import Predictor
from tagkit.schemes import illegal_count, to_spans
from tagkit.sentence import Sentence
from tagkit.vocab import Vocabulary

TAGS = {
    "iob2": ("O", "B-X", "I-X", "B-Y"),
    "iobes": ("O", "B-X", "E-X", "S-X", "I-X"),
    "bilou": ("O", "B-X", "L-X", "U-X"),
}


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
        total = chain.start[path[0]] + chain.end[path[-1]]
        total = total + sum(chain.emissions[row, t, tag] for t, tag in enumerate(path))
        total = total + sum(chain.transitions[a, b] for a, b in itertools.pairwise(path))
        found[path] = float(total)
    return found


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
@pytest.mark.parametrize("kind", ["crf", "softmax", "viterbi"])
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


@torch.no_grad()
def test_constrained_training_sums_over_legal_paths_alone(states: Tensor) -> None:
    tags = TAGS["iobes"]
    head = make_head("crf", illegal_steps(tags, "iobes"), constrain_training=True)
    gold = torch.tensor([[1, 2, 0, 3], [0, 3, 0, 0]])  # B E O S, O S
    total, _ = head.loss(states, MASK, gold)
    expected = 0.0
    for row, length in enumerate((4, 2)):
        legal = {
            path: score
            for path, score in scores_of(head.chain(states, MASK), row).items()
            if illegal_count([[tags[i] for i in path]], "iobes") == 0
        }
        path = tuple(gold[row, :length].tolist())
        expected += math.log(sum(math.exp(s) for s in legal.values())) - legal[path]
    assert float(total) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("scheme", sorted(TAGS))
@pytest.mark.parametrize("kind", ["crf", "softmax", "viterbi"])
def test_the_probability_of_a_span_is_that_of_all_paths_with_just_this_span(
    scheme: str, kind: str
) -> None:
    vocabulary = Vocabulary(
        words=("a", "b", "c"), vector_words=(), only_vectors=False, chars=("a", "b", "c"),
        tags=TAGS[scheme], features=(), lowercase=True, normalize_digits=True,
    )  # fmt: skip
    config = load_config(
        overrides=["data.scheme=iob2", f"data.train_scheme={scheme}", f"head.kind={kind}",
                   "head.constrain=decode", "encoder.hidden=4"]
    )  # fmt: skip
    sentences = [Sentence(words) for words in itertools.product("abc", repeat=3)]
    sentences.append(Sentence(("b",)))
    spans_seen = 0
    for seed in range(3):
        torch.manual_seed(seed)
        size = len(vocabulary.tags)
        bigrams = StepScores(torch.randn(size, size), torch.randn(size), torch.randn(size))
        model = build_tagger(config, vocabulary, bigrams).eval()
        with torch.no_grad():
            model.head.linear.weight.mul_(6)
        predictor = Predictor(model, vocabulary, config, torch.device("cpu"))
        for sentence in sentences[seed::3]:
            (found,) = predictor.tag([sentence], batch_size=1, confidence=True)
            (tagged,) = predictor.predict([sentence], confidence=True)
            spans_seen += len(found.spans)
            check_probabilities(predictor, sentence, found)
            assert [span.probability for span in tagged.spans] == [
                span.probability for span in found.spans
            ]
    assert spans_seen > 10


def check_probabilities(predictor: Predictor, sentence: Sentence, found: object) -> None:
    from tagkit.batch import encode
    from tagkit.sentence import Prediction

    assert isinstance(found, Prediction)
    tags = predictor.vocabulary.tags
    with torch.no_grad():
        batch = encode([sentence], predictor.vocabulary, chars=True).batch([0])
        chain = predictor.model.head.chain(predictor.model.states(batch), batch.mask)
        paths = scores_of(chain, 0)
    log_z = math.log(sum(math.exp(score) for score in paths.values()))
    probs = {path: math.exp(score - log_z) for path, score in paths.items()}
    for span in found.spans:
        expected = sum(
            prob
            for path, prob in probs.items()
            if (span.start, span.end, span.label)
            in {(s.start, s.end, s.label) for s in to_spans([tags[i] for i in path])}
        )
        assert span.probability == pytest.approx(expected, abs=1e-5)
    best = max(probs, key=lambda path: probs[path])
    assert found.probabilities is not None
    for t, probability in enumerate(found.probabilities):
        expected = sum(prob for path, prob in probs.items() if path[t] == best[t])
        assert probability == pytest.approx(expected, abs=1e-5)
