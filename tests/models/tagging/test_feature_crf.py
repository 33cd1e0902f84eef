"""A tagger with a CRF of word features beside its network: what it predicts, and what it saves."""

import itertools
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch

import tagkit
from tagkit.inference.predict.predictor import Predictor
from tagkit.models.tagging import feature_crf
from tagkit.models.tagging.tagger import Tagger
from tagkit.nn.feature_crf.feature_crf import FeatureCrf
from tagkit.nn.feature_crf.feature_crf_fit import _windows
from tagkit.nn.heads.tagging import ChainHead
from tagkit.text.records import Sentence
from tagkit.training.setup.setup import prepare
from tagkit.training.trainer import train

LINES = [
    Sentence(tuple(words.split()))
    for words in ("Ada visits Cape Town .", "Quito likes Oslo", "Xerxes knows Lima .", "? ?")
]
VECTORS = "Ada 1 0 0 0\nOslo 0 1 0 0\nvisits 0 0 1 0\nknows 0 0 1 1\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of few epochs with vectors, whose network alone errs now and then."""
    place = tmp_path_factory.mktemp("beside")
    (place / "vectors.txt").write_text(VECTORS)
    options = ["train.max_epochs=2", "train.lr=0.005", "embeddings.word_dim=4",
               "data.train_scheme=iob2"]  # fmt: skip
    train(tiny.config(place, *options, **{"embeddings.vectors": str(place / "vectors.txt")}))
    return place


@pytest.fixture
def predictor(folder: Path) -> Predictor:
    return with_share(folder, 0.5)


def with_share(folder: Path, share: float) -> Predictor:
    found = tagkit.load(folder / "model", device="cpu")
    crf_of(found).share.fill_(share)
    # What is cached of words depends on whether the CRF counts.
    return Predictor(found.model, found.vocabulary, found.config, found.device, keep_words=True)


def tagger(predictor: Predictor) -> Tagger:
    assert isinstance(predictor.model, Tagger)
    return predictor.model


def crf_of(predictor: Predictor) -> FeatureCrf:
    assert predictor.model.feature_crf is not None
    return predictor.model.feature_crf


@cache
def tags_of(tags: int, length: int) -> list[tuple[int, ...]]:
    return list(itertools.product(range(tags), repeat=length))


def probabilities(predictor: Predictor, line: Sentence) -> dict[tuple[str, ...], float]:
    """Of every path, from the scores of both CRFs, each computed by itself."""
    model, names = tagger(predictor), predictor.vocabulary.tags
    share = float(crf_of(predictor).share)
    ((_, batch),) = predictor._batches.read([line], 1)
    scores: dict[tuple[int, ...], float] = {}
    with torch.no_grad():
        states, _ = model.read(batch.tokens, batch.words)
        assert isinstance(model.head, ChainHead)
        network = model.head.chain(states, batch.tokens.mask)
        words = beside(predictor, line) if share else {}
        for path in tags_of(len(names), len(line.words)):
            own = float(network.start[path[0]] + network.end[path[-1]])
            own += sum(float(network.emissions[0, t, tag]) for t, tag in enumerate(path))
            own += sum(float(network.transitions[a, b]) for a, b in itertools.pairwise(path))
            scores[path] = (1 - share) * own + (share * words[path] if share else 0.0)
    total = math.fsum(math.exp(score) for score in scores.values())
    return {
        tuple(names[tag] for tag in path): math.exp(score) / total for path, score in scores.items()
    }


def beside(predictor: Predictor, line: Sentence) -> dict[tuple[int, ...], float]:
    """Scores of paths by the CRF of word features alone; its share is above 0."""
    model = tagger(predictor)
    ((_, batch),) = predictor._batches.read([line], 1)
    emissions = batch.score_features(model.feature_crf)
    assert model.feature_crf is not None
    assert emissions is not None
    chain = model.feature_crf.chain(emissions, batch.tokens.mask)
    return {
        path: float(
            sum(chain.emissions[0, t, tag] for t, tag in enumerate(path))
            + sum(chain.transitions[a, b] for a, b in itertools.pairwise(path))
        )
        for path in tags_of(len(predictor.vocabulary.tags), len(line.words))
    }


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5])
def test_tags_confidences_and_alternatives_are_those_of_the_enumerated_product(
    predictor: Predictor, share: float
) -> None:
    crf_of(predictor).share.fill_(share)
    for line in LINES:
        paths = probabilities(predictor, line)
        ranked = sorted(paths, key=lambda path: -paths[path])
        (found,) = predictor.annotate([line], batch_size=1, confidence=True)
        assert found.tags == ranked[0]
        assert found.probabilities is not None
        for place, (tag, probability) in enumerate(
            zip(found.tags, found.probabilities, strict=True)
        ):
            expected = sum(p for path, p in paths.items() if path[place] == tag)
            assert probability == pytest.approx(expected, rel=1e-4)
        best = predictor.n_best(line, 3)
        assert [each.tags for each in best] == ranked[:3]
        expected_ = [paths[path] for path in ranked[:3]]
        assert [each.probability for each in best] == pytest.approx(expected_, rel=1e-4)


