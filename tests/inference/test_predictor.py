"""Text and sentences -> predictions, in order, in windows, in another process."""

import pickle
from pathlib import Path

import pytest
import tiny
import torch

import tagkit
from tagkit.errors import DataError, DeviceError
from tagkit.inference import predictor as predictor_module
from tagkit.inference.predictor import Predictor
from tagkit.text.records import Sentence
from tagkit.training.trainer import train


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("predictor")
    options = ["data.feature_columns=[1]", "data.tag_column=-1"]
    return train(tiny.config(folder, *options, columns=3)).folder


@pytest.fixture(scope="module")
def predictor(folder: Path) -> Predictor:
    return tagkit.load(folder, device="cpu")


def sentence(*words: str) -> Sentence:
    return Sentence(words, features=(tuple("UP" if w[0].isupper() else "LOW" for w in words),))


def corpus(count: int, seed: int) -> list[Sentence]:
    return [sentence(*(row.split("\t")[0] for row in rows)) for rows in tiny.lines(count, seed)]


def test_a_pickled_predictor_leaves_its_word_cache_behind_and_answers_the_same(
    folder: Path,
) -> None:
    loaded = tagkit.load(folder, device="cpu")
    before = len(pickle.dumps(loaded))
    words = [f"w{number}" for number in range(3000)]
    found = loaded.annotate([sentence(*words)], batch_size=1, confidence=True, max_length=300)
    assert loaded._cache is not None
    assert len(loaded._cache.table().vectors) >= 3000
    pickled = pickle.dumps(loaded)
    assert len(pickled) == before
    again: Predictor = pickle.loads(pickled)  # noqa: S301 - made two lines above
    assert again._cache is not None  # a new one, which is kept as the first was
    assert len(again._cache.table().vectors) == 0
    assert (
        again.annotate([sentence(*words)], batch_size=1, confidence=True, max_length=300) == found
    )
    assert again._cache.rows(["w7", "w8"]).tolist() == [7, 8]


def test_a_pickled_predictor_of_a_model_in_training_keeps_no_words(predictor: Predictor) -> None:
    parts = predictor.model, predictor.vocabulary, predictor.config, predictor.device
    again: Predictor = pickle.loads(pickle.dumps(Predictor(*parts)))  # noqa: S301 - our own
    assert (again.keeps_words, again._cache) == (False, None)
    lines = corpus(5, 9)
    found = again.annotate(lines, batch_size=2, confidence=False)
    assert found == predictor.annotate(lines, batch_size=2, confidence=False)


def test_a_model_in_training_is_read_with_the_weights_that_it_has(folder: Path) -> None:
    loaded = tagkit.load(folder, device="cpu")
    live = Predictor(loaded.model, loaded.vocabulary, loaded.config, torch.device("cpu"))
    line = [sentence("Ada", "visits", "Rome", ".")] * 20
    before = live.annotate(line, batch_size=20, confidence=True)
    with torch.no_grad():
        loaded.model.encoder.layers[0].forwards.weight_ih_l0.zero_()
    after = live.annotate(line, batch_size=20, confidence=True)
    assert before[0].probabilities != after[0].probabilities


@pytest.mark.parametrize(("batch_size", "batch_tokens"), [(1, 16_384), (64, 16_384), (64, 12)])
def test_predictions_are_in_the_order_of_the_sentences_whatever_the_batches(
    predictor: Predictor, monkeypatch: pytest.MonkeyPatch, batch_size: int, batch_tokens: int
) -> None:
    monkeypatch.setattr(predictor_module, "BATCH_TOKENS", batch_tokens)
    lines = corpus(30, 4)
    assert len({len(line) for line in lines}) == 3
    found = predictor.annotate(lines, batch_size=batch_size, confidence=False)
    assert [prediction.words for prediction in found] == [line.words for line in lines]
    alone = [predictor.annotate([s], batch_size=1, confidence=False)[0].tags for s in lines]
    assert [prediction.tags for prediction in found] == alone


def test_a_long_sentence_is_reported_and_read_in_windows_and_keeps_all_its_words(
    predictor: Predictor,
) -> None:
    long = sentence(*(word for line in corpus(20, 6) for word in line.words))
    short, reported = corpus(1, 2)[0], []
    found = predictor.annotate(
        [short, long], batch_size=4, confidence=True, max_length=10, on_long=reported.append
    )
    assert reported == [len(long)]
    assert [prediction.words for prediction in found] == [short.words, long.words]
    assert [len(prediction.tags) for prediction in found] == [len(short), len(long)]
    assert len(found[1].probabilities or ()) == len(long)
    assert found[0] == predictor.annotate([short], batch_size=4, confidence=True)[0]


def test_nothing_gives_nothing(predictor: Predictor) -> None:
    assert predictor.predict([]) == []
    assert predictor.annotate([], batch_size=1, confidence=True) == []
    assert predictor.n_best([], 3) == []


def test_a_precision_that_a_gpu_does_not_have_is_refused_before_the_model_is_moved(
    predictor: Predictor,
) -> None:
    parts = predictor.model, predictor.vocabulary, predictor.config
    with pytest.raises(DeviceError, match=r"^device cuda: expected precision fp32, found int8$"):
        Predictor(*parts, torch.device("cuda"), precision="int8")


def test_a_sentence_without_words_and_a_count_below_one_are_refused(predictor: Predictor) -> None:
    sentences = [sentence("Ada", "visits", "Rome", "."), Sentence(())]
    expected = r"^expected at least one word in each sentence, found a sentence of none$"
    with pytest.raises(DataError, match=expected):
        predictor.annotate(sentences, batch_size=2, confidence=False)
    with pytest.raises(DataError, match=expected):
        predictor.n_best(sentences, 2)
    with pytest.raises(DataError, match=r"^count: expected at least 1, found 0$"):
        predictor.n_best(sentences[:1], 0)


def test_the_n_best_taggings_need_the_feature_columns_too(predictor: Predictor) -> None:
    (found,) = predictor.n_best([sentence("Ada", "visits", "Rome", ".")], 2)
    assert found[0].probability >= found[1].probability
    with pytest.raises(DataError, match="this model reads 1 feature columns"):
        predictor.n_best([Sentence(("Ada",))], 2)
