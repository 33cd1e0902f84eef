"""The mentions of a name in one document, which help to decide on each other."""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from hypothesis import given
from hypothesis import strategies as st
from marks import mostly_slow

from tagkit.config import with_options
from tagkit.inference.predict.label_consistency import document_groups, toward_means
from tagkit.inference.predict.predictor import Predictor
from tagkit.text.records import Document, Prediction, Sentence, unmarked_document
from tagkit.training.setup.setup import prepare

CPU = torch.device("cpu")
SIZES = [3, 1, 7, 2, 5, 4, 1]  # sentences of documents, again and again


def predictor(folder: Path, *options: str) -> Predictor:
    """One that has learnt nothing: its scores differ from place to place."""
    torch.manual_seed(1)
    run = prepare(tiny.config(folder, "head.label_consistency=0.5", *options), CPU)
    if run.model.feature_crf is not None:
        run.model.feature_crf.share.fill_(0.5)
    return Predictor(run.model.eval(), run.vocabulary, run.config, CPU)


def with_share(of: Predictor, share: float) -> Predictor:
    config = with_options(of.config, {"head.label_consistency": share})
    return Predictor(of.model, of.vocabulary, config, CPU)


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    return predictor(tmp_path_factory.mktemp("half"))


def sentences(count: int, seed: int = 5, document: int | None = None) -> list[Sentence]:
    """Sentences of documents, or of one document."""
    numbers = np.repeat(np.arange(count), [SIZES[i % len(SIZES)] for i in range(count)])
    words = (tuple(line.split("\t")[0] for line in lines) for lines in tiny.lines(count, seed))
    return [
        Sentence(each, document=int(number) if document is None else document)
        for each, number in zip(words, numbers, strict=False)
    ]


def annotated(by: Predictor, given: list[Sentence], batch_size: int = 128) -> list[Prediction]:
    return by.annotate(given, batch_size=batch_size, confidence=True)


def assert_same(found: list[Prediction], wanted: list[Prediction]) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert one.tags == other.tags
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-5)


def by_hand(of: Predictor, given: list[Sentence], share: float) -> list[Prediction]:
    """Each sentence read alone; the mean of what names have; each sentence decoded alone."""
    plain, model = with_share(of, 0), of.model
    read = []
    with torch.inference_mode():
        for sentence in given:
            ((_, batch),) = plain._batches.read([sentence], 1)
            beside = batch.score_features(model.feature_crf)
            # (1, time, hidden), and beside it (1, time, tags) of a CRF of word features
            values = [batch.read(model)[0], *([] if beside is None else [beside])]
            read.append((batch, values))
        groups = defaultdict(list)
        for number, sentence in enumerate(given):
            for place, word in enumerate(sentence.words):
                if word[0].isupper():
                    groups[sentence.document, word.lower()].append((number, place))
        moved = [[each.clone() for each in values] for _, values in read]
        sizes = {s.document: sum(o.document == s.document for o in given) for s in given}
        for (document, _), places in groups.items():
            if sizes[document] > 1:
                for kind in range(len(moved[0])):
                    mean = sum(read[n][1][kind][0, p] for n, p in places) / len(places)
                    for n, p in places:
                        moved[n][kind][0, p] += share * (mean - moved[n][kind][0, p])
        found = []
        for (batch, _), (states, *beside) in zip(read, moved, strict=True):
            known = replace(
                batch,
                states=(states, states[:, 0]),
                feature_emissions=beside[0] if beside else None,
            )
            options = type("Options", (), {"confidence": True, "threshold": None})()
            found += of.task.decode(plain._context, known, options)
    return found


@pytest.mark.parametrize(
    "options",
    mostly_slow(
        [[], ["head.kind=softmax"], ["encoder.ensemble_size=2"], ["head.kind=feedback"]], always=1
    ),
    ids=str,
)
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_scores_are_those_of_means_over_a_document(
    tmp_path: Path, options: list[str], share: float
) -> None:
    by, given = with_share(predictor(tmp_path, *options), share), sentences(40)
    found = annotated(by, given)
    assert_same(found, by_hand(by, given, share))
    plain = annotated(with_share(by, 0), given)
    changed = [
        np.abs(np.array(one.probabilities) - other.probabilities).max()
        for one, other in zip(found, plain, strict=True)
    ]
    assert max(changed) > 1e-3  # so that the comparison above says something


