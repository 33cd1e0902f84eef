"""Text and sentences -> predictions, in order, in windows, in another process."""

import gc
import itertools
import math
import multiprocessing
import pickle
import random
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from hypothesis import given
from hypothesis import strategies as st
from says import Says, refuses
from threadpoolctl import ThreadpoolController

import tagkit
from tagkit.corpus.records.dataset import Split
from tagkit.errors import ConfigError, DataError, DeviceError
from tagkit.features.batching.batch import Tokens
from tagkit.inference.predict import sentence_batches as module
from tagkit.inference.predict.predictor import Predictor, alternatives_of_text
from tagkit.models.answers.texts import Text
from tagkit.models.base.model import Model
from tagkit.nn.cells.lstm import LSTMNetwork
from tagkit.nn.recurrence.cell import Network
from tagkit.text.records import Alternative, Document, Prediction, Sentence, Span, TaggedText
from tagkit.text.scheme_detection import Detection
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
    (cache,) = loaded._batches.caches
    assert len(cache.table().vectors) >= 3000
    pickled = pickle.dumps(loaded)
    assert len(pickled) == before
    again: Predictor = pickle.loads(pickled)  # noqa: S301 - made two lines above
    (cache,) = again._batches.caches  # a new one, which is kept as the first was
    assert len(cache.table().vectors) == 0
    assert (
        again.annotate([sentence(*words)], batch_size=1, confidence=True, max_length=300) == found
    )
    assert again._batches.caches == [cache]
    assert cache.rows(["w7", "w8"]).tolist() == [7, 8]


@pytest.mark.slow
def test_several_threads_get_the_answers_of_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Now and then a thread is stopped anywhere: also between two lines that belong together.
    dice = random.Random(1)
    lines = [sentence(*(f"w{dice.randrange(2000)}" for _ in range(9))) for _ in range(400)]
    alone = tagkit.load(folder, device="cpu")
    expected = [alone.annotate([line], batch_size=1, confidence=True) for line in lines]
    # Often emptied.
    monkeypatch.setattr("tagkit.inference.predict.sentence_batches._MAX_BYTES", 40_000)
    shared = tagkit.load(folder, device="cpu")

    def annotated(line: Sentence) -> list[Prediction]:
        return shared.annotate([line], batch_size=1, confidence=True)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(annotated, lines))
    finally:
        sys.setswitchinterval(before)
    for ours, wanted in zip(found, expected, strict=True):
        assert ours[0].tags == wanted[0].tags
        assert ours[0].probabilities == pytest.approx(wanted[0].probabilities, abs=1e-5)
    assert 1 <= len(shared._batches.caches) <= 4