def test_a_short_text_has_all_its_alternatives_however_many_are_asked_for(
    predictor: Predictor,
) -> None:
    line = Sentence(LINES[0].words[:2])
    paths = {path: p for path, p in probabilities(predictor, line).items() if p > 0}
    best = predictor.n_best(line, 10**9)
    assert [each.tags for each in best] == sorted(paths, key=lambda path: -paths[path])
    assert best == predictor.n_best(line, len(paths))


def test_the_shares_give_different_answers(predictor: Predictor) -> None:
    found = []
    for share in (0.0, 0.5):
        crf_of(predictor).share.fill_(share)
        found.append(predictor.annotate(LINES, batch_size=4, confidence=True))
    assert found[0] != found[1]


def test_a_sentence_is_tagged_the_same_alone_in_a_batch_and_in_a_stream(
    predictor: Predictor,
) -> None:
    together = predictor.annotate(LINES, batch_size=4, confidence=True)
    alone = [predictor.annotate([line], batch_size=1, confidence=True)[0] for line in LINES]
    for one, other in zip(together, alone, strict=True):
        assert one.tags == other.tags
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-5)
    streamed = [[token.tag for token in text.sentences[0]] for text in predictor.stream(LINES)]
    assert streamed == [[*each.tags] for each in alone]


def test_what_is_read_in_prediction_is_what_the_weights_were_found_for(
    predictor: Predictor,
) -> None:
    crf, vocabulary = crf_of(predictor), predictor.vocabulary
    assert crf.clusters is not None
    lengths = np.array([len(line.words) for line in LINES])
    vectors = feature_crf._vectors(crf, predictor.model, LINES, vocabulary)
    groups = [
        *feature_crf._features(LINES, few_spans=True),
        *feature_crf._cluster_features(crf, vectors, lengths),
    ]
    # As `fit` has them: sums over the features of all groups, and of vectors.
    expected = sum(crf.scores(group.keys)[torch.from_numpy(group.items)] for group in groups)
    expected = expected + _windows(vectors, lengths) @ crf.vector_weights
    assert any(crf.scores(group.keys).any() for group in groups[-3:])  # clusters among them
    ends = np.cumsum(lengths)
    for line, start, end in zip(LINES, ends - lengths, ends, strict=True):
        ((_, batch),) = predictor._batches.read([line], 1)
        found = batch.score_features(crf)
        assert found is not None
        torch.testing.assert_close(found[0], expected[start:end], atol=1e-5, rtol=1e-5)


def test_the_network_is_bit_for_bit_the_one_without_it(tmp_path: Path, folder: Path) -> None:
    tiny.corpus(tmp_path)
    runs = [
        train(tiny.small(tmp_path, "train.max_epochs=1", f"head.feature_crf={n}"), force=True)
        for n in (0, 500)
    ]
    without, with_it = (run.predictor.model.state_dict() for run in runs)
    added = {name for name in with_it if name not in without}
    assert {name.partition(".")[0] for name in added} == {"feature_crf"}
    for name, tensor in without.items():
        assert torch.equal(tensor, with_it[name]), name
    assert [each.score for each in runs[0].epochs] == [each.score for each in runs[1].epochs]


def test_weights_of_labels_and_of_sentences_reach_it(tmp_path: Path) -> None:
    tiny.corpus(tmp_path)

    def fitted(*options: str) -> torch.Tensor:
        prepared = prepare(tiny.small(tmp_path, *options), torch.device("cpu"))
        assert prepared.model.feature_crf is not None
        return prepared.model.feature_crf.weights

    assert not torch.equal(fitted(), fitted("head.label_weights={PER=5.0}"))


def test_a_tenth_of_a_time_limit_is_for_its_weights_and_without_a_limit_no_clock_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.corpus(tmp_path)
    given: list[float] = []
    monkeypatch.setattr(feature_crf, "fit", lambda *arguments: given.append(arguments[3]))
    for options in ([], ["train.max_minutes=5"]):
        prepare(tiny.small(tmp_path, *options), torch.device("cpu"))
    assert given == [math.inf, pytest.approx(30)]


def test_words_that_training_never_saw_are_tagged_by_their_shape(folder: Path) -> None:
    found = with_share(folder, 0.99)
    unseen = Sentence(("Zed", "Zum", "knows", "Zog", "."))
    (line,) = found.annotate([unseen], batch_size=1, confidence=False)
    assert line.tags[2] == line.tags[4] == "O"
    assert "O" not in {line.tags[0], line.tags[3]}