def test_a_document_has_the_same_answers_alone_and_in_batches_of_any_size(
    half: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = sentences(40)
    wanted = annotated(half, given)
    for size in (1, 3):
        assert_same(annotated(half, given, size), wanted)
    each = [[s for s in given if s.document == n] for n in dict.fromkeys(s.document for s in given)]
    assert_same([one for document in each for one in annotated(half, document)], wanted)
    with monkeypatch.context() as patch:
        patch.setattr("tagkit.inference.predict.label_consistency._STRETCH_WORDS", 10)
        assert_same(annotated(half, given), wanted)
    in_stream = list(half.stream(given, confidence=True, window_words=1))
    assert [tuple(t.tag for t in one.tokens) for one in in_stream] == [one.tags for one in wanted]


def test_n_best_and_probabilities_of_stretches_are_of_the_same_scores(half: Predictor) -> None:
    given = sentences(12)
    wanted = annotated(half, given)
    best = half.n_best(given, 1)
    assert [one[0].tags for one in best] == [one.tags for one in wanted]
    tagged = [replace(s, tags=one.tags) for s, one in zip(given, wanted, strict=True)]
    spans = [[(span.start, span.end) for span in one.spans] for one in wanted]
    found = half.stretch_probabilities(tagged, spans)
    for probs, one in zip(found, wanted, strict=True):
        assert probs == pytest.approx([span.probability for span in one.spans], abs=1e-5)


def test_what_no_file_marks_and_what_stands_alone_is_read_as_without(half: Predictor) -> None:
    plain = with_share(half, 0)
    for document in (None, unmarked_document()):
        given = [replace(s, document=document) for s in sentences(20)]
        assert annotated(half, given) == annotated(plain, given)  # bit for bit
    given = sentences(20)
    apart = [annotated(half, [sentence])[0] for sentence in given]
    assert apart == [annotated(plain, [sentence])[0] for sentence in given]


def test_a_text_of_several_sentences_is_a_document(half: Predictor) -> None:
    text = "Ada visits Oslo .\nOslo likes Ada .\nAda Rossi leaves Ada ."
    whole = half.predict(text, confidence=True)
    given = [Sentence(tuple(t.text for t in s), document=7) for s in whole.sentences]
    wanted = [p for one in annotated(half, given) for p in one.probabilities or ()]
    found = [token.probability for token in whole.tokens]
    assert found == pytest.approx(wanted, abs=1e-6)
    lines = [token.probability for line in text.split("\n") for token in
             half.predict(line, confidence=True).tokens]  # fmt: skip
    assert np.abs(np.array(found) - lines).max() > 1e-3
    assert half.predict(Document(text), confidence=True).tokens == whole.tokens


def test_windows_of_a_long_sentence_are_outside_of_its_document(half: Predictor) -> None:
    short = sentences(3, document=1)
    long = Sentence(tuple(word for s in sentences(9) for word in s.words), document=1)
    given = [short[0], long, *short[1:]]
    found = half.annotate(given, batch_size=9, confidence=False, max_length=12)
    plain = with_share(half, 0).annotate([long], batch_size=9, confidence=False, max_length=12)
    assert found[1] == plain[0]


def test_stretches_are_of_whole_documents_one_after_the_other(
    half: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = sentences(60)
    for size in (1, 10, 25, 10**6):
        monkeypatch.setattr("tagkit.inference.predict.label_consistency._STRETCH_WORDS", size)
        cut = [(start, numbers) for start, numbers in document_groups(given, half.config)]
        assert [start for start, _ in cut] == [0, *np.cumsum([len(n) for _, n in cut])][:-1]
        assert sum(len(numbers) for _, numbers in cut) == len(given)
        for start, numbers in cut:
            own = [s.document for s in given[start : start + len(numbers)]]
            first = own[0]
            assert first is not None
            assert numbers.tolist() == [number - first for number in own if number is not None]
            assert start == 0 or given[start - 1].document != first
            words = [len(s) for s in given[start : start + len(numbers)]]
            last = sum(words[i] for i, number in enumerate(own) if number == own[-1])
            assert sum(words) - last <= size + max(map(len, given)) or len({*own}) == 1


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.sampled_from([0.0, 0.3, 1.0]))
def test_each_row_is_moved_toward_the_mean_of_its_group(numbers: list[int], share: float) -> None:
    values = np.random.default_rng(len(numbers)).normal(size=(len(numbers), 3))
    groups = np.unique(numbers, return_inverse=True)[1]
    found = toward_means(torch.from_numpy(values), torch.from_numpy(groups), share)
    wanted = values.copy()
    for row, number in enumerate(numbers):
        members = [values[other] for other, same in enumerate(numbers) if same == number]
        wanted[row] += share * (sum(members) / len(members) - values[row])
    np.testing.assert_allclose(found.numpy(), wanted, rtol=0, atol=1e-12)


def test_what_is_not_a_number_stays_in_its_group() -> None:
    values = torch.tensor([[float("nan")], [1.0], [3.0], [5.0]])
    found = toward_means(values, torch.tensor([0, 0, 1, 1]), 0.5)
    assert found.isnan().tolist() == [[True], [True], [False], [False]]
    assert found[2:].tolist() == [[3.5], [4.5]]