def test_a_loaded_model_needs_no_change_before_its_first_answer(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tagkit.load(folder, device="cpu")
    monkeypatch.setattr(Model, "eval", lambda self: pytest.fail("other threads may be reading it"))
    assert shared.predict([sentence("Ada", "visits", "Rome", ".")])


def test_an_answer_that_is_not_read_to_its_end_keeps_its_words_to_itself(folder: Path) -> None:
    loaded = tagkit.load(folder, device="cpu")
    reader = loaded._batches.read(corpus(8, 3), batch_size=2)
    next(reader)
    assert loaded._batches.caches == []
    list(loaded._batches.read(corpus(3, 5), batch_size=2))  # with a cache of its own
    reader.close()
    assert len(loaded._batches.caches) == 2


def test_a_pickled_predictor_of_a_model_in_training_keeps_no_words(predictor: Predictor) -> None:
    parts = predictor.model, predictor.vocabulary, predictor.config, predictor.device
    again: Predictor = pickle.loads(pickle.dumps(Predictor(*parts)))  # noqa: S301 - our own
    assert (again.keeps_words, again._batches.caches) == (False, [])
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
    monkeypatch.setattr(module, "BATCH_TOKENS", batch_tokens)
    lines = corpus(30, 4)
    assert len({len(line) for line in lines}) == 3
    found = predictor.annotate(lines, batch_size=batch_size, confidence=False)
    assert [prediction.words for prediction in found] == [line.words for line in lines]
    alone = [predictor.annotate([s], batch_size=1, confidence=False)[0].tags for s in lines]
    assert [prediction.tags for prediction in found] == alone


def test_no_garbage_is_searched_for_while_sentences_are_predicted(plain: Predictor) -> None:
    found: list[bool] = []
    plain.predict(
        ["Ada visits Rome ."], max_length=2, on_long=lambda _: found.append(gc.isenabled())
    )
    assert found == [False]
    assert gc.isenabled()


def test_prediction_leaves_the_other_cores_alone_and_their_number_as_it_was(
    predictor: Predictor,
) -> None:
    def threads() -> list[int]:
        libraries = ThreadpoolController().select(user_api="blas").info()
        return [library["num_threads"] for library in libraries]

    found: list[int] = []
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        before = threads()
        long = [sentence("Ada", "visits", "Rome")]
        predictor.predict(long, max_length=2, on_long=lambda _: found.extend(threads()))
        assert threads() == before
    assert found == [1] * len(before)


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
    # Few sentences are read in NumPy, more of them in torch: the sums are rounded differently.
    alone = predictor.annotate([short], batch_size=4, confidence=True)[0]
    assert found[0].tags == alone.tags
    assert found[0].probabilities == pytest.approx(alone.probabilities, abs=1e-5)


class LittleMemory:
    """Lets a network read so many sentences at most, and counts its attempts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
        self.sizes: list[int] = []
        read = Model.read

        def limited(model: Model, batch: Tokens, *rest: Any, **options: Any) -> Any:
            self.sizes.append(len(batch.mask))
            if len(batch.mask) > most:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
            return read(model, batch, *rest, **options)

        monkeypatch.setattr(Model, "read", limited)


def test_where_memory_is_short_batches_are_smaller_and_answers_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences = corpus(11, 4)
    loaded = tagkit.load(folder)
    expected = loaded.annotate(sentences, batch_size=8, confidence=True)
    paths = loaded.n_best(sentences, 2)
    memory = LittleMemory(monkeypatch, 3)
    found = loaded.annotate(sentences, batch_size=8, confidence=True)
    assert [each.tags for each in found] == [each.tags for each in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-5)
    assert memory.sizes[:2] == [8, 4]  # then 2, of which none fails
    assert max(memory.sizes[2:]) == 2
    # What has been found out holds for later calls.
    del memory.sizes[:]
    assert [[p.tags for p in each] for each in loaded.n_best(sentences, 2)] == [
        [p.tags for p in each] for each in paths
    ]
    assert max(memory.sizes) == 2


def test_what_does_not_fit_by_itself_is_refused_in_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = tagkit.load(folder)
    LittleMemory(monkeypatch, 0)
    with refuses(DeviceError, "1", "sentence"):
        loaded.predict(corpus(3, 4))


def test_alternatives_that_do_not_fit_are_to_be_fewer(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = tagkit.load(folder)
    LittleMemory(monkeypatch, 0)
    shorter = "give shorter ones, or use a device with more"
    for count, remedy in ((10**9, f"ask for fewer than 1,000,000,000 ways to tag it, {shorter}"),
                          (1, shorter)):  # fmt: skip
        with pytest.raises(DeviceError) as caught:
            loaded.n_best(corpus(1, 4), count)
        assert str(caught.value) == f"too little memory for 1 sentence at a time: {remedy}"


def test_another_error_of_torch_is_not_taken_for_short_memory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("shapes cannot be multiplied")

    loaded = tagkit.load(folder)
    monkeypatch.setattr(Model, "read", fail)
    with refuses(RuntimeError, "multiplied"):
        loaded.predict(corpus(3, 4))


def test_nothing_gives_nothing(predictor: Predictor) -> None:
    assert predictor.predict([]) == []
    assert predictor.annotate([], batch_size=1, confidence=True) == []
    assert predictor.n_best([], 3) == []


def test_a_precision_that_a_gpu_does_not_have_is_refused_before_the_model_is_moved(
    predictor: Predictor,
) -> None:
    parts = predictor.model, predictor.vocabulary, predictor.config
    with refuses(DeviceError, "precision"):
        Predictor(*parts, torch.device("cuda"), precision="int8")


def test_beside_a_gpu_auto_is_the_cpu_where_the_precision_is_one_of_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert tagkit.load(folder, precision="bf16").device.type == "cpu"


def test_a_cell_without_cached_inference_is_read_by_its_network_in_fp32_alone(
    predictor: Predictor, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = corpus(8, 4)
    expected = predictor.annotate(given, batch_size=3, confidence=True)
    monkeypatch.setattr(LSTMNetwork, "recurrence", Network.recurrence)
    plain = tagkit.load(folder, device="cpu")
    assert list(plain._batches.caches[0].table().readers) == []
    for found, wanted in zip(
        plain.annotate(given, batch_size=3, confidence=True), expected, strict=True
    ):
        assert found.tags == wanted.tags
        assert found.probabilities == pytest.approx(wanted.probabilities, abs=1e-5)
    with refuses(DeviceError, "encoder.cell", "'lstm'"):
        tagkit.load(folder, device="cpu", precision="int8")


def test_a_sentence_without_words_and_a_count_below_one_are_refused(predictor: Predictor) -> None:
    sentences = [sentence("Ada", "visits", "Rome", "."), Sentence(())]
    expected = r"^expected at least one word in each sentence, found a sentence of none$"
    with pytest.raises(DataError, match=expected):
        predictor.annotate(sentences, batch_size=2, confidence=False)
    expected = r"^expected at least one word and none that is empty, found Sentence\(words=\(\)"
    with pytest.raises(DataError, match=expected):
        predictor.n_best(sentences, 2)
    with refuses(DataError, "count", "1", "0", "number"):
        predictor.n_best(sentences[:1], 0)


def test_the_n_best_taggings_need_the_feature_columns_too(predictor: Predictor) -> None:
    (found,) = predictor.n_best([sentence("Ada", "visits", "Rome", ".")], 2)
    assert found[0].probability >= found[1].probability
    with refuses(DataError, "1", "feature"):
        predictor.n_best([Sentence(("Ada",))], 2)
    with refuses(DataError, "features", "2"):
        predictor.predict(Sentence(("Ada", "."), features=(("C",),)))


def test_tags_are_spelt_in_any_scheme_of_spans(plain: Predictor) -> None:
    words = ("Ben", "Silva", "leaves")
    found = Prediction(words, ("B-PER", "I-PER", "O"), (Span(0, 2, "PER"),))
    assert plain.tags_in(found, "iobes") == ("B-PER", "E-PER", "O")
    assert plain.tags_in(found, "labels") == found.tags


def test_plain_labels_have_no_scheme_of_spans(
    plain: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Prediction(("Ada", "."), ("PROPN", "PUNCT"))
    data = plain.config.data.model_copy(update={"scheme": "labels"})
    monkeypatch.setattr(plain, "config", plain.config.model_copy(update={"data": data}))
    assert plain.tags_in(found, "labels") == found.tags
    with pytest.raises(ConfigError) as caught:
        plain.tags_in(found, "iob2")
    assert str(caught.value) == (
        "scheme=iob2: the model predicts plain labels, which have no spans"
    )


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    """A tagger without feature columns, which can read raw text."""
    folder = train(tiny.config(tmp_path_factory.mktemp("plain"))).folder
    return tagkit.load(folder, device="cpu")


TEXT = "Ada visits Rome . Ben Silva leaves New York ."


def test_one_input_has_one_answer_and_several_have_a_list(plain: Predictor) -> None:
    words = ("Ada", "visits", "Rome", ".")
    one = plain.predict("Ada visits Rome .")
    assert isinstance(one, TaggedText)
    assert plain.predict(Sentence(words)) == one
    assert plain.predict(Document("Ada visits Rome .")) == one
    several = ["Ada visits Rome .", words, Sentence(words), Document("Ada visits Rome .")]
    assert plain.predict(several) == [one] * 4


def test_the_best_taggings_of_a_text_have_the_text_and_its_offsets(plain: Predictor) -> None:
    found = plain.n_best("Ada visits New York .", 3)
    assert len(found) == 3
    assert [each.probability for each in found] == sorted(
        (each.probability for each in found), reverse=True
    )
    first = found[0].tagged
    assert first == plain.predict("Ada visits New York .")
    assert [(span.start, span.end, span.label) for span in found[0].spans] == [
        (0, 1, "PER"), (2, 4, "LOC")
    ]  # fmt: skip
    for each in found:
        assert each.tagged is not None
        assert tuple(token.tag for token in each.tagged.tokens) == each.tags
    words = ["Ada", "visits", "New", "York", "."]
    both = plain.n_best([words, Sentence(tuple(words))], 3)
    assert len(both) == 2
    for several in both:
        assert [each.tags for each in several] == [each.tags for each in found]
        assert [each.spans for each in several] == [each.spans for each in found]
        # Two sentences are multiplied at once, so that the last digits may differ.
        assert [each.probability for each in several] == pytest.approx(
            [each.probability for each in found]
        )


def test_the_best_taggings_of_a_text_are_those_of_all_pairs_of_its_sentences(
    plain: Predictor,
) -> None:
    count = 6
    text = "Ada visits Rome .\nBen Silva leaves New York ."
    tagged = plain.predict(text)
    assert len(tagged.sentences) == 2
    apart = plain.n_best([[token.text for token in part] for part in tagged.sentences], 40)
    pairs = sorted(
        ((a.probability * b.probability, a.tags + b.tags) for a, b in itertools.product(*apart)),
        reverse=True,
    )
    found = plain.n_best(text, count)
    assert [each.tags for each in found] == [tags for _, tags in pairs[:count]]
    for each, (probability, _) in zip(found, pairs, strict=False):
        assert math.isclose(each.probability, probability)
    spans = [(span.start, span.end, span.label) for span in found[0].spans]
    assert spans == [(0, 1, "PER"), (2, 3, "LOC"), (4, 6, "PER"), (7, 9, "LOC")]
    assert found[0].tagged == tagged
    assert [(each.tags, each.probability) for each in plain.n_best(" ", 2)] == [((), 1.0)]


@pytest.mark.parametrize(
    ("inputs", "said"), [({"Ada"}, "{'Ada'}"), ({"Ada": 1}, "found the keys Ada")]
)
def test_keys_of_a_dictionary_and_a_set_are_not_read_as_texts_or_words(
    plain: Predictor, inputs: Any, said: str
) -> None:
    for method in (plain.predict, plain.n_best, plain.stream):
        for several in (inputs, [inputs]):
            if method != plain.stream or several is not inputs or isinstance(inputs, set):
                with refuses(DataError, said):
                    list(method(several))
    with refuses(DataError, "inputs: expected several, found one dict"):
        plain.stream({"text": "Ada"})


def probabilities(answers: Sequence[TaggedText]) -> list[float]:
    return [token.probability or 0 for answer in answers for token in answer.tokens] + [
        span.probability or 0 for answer in answers for span in answer.spans
    ]


def without_probabilities(answer: TaggedText) -> TaggedText:
    sentences = tuple(
        tuple(replace(token, probability=None) for token in sentence)
        for sentence in answer.sentences
    )
    spans = tuple(replace(span, probability=None) for span in answer.spans)
    return replace(answer, sentences=sentences, spans=spans)


def test_a_stream_answers_as_predict_does_in_order(plain: Predictor) -> None:
    inputs = [
        "Ada visits Rome .", "", ["Ben", "leaves", "Lima", "."],
        Sentence(("Eve", "likes", "Quito", ".")), Document(TEXT),
    ]  # fmt: skip
    expected = plain.predict(inputs, confidence=True)
    for words in (1, 9, 20_000):
        found = list(plain.stream(inputs, confidence=True, window_words=words))
        # Few sentences are read in NumPy, more of them in torch: the sums are rounded differently.
        assert probabilities(found) == pytest.approx(probabilities(expected), abs=1e-5)
        assert [without_probabilities(each) for each in found] == [
            without_probabilities(each) for each in expected
        ]


def test_words_may_come_from_an_iterator_or_an_array(plain: Predictor) -> None:
    words = ["Ada", "visits", "Rome", "."]
    assert plain.predict([np.array(words)]) == plain.predict([words])  # type: ignore[list-item]
    in_array = Sentence(np.array(words))  # type: ignore[arg-type]
    assert plain.predict(in_array) == plain.predict(Sentence(tuple(words)))
    (answer,) = plain.annotate([in_array], batch_size=1, confidence=False)
    assert answer.words == tuple(words)
    expected = plain.predict([words])
    assert plain.predict([iter(words)]) == expected
    assert list(plain.stream([iter(words)])) == expected


@pytest.mark.parametrize("kind", [list, iter, lambda each: (one for one in each)])
def test_sentences_may_come_from_an_iterator(plain: Predictor, kind: Any) -> None:
    sentences = [Sentence(("Ada", "visits", "Rome")), Sentence(("Ben", "left"))]
    expected = plain.annotate(sentences, batch_size=8, confidence=True)
    assert len(expected) == 2
    assert plain.annotate(kind(sentences), batch_size=8, confidence=True) == expected
    tagged = [Sentence(each.words, each.tags) for each in expected]
    whole = [[(0, len(each))] for each in tagged]
    found = plain.stretch_probabilities(kind(tagged), whole)
    assert found == plain.stretch_probabilities(tagged, whole)


@pytest.mark.parametrize(
    ("sentences", "problem"),
    [
        (
            [Sentence(("To", ""))],
            "expected at least one word and none that is empty, found Sentence(",
        ),
        ([Sentence("abc")], "input: expected words, found 'abc'"),
    ],
)
def test_a_sentence_with_an_empty_word_or_a_text_for_words_is_not_annotated(
    plain: Predictor, sentences: Any, problem: str
) -> None:
    with refuses(DataError, problem):
        plain.annotate(sentences, batch_size=8, confidence=False)


def test_numbers_of_numpy_and_devices_of_torch_are_taken(plain: Predictor, folder: Path) -> None:
    sentences = [Sentence(("Ada", "visits", "Rome")), Sentence(("Ben", "left"))]
    expected = plain.annotate(sentences, batch_size=1, confidence=False, min_confidence=0.5)
    size: Any = np.int64(1)
    share: Any = np.float32(0.5)
    assert plain.annotate(sentences, batch_size=size, confidence=False, min_confidence=share) == (
        expected
    )
    assert tagkit.load(folder, torch.device("cpu")).device == torch.device("cpu")
    with refuses(DeviceError, "'meta'", "'auto'"):
        tagkit.load(folder, torch.device("meta"))


def test_predictions_of_other_sentences_are_neither_reported_nor_judged(plain: Predictor) -> None:
    sentences = (Sentence(("Ada", "left"), ("B-PER", "O")), Sentence(("Rome",), ("B-LOC",)))
    split = Split("gold", sentences, Detection("iob2", 1, 0), ())
    found = plain.annotate(sentences, batch_size=8, confidence=False)
    for use in (plain.report, plain.judged):
        for wrong, problem in [
            (found[:1], "one for each of 2 sentences, found 1"),
            (found[::-1], r"one of 2 words for sentence 1, found Prediction\(.*"),
        ]:
            with pytest.raises(DataError, match=f"^predictions: expected {problem}$"):
                use(split, wrong)  # type: ignore[operator]
    with pytest.raises(DataError, match=r"^predictions: expected probabilities, found none"):
        plain.judged(split, found)


def test_a_stream_takes_no_more_than_a_window_of_its_inputs(plain: Predictor) -> None:
    taken = itertools.count()
    endless = (f"Ada visits Rome {next(taken)} ." for _ in itertools.count())
    answers = plain.stream(endless, window_words=10)
    assert next(taken) == 0  # nothing is read before the first answer is wanted
    assert next(answers).text == "Ada visits Rome 1 ."
    assert next(taken) == 4  # 4 words by its length, so three of them fill a window
    one_by_one = plain.stream(endless, window_words=1)
    for number in (5, 6):
        assert next(one_by_one).text == f"Ada visits Rome {number} ."


def test_a_stream_that_fails_answers_what_came_before(plain: Predictor) -> None:
    def broken() -> Iterator[object]:
        yield "Ada visits Rome ."
        yield ["Ben", "leaves", "Lima", "."]
        raise OSError("the disk is gone")

    for inputs, error, said in (
        (broken(), OSError, "the disk is gone"),
        (["Ada visits Rome .", ("Ben",), {}], DataError, "found {}"),
        (["Ada .", ("Ben",), Sentence(("Ada",), features=(("UP",),))], DataError,
         "this model reads no feature columns, found 1 beside a sentence"),
    ):  # fmt: skip
        answers = plain.stream(inputs)  # type: ignore[arg-type]
        assert next(answers).tokens[0].text == "Ada"
        assert next(answers).tokens[0].text == "Ben"
        with pytest.raises(error, match=said):
            next(answers)


def test_a_stream_of_one_text_or_without_a_window_is_refused_at_once(plain: Predictor) -> None:
    with refuses(DataError, "inputs", "several"):
        plain.stream("Ada visits Rome .")
    with refuses(DataError, "window_words", "1", "0"):
        plain.stream(["Ada"], window_words=0)


def answers_of(predictor: Predictor, texts: list[str]) -> list[tuple[str | None, float]]:
    # The last digits of a word's vector depend on the words that were added to the cache with it.
    answers = predictor.predict(texts, confidence=True)
    return [
        (token.tag, round(token.probability or 0, 4)) for one in answers for token in one.tokens
    ]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_predictor_answers_the_same_in_other_processes(plain: Predictor, method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {method}")
    texts = [TEXT] * 50
    threads = torch.get_num_threads()
    expected = answers_of(plain, texts)
    torch.set_num_threads(2)  # a forked process would wait for ever for the second one
    try:
        answers_of(plain, texts)
        with multiprocessing.get_context(method).Pool(2) as pool:
            found = pool.starmap_async(answers_of, [(plain, texts)] * 2).get(60)
    finally:
        torch.set_num_threads(threads)
    assert found == [expected] * 2


@pytest.mark.slow
def test_a_predictor_that_was_sent_to_another_process_answers_the_same_itself(
    tmp_path: Path,
) -> None:
    folder = train(tiny.config(tmp_path)).folder
    sent, other = (tagkit.load(folder, device="cpu") for _ in range(2))
    answers_of(sent, [TEXT])
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.starmap(answers_of, [(sent, [TEXT])])
    # Memory that was the model's before it was shared between processes is given to these.
    given = [np.full(size, np.nan, np.float32) for size in range(8, 20_000, 8) for _ in range(3)]
    words = ["Xerxes knows Lima .", "Quito and Oslo", "Zed"]  # not in the word cache
    assert answers_of(sent, words) == answers_of(other, words)
    assert len(given) > 1


@pytest.mark.parametrize(
    ("option", "value", "problem"),
    [
        ("batch_size", 0, Says("batch_size", "1", "0", "number")),
        ("max_length", 0, Says("max_length", "1", "0")),
        ("threshold", 2, Says("threshold", "0", "1", "2")),
    ],
)
def test_an_option_out_of_range_is_refused_by_its_name(
    predictor: Predictor, option: str, value: object, problem: str
) -> None:
    with pytest.raises(DataError) as caught:
        predictor.predict([sentence("Ada")], **{option: value})  # type: ignore[arg-type]
    assert str(caught.value) == problem


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    folder = tmp_path_factory.mktemp("classes")
    files = tiny.classified(folder)
    return train(tiny.small(folder, "train.max_epochs=1", "task=classify", **files)).predictor


def test_an_option_that_has_no_effect_on_the_model_is_refused(
    predictor: Predictor, classifier: Predictor
) -> None:
    for inputs in ([sentence("Ada")], []):
        with pytest.raises(DataError) as caught:
            predictor.predict(inputs, threshold=0.5)
        assert str(caught.value) == Says("threshold")
    with pytest.raises(DataError) as caught:
        next(classifier.stream(["so long"], max_length=2))
    expected = "this model classifies: max_length is for tags, a text is read whole"
    assert str(caught.value) == expected
    answer = classifier.predict("so long", threshold=1.0)
    assert answer.labels == ()
    assert [score.label for score in answer.scores] != []


def test_a_text_without_words_has_no_scores(classifier: Predictor) -> None:
    assert classifier.predict(" ") == TaggedText(" ", (), ())


def test_a_device_or_a_precision_that_there_is_not_is_refused(folder: Path) -> None:
    with refuses(DeviceError, "'3'", "'auto'", "'cpu'", "'cuda'", "'cuda:N'"):
        tagkit.load(folder, device=3)  # type: ignore[arg-type]
    with refuses(DeviceError, "'fp8'", "precision"):
        tagkit.load(folder, device="cpu", precision="fp8")


@pytest.mark.parametrize(
    ("given", "stretches", "problem"),
    [
        (Sentence(("a", "b"), ("O", "O")), [[(1, 5)]],
         "sentence 1: expected stretches of 2 words, found one from 1 to 5"),
        (Sentence(("a", "b"), ("O", "O")), [[(1, 1)]],
         "sentence 1: expected stretches of 2 words, found one from 1 to 1"),
        (Sentence(("a", "b")), [[(0, 1)]], "sentence 1: expected tags, found none"),
        (Sentence(("a", "b"), ("O",)), [[(0, 1)]],
         "sentence 1: expected a tag for each of 2 words, found 1"),
        (Sentence(("a",), ("O",)), [], "stretches: expected some for each of 1 sentence, found 0"),
    ],
)  # fmt: skip
def test_stretches_that_a_sentence_does_not_have_are_refused(
    predictor: Predictor, given: Sentence, stretches: list[list[tuple[int, int]]], problem: str
) -> None:
    with pytest.raises(DataError, match=f"^{problem}$"):
        predictor.stretch_probabilities([given], stretches)


TAGS = ("O", "B-A", "B-B")
PROBABILITIES = st.lists(st.floats(0.01, 1), min_size=1, max_size=3, unique=True)


def text_of(sentences: int) -> Text:
    """A text of sentences of one letter."""
    text = " ".join("abcdef"[:sentences])
    parts = [Sentence((letter,)) for letter in text.split()]
    return Text(text, parts, [[(2 * i, 2 * i + 1)] for i in range(sentences)])


def alternatives(probabilities: list[float]) -> list[Alternative]:
    spans = ((), (Span(0, 1, "A"),), (Span(0, 1, "B"),))
    ordered = sorted(probabilities, reverse=True)
    return [Alternative((TAGS[i],), spans[i], each) for i, each in enumerate(ordered)]


@given(st.lists(PROBABILITIES, max_size=4), st.integers(1, 7))
def test_they_equal_those_of_all_combinations(sentences: list[list[float]], count: int) -> None:
    # As much as the model is asked for, for each sentence.
    found = [alternatives(each)[:count] for each in sentences]
    every = sorted(
        (math.prod(each.probability for each in chosen) for chosen in itertools.product(*found)),
        reverse=True,
    )
    best = alternatives_of_text(text_of(len(sentences)), found, count)
    assert len(best) == min(count, len(every))
    for ours, theirs in zip(best, every, strict=False):
        assert math.isclose(ours.probability, theirs)
    for each in best:
        of_tags = [
            next(one.probability for one in part if one.tags == (tag,))
            for part, tag in zip(found, each.tags, strict=True)
        ]
        assert math.isclose(each.probability, math.prod(of_tags))
        assert each.tagged is not None
        places = [(span.start, span.end, span.label) for span in each.tagged.spans]
        assert places == [(2 * span.start, 2 * span.end - 1, span.label) for span in each.spans]
    assert len({each.tags for each in best}) == len(best)


def test_thousands_of_sentences_are_ordered_though_their_product_is_nothing() -> None:
    sentences = 3000
    text = Text("", [Sentence(("a",))] * sentences, [[(0, 0)]] * sentences)
    best = alternatives_of_text(text, [alternatives([0.6, 0.4])] * sentences, 2)
    assert [each.probability for each in best] == [0.0, 0.0]
    assert [each.tags.count("B-A") for each in best] == [0, 1]
