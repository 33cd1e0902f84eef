"""Probabilities of tags, spans and whole paths, from words to predictions, against enumeration."""

import itertools
import math
from dataclasses import replace

import pytest
import tiny
import torch
from marginals import marginals
from marks import mostly_slow
from tag_heads import TAGS, scores_of_paths

from tagkit.config import load_config
from tagkit.features.batching.encoding import encode
from tagkit.features.vocabulary import Vocabulary
from tagkit.inference.predict.predictor import Predictor
from tagkit.models.base.device import to_tensors
from tagkit.models.task_table import task_of
from tagkit.nn.heads import HEADS
from tagkit.nn.heads.tag_space import StepScores
from tagkit.nn.heads.tagging import ChainHead
from tagkit.text.records import Sentence
from tagkit.text.schemes import convert, to_spans


def make_predictor(scheme: str, kind: str, seed: int) -> Predictor:
    vocabulary = Vocabulary(
        words=("a", "b", "c"), vector_words=(), only_vectors=False, chars=("a", "b", "c"),
        affixes=(), tags=TAGS[scheme], classes=(), features=(),
        lowercase=True, normalize_digits=True,
    )  # fmt: skip
    config = load_config(
        overrides=["data.scheme=iob2", f"data.train_scheme={scheme}", f"head.kind={kind}",
                   "head.constrain=decode", "encoder.hidden=4", "embeddings.word_dim=4",
                   "embeddings.char_dim=4", "embeddings.char_hidden=4",
                   # Holds all paths of these sentences, so that nothing is an approximation.
                   *(["head.beam=700"] if kind == "feedback" else [])]
    )  # fmt: skip
    torch.manual_seed(seed)
    size = len(vocabulary.tags)
    bigrams = StepScores(torch.randn(size, size), torch.randn(size), torch.randn(size))
    model = task_of(config).build(config, vocabulary, None)
    if kind == "viterbi":
        model.head.bigram_transitions, model.head.bigram_start = bigrams.transitions, bigrams.start
        model.head.bigram_end = bigrams.end
    with torch.no_grad():
        model.head.linear.weight.mul_(6)
        for parameter in getattr(model.head, "crf", torch.nn.Module()).parameters():
            parameter.normal_()
    return Predictor(model, vocabulary, config, torch.device("cpu"))


def probabilities_of(predictor: Predictor, sentence: Sentence) -> dict[tuple[str, ...], float]:
    """Every path of tags with its probability."""
    model, tags = predictor.model.eval(), predictor.vocabulary.tags
    batch = to_tensors(encode([sentence], predictor.vocabulary, {}, chars=True).batch([0]))
    with torch.no_grad():
        scores = scores_of_paths(model.head, model.states(batch), batch.tokens.mask, 0)
    total = sum(math.exp(score) for score in scores.values())
    return {tuple(tags[i] for i in path): math.exp(score) / total for path, score in scores.items()}


SENTENCES = [
    Sentence(tuple(words)) for words in ("abca", "b", "cab", "ccba", "ab", "bbc", "aacc", "ca")
]


# All schemes with the heads that are chains, one with the others.
EVERY = sorted(itertools.product(TAGS, HEADS), key=lambda pair: pair[1] == "feedback")


@pytest.mark.parametrize(("scheme", "kind"), mostly_slow(EVERY, always=3))
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


@pytest.mark.parametrize("kind", [kind for kind in HEADS if issubclass(HEADS[kind], ChainHead)])
def test_token_probabilities_are_the_marginals_of_the_tags(kind: str) -> None:
    predictor = make_predictor("iobes", kind, seed=4)
    model = predictor.model.eval()
    batch = to_tensors(
        encode(SENTENCES, predictor.vocabulary, {}, chars=True).batch(range(len(SENTENCES)))
    )
    with torch.no_grad():
        chain = model.head.chain(model.states(batch), batch.tokens.mask)
    paths = tiny.output(model, batch).tag_ids
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
